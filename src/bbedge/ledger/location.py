"""Where a ledger is: a file or a PostgreSQL database, how to connect to it, and what its errors mean.

A new file is written under another name and then given its own, so that it appears whole or not at all. Nothing
that another process made is ever overwritten or removed: a name that is taken stays as it is.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, unquote

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from bbedge.credentials import HIDDEN, redacted, without_credentials
from bbedge.errors import BoardError, NoBoardError, raise_first
from bbedge.files import LockedError, create_beside, lock, sync_folder
from bbedge.ledger.heads import heads_beside
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
class LedgerLocation:
    """A file or a database, which may hold a ledger or not. Make one with :meth:`named`."""

    name: str
    """How messages call it: without a password."""
    path: Path | None
    """The file, with links followed; ``None`` for a database."""
    url: sa.URL | None = None
    """The database; ``None`` for a file."""
    what: str = "board"
    """How messages call what is there."""
    heads: Path | None = None
    """The file of its heads: beside a file, or what the parameter ``heads`` of a URL names."""

    @classmethod
    def named(cls, place: str | os.PathLike[str], *, what: str = "board") -> LedgerLocation:
        """A place as the user names it."""
        if isinstance(place, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", place):
            if not _PLAIN.fullmatch(place):
                raise BoardError(
                    "the given URL has a space, a control character or an unpaired surrogate; write it with % and its "
                    "hexadecimal code"
                )
            name = _SECRET_PARAMETER.sub(rf"\1{HIDDEN}", without_credentials(place))
            url = _url(place, name, what)
            heads = url.query.get("heads")
            own = url.difference_update_query(["heads"])  # the driver does not know it
            return cls(name=name, path=None, url=own, what=what, heads=Path(str(heads)) if heads else None)
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
        return cls(name=name, path=path, what=what, heads=heads_beside(path))

    def check_file(self, *, may_be_new: bool) -> None:
        """Refuse what cannot be the file of a ledger: a folder, a device, a pipe; unless it ``may_be_new``, no file.

        It is not opened here: closing it would drop the locks of SQLite.
        """
        if self.path is None:
            return
        if self.path.exists() and not self.path.is_file():
            raise BoardError(f"{self.name}: not a {self.what} file")
        if may_be_new:
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
        """Refuse a name that a new file cannot have."""
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
        """What an error of the database or the disk means, by its code: texts of drivers change and are translated."""
        cause = getattr(error, "orig", None) or error
        text = error.strerror or str(error) if isinstance(error, OSError) else self.safe(_reason(cause))
        code: tuple[str, int | str]
        if isinstance(cause, OSError):
            code = "system", cause.errno or 0
        elif (found := getattr(cause, "sqlite_errorcode", None)) is not None:
            code = "SQLite", found & 0xFF  # the rest of an extended code gives details
        else:  # psycopg, psycopg2
            code = "SQLSTATE", getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None) or ""
        meaning = _MEANINGS.get(code, "the database answered: {text}")
        return BoardError(f"{self.name}: {meaning.format(text=text, what=self.what, seconds=BUSY_SECONDS)}")

    def safe(self, text: str) -> str:
        """A message of a driver without the secrets of the URL."""
        if self.url is not None:
            hidden = (self.url.password, *(value for key, value in self.url.query.items() if key.lower() in _SECRETS))
            # As they are and as they are written in a URL.
            forms = ((each, quote(each, safe=""), quote_plus(each)) for each in map(str, filter(None, hidden)))
            for secret in sorted(chain.from_iterable(forms), key=len, reverse=True):
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
    twice = [key for key, value in url.query.items() if not isinstance(value, str)]
    raise_first(
        BoardError,
        (
            url.drivername not in _DRIVERS,
            f"{name}: a {what} lives in a file or in PostgreSQL, not in {shown(url.drivername)}; name a file, or give "
            "a URL that begins with postgresql://",
        ),
        (twice, f"{name}: the parameter {quoted(''.join(twice[:1]))} is given twice; give it once"),
        (url.port is not None and not 0 < url.port < 1 << 16, f"{name}: there is no port {url.port}; {expected}"),
        ("\0" in unquote(place), f"{name}: a null character cannot be part of the URL of a database; {expected}"),
    )
    return url.set(drivername=_DRIVERS[url.drivername])


def sqlite_engine(path: Path) -> sa.Engine:
    """Connections to a SQLite file."""
    url = sa.URL.create("sqlite", database=str(path))
    journal = Path(f"{path}-wal")  # of a writer that is at work or was killed: it holds what was saved last
    if path.exists() and not journal.exists() and not os.access(path.parent, os.W_OK):
        # A journal cannot be written beside the file; open the file as immutable.
        quoted_path = quote(os.fsencode(path))
        url = sa.URL.create("sqlite", database=f"file:{quoted_path}", query={"immutable": "1", "uri": "true"})
    engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args={"timeout": BUSY_SECONDS})
    sa.event.listen(engine, "connect", _prepare)
    return engine


def _prepare(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own connection
    connection.isolation_level = None  # we say BEGIN ourselves
    try:
        for setting in ("foreign_keys = ON", "trusted_schema = OFF", "synchronous = FULL"):
            connection.execute(f"PRAGMA {setting}")
    except UnicodeDecodeError as error:  # SQLite quotes a damaged schema in its message
        damaged = sqlite3.DatabaseError("database schema is malformed")
        damaged.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damaged from error


def use_journal(connection: sa.Connection) -> None:
    """Allow reads during a write; a file that cannot be written can still be read."""
    with suppress(DBAPIError):
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")


def _reason(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


# Primary result codes of SQLite, SQLSTATE codes of PostgreSQL, and error numbers of the system, by what they mean.
_CODES: dict[str, dict[str, tuple[int | str, ...]]] = {
    "another program kept writing to the {what} for {seconds:.0f} s; try again. Nothing was changed": {
        "SQLite": (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED),
        "SQLSTATE": ("55P03",),  # lock timeout
    },
    "the {what} cannot be written ({text}); check the disk and its permissions. Nothing was changed": {
        "SQLite": (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM),
        "SQLSTATE": ("25006", "42501"),  # read-only transaction, no privilege
        "system": (errno.EACCES, errno.EPERM, errno.EROFS),
    },
    "the disk is full or failing ({text}). The last change was not made; earlier content is unchanged": {
        "SQLite": (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR),
        "SQLSTATE": ("53100", "58030"),  # disk full, I/O error
        "system": (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO),
    },
    "not a {what}: the file is damaged or of another kind; restore it from a copy or an export": {
        "SQLite": (sqlite3.SQLITE_NOTADB,),
    },
    "the {what} file is damaged ({text}); restore it from a copy or an export": {
        "SQLite": (sqlite3.SQLITE_CORRUPT,),
        "SQLSTATE": ("XX001", "XX002"),
    },
    "the {what} cannot be opened ({text}); check the folder and its permissions": {
        "SQLite": (sqlite3.SQLITE_CANTOPEN,),
    },
}
_MEANINGS = {
    (kind, code): meaning for meaning, codes in _CODES.items() for kind, numbers in codes.items() for code in numbers
}


@contextmanager
def only_maker(folder: Path, *, seconds: float) -> Iterator[None]:
    """Stop other processes from making a board in this folder meanwhile, where the system can lock folders.

    Without locks the boards are as safe, but a second process is refused instead of waiting.
    """
    with ExitStack() as held:
        number = None
        with suppress(OSError):
            number = os.open(folder, os.O_RDONLY)
            held.callback(os.close, number)
        until = time.monotonic() + seconds
        while number is not None:
            try:
                lock(number)
                break
            except LockedError:
                if time.monotonic() > until:
                    raise BoardError(
                        f"{shown_path(folder)}: another program kept the folder locked for {seconds:.0f} s; try again. "
                        "Nothing was changed"
                    ) from None
            time.sleep(_POLL_SECONDS)
        yield


@contextmanager
def temporary_file(target: Path) -> Iterator[Path]:
    """A name beside the target for a ledger that is being made; whatever has it at the end is removed."""
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
        # Here files cannot have two names.
        if os.name == "nt":  # pragma: no cover - there, renaming does not replace
            made.rename(target)
        else:
            # An empty file holds the name until the ledger replaces it. No other process writes to it: it is not a
            # ledger, and making one there needs the lock of the folder.
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _MODE))
            made.replace(target)
    sync_folder(target.parent)
