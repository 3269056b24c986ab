"""Where a board is kept: the only SQL of the project.

One SQLite file by default, or any PostgreSQL database by URL. A write is one transaction that happens whole or not at
all; writers queue up behind each other.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, NoSuchModuleError, SQLAlchemyError

from bbedge.board.contents import EventKind
from bbedge.board.ledger import Event
from bbedge.board.packing import digest
from bbedge.errors import BoardError
from bbedge.naming import shown

SCHEMA_VERSION = 1
"""The layout that this version writes."""

_BUSY_SECONDS = 30.0

_T = TypeVar("_T")

_METADATA = sa.MetaData()
_META = sa.Table(
    "bbedge_meta",
    _METADATA,
    sa.Column("key", sa.String, primary_key=True),
    sa.Column("value", sa.String, nullable=False),
)
_EVENTS = sa.Table(
    "bbedge_events",
    _METADATA,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("at", sa.String, nullable=False),
    sa.Column("payload", sa.Text, nullable=False),
    sa.Column("previous", sa.String, nullable=False),
    sa.Column("hash", sa.String, nullable=False),
)
_VECTORS = sa.Table(
    "bbedge_vectors",
    _METADATA,
    sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("replicate", sa.Integer, primary_key=True, autoincrement=False),  # pilots are counted down from -1
    sa.Column("model", sa.String, primary_key=True),
    sa.Column("event", sa.Integer, sa.ForeignKey("bbedge_events.seq"), nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.Column("checksum", sa.String, nullable=False),
)
_CACHE = sa.Table(
    "bbedge_cache",
    _METADATA,
    sa.Column("claim", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("state", sa.LargeBinary, nullable=False),
)


def _create_all(connection: sa.Connection) -> None:
    _METADATA.create_all(connection)


_MIGRATIONS = (_create_all,)
"""Step v turns a board of layout v into one of layout v + 1. Steps are only ever added."""


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


class Store:
    """A database that holds one board. Use :meth:`read` and :meth:`write`."""

    def __init__(self, place: str | os.PathLike[str], *, create: bool = False) -> None:
        self._path = None if _is_url(place) else Path(place)
        self.name = _without_password(str(place)) if self._path is None else shown(str(place), None)
        if self._path is not None and not create:
            self._check_file(self._path)
        if self._path is not None and create and not self._path.parent.is_dir():
            raise BoardError(f"{self.name}: the folder does not exist; make it first")
        try:
            self._engine = self._make_engine(place)
        except (SQLAlchemyError, ImportError, NoSuchModuleError, ValueError) as error:
            raise BoardError(f"{self.name}: not a database this bbedge can use ({_reason(error)})") from error
        with self._explained(), self._begin("write" if create else "read") as connection:
            version = self._version(connection)
        if version is None and not create:
            raise BoardError(f"{self.name}: there is no board here; make one with bbedge board init")
        if version is not None and version > SCHEMA_VERSION:
            raise BoardError(
                f"{self.name}: the board has layout {version}, newer than the {SCHEMA_VERSION} that this bbedge knows; "
                "use the newer bbedge that wrote it"
            )
        if (version or 0) < SCHEMA_VERSION:
            self._migrate()

    @staticmethod
    def _check_file(path: Path) -> None:
        name = shown(str(path), None)
        if not path.exists():
            raise BoardError(f"{name}: there is no such board; make one with bbedge board init")
        if not path.is_file():
            raise BoardError(f"{name}: not a board file")
        try:
            with path.open("rb") as file:
                head = file.read(16)
        except OSError as error:
            raise BoardError(f"{name}: cannot be read ({error.strerror})") from error
        if head != b"SQLite format 3\0":
            raise BoardError(f"{name}: not a board: the file is empty, damaged or of another kind")

    def _make_engine(self, place: str | os.PathLike[str]) -> sa.Engine:
        if self._path is None:
            url = sa.make_url(str(place))
            if url.drivername in ("postgresql", "postgres"):
                url = url.set(drivername="postgresql+psycopg")
            if not url.drivername.startswith("postgresql"):
                raise BoardError(f"{self.name}: a board lives in a file or in PostgreSQL, not in {url.drivername}")
            try:
                return sa.create_engine(url, poolclass=sa.NullPool)
            except ModuleNotFoundError as error:
                if error.name != "psycopg":
                    raise
                raise BoardError(
                    f"{self.name}: a board in PostgreSQL needs psycopg; install it with: pip install 'psycopg[binary]'"
                ) from error
        url = sa.URL.create("sqlite", database=str(self._path))
        journal = Path(f"{self._path}-wal")  # of a writer that is at work or was killed: it holds what was saved last
        if self._path.exists() and not journal.exists() and not os.access(self._path.parent, os.W_OK):
            # A journal cannot be written beside the file; read it as the unchanging thing it is.
            path = urllib.parse.quote(str(self._path.absolute()))
            url = sa.URL.create("sqlite", database=f"file:{path}", query={"immutable": "1", "uri": "true"})
        engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args={"timeout": _BUSY_SECONDS})
        sa.event.listen(engine, "connect", _prepare_sqlite)
        return engine

    @property
    def is_sqlite(self) -> bool:
        """Whether the board is a file."""
        return self._engine.dialect.name == "sqlite"

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise BoardError(f"{self.name}: {_explanation(error)}") from error

    @contextmanager
    def _begin(self, mode: str) -> Iterator[sa.Connection]:
        with self._engine.connect() as connection:
            if mode == "read" and not self.is_sqlite:
                # One snapshot for the whole block: events and head must be of the same moment.
                connection.execution_options(isolation_level="REPEATABLE READ")
            if self.is_sqlite:
                # IMMEDIATE takes the write lock first, so that what a writer reads cannot be overtaken.
                connection.exec_driver_sql("BEGIN IMMEDIATE" if mode == "write" else "BEGIN")
            elif mode == "write":
                # One writer at a time, readers unhindered: an advisory lock that ends with the transaction.
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(1000 * _BUSY_SECONDS)}")
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext('bbedge_board'))"))
            try:
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    def _version(self, connection: sa.Connection) -> int | None:
        if not sa.inspect(connection).has_table(_META.name):
            return None
        value = connection.scalar(sa.select(_META.c.value).where(_META.c.key == "layout"))
        if value is not None and not (isinstance(value, str) and value.isdecimal()):
            raise BoardError(f"{self.name}: the board is damaged: its layout is {str(value)[:20]!r}, not a number")
        return None if value is None else int(value)

    def _migrate(self) -> None:
        with self._explained(), self._begin("write") as connection:
            version = self._version(connection) or 0
            for step in _MIGRATIONS[version:]:
                step(connection)
            connection.execute(sa.delete(_META).where(_META.c.key == "layout"))
            connection.execute(sa.insert(_META).values(key="layout", value=str(SCHEMA_VERSION)))

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A consistent view of the board."""
        with self._explained(), self._begin("read") as connection:
            yield Session(connection)

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A transaction: all of it is kept, or nothing if an error leaves the block."""
        with self._explained(), self._begin("write") as connection:
            yield Session(connection)

    def problems(self) -> list[str]:
        """What the database itself finds wrong with its file."""
        if not self.is_sqlite:
            return []
        with self._explained(), self._engine.connect() as connection:
            rows = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check")]
        return [] if rows == ["ok"] else rows

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()


class Session:
    """Reading and writing inside one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def events(self) -> list[Event]:
        """The ledger, in order."""
        rows = self._connection.execute(sa.select(_EVENTS).order_by(_EVENTS.c.seq))
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
        return self._connection.scalar(sa.select(_META.c.value).where(_META.c.key == "head"))

    def append(self, event: Event) -> None:
        """Add an event to the ledger."""
        self._connection.execute(
            sa.insert(_EVENTS).values(
                seq=event.seq,
                kind=event.kind,
                at=event.at,
                payload=event.payload,
                previous=event.previous,
                hash=event.hash,
            )
        )
        self._connection.execute(sa.delete(_META).where(_META.c.key == "head"))
        self._connection.execute(sa.insert(_META).values(key="head", value=event.hash))

    def put_vectors(self, event: int, vectors: list[Vector]) -> None:
        """Store score vectors that came with an event."""
        for vector in vectors:
            try:
                vector.model.encode()
            except UnicodeEncodeError as error:
                raise BoardError(f"model {shown(vector.model)} cannot be stored: its name is not Unicode") from error
        if vectors:
            self._connection.execute(
                sa.insert(_VECTORS),
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
        query = sa.select(_VECTORS.c.model, _VECTORS.c.data).where(
            _VECTORS.c.epoch == epoch, _VECTORS.c.replicate == replicate
        )
        return {_as(str, row.model): _as(bytes, row.data) for row in self._connection.execute(query)}

    def vector_places(self) -> list[tuple[int, int, str, int]]:
        """Epoch, replicate, model and event of every stored vector."""
        columns = (_VECTORS.c.epoch, _VECTORS.c.replicate, _VECTORS.c.model, _VECTORS.c.event)
        # Sorted here: databases disagree about the order of names.
        return sorted(
            (_as(int, row.epoch), _as(int, row.replicate), _as(str, row.model), _as(int, row.event))
            for row in self._connection.execute(sa.select(*columns))
        )

    def bad_checksum(self) -> tuple[int, int, str] | None:
        """The first vector that does not match its checksum."""
        query = sa.select(_VECTORS).order_by(_VECTORS.c.epoch, _VECTORS.c.replicate, _VECTORS.c.model)
        for row in self._connection.execute(query):
            if digest(row.data) != row.checksum:
                return row.epoch, row.replicate, row.model
        return None

    def cache(self) -> dict[int, bytes]:
        """Saved states by claim; never to be trusted without the checksum in the ledger."""
        rows = self._connection.execute(sa.select(_CACHE))
        return {_as(int, row.claim): _as(bytes, row.state) for row in rows}

    def put_cache(self, states: dict[int, bytes]) -> None:
        """Save the states of these claims over what was saved for them."""
        if states:
            self._connection.execute(sa.delete(_CACHE).where(_CACHE.c.claim.in_(states)))
            rows = [{"claim": claim, "state": state} for claim, state in states.items()]
            self._connection.execute(sa.insert(_CACHE), rows)


def _as(kind: type[_T], value: object) -> _T:
    """The value, if it is of its column's type: SQLite keeps whatever a damaged or edited file holds."""
    if not isinstance(value, kind):
        raise BoardError(f"the board is damaged: {type(value).__name__} where {kind.__name__} belongs")
    return value


def _is_url(place: str | os.PathLike[str]) -> bool:
    return isinstance(place, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", place) is not None


def _without_password(url: str) -> str:
    try:
        return sa.make_url(url).render_as_string(hide_password=True)
    except (SQLAlchemyError, ValueError):  # ValueError: a port that is no number
        return "the given URL"


def _prepare_sqlite(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own connection
    connection.isolation_level = None  # we say BEGIN ourselves
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    try:
        cursor.execute("PRAGMA synchronous = FULL")
        with contextlib.suppress(sqlite3.OperationalError):  # a disk that cannot be written can still be read
            cursor.execute("PRAGMA journal_mode = WAL")
    except UnicodeDecodeError as error:  # SQLite quotes a damaged schema in its message
        raise sqlite3.DatabaseError("database schema is malformed") from error
    cursor.close()


def _reason(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _explanation(error: DBAPIError) -> str:
    text = _reason(error.orig) if error.orig is not None else _reason(error)
    low = text.lower()
    if "locked" in low or "lock timeout" in low:
        return f"another program kept writing to the board for {_BUSY_SECONDS:.0f} s; try again. Nothing was changed"
    if "readonly" in low or "read-only" in low or "permission denied" in low:
        return f"the board cannot be written ({text}); check the disk and its permissions. Nothing was changed"
    if "disk is full" in low or "no space" in low or "disk i/o error" in low:
        return f"the disk is full or failing ({text}). The last change was not made; what was there before still is"
    if "malformed" in low or "not a database" in low or "corrupt" in low:
        return f"the board file is damaged ({text}); restore it from a copy or an export"
    if "unable to open" in low:
        return f"the board cannot be opened ({text}); check the folder and its permissions"
    return f"the database answered: {text}"
