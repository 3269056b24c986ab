"""Saved state: named arrays in one archive, which is read back only if it was written here."""

from __future__ import annotations

import io
import math
import tokenize
import zipfile
from collections.abc import Iterable
from typing import IO, Any

import numpy as np
from numpy.lib.format import write_array
from numpy.typing import NDArray

from bbedge.errors import DataError

DAMAGED = "the saved evidence is damaged; rebuild it from the panels"
# What NumPy and zipfile raise on bytes that are not an archive they wrote.
DAMAGE = (
    ValueError,
    KeyError,
    IndexError,
    OSError,
    EOFError,
    RuntimeError,
    tokenize.TokenError,
    zipfile.BadZipFile,
)


def write_archive(stream: IO[bytes], arrays: Iterable[tuple[str, NDArray[Any]]]) -> None:
    """Write named arrays, one after the other, as an archive that ``numpy.load`` reads; Python objects are refused."""
    # The bytes are those of numpy.savez, which cannot refuse objects before NumPy 2.2: there, allow_pickle=False is
    # the name of one more array. A ZipInfo without a date makes two archives of the same arrays equal.
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays:
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                write_array(entry, array, allow_pickle=False)


def load_arrays(state: bytes) -> dict[str, np.ndarray]:
    """The arrays of a saved state, or an error that says that it is damaged."""
    try:
        if not state.startswith(b"PK"):  # NumPy would read a single array as well
            raise ValueError("not an archive")
        with np.load(io.BytesIO(state), allow_pickle=False) as archive:
            _check_sizes(archive.zip)
            return {name: archive[name] for name in archive.files}
    except DAMAGE as error:
        raise DataError(DAMAGED) from error


def _check_sizes(archive: zipfile.ZipFile) -> None:
    """Refuse arrays that would be larger than the bytes they come from: compressed ones, and headers that lie."""
    for entry in archive.infolist():
        with archive.open(entry) as file:
            if entry.compress_type != zipfile.ZIP_STORED or np.lib.format.read_magic(file) != (1, 0):
                raise ValueError("not an array that was saved here")
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            if math.prod(shape) * dtype.itemsize > entry.file_size:
                raise ValueError("an array that is larger than its file")


def with_prefix(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
