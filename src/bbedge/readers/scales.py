"""The ranges of metrics: scores of each metric mapped to [0, 1], so that 1 is best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bbedge.errors import Blank, DataError, DomainError, Part
from bbedge.readers.choices import Choice, Range
from bbedge.readers.tables.columns import mapped_to_unit
from bbedge.records.notes import Note
from bbedge.text import listed, quoted, shown

_UNIT = (0.0, 1.0)


@dataclass(slots=True, kw_only=True)
class MetricScales:
    """Where the scores of each metric lie. A range goes from the worst to the best value, which may be the smaller one.

    >>> scales = MetricScales(ranges={"wer": (1.0, 0.0)}, usual=(0.0, 1.0))
    >>> scales.mapped("wer", 0.25, place=str), scales.mapped("acc", True, place=str), scales.score_range
    (0.75, 1.0, (0.0, 1.0))
    """

    ranges: Mapping[str, Range]
    """The ranges that were declared."""
    usual: Range
    """The range of all other metrics."""
    _used: dict[str, Range] = field(default_factory=dict)

    def is_mirrored(self, metric: str) -> bool:
        """Whether the declared range says that less is better."""
        worst, best = self.ranges.get(metric, self.usual)
        return best < worst

    def mapped(self, metric: str, value: float | bool, *, place: Callable[[], str]) -> float:
        """One score on the scale from 0 to 1; ``place`` says where it is if it does not fit the range."""
        worst, best = self._range(metric)
        if not _fits(value, worst, best):
            raise DataError(f"{place()}: ", *_problem(metric, value, worst, best))
        # Adding zero turns -0.0 into 0.0, so that equal scores are equal bytes.
        return (float(value) - worst) / (best - worst) + 0.0

    def mapped_column(self, metric: str, column: pl.Series, *, place: Callable[[int], str]) -> NDArray[np.float64]:
        """A column of numbers or truth values on the scale from 0 to 1, NaN where there is none."""
        worst, best = self._range(metric)

        def refuse(row: int) -> NoReturn:
            raise DataError(f"{place(row)}: ", *_problem(metric, column[row], worst, best))

        return mapped_to_unit(column, worst, best, refuse=refuse)

    @property
    def score_range(self) -> Range:
        """The scale on which scores are reported: that of all metrics if they share one, else 0 to 1."""
        found = set(self._used.values())
        (worst, best) = next(iter(found)) if len(found) == 1 else _UNIT
        return (worst, best) if worst < best else _UNIT

    def check_used(self) -> None:
        """Raise if a range was declared for a metric that does not exist: it is a mistake."""
        for metric, (worst, best) in self.ranges.items():
            if metric not in self._used:
                raise DomainError(
                    Choice("metric_ranges", {shown(metric): (worst, best)}),
                    f": no score is of the metric {quoted(metric)}; the metrics are {listed(self._used)}",
                )

    def notes(self) -> Iterator[Note]:
        """Which metrics are mirrored."""
        for metric, (worst, best) in self._used.items():
            if best < worst:
                yield Note(
                    kind="log",
                    subject=(metric,),
                    text=f"Less is better for the metric {quoted(metric)}, as its range declares: {best:g} counts as "
                    f"1, {worst:g} as 0.",
                )

    def _range(self, metric: str) -> Range:
        found = self._used.get(metric)
        if found is None:
            found = self._used[metric] = self.ranges.get(metric, self.usual)
        return found


def _fits(value: float | bool, worst: float, best: float) -> bool:
    low, high = min(worst, best), max(worst, best)
    return low <= value <= high and not (isinstance(value, bool) and (low, high) != _UNIT)


def _problem(metric: str, value: float | bool, worst: float, best: float) -> tuple[Part, ...]:
    if isinstance(value, bool):
        return (
            f"metric {quoted(metric)} is right or wrong, which fits no other scale than 0 to 1; correct ",
            Choice("metric_ranges", {shown(metric): (0, 1)}),
        )
    if not math.isfinite(value):
        return (f"metric {quoted(metric)} is {value}; leave the score empty where the sample failed",)
    return (
        f"metric {quoted(metric)} is {value!r}, outside the range {worst:g} to {best:g}; declare the worst and the "
        "best possible value with ",
        Choice("metric_ranges", {shown(metric): (Blank("WORST"), Blank("BEST"))}),
    )
