"""Arrays that are read back as they were written, and the lock of a run."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from bbedge.core.evidence import write_archive
from bbedge.errors import BbedgeError, DataError
from bbedge.files import UNFINISHED, LockedError, lock, replacing
from bbedge.text import shown_path

# What NumPy and zipfile raise on bytes that are not an archive they wrote.
_DAMAGE = (ValueError, KeyError, IndexError, EOFError, RuntimeError, zipfile.BadZipFile)


def save_array(file: Path, array: np.ndarray) -> None:
    """Write an array that :func:`map_array` can map into memory."""
    with replacing(file) as stream:
        np.save(stream, array, allow_pickle=False)


def save_arrays(file: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write named arrays with their checksums."""
    with replacing(file) as stream:
        write_archive(stream, arrays.items())


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed process was writing."""
    for file in folder.rglob(f"*{UNFINISHED}"):
        with suppress(FileNotFoundError):
            file.unlink()


@contextmanager
def loaded(file: Path) -> Iterator[Any]:
    """The arrays of a file, read when they are asked for; a file that is missing or damaged is named."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            yield arrays
    except OSError as error:
        raise DataError(
            f"{shown_path(file)}: cannot be read ({error.strerror}); the folder of the run must be complete, and on "
            "a cluster it must be on a file system that all machines share"
        ) from error
    except BbedgeError:
        raise
    except _DAMAGE as error:
        raise damaged(file) from error


def damaged(file: Path) -> DataError:
    """The error that says that a file is not what was written."""
    return DataError(f"{shown_path(file)}: damaged; restore the folder from a copy, or make the run again")


def map_array(file: Path) -> np.ndarray:
    """An array mapped into memory: what is not looked at is not read."""
    try:
        return np.asarray(np.load(file, mmap_mode="r", allow_pickle=False))
    except OSError as error:
        raise DataError(f"{shown_path(file)}: cannot be read ({error.strerror or error})") from error
    except _DAMAGE as error:
        raise DataError(f"{shown_path(file)}: not an array that NumPy saved as .npy ({error})") from error


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Keep other processes out, where the file system has locks. A killed process leaves no lock behind."""
    try:
        stream = file.open("ab")
    except OSError as error:
        raise DataError(
            f"{shown_path(file)}: cannot be written ({error.strerror}); make it writable and run the command again"
        ) from error
    with stream:
        try:
            lock(stream)
        except LockedError as error:
            raise DataError(
                f"{shown_path(file.parent)}: another process is updating this run; wait until it is done"
            ) from error
        yield
