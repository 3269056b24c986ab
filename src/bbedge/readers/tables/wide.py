"""Wide tables: a row per model and a column per item, or a row per item and a column per model.

Columns that sum up the others are refused: read as one more item, a mean would count every score twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bbedge.errors import FormatError
from bbedge.readers.choices import Choice, OpenChoiceError
from bbedge.readers.tables import HEAD
from bbedge.readers.tables.columns import ALIASES, FIRST_ALIASES, ROLES, Role, as_number
from bbedge.readers.tables.delimited import CELL
from bbedge.readers.tables.roles import column_key, repeated_names
from bbedge.text import listed, quoted, shown

if TYPE_CHECKING:
    from bbedge.readers.tables.wrappers import ShapedTable

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


@dataclass(frozen=True, slots=True, kw_only=True)
class WideShape:
    """What the columns of a wide table are."""

    kept: Mapping[Role, str]
    """Those that are not scores: the model or the item of the row, the replicate, the block, and columns that describe
    the items where the rows are items."""
    across: Role
    """What those of scores are: items or models."""
    scored: tuple[str, ...]
    """Those of scores."""
    dropped: tuple[str, ...]
    """Those that were left out."""
    _slices: list[tuple[int, int, int]] = field(default_factory=list)

    def roles(self) -> dict[Role, str]:
        """Every role is a column of its own name."""
        return {role: role for role in (*self.kept, self.across, "score")}

    def cells(self, read: Callable[[Mapping[Role, str]], Iterator[pl.DataFrame]], table: str) -> Iterator[pl.DataFrame]:
        """The cells as rows, some rows of the table at a time; ``read`` reads its columns."""
        titles = {f"{CELL}{position}": title for position, title in enumerate(self.scored)}
        columns = {**{f"kept {role}": column for role, column in self.kept.items()}, **titles}
        cells = first = telling = 0
        is_mean = np.ones(len(titles), dtype=np.bool_)
        self._slices.clear()
        for whole in read(cast("Mapping[Role, str]", columns)):
            for batch in whole.iter_slices(max(1, _CELLS // len(titles))):
                self._slices.append((cells, first, batch.height))
                cells += batch.height * len(titles)
                first += batch.height
                if is_mean.any() and len(titles) >= _LEAST_COLUMNS:
                    rows, equal = _equal_to_mean(batch.select(list(titles)))
                    telling += rows
                    is_mean &= equal
                long = batch.unpivot(
                    list(titles),
                    index=[f"kept {role}" for role in self.kept],
                    variable_name="across",
                    value_name="score",
                )
                yield long.select(
                    *(pl.col(f"kept {role}").alias(role) for role in self.kept),
                    pl.col("across").replace_strict(titles, return_dtype=pl.String).alias(self.across),
                    pl.col("score").cast(pl.String),
                )
        if telling >= _LEAST_ROWS and is_mean.any():
            mean = self.scored[int(is_mean.argmax())]
            raise summary_error(table, mean, self.across, why="in every row the mean of the others")

    def row_and_column(self, cell: int) -> tuple[int, str]:
        """The row of the table, and the column, of a cell that was read (from 0)."""
        cells, first, height = next(each for each in reversed(self._slices) if each[0] <= cell)
        column, below = divmod(cell - cells, height)
        return first + below, self.scored[column]


def as_wide(
    table: ShapedTable,
    *,
    chosen: Mapping[Role, str],
    asked: bool,
    described: Sequence[str] = (),
    dropped: Sequence[str] = (),
    given: Collection[Role] = (),
) -> WideShape | None:
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
    columns = {role: chosen.get(role) or _found(found, role) for role in ROLES if role not in given}
    by_role = {role: column for role, column in columns.items() if column is not None and column in found}
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
    return WideShape(kept=by_role, across=across, scored=scored, dropped=left_out)


def _mostly_other(table: ShapedTable, columns: Sequence[str]) -> bool:
    """Whether the first rows have something else than numbers in more columns than mistakes would explain."""
    rows = table.plain.head(HEAD)
    other = [any(row.get(name) not in (None, "") and as_number(row[name]) is None for row in rows) for name in columns]
    return sum(other) > _OTHER * len(columns)


def _found(columns: Sequence[str], role: Role) -> str | None:
    """The column named after the role itself; of other usual names only those of models, replicates and blocks."""
    plain = {name: name.strip().casefold() for name in columns}
    exact = [name for name in columns if plain[name] == role]
    usual = [name for name in columns if role != "score" and plain[name] in FIRST_ALIASES[role]]
    if exact:
        return exact[0]
    return usual[0] if len(usual) == 1 else None


def _equal_to_mean(cells: pl.DataFrame) -> tuple[int, NDArray[np.bool_]]:
    """The number of rows that could tell, and which columns are the mean of the others in all of them."""
    values = cells.select(pl.all().cast(pl.String).cast(pl.Float64, strict=False)).to_numpy()
    there = np.isfinite(values)
    # A row of equal numbers is the mean of itself whichever column is looked at.
    low, high = np.where(there, values, np.inf).min(axis=1), np.where(there, values, -np.inf).max(axis=1)
    telling = np.isfinite(high - low) & (high > low)
    values, there = values[telling], there[telling]
    known = np.where(there, values, 0.0)
    others, count = known.sum(axis=1, keepdims=True) - known, there.sum(axis=1, keepdims=True) - there
    expected = others / np.maximum(count, 1)
    equal = np.abs(values - expected) <= _ROUNDED * np.maximum(1.0, np.abs(expected))
    return int(telling.sum()), np.all(equal & there, axis=0)


def summary_error(table: str, column: str, across: str, *, why: str) -> OpenChoiceError:
    """The refusal of a column."""
    drop = Choice("drop_columns", (shown(column),))
    return OpenChoiceError.proposing(
        (Choice("drop_columns", (column,)),),
        f"{table}: column {quoted(column)} is {why}, not one {across}; drop it with ",
        drop,
        f"; if it is one {across} after all, write the table with a row for every score",
    )
