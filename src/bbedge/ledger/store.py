"""Where a ledger is kept, that of a board or of a gate, and its transactions.

One SQLite file by default, or any PostgreSQL database by URL. A write is one transaction that happens whole or not at
all; writers wait for each other. This module, ``tables`` and ``location`` are the only SQL of the project.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Literal

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from bbedge.errors import BbedgeError, BoardError, NoBoardError
from bbedge.ledger import location
from bbedge.ledger.heads import HeadsFile, LedgerHead
from bbedge.ledger.location import LedgerLocation, only_maker, publish, sqlite_engine, temporary_file, use_journal
from bbedge.ledger.tables import Session, Vector, has_ledger, make_tables
from bbedge.text import quoted

__all__ = ["Session", "Store", "Vector", "check_storable"]

What = Literal["board", "gate ledger", "ledger"]
"""A board, a gate's ledger, or either."""

POSTGRESQL_NAME = 2600
"""Bytes of a model's name that fit into an index of PostgreSQL, with what else is in its entry."""


def check_storable(names: Iterable[str], *, most_bytes: int | None = None) -> None:
    """Refuse model names that a store can never hold; ``most_bytes`` is how long a name may be there.

    >>> check_storable(["gpt-4", "llama 3"])
    """
    for name in names:
        if "\0" in name:
            raise BoardError(f"model {quoted(name)} cannot be stored: its name has a null character; rename it")
        try:
            size = len(name.encode())
        except UnicodeEncodeError as error:
            raise BoardError(
                f"model {quoted(name)} cannot be stored: its name has an unpaired surrogate and is not valid Unicode; "
                "rename it"
            ) from error
        if most_bytes is not None and size > most_bytes:
            raise BoardError(
                f"model {quoted(name)} cannot be stored: its name has {size:,} bytes, more than {most_bytes:,}; "
                "shorten it"
            )


class Store:
    """A database that holds one ledger. Use :meth:`read` and :meth:`write`, which appends to the file of its heads.

    With ``create`` there need not be a ledger yet: the first transaction that is kept makes it, together with what it
    writes. Before, and if it fails, there is nothing. With ``what`` only a board or only a gate's ledger is taken, and
    messages call it so.
    """

    def __init__(self, place: str | os.PathLike[str], *, create: bool = False, what: What = "board") -> None:
        self._what = what
        self._place = LedgerLocation.named(place, what="board" if what == "ledger" else what)
        self.name = self._place.name
        self._heads = None if self._place.heads is None else HeadsFile(self._place.heads)
        self._engine: sa.Engine | None = None
        self._is_new = True
        self._place.check_file(may_be_new=create)
        if self._place.path is not None and not self._place.path.exists():
            self._place.check_free()
        else:
            self._connect(create=create)
            self._complete_heads()

    def check_storable(self, names: Iterable[str]) -> None:
        """Refuse model names that this store can never hold."""
        check_storable(names, most_bytes=POSTGRESQL_NAME if self._place.path is None else None)

    def _connect(self, *, create: bool) -> None:
        self._engine = self._place.engine()
        with self._explained(), _transaction(self._engine, "read") as connection:
            self._is_new = not has_ledger(connection, self.name)
            is_gate = None if self._is_new else Session(connection).is_gate()
        if is_gate is True and self._what == "board":
            raise BoardError(
                f"{self.name}: this is the ledger of a gate, not a board; show it with bbedge gate --ledger"
            )
        if is_gate is False and self._what == "gate ledger":
            raise BoardError(f"{self.name}: this is a board, not the ledger of a gate; name another place")
        if self._is_new and not create:
            raise self.missing()

    def _complete_heads(self) -> None:
        """Append the heads that a kill left out. What is wrong with their file, a change or verifying says."""
        if self._heads is None or not self._heads.exists or self._is_new:
            return
        with suppress(BbedgeError):
            with self.read() as session:
                lacking = self._heads.lacking(session.heads)
            self._heads.append(lacking)

    def _new_heads(self, heads: Callable[[int], list[LedgerHead]]) -> list[LedgerHead]:
        """What to append to the file of the heads once a change is kept; refused if that is of another history."""
        return [] if self._heads is None else self._heads.lacking(heads)

    def _append_heads(self, heads: list[LedgerHead]) -> None:
        if self._heads is not None:
            self._heads.append(heads)

    @property
    def is_sqlite(self) -> bool:
        """Whether the ledger is a file."""
        return self._place.path is not None

    def is_at(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path leads to the ledger's own file."""
        return self._place.path is not None and self._place.path == Path(os.path.realpath(path))

    def is_inside(self, folder: str | os.PathLike[str]) -> bool:
        """Whether a folder holds the ledger's own file."""
        return self._place.path is not None and Path(os.path.realpath(folder)) in self._place.path.parents

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._place.explained(error) from error

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A consistent view of the ledger."""
        if self._engine is None or self._is_new:
            raise self.missing()
        with self._explained(), _transaction(self._engine, "read") as connection:
            yield Session(connection)

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A transaction: all of it is kept, or nothing if an error leaves the block."""
        path = self._place.path
        with ExitStack() as held:
            if self._is_new and path is not None:
                # Held until the ledger exists, so that a second process finds it and is not refused.
                held.enter_context(only_maker(path.parent, seconds=location.BUSY_SECONDS))
                if not path.exists():
                    yield held.enter_context(self._made(path, is_only_maker=True))
                    return
            yield held.enter_context(self._in_place())

    @contextmanager
    def write_first(self) -> Iterator[Session]:
        """:meth:`write` for a ledger that must not be there yet: refused if one is, before the block or after it.

        A long block does not stop others from making a ledger in this folder or at this place.
        """
        path = self._place.path
        if path is not None and not path.exists():
            with self._made(path, is_only_maker=False) as session:
                yield session
            return
        with self._in_place() as session:
            if session.events():
                raise self._taken()
            yield session

    def _taken(self) -> BoardError:
        return BoardError(f"{self.name}: a board is here already; import into a new place")

    @contextmanager
    def _in_place(self) -> Iterator[Session]:
        if self._engine is None:
            self._connect(create=True)
        assert self._engine is not None
        with self._explained(), _transaction(self._engine, "write") as connection:
            if self._is_new and not has_ledger(connection, self.name):
                make_tables(connection, self.name)
            session = Session(connection)
            yield session
            heads = self._new_heads(session.heads)
        self._is_new = False
        self._append_heads(heads)

    @contextmanager
    def _made(self, path: Path, *, is_only_maker: bool) -> Iterator[Session]:
        """The first transaction, in a file of its own that then gets the name of the ledger."""
        with ExitStack() as held:
            try:
                self._place.check_free()
                made = held.enter_context(temporary_file(path))
            except OSError as error:
                raise self._place.explained(error) from error
            with self._explained():
                engine = sqlite_engine(made)
                with _transaction(engine, "write") as connection:
                    make_tables(connection, self.name)
                    session = Session(connection)
                    yield session
                    every = session.heads(1)
                _fold_journal(engine)
            try:
                with ExitStack() as last:
                    if not is_only_maker:
                        last.enter_context(only_maker(path.parent, seconds=location.BUSY_SECONDS))
                    self._place.check_free()
                    heads = [] if path.exists() else self._new_heads(lambda since: every[since - 1 :])
                    publish(made, path)
            except FileExistsError as error:
                raise self._taken() from error
            except OSError as error:
                raise self._place.explained(error) from error
        self._engine, self._is_new = sqlite_engine(path), False
        self._append_heads(heads)

    def missing(self) -> NoBoardError:
        """The error for a database in which nothing has been made yet."""
        return self._place.missing("there is no board here")

    def check_whole(self) -> None:
        """Refuse a file with which the database itself finds something wrong."""
        if problems := self.problems():
            raise BoardError(f"{self.name}: the database file is damaged: {problems[0]}; restore it from a copy")

    def problems(self) -> list[str]:
        """What the database itself finds wrong with its file."""
        if self._place.path is None or self._engine is None:
            return []
        with self._explained(), self._engine.connect() as connection:
            page = connection.exec_driver_sql("PRAGMA page_size").scalar_one()
            rows = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check")]
        if self._place.path.stat().st_size % page:
            # SQLite reads what is missing of the last page as zeros.
            return ["its last page is not whole; the file was cut short"]
        return [] if rows == ["ok"] else rows

    def close(self) -> None:
        """Close the connections."""
        if self._engine is not None:
            self._engine.dispose()


@contextmanager
def _transaction(engine: sa.Engine, mode: str) -> Iterator[sa.Connection]:
    is_sqlite = engine.dialect.name == "sqlite"
    with engine.connect() as connection:
        if is_sqlite and mode == "write":
            use_journal(connection)
        if mode == "read" and not is_sqlite:
            # One snapshot for the whole block: events and head must be of the same moment.
            connection.execution_options(isolation_level="REPEATABLE READ")
        if is_sqlite:
            # IMMEDIATE takes the write lock first, so that what a writer reads cannot be overtaken.
            connection.exec_driver_sql("BEGIN IMMEDIATE" if mode == "write" else "BEGIN")
        elif mode == "write":
            # One writer at a time, readers unhindered: an advisory lock that ends with the transaction.
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(1000 * location.BUSY_SECONDS)}")
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext('bbedge_board'))"))
        try:
            yield connection
        except BaseException:
            connection.rollback()
            raise
        connection.commit()


def _fold_journal(engine: sa.Engine) -> None:
    """Bring everything into the file itself, which can then be moved."""
    with engine.connect() as connection:
        busy, left, _ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
        if busy or left not in (0, -1):  # -1: there was no journal
            raise BoardError("the new board could not be completed; nothing was kept. Run the command again")
