"""Files that users name: read as text, written whole or not at all, exchanged, and locked."""

from __future__ import annotations

import csv
import errno
import io
import itertools
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from bbedge.errors import BbedgeError, DataError, FormatError, Part
from bbedge.text import shown_path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no such locks
    fcntl = None  # type: ignore[assignment]

UNFINISHED = ".part"
"""How the name of a file ends while it is being written."""

_NAME_KEPT = 40  # characters of the target's name in the temporary one: names may have 255 bytes in all
_OPEN_FILE = re.compile(r"/(?:proc/[^/]+|dev)/fd/[0-9]+")
_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK, errno.EINVAL, errno.EBADF)
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM, errno.EBADF)


@contextmanager
def system_errors(
    path: str | os.PathLike[str], what: str, *advice: Part, kind: type[BbedgeError] = DataError
) -> Iterator[None]:
    """Name the file for which the system refuses something: ``PATH: cannot be written (REASON)``, then the advice."""
    try:
        yield
    except OSError as error:
        raise kind(f"{shown_path(path)}: cannot be {what} ({error.strerror or error})", *advice) from error


def csv_text(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    r"""A table as CSV, whose lines end with LF on every system.

    >>> csv_text(["item", "score"], [("q,1", 0.5)])
    'item,score\n"q,1",0.5\n'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(itertools.chain([head], rows))
    return text.getvalue()


def read_text(path: Path, *, encoding: str = "utf-8") -> str:
    """The text of a file that the user names."""
    try:
        with system_errors(path, "read", kind=FormatError):
            return path.read_text(encoding=encoding)
    except UnicodeDecodeError as error:
        raise FormatError(f"{shown_path(path)}: not a text file in UTF-8 ({error})") from error


def write_whole(path: Path, text: str | Iterable[str]) -> None:
    """Write a text in UTF-8 with :func:`replacing`; an iterable is written piece by piece."""
    with replacing(path) as file:
        for piece in [text] if isinstance(text, str) else text:
            file.write(piece.encode("utf-8"))


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which becomes ``path`` when the block ends without an error.

    Until then, and after an error or a crash, ``path`` is what it was. An existing file keeps its mode. A symbolic link
    stays one: its target is replaced. What is not a regular file (a device, a pipe) is written to directly.
    """
    try:
        before = _status(path)
        if _is_stream(path, before):
            with path.open("wb") as stream:
                yield stream
            return
        target = Path(os.path.realpath(path))
        beside, file = create_beside(target, mode=0o666 if before is None else stat.S_IMODE(before.st_mode) & 0o777)
        try:
            with file:
                if before is not None:
                    _keep(file, before)
                yield file
                file.flush()
                os.fsync(file.fileno())
            beside.replace(target)
        except BaseException:
            with suppress(OSError):
                beside.unlink()
            raise
        sync_folder(target.parent)
    except OSError as error:
        raise DataError(f"{shown_path(path)}: cannot be written ({error.strerror}); choose another place") from error


def create_beside(target: Path, *, mode: int, ending: str = UNFINISHED) -> tuple[Path, IO[bytes]]:
    """A new file in the folder of ``target`` under a random name, which no other program has or can have planted."""
    beside = target.with_name(f".{target.name[:_NAME_KEPT]}.{secrets.token_hex(8)}{ending}")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    return beside, os.fdopen(os.open(beside, flags | getattr(os, "O_BINARY", 0), mode), "w+b")


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut, where the system can do that for folders."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders; a folder may be writable and not readable
        return
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise
    finally:
        os.close(number)


_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux
_CANNOT_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def exchange(one: Path, other: Path) -> bool:
    """Give two folders each other's name in one step. False, and nothing was done, where the system cannot do that."""
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if call is None:
        return False
    if call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), str(other))


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None
    except ValueError as error:  # a null character, or an unpaired surrogate
        raise OSError(errno.EINVAL, str(error)) from error


def _is_stream(path: Path, status: os.stat_result | None) -> bool:
    """Whether there is something to write to that must not be replaced by a file."""
    if status is not None and not stat.S_ISREG(status.st_mode):
        return True
    # /dev/stdout leads to an open file, which may be a regular one; a new file would not reach its reader.
    for _ in range(40):
        if _OPEN_FILE.fullmatch(str(path.absolute())) or not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return _OPEN_FILE.fullmatch(str(path.absolute())) is not None


def _keep(file: IO[bytes], before: os.stat_result) -> None:
    if hasattr(os, "fchown"):
        with suppress(OSError):  # only root can give a file away
            os.fchown(file.fileno(), before.st_uid, before.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode) & 0o777)


class LockedError(Exception):
    """Another process holds the lock."""


def lock(file: IO[bytes] | int, *, wait: bool = False) -> None:
    """Lock an open file or folder until it is closed; a killed process leaves no lock.

    Where another process has it, ``wait`` for that one, or raise :class:`LockedError`. Where the platform or the file
    system has no locks, nothing is locked.
    """
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError as error:
        raise LockedError from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
