"""lm-evaluation-harness as a process: started with an order in a file, heard while it runs, and its end explained.

The short question to its models is reported as soon as it is answered, and silence is mentioned.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bbedge.credentials import redacted, secret_values
from bbedge.errors import EvaluationError
from bbedge.evaluate.engine import Answered, CheckReport, StillSilent
from bbedge.evaluate.engines.command import work_in_threads
from bbedge.evaluate.engines.process import Stopped, call
from bbedge.evaluate.failures import Problem, ProblemKind, kind_of_status
from bbedge.records.journal import Usage
from bbedge.text import shown, shown_path

DRIVER = "lm_eval_driver.py"
"""Runs the tool."""
REQUESTS = "lm_eval_requests.py"
"""Asks models of the tool a short question."""
_FILES = tuple(Path(__file__).with_name(name) for name in (DRIVER, REQUESTS, "empty_answer.py"))
_TAIL = 4000  # bytes at the end of a log among which its last line is

Hear = Callable[[Mapping[str, Any]], None]
"""Takes what a process writes while it runs, line by line."""
_PATIENCE = 5.0  # seconds after which a model that has not answered is mentioned
_SHOWN = 300  # characters of an answer that is none
# By the names of exceptions: requests, urllib3 and aiohttp have classes of their own.
_NO_CONNECTION = frozenset({
    "ClientConnectorError", "ConnectTimeout", "ConnectionRefusedError", "ConnectionTimeoutError", "gaierror",
    "InvalidSchema", "InvalidURL", "MissingSchema", "NameResolutionError", "NewConnectionError", "ProxyError",
    "SSLError",
})  # fmt: skip
_NO_ANSWER = frozenset({"ContentTypeError", "JSONDecodeError", "Unusable"})
_BROKEN = ("Connection", "Disconnected", "Protocol", "ChunkedEncodingError", "ClientPayloadError")


class Tool:
    """The tool in the Python that has it installed."""

    def __init__(self, python: str, home: Path, stop: threading.Event) -> None:
        self.python, self._home, self._stop = python, home, stop

    def run(
        self, folder: Path, order: Mapping[str, Any], *, file: str = DRIVER, heard: Hear = lambda what: None
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

    def __init__(self, path: Path, heard: Hear) -> None:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionBegun:
    """A model is being asked from now on."""

    model: str
    """Its name on the board."""
    endpoint: str | None
    """The address that is asked."""


Heard = QuestionBegun | Answered | Problem
Tell = Callable[[Heard], None]


def ask_in_threads(
    questions: Sequence[Callable[[Tell], None]], report: CheckReport, *, workers: int, stop: threading.Event
) -> None:
    """Ask all questions and report what they tell from this thread; an interrupt, or an error, ends them."""
    silence = _Silence(report)
    work_in_threads(iter(questions), silence.hear, workers=workers, stop=stop, look=silence.mention)


@dataclass(slots=True)
class _Silence:
    """The models that have not answered yet."""

    report: CheckReport
    _since: dict[str, tuple[QuestionBegun, float]] = field(default_factory=dict)

    def hear(self, what: Heard | None) -> None:
        """Hand on what is heard of a model; a question itself returns nothing."""
        if isinstance(what, QuestionBegun):
            self._since[what.model] = what, time.monotonic()
        elif what is not None:
            self._since.pop(what.model, None)
            self.report(what)

    def mention(self) -> None:
        """Report every model that has been silent for long, once."""
        for model, (asked, since) in list(self._since.items()):
            seconds = time.monotonic() - since
            if seconds >= _PATIENCE:
                del self._since[model]
                self.report(StillSilent(model=model, endpoint=asked.endpoint, seconds=seconds))


def parse_report(line: Mapping[str, Any], *, priced: str) -> Heard:
    """A line that the process wrote about the question to one model; ``priced`` is what prices call the model."""
    model = str(line["name"])
    if "asked" in line:
        return QuestionBegun(model=model, endpoint=line["asked"])
    if "failed" in line:
        return problem_of(line["failed"], model=model, stage=str(line["stage"]))
    read, written = line["tokens"]
    tokens = {priced: (read, written)} if read or written else {}
    served = line["served"] if isinstance(line["served"], str) else None
    return Answered(model=model, usage=Usage(calls=1, tokens=tokens, seconds=line["seconds"]), served=served)


def problem_of(facts: Mapping[str, Any], *, model: str, stage: str = "asking") -> Problem:
    """The problem that a failed request is, at some stage: ``making`` the model, reading its ``key``, or ``asking``."""
    names, status = frozenset(facts["names"]), facts["status"]
    kind: ProblemKind = "program" if stage == "making" else "credentials" if stage == "key" else _kind(names, status)
    message = " ".join(str(facts["message"]).split())
    if stage == "making":
        message = f"lm_eval cannot make the model: {message}"
    if kind == "answer" and len(message) > _SHOWN:
        message = message[:_SHOWN] + "…"
    endpoint, variable = facts["endpoint"], facts["variable"]
    return Problem(kind=kind, model=model, message=message, endpoint=endpoint, status=status, variable=variable)


def _kind(names: frozenset[str], status: int | None) -> ProblemKind:
    if "EmptyAnswer" in names:
        return "empty"
    if names & _NO_ANSWER:
        return "answer"
    if status is not None:
        return kind_of_status(status)
    if names & _NO_CONNECTION:
        return "no-connection"
    if any("Timeout" in name for name in names):
        return "timeout"
    return "connection-lost" if any(part in name for name in names for part in _BROKEN) else "other"
