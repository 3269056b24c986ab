"""Names, links, URLs and files that are no boards, or boards that another program has changed."""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from bbedge.board import Board, BoardDesign
from bbedge.errors import BoardError
from bbedge.ledger.archive import export_lines, import_lines
from bbedge.ledger.location import LedgerLocation, publish
from bbedge.ledger.store import POSTGRESQL_NAME, Store, check_storable
from bbedge.verify.ledger import verify, verify_session
from unit.board.boards import make, runs


@pytest.fixture
def board_file(tmp_path) -> Path:
    board = make(tmp_path)
    board.add(runs(np.random.default_rng(1), "abc", 2))
    return tmp_path / "board.db"


def create(place: str | Path) -> Board:
    return Board.create(place, BoardDesign(), models=["a", "b"], items=["q"])


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


# Names of files


@pytest.mark.parametrize("name", ["x" * 300, "x" * 250, "a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path, name):
    for attempt in (create, Store):
        with pytest.raises(BoardError, match="cannot be"):
            attempt(f"{tmp_path}/{name}")
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_leads_nowhere_yet_is_followed_when_the_board_is_made(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link.db"
    link.symlink_to("there/board.db")
    with pytest.raises(BoardError, match="there is no such board"):
        Store(link)
    head = create(link).head
    assert link.is_symlink()
    assert Board.open(tmp_path / "there" / "board.db").head == head
    assert verify(Store(link)).head == head


def test_links_that_lead_to_themselves_or_to_no_folder_are_refused(tmp_path):
    for name, target in (("loop", "loop"), ("nowhere", "no/board.db")):
        (tmp_path / name).symlink_to(target)
        with pytest.raises(BoardError, match=r"leads to itself|the folder does not exist"):
            create(tmp_path / name)
        with pytest.raises(BoardError, match=r"leads to itself|there is no such board"):
            Store(tmp_path / name)


@pytest.mark.parametrize("name", ["/dev/null", "/dev/full", "."])
def test_devices_and_folders_are_no_boards(name):
    for attempt in (create, Store):
        with pytest.raises(BoardError, match="not a board file"):
            attempt(name)


def test_a_journal_without_its_board_is_not_taken_over(tmp_path, board_file):
    """SQLite would read the changes of the board that was there into the new one."""
    archive = list(export_lines(Store(board_file)))
    place = tmp_path / "new.db"
    journal = tmp_path / "new.db-wal"
    journal.write_bytes(b"left over")
    for attempt in (
        lambda: create(place),
        lambda: import_lines(archive, place, source="archive", verify=verify_session),
    ):
        with pytest.raises(BoardError, match=r"new\.db-wal is left of a board that was here"):
            attempt()
        assert journal.read_bytes() == b"left over"
        assert not place.exists()
    journal.unlink()
    create(place)


def test_an_empty_file_can_become_a_board_and_another_database_cannot(tmp_path):
    (tmp_path / "empty.db").touch()
    create(tmp_path / "empty.db")
    sql(tmp_path / "other.db", "CREATE TABLE recipes (name)")
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(BoardError, match="not a board: the file is a database with the table 'recipes'"):
        create(tmp_path / "other.db")
    with pytest.raises(BoardError, match="there is no board here"):
        Store(tmp_path / "other.db")
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]
    assert len(before) == (tmp_path / "other.db").stat().st_size


def test_where_files_cannot_have_two_names_a_board_is_made_and_none_is_overwritten(tmp_path, monkeypatch):
    def no_links(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    place = tmp_path / "board.db"
    head = create(place).head
    assert Board.open(place).head == head
    assert sorted(file.name for file in tmp_path.iterdir()) == ["board.db", "board.db.heads.jsonl"]
    made = tmp_path / "made"
    made.write_bytes(b"other")
    with pytest.raises(FileExistsError):
        publish(made, place)
    assert Board.open(place).head == head


def test_a_new_board_is_complete_in_its_one_file(tmp_path):
    board = create(tmp_path / "board.db")
    archive = list(export_lines(board.store))
    import_lines(archive, tmp_path / "copy.db", source="archive", verify=verify_session)
    for name in ("board.db", "copy.db"):
        (tmp_path / "elsewhere.db").write_bytes((tmp_path / name).read_bytes())  # the file alone
        assert list(export_lines(Store(tmp_path / "elsewhere.db"))) == archive
        (tmp_path / "elsewhere.db").unlink()


def test_reading_leaves_the_locks_of_the_same_process_alone(board_file):
    """POSIX drops the locks of a process on a file when it closes any descriptor of it, and SQLite relies on them."""
    script = (
        "import sqlite3, sys\n"
        "other = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)\n"
        "try:\n"
        "    other.execute('PRAGMA journal_mode = DELETE').fetchone()\n"  # needs the file for itself
        "except sqlite3.OperationalError as error:\n"
        "    print(error)\n"
    )
    store = Store(board_file)
    with store.read() as session:
        session.events()
        Store(board_file)
        done = subprocess.run(
            [sys.executable, "-c", script, str(board_file)], capture_output=True, text=True, check=True
        )
    assert done.stdout == "database is locked\n"


# What another program made of a board


FORGED = {
    "a trigger": (
        "CREATE TRIGGER quiet AFTER INSERT ON bbedge_events BEGIN DELETE FROM bbedge_cache; END",
        "it has the trigger 'quiet'",
    ),
    "a view": ("CREATE VIEW more AS SELECT 1", "it has the view 'more'"),
    "a table": ("CREATE TABLE more (a)", "it has the table 'more'"),
    "an index": ("CREATE INDEX more ON bbedge_events (kind)", "it has the index 'more'"),
    "a column": ("ALTER TABLE bbedge_events ADD COLUMN more", "the table 'bbedge_events' is not defined as"),
    "a generated column": (
        "ALTER TABLE bbedge_events ADD COLUMN more AS (seq + 1)",
        "the table 'bbedge_events' is not defined as",
    ),
    "no cache": ("DROP TABLE bbedge_cache", "the table 'bbedge_cache' is missing"),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_board_with_something_else_in_it_is_refused_by_name(board_file, what):
    statement, words = FORGED[what]
    sql(board_file, statement)
    for attempt in (Store, Board.open, create, lambda place: verify(Store(place))):
        with pytest.raises(BoardError, match=words):
            attempt(board_file)


def test_a_view_in_the_place_of_the_ledger_is_refused(board_file):
    sql(
        board_file,
        "ALTER TABLE bbedge_events RENAME TO hidden",
        "CREATE VIEW bbedge_events AS SELECT * FROM hidden",
    )
    with pytest.raises(BoardError, match="the view 'bbedge_events' is not defined as"):
        Store(board_file)


def test_what_analyze_and_vacuum_do_is_harmless(board_file):
    head = Board.open(board_file).head
    sql(board_file, "ANALYZE")
    with closing(sqlite3.connect(board_file)) as connection:
        connection.execute("VACUUM")
    assert verify(Store(board_file)).head == head


def test_a_schema_is_not_trusted(board_file):
    with Store(board_file).read() as session:
        assert session._connection.exec_driver_sql("PRAGMA trusted_schema").scalar() == 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE bbedge_vectors SET data = 'text'",
        "UPDATE bbedge_vectors SET model = x'61' WHERE model = 'a'",
        "UPDATE bbedge_vectors SET model = CAST(x'61ff' AS TEXT) WHERE model = 'a'",
        "UPDATE bbedge_vectors SET checksum = 7",
        "UPDATE bbedge_meta SET value = 7 WHERE key = 'head'",
        "UPDATE bbedge_meta SET value = x'ff' WHERE key = 'head'",
        "UPDATE bbedge_events SET payload = x'ff'",
        "UPDATE bbedge_events SET payload = CAST(x'ff' AS TEXT)",
        "UPDATE bbedge_cache SET state = 'text'",
        "DELETE FROM bbedge_events",
        "UPDATE bbedge_meta SET value = '" + "9" * 5000 + "' WHERE key = 'version'",
        "UPDATE bbedge_meta SET value = '0' WHERE key = 'version'",
        "DELETE FROM bbedge_meta",
    ],
)
def test_values_of_other_types_are_refused(board_file, statement):
    sql(board_file, statement)
    with pytest.raises(BoardError):
        verify(Store(board_file))


# Names of models


@pytest.mark.parametrize(
    ("name", "words"),
    [("a\ud800b", "unpaired surrogate"), ("a\0b", "null character"), ("ü" * 1301, "2,602 bytes, more than 2,600")],
)
def test_names_that_not_every_store_holds_are_refused(name, words):
    with pytest.raises(BoardError, match=words) as refusal:
        check_storable(["fine", name], most_bytes=POSTGRESQL_NAME)
    assert "model '" in str(refusal.value)
    check_storable(["ü" * 1300, "模型", "a b"], most_bytes=POSTGRESQL_NAME)
    check_storable(["ü" * 5000])


def test_a_name_of_the_longest_length_fits_into_postgresql():
    server = os.environ.get("BBEDGE_POSTGRESQL_URL")
    if not server:
        pytest.skip("BBEDGE_POSTGRESQL_URL is not set: no PostgreSQL server to test against")
    import psycopg

    name = secrets.token_hex(1300)  # does not compress
    check_storable([name], most_bytes=POSTGRESQL_NAME)
    database = f"board_{secrets.token_hex(8)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {database}")
        try:
            place = sa.make_url(server).set(database=database).render_as_string(hide_password=False)
            board = Board.create(place, BoardDesign(), models=[name, "b"], items=["q1", "q2"])
            assert board.add(runs(np.random.default_rng(1), [name, "b"], 1, ("q1", "q2"))).replicates == (1,)
            board.close()
        finally:
            connection.execute(f"DROP DATABASE {database} WITH (FORCE)")


# URLs


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://[", "the database answered"),
        ("postgresql://[::1", "not the URL of a database; expected postgresql://USER@HOST:PORT/DATABASE"),
        ("postgresql://u:secretpw@h:port/db", "not the URL of a database"),
        ("postgresql://u:secretpw@h:99999999/db", "there is no port 99999999"),
        ("postgresql+nothing://u:secretpw@h/db", "not in postgresql.nothing"),
        ("postgresql+asyncpg://u:secretpw@h/db", "not in postgresql.asyncpg"),
        ("postgresql://u:secretpw@127.0.0.1:1/d\ud800b", "unpaired surrogate"),
        ("postgresql://u:secret\npw@127.0.0.1:1/db", "a space, a control character"),
        ("postgresql://u:secretpw%00@127.0.0.1:1/db", "a null character"),
        ("postgresql://u@127.0.0.1:1/db?options=a&options=b", "'options' is given twice"),
        ("postgresql://u@127.0.0.1:1/db?connect_timeout=abc&password=secretpw", "the database answered"),
    ],
)
def test_a_url_that_is_none_is_refused(url, words):
    for attempt in (Store, create):
        with pytest.raises(BoardError, match=words) as refusal:
            attempt(url)
        assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("key", ["password", "PASSWORD", "passfile", "sslpassword", "sslkey"])
def test_secrets_in_the_parameters_of_a_url_are_not_shown(key):
    url = f"postgresql://u@127.0.0.1:1/db?application_name=x&{key}=secret%20pw&sslmode=prefer"
    with pytest.raises(BoardError) as refusal:
        Store(url)
    assert "secret" not in str(refusal.value)
    assert "sslmode=prefer" in str(refusal.value)
    assert "127.0.0.1:1/db" in str(refusal.value)


def test_a_driver_that_repeats_the_password_is_not_quoted(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        import psycopg

        raise psycopg.OperationalError("cannot log in with secret pw! or secret%20pw%21 at postgresql://u:hidden1@h/db")

    monkeypatch.setattr("psycopg.connect", refuse)
    monkeypatch.setattr("psycopg.Connection.connect", refuse)
    with pytest.raises(BoardError, match="the database answered: cannot log in") as refusal:
        Store("postgresql://u:secret%20pw%21@h/db")
    assert "secret" not in str(refusal.value)
    assert "hidden1" not in str(refusal.value)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ((sqlite3.OperationalError, "sqlite_errorcode", sqlite3.SQLITE_BUSY), "another program kept writing"),
        ((sqlite3.OperationalError, "sqlite_errorcode", sqlite3.SQLITE_IOERR_WRITE), "disk is full or failing"),
        ((sqlite3.OperationalError, "sqlite_errorcode", sqlite3.SQLITE_CANTOPEN), "cannot be opened"),
        ((sqlite3.DatabaseError, "sqlite_errorcode", sqlite3.SQLITE_NOTADB), "not a board"),
        ((sqlite3.DatabaseError, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT), "is damaged"),
        ((sqlite3.IntegrityError, "sqlite_errorcode", sqlite3.SQLITE_CONSTRAINT_UNIQUE), "the database answered"),
        ((RuntimeError, "sqlstate", "55P03"), "another program kept writing"),
        ((RuntimeError, "sqlstate", "25006"), "cannot be written"),
        ((RuntimeError, "pgcode", "53100"), "disk is full or failing"),
        ((RuntimeError, "sqlstate", None), "the database answered"),
        ((OSError, "errno", errno.EDQUOT), "disk is full or failing"),
        ((OSError, "errno", errno.EROFS), "cannot be written"),
    ],
)
def test_the_code_of_an_error_says_what_it_means_and_not_its_words(tmp_path, error, words):
    kind, attribute, code = error
    made = kind("die Datenbank ist gesperrt, locked, disk is full, malformed")
    setattr(made, attribute, code)
    given = made if kind is OSError else DBAPIError("SELECT", {}, made)
    assert words in str(LedgerLocation.named(tmp_path / "board.db").explained(given))
