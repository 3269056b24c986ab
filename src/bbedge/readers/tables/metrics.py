"""Tables with a column that names the metric of each score: an item for each metric of an item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bbedge.errors import DataError
from bbedge.readers.assemble.coding import Table
from bbedge.readers.scales import MetricScales
from bbedge.readers.tables.columns import Role, scores_from_text
from bbedge.readers.tables.item_columns import METRIC, ORIGINAL, column_key, metric_item


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
                self._scores(batch, first),
            )
            first += batch.height

    def place(self, row: int) -> str:
        """Where row ``row`` (from 0) is, for a message."""
        return self.inner.place(row)

    def _scores(self, batch: pl.DataFrame, first_row: int) -> pl.Series:
        """The scores metric by metric, because each may have its own range and its own kind of value."""
        metrics = batch[column_key(METRIC)].fill_null("")
        scores = np.full(batch.height, np.nan)
        for metric in metrics.unique():
            rows = np.flatnonzero((metrics == metric).to_numpy())
            scores[rows] = self._of_metric(metric, batch["score"].gather(rows), rows + first_row)
        return pl.Series("score", scores).fill_nan(None)

    def _of_metric(self, metric: str, column: pl.Series, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        def fail(row: int, problem: str) -> NoReturn:
            raise DataError(f"{self.place(int(rows[row]))}: {problem}")

        values = scores_from_text(column, fail=fail) if self.inner.text_scores else column
        if self.scales is None:
            return values.cast(pl.Float64).to_numpy()
        return self.scales.mapped_column(metric, values, place=lambda row: self.place(int(rows[row])))


def without_metrics(table: Table) -> Table:
    """The table as it is in its file, without the items of metrics."""
    return table.inner if isinstance(table, MetricTable) else table
