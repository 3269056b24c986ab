"""What is written in the folder of a run: the lines of a journal, requests beside the samples, tables of judgements.

``extras.jsonl`` remembers what short questions before a start and pilots of dry runs cost: they are no evidence and no
part of a replicate. The tables of judgements are what ``bbedge diagnose --judgement judgement`` reads.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

from bbedge.chain import Chain, append, read_chain
from bbedge.errors import EvaluationError, FormatError
from bbedge.files import write_whole
from bbedge.records.codec import convert, plain
from bbedge.records.journal import LINES, Done, Extra, ExtraKind, Line, Replicate, Usage
from bbedge.text import shown_path

T = TypeVar("T")
_RARE = ("judgements", "judged", "served", "shares")
_FILE = "extras.jsonl"
_REMEDY = "restore the file from a copy, or move it to another folder: only the count of these requests is lost with it"
FOLDER = "judgements"
"""The folder of the tables, in the folder of the run."""


def append_line(path: Path, content: Mapping[str, Any], *, remedy: str) -> None:
    """Add a line at the end of a file, on the disk when this returns."""
    chain = read_chain(path, remedy=remedy)
    with opened_at(path, chain.end) as file:
        append(file, chain.head, content, durable=True)


def opened_at(path: Path, end: int) -> IO[bytes]:
    """The file for appending, without the line that was being written at a crash."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
        file.truncate(end)
    except OSError as error:
        raise EvaluationError(f"{shown_path(path)}: cannot be written ({error.strerror})") from error
    return file


def each_line(
    chain: Chain, path: Path, read: Callable[[Mapping[str, Any], str], T], *, remedy: str, first: int = 1
) -> list[T]:
    """What every line of a file says, from the ``first`` on; ``read`` gets a line and its place."""
    found = []
    for place, line in enumerate(chain.lines[first - 1 :], start=first):
        try:
            found.append(read(line, f"{shown_path(path)}:{place}: the line is damaged"))
        except FormatError as error:
            raise EvaluationError(f"{error}; {remedy}") from error
    return found


def is_line_of_study(line: Mapping[str, Any], study: Mapping[str, object]) -> bool:
    """Whether a line is of this study."""
    return all(line.get(key) == value for key, value in study.items())


def line_of(record: Line | Replicate) -> dict[str, Any]:
    """A record as a line: what few records have is left out of the others."""
    return {key: value for key, value in plain(record).items() if value or key not in _RARE}


def record_from(line: Mapping[str, Any], source: str) -> Line:
    """What a line in the file of a replicate says."""
    kind = next((kind for key, kind in LINES.items() if key in line), Done)
    return convert(line, kind, source=source)


def add_extra(folder: Path, kind: ExtraKind, usage: Usage) -> None:
    """Remember what such requests cost, if there were any."""
    if usage.calls:
        append_line(folder / _FILE, plain(Extra(kind=kind, usage=usage)), remedy=_REMEDY)


def extra_usage(folder: Path, *kinds: ExtraKind) -> Usage:
    """What all requests of these kinds have cost so far."""
    path = folder / _FILE
    extras = each_line(
        read_chain(path, remedy=_REMEDY),
        path,
        lambda line, source: convert(line, Extra, source=source),
        remedy=_REMEDY,
    )
    return sum((each.usage for each in extras if each.kind in kinds), Usage())


def write_judgements(folder: Path, replicate: int, done: Iterable[Done], blocks: Mapping[str, str]) -> None:
    """Write the judgements of a replicate, if its answers were judged several times."""
    rows = [
        (each.model, item, blocks.get(item, item), replicate, number, judgement)
        for each in done
        for item, judgements in each.judgements.items()
        for number, judgement in enumerate(judgements, start=1)
    ]
    if not rows:
        return
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("model", "item", "block", "replicate", "judgement", "score"))
    table.writerows(sorted(rows))
    path = folder / FOLDER / f"replicate-{replicate:05d}.csv"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.getvalue())
    except OSError as error:
        raise EvaluationError(f"{shown_path(path)}: cannot be written ({error.strerror})") from error
