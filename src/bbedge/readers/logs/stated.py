"""What a log states about itself, compared with what it holds: a log that was cut off is often a valid file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bbedge.errors import FormatError
from bbedge.readers.logs.contract import Sample
from bbedge.readers.logs.fields import number

# Tools round the means that they state, to four decimals or to tenths of a percent.
_ROUNDING = 1e-3


@dataclass(slots=True)
class Tally:
    """The samples of a log, counted in one pass."""

    samples: int = 0
    """All samples."""
    scored: int = 0
    """Those with a number for the metric."""
    total: float = 0.0
    """The sum of these numbers."""
    items: set[str] = field(default_factory=set)
    """The items."""

    def add(self, sample: Sample, metric: str) -> None:
        """Count one sample."""
        self.samples += 1
        self.items.add(sample.item)
        value = sample.scores.get(metric)
        if sample.error is None and value is not None:
            self.scored += 1
            self.total += value

    @property
    def mean(self) -> float | None:
        """The mean of the numbers; None without any."""
        return self.total / self.scored if self.scored else None


def whole(value: object) -> int | None:
    """A count that a log states; None for anything that is none.

    >>> whole(3), whole(3.0), whole(True), whole("3"), whole(-1)
    (3, 3, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value >= 0 and value == value // 1 else None


def check_count(found: int, stated: object, *, place: str, what: str) -> None:
    """Raise if a log states another number of samples than it holds."""
    count = whole(stated)
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


def counted_as_failures(tally: Tally, *, place: str, tool: str) -> tuple[str, ...]:
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
    if isinstance(value, list):
        return [without_empty(part) for part in value]
    return value
