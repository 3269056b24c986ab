"""Where rows go: replicates x models x items in their final order, some replicates at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbedge.errors import DataError
from bbedge.readers.assemble import spool
from bbedge.readers.assemble.coding import Chunk, Coder
from bbedge.text import quoted

Names = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""Names of the replicates, models and items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Names in their final order, and where each code goes."""

    names: tuple[str, ...]
    """The sorted names."""
    positions: NDArray[np.int64]
    """The position of every code in the sorted names."""

    @classmethod
    def of(
        cls, names: Sequence[str], ordered: Sequence[str] | None = None, *, key: Callable[[str], Any] | None = None
    ) -> Order:
        """Sort the names by the key, or take them in the order given."""
        final = sorted(names, key=key) if ordered is None else list(ordered)
        place = {name: position for position, name in enumerate(final)}
        return cls(names=tuple(final), positions=np.array([place[name] for name in names], dtype=np.int64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The cells of all panels, numbered replicate by replicate, model by model, item by item."""

    replicates: Order
    """The replicates."""
    models: Order
    """The models."""
    items: Order
    """The items."""

    @classmethod
    def of(cls, coder: Coder, replicates: Sequence[str]) -> Grid:
        """The grid of all rows; ``replicates`` are the labels in order, or one for rows that have none."""
        return cls(
            replicates=Order.of(
                coder.names("replicate") if "replicate" in coder.vocabularies else replicates, replicates
            ),
            models=Order.of(coder.names("model")),
            items=Order.of(coder.names("item"), key=natural_key),
        )

    @property
    def names(self) -> Names:
        """Names of the replicates, models and items."""
        return self.replicates.names, self.models.names, self.items.names

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of replicates, models and items."""
        return len(self.replicates.names), len(self.models.names), len(self.items.names)

    def is_dense(self, coder: Coder) -> bool:
        """Whether the panels can be laid out; with many more cells than rows they are incomplete, and too large."""
        return prod(self.shape) <= 4 * sum(chunk.height for chunk in coder.chunks) + 1_000_000

    @property
    def in_memory(self) -> bool:
        """Whether memory holds all panels."""
        return 8 * prod(self.shape) <= spool.PANELS_IN_MEMORY

    def groups(self, cell_bytes: int = 8) -> Iterator[range]:
        """Consecutive replicates whose panels fit in memory together; at least one at a time."""
        replicates, models, items = self.shape
        size = min(replicates, max(1, spool.PANELS_IN_MEMORY // (cell_bytes * models * items)))
        for first in range(0, replicates, size):
            yield range(first, min(first + size, replicates))

    def cells(self, chunk: Chunk) -> NDArray[np.int64]:
        """The cell of every row of a chunk."""
        _, models, items = self.shape
        cells = (self.models.positions * items)[chunk.codes("model")]
        cells += self.items.positions[chunk.codes("item")]
        if "replicate" in chunk.kept:
            cells += (self.replicates.positions * (models * items))[chunk.codes("replicate")]
        return cells

    def placed(
        self, coder: Coder, group: range
    ) -> Iterator[tuple[Chunk, NDArray[np.bool_] | slice, NDArray[np.int64]]]:
        """The chunks with rows in a group of replicates: which rows these are, and their cells from its first one."""
        panel = self.shape[1] * self.shape[2]
        for chunk in coder.chunks:
            if chunk.replicates is not None:
                places = self.replicates.positions[chunk.replicates]
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
        skipped = _skipped(sorted(numbers.values()), missing)
        raise DataError(
            f"{tables}: the replicates run from {order[0]} to {order[-1]} but {skipped}; "
            "a run that was left out after its scores were seen breaks the guarantee: add it; or renumber the runs if "
            "none was left out; or, if the numbers are mere labels such as seeds, name the column seed"
        )
    return order


def _skipped(numbers: Sequence[int], missing: int, most: int = 5) -> str:
    first: list[int] = []
    for one, other in pairwise(numbers):
        first.extend(range(one + 1, min(other, one + 1 + most - len(first))))
    names = ", ".join(map(str, first))
    if missing > len(first):
        names += f" and {missing - len(first)} more"
    return f"{names} {'is' if missing == 1 else 'are'} missing"
