"""Which block an item is in, learnt row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bbedge.errors import DataError
from bbedge.text import quoted

if TYPE_CHECKING:
    from bbedge.readers.assemble.coding import Codes, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A row that puts an item into another block than an earlier row did."""

    table: Table
    """The table with the row."""
    row: int
    """The row, from 0."""
    item: int
    """The code of the item."""
    block: int
    """The code of the block in this row."""
    before: int
    """The code of its block before."""


@dataclass(slots=True)
class BlockBook:
    """The block of every item. Of rows that contradict it the first is remembered, to be told when blocks are used."""

    _block_of: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _conflict: Conflict | None = None

    def add(self, items: Codes, blocks: Codes, *, table: Table, first_row: int) -> None:
        """Learn from rows, which begin with row ``first_row`` of the table."""
        if self._conflict is not None:
            return
        known = len(self._block_of)
        most = int(items.max()) + 1
        if most > known:
            # Room for twice as many, so that a column of ever new items does not copy the book at every turn.
            grown = np.full(max(most, 2 * known), -1, dtype=np.int64)
            grown[:known] = self._block_of
            self._block_of = grown
        before = self._block_of[items]
        new = before < 0
        if new.any():
            # Backwards, because of several values for one position NumPy keeps the last: the first row shall count.
            self._block_of[items[new][::-1]] = blocks[new][::-1]
            before = self._block_of[items]
        other = before != blocks
        if other.any():
            row = int(other.argmax())
            self._conflict = Conflict(
                table=table, row=first_row + row, item=int(items[row]), block=int(blocks[row]), before=int(before[row])
            )

    def of_items(self, items: Sequence[str], *, names: Sequence[str], labels: Sequence[str]) -> tuple[str, ...]:
        """The label of the block of each item; ``names`` and ``labels`` are the items and blocks by code."""
        if self._conflict is not None:
            raise _refusal(self._conflict, names, labels)
        by_name = {name: labels[block] for name, block in zip(names, self._block_of, strict=False)}
        return tuple(by_name[item] for item in items)


def _refusal(found: Conflict, names: Sequence[Any], labels: Sequence[Any]) -> DataError:
    return DataError(
        f"{found.table.place(found.row)}: item {quoted(names[found.item])} is in block "
        f"{quoted(labels[found.block])} here and in block {quoted(labels[found.before])} before; an item belongs "
        "to one block: correct the column, or pass --blocks item or --blocks one"
    )
