"""Numbers on the scale of the scores, as people read them: means rounded, bounds rounded outward."""

from __future__ import annotations

import math
from typing import NamedTuple


class Units(NamedTuple):
    """How numbers of one leaderboard are written.

    >>> Units.of((0.0, 1.0)).at_least(0.12349), Units.of((0.0, 100.0)).score(7.125)
    ('0.1234', '7.12')
    >>> Units.of((-1.0, 1.0)).score(-0.0001)
    '0.000'
    """

    decimals: int
    """As many as the width of the score range deserves."""

    @classmethod
    def of(cls, score_range: tuple[float, float]) -> Units:
        """The units of a score range."""
        low, high = score_range
        return cls(min(100, max(0, 4 - math.ceil(math.log10(high - low)))))

    def score(self, value: float | None) -> str:
        """A mean, in score units; before the first replicate there is none."""
        if value is None or math.isnan(value):
            return "-"
        return f"{round(value, self.decimals) + 0.0:.{self.decimals}f}"  # no -0.0

    def difference(self, value: float) -> str:
        """A difference, with its sign; where one of two means is not known there is none."""
        return "-" if math.isnan(value) else f"{round(value, self.decimals) + 0.0:+.{self.decimals}f}"  # no -0.0

    def at_least(self, value: float, sign: str = "") -> str:
        """A lower bound, rounded down."""
        return "-" if math.isnan(value) else self._whole(math.floor(value * 10.0**self.decimals), sign)

    def at_most(self, value: float, sign: str = "") -> str:
        """An upper bound, rounded up."""
        return "-" if math.isnan(value) else self._whole(math.ceil(value * 10.0**self.decimals), sign)

    def lead(self, margin: float, known: float) -> str:
        """A certified difference: at least its margin, or above what certified edges prove where that says more.

        >>> Units.of((0.0, 1.0)).lead(0.0312, 0.02), Units.of((0.0, 1.0)).lead(-0.01, 0.02)
        ('≥ 0.0312', '> 0.0200')
        """
        # e-Holm may certify a direction before its simultaneous margin passes tau; then tau is what is known.
        if margin > known and self.at_least(margin) != self.at_least(known):
            return f"≥ {self.at_least(margin)}"
        return f"> {self.at_least(known) if known else 0}"

    def _whole(self, value: int, sign: str) -> str:
        return f"{value / 10.0**self.decimals:{sign}.{self.decimals}f}"


def rank(interval: tuple[int, int]) -> str:
    """A rank interval, short.

    >>> rank((2, 4)), rank((3, 3))
    ('2-4', '3')
    """
    best, worst = interval
    return str(best) if best == worst else f"{best}-{worst}"
