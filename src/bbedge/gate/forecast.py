"""When a claim will likely be decided: forecasts without guarantee, for open claims and before the first run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from bbedge.core.forecast import Forecast
from bbedge.records.gate import ClaimOutlook
from bbedge.records.policy import Claim

POWER = 0.8
"""The probability with which a forecast is to come true, unless another one is asked for."""
_DIGITS = 2  # that are left of what a forecast proposes


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimForecast:
    """The forecasts of the evidence for a claim and against it. Differences are in score units."""

    claim: Claim
    """The claim, about one view."""
    candidate: str
    """The candidate."""
    ahead: Forecast
    """Of PASS."""
    back: Forecast
    """Of FAIL."""
    score_range: tuple[float, float]
    """The smallest and the largest score."""

    @property
    def width(self) -> float:
        """The width of the score range."""
        low, high = self.score_range
        return high - low

    @property
    def bar(self) -> float:
        """What the difference must exceed."""
        return self.ahead.design.tau * self.width

    def runs_for(self, difference: float, *, power: float = POWER) -> int | None:
        """The runs after which a claim with this true difference is decided; ``None`` if none are enough."""
        forecast, gap = self._toward(difference)
        return None if math.isnan(gap) else forecast.replicates_for(gap, power=power)

    def items_for(self, difference: float, runs: int) -> int | None:
        """The items that decide it in so many runs, of the same kind; ``None`` if none are enough."""
        forecast, gap = self._toward(difference)
        times = None if math.isnan(gap) else forecast.times_for(gap, runs, power=POWER)
        return None if times is None else int(_rounded(times * len(forecast.design.items), math.ceil))

    def amount_for(self, difference: float, runs: int) -> float | None:
        """The margin or floor with which so many runs PASS; ``None`` if there is none, or if it is a part of a cost."""
        resolvable = self.ahead.smallest_gap(runs, power=POWER)
        if resolvable is None or math.isnan(difference) or self.claim.kind == "cheaper_by":
            return None
        bar = difference - (resolvable * self.width - self.bar)
        if self.claim.kind == "at_least":
            low, high = self.score_range
            floor = _rounded(self.claim.amount + bar, math.floor)
            return floor if low < floor < high else None
        sign, outward = (-1.0, math.ceil) if self.claim.kind == "not_worse_by" else (1.0, math.floor)
        amount = _rounded(sign * bar, outward)
        return amount if 0.0 < amount < self.width else None

    def outlook(self, seen: float | None, runs: int) -> ClaimOutlook:
        """What would decide the claim after some runs, if the difference is the one that was seen.

        Runs that should have been enough and were not get no advice to use fewer items or a stricter margin.
        """
        difference = math.nan if seen is None else seen
        needed, items = self.runs_for(difference), self.items_for(difference, runs)
        amount = self.amount_for(difference, runs)
        return ClaimOutlook(
            more_runs=None if needed is None else max(1, needed - runs),
            items=None if items is None or items <= len(self.ahead.design.items) else items,
            amount=None if amount is None or not self._is_easier(amount) else amount,
        )

    def _is_easier(self, amount: float) -> bool:
        """Whether a claim with this amount asks for less."""
        own = self.claim.amount
        return amount > own if self.claim.kind == "not_worse_by" else amount < own

    def _toward(self, difference: float) -> tuple[Forecast, float]:
        """The forecast of the verdict that is true at this difference, and the difference as it sees it."""
        if difference > self.bar:
            return self.ahead, difference / self.width
        return self.back, -difference / self.width


def _rounded(value: float, outward: Callable[[float], int]) -> float:
    """A value with few digits, rounded to the side that is sure to be enough."""
    if not value:
        return 0.0
    digits = _DIGITS - 1 - math.floor(math.log10(abs(value)))
    return round(outward(value * 10.0**digits) / 10.0**digits, 12)
