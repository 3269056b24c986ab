"""What all rows of an item have in common, such as its block or category; rows that differ are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bbedge.errors import DataError, FormatError
from bbedge.readers.choices import OTHER_BLOCKS
from bbedge.text import quoted

if TYPE_CHECKING:
    from bbedge.readers.assemble.coding import Codes, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A row that gives an item another value than an earlier row did."""

    table: Table
    """The table with the row."""
    row: int
    """The row, from 0."""
    item: int
    """The code of the item."""
    value: int
    """The code of the value in this row."""
    before: int
    """The code of its value before."""


@dataclass(slots=True)
class ItemBook:
    """One value for every item. The first row that contradicts it is kept for an error message."""

    column: str | None = None
    """The item column that the values are from; None for blocks."""
    _value_of: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _conflict: Conflict | None = None

    def add(self, items: Codes, values: Codes, *, table: Table, first_row: int) -> None:
        """Learn from rows, which begin with row ``first_row`` of the table."""
        if self._conflict is not None:
            return
        known = len(self._value_of)
        most = int(items.max()) + 1
        if most > known:
            # Room for twice as many, so that a column of ever new items does not copy the book at every turn.
            grown = np.full(max(most, 2 * known), -1, dtype=np.int64)
            grown[:known] = self._value_of
            self._value_of = grown
        before = self._value_of[items]
        new = before < 0
        if new.any():
            # Backwards, because of several values for one position NumPy keeps the last: the first row shall count.
            self._value_of[items[new][::-1]] = values[new][::-1]
            before = self._value_of[items]
        other = before != values
        if other.any():
            row = int(other.argmax())
            self._conflict = Conflict(
                table=table, row=first_row + row, item=int(items[row]), value=int(values[row]), before=int(before[row])
            )

    @property
    def conflict(self) -> Conflict | None:
        """The first row that gives an item another value than an earlier one, if there is one."""
        return self._conflict

    def known(self, *, names: Sequence[str], labels: Sequence[str]) -> Mapping[str, str]:
        """The value of each item that has one; ``names`` and ``labels`` are the items and values by code."""
        if self._conflict is not None:
            raise self._refusal(self._conflict, names, labels)
        return {name: labels[value] for name, value in zip(names, self._value_of.tolist(), strict=False) if value >= 0}

    def of_items(self, items: Sequence[str], *, names: Sequence[str], labels: Sequence[str]) -> tuple[str, ...]:
        """The value of each of these items, all of which have one."""
        known = self.known(names=names, labels=labels)
        return tuple(known[item] for item in items)

    def _refusal(self, found: Conflict, names: Sequence[Any], labels: Sequence[Any]) -> DataError:
        item, here, before = quoted(names[found.item]), quoted(labels[found.value]), quoted(labels[found.before])
        place = found.table.place(found.row)
        if self.column is not None:
            return FormatError(
                f"{place}: item {item} has {here} as {quoted(self.column)} here and {before} before; an item has one "
                "value in a column that describes the items: correct the column, or choose another"
            )
        return DataError(
            f"{place}: item {item} is in block {here} here and in block {before} before; an item belongs "
            "to one block: correct the column, or pass ",
            *OTHER_BLOCKS,
        )
