"""The open pairs as plain values: what is seen of each, and how far its evidence has come."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.units import Units
from bbedge.display.ranking import CONTRADICTION, observed


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPair:
    """A pair that is not decided."""

    ahead: str
    """The model with more evidence so far."""
    behind: str
    """The other one."""
    difference: str
    """Of the means."""
    within: str
    """The interval of the true difference."""
    share: int
    """Evidence as a share of the threshold, in percent."""
    more: str
    """About how many more replicates."""


def open_pairs(certificate: Certificate) -> Iterator[OpenPair]:
    """The pairs that nothing decides, soonest decided first."""
    place = {name: i for i, name in enumerate(certificate.names)}
    units = certificate.units
    for each in certificate.content.outlook:
        a, b = place[each.ahead], place[each.behind]
        low, high = each.within
        yield OpenPair(
            ahead=certificate.labels[a],
            behind=certificate.labels[b],
            difference=observed(certificate, a, b),
            within=_within(units, _known(low), _known(high)),
            share=share(each.log_e, each.log_threshold),
            more=more_replicates(each.more_replicates),
        )


def _within(units: Units, low: float, high: float) -> str:
    return CONTRADICTION if low > high else f"{units.at_least(low, '+')} to {units.at_most(high, '+')}"


def _known(end: float | None) -> float:
    return math.nan if end is None else float(end)


def share(log_e: float, log_threshold: float) -> int:
    """Evidence as a share of the threshold, in percent: 0 to 99, because the pair is open.

    >>> share(2.0, 4.0), share(-5.0, -1.0)
    (50, 0)
    """
    return min(99, round(100 * log_e / log_threshold)) if log_e > 0.0 else 0


def more_replicates(interval: tuple[int, int] | None) -> str:
    """A forecast as text.

    >>> more_replicates((3, 20)), more_replicates((4000, 20000)), more_replicates(None)
    ('3 to 20', 'thousands', 'no trend yet')
    """
    if interval is None:
        return "no trend yet"
    low, high = interval
    if low >= 1000:
        return "thousands"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
