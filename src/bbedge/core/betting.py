r"""The penalty of exact bets, ``z - log(1 + z)`` with ``z = lambda y``, for many stakes at once.

The product of a few factors is a polynomial of the stake whose coefficients no stake changes,

.. math:: (1 + \lambda y_1) (1 + \lambda y_2) = 1 + \lambda (y_1 + y_2) + \lambda^2 y_1 y_2,

so that all stakes together are a product of a small matrix of powers with the coefficients of all directions. In the
opposite direction without a margin, only the odd powers change sign. Products of many such values take one logarithm.
"""

from __future__ import annotations

import math

import numpy as np

from bbedge.core.arrays import UNIT, Array, Space, to_numpy
from bbedge.core.penalties import Bound, Columns, Features, Floats, Pairs, Rows, State, some_pairs, toward
from bbedge.core.predictions import Places

_RUN = 128  # factors multiplied before one logarithm; each lies in [0.05, 201], so 128 of them stay in range
_DEGREES = (4, 2, 1)  # factors in a polynomial
_CANCELLED = 512  # roundings, at most, that a bet may lose because the terms of its polynomial cancel


class BettingPenalty:
    """``z - log(1 + z)``, with one logarithm per run of factors instead of one per factor."""

    is_symmetric = False

    def __init__(
        self, stakes: Floats, relative_sizes: Floats, *, space: Space, pairs: Pairs, largest: int, reach: float
    ) -> None:
        """``reach`` is the largest possible ``-x``: 1 for any prediction, ``mu0`` for the null value."""
        self._stakes, of_stake = np.unique(stakes, return_inverse=True)
        self.coefficients: Floats = np.eye(len(self._stakes))[of_stake]
        self._n_blocks = len(relative_sizes)
        padded = np.zeros(-(-self._n_blocks // _DEGREES[0]) * _DEGREES[0])  # a share of zero is a factor of one
        padded[: self._n_blocks] = relative_sizes
        self._shares = space.asarray(padded)
        self._is_uniform = bool(np.all(relative_sizes == 1.0))  # what is padded has no residuals either
        self._space = space
        self._pairs = pairs
        self._sums = space.zeros(len(self._stakes), *pairs.shape)
        self._count = 0
        bets = self._stakes * reach
        degrees = [next(k for k in _DEGREES if _cancelled(bet, k) <= _CANCELLED) for bet in bets.tolist()]
        # A factor 1 + z >= 1 - b with a residual wrong by a few roundings is wrong by that times u / (1 - b) in its
        # logarithm; the linear term adds a run's worth of roundings; a polynomial what its terms may cancel.
        per_bet = (2 * (largest + 8) + 8) / (1.0 - bets) + _RUN + 8
        roundoff = UNIT * (relative_sizes.sum() * self._stakes * per_bet + 4 * self._n_blocks)
        lost = [_cancelled(bet, degree) for bet, degree in zip(bets.tolist(), degrees, strict=True)]
        roundoff += UNIT * self._n_blocks * np.array(lost)
        self._roundoff_there = space.asarray(roundoff)
        self._powers: list[tuple[int, slice, Array]] = []
        for degree in sorted(set(degrees)):  # the larger the stake, the lower the degree
            some = slice(degrees.index(degree), len(degrees) - degrees[::-1].index(degree))
            both = np.concatenate([self._stakes[some], -self._stakes[some]])  # of a bet, and of the opposite one
            self._powers.append((degree, some, space.asarray(both[:, None] ** np.arange(1, degree + 1))))

    def add(self, residuals: Columns, shift: float) -> None:
        """See :class:`Penalty`."""
        self._count += 1
        xp = self._space.xp
        everything = residuals(slice(0, self._n_blocks), None)
        half = xp.moveaxis(everything, -1, 0) / 2  # blocks x (batch x) models
        missing = self._shares.shape[0] - self._n_blocks
        if missing:
            half = xp.concat([half, self._space.zeros(missing, *half.shape[1:])])
        elif self._space.is_numpy:
            half = np.ascontiguousarray(half)
        first, second = half[..., self._pairs.rows], half[..., self._pairs.cols]
        n_rows = first.shape[-1]
        width = max(1, math.prod(self._sums.shape[1:]) // n_rows)
        step = max(1, self._space.tile // (min(_RUN, half.shape[0]) * width))
        for start in range(0, n_rows, step):
            self._add_rows(first, second, slice(start, min(start + step, n_rows)), shift)

    def _add_rows(self, first: Array, second: Array, rows: slice, shift: float) -> None:
        """Add the directions of some rows; of a square, both directions of the pairs on and above the diagonal."""
        xp, square = self._space.xp, self._pairs.is_square
        cols = slice(rows.start if square else 0, second.shape[-1])
        shape = (*first.shape[1:-1], rows.stop - rows.start, cols.stop - cols.start)
        # Ahead, and of a square also back: sides x stakes x (batch x) rows x columns.
        logs, linear = self._space.zeros(1 + square, len(self._stakes), *shape), self._space.zeros(*shape)
        for start in range(0, first.shape[0], _RUN):
            run = slice(start, min(start + _RUN, first.shape[0]))
            bet = first[run, ..., rows, None] - second[run, ..., None, cols]
            if not self._is_uniform:
                bet *= xp.reshape(self._shares[run], (-1,) + (1,) * (bet.ndim - 1))
            linear += xp.sum(bet, axis=0)
            if not shift:
                self._add_logs(bet, logs)
                continue
            moved = xp.reshape(self._shares[run] * shift, (-1,) + (1,) * (bet.ndim - 1))
            self._add_logs(bet - moved, logs[:1, ...])
            if square:
                self._add_logs(-bet - moved, logs[1:, ...])
        stakes, moved = self._space.column(self._stakes, linear.ndim + 1), float(xp.sum(self._shares)) * shift
        self._sums[..., rows, cols] += stakes * (linear - moved) - logs[0, ...]
        if square:  # the corner on the diagonal is in both halves
            back = (stakes * (-linear - moved) - logs[1, ...])[..., rows.stop - rows.start :]
            self._sums[..., rows.stop : cols.stop, rows] += xp.matrix_transpose(back)

    def _add_logs(self, bet: Array, logs: Array) -> None:
        """Add ``sum log(1 + z)`` over a run of bets, the first axis, for every stake; and of the opposite bets."""
        xp, coefficients = self._space.xp, bet[None, ...]
        for degree, some, powers in self._powers:
            while coefficients.shape[0] < degree:
                coefficients = _doubled(self._space, coefficients)
            flat = xp.reshape(coefficients, (degree, -1))
            n_sides, n_stakes = logs.shape[0], powers.shape[0] // 2
            # As many stakes at once as a temporary may hold, and both sides if it holds all stakes.
            step = min(n_stakes, max(1, self._space.tile // flat.shape[1]))
            together = n_sides if step == n_stakes else 1
            for side in range(0, n_sides, together):
                for start in range(0, n_stakes, step):
                    stop = min(start + step, n_stakes)
                    values = powers[side * n_stakes + start : (side + together - 1) * n_stakes + stop, :] @ flat
                    values += 1.0
                    product = xp.prod(xp.reshape(values, (values.shape[0], *coefficients.shape[1:])), axis=1)
                    found = xp.reshape(xp.log(product), (together, stop - start, *bet.shape[1:]))
                    logs[side : side + together, some.start + start : some.start + stop, ...] += found

    def features(self, terms: int, bound: Bound = "lower") -> Features:
        """See :class:`Penalty`."""
        up = 1.0 + toward(bound) * (self._count + 128 + 2 * terms) * UNIT
        slack = self._space.column(self._roundoff_there * (toward(bound) * self._count), self._sums.ndim)

        def read(rows: Places, cols: Places) -> list[Array]:
            # Every bet's penalty is nonnegative, so a negative sum can only be rounding.
            return [self._space.xp.clip(some_pairs(self._space, self._sums, rows, cols), 0.0, None) * up + slack]

        return read

    def keep(self, rows: Rows) -> None:
        """See :class:`Penalty`."""
        self._sums = self._space.take(self._space.take(self._sums, rows, axis=-2), rows, axis=-1)
        self._pairs, _ = self._pairs.kept(rows)

    def split(self) -> None:
        """See :class:`Penalty`."""
        self._pairs = Pairs.of_sides(self._pairs.n_models, self._pairs.batch)

    def state(self) -> State:
        """See :class:`Penalty`."""
        return {"sums": to_numpy(self._sums), "count": np.array([self._count], dtype=np.float64)}

    def restore(self, state: State) -> None:
        """See :class:`Penalty`."""
        self._sums = self._space.asarray(state["sums"])
        self._count = int(state["count"][0])


def _cancelled(bet: float, degree: int) -> float:
    """Roundings that a factor of ``1 - b`` or more may lose in a polynomial, whose terms add up to ``(1 + b)^k``."""
    return 0.0 if degree == 1 else 16 / degree * ((1.0 + bet) / (1.0 - bet)) ** degree


def _doubled(space: Space, coefficients: Array) -> Array:
    """The coefficients of products of two: degree x polynomials x ..., of twice the degree and half as many."""
    degree, count = coefficients.shape[0], coefficients.shape[1] // 2
    out = space.empty(2 * degree, count, *coefficients.shape[2:])
    left, right = coefficients[:, :count, ...], coefficients[:, count:, ...]
    if degree == 1:
        out[0, ...] = left[0, ...] + right[0, ...]
        out[1, ...] = left[0, ...] * right[0, ...]
        return out
    (s, p), (t, q) = (left[0, ...], left[1, ...]), (right[0, ...], right[1, ...])
    out[0, ...] = s + t
    out[1, ...] = s * t
    out[1, ...] += p + q
    out[2, ...] = s * q
    out[2, ...] += t * p
    out[3, ...] = p * q
    return out
