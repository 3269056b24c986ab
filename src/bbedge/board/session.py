"""Reading and writing a board inside one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, cast

import sqlalchemy as sa

from bbedge.board.contents import EventKind
from bbedge.board.ledger import Event
from bbedge.board.packing import digest
from bbedge.board.tables import CACHE, EVENTS, META, VECTORS
from bbedge.errors import BoardError
from bbedge.text import shown

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """The packed scores of one model in one replicate."""

    epoch: int
    """The benchmark version, from 1."""
    replicate: int
    """The replicate, from 1; pilot replicates are -1, -2, ..."""
    model: str
    """The model."""
    data: bytes
    """Its scores, packed."""


class Session:
    """Reading and writing inside one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def events(self) -> list[Event]:
        """The ledger, in order."""
        rows = self._connection.execute(sa.select(EVENTS).order_by(EVENTS.c.seq))
        return [
            Event(
                seq=_as(int, row.seq),
                kind=cast("EventKind", _as(str, row.kind)),
                at=_as(str, row.at),
                payload=_as(str, row.payload),
                previous=_as(str, row.previous),
                hash=_as(str, row.hash),
            )
            for row in rows
        ]

    def head(self) -> str | None:
        """The hash of the last event, as it was noted beside the ledger."""
        value = self._connection.scalar(sa.select(META.c.value).where(META.c.key == "head"))
        return None if value is None else _as(str, value)

    def append(self, event: Event) -> None:
        """Add an event to the ledger."""
        self._connection.execute(
            sa.insert(EVENTS).values(
                seq=event.seq,
                kind=event.kind,
                at=event.at,
                payload=event.payload,
                previous=event.previous,
                hash=event.hash,
            )
        )
        self._connection.execute(sa.delete(META).where(META.c.key == "head"))
        self._connection.execute(sa.insert(META).values(key="head", value=event.hash))

    def put_vectors(self, event: int, vectors: list[Vector]) -> None:
        """Store score vectors that came with an event."""
        for vector in vectors:
            try:
                vector.model.encode()
            except UnicodeEncodeError as error:
                raise BoardError(f"model {shown(vector.model)} cannot be stored: its name is not Unicode") from error
        if vectors:
            self._connection.execute(
                sa.insert(VECTORS),
                [
                    {
                        "epoch": vector.epoch,
                        "replicate": vector.replicate,
                        "model": vector.model,
                        "event": event,
                        "data": vector.data,
                        "checksum": digest(vector.data),
                    }
                    for vector in vectors
                ],
            )

    def vectors(self, epoch: int, replicate: int) -> dict[str, bytes]:
        """The packed scores of a replicate, by model."""
        query = sa.select(VECTORS.c.model, VECTORS.c.data).where(
            VECTORS.c.epoch == epoch, VECTORS.c.replicate == replicate
        )
        return {_as(str, row.model): _as(bytes, row.data) for row in self._connection.execute(query)}

    def vector_places(self) -> list[tuple[int, int, str, int]]:
        """Epoch, replicate, model and event of every stored vector."""
        columns = (VECTORS.c.epoch, VECTORS.c.replicate, VECTORS.c.model, VECTORS.c.event)
        # Sorted here: databases disagree about the order of names.
        return sorted(
            (_as(int, row.epoch), _as(int, row.replicate), _as(str, row.model), _as(int, row.event))
            for row in self._connection.execute(sa.select(*columns))
        )

    def bad_checksum(self) -> tuple[int, int, str] | None:
        """The first vector that does not match its checksum."""
        query = sa.select(VECTORS).order_by(VECTORS.c.epoch, VECTORS.c.replicate, VECTORS.c.model)
        for row in self._connection.execute(query):
            if digest(_as(bytes, row.data)) != row.checksum:
                return _as(int, row.epoch), _as(int, row.replicate), _as(str, row.model)
        return None

    def cache(self) -> dict[int, bytes]:
        """Saved states by claim; never to be trusted without the checksum in the ledger."""
        rows = self._connection.execute(sa.select(CACHE))
        return {_as(int, row.claim): _as(bytes, row.state) for row in rows}

    def put_cache(self, states: dict[int, bytes]) -> None:
        """Save the states of these claims over what was saved for them."""
        if states:
            self._connection.execute(sa.delete(CACHE).where(CACHE.c.claim.in_(states)))
            rows = [{"claim": claim, "state": state} for claim, state in states.items()]
            self._connection.execute(sa.insert(CACHE), rows)


def _as(kind: type[_T], value: object) -> _T:
    """The value, if it is of its column's type: SQLite keeps whatever a damaged or edited file holds."""
    if not isinstance(value, kind):
        raise BoardError(f"the board is damaged: {type(value).__name__} where {kind.__name__} belongs")
    return value
