"""Tables with a column that names the metric of each score: an item for each metric of an item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bbedge.errors import Argument, DataError, FormatError
from bbedge.readers.assemble.coding import Table
from bbedge.readers.choices import Choice, ChoiceNeededError
from bbedge.readers.scales import MetricScales
from bbedge.readers.tables.columns import Role, scores_from_text
from bbedge.readers.tables.item_columns import METRIC, ORIGINAL, column_key, metric_item
from bbedge.readers.tables.wrapped import WrappedTable
from bbedge.text import listed, shown

_NO_METRIC = "(none)"


class MetricTable:
    """A long or wide table whose rows say which metric they are about.

    ``scales`` maps the scores of each metric to [0, 1]; None keeps them.
    """

    text_scores = False

    def __init__(self, inner: Table, scales: MetricScales | None) -> None:
        self.inner, self.scales = inner, scales

    @property
    def name(self) -> str:
        """What to call the table in messages."""
        return self.inner.name

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.inner.columns()

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

    def place(self, row: int) -> str:
        """Where row ``row`` (from 0) is, for a message."""
        return self.inner.place(row)


class ChosenMetric:
    """A long table whose rows say which metric they are about, of which the rows of the chosen metrics count."""

    text_scores = False

    def __init__(self, inner: Table, metrics: Sequence[str], scales: MetricScales | None) -> None:
        self.inner, self.metrics, self.scales = inner, tuple(metrics), scales
        self._rows: list[NDArray[np.int64]] = []

    @property
    def name(self) -> str:
        """What to call the table in messages."""
        return self.inner.name

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.inner.columns()

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
                self._rows.append(rows)
                of_metric = batch.filter(kept)
                yield of_metric.with_columns(_scores(self, of_metric, np.arange(len(rows)) + self._before())).select(
                    list(roles)
                )
        missing = [metric for metric in self.metrics if metric not in found]
        if len(missing) == len(self.metrics):
            raise FormatError(
                f"{self.name}: no row of the metric {listed(self.metrics)}; the table has {listed(found, limit=12)}: "
                "correct ",
                Choice("metrics"),
            )

    def place(self, row: int) -> str:
        """Where row ``row`` (from 0) of those that count is, for a message."""
        for rows in self._rows:
            if row < len(rows):
                return self.inner.place(int(rows[row]))
            row -= len(rows)
        raise IndexError(row)

    def _before(self) -> int:
        return sum(map(len, self._rows[:-1]))


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
        (Choice("metrics", (metrics[0],)),),
        f"{place}: items have scores of {len(metrics)} metrics, {listed(metrics, limit=12)}; choose one with ",
        Choice("metrics", (shown(metrics[0]),)),
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
    def fail(row: int, problem: str) -> NoReturn:
        raise DataError(f"{table.place(int(rows[row]))}: {problem}")

    values = scores_from_text(column, fail=fail) if table.inner.text_scores else column
    if table.scales is None:
        return values.cast(pl.Float64).to_numpy()
    return table.scales.mapped_column(metric, values, place=lambda row: table.place(int(rows[row])))


def without_metrics(table: Table) -> Table:
    """The table as it is in its file, without the items of metrics."""
    return table.inner if isinstance(table, MetricTable | ChosenMetric | WatchedMetric) else table
