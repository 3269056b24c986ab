"""The tables of a board, and whether a SQLite file has exactly these."""

from __future__ import annotations

import re
from functools import cache

import sqlalchemy as sa

from bbedge.errors import BoardError
from bbedge.text import quoted

SCHEMA_VERSION = 1
"""The layout that this version writes."""

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
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("at", sa.String, nullable=False),
    sa.Column("payload", sa.Text, nullable=False),
    sa.Column("previous", sa.String, nullable=False),
    sa.Column("hash", sa.String, nullable=False),
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


def _create_all(connection: sa.Connection) -> None:
    _METADATA.create_all(connection)


_MIGRATIONS = (_create_all,)
"""Step v turns a board of layout v into one of layout v + 1. Steps are only ever added."""

# ANALYZE makes these; they guide the choice of an index and hold nothing that is read here.
_STATISTICS = frozenset({"sqlite_stat1", "sqlite_stat4"})


def layout(connection: sa.Connection) -> int | None:
    """The layout of the board in this database; ``None`` where there is no board."""
    if connection.dialect.name == "sqlite":
        found = _objects(connection)
        if META.name not in found:
            return None
        _check_objects(found)
    elif not sa.inspect(connection).has_table(META.name):
        return None
    value = connection.scalar(sa.select(META.c.value).where(META.c.key == "layout"))
    if value is None:
        return None
    if not (isinstance(value, str) and re.fullmatch(r"[1-9][0-9]{0,8}", value)):
        raise BoardError(f"the board is damaged: its layout is {quoted(str(value), 20)}, not a number")
    return int(value)


def migrate(connection: sa.Connection) -> None:
    """Bring the tables to the present layout; make them where there are none."""
    version = layout(connection) or 0
    if not version and connection.dialect.name == "sqlite" and (found := _objects(connection)):
        raise BoardError(f"not a board: the file is a database with the {_called(found, min(found))}; choose another")
    for step in _MIGRATIONS[version:]:
        step(connection)
    connection.execute(sa.delete(META).where(META.c.key == "layout"))
    connection.execute(sa.insert(META).values(key="layout", value=str(SCHEMA_VERSION)))


def _objects(connection: sa.Connection) -> dict[str, tuple[str, str, str | None]]:
    """Everything that a SQLite file defines, by name: its type, its table, and its SQL with the spaces made even."""
    rows = connection.exec_driver_sql("SELECT name, type, tbl_name, sql FROM sqlite_master").all()
    return {
        str(name): (str(kind), str(table), None if sql is None else " ".join(str(sql).split()))
        for name, kind, table, sql in rows
        if name not in _STATISTICS
    }


def _check_objects(found: dict[str, tuple[str, str, str | None]]) -> None:
    """Refuse views, triggers, generated columns: what makes a query return something that is not stored."""
    expected = _expected()
    for name in sorted(found):
        if name not in expected:
            raise BoardError(
                f"the board was changed by another program: it has the {_called(found, name)}, which bbedge does not "
                "make. Restore the board from a copy or an export"
            )
        if found[name] != expected[name]:
            raise BoardError(
                f"the board was changed by another program: the {_called(found, name)} is not defined as bbedge "
                "defines it. Restore the board from a copy or an export"
            )
    for name in sorted(set(expected) - set(found)):
        raise BoardError(
            f"the board is damaged: the {_called(expected, name)} is missing; restore it from a copy or an export"
        )


def _called(objects: dict[str, tuple[str, str, str | None]], name: str) -> str:
    return f"{objects[name][0]} {quoted(name)}"


@cache
def _expected() -> dict[str, tuple[str, str, str | None]]:
    with sa.create_engine("sqlite://").connect() as connection:
        _METADATA.create_all(connection)
        return _objects(connection)
