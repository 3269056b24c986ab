"""Every test that asks for ``place`` runs twice: on a file, and in a fresh database of a real PostgreSQL server.

The server is named by BBEDGE_POSTGRESQL_URL (``.ci/postgresql start`` makes one); without it that half is skipped.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

SERVER = "BBEDGE_POSTGRESQL_URL"


@pytest.fixture
def new_place(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Makes places for boards, of a kind: ``sqlite`` or ``postgresql``."""
    server = os.environ.get(SERVER)
    databases: list[str] = []

    def new(kind: str) -> str:
        name = f"board_{uuid.uuid4().hex}"
        if kind == "sqlite":
            return str(tmp_path / f"{name}.db")
        if not server:
            pytest.skip(f"{SERVER} is not set: no PostgreSQL server to test against")
        # A server that was promised and does not answer is a failure, not a reason to skip.
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        databases.append(name)
        return sa.make_url(server).set(database=name).render_as_string(hide_password=False)

    yield new
    if databases:
        assert server is not None
        with psycopg.connect(server, autocommit=True) as connection:
            for name in databases:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def place(new_place: Callable[[str], str], kind: str) -> str:
    return new_place(kind)


@pytest.fixture
def sql() -> Callable[[str, str], None]:
    """Runs a statement behind the back of the store."""

    def run(place: str, statement: str) -> None:
        if "://" in place:
            with psycopg.connect(place) as connection:
                connection.execute(statement)
        else:
            with closing(sqlite3.connect(place)) as connection, connection:
                connection.execute(statement)

    return run
