"""Pages whose commands run: the blocks of a Markdown file, and what the page looks like after running them.

* A block ``sh`` is run, line by line, in a folder that has the files of ``demo/`` and what the page made before.
* A block ``text`` right after it is what the commands print.
* A line that ends in ``# exit code 3`` must end with that code, every other one with 0.
* A block whose first line is a comment with the name of a file, such as ``# policy.toml``, is that file.
* Commands that need another machine, or that install something, are in blocks ``bash``, which do not run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "demo"
WIDTH = 104
"""Columns of the terminal: what fits into the column of text of the site without scrolling."""

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"# exit code (\d+)$")
_FILE = re.compile(r"# ([\w.-]+\.\w+)\n")
_PASSING = re.compile(r"(?:(?<=Ledger )|(?<=[Hh]ead ))[0-9a-f]{64}|\d{4}-\d\d-\d\dT[\d:]+\+00:00", re.MULTILINE)
"""Times, and hashes of ledgers, which hold times: different whenever a command runs."""
_CUT_OFF = 141
"""Exit code of a command whose reader closed the pipe, as ``head`` does."""


class PageError(Exception):
    """A command of a page did not end as the page says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    start: int
    """Where the text starts in the page."""
    end: int
    """Where it ends."""


def blocks(page: str) -> list[Block]:
    """Every fenced block of a page, in order."""
    return [
        Block(language=found[1], text=found[2], start=found.start(2), end=found.end(2))
        for found in _BLOCK.finditer(page)
    ]


def commands(text: str) -> Iterator[tuple[str, int]]:
    """Every command of a block and its exit code; a line that ends in a backslash goes on in the next one."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            code = _CODE.search(line)
            yield line, int(code[1]) if code else 0


def rerun(page: str, folder: Path) -> str:
    """The page with the output that its commands print now, run in the folder."""
    for path in DEMO.iterdir():
        if path.is_file():
            shutil.copy(path, folder)
    shell = Shell(folder)
    made: list[str] = []
    done = 0
    printed: str | None = None
    last = 0
    for block in blocks(page):
        if named := _FILE.match(block.text):
            (shell.folder / named[1]).write_text(block.text, encoding="utf-8")
        if block.language == "text" and printed is not None and not page[last : block.start].strip("`\ntex"):
            made += [page[done : block.start], block.text if _lasting(block.text) == _lasting(printed) else printed]
            done = block.end
        printed = shell.run(block.text) if block.language == "sh" else None
        last = block.end
    return "".join([*made, page[done:]])


def _lasting(text: str) -> str:
    return _PASSING.sub("*", text)


class Shell:
    """Runs commands one after the other, as a reader would who copies them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        place = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
        place["PYTHONPATH"] = str(ROOT / "src")  # this checkout, whichever one the environment was made for
        terminal = {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        self._environment = place | terminal

    def run(self, text: str) -> str:
        """What the commands of a block print."""
        lines = [line.rstrip() for command, code in commands(text) for line in self._run(command, code)]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"

    def _run(self, command: str, code: int) -> list[str]:
        if elsewhere := re.fullmatch(r"cd (\S+)", command):
            self.folder = (self.folder / elsewhere[1]).resolve(strict=True)
            return []
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode not in (code, _CUT_OFF if "| head" in command else code):
            raise PageError(f"{command}\nended with {done.returncode} instead of {code}:\n{done.stdout}")
        return done.stdout.splitlines()
