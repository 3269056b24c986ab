"""Tables around other tables: names from paths, columns made of others, and rows of one metric or another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bbedge.errors import Argument, DomainError, FormatError
from bbedge.readers.choices import ChoiceNeededError
from bbedge.readers.logs.fields import number
from bbedge.readers.metrics import MetricScales
from bbedge.readers.tables import HEAD, Table, TableFile
from bbedge.readers.tables.columns import Role, failing, scores_from_text
from bbedge.readers.tables.frames import Frame
from bbedge.readers.tables.roles import METRIC, ORIGINAL, column_key, metric_item
from bbedge.text import listed, quoted, shown

BETWEEN = "+"
"""What joins columns in a choice, and their values in a name."""
_PART = "part "
_NO_METRIC = "(none)"


@dataclass(eq=False)
class WrappedTable:
    """What a table has in common with the one inside it."""

    inner: Table

    @property
    def name(self) -> str:
        """What to call the table in messages."""
        return self.inner.name

    @property
    def text_scores(self) -> bool:
        """Whether scores come as text."""
        return self.inner.text_scores

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.inner.columns()

    def place(self, row: int) -> str:
        """Where row ``row`` (from 0) is, for a message."""
        return self.inner.place(row)


def layers(table: Table) -> Iterator[Table]:
    """The table, and those inside it from the outermost on."""
    yield table
    while isinstance(table, WrappedTable):
        table = table.inner
        yield table


def file_of(table: Table) -> TableFile | None:
    """The file that a table is in; None of logs and frames."""
    *_, inner = layers(table)
    return inner if isinstance(inner, TableFile) else None


def path_of(table: Table) -> str:
    """The path of a table in a file; empty if it is in none."""
    file = file_of(table)
    return "" if file is None else file.path


def rows_of(table: Table) -> Sequence[Mapping[str, Any]]:
    """The first rows of a table in a file; none of others."""
    inner = file_of(table)
    return () if inner is None else inner.head(HEAD)


def as_number(value: object) -> float | None:
    """A number, or a truth value as one, also where it is text; None for anything else.

    A decimal comma counts as well: this is for looking at a table, not for reading its scores.

    >>> as_number("0.5"), as_number("True"), as_number("0,5"), as_number("half")
    (0.5, 1.0, 0.5, None)
    """
    if isinstance(value, str):
        text = value.strip().lower()
        if text in ("true", "false"):
            return float(text == "true")
        try:
            return float(text.replace(",", ".") if text.count(",") == 1 else text)
        except ValueError:
            return None
    found = number(value)
    return None if found is None else float(found)


@dataclass(eq=False)
class NamedTable(WrappedTable):
    """A table all of whose rows have the same name in some roles, which its path gives."""

    names: Mapping[Role, str]

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The rows, with the names that the path gives."""
        inner = {role: column for role, column in roles.items() if role not in self.names}
        for batch in self.inner.batches(inner):
            yield batch.with_columns(pl.lit(name).alias(role) for role, name in self.names.items() if role in roles)


@dataclass(eq=False)
class JoinedColumns(WrappedTable):
    """A table with further columns, whose values are made of one or several others."""

    made: Mapping[str, tuple[str, ...]]

    def columns(self) -> tuple[str, ...]:
        """The names of the columns, with the further ones."""
        return (*self.inner.columns(), *self.made)

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles; a name that is made of several has an escaped plus between them."""
        wanted: dict[str, str] = {}
        several: dict[Role, list[str]] = {}
        for role, column in roles.items():
            parts = self.made.get(column, (column,))
            if len(parts) == 1:
                wanted[role] = parts[0]
            else:
                several[role] = [f"{_PART}{position} of {role}" for position in range(len(parts))]
                wanted |= dict(zip(several[role], parts, strict=True))
        for batch in self.inner.batches(cast("Mapping[Role, str]", wanted)):
            joined = [
                pl.concat_str([_escaped(pl.col(key)) for key in keys], separator=BETWEEN).alias(role)
                for role, keys in several.items()
            ]
            yield batch.with_columns(joined).select(list(roles))


def _escaped(part: pl.Expr) -> pl.Expr:
    """A part of a name; two different rows of parts never have the same name."""
    return part.str.replace_all("\\", "\\\\", literal=True).str.replace_all(BETWEEN, f"\\{BETWEEN}", literal=True)


def with_chosen(table: Table, chosen: Mapping[Role, str]) -> Table:
    """The table with the columns that were chosen by paths such as ``evaluation.score``, or as ``question_id+turn``."""
    there = set(table.columns()) if chosen else set()
    made: dict[str, tuple[str, ...]] = {}
    for role, name in chosen.items():
        if name in there:
            continue
        parts = (name,) if has_nested(table, name) else tuple(name.split(BETWEEN))
        if all(part in there or has_nested(table, part) for part in parts):
            if len(parts) > 1 and role == "score":
                raise DomainError(
                    Argument("column", {role: name}),
                    f": {len(parts)} columns, {quoted(parts[0])} and others; a score is one column",
                )
            made[name] = parts
    _check_score_apart(table, chosen, made)
    return JoinedColumns(table, made) if made else table


def _check_score_apart(table: Table, chosen: Mapping[Role, str], made: Mapping[str, tuple[str, ...]]) -> None:
    """Raise if the column of the scores is also a part of a name: an item would be chosen by its score."""
    score = chosen.get("score")
    for role, name in chosen.items():
        if role != "score" and score in made.get(name, ()):
            raise DomainError(
                Argument("column", {role: name}),
                f": column {quoted(score or '')} of {table.name} holds the scores, so it cannot be a part of the "
                f"{role}; name other columns",
            )


def has_texts(table: Table, column: str) -> bool:
    """Whether the values of a column are texts."""
    *_, inner = layers(table)
    return isinstance(inner, TableFile | Frame) and column in inner.text_columns()


def has_nested(table: Table, path: str) -> bool:
    """Whether there is a nested value at the path."""
    *_, inner = layers(table)
    return "." in path and isinstance(inner, TableFile | Frame) and inner.has_field(path)


@dataclass(eq=False)
class MetricTable(WrappedTable):
    """A long or wide table whose rows say which metric they are about.

    ``scales`` maps the scores of each metric to [0, 1]; None keeps them.
    """

    scales: MetricScales | None
    text_scores = False

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The rows, each with the name of its item for its metric."""
        first = 0
        inner_roles = {role: column for role, column in roles.items() if role != ORIGINAL}
        for batch in self.inner.batches(inner_roles):
            # A row without a metric keeps its item, so that the message is about the metric.
            name = pl.format(metric_item("{}", "{}"), pl.col("item"), pl.col(column_key(METRIC)))
            yield batch.with_columns(
                pl.col("item").alias(ORIGINAL),
                pl.when(pl.col(column_key(METRIC)).is_null()).then(pl.col("item")).otherwise(name).alias("item"),
                _scores(self, batch, np.arange(first, first + batch.height)),
            )
            first += batch.height


@dataclass(eq=False)
class ChosenMetric(WrappedTable):
    """A long table whose rows say which metric they are about, of which the rows of the chosen metrics count."""

    metrics: Sequence[str]
    scales: MetricScales | None
    _rows: list[NDArray[np.int64]] = field(default_factory=list)
    text_scores = False

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The rows of the chosen metrics."""
        first, found = 0, dict[str, None]()
        self._rows = []
        for batch in self.inner.batches({**roles, column_key(METRIC): METRIC}):
            metrics = batch[column_key(METRIC)]
            found.update(dict.fromkeys(metrics.drop_nulls().unique().sort()))
            kept = metrics.is_in(self.metrics).fill_null(False)
            rows = np.flatnonzero(kept.to_numpy()) + first
            first += batch.height
            if len(rows):
                before, of_metric = sum(map(len, self._rows)), batch.filter(kept)
                self._rows.append(rows)
                scores = _scores(self, of_metric, np.arange(before, before + len(rows)))
                yield of_metric.with_columns(scores).select(list(roles))
        if not any(metric in found for metric in self.metrics):
            raise FormatError(
                f"{self.name}: no row of the metric {listed(self.metrics)}; the table has {listed(found, limit=12)}: "
                "correct ",
                Argument("metric"),
            )

    def place(self, row: int) -> str:
        """Where row ``row`` (from 0) of those that count is, for a message."""
        return self.inner.place(int(np.concatenate(self._rows)[row]))


class WatchedMetric(WrappedTable):
    """A long table with a column for the metric that was not asked for, which is read to see whether it matters."""

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The rows; one without a metric has the name of none."""
        key, first = column_key(METRIC), 0
        for batch in self.inner.batches({**roles, key: METRIC}):
            blank = pl.col(key).is_null() | (pl.col(key).str.strip_chars() == "")
            named = batch.with_columns(pl.when(blank).then(pl.lit(_NO_METRIC)).otherwise(pl.col(key)).alias(key))
            self._check(named, first)
            first += batch.height
            yield named

    def _check(self, batch: pl.DataFrame, first: int) -> None:
        """Raise before scores of several metrics are taken for scores on one scale."""
        key = column_key(METRIC)
        metrics = batch[key].unique(maintain_order=True).to_list()
        if len(metrics) > 1 and batch.select("item", key).unique().height > batch["item"].drop_nulls().n_unique():
            row = int((batch[key] != metrics[0]).arg_max() or 0)
            raise several_metrics(self.place(first + row), metrics)


def several_metrics(place: str, metrics: Sequence[str]) -> ChoiceNeededError:
    """The question which metric is the score."""
    return ChoiceNeededError.proposing(
        (Argument("metric", (metrics[0],)),),
        f"{place}: items have scores of {len(metrics)} metrics, {listed(metrics, limit=12)}; choose one with ",
        Argument("metric", (shown(metrics[0]),)),
        ", or compare the models on each of them with ",
        Argument("views", METRIC),
    )


def _scores(table: MetricTable | ChosenMetric, batch: pl.DataFrame, rows: NDArray[np.int64]) -> pl.Series:
    """The scores metric by metric, because each may have its own range and its own kind of value."""
    metrics = batch[column_key(METRIC)].fill_null("")
    scores = np.full(batch.height, np.nan)
    for metric in metrics.unique():
        of_metric = np.flatnonzero((metrics == metric).to_numpy())
        scores[of_metric] = _of_metric(table, metric, batch["score"].gather(of_metric), rows[of_metric])
    return pl.Series("score", scores).fill_nan(None)


def _of_metric(
    table: MetricTable | ChosenMetric, metric: str, column: pl.Series, rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    def place(row: int) -> str:
        return table.place(int(rows[row]))

    values = scores_from_text(column, fail=failing(place)) if table.inner.text_scores else column
    if table.scales is None:
        return values.cast(pl.Float64).to_numpy()
    return table.scales.mapped_column(metric, values, place=place)


def without_metrics(table: Table) -> Table:
    """The table as it is in its file, without the items of metrics."""
    return table.inner if isinstance(table, MetricTable | ChosenMetric | WatchedMetric) else table
