r"""Margins inside the first pass: how large a difference must be, from the first n blocks of a random order.

No prediction may be used there, so the null value is moved in the bets themselves. With :math:`\mu_t = (1 + t) / 2` the
evidence that a difference exceeds ``t`` is

.. math:: E^{(t)} = \sum_g \rho_g \prod_j \bigl(1 + u_j(t) (Y_j - \mu_t)\bigr), \qquad
          u_j(t) = \min(\lambda_g, 0.95 / \mu_t)\, w_j / w^*,

and falls in every factor as ``t`` grows, also where the stake is cut: then a factor is
:math:`1 + 0.95\, (w_j / w^*) (Y_j / \mu_t - 1)`. So the difference is at least every ``t`` at which it reaches
the threshold. Where the products would cost too much, a lower bound of them is used, the sharp one, which needs the
sums of the first four powers of the differences and no product for every ``t``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bbedge.core.arrays import UNIT, Array, Space
from bbedge.core.mixture import Bets
from bbedge.core.penalties import Pairs, sharp_tail
from bbedge.core.stakes import CENTRED_MAX

_STEPS = 20  # halvings of [-1, 1], each checked: what is left is below what is shown
_POWERS = 4
_RUN = 64  # factors multiplied before one logarithm; each lies in [0.05, 2.9], so 64 of them stay in range
EXACT_LIMIT = 60_000
"""Exact products are used up to so many (direction, block) pairs."""

AtDifference = Callable[[Array], Array]
"""From a difference for each direction to a lower bound of the logarithm of the evidence that it is exceeded."""


def log_e_above(bets: Bets, space: Space, means: Array, pairs: Pairs) -> AtDifference:
    """The evidence of a checkpoint that differences exceed others, from block means: (batch x) rows x blocks.

    **Guarantee:** what it returns is at most the logarithm of ``E^(t)``, whose mean is at most 1 where the difference
    is ``t``, over the random order and the scores.
    """
    if math.prod(pairs.shape) * means.shape[-1] <= EXACT_LIMIT:
        return _exact(bets, space, means, pairs)
    return _sharp(bets, space, means, pairs)


def lower_bounds(log_e: AtDifference, start: Array, log_threshold: float, space: Space) -> Array:
    """The largest differences that were found at which the evidence reaches the threshold; -1 if there are none.

    ``start`` is any array of the shape of the directions. What is returned was tried, so that the search cannot end on
    the wrong side.
    """
    xp = space.xp
    low = xp.zeros_like(start) - 1.0
    high = low + 2.0
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        reached = log_e(middle) >= log_threshold
        low, high = xp.where(reached, middle, low), xp.where(reached, high, middle)
    return low


def _exact(bets: Bets, space: Space, means: Array, pairs: Pairs) -> AtDifference:
    xp, n = space.xp, means.shape[-1]
    missing = -n % _RUN  # a share of zero is a factor of one
    shares = space.asarray(np.concatenate([bets.layout.relative_weights, np.zeros(missing)]))
    first, second = means[..., pairs.rows, :], means[..., pairs.cols, :]
    difference = first[..., :, None, :] - second[..., None, :, :]
    if missing:
        difference = xp.concat([difference, space.zeros(*difference.shape[:-1], missing)], axis=-1)
    # A factor of 0.05 or more, whose block means are wrong by a few roundings.
    slack = n * 40 * (bets.layout.roundings + 24) * UNIT + 1e-12

    def read(t: Array) -> Array:
        bet = shares * (difference - t[..., None])
        total = xp.full_like(t, -xp.inf)
        for half, weight in _stakes(bets, space, t):
            factors = 1.0 + half[..., None] * bet
            product = xp.prod(xp.reshape(factors, (*t.shape, -1, _RUN)), axis=-1)
            total = xp.logaddexp(total, xp.sum(xp.log(product), axis=-1) + math.log(weight))
        return total - slack - 64 * UNIT * xp.abs(total)

    return read


def _sharp(bets: Bets, space: Space, means: Array, pairs: Pairs) -> AtDifference:
    xp, shares, n = space.xp, bets.layout.relative_weights, means.shape[-1]
    counts = [math.fsum(shares**k) for k in range(1, _POWERS + 1)]
    sums = _sums(bets, space, means, pairs)
    # Block means, their powers and sums over blocks are wrong by so many roundings of numbers that, times the largest
    # possible bets, add up to less than 260 for a block.
    slack = 260.0 * n * (n + 4 * bets.layout.roundings + 64) * UNIT + 1e-12

    def read(t: Array) -> Array:
        powers = []  # sum_j s_j^k (d_j - t)^k
        for k in range(1, _POWERS + 1):
            total = counts[k - 1] * (-t) ** k
            for i in range(1, k + 1):
                total = total + math.comb(k, i) * (-t) ** (k - i) * sums[k, i]
            powers.append(total)
        total = xp.full_like(t, -xp.inf)
        tails = [float(sharp_tail(np.array(min(stake, CENTRED_MAX)))) for stake in bets.stakes.values]  # u mu_t is less
        for (half, weight), tail in zip(_stakes(bets, space, t), tails, strict=True):
            value = half * (powers[0] - half * (powers[1] / 2 - half * (powers[2] / 3 - tail * half * powers[3])))
            total = xp.logaddexp(total, value + math.log(weight))
        return total - slack - 64 * UNIT * xp.abs(total)

    return read


def _stakes(bets: Bets, space: Space, t: Array) -> list[tuple[Array, float]]:
    """Half of each stake, cut to what the difference of each direction allows, and its weight."""
    cut = CENTRED_MAX / space.xp.clip((1.0 + t) / 2.0, 1e-3, None)
    stakes = zip(bets.stakes.values, bets.stakes.weights, strict=True)
    return [(space.xp.clip(cut, None, stake) / 2.0, weight) for stake, weight in stakes]


def _sums(bets: Bets, space: Space, means: Array, pairs: Pairs) -> dict[tuple[int, int], Array]:
    """``sum_j s_j^k d_j^i`` of every direction; where all shares are 1, those of one k are those of all."""
    first, second = means[..., pairs.rows, :], means[..., pairs.cols, :]
    shares = bets.layout.relative_weights
    found: dict[tuple[int, int], Array] = {}
    is_uniform = bool(np.all(shares == 1.0))
    for i in range(1, _POWERS + 1):
        for k in range(i, _POWERS + 1):
            if is_uniform and k > i:
                found[k, i] = found[i, i]
                continue
            weight, total = space.asarray(shares**k), space.zeros(*pairs.shape)
            for j in range(i + 1):  # (a - b)^i
                product = (first ** (i - j) * weight) @ space.xp.matrix_transpose(second**j)
                total = total + (-1) ** j * math.comb(i, j) * product
            found[k, i] = total
    return found
