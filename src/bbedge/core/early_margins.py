r"""Margins inside the first pass: how large a difference must be, from the first n blocks of a random order.

No prediction may be used there, so the null value is moved in the bets themselves. With :math:`\mu_t = (1 + t) / 2` the
evidence that a difference exceeds ``t`` is

.. math:: E^{(t)} = \sum_g \rho_g \prod_j \bigl(1 + u_j(t) (Y_j - \mu_t)\bigr), \qquad
          u_j(t) = \min(\lambda_g, 0.95 / \mu_t)\, w_j / w^*,

and falls in every factor as ``t`` grows, also where the stake is cut: then a factor is
:math:`1 + 0.95\, (w_j / w^*) (Y_j / \mu_t - 1)`. So the difference is at least every ``t`` at which it reaches
the threshold. It is read off a lower bound, the sharp one, which needs the sums of the first four powers of the
differences and no product for every ``t``.
"""

from __future__ import annotations

import math

import numpy as np

from bbedge.core.arrays import UNIT, Array, Space
from bbedge.core.mixture import Bets
from bbedge.core.penalties import Pairs, Rows, sharp_tail
from bbedge.core.stakes import CENTRED_MAX

_STEPS = 26  # halvings of [-1, 1], each checked: what is left is below what is shown
_POWERS = 4


class PartMoments:
    """Sums of powers of the differences of block means before a checkpoint, of every direction of a view.

    **Guarantee:** :meth:`log_e` is at most the logarithm of the evidence that differences exceed ``t``, and a true
    difference is below :meth:`bounds` with a probability of at most ``exp(-log_threshold)``.
    """

    def __init__(self, bets: Bets, space: Space, sums: Array) -> None:
        layout = bets.layout
        self._bets = bets
        self._space = space
        self.sums = sums
        """Sums x (batch x) rows x columns."""
        shares = layout.relative_weights
        self._counts = [math.fsum(shares**k) for k in range(1, _POWERS + 1)]
        # Block means, their powers and sums over blocks are wrong by so many roundings of numbers that, times the
        # largest possible bets, add up to less than 260 for a block.
        n = len(shares)
        self._slack = 260.0 * n * (n + 4 * layout.roundings + 64) * UNIT + 1e-12

    @classmethod
    def of(cls, bets: Bets, space: Space, means: Array, pairs: Pairs) -> PartMoments:
        """From the block means of every model: (batch x) rows x blocks."""
        xp, shares = space.xp, bets.layout.relative_weights
        first, second = means[..., pairs.rows, :], means[..., pairs.cols, :]
        found: list[Array] = []
        for k, i in _terms(_is_uniform(bets)):
            weight = space.asarray(shares**k)
            total = space.zeros(*pairs.shape)
            for j in range(i + 1):  # (a - b)^i
                product = (first ** (i - j) * weight) @ xp.matrix_transpose(second**j)
                total = total + (-1) ** j * math.comb(i, j) * product
            found.append(total)
        return cls(bets, space, xp.stack(found))

    def log_e(self, t: Array | float) -> Array:
        """A lower bound of the logarithm of the evidence that differences exceed ``t``, one number or one for each."""
        xp = self._space.xp
        t = self._space.zeros(*self.sums.shape[1:]) + t
        powers = self._powers(t)
        cut = CENTRED_MAX / xp.clip((1.0 + t) / 2.0, 1e-3, None)
        total = xp.full_like(t, -xp.inf)
        for stake, weight in zip(self._bets.stakes.values, self._bets.stakes.weights, strict=True):
            tail = float(sharp_tail(np.array(min(stake, CENTRED_MAX))))  # for u mu_t, which is at most that
            half = xp.clip(cut, None, stake) / 2.0
            value = half * (powers[0] - half * (powers[1] / 2 - half * (powers[2] / 3 - tail * half * powers[3])))
            total = xp.logaddexp(total, value + math.log(weight))
        return total - self._slack - 64 * UNIT * xp.abs(total)

    def _powers(self, t: Array) -> list[Array]:
        """``sum_j s_j^k (d_j - t)^k`` for each k."""
        uniform, terms = _is_uniform(self._bets), _terms(_is_uniform(self._bets))
        place = {term: self.sums[number, ...] for number, term in enumerate(terms)}
        powers = []
        for k in range(1, _POWERS + 1):
            total = self._counts[k - 1] * (-t) ** k
            for i in range(1, k + 1):
                total = total + math.comb(k, i) * (-t) ** (k - i) * place[0 if uniform else k, i]
            powers.append(total)
        return powers

    def bounds(self, log_threshold: float) -> Array:
        """The largest ``t`` that was found at which the evidence reaches the threshold; -1 if there is none."""
        xp = self._space.xp
        low = self._space.zeros(*self.sums.shape[1:]) - 1.0
        high = low + 2.0
        for _ in range(_STEPS):
            middle = (low + high) / 2.0
            reached = self.log_e(middle) >= log_threshold
            low, high = xp.where(reached, middle, low), xp.where(reached, high, middle)
        return low

    def keep(self, rows: Rows) -> None:
        """Forget all models but these."""
        self.sums = self._space.take(self._space.take(self.sums, rows, axis=-2), rows, axis=-1)


def _is_uniform(bets: Bets) -> bool:
    return bool(np.all(bets.layout.relative_weights == 1.0))


def _terms(uniform: bool) -> list[tuple[int, int]]:
    """The powers of the share and of the difference in each sum; of equal shares, all are 1."""
    if uniform:
        return [(0, i) for i in range(1, _POWERS + 1)]
    return [(k, i) for k in range(1, _POWERS + 1) for i in range(1, k + 1)]
