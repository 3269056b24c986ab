r"""How fast evidence grows: what a design can resolve, before any score is seen.

After ``r`` replicates the evidence of a direction is a mixture over stakes of :math:`\exp((\lambda / w_{max}) T - P_r
(\lambda))`. The sum ``T`` of the weighted ``Y - mu0`` is nearly normal with mean :math:`r (\Delta - \tau) / 2` and
variance :math:`r \sum_m w_m^2 v`, where ``v`` is the variance of a block's ``Y``; the penalty is an average over many
blocks and nearly fixed. The mixture grows with ``T``, so that certification is ``T`` above a threshold, and its
probability a value of the normal distribution.

This is a forecast and no guarantee: certificates stay valid whatever was planned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from bbedge.core.arrays import Floats
from bbedge.core.checkpoint_evidence import checkpoint_kind, checkpoint_stakes
from bbedge.core.checkpoints import LEAST_BLOCKS, Checkpoint, Checkpoints, first_run_plan
from bbedge.core.design import Design
from bbedge.core.penalties import bernstein_psi, sharp_tail
from bbedge.core.stakes import CENTRED_MAX, fitted_stakes
from bbedge.errors import DomainError
from bbedge.records.values import EvidenceKind, changed

MOST_REPLICATES = 100_000
"""Beyond so many a difference counts as out of reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAssumptions:
    """What is assumed about a pair of models, on the scale of ``Y = (difference + 1) / 2`` of a block."""

    noise: float
    """Variance of a block's ``Y`` from replicate to replicate."""
    unevenness: float
    """Variance over blocks of the mean of ``Y``: how much the pair's difference varies from block to block."""

    def __post_init__(self) -> None:
        for name, value in (("noise", self.noise), ("unevenness", self.unevenness)):
            if not 0.0 <= value <= 0.25:
                raise DomainError(f"{name} {value} is not possible; a variance of numbers in [0, 1] is from 0 to 1/4")

    @classmethod
    def of_scores(cls, *, mean: float, block_size: float = 1.0, correlation: float = 0.0) -> PairAssumptions:
        """Two unrelated models with right or wrong answers and this mean score.

        ``correlation`` is that of two answers of a block. Unevenness is taken as none.

        >>> PairAssumptions.of_scores(mean=0.5).noise
        0.125
        """
        if not (0.0 < mean < 1.0 and block_size >= 1.0 and 0.0 <= correlation <= 1.0):
            raise DomainError(
                f"mean {mean}, block size {block_size} and correlation {correlation} are not possible; choose a mean "
                "between 0 and 1, a size of at least 1 and a correlation from 0 to 1"
            )
        alone = mean * (1.0 - mean) / 2.0
        return cls(noise=alone * (1.0 + (block_size - 1.0) * correlation) / block_size, unevenness=0.0)

    @property
    def between_share(self) -> float:
        """The part of the variance of a block's ``Y`` in one run that more runs do not reduce."""
        total = self.drawn_variance(1)
        return self.unevenness / total if total else 0.0

    def drawn_variance(self, replicates: int) -> float:
        """Variance of the mean of a block's ``Y`` after some replicates, where the block itself is drawn at random."""
        return self.unevenness + self.noise / replicates

    def with_between_share(self, share: float) -> PairAssumptions:
        """The same variance in one run, of which this part does not change from replicate to replicate."""
        total = min(0.25, self.drawn_variance(1))
        return PairAssumptions(noise=(1.0 - share) * total, unevenness=share * total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a design can resolve under assumptions about its pairs."""

    design: Design
    """The design."""
    assumed: PairAssumptions
    """What is assumed."""
    times: float = 1.0
    """How many times as many items there are as in the design, in blocks of the same kind."""

    @property
    def log_threshold(self) -> float:
        """The evidence that the first certificate needs: every other direction still has none."""
        return math.log(self.design.n_directions / (self.design.share * self.design.certificate_alpha))

    def planned(self, replicates: int) -> Forecast:
        """The same with stakes made for this number of replicates, where the design may state one and does not."""
        design = self.design
        if not design.has_memory or design.planned is not None or design.stakes not in ("fitted", "design"):
            return self
        return replace(self, design=design.with_values(planned=replicates))

    def power(self, gap: float, replicates: int) -> float:
        """Probability that a direction with this true difference is certified at a look after these replicates.

        It is assumed that the design then states this number as planned, where it can.
        """
        return self.planned(replicates)._power(gap, replicates)

    def _power(self, gap: float, replicates: int) -> float:
        mean = replicates * (gap - self.design.tau) / 2.0
        return chance_above(self._needed(gap, replicates), mean, replicates * self._variance)

    def smallest_gap(self, replicates: int, *, power: float = 0.8) -> float | None:
        """The smallest true difference that is certified with this power; ``None`` if even 1 is not."""
        if self.power(1.0, replicates) < power:
            return None
        # To a ten-thousandth of the scale, rounded up: planning needs no more.
        return _least(
            lambda gap: self.power(gap, replicates) >= power,
            self.design.tau,
            1.0,
            between=lambda low, high: (low + high) / 2.0 if high - low > 1e-5 else None,
        )

    def replicates_for(self, gap: float, *, power: float = 0.8) -> int | None:
        """The fewest replicates after which this difference is certified with this power; ``None`` if out of reach."""
        if gap <= self.design.tau:
            return None
        found = _least(
            lambda count: self.power(gap, int(count)) >= power,
            between=lambda low, high: (low + high) // 2 if high - low > 1 else None,
        )
        return None if found is None else int(found)

    def times_for(self, gap: float, replicates: int, *, power: float = 0.8) -> float | None:
        """How many times as many items certify this difference with this power; ``None`` if out of reach."""
        if gap <= self.design.tau:
            return None
        return _least(
            lambda times: replace(self, times=times).power(gap, replicates) >= power,
            between=lambda low, high: math.sqrt(low * high) if high / low > 1.01 else None,
        )

    def checkpoint_for(self, gap: float, *, power: float = 0.8) -> Checkpoint | None:
        """The first checkpoint of the first run at which this difference is certified with this power.

        ``None`` if it is certified at none, or if the design has no checkpoints.
        """
        plan = first_run_plan(self.design)
        if plan is None or gap <= self.design.tau:
            return None
        return next((each for each in plan.checkpoints if self.part_power(gap, each) >= power), None)

    def part_power(self, gap: float, checkpoint: Checkpoint) -> float:
        """Probability that a direction with this true difference is certified at a checkpoint by that look alone.

        Blocks are drawn at random, so that their unevenness is noise too, as far as some are still to come. There is
        no prediction.
        """
        design, share = self.design, checkpoint.fraction
        stakes = checkpoint_stakes(design, checkpoint)
        part = replace(self, design=design.with_grid(stakes, evidence=checkpoint_kind(design)))
        offset = (gap - design.tau) / 2.0
        square = self.assumed.noise + self.assumed.unevenness + offset**2
        relative, counts = np.unique(design.layout.relative_weights, return_counts=True)
        paid = [float(counts @ bet_penalty(stake * relative, offset, square)) for stake in stakes.values]
        gains = math.log(checkpoint.weight) - share * np.array(paid)
        needed = total_needed(part._rates(stakes.values), np.log(stakes.weights) + gains, part.log_threshold)
        drawn = self.assumed.noise + self.assumed.unevenness * (1.0 - share)
        return chance_above(needed, share * offset, share * float(np.square(design.layout.weights).sum()) * drawn)

    def as_one_block(self) -> Forecast:
        """The same runs, analysed with the complete run as one block."""
        whole = remade(self.design, blocks="one", method=self.design.method)
        return Forecast(design=whole, assumed=PairAssumptions(noise=self._variance, unevenness=0.0))

    @property
    def inside_first_run(self) -> Forecast | None:
        """With the looks inside the first run that an evaluation has by default; ``None`` if it has none."""
        if self.design.layout.count < LEAST_BLOCKS:
            return None
        # Which blocks come first makes no difference to a forecast.
        return replace(self, design=changed(self.design, checkpoints=Checkpoints(order_seed=0)))

    @property
    def _variance(self) -> float:
        """Variance of a replicate's ``T``."""
        return float(np.square(self.design.layout.weights).sum() * self.assumed.noise / self.times)

    def _stakes(self) -> tuple[float, ...]:
        """The stakes of the design, made for so many times as many items; those that are fitted, to what is assumed."""
        design, size = self.design, self.design.stake_size(blocks=self.times)
        if design.stakes == "fitted":
            early = fitted_stakes(size).values
            return (*early, *(size.stake(self.assumed.noise * horizon) for horizon in design.grid.horizons))
        if self.times == 1.0 or design.stakes != "design":
            return design.grid.values
        return design.rule_stakes(replicates=design.planned, blocks=self.times).values

    def _rates(self, stakes: Sequence[float]) -> Floats:
        return np.array(stakes) * (self.times / float(self.design.layout.weights.max()))

    def _needed(self, gap: float, replicates: int) -> float:
        """The least ``T`` of at least 0 at which a direction is certified.

        A group of stakes pays for the directions as they were at its entry. Those that enter at the start pay for all
        of them. By the entry of the others the own evidence is taken to have come as far as the replicates. Of each
        other pair one direction is where it began, as on average where models are equal; the other has lost what a
        difference as large takes from it.
        """
        design, stakes = self.design, self._stakes()
        rates, weights = self._rates(stakes), np.array([w for w in design.grid.weights if w > 0.0])
        present = np.array([weight > 0.0 for weight in design.grid.weights])
        if not present.all():
            stakes = tuple(stake for stake, there in zip(stakes, present, strict=True) if there)
            rates = rates[present]
        one_way = (design.n_directions - np.count_nonzero(design.tested & design.tested.T) / 2) / design.share
        backwards = design.n_directions / design.share - one_way
        bets, cash = list[tuple[int, Floats, Floats, Floats, float]](), 0.0
        for group in design.entry_groups:
            own = list(group.stakes)
            if group.after >= replicates:
                cash += group.weight
                continue
            of_group = [stakes[place] for place in own]
            gains = np.log(weights[own]) - self._penalties(of_group, gap, replicates)
            then = np.log(weights[own] / group.weight) - self._penalties(of_group, gap, group.after)
            lost = np.exp(np.logaddexp.reduce(then - rates[own] * group.after * (gap + design.tau) / 2.0))
            others = max(1e-300, one_way - 1.0 + backwards * float(lost))
            bets.append((group.after, rates[own], gains, then, math.log(others)))

        def short(total: float) -> float:
            parts = [math.log(cash)] if cash else []
            for after, of_group, gains, then, others in bets:
                ahead = float(np.logaddexp.reduce(then + of_group * total * after / replicates))
                paid = math.log(design.n_directions / design.share) if not after else float(np.logaddexp(ahead, others))
                parts.append(float(np.logaddexp.reduce(gains + of_group * total)) - paid)
            return float(np.logaddexp.reduce(parts)) + math.log(design.certificate_alpha)

        if short(0.0) >= 0.0:
            return 0.0
        # The first group alone certifies here, and every group has more the larger the total is.
        _, of_first, gains, *_ = bets[0]
        positive = of_first > 0.0
        enough = float(np.min((self.log_threshold - gains[positive]) / of_first[positive]))
        return float(brentq(short, 0.0, enough + 1e-9, xtol=1e-10))

    def _penalties(self, stakes: Sequence[float], gap: float, replicates: int) -> Floats:
        """Expected penalty of stakes after some replicates."""
        relative, counts = np.unique(self.design.layout.relative_weights, return_counts=True)
        offset = (gap - self.design.tau) / 2.0
        apart = self.assumed.unevenness + offset**2  # how far blocks lie from the null value, squared
        past = np.arange(replicates, dtype=np.float64)
        # The running mean of n replicates and one pseudo-observation at the null value: its own noise, and what is
        # left of its distance from the block's mean.
        learnt = self.assumed.noise * (1.0 + past / (1.0 + past) ** 2) + apart / (1.0 + past) ** 2
        unlearnt = np.full(replicates, self.assumed.noise + apart)
        total = []
        for stake in stakes:
            squares, reach = (unlearnt, self.design.mu0) if stake > CENTRED_MAX else (learnt, 1.0)
            paid = (
                penalty(self.design.evidence, stake * size, squares, reach=reach).sum() for size in relative.tolist()
            )
            total.append(sum(count * self.times * each for count, each in zip(counts.tolist(), paid, strict=True)))
        return np.array(total)


def _least(
    reaches: Callable[[float], bool],
    low: float | None = None,
    high: float = 1.0,
    *,
    between: Callable[[float, float], float | None],
) -> float | None:
    """The least number that reaches something, rounded up: between these two, or after doubling the upper one.

    ``between`` says what to try next, or nothing when the two are near enough. ``None`` if it is out of reach.
    """
    if low is None:
        while not reaches(high):
            high *= 2.0
            if high > MOST_REPLICATES:
                return None
        low = high / 2.0
    while (middle := between(low, high)) is not None:
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def total_needed(rates: Floats, constants: Floats, log_threshold: float) -> float:
    """The least ``T`` of at least 0 at which the exponentials of ``constants + rates * T`` add up to a threshold."""

    def short(total: float) -> float:
        return float(np.logaddexp.reduce(constants + rates * total)) - log_threshold

    # The best single stake needs no more than this; the mixture can need less, but not a negative sum.
    positive = rates > 0.0
    enough = float(np.min((log_threshold - constants[positive]) / rates[positive]))
    return float(brentq(short, 0.0, enough + 1e-9, xtol=1e-10)) if short(0.0) < 0.0 else 0.0


def chance_above(needed: float, mean: float, variance: float) -> float:
    """Probability that a normal number reaches what is needed."""
    return float(ndtr((mean - needed) / math.sqrt(variance))) if variance else float(mean >= needed)


def penalty(kind: EvidenceKind, u: float, squares: Floats, *, reach: float = 1.0) -> Floats:
    """Expected penalty of a block with stake ``u`` and mean squared residuals, which are taken as two-sided."""
    z2 = u**2 * squares
    if kind == "hoeffding":
        return np.full_like(squares, u**2 / 8.0)
    if kind == "bernstein":
        return float(bernstein_psi(np.array(u))) * squares
    if kind == "sharp":
        return z2 / 2.0 + float(sharp_tail(np.array(u * reach))) * z2**2
    return -0.5 * np.log1p(-np.minimum(z2, 1.0 - 1e-12))


def bet_penalty(u: Floats, mean: float, square: float) -> Floats:
    """What bets without prediction pay: by how much the mean of their logarithm is below ``u`` times ``mean``.

    The distance from the null value is taken as one of two values of the same size, with this mean and mean square.
    Without a mean it is the ``betting`` of :func:`penalty`.
    """
    far = math.sqrt(max(square, mean**2, 1e-12))
    ahead = (1.0 + mean / far) / 2.0
    growth = ahead * np.log1p(u * far) + (1.0 - ahead) * np.log1p(-np.minimum(u * far, 1.0 - 1e-12))
    return np.asarray(u * mean - growth)


def pilot_assumptions(panels: Floats, design: Design, *, is_drawn: bool = False) -> tuple[PairAssumptions, ...]:
    """Outlooks of all pairs from a pilot, first model before second; one replicate cannot tell noise from unevenness.

    With a single replicate all variation is counted as noise, which is the cautious reading. The unevenness is that of
    these blocks or, if they are drawn, of those that they are drawn from.
    """
    layout = design.layout
    means = np.stack([layout.means(panel) for panel in panels])  # replicates x models x blocks
    found = []
    for a, b in combinations(range(means.shape[1]), 2):
        y = (means[:, a] - means[:, b] + 1.0) / 2.0
        noise, across = variance_parts(y, layout.weights, is_drawn=is_drawn)
        found.append(PairAssumptions(noise=min(0.25, noise), unevenness=min(0.25, max(0.0, across))))
    return tuple(found)


def variance_parts(outcomes: Floats, weights: Floats, *, is_drawn: bool) -> tuple[float, float]:
    """The variance of the blocks' outcomes from replicate to replicate, and over blocks; ``replicates x blocks``.

    Unbiased, so that the second can be negative: over these blocks, or if they are drawn, over all that could have
    been (of blocks that differ in weight, if their variance is the same). With one replicate the first is all variance.
    """
    shares = np.square(weights) / np.square(weights).sum()
    means = outcomes.mean(axis=0)
    across = float(shares @ np.square(means - shares @ means))
    if is_drawn and len(weights) > 1:
        across /= 1.0 - float(shares @ shares)
    if len(outcomes) == 1:
        return across, 0.0
    noise = float(shares @ outcomes.var(axis=0, ddof=1))
    return noise, across - noise / len(outcomes)


def typical_assumptions(pairs: Sequence[PairAssumptions]) -> PairAssumptions:
    """The medians of noise and unevenness."""
    return PairAssumptions(
        noise=float(np.median([each.noise for each in pairs])),
        unevenness=float(np.median([each.unevenness for each in pairs])),
    )


def remade(design: Design, **chosen: Any) -> Design:  # noqa: ANN401 - as for :meth:`Design.make`
    """The question of a design, answered with these blocks and by this method, and otherwise as by default."""
    return Design.make(design.models, design.items, alpha=design.alpha, tau=design.tau, **chosen)


def pilot_forecasts(design: Design, panels: Floats) -> dict[str, Forecast]:
    """Forecasts from the scores of a pilot, for a typical pair; by the way of analysing the same runs."""
    singles = remade(design, method="bb-edge")
    typical, alone = (typical_assumptions(pilot_assumptions(panels, each)) for each in (design, singles))
    return design_forecasts(design, typical, alone)


def design_forecasts(design: Design, assumed: PairAssumptions, alone: PairAssumptions) -> dict[str, Forecast]:
    """The default method, that one with other blocks, and the published one, which is that of the design.

    ``alone`` is what is assumed if every item were a block.
    """
    extended = Forecast(design=remade(design, blocks=design.blocks), assumed=assumed)
    ways = {"bb-edge-x": extended}
    if design.layout.count < len(design.items):
        ways["if items were blocks"] = Forecast(design=remade(design), assumed=alone)
    return ways | {"one block": extended.as_one_block(), "bb-edge": Forecast(design=design, assumed=assumed)}
