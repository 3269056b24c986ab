"""A whole board as one text file: an event a line, with the scores that came with it."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, cast

from bbedge.board.contents import EventKind
from bbedge.board.ledger import Event
from bbedge.board.store import Store, Vector
from bbedge.board.verify import Verified, verify_session
from bbedge.errors import BoardError, FormatError

_FORMAT = 1


def export_lines(store: Store) -> Iterator[str]:
    """The lines of the archive."""
    with store.read() as session:
        events = session.events()
        yield _line({"bbedge-board": _FORMAT, "events": len(events), "head": events[-1].hash if events else None})
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
        cache = {claim: base64.b64encode(state).decode("ascii") for claim, state in sorted(session.cache().items())}
        yield _line({"cache": cache})


def _line(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=True, separators=(",", ":")) + "\n"


def import_lines(lines: Iterable[str], place: str | os.PathLike[str], *, source: str) -> Verified:
    """Make a board from an archive, in one transaction, and verify it from the ground up."""
    rows = _parsed(lines, source)
    head = next(rows, None)
    if head is None or head.get("bbedge-board") != _FORMAT:
        raise FormatError(f"{source}: not a board archive of format {_FORMAT}; make one with bbedge board export")
    store = Store(place, create=True)
    with store.write() as session:
        if session.events():
            raise BoardError(f"{store.name}: a board is here already; import into a new place")
        count = 0
        for row in rows:
            try:
                if "cache" in row:
                    saved = row["cache"].items()
                    session.put_cache({int(claim): base64.b64decode(state, validate=True) for claim, state in saved})
                    continue
                event = Event(
                    seq=row["seq"],
                    kind=cast("EventKind", row["kind"]),
                    at=row["at"],
                    payload=row["payload"],
                    previous=row["previous"],
                    hash=row["hash"],
                )
                vectors = [
                    Vector(epoch=epoch, replicate=replicate, model=model, data=base64.b64decode(data, validate=True))
                    for epoch, replicate, model, data in row["vectors"]
                ]
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise FormatError(f"{source}: line {count + 2} is not an event ({error})") from error
            session.append(event)
            session.put_vectors(event.seq, vectors)
            count += 1
        if count != head.get("events") or session.head() != head.get("head"):
            raise FormatError(
                f"{source}: its first line names other events than follow; the file was cut short or edited"
            )
        return verify_session(session)


def _parsed(lines: Iterable[str], source: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise FormatError(f"{source}:{number}: not JSON ({error}); the file is damaged") from error
        if not isinstance(row, dict):
            raise FormatError(f"{source}:{number}: not an event")
        yield row
