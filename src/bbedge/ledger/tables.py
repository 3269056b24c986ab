"""The tables of a board: their definition, whether a SQLite file has exactly these, and their rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, TypeVar

import sqlalchemy as sa
from msgspec import Meta, Struct, structs

from bbedge.errors import BoardError
from bbedge.ledger.chain import LedgerEvent, digest
from bbedge.ledger.heads import LedgerHead
from bbedge.records.codec import FILE_VERSION, check_file_version
from bbedge.records.gate import PolicyFrozen
from bbedge.records.values import LARGEST_STORED, Ordinal
from bbedge.text import quoted, shown

_T = TypeVar("_T")

_METADATA = sa.MetaData()
META = sa.Table(
    "bbedge_meta",
    _METADATA,
    sa.Column("key", sa.String, primary_key=True),
    sa.Column("value", sa.String, nullable=False),
)
EVENTS = sa.Table(
    "bbedge_events",
    _METADATA,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    *(
        sa.Column(name, sa.Text if name == "payload" else sa.String, nullable=False)
        for name in LedgerEvent.__struct_fields__[1:]
    ),
)
VECTORS = sa.Table(
    "bbedge_vectors",
    _METADATA,
    sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("replicate", sa.Integer, primary_key=True, autoincrement=False),  # pilots are counted down from -1
    sa.Column("model", sa.String, primary_key=True),
    sa.Column("event", sa.Integer, sa.ForeignKey("bbedge_events.seq"), nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.Column("checksum", sa.String, nullable=False),
)
CACHE = sa.Table(
    "bbedge_cache",
    _METADATA,
    sa.Column("claim", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("state", sa.LargeBinary, nullable=False),
)


# ANALYZE makes these; they guide the choice of an index and hold nothing that is read here.
_STATISTICS = frozenset({"sqlite_stat1", "sqlite_stat4"})


def has_ledger(connection: sa.Connection, name: str) -> bool:
    """Whether this database holds a ledger; ``BoardError`` if it is damaged, or of a version that is not read.

    ``name`` is how messages call the place, here and below.
    """
    if connection.dialect.name == "sqlite":
        found = _objects(connection)
        if META.name not in found:
            return False
        _check_objects(found, name)
    elif not sa.inspect(connection).has_table(META.name):
        return False
    value = connection.scalar(sa.select(META.c.value).where(META.c.key == "version"))
    if value != str(FILE_VERSION):  # a column of texts
        check_file_version(value, what=f"{name}: the board", kind=BoardError)
    return True


def make_tables(connection: sa.Connection, name: str) -> None:
    """Make the tables of a new ledger."""
    if connection.dialect.name == "sqlite" and (found := _objects(connection)):
        what = _called(found, min(found))
        raise BoardError(f"{name}: not a board: the file is a database with the {what}; choose another")
    _METADATA.create_all(connection)
    connection.execute(sa.insert(META).values(key="version", value=str(FILE_VERSION)))


def _objects(connection: sa.Connection) -> dict[str, tuple[str, str, str | None]]:
    """Everything that a SQLite file defines, by name: its type, its table, and its SQL with the spaces made even."""
    rows = connection.exec_driver_sql("SELECT name, type, tbl_name, sql FROM sqlite_master").all()
    return {
        str(name): (str(kind), str(table), None if sql is None else " ".join(str(sql).split()))
        for name, kind, table, sql in rows
        if name not in _STATISTICS
    }


def _check_objects(found: dict[str, tuple[str, str, str | None]], place: str) -> None:
    """Refuse views, triggers, generated columns: what makes a query return something that is not stored."""
    expected = _expected()
    for name in sorted(found):
        if found[name] != expected.get(name):
            called = _called(found, name)
            raise BoardError(
                f"{place}: the board was changed by another program: "
                + (
                    f"the {called} is not defined as bbedge defines it"
                    if name in expected
                    else f"it has the {called}, which bbedge does not make"
                )
                + ". Restore the board from a copy or an export"
            )
    for name in sorted(set(expected) - set(found)):
        raise BoardError(
            f"{place}: the board is damaged: the {_called(expected, name)} is missing; restore it from a copy or an "
            "export"
        )


def _called(objects: dict[str, tuple[str, str, str | None]], name: str) -> str:
    return f"{objects[name][0]} {quoted(name)}"


@cache
def _expected() -> dict[str, tuple[str, str, str | None]]:
    with sa.create_engine("sqlite://").connect() as connection:
        _METADATA.create_all(connection)
        return _objects(connection)


class Vector(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """The packed scores of one model in one replicate; a list in archives."""

    epoch: Ordinal
    """The benchmark version of a board, or the use of a gate, from 1."""
    replicate: Annotated[int, Meta(ge=-LARGEST_STORED, le=LARGEST_STORED)]
    """The replicate, from 1; pilot replicates are -1, -2, ..., parts of a first run are below all of these."""
    model: str
    data: bytes
    """Its scores, packed."""


class Session:
    """Reading and writing inside one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def events(self) -> list[LedgerEvent]:
        """The ledger, in order."""
        rows = self._connection.execute(sa.select(EVENTS).order_by(EVENTS.c.seq))
        _, *texts = LedgerEvent.__struct_fields__
        return [
            LedgerEvent(seq=_as(int, row.seq), **{name: _as(str, getattr(row, name)) for name in texts}) for row in rows
        ]

    def is_gate(self) -> bool | None:
        """Whether this is the ledger of a gate, by its first event, or that of a board; ``None`` if it is empty."""
        kind = self._connection.scalar(sa.select(EVENTS.c.kind).where(EVENTS.c.seq == 1))
        return None if kind is None else kind == PolicyFrozen.kind

    def head(self) -> str | None:
        """The hash of the last event, as it was noted beside the ledger."""
        value = self._connection.scalar(sa.select(META.c.value).where(META.c.key == "head"))
        return None if value is None else _as(str, value)

    def heads(self, since: int) -> list[LedgerHead]:
        """The heads of the events from a number on."""
        columns = (EVENTS.c.seq, EVENTS.c.hash, EVENTS.c.at)
        rows = self._connection.execute(sa.select(*columns).where(EVENTS.c.seq >= since).order_by(EVENTS.c.seq))
        return [LedgerHead(number=_as(int, row.seq), hash=_as(str, row.hash), time=_as(str, row.at)) for row in rows]

    def append(self, event: LedgerEvent) -> None:
        """Add an event to the ledger."""
        self._connection.execute(
            sa.insert(EVENTS).values({name: getattr(event, name) for name in LedgerEvent.__struct_fields__})
        )
        self._connection.execute(sa.delete(META).where(META.c.key == "head"))
        self._connection.execute(sa.insert(META).values(key="head", value=event.hash))

    def put_vectors(self, event: int, vectors: Sequence[Vector]) -> None:
        """Store score vectors that came with an event."""
        for vector in vectors:
            try:
                vector.model.encode()
            except UnicodeEncodeError as error:
                raise BoardError(f"model {shown(vector.model)} cannot be stored: its name is not Unicode") from error
        if vectors:
            self._connection.execute(
                sa.insert(VECTORS),
                [{**structs.asdict(each), "event": event, "checksum": digest(each.data)} for each in vectors],
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
