"""Metrics: each with a range of its own and a direction, and what answers took where that is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bbedge.errors import Argument, Blank, DataError, DomainError, FormatError, Part
from bbedge.readers.choices import Candidate, ChoiceNeededError, Range
from bbedge.readers.evidence import check_name
from bbedge.readers.logs.contract import Log, LogRun, LogSample
from bbedge.readers.logs.fields import number
from bbedge.readers.tables.columns import mapped_to_unit
from bbedge.readers.tables.roles import METRIC
from bbedge.records.notes import Note
from bbedge.records.reading import Reading
from bbedge.text import listed, quoted, shown

_UNIT = (0.0, 1.0)
_MOST_METRICS = 20


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
    asks: bool = True
    """Whether names such as error leave open whether less is better; False where somebody said that it is not."""
    _used: dict[str, Range] = field(default_factory=dict)

    def is_mirrored(self, metric: str) -> bool:
        """Whether the declared range says that less is better."""
        worst, best = self.ranges.get(metric, self.usual)
        return best < worst

    def mapped(self, metric: str, value: float | bool, *, place: Callable[[], str]) -> float:
        """One score on the scale from 0 to 1; ``place`` says where it is if it does not fit the range."""
        worst, best = self._range(metric)
        low, high = min(worst, best), max(worst, best)
        if not low <= value <= high or (isinstance(value, bool) and (low, high) != _UNIT):
            raise DataError(f"{place()}: ", *_problem(metric, value, worst, best))
        # Adding zero turns -0.0 into 0.0, so that equal scores are equal bytes.
        return (float(value) - worst) / (best - worst) + 0.0

    def mapped_column(self, metric: str, column: pl.Series, *, place: Callable[[int], str]) -> NDArray[np.float64]:
        """A column of numbers or truth values on the scale from 0 to 1, NaN where there is none."""
        if self.asks and metric not in self.ranges:
            check_name(metric, place(0), of="metric", ranged=True)
        worst, best = self._range(metric)
        return mapped_to_unit(
            column, worst, best, place=place, problem=lambda value: _problem(metric, value, worst, best)
        )

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
                    Argument("metric_range", {shown(metric): (worst, best)}),
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
        return self._used.setdefault(metric, self.ranges.get(metric, self.usual))


def _problem(metric: str, value: float | bool, worst: float, best: float) -> tuple[Part, ...]:
    if isinstance(value, bool):
        return (
            f"metric {quoted(metric)} is right or wrong, which fits no other scale than 0 to 1; correct ",
            Argument("metric_range", {shown(metric): (0, 1)}),
        )
    if not math.isfinite(value):
        return (f"metric {quoted(metric)} is {value}; leave the score empty where the sample failed",)
    return (
        f"metric {quoted(metric)} is {value!r}, outside the range {worst:g} to {best:g}; declare the worst and the "
        "best possible value with ",
        Argument("metric_range", {shown(metric): (Blank("WORST"), Blank("BEST"))}),
    )


class EveryMetric:
    """The metrics of a log by task, found before its samples are read for their scores.

    A sample that failed has no metrics, but its scores are missing, so it must be known which ones they are.
    """

    def __init__(self, log: Log, reading: Reading, *, name: str) -> None:
        self._name, self._reading = name, reading
        found: dict[str, dict[str, None]] = {}
        for sample in log.samples():
            found.setdefault(sample.run.task, {}).update(dict.fromkeys(filter(self._is_read, sample.scores)))
        self._of_task = {task: tuple(metrics) for task, metrics in found.items()}
        self._checked: set[str] = set()

    def _is_read(self, name: str) -> bool:
        return not any(fnmatchcase(name, pattern) for pattern in self._reading.without_metric)

    def names(self) -> tuple[str, ...]:
        """All metrics of all tasks."""
        return tuple(dict.fromkeys(name for names in self._of_task.values() for name in names))

    def of(self, sample: LogSample, check: Callable[[LogSample], object]) -> tuple[str, ...]:
        """The metrics that a sample is scored by; ``check`` refuses a sample without the metric of the headline."""
        every = self._of_task[sample.run.task]
        if not every:
            left_out = f" besides {listed(self._reading.without_metric)}" if self._reading.without_metric else ""
            raise FormatError(
                f"{self._name}: no sample of this log has a metric{left_out}, so that its scores cannot be matched "
                "with those of other logs; repeat the run, or leave the log out"
            )
        if sample.error is not None or not sample.scores:
            return every
        if self._reading.metric and sample.run.task not in self._checked:
            check(sample)
            self._checked.add(sample.run.task)
        return tuple(name for name in every if name in sample.scores)


def mirrored_note(low: float, high: float) -> Note:
    """What to say where less is better for all scores."""
    return Note(
        kind="log",
        text=f"Less is better, as declared: every score is mirrored in its range, so that {low:g} counts as {high:g} "
        f"and {high:g} as {low:g}.",
    )


def check_direction(metric: str, run: LogRun, scales: MetricScales | None, *, name: str, reading: Reading) -> None:
    """Refuse a metric of which less is or may be better, unless its declared range, or the option, says so too."""
    ranged = scales is not None and metric in scales.ranges
    if metric not in run.lower_is_better:
        if not ranged and reading.less_is_better is None and metric not in run.higher_is_better:
            check_name(metric, name, of="metric", ranged=scales is not None)
        return
    if reading.less_is_better or (scales is not None and scales.is_mirrored(metric)):
        return
    said = f"{name}: the log says that less is better for the metric {quoted(metric)}"
    if scales is not None and metric in scales.ranges:
        worst, best = scales.ranges[metric]
        raise FormatError(
            f"{said}, but its range from {worst:g} (worst) to {best:g} (best) says that more is; correct ",
            Argument("metric_range", {shown(metric): (best, worst)}),
        )
    raise FormatError(
        f"{said}; declare its worst and its best possible value with ",
        Argument("metric_range", {shown(metric): (Blank("WORST"), Blank("BEST"))}),
        ", so that its scores are mirrored, or with ",
        Argument("less_is_better", True),
        " if its range is that of all scores; or choose another metric",
    )


def amounts(found: Mapping[str, object]) -> dict[str, float]:
    """Those of the values that are amounts: finite numbers above 0.

    No answer takes nothing: tools write 0 where a provider does not say, which must not count as the best value.

    >>> amounts({"tokens": 12, "seconds": None, "cost": 0, "calls": 10**400})
    {'tokens': 12.0}
    """
    values = {name: number(value) for name, value in found.items() if not isinstance(value, bool)}
    return {name: value for name, value in values.items() if value is not None and 0 < value < math.inf}


def with_usage(log: Log, reading: Reading, *, name: str) -> Log:
    """The log, with what its answers took among the metrics, as far as the choices name it.

    A metric of the log with the same name comes first. A sample without scores has no usage either: its scores are
    missing, whatever it took.
    """
    ranges = reading.metric_ranges
    asked = tuple(dict.fromkeys((*reading.metric, *ranges)))

    def merged(sample: LogSample) -> LogSample:
        found = {each: sample.usage[each] for each in asked if each in sample.usage and each not in sample.scores}
        if not found or not sample.scores:
            return sample
        for each in found:
            worst, best = ranges.get(each, _UNIT)
            if worst <= best:
                raise FormatError(
                    f"{name}: {quoted(each)} is what an answer took, of which less is better; declare the most that is "
                    "possible, and 0 as the best value, with ",
                    Argument("metric_range", {shown(each): (Blank("MOST"), 0)}),
                )
        return replace(sample, scores={**sample.scores, **found})

    return replace(log, samples=lambda: map(merged, log.samples())) if asked else log


def several_metrics(place: str, metrics: Sequence[str]) -> ChoiceNeededError:
    """The question which metric is the score."""
    return ChoiceNeededError.asking(
        "Which metric is the score?",
        (Candidate(argument=Argument("metric", (metric,))) for metric in metrics[:_MOST_METRICS]),
        f"{place}: items have scores of {len(metrics)} metrics, {listed(metrics, limit=12)}; choose one with ",
        Argument("metric", (shown(metrics[0]),)),
        ", or compare the models on each of them with ",
        Argument("views", METRIC),
    )
