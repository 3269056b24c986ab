"""Stake grids: how strongly each component of the mixture bets against the null.

A stake ``lambda`` is shared out over the blocks in proportion to their weight (``u_m = lambda * w_m / w_max``),
which is what keeps the bet fair when only the benchmark average is constrained.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bbedge.errors import Argument, DesignError, DomainError

if TYPE_CHECKING:
    from bbedge.core.design import Design
    from bbedge.records.options import Options

CENTRED_MAX = 0.95
"""Largest stake that may be used with any prediction in [0, 1]."""

LATE_COUNT = 7
"""Stakes that are fitted to the noise."""

LAST_ENTRY = 13
"""The replicate after which the last fitted stakes enter, at the latest."""

LEAST_PLANNED = 4
"""With fewer planned replicates no stake is fitted: it could hardly bet."""

BY_SIZE = ("fitted", "design")
"""Rules whose stakes follow from the size of a design."""

NARROW = ("bernstein", "hoeffding")
"""Evidence that only stakes up to :data:`CENTRED_MAX` are allowed for."""

_PAPER_COUNT = 41
_DESIGN_COUNT = 12
_KAPPA_MIN, _KAPPA_MAX = 1 / 80, 25.0
_NOISY_FOR = 16  # beyond 400 planned replicates, kappa grows by one for so many of them
_WAIT = 0.7
_EARLY_COUNT, _EARLY_MAX = 5, 0.6  # of the stakes that do not wait, and the noise that the last is made for
_NEAREST, _FARTHEST = 9.0, 225.0  # replicates that the fitted stakes are made for
_PLANNED_TIMES = 1.5  # noise that helps or harms makes some directions take longer than planned
_LOOK_ON = 0.06  # the part of its horizon that a fitted stake looks on
_CLOSE = 1e-12  # weights whose sum is this near one add up to one
_LARGEST = 200.0  # reached at tau below -0.99 only; no product of 128 factors overflows


def wide_max(mu0: float) -> float:
    """Largest stake that keeps every factor positive when the prediction is the null value ``mu0 = (1 + tau) / 2``."""
    return min(_LARGEST, CENTRED_MAX / mu0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stakes:
    """A finite mixture of stakes, fixed before the first panel up to those that a rule chooses when they enter.

    >>> paper_stakes().values[-1]
    0.95
    """

    values: tuple[float, ...]
    """The stakes that are known from the start, each at least 0."""
    weights: tuple[float, ...]
    """Mixture weights, at least 0, with sum 1: those of the values, then those of the horizons."""
    horizons: tuple[float, ...] = ()
    """For how many replicates each stake is made that is fitted to the noise when it enters."""

    def __post_init__(self) -> None:
        if not self.values:
            raise DomainError("the stake grid is empty; give at least one stake")
        count = len(self.values) + len(self.horizons)
        if count != len(self.weights):
            raise DomainError(f"{count} stakes but {len(self.weights)} mixture weights; give one weight per stake")
        for value in self.values:
            if not (math.isfinite(value) and value >= 0.0):
                raise DomainError(f"stake {value} is not allowed; stakes are finite and at least 0")
        for weight in self.weights:
            if not (math.isfinite(weight) and weight >= 0.0):
                raise DomainError(f"mixture weight {weight} is not allowed; weights are finite and at least 0")
        total = sum(self.weights)
        if abs(total - 1.0) > _CLOSE:
            raise DomainError(f"the mixture weights sum to {total}; they must sum to 1")

    @property
    def is_wide(self) -> bool:
        """Whether some stake lies above what an arbitrary prediction allows."""
        return max(self.values) > CENTRED_MAX

    def check_rule(self, own: Stakes, rule: str) -> None:
        """Refuse values that are not those of a rule: the hash of a design stands for them by the rule's name."""
        pairs = ((own.values, self.values), (own.weights, self.weights), (own.horizons, self.horizons))
        if not all(len(one) == len(other) and np.allclose(one, other, rtol=1e-12, atol=0.0) for one, other in pairs):
            raise DesignError(f"these are not the {rule} stakes of this design; call other grids given")

    def check_width(self, design: Design) -> None:
        """Refuse stakes that are too wide for a kind of evidence, or for the margin."""
        largest, limit = max(self.values), wide_max(design.mu0)
        if design.evidence in NARROW and self.is_wide:
            raise DesignError(
                f"stakes up to {largest:.4g} are too wide for {design.evidence} evidence, which allows at most "
                f"{CENTRED_MAX}; use sharp or betting evidence, the paper's stakes, or method bb-edge"
            )
        if largest > limit * (1 + 1e-15):
            raise DesignError(f"stake {largest:.6g} is too wide; at tau = {design.tau} at most {limit:.6g} is allowed")


def planned_scores(options: Options) -> int | None:
    """The planned number of scores on these items, of which several runs may make one; ``None`` if it is not stated."""
    return options.planned // options.runs_of_score if options.planned else None


def check_stakes(design: Design) -> None:
    """Refuse stakes that a design cannot have: of another rule, too wide, or that e-Holm has no entries for."""
    rule, planned = design.stakes, planned_scores(design)
    if design.holm == "staggered" and rule not in BY_SIZE:
        raise DesignError("staggered e-Holm needs fitted or design stakes, whose rules say when each enters")
    if rule == "fitted" and (design.holm != "staggered" or design.evidence in NARROW):
        raise DesignError(
            f"fitted stakes enter staggered e-Holm and may be wide, which {design.holm} e-Holm with {design.evidence} "
            "evidence does not have; leave out the stakes, or choose design stakes"
        )
    if rule == "fitted" and planned is not None and planned < LEAST_PLANNED:
        raise DesignError(
            Argument("planned", design.planned), " leaves no time to fit stakes; leave out the stakes, or plan more"
        )
    if planned is not None and rule not in BY_SIZE:
        raise DesignError(Argument("planned", design.planned), f" has no meaning with {rule} stakes; leave it out")
    if rule != "given":
        design.grid.check_rule(design.stakes_by(rule, design.planned), rule)
    design.grid.check_width(design)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryGroup:
    """Stakes that enter e-Holm together."""

    after: int
    """The replicate after which they enter; 0 is before the first."""
    stakes: tuple[int, ...]
    """Their places among the stakes of positive weight, side by side."""
    weight: float
    """The sum of their mixture weights."""


def entry_groups(stakes: Stakes, entries: tuple[int, ...] | None) -> tuple[EntryGroup, ...]:
    """The stakes by the replicate after which they enter; all before the first, if that is ``None``."""
    weights = stakes.weights
    present = [g for g, weight in enumerate(weights) if weight > 0.0]
    times = [0 if entries is None else entries[g] for g in present]
    return tuple(
        EntryGroup(
            after=after,
            stakes=tuple(place for place, time in enumerate(times) if time == after),
            weight=math.fsum(weights[g] for g, time in zip(present, times, strict=True) if time == after),
        )
        for after in sorted(set(times))
    )


def _normalised(weights: tuple[float, ...]) -> tuple[float, ...]:
    """The weights with a sum of at most 1: a larger sum would be evidence before there are any data."""
    total = math.fsum(weights)
    shares = [weight / total for weight in weights]
    while math.fsum(shares) > 1.0:
        largest = shares.index(max(shares))
        shares[largest] = math.nextafter(shares[largest], 0.0)
    return tuple(shares)


def paper_stakes() -> Stakes:
    """The published grid: 41 equal steps from 0 to 0.95, equal weights."""
    last = _PAPER_COUNT - 1
    return Stakes(
        values=tuple(k * CENTRED_MAX / last for k in range(_PAPER_COUNT)),
        weights=(1.0 / _PAPER_COUNT,) * _PAPER_COUNT,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StakeSize:
    """What decides, beside the noise, which stake certifies first. Nothing of it depends on a score."""

    alpha: float
    cap: float
    """The largest stake, for instance :func:`wide_max`."""
    n_directions: float
    effective_blocks: float

    def stake(self, kappa: float) -> float:
        """The stake that certifies about first when the noise of a block has accumulated to ``kappa``.

        That is near ``sqrt(2 log(H / alpha) / (M_eff kappa))``.
        """
        budget, spread = 2.0 * math.log(self.n_directions / self.alpha), self.effective_blocks * kappa
        return min(self.cap, math.sqrt(budget / spread)) if spread > 0.0 else self.cap


def design_stakes(size: StakeSize, runs: int | None = None) -> Stakes:
    """Twelve stakes for the size of a design, from one quiet replicate to a hundred noisy ones.

    ``runs`` is the planned number of replicates, for which the grid of ``kappa`` is made.
    """
    values = tuple(size.stake(kappa) for kappa in _kappas(runs))
    return Stakes(values=values, weights=(1.0 / _DESIGN_COUNT,) * _DESIGN_COUNT)


def fitted_stakes(size: StakeSize, runs: int | None = None) -> Stakes:
    """Five stakes for quiet scores from the start, and seven that are fitted to the noise once it has been seen.

    ``runs`` is the planned number of replicates, for which the horizons are made.
    """
    values = (size.stake(kappa) for kappa in _geometric(_KAPPA_MIN, _EARLY_MAX, _EARLY_COUNT))
    return Stakes(
        values=tuple(values),
        weights=(1.0 / 15,) * _EARLY_COUNT + (2.0 / 21,) * LATE_COUNT,
        horizons=fitted_horizons(runs),
    )


def fitted_horizons(runs: int | None = None) -> tuple[float, ...]:
    """For how many replicates the fitted stakes are made, if so many are planned."""
    last = _FARTHEST if runs is None else _PLANNED_TIMES * runs
    return _geometric(min(_NEAREST, last), last, LATE_COUNT)


def fitted_entry(horizon: float) -> int:
    """The replicate after which a stake enters that is made for so many."""
    return min(LAST_ENTRY, max(2, math.floor(_LOOK_ON * horizon + 1e-9)))


def fitted_entries(stakes: Stakes) -> tuple[int, ...]:
    """The replicates after which the stakes enter staggered e-Holm, of which those with a horizon are fitted then.

    >>> fitted_entries(fitted_stakes(StakeSize(alpha=0.05, cap=1.9, n_directions=2, effective_blocks=10)))
    (0, 0, 0, 0, 0, 2, 2, 2, 2, 4, 7, 13)
    """
    return (0,) * len(stakes.values) + tuple(map(fitted_entry, stakes.horizons))


def design_entries(runs: int | None = None) -> tuple[int, ...]:
    """The replicates after which each of the :func:`design_stakes` enters staggered e-Holm.

    A stake is made for noise that takes about ``4 kappa`` replicates of the noisiest scores to accumulate, and most of
    its gain comes after the first ``0.7 kappa`` of any scores. Until then, the data show which directions cannot win.

    >>> design_entries(), design_entries(4)
    ((0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 17), (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    """
    # What is a whole number but for rounding must be the same on every platform.
    return tuple(math.floor(_WAIT * kappa + 1e-9) for kappa in _kappas(runs))


def _kappas(runs: int | None) -> tuple[float, ...]:
    """A geometric grid of accumulated noise: from that of the quietest scores to that of all planned replicates."""
    most = _KAPPA_MAX if runs is None else max(min(_KAPPA_MAX, runs / 4), runs / _NOISY_FOR)
    return _geometric(_KAPPA_MIN, most, _DESIGN_COUNT)


def _geometric(first: float, last: float, count: int) -> tuple[float, ...]:
    return tuple(first * (last / first) ** (place / (count - 1)) for place in range(count))


def given_stakes(values: Sequence[float], weights: Sequence[float] | None = None) -> Stakes:
    """A grid of the user's own; equal weights unless others are given, which may have any positive sum."""
    given = tuple(map(float, weights if weights is not None else (1.0 / len(values),) * len(values) if values else ()))
    total = math.fsum(given)
    if 0.0 < total < math.inf and not 1.0 - _CLOSE < total <= 1.0:
        given = _normalised(given)
    return Stakes(values=tuple(map(float, values)), weights=given)
