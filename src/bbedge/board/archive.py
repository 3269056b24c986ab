"""A whole board as one text file: an event a line, with the scores that came with it.

An archive may come from anywhere. Every line is checked before anything uses it.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from bbedge.board.codec import HASH, LARGEST, is_text
from bbedge.board.events import KINDS, Created, ItemsAdded
from bbedge.board.ledger import TEXTS, Event
from bbedge.board.packing import checksum
from bbedge.board.store import Session, Store, Vector
from bbedge.board.verify import Verified, verify_session
from bbedge.errors import BbedgeError, BoardError, FormatError
from bbedge.files import FILE_VERSION, check_file_version
from bbedge.text import shown, shown_path

LONGEST_LINE = 1 << 30
"""Bytes of a line. Lines are read whole, and without a bound a single one could take all memory."""

_KIND = "bbedge-board"
_TEXTS = {
    **dict.fromkeys(("head", "previous", "hash"), (HASH, "a hash of 64 digits")),
    "kind": (re.compile("|".join(KINDS)), "a kind of event"),
    "at": (re.compile(r"[ -~]{1,64}"), "a time"),
    "payload": (re.compile(r"[ -~]*"), "a text in ASCII"),
}
"""What each text of a line must match, and how a message calls it."""

_HEAD_KEYS = frozenset({"kind", "version", "events", "head"})
_ROW_KEYS = frozenset({"seq", *TEXTS, "vectors"})


def export_lines(store: Store) -> Iterator[str]:
    """The lines of the archive."""
    with store.read() as session:
        events = session.events()
        head = events[-1].hash if events else None
        yield _line({"kind": _KIND, "version": FILE_VERSION, "events": len(events), "head": head})
        of_event: dict[int, list[tuple[int, int, str]]] = {}
        for epoch, replicate, model, seq in session.vector_places():
            of_event.setdefault(seq, []).append((epoch, replicate, model))
        for event in events:
            vectors = []
            for epoch, replicate, model in of_event.get(event.seq, []):
                data = session.vectors(epoch, replicate).get(model)
                if data is None:  # listed, but not found: the index of the table is damaged
                    raise BoardError("the board file is damaged: stored scores cannot be found; verify the board")
                vectors.append([epoch, replicate, model, base64.b64encode(data).decode("ascii")])
            yield _line({"seq": event.seq, **{key: getattr(event, key) for key in TEXTS}, "vectors": vectors})
        saved = session.cache()
        if sum(map(len, saved.values())) > LONGEST_LINE // 2:
            saved = {}  # only a shortcut: without it, the evidence is computed again from the scores
        cache = {claim: base64.b64encode(state).decode("ascii") for claim, state in sorted(saved.items())}
        yield _line({"cache": cache})


def _line(content: dict[str, object]) -> str:
    return json.dumps(content, ensure_ascii=True, separators=(",", ":")) + "\n"


def import_file(archive: Path, place: str | os.PathLike[str]) -> Verified:
    """:func:`import_lines` for a file."""
    name = shown_path(archive)
    try:
        with archive.open("rb") as file:
            return import_lines(_lines_of(file, name), place, source=name)
    except OSError as error:
        raise FormatError(f"{name}: cannot be read ({error.strerror})") from error


def _lines_of(file: BinaryIO, name: str) -> Iterator[str]:
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise FormatError(f"{name}:{number}: the line has more than {LONGEST_LINE:,} bytes; not a board archive")
        try:
            yield line.decode("ascii")
        except UnicodeDecodeError as error:
            raise FormatError(f"{name}:{number}: not a board archive ({error})") from error


def import_lines(lines: Iterable[str], place: str | os.PathLike[str], *, source: str) -> Verified:
    """Make a board from an archive and verify all of it; if anything is wrong, no board is made."""
    numbered = enumerate(lines, start=1)
    head = _read_head(next(numbered, (1, ""))[1], source)
    store = Store(place, create=True)
    with store.write_first() as session:
        _fill(session, numbered, head, source)
        try:
            return verify_session(session)
        except BbedgeError as error:
            raise BoardError(f"{source}: {error}") from error


def _fill(session: Session, lines: Iterable[tuple[int, str]], head: _Head, source: str) -> None:
    items: dict[int, int] = {}
    saved: dict[int, bytes] | None = None
    count = 0
    for number, line in lines:
        where = f"{source}:{number}"
        if saved is not None:
            raise FormatError(f"{where}: the archive goes on after its end; it was edited")
        if count == head.events:
            saved = _read_cache(line, where)
            session.put_cache(saved)
            continue
        row = _read_row(line, where, seq=count + 1)
        _check_size(row, items, where)
        session.append(row.event)
        session.put_vectors(row.event.seq, list(row.vectors))
        count += 1
    if saved is None or session.head() != head.hash:
        raise FormatError(f"{source}: the events do not match its first line; the file was cut short or edited")


def _check_size(row: _Row, items: dict[int, int], where: str) -> None:
    """Refuse scores of more items than there are before they are unpacked; ``items`` has their number by epoch."""
    if row.event.kind in (Created.kind, ItemsAdded.kind):
        try:
            content = row.event.content
        except BoardError as error:
            raise FormatError(f"{where}: event {row.event.seq}: {error}") from error
        assert isinstance(content, Created | ItemsAdded)
        items[len(items) + 1] = items.get(len(items), 0) + len(content.items)
    for vector in row.vectors:
        if vector.epoch not in items:
            raise FormatError(f"{where}: scores of epoch {vector.epoch}, which no event has opened")
        try:
            checksum(vector.data, items[vector.epoch])
        except BoardError as error:
            raise FormatError(f"{where}: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """The first line."""

    events: int
    """How many events follow."""
    hash: str | None
    """The hash of the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """The line of an event."""

    event: Event
    """The event; the ledger checks what it says."""
    vectors: tuple[Vector, ...]
    """The scores that came with it."""


class _LineError(ValueError):
    """A line that is not what it should be; the message says how."""


def _read_head(line: str, source: str) -> _Head:
    """The first line of an archive."""
    try:
        row = _object(line)
    except _LineError as error:
        raise FormatError(f"{source}: not a board archive ({error}); make one with bbedge board export") from error
    if row.get("kind") != _KIND:
        raise FormatError(f"{source}: not a board archive; make one with bbedge board export")
    check_file_version(row.get("version"), what=f"{source}: the archive", kind=FormatError)
    try:
        _check_keys(row, _HEAD_KEYS)
        events = _integer(row, "events", least=1)
        return _Head(events=events, hash=_text(row, "head"))
    except _LineError as error:
        raise FormatError(f"{source}:1: {error}; the file was edited") from error


def _read_row(line: str, where: str, *, seq: int) -> _Row:
    """The line of the event with that number."""
    try:
        row = _object(line)
        _check_keys(row, _ROW_KEYS)
        if _integer(row, "seq", least=1) != seq:
            raise _LineError(f"event {row['seq']} in the place of event {seq}")
        event = Event(seq=seq, **{key: _text(row, key) for key in TEXTS})
        return _Row(event=event, vectors=_vectors(row["vectors"]))
    except _LineError as error:
        raise FormatError(f"{where}: not an event: {error}; the file is damaged or was edited") from error


def _read_cache(line: str, where: str) -> dict[int, bytes]:
    """The last line, with the saved evidence."""
    try:
        row = _object(line)
        _check_keys(row, frozenset({"cache"}))
        if not isinstance(row["cache"], dict):
            raise _LineError("'cache' is not an object")
        states = {}
        for claim, text in row["cache"].items():
            if not re.fullmatch(r"0|[1-9][0-9]{0,8}", claim):
                raise _LineError(f"'{shown(claim)}' is not the number of a claim")
            states[int(claim)] = _bytes(text)
    except _LineError as error:
        raise FormatError(f"{where}: not the saved evidence: {error}; the file is damaged or was edited") from error
    return states


def _object(text: str) -> dict[str, object]:
    try:
        row = json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise _LineError(f"not JSON ({error})") from error
    except RecursionError as error:
        raise _LineError("JSON that is nested too deeply") from error
    except ValueError as error:  # a number of thousands of digits, or what the hooks refuse
        raise _LineError(str(error)) from error
    if not isinstance(row, dict):
        raise _LineError("not a JSON object")
    return row


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _LineError(f"the key '{shown(next(name for name in names if names.count(name) > 1))}' comes twice")
    return found


def _constant(name: str) -> object:
    raise _LineError(f"{name} is not a JSON number")


def _check_keys(row: dict[str, object], expected: frozenset[str]) -> None:
    for key in sorted(expected - set(row)):
        raise _LineError(f"'{key}' is missing")
    for key in sorted(set(row) - expected):
        raise _LineError(f"'{shown(key)}' is not known")


def _integer(row: dict[str, object], key: str, *, least: int) -> int:
    value = row[key]
    if type(value) is not int or not least <= value <= LARGEST:
        raise _LineError(f"'{key}' is not a whole number from {least} to {LARGEST}")
    return value


def _text(row: dict[str, object], key: str) -> str:
    value, (pattern, called) = row[key], _TEXTS[key]
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise _LineError(f"'{key}' is not {called}")
    return value


def _vectors(found: object) -> tuple[Vector, ...]:
    if not isinstance(found, list):
        raise _LineError("'vectors' is not a list")
    vectors = []
    for each in found:
        if not isinstance(each, list) or len(each) != 4:
            raise _LineError("an entry of 'vectors' is not a list of epoch, replicate, model and scores")
        epoch, replicate, model, data = each
        if type(epoch) is not int or not 1 <= epoch <= LARGEST:
            raise _LineError("the epoch of an entry of 'vectors' is not a whole number from 1")
        if type(replicate) is not int or not 1 <= abs(replicate) <= LARGEST:
            raise _LineError("the replicate of an entry of 'vectors' is not a whole number")
        if not isinstance(model, str):
            raise _LineError("the model of an entry of 'vectors' is not a name")
        if not is_text(model):
            raise _LineError(f"the name of model '{shown(model)}' has an unpaired surrogate")
        vectors.append(Vector(epoch=epoch, replicate=replicate, model=model, data=_bytes(data)))
    places = {(vector.epoch, vector.replicate, vector.model) for vector in vectors}
    if len(places) < len(vectors):
        raise _LineError("the scores of a model come twice")
    return tuple(vectors)


def _bytes(text: object) -> bytes:
    if not isinstance(text, str):
        raise _LineError("bytes are not given as base64 text")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _LineError(f"bytes are not base64 ({error})") from error
