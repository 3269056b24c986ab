"""Where rows go: replicates x models x items in their final order, and a temporary file for what memory does not hold.

The file has no name and is deleted when the program ends.
"""

from __future__ import annotations

import io
import mmap
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, pairwise
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from bbedge.errors import DataError
from bbedge.text import quoted, shown_path

if TYPE_CHECKING:
    from bbedge.readers.assemble.coding import Coder, RowChunk

ROWS_IN_MEMORY = 1 << 30
"""Bytes of coded rows that are held in memory; further rows go to a file."""
PANELS_IN_MEMORY = 2 << 30
"""Bytes of panels that are held in memory; larger ones are filled some replicates at a time and go to a file."""
_PART = 1 << 28


StoredArray = Callable[[], NDArray[Any]]
"""An array in a spool, which the call reads."""


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

    def write(self, array: NDArray[Any]) -> StoredArray:
        """Append an array."""
        array = np.ascontiguousarray(array)
        stored = partial(self._read, self.size, array.shape, array.dtype)
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
        return stored

    def _read(self, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        file = cast("io.FileIO", self._file)
        file.seek(offset)
        array = np.fromfile(file, dtype=dtype, count=prod(shape))
        if array.size < prod(shape):
            raise self._refusal("the temporary file ends before what was written to it")
        return array.reshape(shape)

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


Names = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""Names of the replicates, models and items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The cells of all panels, numbered replicate by replicate, model by model, item by item."""

    names: Names
    """The names in their final order."""
    positions: Sequence[NDArray[np.int64]]
    """Where the code of each replicate, model and item goes in that order."""

    @classmethod
    def from_coder(
        cls, coder: Coder, replicates: Sequence[str], *, model_key: Callable[[str], Any] | None = None
    ) -> Grid:
        """The grid of all rows; ``replicates`` are the labels in order, or one for rows that have none.

        Models are sorted by their names, or by the key of a name.
        """
        labels = coder.names("replicate") if "replicate" in coder.vocabularies else replicates
        models, items = coder.names("model"), coder.names("item")
        names = tuple(replicates), tuple(sorted(models, key=model_key)), tuple(sorted(items, key=natural_key))
        places = [{name: position for position, name in enumerate(final)} for final in names]
        coded = zip((labels, models, items), places, strict=True)
        return cls(
            names=names, positions=[np.array([place[name] for name in given], dtype=np.int64) for given, place in coded]
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of replicates, models and items."""
        return len(self.names[0]), len(self.names[1]), len(self.names[2])

    def is_dense(self, coder: Coder) -> bool:
        """Whether the panels can be laid out; with many more cells than rows they are incomplete, and too large."""
        return prod(self.shape) <= 4 * sum(chunk.height for chunk in coder.chunks) + 1_000_000

    @property
    def in_memory(self) -> bool:
        """Whether memory holds all panels."""
        return 8 * prod(self.shape) <= PANELS_IN_MEMORY

    def groups(self, cell_bytes: int = 8) -> Iterator[range]:
        """Consecutive replicates whose panels fit in memory together; at least one at a time."""
        replicates, models, items = self.shape
        size = min(replicates, max(1, PANELS_IN_MEMORY // (cell_bytes * models * items)))
        return (range(first, min(first + size, replicates)) for first in range(0, replicates, size))

    def cells(self, chunk: RowChunk) -> NDArray[np.int64]:
        """The cell of every row of a chunk."""
        _, models, items = self.shape
        cells = (self.positions[1] * items)[chunk.codes("model")]
        cells += self.positions[2][chunk.codes("item")]
        if "replicate" in chunk.kept:
            cells += (self.positions[0] * (models * items))[chunk.codes("replicate")]
        return cells

    def placed(
        self, coder: Coder, group: range
    ) -> Iterator[tuple[RowChunk, NDArray[np.bool_] | slice, NDArray[np.int64]]]:
        """The chunks with rows in a group of replicates: which rows these are, and their cells from its first one."""
        panel = self.shape[1] * self.shape[2]
        for chunk in coder.chunks:
            if chunk.replicates is not None:
                places = self.positions[0][chunk.replicates]
                if not ((places >= group.start) & (places < group.stop)).any():
                    continue
            cells = self.cells(chunk)
            cells -= group.start * panel
            inside = (cells >= 0) & (cells < len(group) * panel) if len(group) < self.shape[0] else None
            if inside is None or inside.all():
                yield chunk, slice(None), cells
            else:
                yield chunk, inside, cells[inside]

    def all_cells(self, coder: Coder) -> NDArray[np.int64]:
        """The cell of every row, where there are far more cells than rows."""
        return np.concatenate([self.cells(chunk) for chunk in coder.chunks])


_MOST_SKIPPED = 5
_DIGITS = re.compile(r"([0-9]+)")
_INTEGER = re.compile(r"([+-]?[0-9]{1,18})(?:\.0+)?")


def natural_key(name: str) -> tuple[tuple[str | tuple[int, str], ...], str]:
    """A sort key that puts q2 before q10; names that differ only in leading zeros keep a fixed order.

    >>> sorted(["q10", "q2", "q02"], key=natural_key)
    ['q02', 'q2', 'q10']
    """
    parts: list[str | tuple[int, str]] = [*_DIGITS.split(name)]
    # Text and digits alternate. Digits are compared by length and then as text: int() refuses more than 4,300.
    parts[1::2] = [(len(digits), digits) for digits in (part.lstrip("0") for part in _DIGITS.findall(name))]
    return tuple(parts), name


def whole_number(label: str) -> int | None:
    """The integer that the label writes, also as 3.0, or None.

    >>> whole_number("07"), whole_number("3.0"), whole_number("a")
    (7, 3, None)
    """
    match = _INTEGER.fullmatch(label)
    return int(match.group(1)) if match else None


def ordered_replicates(labels: Sequence[str], *, are_seeds: bool, tables: str) -> list[str]:
    """The labels in the order in which they are processed: numbers by value, others naturally.

    **Needs:** numbers that count the runs, without a skip, unless they are seeds. A run that was left out after its
    scores were seen makes the remaining ones a biased choice.

    >>> ordered_replicates(["10", "9", "11"], are_seeds=False, tables="a.csv")
    ['9', '10', '11']
    """
    numbers = {label: number for label in labels if (number := whole_number(label)) is not None}
    if len(numbers) < len(labels):
        return sorted(labels, key=natural_key)
    order = sorted(labels, key=lambda label: (numbers[label], label))
    for one, other in pairwise(order):
        if numbers[one] == numbers[other]:
            raise DataError(
                f"{tables}: replicates {quoted(one)} and {quoted(other)} are one number written in two ways; "
                "write it in one way"
            )
    missing = 0 if are_seeds else numbers[order[-1]] - numbers[order[0]] + 1 - len(order)
    if missing:
        ranges = (range(one + 1, other) for one, other in pairwise(sorted(numbers.values())))
        first = list(islice(chain.from_iterable(ranges), _MOST_SKIPPED))
        more = f" and {missing - len(first)} more" if missing > len(first) else ""
        raise DataError(
            f"{tables}: the replicates run from {order[0]} to {order[-1]} but {', '.join(map(str, first))}{more} "
            f"{'is' if missing == 1 else 'are'} missing; a run that was left out after its scores were seen breaks the "
            "guarantee: add it; or renumber the runs if none was left out; or, if the numbers are mere labels such as "
            "seeds, name the column seed"
        )
    return order
