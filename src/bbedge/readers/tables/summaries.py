"""Columns of wide tables that sum up the others: read as one more item, a mean would count every score twice."""

from __future__ import annotations

import numpy as np
import polars as pl

from bbedge.readers.choices import Choice, OpenChoiceError
from bbedge.text import quoted, shown

SUMMARIES = frozenset({"overall", "mean", "average", "avg", "total", "macro", "micro"})
"""Names of columns that are summaries; case does not matter."""
# In fewer rows or columns one could be the mean of the others by chance. Right and wrong answers never are.
_LEAST_ROWS, _LEAST_COLUMNS = 2, 4
# Means are often rounded when they are written.
_ROUNDED = 0.5e-3


class RowMeans:
    """Looks for a column that is the mean of the others in every row that could tell."""

    def __init__(self, columns: int) -> None:
        self._is_mean = np.ones(columns, dtype=np.bool_)
        self._rows = 0

    def add(self, cells: pl.DataFrame) -> None:
        """Look at some rows, given as texts or numbers."""
        if not self._is_mean.any() or cells.width < _LEAST_COLUMNS:
            return
        values = cells.select(pl.all().cast(pl.String).cast(pl.Float64, strict=False)).to_numpy()
        there = np.isfinite(values)
        # A row of equal numbers is the mean of itself whichever column is looked at.
        low, high = np.where(there, values, np.inf).min(axis=1), np.where(there, values, -np.inf).max(axis=1)
        telling = np.isfinite(high - low) & (high > low)
        if not telling.any():
            return
        self._rows += int(telling.sum())
        values, there = values[telling], there[telling]
        known = np.where(there, values, 0.0)
        others, count = known.sum(axis=1, keepdims=True) - known, there.sum(axis=1, keepdims=True) - there
        expected = others / np.maximum(count, 1)
        equal = np.abs(values - expected) <= _ROUNDED * np.maximum(1.0, np.abs(expected))
        self._is_mean &= np.all(equal & there, axis=0)

    def found(self) -> int | None:
        """The position of such a column; None if there is none."""
        if self._rows < _LEAST_ROWS or not self._is_mean.any():
            return None
        return int(self._is_mean.argmax())


def summary_error(table: str, column: str, across: str, *, why: str) -> OpenChoiceError:
    """The refusal of a column."""
    drop = Choice("drop_columns", (shown(column),))
    return OpenChoiceError.proposing(
        (Choice("drop_columns", (column,)),),
        f"{table}: column {quoted(column)} is {why}, not one {across}; drop it with ",
        drop,
        f"; if it is one {across} after all, write the table with a row for every score",
    )
