"""What does not fit in memory: arrays in a temporary file that has no name and is deleted when the program ends."""

from __future__ import annotations

import io
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bbedge.errors import DataError
from bbedge.text import shown_path

ROWS_IN_MEMORY = 1 << 30
"""Bytes of coded rows that are held in memory; further rows go to a file."""
PANELS_IN_MEMORY = 2 << 30
"""Bytes of panels that are held in memory; larger ones are filled some replicates at a time and go to a file."""
_PART = 1 << 28


@dataclass(slots=True)
class Spool:
    """A temporary file to which arrays are appended, and from which they are read or mapped.

    It is unlinked as soon as it is opened, or deleted by the system when it is closed, so that no crash leaves it
    behind.
    """

    folder: str | None = None
    """Where the file is; where large temporary files belong, if none is named."""
    size: int = 0
    """Bytes written so far."""
    _file: io.FileIO | None = None

    def require(self, more: int) -> None:
        """Raise unless the disk has room for so many bytes more."""
        try:
            free = shutil.disk_usage(self._place()).free
        except OSError as error:
            raise self._refusal(error.strerror or str(error)) from error
        if free < more:
            raise self._refusal(f"{_gigabytes(more)} more are needed and {_gigabytes(free)} are free")

    def write(self, array: NDArray[Any]) -> Piece:
        """Append an array."""
        array = np.ascontiguousarray(array)
        piece = Piece(spool=self, offset=self.size, shape=array.shape, dtype=array.dtype)
        try:
            if self._file is None:
                # Without a buffer: nothing is left to be written after the error of a full disk.
                self._file = tempfile.TemporaryFile(prefix="bbedge-", dir=self._place(), buffering=0)  # noqa: SIM115
            self._file.seek(self.size)
            # In parts, because a system may write no more than 2 GB at once.
            whole, done = array.reshape(-1).view(np.uint8).data, 0
            while done < len(whole):
                done += self._file.write(whole[done : done + _PART])
        except OSError as error:
            raise self._refusal(error.strerror or str(error)) from error
        self.size += array.nbytes
        return piece

    def read_into(self, whole: memoryview, offset: int) -> None:
        """Fill a buffer with what was written from an offset on."""
        file, done = cast("io.FileIO", self._file), 0
        file.seek(offset)
        while done < len(whole):
            got = file.readinto(whole[done : done + _PART])
            if not got:
                raise self._refusal("the temporary file ends before what was written to it")
            done += got

    def mapped(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Everything that was written, float64 numbers, as one array that cannot be changed and stays on disk."""
        file = cast("io.FileIO", self._file)
        # The mapping keeps what it shows alive, and goes with the last array that uses it.
        mapping = mmap.mmap(file.fileno(), prod(shape) * 8, access=mmap.ACCESS_READ)
        return np.frombuffer(mapping, dtype=np.float64).reshape(shape)

    def _place(self) -> str:
        self.folder = self.folder or spool_folder()
        return self.folder

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def _refusal(self, reason: str) -> DataError:
        holder = "no folder can" if self.folder is None else f"{shown_path(self.folder)} cannot"
        return DataError(
            f"the scores are too large for memory, and {holder} store them temporarily "
            f"({reason}; {_gigabytes(self.size)} were written); set TMPDIR to a folder on a disk with more room"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """An array in a spool."""

    spool: Spool
    """Where it is."""
    offset: int
    """Its first byte."""
    shape: tuple[int, ...]
    """Its shape."""
    dtype: np.dtype[Any]
    """Its type."""

    def load(self) -> NDArray[Any]:
        """The array, in memory."""
        array = np.empty(self.shape, dtype=self.dtype)
        if array.size:
            self.spool.read_into(array.reshape(-1).view(np.uint8).data, self.offset)
        return array


def spooled(panels: Iterable[NDArray[np.float64]], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Panels, which together have this shape, as one array that stays on disk."""
    spool = Spool()
    spool.require(8 * prod(shape))
    for panel in panels:
        spool.write(panel)
    return spool.mapped(shape)


def spool_folder() -> str:
    """The folder for large temporary files: TMPDIR, else /var/tmp, because /tmp is itself memory on many systems."""
    if "TMPDIR" not in os.environ and os.name == "posix" and os.access("/var/tmp", os.W_OK | os.X_OK):
        return "/var/tmp"
    return tempfile.gettempdir()


def one_by_one(panels: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """The panels in turn; of panels on disk, the memory of one is given back before the next is read."""
    owner: Any = panels
    while isinstance(owner, np.ndarray | memoryview):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    for panel in panels:
        yield panel
        if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            # The mapping is a read-only view of a file: what is given back is read again when it is asked for.
            owner.madvise(mmap.MADV_DONTNEED)


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
