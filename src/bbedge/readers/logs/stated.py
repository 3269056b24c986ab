"""What a log states about itself, compared with what it holds.

A file of samples that was cut between two lines is valid, and its mean is a mean. Only what the tool wrote about the
whole run, in its summary, shows that something is missing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bbedge.errors import Argument, DataError, FormatError, Part
from bbedge.readers.logs.contract import Log, LogRun, LogSample, StatedAggregate
from bbedge.readers.logs.fields import number
from bbedge.records.notes import Note
from bbedge.text import counted, quoted, shown_path

# Tools round the means that they state, to four decimals or to tenths of a percent.
_ROUNDING = 1e-3


@dataclass(slots=True)
class SampleTally:
    """The samples of a log, counted in one pass."""

    samples: int = 0
    """All samples."""
    failed: int = 0
    """Those that ended with an error."""
    scored: int = 0
    """Those with a number for the metric."""
    total: float = 0.0
    """The sum of these numbers."""
    items: set[str] = field(default_factory=set)
    """The items."""

    def add(self, sample: LogSample, metric: str) -> None:
        """Count one sample."""
        self.samples += 1
        self.failed += sample.error is not None
        self.items.add(sample.item)
        value = sample.scores.get(metric)
        if sample.error is None and value is not None:
            self.scored += 1
            self.total += value

    @property
    def mean(self) -> float | None:
        """The mean of the numbers; None without any."""
        return self.total / self.scored if self.scored else None

    @property
    def mean_with_failures(self) -> float | None:
        """The mean over all samples, as tools state it that count one without a score as 0; None without any."""
        return self.total / self.samples if self.samples else None


def tallied(samples: Iterable[LogSample], *metrics: str) -> dict[str, SampleTally]:
    """The samples counted for each of these metrics; without a metric, no sample is read."""
    tallies = {metric: SampleTally() for metric in metrics}
    for sample in samples if tallies else ():
        for metric, tally in tallies.items():
            tally.add(sample, metric)
    return tallies


def stated_count(value: object) -> int | None:
    """A count that a log states; None for anything that is none.

    >>> stated_count(3), stated_count(3.0), stated_count(True), stated_count("3"), stated_count(-1)
    (3, 3, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value >= 0 and value == value // 1 else None


def stated_means(
    means: Iterable[tuple[str, object]], *, where: str, run: LogRun, under: str | None = None
) -> Iterator[StatedAggregate]:
    """The means of metrics that a file states about a run, under a filter, as far as they are numbers."""
    for metric, value in means:
        mean = number(value)
        if mean is not None:
            yield StatedAggregate(where=where, run=run, metric=metric, mean=float(mean), filter=under)


def check_count(found: int, stated: object, *, place: str, what: str) -> None:
    """Raise if a log states another number of samples than it holds."""
    count = stated_count(stated)
    if count is not None and count != found:
        raise FormatError(
            f"{place}: {found:,} {what}, but the log states {count:,}; the run was cut off, or parts of it are "
            "missing or were added: let the run end, restore the files, or leave the log out"
        )


def compared_mean(mean: float | None, stated: object, *, place: str, what: str) -> tuple[str, ...]:
    """A note if the mean of the samples is not the one that the log states."""
    value = number(stated)
    if mean is None or value is None or abs(mean - value) <= _ROUNDING:
        return ()
    return (f"{place}: the mean {what} of the samples is {mean:.4g}, but the log states {float(value):.4g}.",)


def counted_as_failures(tally: SampleTally, *, place: str, tool: str) -> tuple[str, ...]:
    """A note about samples without a score that the tool itself counts as failures."""
    missing = tally.samples - tally.scored
    if not missing or tally.mean is None:
        return ()
    return (
        f"{place}: {missing:,} of {tally.samples:,} samples have no score. {tool} counts them as failures, with a mean "
        f"of {tally.total / tally.samples:.4g}; here they are missing scores, and the mean of the others is "
        f"{tally.mean:.4g}.",
    )


def without_empty(value: object) -> object:
    """JSON without keys that hold nothing: versions of a tool differ in the empty keys that they write.

    >>> without_empty({"a": None, "b": {"c": []}, "d": [{"e": None}, 0]})
    {'d': [{}, 0]}
    """
    if isinstance(value, Mapping):
        kept = {key: without_empty(part) for key, part in value.items()}
        return {key: part for key, part in kept.items() if part is not None and part != {} and part != []}
    return [without_empty(part) for part in value] if isinstance(value, list) else value


# Sums of floats in another order differ in the last digits.
_CLOSE = 1e-6
# A mean with so many decimals may have been rounded; one with fewer is an exact fraction.
_ROUNDED = range(3, 7)

_OR_SUBSET: tuple[Part, ...] = (
    "; or, if the publisher kept only these, declare it with ",
    Argument("subset", value=True),
)
_Key = tuple[LogRun | None, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedNote(Note):
    """A mean that is not the one that the log states."""

    without_means: str
    """The sentence for those who still choose what to read, and must not see scores."""


@dataclass(slots=True)
class RunTally:
    """Counts and sums of the samples of one log, by run and filter."""

    _samples: dict[_Key, int] = field(default_factory=dict)
    _sums: dict[tuple[_Key, str], tuple[float, int]] = field(default_factory=dict)
    _repeats: set[str | None] = field(default_factory=set)

    def add(self, sample: LogSample) -> None:
        """Count one sample, for its own run and filter, and for those of the whole log."""
        self._repeats.add(sample.repeat)
        for key in ((sample.run, sample.filter), (None, sample.filter)):
            self._samples[key] = self._samples.get(key, 0) + 1
            for metric, value in sample.scores.items():
                if value is not None:
                    total, numbers = self._sums.get((key, metric), (0.0, 0))
                    self._sums[key, metric] = total + float(value), numbers + 1

    def check(
        self, log: Log, path: str, *, metrics: Collection[str], chosen: str | None, subset: bool
    ) -> Iterator[Note]:
        """Raise if samples are missing that the log counts; note a mean that is not the stated one.

        Means matter of the metrics that are read, under the filter ``chosen``. Where the user declares that a
        ``subset`` was published, its size is noted, and the means are of other samples.
        """
        kept = False
        # Without any sample there is nothing to compare; that has a message of its own.
        for stated in log.stated() if self._samples else ():
            every = [key for key in self._samples if key[0] is stated.run and stated.filter is None]
            for key in every or [(stated.run, stated.filter)]:
                found, all_of_them = self._samples.get(key, 0), stated.count or 0
                if subset and stated.published and found < all_of_them:
                    if key[1] == chosen:
                        kept = True
                        said = f"{found:,} of {all_of_them:,} documents were kept by the publisher"
                        yield Note(kind="subset", subject=(path,), text=f"{shown_path(path)}: {said}.")
                    continue
                self._check_count(stated, key, path)
                if stated.metric in metrics and key[1] == chosen and not kept:
                    yield from self._compared(stated, key, path)

    def _check_count(self, stated: StatedAggregate, key: _Key, path: str) -> None:
        found = self._samples.get(key, 0)
        expected = found if stated.count is None else stated.count
        if stated.least is not None and found < stated.least:
            expected = stated.least
        if found == expected:
            return
        said = "itself" if stated.where == path else shown_path(stated.where)
        under = f" under the filter {quoted(key[1])}" if key[1] is not None else ""
        raise DataError(
            f"{shown_path(path)}: {counted(found, 'sample')}{under}, but {said} states {expected:,}: the log is "
            "not complete, or not the one that the numbers were made from; restore the whole log, or repeat the run",
            *(_OR_SUBSET if stated.published and found < expected else ()),
        )

    def _compared(self, stated: StatedAggregate, key: _Key, path: str) -> Iterator[Note]:
        total, numbers = self._sums.get((key, stated.metric or ""), (0.0, 0))
        # With repetitions of which some have no number, a mean of means is not the mean of all.
        if not numbers or stated.mean is None or (len(self._repeats) > 1 and numbers < self._samples.get(key, 0)):
            return
        mean = total / numbers
        if abs(mean - stated.mean) <= tolerance(stated.mean):
            return
        under = f" under {quoted(key[1])}" if key[1] is not None else ""
        of_metric = f"the mean of {quoted(stated.metric or '')}{under}"
        what = f"{shown_path(path)}: {of_metric} over its {counted(numbers, 'score')}"
        where = "it" if stated.where == path else shown_path(stated.where)
        remedy = "Check that the file is complete, and that both numbers are of the same run."
        yield StatedNote(
            kind="log",
            subject=(path,),
            text=f"{what} is {mean:.6g}, but {where} states {stated.mean:.6g}. {remedy}",
            without_means=f"{what} is not the one that {where} states. {remedy}",
        )


def tolerance(stated: float) -> float:
    """How far a mean may be from the stated one: half of its last decimal, if it looks rounded.

    >>> tolerance(0.7303), tolerance(0.5)
    (5e-05, 1e-06)
    """
    if not math.isfinite(stated):
        return math.inf
    decimals = len(f"{stated:.12f}".rstrip("0").partition(".")[2])
    # One unit in the last place more, for a tie that was rounded the other way.
    return max(_CLOSE, 0.5 * 10.0**-decimals) if decimals in _ROUNDED else _CLOSE
