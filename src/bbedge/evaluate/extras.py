"""Requests beside the samples: the short questions before a start, and the pilot of a dry run.

They are no evidence and no part of a replicate, but they cost something, which ``extras.jsonl`` remembers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from bbedge.chain import append, damaged, read_chain
from bbedge.errors import EvaluationError
from bbedge.evaluate.usage import Usage
from bbedge.text import shown_path

ExtraKind = Literal["check", "pilot"]

_FILE = "extras.jsonl"
_REMEDY = "restore the file from a copy, or remove it: only the count of these requests is lost with it"


def add_extra(folder: Path, kind: ExtraKind, usage: Usage) -> None:
    """Remember what such requests cost, if there were any."""
    if not usage.calls:
        return
    path = folder / _FILE
    chain = read_chain(path, remedy=_REMEDY)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.truncate(chain.end)
            append(file, chain.head, {"kind": kind, "usage": usage.content}, durable=True)
    except OSError as error:
        raise EvaluationError(f"{shown_path(path)}: cannot be written ({error.strerror})") from error


def extra_usage(folder: Path, kind: ExtraKind) -> Usage:
    """What all such requests have cost so far."""
    path, total = folder / _FILE, Usage()
    for place, line in enumerate(read_chain(path, remedy=_REMEDY).lines, start=1):
        try:
            if line["kind"] == kind:
                total += Usage.from_content(line["usage"])
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise damaged(path, place, _REMEDY) from error
    return total
