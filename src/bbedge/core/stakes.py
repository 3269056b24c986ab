"""Stake grids: how strongly each component of the mixture bets against the null.

A stake ``lambda`` is shared out over the blocks in proportion to their weight (``u_m = lambda * w_m / w_max``),
which is what keeps the bet fair when only the benchmark average is constrained.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from bbedge.core.kinds import StakeRule
from bbedge.errors import DomainError

CENTRED_MAX = 0.95
"""Largest stake that may be used with any prediction in [0, 1]."""

_PAPER_COUNT = 41
_DESIGN_COUNT = 12
_KAPPA_MIN, _KAPPA_MAX = 1 / 80, 25.0


def wide_max(tau: float) -> float:
    """Largest stake that keeps every factor positive when the prediction is the null value ``(1 + tau) / 2``."""
    return CENTRED_MAX / ((1.0 + tau) / 2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stakes:
    """A finite mixture of stakes, fixed before the first panel.

    >>> paper_stakes().values[-1]
    0.95
    """

    rule: StakeRule | Literal["given"]
    """Where the grid comes from. A named rule together with the rest of the design determines the values."""
    values: tuple[float, ...]
    """The stakes, each at least 0."""
    weights: tuple[float, ...]
    """Mixture weights, at least 0, with sum 1. Given ones may have any positive sum; they are normalised."""

    def __post_init__(self) -> None:
        if not self.values:
            raise DomainError("the stake grid is empty; give at least one stake")
        if len(self.values) != len(self.weights):
            raise DomainError(
                f"{len(self.values)} stakes but {len(self.weights)} mixture weights; give one weight per stake"
            )
        for value in self.values:
            if not (math.isfinite(value) and value >= 0.0):
                raise DomainError(f"stake {value} is not allowed; stakes are finite and at least 0")
        for weight in self.weights:
            if not (math.isfinite(weight) and weight >= 0.0):
                raise DomainError(f"mixture weight {weight} is not allowed; weights are finite and at least 0")
        total = sum(self.weights)
        if self.rule == "given" and 0.0 < total < math.inf:
            object.__setattr__(self, "weights", _normalised(self.weights))
        elif abs(total - 1.0) > 1e-12:
            raise DomainError(f"the mixture weights sum to {total}; they must sum to 1")

    @property
    def is_wide(self) -> bool:
        """Whether some stake lies above what an arbitrary prediction allows."""
        return max(self.values) > CENTRED_MAX


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
        rule="paper",
        values=tuple(k * CENTRED_MAX / last for k in range(_PAPER_COUNT)),
        weights=(1.0 / _PAPER_COUNT,) * _PAPER_COUNT,
    )


def design_stakes(*, alpha: float, tau: float, n_directions: int, effective_blocks: float) -> Stakes:
    """Twelve stakes fitted to the size of the design, from one quiet replicate to a hundred noisy ones.

    The stake that certifies first when the block noise has accumulated to ``kappa`` per block is near
    ``sqrt(2 log(H / alpha) / (M_eff kappa))``; ``kappa`` runs over a geometric grid from 1/80 to 25 and the result
    is capped at :func:`wide_max`. Nothing here depends on a score.
    """
    cap = wide_max(tau)
    ratio = _KAPPA_MAX / _KAPPA_MIN
    budget = 2.0 * math.log(n_directions / alpha)
    values = []
    for g in range(_DESIGN_COUNT):
        kappa = _KAPPA_MIN * ratio ** (g / (_DESIGN_COUNT - 1))
        values.append(min(cap, math.sqrt(budget / (effective_blocks * kappa))))
    return Stakes(rule="design", values=tuple(values), weights=(1.0 / _DESIGN_COUNT,) * _DESIGN_COUNT)


def given_stakes(values: tuple[float, ...], weights: tuple[float, ...] | None = None) -> Stakes:
    """A grid of the user's own; equal weights unless others are given."""
    if weights is None and values:
        weights = (1.0 / len(values),) * len(values)
    return Stakes(rule="given", values=tuple(map(float, values)), weights=tuple(map(float, weights or ())))
