"""Where a board is: a file or a PostgreSQL database, how to connect to it, and what its errors mean.

A new board file is written under another name and then given its own, so that it appears whole or not at all. Nothing
that another process made is ever overwritten or removed: a name that is taken stays as it is.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from bbedge.credentials import HIDDEN, redacted, without_credentials
from bbedge.errors import BoardError, NoBoardError
from bbedge.files import LockedError, create_beside, lock, sync_folder
from bbedge.text import quoted, shown, shown_path

BUSY_SECONDS = 30.0
"""How long a writer waits for the one before."""

_WITH_CONTENT = ("-wal", "-journal")
"""The endings of the files in which SQLite keeps changes that are not in the database file yet."""

_WORKING_FILES = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database while it works

_UNFINISHED = ".unfinished-board"
_MODE = 0o644  # what SQLite gives a new file
_POLL_SECONDS = 0.01
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)

# PostgreSQL's own names for a password, and for files that hold one.
_SECRETS = ("password", "passfile", "sslpassword", "sslkey")
_SECRET_PARAMETER = re.compile(rf"([?&](?:{'|'.join(_SECRETS)})=)[^&#]*", re.IGNORECASE)
_PLAIN = re.compile(r"[^\s\x00-\x1f\x7f\ud800-\udfff]*")
_LEAST_SECRET = 3  # a shorter text would be found in any sentence
_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
    "postgresql+psycopg2": "postgresql+psycopg2",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardPlace:
    """A file or a database, which may hold a board or not. Make one with :meth:`of`."""

    name: str
    """How messages call it: without a password."""
    path: Path | None
    """The file, with links followed; ``None`` for a database."""
    url: sa.URL | None = None
    """The database; ``None`` for a file."""
    what: str = "board"
    """How messages call what is there."""

    @classmethod
    def of(cls, place: str | os.PathLike[str], *, what: str = "board") -> BoardPlace:
        """A place as the user names it."""
        if isinstance(place, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", place):
            if not _PLAIN.fullmatch(place):
                raise BoardError(
                    "the given URL has a space, a control character or an unpaired surrogate; write it with % and its "
                    "hexadecimal code"
                )
            name = _SECRET_PARAMETER.sub(rf"\1{HIDDEN}", without_credentials(place))
            return cls(name=name, path=None, url=_url(place, name, what), what=what)
        name = shown_path(place)
        try:
            path = Path(os.path.realpath(place))
            if path.is_symlink():
                raise BoardError(f"{name}: the link leads to itself; name the file")
            Path(f"{path}-journal").exists()  # the longest name that SQLite makes of it
        except OSError as error:
            raise BoardError(f"{name}: cannot be a {what} ({error.strerror}); choose another name") from error
        except ValueError as error:
            raise BoardError(f"{name}: cannot be the name of a file ({error}); choose another name") from error
        return cls(name=name, path=path, what=what)

    def exists(self) -> bool:
        """Whether there is a file; a database is taken to be there."""
        return self.path is None or self.path.exists()

    def check_kind(self) -> None:
        """Refuse folders, devices and pipes."""
        if self.path is not None and self.path.exists() and not self.path.is_file():
            raise BoardError(f"{self.name}: not a {self.what} file")

    def check_file(self) -> None:
        """Refuse what cannot be a board file. It is not opened here: closing it would drop the locks of SQLite."""
        if self.path is None:
            return
        if not self.path.exists():
            raise self.missing("there is no such board")
        if not os.access(self.path, os.R_OK):
            raise BoardError(f"{self.name}: cannot be read (permission denied)")
        if not self.path.stat().st_size:
            raise NoBoardError(f"{self.name}: not a {self.what}: the file is empty")

    def missing(self, found: str) -> NoBoardError:
        """The error for a place where nothing has been made yet, and how to make it."""
        if self.what == "board":
            return NoBoardError(f"{self.name}: {found}; make one with bbedge board init")
        return NoBoardError(f"{self.name}: there is no ledger here yet; the first use of a gate makes it")

    def check_free(self) -> None:
        """Refuse a name that a new board file cannot have."""
        if self.path is None:
            return
        if not self.path.parent.is_dir():
            raise BoardError(f"{self.name}: the folder does not exist; make it first")
        for ending in _WITH_CONTENT:
            journal = Path(f"{self.path}{ending}")
            if journal.exists() and journal.stat().st_size and not self.path.exists():
                # SQLite would read it as the latest changes to the new board.
                raise BoardError(
                    f"{self.name}: {shown(journal.name)} is left of a {self.what} that was here; restore it, or "
                    "remove the file, then run the command again"
                )

    def engine(self) -> sa.Engine:
        """Connections to what is there now."""
        if self.url is not None:
            try:
                return sa.create_engine(self.url, poolclass=sa.NullPool)
            except (SQLAlchemyError, ImportError) as error:
                raise BoardError(
                    f"{self.name}: not a database that bbedge can use ({self.safe(_reason(error))}); for PostgreSQL "
                    "install the driver: pip install 'psycopg[binary]'"
                ) from error
        assert self.path is not None  # a place is a database or a file
        return sqlite_engine(self.path)

    def explained(self, error: DBAPIError | OSError) -> BoardError:
        """What an error of the database or the disk means for the board."""
        cause = getattr(error, "orig", None) or error
        text = error.strerror or str(error) if isinstance(error, OSError) else self.safe(_reason(cause))
        return BoardError(f"{self.name}: {_explanation(cause, text, self.what)}")

    def safe(self, text: str) -> str:
        """A message of a driver without the secrets of the URL."""
        if self.url is not None:
            for secret in sorted(_secrets(self.url), key=len, reverse=True):
                # A password that is also the name of the user or the database is shown as that name anyway.
                if len(secret) >= _LEAST_SECRET and secret not in self.name:
                    text = text.replace(secret, HIDDEN)
        return shown(redacted(text), None)


def _url(place: str, name: str, what: str) -> sa.URL:
    expected = "expected postgresql://USER@HOST:PORT/DATABASE"
    try:
        url = sa.make_url(place)
    except (SQLAlchemyError, ValueError) as error:  # ValueError: a port that is no number
        raise BoardError(f"{name}: not the URL of a database; {expected}") from error
    if url.drivername not in _DRIVERS:
        raise BoardError(
            f"{name}: a {what} lives in a file or in PostgreSQL, not in {shown(url.drivername)}; name a file, or give "
            "a URL that begins with postgresql://"
        )
    for key, value in url.query.items():
        if not isinstance(value, str):
            raise BoardError(f"{name}: the parameter {quoted(key)} is given twice; give it once")
    if url.port is not None and not 0 < url.port < 1 << 16:
        raise BoardError(f"{name}: there is no port {url.port}; {expected}")
    if "\0" in urllib.parse.unquote(place):
        raise BoardError(f"{name}: a null character cannot be part of the URL of a database; {expected}")
    return url.set(drivername=_DRIVERS[url.drivername])


def _secrets(url: sa.URL) -> Iterator[str]:
    """What must not be shown, as it is and as it is written in a URL."""
    found = [url.password, *(str(value) for key, value in url.query.items() if key.lower() in _SECRETS)]
    for each in found:
        if each is not None:
            yield from (str(each), urllib.parse.quote(str(each), safe=""), urllib.parse.quote_plus(str(each)))


def sqlite_engine(path: Path) -> sa.Engine:
    """Connections to a SQLite file."""
    url = sa.URL.create("sqlite", database=str(path))
    journal = Path(f"{path}-wal")  # of a writer that is at work or was killed: it holds what was saved last
    if path.exists() and not journal.exists() and not os.access(path.parent, os.W_OK):
        # A journal cannot be written beside the file; open the file as immutable.
        quoted_path = urllib.parse.quote(os.fsencode(path))
        url = sa.URL.create("sqlite", database=f"file:{quoted_path}", query={"immutable": "1", "uri": "true"})
    engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args={"timeout": BUSY_SECONDS})
    sa.event.listen(engine, "connect", _prepare)
    return engine


def _prepare(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own connection
    connection.isolation_level = None  # we say BEGIN ourselves
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA trusted_schema = OFF")
    try:
        cursor.execute("PRAGMA synchronous = FULL")
    except UnicodeDecodeError as error:  # SQLite quotes a damaged schema in its message
        damaged = sqlite3.DatabaseError("database schema is malformed")
        damaged.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damaged from error
    cursor.close()


def use_journal(connection: sa.Connection) -> None:
    """Allow reads during a write; a file that cannot be written can still be read."""
    with suppress(DBAPIError):
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")


def _reason(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


_BUSY = "another program kept writing to the {what} for {seconds:.0f} s; try again. Nothing was changed"
_READ_ONLY = "the {what} cannot be written ({text}); check the disk and its permissions. Nothing was changed"
_FULL = "the disk is full or failing ({text}). The last change was not made; earlier content is unchanged"
_OTHER_FILE = "not a {what}: the file is damaged or of another kind; restore it from a copy or an export"
_DAMAGED = "the {what} file is damaged ({text}); restore it from a copy or an export"
_UNOPENED = "the {what} cannot be opened ({text}); check the folder and its permissions"

_EXPLANATIONS: dict[int | str, str] = {
    # Primary result codes of SQLite.
    **dict.fromkeys((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED), _BUSY),
    **dict.fromkeys((sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM), _READ_ONLY),
    **dict.fromkeys((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR), _FULL),
    sqlite3.SQLITE_NOTADB: _OTHER_FILE,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_CANTOPEN: _UNOPENED,
    # SQLSTATE codes of PostgreSQL: lock timeout; read-only transaction, no privilege; disk full, I/O error; corruption.
    "55P03": _BUSY,
    **dict.fromkeys(("25006", "42501"), _READ_ONLY),
    **dict.fromkeys(("53100", "58030"), _FULL),
    **dict.fromkeys(("XX001", "XX002"), _DAMAGED),
}
_OF_SYSTEM = {
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _READ_ONLY),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO), _FULL),
}


def _explanation(error: BaseException, text: str, what: str) -> str:
    """What an error means, by its code: the texts of drivers change and are translated."""
    if isinstance(error, OSError):
        found = _OF_SYSTEM.get(error.errno or 0)
    elif (code := getattr(error, "sqlite_errorcode", None)) is not None:
        found = _EXPLANATIONS.get(code & 0xFF)  # the rest of an extended code gives details
    else:  # psycopg, psycopg2
        found = _EXPLANATIONS.get(getattr(error, "sqlstate", None) or getattr(error, "pgcode", None) or "")
    return (found or "the database answered: {text}").format(text=text, what=what, seconds=BUSY_SECONDS)


@contextmanager
def only_maker(folder: Path, *, seconds: float) -> Iterator[None]:
    """Stop other processes from making a board in this folder meanwhile, where the system can lock folders.

    Without locks the boards are as safe, but a second process is refused instead of waiting.
    """
    number = _open_folder(folder)
    if number is None:
        yield
        return
    try:
        until = time.monotonic() + seconds
        while not _taken(number):
            if time.monotonic() > until:
                raise BoardError(
                    f"{shown_path(folder)}: another program kept the folder locked for {seconds:.0f} s; try again. "
                    "Nothing was changed"
                )
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(number)


def _open_folder(folder: Path) -> int | None:
    try:
        return os.open(folder, os.O_RDONLY)
    except OSError:
        return None


def _taken(number: int) -> bool:
    try:
        lock(number)
    except LockedError:
        return False
    return True


@contextmanager
def temporary_board(target: Path) -> Iterator[Path]:
    """A name beside the target for a board that is being made; whatever has it at the end is removed."""
    path, file = create_beside(target, mode=_MODE, ending=_UNFINISHED)
    file.close()
    try:
        yield path
    finally:
        for ending in ("", *_WORKING_FILES):
            with suppress(OSError):
                Path(f"{path}{ending}").unlink()


def publish(made: Path, target: Path) -> None:
    """Give a finished file its name; ``FileExistsError`` if something has that name."""
    try:
        os.link(made, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _move(made, target)
    sync_folder(target.parent)


def _move(made: Path, target: Path) -> None:
    """:func:`publish` where files cannot have two names."""
    if os.name == "nt":  # pragma: no cover - there, renaming does not replace
        made.rename(target)
        return
    # An empty file holds the name until the board replaces it. No other process writes to it: it is not a board, and
    # making a board there needs the lock of the folder.
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _MODE))
    made.replace(target)
