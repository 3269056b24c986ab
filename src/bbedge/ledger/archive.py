"""A whole ledger as one text file: an event a line, with the scores that came with it.

An archive may come from anywhere. Every line is checked before anything uses it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, BinaryIO, Final, Literal, TypeVar

from msgspec import Meta, structs

from bbedge.errors import BbedgeError, BoardError, FormatError, raise_first
from bbedge.files import system_errors, write_whole
from bbedge.ledger.chain import KINDS, LedgerEvent, checksum
from bbedge.ledger.store import Session, Store, Vector
from bbedge.records.codec import FILE_VERSION, check_file_version, convert, parse_json, plain
from bbedge.records.events import Created, ItemsAdded
from bbedge.records.gate import ItemListing, PolicyFrozen, UseBegun
from bbedge.records.values import LARGEST_STORED, Digest, Ordinal, Strict, grouped
from bbedge.text import quoted, shown_path

LONGEST_LINE = 1 << 30
"""Bytes of a line. Lines are read whole, and without a bound a single one could take all memory."""

_BOARD: Final = "bbedge-board"
_GATE: Final = "bbedge-gate"
_R = TypeVar("_R")
_T = TypeVar("_T", bound=Strict)


class _Head(Strict, frozen=True, kw_only=True):
    """The first line."""

    kind: Literal["bbedge-board", "bbedge-gate"]
    version: int
    events: Ordinal
    """How many events follow."""
    head: Digest
    """The hash of the last one."""


class _Row(LedgerEvent, frozen=True, kw_only=True):
    """The line of an event."""

    vectors: tuple[Vector, ...]
    """The scores that came with it."""


class _Cache(Strict, frozen=True, kw_only=True):
    """The last line, with the saved evidence."""

    cache: dict[Annotated[int, Meta(ge=0, le=LARGEST_STORED)], bytes]


def export_lines(store: Store) -> Iterator[str]:
    """The lines of the archive."""
    with store.read() as session:
        events = session.events()
        head = events[-1].hash if events else None
        kind = _GATE if session.is_gate() else _BOARD
        yield _line({"kind": kind, "version": FILE_VERSION, "events": len(events), "head": head})
        of_event = grouped((seq, (epoch, run, model)) for epoch, run, model, seq in session.vector_places())
        found: tuple[tuple[int, int] | None, dict[str, bytes]] = (None, {})
        for event in events:
            vectors = []
            for epoch, replicate, model in of_event.get(event.seq, ()):
                if found[0] != (epoch, replicate):
                    found = (epoch, replicate), session.vectors(epoch, replicate)
                data = found[1].get(model)
                if data is None:  # listed, but not found: the index of the table is damaged
                    raise BoardError("the board file is damaged: stored scores cannot be found; verify the board")
                vectors.append(Vector(epoch=epoch, replicate=replicate, model=model, data=data))
            yield _line(_Row(**structs.asdict(event), vectors=tuple(vectors)))
        saved = session.cache()
        if sum(map(len, saved.values())) > LONGEST_LINE // 2:
            saved = {}  # only a shortcut: without it, the evidence is computed again from the scores
        yield _line(_Cache(cache=dict(sorted(saved.items()))))


def export_file(store: Store, path: str | os.PathLike[str]) -> None:
    """Write the archive: all of it or nothing."""
    if store.is_at(path):
        raise BoardError(f"{store.name} is the board itself; export it to another file")
    write_whole(Path(path), export_lines(store))


def _line(content: object) -> str:
    return json.dumps(plain(content), ensure_ascii=True, separators=(",", ":")) + "\n"


def import_file(archive: Path, place: str | os.PathLike[str], *, verify: Callable[[Session], _R]) -> _R:
    """:func:`import_lines` for a file."""
    name = shown_path(archive)
    with system_errors(archive, "read", kind=FormatError), archive.open("rb") as file:
        return import_lines(_lines_of(file, name), place, source=name, verify=verify)


def _lines_of(file: BinaryIO, name: str) -> Iterator[str]:
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
        if len(line) > LONGEST_LINE:
            raise FormatError(f"{name}:{number}: the line has more than {LONGEST_LINE:,} bytes; not a board archive")
        try:
            yield line.decode("ascii")
        except UnicodeDecodeError as error:
            raise FormatError(f"{name}:{number}: not a board archive ({error})") from error


def import_lines(
    lines: Iterable[str], place: str | os.PathLike[str], *, source: str, verify: Callable[[Session], _R]
) -> _R:
    """Make a ledger from an archive and ``verify`` all of it; if anything is wrong, none is made."""
    numbered = enumerate(lines, start=1)
    head = _read_head(next(numbered, (1, ""))[1], source)
    store = Store(place, create=True)
    with store.write_first() as session:
        _fill(session, numbered, head, source)
        try:
            return verify(session)
        except BbedgeError as error:
            raise BoardError(f"{source}: {error}") from error


def _fill(session: Session, lines: Iterable[tuple[int, str]], head: _Head, source: str) -> None:
    items: dict[int, int] = {}
    listings: dict[str, int] = {}
    saved: _Cache | None = None
    count = 0
    for number, line in lines:
        where = f"{source}:{number}"
        if saved is not None:
            raise FormatError(f"{where}: the archive goes on after its end; it was edited")
        if count == head.events:
            saved = _read_line(line, _Cache, where)
            session.put_cache(saved.cache)
            continue
        row = _read_line(line, _Row, where)
        count += 1
        _check_row(row, count, where)
        if count == 1 and (row.kind == PolicyFrozen.kind) != (head.kind == _GATE):
            raise FormatError(f"{where}: {head.kind} cannot begin with {quoted(row.kind)}; the file was edited")
        _check_size(row, items, listings, where)
        session.append(row)
        try:
            session.put_vectors(row.seq, row.vectors)
        except BoardError as error:
            raise FormatError(f"{where}: {error}") from error
    if saved is None or session.head() != head.head:
        raise FormatError(f"{source}: the events do not match its first line; the file was cut short or edited")


def _check_row(row: _Row, seq: int, where: str) -> None:
    places = [(vector.epoch, vector.replicate, vector.model) for vector in row.vectors]
    raise_first(
        FormatError,
        (row.seq != seq, f"{where}: event {row.seq} in the place of event {seq}; the file was edited"),
        (row.kind not in KINDS, f"{where}: {quoted(row.kind)} is not a kind of event; the file was edited"),
        (
            not all(replicate for _, replicate, _ in places),
            f"{where}: scores of replicate 0; replicates are counted from 1, and pilots from -1",
        ),
        (len(set(places)) < len(places), f"{where}: the scores of a model come twice; the file was edited"),
    )


def _check_size(row: _Row, items: dict[int, int], listings: dict[str, int], where: str) -> None:
    """Refuse scores of more items than there are before they are unpacked.

    ``items`` has their number by the epoch of a board or the use of a gate, ``listings`` by digest.
    """
    if row.kind in (Created.kind, ItemsAdded.kind, UseBegun.kind):
        try:
            content = row.fact
        except BoardError as error:
            raise FormatError(f"{where}: event {row.seq}: {error}") from error
        if isinstance(content, UseBegun):
            if isinstance(content.listing, ItemListing):
                listings[content.items] = len(content.listing.items)
            items[content.use] = listings.get(content.items, 0)
        else:
            assert isinstance(content, Created | ItemsAdded)
            items[len(items) + 1] = items.get(len(items), 0) + len(content.items)
    for vector in row.vectors:
        if vector.epoch not in items:
            raise FormatError(f"{where}: scores of epoch {vector.epoch}, which no event has opened")
        try:
            checksum(vector.data, items[vector.epoch])
        except BoardError as error:
            raise FormatError(f"{where}: {error}") from error


def _read_head(line: str, source: str) -> _Head:
    """The first line of an archive."""
    try:
        row = parse_json(line, source=source, what="a board archive")
    except FormatError as error:
        raise FormatError(f"{error}; make one with bbedge board export") from error
    if not isinstance(row, dict) or row.get("kind") not in (_BOARD, _GATE):
        raise FormatError(f"{source}: not a board archive; make one with bbedge board export")
    check_file_version(row.get("version"), what=f"{source}: the archive", kind=FormatError)
    return convert(row, _Head, source=f"{source}:1")


def _read_line(line: str, kind: type[_T], where: str) -> _T:
    """A later line; where it is not one, the file is damaged or was edited."""
    return convert(parse_json(line, source=where, what="a line of a board archive"), kind, source=where)
