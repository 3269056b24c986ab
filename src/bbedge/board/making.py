"""A new board file: written under another name and then given its own, so that it appears whole or not at all.

Nothing that another process made is ever overwritten or removed: a name that is taken stays as it is.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bbedge.errors import BoardError
from bbedge.files import LockedError, create_beside, lock, sync_folder
from bbedge.text import shown_path

_WORKING_FILES = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database while it works

_UNFINISHED = ".unfinished-board"
_MODE = 0o644  # what SQLite gives a new file
_POLL_SECONDS = 0.01
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)


@contextmanager
def only_maker(folder: Path, *, seconds: float) -> Iterator[None]:
    """Keep others from making a board in this folder meanwhile, where the system has locks on folders.

    Without locks the boards are as safe, but a process that comes second is refused instead of kept waiting.
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
    # An empty file holds the name until the board replaces it. It is no board, so no other process has written to it:
    # whoever makes boards waits for the lock of the folder.
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _MODE))
    made.replace(target)
