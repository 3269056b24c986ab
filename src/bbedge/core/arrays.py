"""Arrays of NumPy, PyTorch or CuPy: where the core computes, how much of a matrix at a time, and how state is saved.

The core is written once, against the array API standard, and always in float64. A :class:`Space` says which library
and device hold the arrays. NumPy is the default; the others are imported only where they are asked for. Saved state is
named arrays in one archive, which is read back only if it was written here.
"""

from __future__ import annotations

import io
import math
import tokenize
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import IO, Any

import numpy as np
from array_api_compat import (
    array_namespace,
    device,
    is_array_api_obj,
    is_cupy_array,
    is_numpy_array,
    is_torch_array,
    to_device,
)
from numpy.lib.format import write_array
from numpy.typing import NDArray

from bbedge.errors import DataError, DomainError
from bbedge.text import quoted

Array = Any
"""An array of NumPy, PyTorch or CuPy. The libraries share no type; the docstrings say the shape."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
State = dict[str, np.ndarray]
"""What was accumulated, as named arrays."""

Places = slice | Rows
"""Some places of an axis, such as some of the blocks."""

UNIT = 2.0**-53
"""Unit roundoff of float64."""

CHUNK = 3072
"""Blocks in one matrix product: a short accumulation for the account of rounding, the same on every device."""


@dataclass(frozen=True, slots=True)
class Space:
    """A library and a device, and what sizes suit them.

    >>> numpy_space().asarray([1, 2]).tolist()
    [1.0, 2.0]
    """

    xp: Any
    """The library, as a namespace of the array API standard."""
    device: Any
    """The library's own name of the device."""
    tile: int
    """Numbers in one temporary: what fits a core's cache, or keeps an accelerator busy."""
    chunk: int
    """Blocks in one matrix product."""

    @property
    def is_numpy(self) -> bool:
        """Whether the arrays are NumPy's."""
        return self.xp is np

    def asarray(self, values: object) -> Array:
        """The values as float64 in this space; no copy where they are that already."""
        return self.xp.asarray(values, dtype=self.xp.float64, device=self.device)

    def bools(self, values: object) -> Array:
        """A mask in this space."""
        return self.xp.asarray(values, device=self.device)

    def zeros(self, *shape: int) -> Array:
        """An array of zeros."""
        return self.xp.zeros(shape, dtype=self.xp.float64, device=self.device)

    def empty(self, *shape: int) -> Array:
        """An array to be filled."""
        return self.xp.empty(shape, dtype=self.xp.float64, device=self.device)

    def column(self, values: object, ndim: int) -> Array:
        """Numbers along the first of so many axes."""
        return self.xp.reshape(self.asarray(values), (-1, *(1,) * (ndim - 1)))

    def combine(self, first: Array, factor: float, second: Array, *, out: Array | None) -> Array:
        """``first + factor * second`` in a new array, or in the given one where that is faster."""
        found = np.multiply(second, factor, out=out) if self.is_numpy else second * factor
        found += first
        return found

    def take(self, array: Array, places: Places, *, axis: int = -1) -> Array:
        """The entries at these places of an axis; at a slice of one of the last two axes, as a view."""
        if isinstance(places, slice):
            return array[..., places] if axis == -1 else array[..., places, :]
        return self.xp.take(array, self.xp.asarray(places, device=self.device), axis=axis)

    def take_pairs(self, array: Array, rows: Places, cols: Places) -> Array:
        """Some rows and columns of arrays of directions."""
        return self.take(self.take(array, rows, axis=-2), cols)


@cache
def numpy_space() -> Space:
    """NumPy on this machine's cores."""
    return Space(xp=np, device="cpu", tile=1 << 18, chunk=CHUNK)


def space_of(array: object) -> Space:
    """The space of an array; lists and everything else that NumPy can take are NumPy's."""
    if not is_array_api_obj(array) or is_numpy_array(array):
        return numpy_space()
    return _accelerated(array_namespace(array), device(array))


def space_on(name: str) -> Space:
    """The space of a device by name: ``cpu`` is NumPy, anything else is PyTorch's (``cuda``, ``cuda:1``, ...)."""
    if name == "cpu":
        return numpy_space()
    try:
        import array_api_compat.torch as xp
        import torch
    except ImportError as error:
        raise DomainError(
            f"the device {quoted(name)} needs PyTorch, which is not installed; install torch for it, or use cpu"
        ) from error
    try:
        place = torch.device(name)
        torch.zeros(1, dtype=torch.float64, device=place)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise DomainError(f"the device {quoted(name)} cannot be used here ({reason}); use cpu") from error
    return _accelerated(xp, place)


def _accelerated(xp: Any, place: Any) -> Space:  # noqa: ANN401 - libraries have no common type
    # An empty queue costs an accelerator more than a large temporary.
    return Space(xp=xp, device=place, tile=1 << 26, chunk=CHUNK)


def namespace(array: Array) -> Any:  # noqa: ANN401 - libraries have no common type
    """The library of an array, with the functions of the standard. NumPy has them itself."""
    return np if is_numpy_array(array) else array_namespace(array)


def to_numpy(array: Array) -> np.ndarray:
    """The array as NumPy's, copied from its device where it must be."""
    if is_torch_array(array):
        array = to_device(array, "cpu")
    return np.asarray(array.get() if is_cupy_array(array) else array)


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


def archive_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Named arrays as :func:`load_arrays` reads them."""
    buffer = io.BytesIO()
    write_archive(buffer, arrays.items())
    return buffer.getvalue()


def load_arrays(state: bytes) -> State:
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


def with_prefix(arrays: State, prefix: str) -> State:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
