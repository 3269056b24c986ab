r"""The claims of a policy, decided by e-Holm; what a verdict implies for others, and what would decide open ones.

A claim says :math:`\Delta > b`. PASS is wrong only if :math:`\Delta \le b`, FAIL only if :math:`\Delta > b`: of the two
directions of a claim at most one is a true null. So the others of a family of claims have one deficit each. With
:math:`t = 1/\alpha` a direction ``f`` of claim ``c`` is certified if

.. math:: E_f \ge t + \sum_{c' \ne c} \max(0,\; t - \min(E_{\text{pass}}(c'), E_{\text{fail}}(c'))).

``docs/guarantees.md`` has the proof. Forecasts have no guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from bbedge.core.arrays import UNIT
from bbedge.core.design import Design
from bbedge.core.forecast import Forecast
from bbedge.core.scores import Scores
from bbedge.core.views import HEADLINE, suite_options
from bbedge.errors import DesignError, DomainError
from bbedge.records.gate import ClaimOutlook, Verdict
from bbedge.records.policy import EVERY, Claim, Policy
from bbedge.records.values import changed
from bbedge.text import did_you_mean, listed, quoted

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]

FOR, AGAINST = 0, 1
"""The places of the two directions of a claim."""
_ROUNDINGS = 8  # at most, of the logarithm of a mean of two numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedMeans:
    """Two means that are compared: a candidate's in a view, and what it is compared with."""

    candidate: str
    """The candidate."""
    view: str
    """The view."""
    baseline: str | None
    """The system that it is compared with; ``None`` for a floor."""
    floor: float | None = None
    """A constant score on the [0, 1] scale."""
    cheaper: float = 0.0
    """The part by which the baseline's distance from the best score is shortened first."""

    def pair(self, panel: Matrix, models: Sequence[str]) -> Matrix:
        """The scores of the candidate, and those that it is compared with."""
        own: Matrix = panel[models.index(self.candidate)]
        if self.baseline is None:
            return np.stack([own, np.full_like(own, self.floor)])
        row: Matrix = panel[models.index(self.baseline)]
        return np.stack([own, 1.0 - (1.0 - self.cheaper) * (1.0 - row) if self.cheaper else row])


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A difference that two means are compared with: there is evidence that theirs exceeds it, and that it does not."""

    means: ComparedMeans
    """The means."""
    value: float
    """The difference, on the [0, 1] scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """That a difference of means exceeds a bar, or lies between two: what a claim says, whatever its tier is."""

    means: ComparedMeans
    """The means."""
    bar: float
    """What their difference must exceed, on the [0, 1] scale."""
    most: float = 1.0
    """What it must not exceed, of means that are about equal."""

    @property
    def bars(self) -> tuple[Bar, ...]:
        """What its evidence is about: of means that are about equal, a bar on either side."""
        return tuple(Bar(means=self.means, value=value) for value in (self.bar, self.most) if value < 1.0)

    def log_e(self, of_bars: Matrix) -> Matrix:
        r"""Evidence for the hypothesis and against it, from that for and against the excess over each of its bars.

        ``of_bars`` has bars x 2 (x batch). Means are about equal, :math:`|\Delta| \le \delta`, if both other cases are
        ruled out, :math:`\Delta < -\delta` and :math:`\Delta > \delta`: by the smaller evidence of the two.

        **Guarantee:** each is an e-process where what it speaks for is false. If the means are not about equal, one of
        the other cases is true, and the smaller evidence is at most that against this one. If they are, neither the
        evidence that :math:`\Delta < -\delta` nor that :math:`\Delta > \delta` grows in expectation, and so neither
        does their mean.

        >>> means = ComparedMeans(candidate="new", view="headline", baseline="old")
        >>> Hypothesis(means=means, bar=-0.1, most=0.1).log_e(np.array([[5.0, -8.0], [-9.0, 4.0]]))[FOR].item()
        4.0
        """
        found: Matrix = of_bars[0]
        if len(of_bars) == 1:
            return found
        (not_below, below), (above, not_above) = of_bars
        either = np.logaddexp(below, above) - math.log(2.0)
        return np.stack([np.minimum(not_below, not_above), either - _ROUNDINGS * UNIT * (1.0 + np.abs(either))])

    def implies(self, other: Hypothesis) -> bool:
        """Whether the other one is true wherever this one is: it asks for no more of the same candidate and view.

        >>> means = ComparedMeans(candidate="new", view="headline", baseline="old")
        >>> Hypothesis(means=means, bar=0.0).implies(Hypothesis(means=means, bar=-0.02))
        True
        """
        mine, theirs = self.means, other.means
        if (mine.candidate, mine.view, mine.baseline) != (theirs.candidate, theirs.view, theirs.baseline):
            return False
        if mine.floor is not None and theirs.floor is not None:
            return mine.floor >= theirs.floor
        return mine.cheaper >= theirs.cheaper and self.bar >= other.bar and self.most <= other.most


def log_thresholds(log_e: Matrix, alpha: float) -> Matrix:
    """Logarithm of the evidence that either direction of each claim must reach, rounded up.

    ``log_e`` has the evidence for and against each claim in its last two axes, (batch x) claims x 2.
    """
    t = 1.0 / alpha
    weaker = log_e.min(axis=-1)
    # Only evidence below t is exponentiated, so that nothing overflows; a deficit may lose a few roundings of t.
    short = weaker < -np.log(alpha)
    deficits = np.where(short, t - np.exp(np.where(short, weaker, 0.0)), 0.0) + 16 * UNIT * t
    others = deficits.sum(axis=-1, keepdims=True) - deficits
    # The deficit that is taken out again has been added with as many roundings as there are claims.
    lost = (32 + 4 * log_e.shape[-2]) * UNIT
    found: Matrix = np.log((t + others) * (1.0 + lost) + deficits.sum(axis=-1, keepdims=True) * lost) * (1.0 + 8 * UNIT)
    return found


def certified(log_e: Matrix, alpha: float) -> Mask:
    """The directions that are certified, of evidence for and against each claim: (batch x) claims x 2.

    **Guarantee:** if each ``exp(log_e)`` is an e-process under its null, the probability that a claim is ever certified
    that is false, or the opposite of one that is true, is at most ``alpha``, at all looks together.

    >>> certified(np.log([[26.0, 0.03], [0.5, 0.4]]), alpha=0.04)  # the second claim is open, so the first needs 49.6
    array([[False, False],
           [False, False]])
    """
    found: Mask = log_e >= log_thresholds(log_e, alpha)[..., None]
    return found


def implied(found: Mask, hypotheses: Sequence[Hypothesis]) -> Mask:
    """What is certified, with what follows: a PASS of all that asks for less, a FAIL of all that asks for more."""
    implies = np.array([[one.implies(other) for other in hypotheses] for one in hypotheses])
    return np.stack([found[:, FOR] @ implies, found[:, AGAINST] @ implies.T], axis=1)


def verdict_of(found: Mask) -> Verdict:
    """What the two directions of a claim say."""
    if found[FOR] and found[AGAINST]:
        return "CONTRADICTION"
    return "PASS" if found[FOR] else "FAIL" if found[AGAINST] else "OPEN"


def check_range(claim: Claim, scores: Scores, source: str) -> None:
    """Refuse what is true or false of all scores in their range, whatever the systems do."""
    low, high = scores.score_range
    if claim.kind == "at_least" and not low < claim.amount < high:
        raise DomainError(
            f"{source}: at_least = {claim.amount:g} is not inside the score range {low:g} to {high:g}; every mean is "
            f"at least {low:g}, and none can be shown to reach {high:g}"
        )
    if claim.kind in ("not_worse_by", "better_by", "equal_within") and not claim.amount < high - low:
        raise DomainError(
            f"{source}: {claim.kind} = {claim.amount:g} is not below the width of the score range {low:g} to {high:g}, "
            "which no difference exceeds; margins are in score units"
        )


def candidates_of(policy: Policy, models: Sequence[str]) -> tuple[str, ...]:
    """The candidates by name, all of them in the scores."""
    named = policy.candidates
    if named == (EVERY,):
        named = tuple(model for model in models if model != policy.baseline)
    for name in (*named, *(() if policy.baseline is None else (policy.baseline,))):
        if name not in models:
            raise DesignError(f"{policy.source}: {quoted(name)} is not a model of the scores{_nearest(name, models)}")
    if not named:
        raise DesignError(f"{policy.source}: the scores have no model but the baseline {quoted(models[0])}")
    return named


def view_weights(policy: Policy, scores: Scores) -> dict[str, tuple[float, ...] | None]:
    """The item weights of the headline and of every view."""
    options = suite_options(scores, **policy.suite)
    weights: dict[str, tuple[float, ...] | None] = {HEADLINE: options.get("weights")}
    return weights | dict(options.get("views", {}))


def claims_by_view(policy: Policy, views: Sequence[str]) -> list[Claim]:
    """The claims, those about every view as one for each."""
    claims = []
    for place, claim in enumerate(policy.claims, 1):
        if claim.view != EVERY and claim.view not in views:
            raise DesignError(
                f"{policy.source}, claim {place}: {quoted(claim.view)} is not a view of the scores"
                f"{_nearest(claim.view, views)}"
            )
        names = [name for name in views if name != HEADLINE] if claim.view == EVERY else [claim.view]
        claims += [structs.replace(claim, view=name) for name in names]
    return claims


def _nearest(name: str, names: Sequence[str]) -> str:
    """A clause that proposes the nearest name there is."""
    return did_you_mean(name, names) or f"; there are {listed(names, limit=12)}"


POWER = 0.8
"""The probability with which a forecast is to come true, unless another one is asked for."""
_DIGITS = 2  # that are left of what a forecast proposes
_TOLERANT = ("not_worse_by", "equal_within")  # claims that a larger amount makes easier
N = TypeVar("N", int, float)


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
    upper: tuple[Forecast, Forecast] | None = None
    """Of means that are about equal: the same over the upper bar. A PASS needs ``ahead`` and the second of these."""

    @property
    def score_range(self) -> tuple[float, float]:
        """The smallest and the largest score."""
        return self.ahead.design.score_range

    @property
    def width(self) -> float:
        """The width of the score range."""
        return self.ahead.design.score_width

    @property
    def bar(self) -> float:
        """What the difference must exceed."""
        return self.ahead.design.tau * self.width

    @property
    def usual_differences(self) -> tuple[float, ...]:
        """What to assume of the claim if nothing is said: what it hopes for, and a system that it should stop."""
        amount, (low, high) = self.claim.amount, self.score_range
        twice = min(2.0 * amount, (amount + high - low) / 2.0)  # at most half-way from it to the largest difference
        if self.claim.kind in _TOLERANT and amount:
            return (0.0, -twice)
        if self.claim.kind == "better_by" and amount:
            return (twice, 0.0)
        apart = 0.05 * self.width
        if self.claim.kind == "at_least":
            apart = min(apart, (high - amount) / 2.0, (amount - low) / 2.0)
        return (apart, -apart)

    def holds_at(self, difference: float) -> bool:
        """Whether the claim is true of this difference."""
        return abs(difference) <= self.claim.amount if self.upper else difference > self.bar

    def runs_for(self, difference: float, *, power: float = POWER) -> int | None:
        """The runs after which a claim with this true difference is decided; ``None`` if none are enough."""
        return self._look_from(
            _most(each.replicates_for(gap, power=part) for each, gap, part in self._deciding(difference, power))
        )

    def items_for(self, difference: float, runs: int) -> int | None:
        """The items that decide it in so many runs, of the same kind; ``None`` if none are enough."""
        times = _most(each.times_for(gap, runs, power=part) for each, gap, part in self._deciding(difference, POWER))
        return None if times is None else int(_rounded(times * len(self.ahead.design.items), math.ceil))

    def amount_for(self, difference: float, runs: int) -> float | None:
        """The margin or floor with which so many runs PASS; ``None`` if there is none, or if it is a part of a cost."""
        resolvable = self.ahead.smallest_gap(runs, power=_power_of_each(POWER, 2 if self.upper else 1))
        if resolvable is None or math.isnan(difference) or self.claim.kind == "cheaper_by":
            return None
        bar = (-abs(difference) if self.upper else difference) - (resolvable * self.width - self.bar)
        if self.claim.kind == "at_least":
            low, high = self.score_range
            floor = _rounded(self.claim.amount + bar, math.floor)
            return floor if low < floor < high else None
        sign, outward = (-1.0, math.ceil) if self.claim.kind in _TOLERANT else (1.0, math.floor)
        amount = _rounded(sign * bar, outward)
        return amount if 0.0 < amount < self.width else None

    def outlook(self, seen: float | None, runs: int) -> ClaimOutlook:
        """What would decide the claim after some runs, if the difference is the one that was seen.

        Runs that should have been enough and were not get no advice to use fewer items or a stricter margin.
        """
        difference = math.nan if seen is None else seen
        needed, items = self.runs_for(difference), self.items_for(difference, runs)
        later = self._look_from(None if needed is None else max(runs + 1, needed))
        amount = self.amount_for(difference, runs)
        return ClaimOutlook(
            more_runs=None if later is None else later - runs,
            items=None if items is None or items <= len(self.ahead.design.items) else items,
            amount=None if amount is None or not self._is_easier(amount) else amount,
        )

    def _look_from(self, runs: int | None) -> int | None:
        """The first look after at least so many runs; ``None`` if none is left."""
        looks = self.ahead.design.schedule
        return runs if runs is None or not looks else next((look for look in looks if look >= runs), None)

    def _is_easier(self, amount: float) -> bool:
        """Whether a claim with this amount asks for less."""
        own = self.claim.amount
        return amount > own if self.claim.kind in _TOLERANT else amount < own

    def _deciding(self, difference: float, power: float) -> list[tuple[Forecast, float, float]]:
        """The forecasts that must all come true for the verdict that is right at this difference.

        Each has the difference as it sees it, and its probability, such that all come true with ``power``.
        """
        gap = difference / self.width
        if math.isnan(gap):
            return []
        if self.upper is None:
            return [(self.ahead, gap, power) if difference > self.bar else (self.back, -gap, power)]
        over, under = self.upper
        if self.holds_at(difference):
            part = _power_of_each(power, 2)
            return [(self.ahead, gap, part), (under, -gap, part)]
        either, gap = (over, gap) if difference > 0.0 else (self.back, -gap)
        # What speaks against a claim of this kind is the mean of two numbers, and only one of them grows.
        return [(replace(either, design=either.design.with_values(share=either.design.share / 2.0)), gap, power)]


def _power_of_each(power: float, count: int) -> float:
    """The probability of each of some events with which all of them happen with a probability of at least ``power``."""
    return 1.0 - (1.0 - power) / count


def _most(needed: Iterable[N | None]) -> N | None:
    """The largest of some numbers; ``None`` if there is none, or if one of them is ``None``."""
    found = list(needed)
    known = [each for each in found if each is not None]
    return max(known) if found and len(known) == len(found) else None


def _rounded(value: float, outward: Callable[[float], int]) -> float:
    """A value with few digits, rounded to the side that is sure to be enough."""
    if not value:
        return 0.0
    digits = _DIGITS - 1 - math.floor(math.log10(abs(value)))
    return round(outward(value * 10.0**digits) / 10.0**digits, 12)


def with_looks(design: Design) -> Design:
    """A design about new items that states its looks, so that a forecast does not plan others."""
    looks = design.schedule
    return changed(design, looks=tuple(looks), look_weights=tuple(looks.values())) if looks else design
