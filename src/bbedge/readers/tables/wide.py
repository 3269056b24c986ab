"""Wide tables: a row per model and a column per item, or a row per item and a column per model.

Columns that sum up the others are refused: read as one more item, a mean would count every score twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import polars as pl

from bbedge.errors import Argument, FormatError
from bbedge.readers.choices import OpenChoiceError
from bbedge.readers.tables import Table
from bbedge.readers.tables.columns import ALIASES, FIRST_ALIASES, Role
from bbedge.readers.tables.delimited import CELL
from bbedge.readers.tables.roles import column_key, repeated_names
from bbedge.readers.tables.wrappers import WrappedTable, as_number, layers, rows_of
from bbedge.text import listed, quoted, shown

_CELLS = 1 << 20
# A model's means in a few columns are a summary, not scores of items.
_LEAST_SCORED = 8
_OTHER = 0.2
SUMMARIES = frozenset({"overall", "mean", "average", "avg", "total", "macro", "micro"})
"""Names of columns that are summaries; case does not matter."""
# In fewer rows or columns one could be the mean of the others by chance. Right and wrong answers never are.
_LEAST_ROWS, _LEAST_COLUMNS = 2, 4
# Means are often rounded when they are written.
_ROUNDED = 0.5e-3


@dataclass(eq=False)
class WideTable(WrappedTable):
    """A wide table that is read like a long one.

    ``kept`` are the columns that are not scores: the model or the item of the row, the replicate, the block, and
    columns that describe the items where the rows are items;
    ``across`` is what the columns of scores are: items or models; ``dropped`` are columns that were left out.
    """

    kept: Mapping[Role, str]
    across: Role
    scored: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    _slices: list[tuple[int, int, int]] = field(default_factory=list)
    # Cells are read as text, whatever the table holds, because each column may have its own type.
    text_scores = True

    def columns(self) -> tuple[str, ...]:
        """The roles that the table fills."""
        return tuple(self.roles())

    def roles(self) -> dict[Role, str]:
        """Every role is a column of its own name."""
        roles: tuple[Role, ...] = (*self.kept, self.across, "score")
        return {role: role for role in roles}

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The cells, some rows at a time."""
        columns = {f"kept {role}": column for role, column in self.kept.items()}
        columns |= {f"{CELL}{position}": column for position, column in enumerate(self.scored)}
        rows = max(1, _CELLS // len(self.scored))
        self._slices = []
        cells = first = 0
        summaries = RowMeans(len(self.scored))
        for whole in self.inner.batches(cast("Mapping[Role, str]", columns)):
            for batch in whole.iter_slices(rows):
                self._slices.append((cells, first, batch.height))
                cells += batch.height * len(self.scored)
                summaries.add(batch.select(f"{CELL}{position}" for position in range(len(self.scored))))
                first += batch.height
                long = batch.unpivot(
                    [f"{CELL}{position}" for position in range(len(self.scored))],
                    index=[f"kept {role}" for role in self.kept],
                    variable_name="across",
                    value_name="score",
                )
                titles = {f"{CELL}{position}": title for position, title in enumerate(self.scored)}
                yield long.select(
                    *(pl.col(f"kept {role}").alias(role) for role in self.kept),
                    pl.col("across").replace_strict(titles, return_dtype=pl.String).alias(self.across),
                    pl.col("score").cast(pl.String),
                )

        found = summaries.found()
        if found is not None:
            raise summary_error(self.name, self.scored[found], self.across, why="in every row the mean of the others")

    def place(self, row: int) -> str:
        """The place of the row, and the column, of cell ``row`` (from 0)."""
        cells, first, height = next(each for each in reversed(self._slices) if each[0] <= row)
        column, below = divmod(row - cells, height)
        return f"{self.inner.place(first + below)}, column {quoted(self.scored[column])}"


def wide_inside(table: Table) -> WideTable | None:
    """The wide table that a table is, or has inside it."""
    return next((each for each in layers(table) if isinstance(each, WideTable)), None)


def as_wide(
    table: Table,
    *,
    chosen: Mapping[Role, str],
    asked: bool,
    described: Sequence[str] = (),
    dropped: Sequence[str] = (),
    given: Collection[Role] = (),
) -> WideTable | None:
    """The table as a wide one, if it has a model or an item column and neither of the other nor scores.

    Asked for, it is one or an error. Otherwise it must have so many columns of scores that it cannot be a summary.
    ``described`` are columns that describe the items: in a table with a row per item they are not models. ``dropped``
    are left out, and the roles ``given`` come from the path of the file.
    """
    found = table.columns()
    repeated = repeated_names(found)
    if repeated:
        if not asked:
            return None
        raise FormatError(f"{table.name}: column {listed(repeated)} appears more than once; rename or remove one")
    by_role: dict[Role, str] = {}
    roles: tuple[Role, ...] = ("model", "item", "replicate", "block", "score")
    for role in roles:
        column = chosen.get(role) or _found(found, role)
        if column is not None and column in found and role not in given:
            by_role[role] = column
    down = [role for role in ("model", "item") if role in by_role]
    if len(down) != 1 or "model" in given or ("score" in by_role and not asked):
        if not asked:
            return None
        raise FormatError(
            f"{table.name}: the columns are {listed(found, limit=12)}; a wide table has a column named model and a "
            "column for every item, or a column named item and a column for every model"
        )
    by_role.pop("score", None)
    across: Role = "item" if down[0] == "model" else "model"
    if across == "item":
        by_role.pop("block", None)
    else:
        by_role |= {column_key(name): name for name in described if name in found}
    left_out = tuple(name for name in found if name in dropped and name not in by_role.values())
    scored = tuple(name for name in found if name not in by_role.values() and name not in left_out)
    usual = {*FIRST_ALIASES["item"], *ALIASES["score"]}
    few = len(scored) + len(left_out) < _LEAST_SCORED
    if not asked and (few or any(name.strip().casefold() in usual for name in scored) or _mostly_other(table, scored)):
        return None
    if not scored:
        raise FormatError(f"{table.name}: no columns of scores; a wide table has one for every {across}")
    summary = next((name for name in scored if name.strip().casefold() in SUMMARIES), None)
    if summary is not None:
        raise summary_error(table.name, summary, across, why="by its name a summary of the others")
    return WideTable(table, kept=by_role, across=across, scored=scored, dropped=left_out)


def _mostly_other(table: Table, columns: Sequence[str]) -> bool:
    """Whether the first rows have something else than numbers in more columns than mistakes would explain."""
    rows = rows_of(table)

    def is_other(name: str) -> bool:
        values = (row.get(name) for row in rows)
        return any(as_number(value) is None for value in values if value is not None and value != "")

    return sum(map(is_other, columns)) > _OTHER * len(columns)


def _found(columns: Sequence[str], role: Role) -> str | None:
    """The column named after the role itself; of other usual names only those of models, replicates and blocks."""
    exact = [name for name in columns if name.strip().casefold() == role]
    if exact:
        return exact[0]
    if role == "score":
        return None
    usual = [name for name in columns if name.strip().casefold() in FIRST_ALIASES[role]]
    return usual[0] if len(usual) == 1 else None


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
    drop = Argument("drop_column", (shown(column),))
    return OpenChoiceError.proposing(
        (Argument("drop_column", (column,)),),
        f"{table}: column {quoted(column)} is {why}, not one {across}; drop it with ",
        drop,
        f"; if it is one {across} after all, write the table with a row for every score",
    )
