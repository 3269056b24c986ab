"""Tables made long: columns made of others, cells of wide tables, names from paths, rows of one metric or another.

A wide table has a row per model and a column per item, or a row per item and a column per model. Columns that sum up
the others are refused: read as one more item, a mean would count every score twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bbedge.errors import Argument, DomainError, FormatError
from bbedge.readers.choices import NameSource
from bbedge.readers.evidence import are_benchmarks
from bbedge.readers.metrics import MetricScales, several_metrics
from bbedge.readers.tables import HEAD, PlainTable
from bbedge.readers.tables.columns import (
    ALIASES,
    FIRST_ALIASES,
    ROLES,
    Role,
    as_number,
    failing,
    may_be_score,
    scores_from_text,
)
from bbedge.readers.tables.delimited import CELL
from bbedge.readers.tables.roles import METRIC, ORIGINAL, column_key, metric_item, repeated_names, summary_error
from bbedge.text import listed, quoted

_IN_PATH = {"file": NameSource(kind="file"), "folder": NameSource(kind="folder")}
BETWEEN = "+"
"""What joins columns in a choice, and their values in a name."""
_NO_METRIC = "(none)"
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
            raise summary_error(
                table, mean, self.across, why="in every row the mean of the others", means=self.across == "item"
            )

    def row_and_column(self, cell: int) -> tuple[int, str]:
        """The row of the table, and the column, of a cell that was read (from 0)."""
        cells, first, height = next(each for each in reversed(self._slices) if each[0] <= cell)
        column, below = divmod(cell - cells, height)
        return first + below, self.scored[column]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShapedTable:
    """A table as one with a row for every score."""

    plain: PlainTable
    """The table as it is."""
    joined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Further columns, whose values are made of one or several others."""
    wide: WideShape | None = None
    """What its columns are if it is a wide one."""
    in_path: Mapping[str, str] = field(default_factory=dict)
    """Names in the path that may be a part of such a column."""
    given: Mapping[Role, str] = field(default_factory=dict)
    """Names that all rows have, because the path gives them."""
    metrics: Literal["every", "watched"] | Sequence[str] | None = None
    """What its column of metrics is for: it makes an item of every metric of an item, is watched, or says which rows
    count, those of the metrics named here."""
    scales: MetricScales | None = None
    """The scales that map the scores of metrics to [0, 1]; None keeps them."""
    usual_range: None = None
    _rows: list[NDArray[np.int64]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What to call the table in messages."""
        return self.plain.name

    @property
    def path(self) -> str:
        """The path of the file that it is in; empty if it is in none."""
        return self.plain.path

    @property
    def by_metric(self) -> bool:
        """Whether scores are read metric by metric."""
        return self.metrics not in (None, "watched")

    @property
    def text_scores(self) -> bool:
        """Whether scores come as text."""
        # Cells of wide tables are read as text, whatever the table holds: each column may have its own type.
        return self.wide is not None or self.plain.text_scores

    def columns(self) -> tuple[str, ...]:
        """The names of the columns; of a wide table the roles that it fills."""
        return (*self.plain.columns(), *self.joined) if self.wide is None else tuple(self.wide.roles())

    def has_field(self, path: str) -> bool:
        """Whether there is a nested value at a path such as ``evaluation.score``."""
        return "." in path and self.plain.has_field(path)

    def location_of_row(self, row: int) -> str:
        """Where row ``row`` (from 0) of those that count is, for a message; in a wide table a cell."""
        if self._rows:
            row = int(np.concatenate(self._rows)[row])
        if self.wide is None:
            return self.plain.location_of_row(row)
        row, column = self.wide.row_and_column(row)
        return f"{self.plain.location_of_row(row)}, column {quoted(column)}"

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """Frames with one column per role, together all rows in order."""
        if self.metrics is None:
            return self._named(roles)
        inner = {role: column for role, column in roles.items() if role != ORIGINAL}
        batches = self._named({**inner, column_key(METRIC): METRIC})
        if self.metrics == "every":
            return self._with_every_metric(batches)
        return self._watched(batches) if self.metrics == "watched" else self._of_chosen(batches, roles)

    def _named(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The rows, with the names that the path gives."""
        read = self._joined if self.joined else self.plain.batches
        inner = {role: column for role, column in roles.items() if role not in self.given}
        names = [pl.lit(name).alias(role) for role, name in self.given.items() if role in roles]
        for batch in read(inner) if self.wide is None else self.wide.cells(read, self.name):
            yield batch.with_columns(names)

    def _joined(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles; a name that is made of several has an escaped plus between them."""
        wanted: dict[str, str] = {}
        made: list[pl.Expr] = []
        for role, column in roles.items():
            parts = self.joined.get(column, (column,))
            keys = [role] if len(parts) == 1 else [f"part {position} of {role}" for position in range(len(parts))]
            wanted |= zip(keys, parts, strict=True)
            made.append(pl.col(role) if len(parts) == 1 else pl.concat_str(map(_escaped, keys), separator=BETWEEN))
        of_path = {key: pl.lit(self.in_path[part]) for key, part in wanted.items() if part in self.in_path}
        of_rows = {key: part for key, part in wanted.items() if key not in of_path}
        for batch in self.plain.batches(cast("Mapping[Role, str]", of_rows)):
            whole = batch.with_columns(**of_path)
            yield whole.select(expression.alias(role) for role, expression in zip(roles, made, strict=True))

    def _with_every_metric(self, batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """The rows, each with the name of its item for its metric."""
        first, metric = 0, pl.col(column_key(METRIC))
        for batch in batches:
            # A row without a metric keeps its item, so that the message is about the metric.
            name = pl.format(metric_item("{}", "{}"), pl.col("item"), metric)
            yield batch.with_columns(
                pl.col("item").alias(ORIGINAL),
                pl.when(metric.is_null()).then(pl.col("item")).otherwise(name).alias("item"),
                self._scores(batch, np.arange(first, first + batch.height)),
            )
            first += batch.height

    def _of_chosen(self, batches: Iterator[pl.DataFrame], roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The rows of the chosen metrics."""
        first = before = 0
        chosen, found = cast("Sequence[str]", self.metrics), dict[str, None]()
        self._rows.clear()
        for batch in batches:
            metrics = batch[column_key(METRIC)]
            found.update(dict.fromkeys(metrics.drop_nulls().unique().sort()))
            kept = metrics.is_in(chosen).fill_null(False)
            rows = np.flatnonzero(kept.to_numpy())
            if len(rows):
                self._rows.append(rows + first)
                of_metric = batch.filter(kept)
                scores = self._scores(of_metric, np.arange(before, before + len(rows)))
                yield of_metric.with_columns(scores).select(list(roles))
            first += batch.height
            before += len(rows)
        if not any(metric in found for metric in chosen):
            raise FormatError(
                f"{self.name}: no row of the metric {listed(chosen)}; the table has {listed(found, limit=12)}: "
                "correct ",
                Argument("metric"),
            )

    def _watched(self, batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """The rows; one without a metric has the name of none. Scores of several metrics are not on one scale."""
        key, first = column_key(METRIC), 0
        for batch in batches:
            blank = pl.col(key).is_null() | (pl.col(key).str.strip_chars() == "")
            named = batch.with_columns(pl.when(blank).then(pl.lit(_NO_METRIC)).otherwise(pl.col(key)).alias(key))
            metrics = named[key].unique(maintain_order=True).to_list()
            if len(metrics) > 1 and named.select("item", key).unique().height > named["item"].drop_nulls().n_unique():
                row = int((named[key] != metrics[0]).arg_max() or 0)
                raise several_metrics(self.location_of_row(first + row), metrics)
            first += batch.height
            yield named

    def _scores(self, batch: pl.DataFrame, rows: NDArray[np.int64]) -> pl.Series:
        """The scores metric by metric, because each may have its own range and its own kind of value."""
        metrics = batch[column_key(METRIC)].fill_null("")
        scores = np.full(batch.height, np.nan)
        for metric in metrics.unique(maintain_order=True):
            of_metric = np.flatnonzero((metrics == metric).to_numpy())
            place = partial(self._location_in, rows[of_metric])
            values = batch["score"].gather(of_metric)
            if values.dtype == pl.String:
                values = scores_from_text(values, fail=failing(place))
            scores[of_metric] = (
                values.cast(pl.Float64).to_numpy()
                if self.scales is None
                else self.scales.mapped_column(metric, values, place=place)
            )
        return pl.Series("score", scores).fill_nan(None)

    def _location_in(self, rows: NDArray[np.int64], position: int) -> str:
        return self.location_of_row(int(rows[position]))


def _escaped(part: str) -> pl.Expr:
    """A part of a name; two different rows of parts never have the same name."""
    backslashes = pl.col(part).str.replace_all("\\", "\\\\", literal=True)
    return backslashes.str.replace_all(BETWEEN, f"\\{BETWEEN}", literal=True)


def with_chosen(table: PlainTable, chosen: Mapping[Role, str]) -> ShapedTable:
    """The table with the columns that were chosen by paths such as ``evaluation.score``, or as ``question_id+turn``."""
    shaped, joined = ShapedTable(plain=table), dict[str, tuple[str, ...]]()
    there = set(table.columns()) if chosen else set()
    names = {part: source.in_path(table.path, "model") for part, source in _IN_PATH.items() if part not in there}
    in_path = {part: name for part, name in names.items() if name}
    for role, name in chosen.items():
        parts = (name,) if shaped.has_field(name) else tuple(name.split(BETWEEN))
        known = {*there, *in_path} if len(parts) > 1 else there
        if name not in there and all(part in known or shaped.has_field(part) for part in parts):
            if len(parts) > 1 and role == "score":
                raise DomainError(
                    Argument("column", {role: name}),
                    f": {len(parts)} columns, {quoted(parts[0])} and others; a score is one column",
                )
            joined[name] = parts
    score = chosen.get("score")
    for role, name in chosen.items():
        # An item would be chosen by its score.
        if role != "score" and score in joined.get(name, ()):
            raise DomainError(
                Argument("column", {role: name}),
                f": column {quoted(score or '')} of {table.name} holds the scores, so it cannot be a part of the "
                f"{role}; name other columns",
            )
    return ShapedTable(plain=table, joined=joined, in_path=in_path)


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
    few = len(scored) + len(left_out) < _LEAST_SCORED or are_benchmarks(scored)
    if not asked and (few or any(name.strip().casefold() in usual for name in scored) or _mostly_other(table, scored)):
        return None
    if not scored:
        raise FormatError(f"{table.name}: no columns of scores; a wide table has one for every {across}")
    summary = next((name for name in scored if name.strip().casefold() in SUMMARIES), None)
    if summary is not None:
        others = {as_number(row.get(name)) for row in table.plain.head(HEAD) for name in scored if name != summary}
        why = "by its name a summary of the others"
        raise summary_error(table.name, summary, across, why=why, means=across == "item" and not others <= {0, 1})
    return WideShape(kept=by_role, across=across, scored=scored, dropped=left_out)


def _mostly_other(table: ShapedTable, columns: Sequence[str]) -> bool:
    """Whether the first rows have something else than numbers in more columns than mistakes would explain."""
    rows = table.plain.head(HEAD)
    return sum([not all(may_be_score(row.get(name)) for row in rows) for name in columns]) > _OTHER * len(columns)


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
