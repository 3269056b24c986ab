"""What is written in the folder of a run: the lines of a journal, requests beside the samples, tables of judgements.

A file of lines has a JSON object in each, with a checksum over its content and the checksum of the line before; the
first line states the version of the file. A line that was edited, inserted, removed or moved is noticed when the file
is read, because the checksums after it no longer fit. Only the end of the file can be lost unnoticed, which is what a
crash does: a torn last line is left out.

``extras.jsonl`` remembers what short questions before a start and pilots of dry runs cost: they are no evidence and no
part of a replicate. The tables of judgements are what ``bbedge diagnose --judgement judgement`` reads.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from bbedge.errors import EvaluationError, FormatError
from bbedge.files import csv_text, system_errors, write_whole
from bbedge.records.codec import FILE_VERSION, check_file_version, convert, plain
from bbedge.records.journal import LINES, Done, Extra, ExtraKind, Line, Replicate, Usage
from bbedge.text import shown_path

T = TypeVar("T")
_RARE = ("judgements", "judged", "served", "shares")
_FILE = "extras.jsonl"
_REMEDY = "restore the file from a copy, or move it to another folder: only the count of these requests is lost with it"
FOLDER = "judgements"
"""The folder of the tables, in the folder of the run."""
_SUM, _VERSION = "sum", "version"
_FIRST = hashlib.sha256(b"bbedge journal").hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalLines:
    """The complete lines of a file."""

    path: Path
    remedy: str
    """What to do about a line that is damaged."""
    lines: tuple[dict[str, Any], ...]
    """Their contents, without the version and checksums."""
    end: int
    """The size of the complete lines in bytes; what follows is a torn line."""
    head: str
    """The checksum that the next line builds on."""


def read_chain(path: Path, *, remedy: str) -> JournalLines:
    """Read and check a file; one that does not exist is empty."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = b""
    except OSError as error:
        raise EvaluationError(f"{shown_path(path)}: cannot be read ({error.strerror})") from error
    complete = data[: data.rfind(b"\n") + 1]
    head, lines = _FIRST, []
    for place, text in enumerate(complete.split(b"\n")[:-1], start=1):
        where = f"{shown_path(path)}:{place}"
        content = _parsed(text)
        if content is None:
            raise EvaluationError(f"{where}: the line is damaged; {remedy}")
        given = content.pop(_SUM, None)
        if given is None:
            raise EvaluationError(f"{where}: the line has no checksum; {remedy}")
        if place == 1:
            check_file_version(content.get(_VERSION), what=f"{where}: the file", kind=EvaluationError)
        head = _next(head, content)
        if given != head or text != _text(content | {_SUM: head}):
            raise EvaluationError(
                f"{where}: the checksum does not fit: this line was changed, or lines before it were inserted, removed "
                f"or moved; {remedy}"
            )
        lines.append({key: value for key, value in content.items() if place > 1 or key != _VERSION})
    return JournalLines(path=path, remedy=remedy, lines=tuple(lines), end=len(complete), head=head)


def append(file: IO[bytes], head: str, content: Mapping[str, Any], *, durable: bool) -> str:
    """Write a line and return its checksum. It then survives the end of this process, if ``durable`` a power failure.

    A line that is not durable is for what only has to be counted.
    """
    if head == _FIRST:
        content = {_VERSION: FILE_VERSION, **content}
    new = _next(head, content)
    with system_errors(file.name, "written", "; make room and run the same command again", kind=EvaluationError):
        file.write(_text({**content, _SUM: new}) + b"\n")
        file.flush()
        if durable:
            os.fsync(file.fileno())
    return new


def _parsed(text: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(text)
        json.dumps(content, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _next(head: str, content: Mapping[str, Any]) -> str:
    return hashlib.sha256(head.encode("ascii") + b"\n" + _text(content)).hexdigest()


def _text(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")


def append_line(path: Path, content: Mapping[str, Any], *, remedy: str) -> None:
    """Add a line at the end of a file, on the disk when this returns."""
    chain = read_chain(path, remedy=remedy)
    with opened_at(path, chain.end) as file:
        append(file, chain.head, content, durable=True)


def opened_at(path: Path, end: int) -> IO[bytes]:
    """The file for appending, without the line that was being written at a crash."""
    with system_errors(path, "written", kind=EvaluationError):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
        file.truncate(end)
    return file


def each_line(chain: JournalLines, read: Callable[[Mapping[str, Any], str], T], *, first: int = 1) -> list[T]:
    """What every line of a file says, from the ``first`` on; ``read`` gets a line and its place."""
    lines, where = enumerate(chain.lines[first - 1 :], start=first), shown_path(chain.path)
    try:
        return [read(line, f"{where}:{place}: the line is damaged") for place, line in lines]
    except FormatError as error:
        raise EvaluationError(f"{error}; {chain.remedy}") from error


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
    chain = read_chain(folder / _FILE, remedy=_REMEDY)
    extras = each_line(chain, lambda line, source: convert(line, Extra, source=source))
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
    text = csv_text(("model", "item", "block", "replicate", "judgement", "score"), sorted(rows))
    path = folder / FOLDER / f"replicate-{replicate:05d}.csv"
    with system_errors(path, "written", kind=EvaluationError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
