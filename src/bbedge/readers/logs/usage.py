"""What answers took, such as tokens, seconds and cost, as metrics where they are asked for by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from bbedge.errors import Blank, FormatError
from bbedge.readers.choices import Choice, Choices
from bbedge.readers.logs.contract import Log, Sample
from bbedge.text import quoted, shown


def amounts(found: Mapping[str, object]) -> dict[str, float]:
    """Those of the values that are amounts: finite numbers above 0.

    No answer takes nothing: tools write 0 where a provider does not say, which must not count as the best value.

    >>> amounts({"tokens": 12, "seconds": None, "cost": 0})
    {'tokens': 12.0}
    """
    return {
        name: float(value)
        for name, value in found.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
    }


def with_usage(log: Log, choices: Choices, *, name: str) -> Log:
    """The log, with what its answers took among the metrics, as far as the choices name it.

    A metric of the log with the same name comes first. A sample without scores has no usage either: its scores are
    missing, whatever it took.
    """
    asked = tuple(dict.fromkeys((*choices.metrics, *choices.metric_ranges)))

    def merged(sample: Sample) -> Sample:
        found = {each: sample.usage[each] for each in asked if each in sample.usage and each not in sample.scores}
        if not found or not sample.scores:
            return sample
        for each in found:
            _check_range(each, choices, name)
        return replace(sample, scores={**sample.scores, **found})

    return replace(log, samples=lambda: map(merged, log.samples())) if asked else log


def _check_range(metric: str, choices: Choices, name: str) -> None:
    """Refuse a range of which more is better: an answer that takes less is the better one."""
    worst, best = choices.metric_ranges.get(metric, (0.0, 1.0))
    if best < worst:
        return
    raise FormatError(
        f"{name}: {quoted(metric)} is what an answer took, of which less is better; declare the most that is possible, "
        "and 0 as the best value, with ",
        Choice("metric_ranges", {shown(metric): (Blank("MOST"), 0)}),
    )
