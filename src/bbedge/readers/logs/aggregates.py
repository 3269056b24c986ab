"""Samples against what their log states about them.

A file of samples that was cut between two lines is valid, and its mean is a mean. Only what the tool wrote about the
whole run, in its summary, shows that something is missing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from bbedge.core.notes import Note
from bbedge.errors import DataError
from bbedge.readers.logs.contract import Log, Sample, Stated
from bbedge.text import counted, quoted, shown_path

# Sums of floats in another order differ in the last digits.
_CLOSE = 1e-6
# A mean with so many decimals may have been rounded; one with fewer is an exact fraction.
_ROUNDED = range(3, 7)

_Key = tuple[int | None, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedNote(Note):
    """A mean that is not the one that the log states."""

    without_means: str
    """The sentence for those who still choose what to read, and must not see scores."""


@dataclass(slots=True)
class _Sum:
    samples: int = 0
    total: float = 0.0
    numbers: int = 0


@dataclass(slots=True)
class Tally:
    """Counts and sums of the samples of one log, by run and filter."""

    _samples: dict[_Key, int] = field(default_factory=dict)
    _sums: dict[tuple[_Key, str], _Sum] = field(default_factory=dict)
    _repeats: set[str | None] = field(default_factory=set)

    def add(self, sample: Sample) -> None:
        """Count one sample, for its own run and filter, and for those of the whole log."""
        self._repeats.add(sample.repeat)
        for key in ((id(sample.run), sample.filter), (None, sample.filter)):
            self._samples[key] = self._samples.get(key, 0) + 1
            for metric, value in sample.scores.items():
                of_metric = self._sums.setdefault((key, metric), _Sum())
                of_metric.samples += 1
                if value is not None:
                    of_metric.numbers += 1
                    of_metric.total += float(value)

    def check(self, log: Log, path: str, *, metrics: Collection[str], chosen: str | None) -> Iterator[Note]:
        """Raise if samples are missing that the log counts; note a mean that is not the stated one.

        Means matter of the metrics that are read, under the filter ``chosen``.
        """
        # Without any sample there is nothing to compare; that has a message of its own.
        for stated in log.stated() if self._samples else ():
            for key in self._keys(stated):
                self._check_count(stated, key, path)
                if stated.metric in metrics and key[1] == chosen:
                    yield from self._compared(stated, key, path)

    def _keys(self, stated: Stated) -> list[_Key]:
        run = None if stated.run is None else id(stated.run)
        if stated.filter is not None:
            return [(run, stated.filter)]
        return [key for key in self._samples if key[0] == run] or [(run, None)]

    def _check_count(self, stated: Stated, key: _Key, path: str) -> None:
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
            "not complete, or not the one that the numbers were made from; restore the whole log, or repeat the run"
        )

    def _compared(self, stated: Stated, key: _Key, path: str) -> Iterator[Note]:
        of_metric = self._sums.get((key, stated.metric or ""))
        if of_metric is None or not of_metric.numbers or stated.mean is None:
            return
        # With repetitions of which some have no number, a mean of means is not the mean of all.
        if len(self._repeats) > 1 and of_metric.numbers < self._samples[key]:
            return
        mean = of_metric.total / of_metric.numbers
        if abs(mean - stated.mean) <= tolerance(stated.mean):
            return
        under = f" under {quoted(key[1])}" if key[1] is not None else ""
        what = f"{shown_path(path)}: the mean of {quoted(stated.metric or '')}{under} over its "
        what += counted(of_metric.numbers, "score")
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
