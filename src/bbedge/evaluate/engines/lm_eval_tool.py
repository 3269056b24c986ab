"""lm-evaluation-harness as a process: started with an order in a file, heard while it runs, and its end explained."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bbedge.credentials import redacted, secret_values
from bbedge.errors import EvaluationError
from bbedge.evaluate.engines.process import Stopped, call
from bbedge.text import shown, shown_path

DRIVER = "lm_eval_driver.py"
"""Runs the tool."""
QUESTION = "lm_eval_question.py"
"""Asks models of the tool a short question."""
_FILES = tuple(Path(__file__).with_name(name) for name in (DRIVER, QUESTION, "lm_eval_failure.py", "empty_answer.py"))
_TAIL = 4000  # bytes at the end of a log among which its last line is

Heard = Callable[[Mapping[str, Any]], None]
"""Takes what a process writes while it runs, line by line."""


class Tool:
    """The tool in the Python that has it installed."""

    def __init__(self, python: str, home: Path, stop: threading.Event) -> None:
        self.python, self._home, self._stop = python, home, stop

    def run(
        self, folder: Path, order: Mapping[str, Any], *, file: str = DRIVER, heard: Heard = lambda what: None
    ) -> str | None:
        """Run one of our files; what went wrong, or nothing. Nothing of the order is on the command line."""
        log = folder / "log.txt"
        # Copies: Python looks for modules beside the file it runs, and beside ours is one called inspect.
        for each in _FILES:
            (folder / each.name).write_bytes(each.read_bytes())
        lines = _Lines(folder / "heard.jsonl", heard)
        paths = {"report": str(folder / "report.json"), "heard": str(lines.path)}
        (folder / "order.json").write_text(json.dumps({**order, **paths}), encoding="utf-8")
        words = [self.python, str(folder / file), str(folder / "order.json")]
        with log.open("wb") as output:
            try:
                code = call(
                    words, home=self._home, folder=folder, log=output, timeout=None, stop=self._stop, look=lines.read
                )
            except OSError as error:
                return f"{shown(words[0], None)} cannot be run ({error.strerror})"
            except Stopped:
                return "lm_eval was stopped with the study"
        lines.read()
        return None if code == 0 else self._why(code, folder, log)

    def _why(self, code: int, folder: Path, log: Path) -> str:
        found = report_of(folder)
        if not found.get("installed", True):
            return (
                f"{shown_path(self.python)} has no lm_eval; install it there with pip install 'lm_eval[api]'; or name "
                "the Python that has it with python under [benchmark]"
            )
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return f"lm_eval {how}: {_reason(found.get('error'), log)}; its output is in {shown_path(log)}"


class _Lines:
    """A file of JSON lines, read as it grows."""

    def __init__(self, path: Path, heard: Heard) -> None:
        self.path, self._heard, self._at = path, heard, 0

    def read(self) -> None:
        """Hand on the lines that are new and complete."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._at)
                new = file.read()
        except OSError:
            return
        complete = new[: new.rfind(b"\n") + 1]
        self._at += len(complete)
        for line in complete.splitlines():
            self._heard(json.loads(line))


def python_of(given: str | None, home: Path, source: str) -> str:
    """The Python that runs the tool: a path from the study's folder, or the name of an installed program."""
    if given is None:
        return sys.executable
    found = str(home / given) if os.sep in given else shutil.which(given)
    if found is None or not Path(found).is_file():
        raise EvaluationError(
            f"{source}: [benchmark] python: there is no program {shown(given, None)}; give the Python of the "
            "environment in which lm_eval is installed"
        )
    return found


def report_of(folder: Path) -> dict[str, Any]:
    """What the driver counted; zeros where it did not get that far."""
    nothing: dict[str, Any] = {
        "requests": 0,
        "seeded": 0,
        "tokens": [0, 0],
        "types": {},
        "chooses": False,
        "heard": False,
        "served": [],
    }
    try:
        written = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return nothing
    return {**nothing, **written}


def _reason(error: object, log: Path) -> str:
    """The error that ended the tool, or the last line of its log if it did not get as far as the driver."""
    last = str(error) if error else "it printed nothing"
    if not error:
        with contextlib.suppress(OSError), log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
            last = next((line for line in reversed(lines) if line.strip()), last)
    return shown(redacted(" ".join(last.split()), secret_values(os.environ)), 400)
