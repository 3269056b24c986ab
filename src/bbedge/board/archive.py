"""A whole board as one text file: an event a line, with the scores that came with it."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bbedge.board.archive_lines import FORMAT, LONGEST_LINE, Head, Row, Saved, read_cache, read_head, read_row
from bbedge.board.packing import checksum
from bbedge.board.store import Session, Store
from bbedge.board.verify import Verified, verify_session
from bbedge.errors import BbedgeError, BoardError, FormatError
from bbedge.text import shown_path


def export_lines(store: Store) -> Iterator[str]:
    """The lines of the archive."""
    with store.read() as session:
        events = session.events()
        yield _line({"bbedge-board": FORMAT, "events": len(events), "head": events[-1].hash if events else None})
        of_event: dict[int, list[tuple[int, int, str]]] = {}
        for epoch, replicate, model, seq in session.vector_places():
            of_event.setdefault(seq, []).append((epoch, replicate, model))
        for event in events:
            vectors = []
            for epoch, replicate, model in of_event.get(event.seq, []):
                data = session.vectors(epoch, replicate).get(model)
                if data is None:  # listed, but not found: the index of the table is damaged
                    raise BoardError(
                        "the board file is damaged: stored scores cannot be found; see bbedge board verify"
                    )
                vectors.append([epoch, replicate, model, base64.b64encode(data).decode("ascii")])
            yield _line(
                {
                    "seq": event.seq,
                    "kind": event.kind,
                    "at": event.at,
                    "payload": event.payload,
                    "previous": event.previous,
                    "hash": event.hash,
                    "vectors": vectors,
                }
            )
        saved = session.cache()
        if sum(map(len, saved.values())) > LONGEST_LINE // 2:
            saved = {}  # only a shortcut: without it, the evidence is computed again from the scores
        cache = {claim: base64.b64encode(state).decode("ascii") for claim, state in sorted(saved.items())}
        yield _line({"cache": cache})


def _line(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=True, separators=(",", ":")) + "\n"


def import_file(archive: Path, place: str | os.PathLike[str]) -> Verified:
    """:func:`import_lines` for a file."""
    name = shown_path(archive)
    try:
        with archive.open("rb") as file:
            return import_lines(_lines_of(file, name), place, source=name)
    except OSError as error:
        raise FormatError(f"{name}: cannot be read ({error.strerror})") from error


def _lines_of(file: Any, name: str) -> Iterator[str]:  # noqa: ANN401 - a binary file
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
    """Make a board from an archive and verify it from the ground up; if anything is wrong, there is no board."""
    numbered = enumerate(lines, start=1)
    head = read_head(next(numbered, (1, ""))[1], source)
    store = Store(place, create=True)
    with store.write_first() as session:
        _fill(session, numbered, head, source)
        try:
            return verify_session(session)
        except BbedgeError as error:
            raise BoardError(f"{source}: {error}") from error


def _fill(session: Session, lines: Iterable[tuple[int, str]], head: Head, source: str) -> None:
    items: dict[int, int] = {}
    saved: Saved | None = None
    count = 0
    for number, line in lines:
        where = f"{source}:{number}"
        if saved is not None:
            raise FormatError(f"{where}: the archive goes on after its end; it was edited")
        if count == head.events:
            saved = read_cache(line, where)
            session.put_cache(saved.states)
            continue
        row = read_row(line, where, seq=count + 1)
        _check_size(row, items, where)
        session.append(row.event)
        session.put_vectors(row.event.seq, list(row.vectors))
        count += 1
    if saved is None or session.head() != head.hash:
        raise FormatError(f"{source}: its first line names other events than follow; the file was cut short or edited")


def _check_size(row: Row, items: dict[int, int], where: str) -> None:
    """Refuse scores of more items than there are before they are unpacked; ``items`` has their number by epoch."""
    if row.new_items is not None:
        items[len(items) + 1] = items.get(len(items), 0) + row.new_items
    for vector in row.vectors:
        if vector.epoch not in items:
            raise FormatError(f"{where}: scores of epoch {vector.epoch}, which no event has opened")
        try:
            checksum(vector.data, items[vector.epoch])
        except BoardError as error:
            raise FormatError(f"{where}: {error}") from error
