r"""What the evidence pays for noise: the penalty of each kind, for all directions at once.

Every kind of evidence has the form, for stake ``lambda``,

.. math:: \log E(\lambda) = \frac{\lambda}{w_{max}} T - P(\lambda), \qquad P(\lambda) = \sum_{r,m} h(u_m, x_{m,r}),

with residual ``x = Y - p`` and a penalty ``h >= 0`` that names the kind:

=========== ======================================================================
hoeffding   ``u^2 / 8``
bernstein   ``psi(u) x^2`` with ``psi(u) = -log(1 - u) - u``
sharp       ``z^2/2 - z^3/3 + c(b) z^4`` with ``z = u x >= -b``
betting     ``z - log(1 + z)``
=========== ======================================================================

Each class here keeps what ``P`` needs for a set of stakes, as a few numbers per direction, the *features*: ``P`` is
a fixed matrix times them. The features are moved to the safe side by whatever rounding may have taken, so that
rounding can lower evidence and never raise it. ``docs/guarantees.md`` derives the bounds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bbedge.core.arrays import UNIT, Array, Floats, Places, Rows, Space, State, to_numpy
from bbedge.core.panels import BlockLayout

Columns = Callable[[Places, Array | None], Array]
"""Gives the residuals of some blocks, (batch x) models x those blocks, in an array that may be overwritten: a new one,
or the one that is given for it."""
Bound = Literal["lower", "upper"]
"""On which side of the exact evidence a number is: below it where it certifies, above it where it is divided by."""
Features = Callable[[Places, Places], list[Array]]
"""Gives the features of some rows and columns: arrays of features x (batch x) rows x columns, to be put together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Directions:
    """Which directions are kept: from the row models to the column models of a panel, over a batch of panels.

    >>> Directions.all(3).is_square
    True
    """

    rows: slice
    """The models that may be better."""
    cols: slice
    """The models that they are compared with."""
    batch: tuple[int, ...] = ()
    """Independent repetitions that are computed together: leading axes of every array."""

    @classmethod
    def all(cls, n_models: int, batch: tuple[int, ...] = ()) -> Directions:
        """All directions between so many models."""
        return cls(rows=slice(0, n_models), cols=slice(0, n_models), batch=batch)

    @classmethod
    def of_sides(cls, n_models: int, batch: tuple[int, ...] = ()) -> Directions:
        """All directions between so many models that have two rows each: one as the better, one as the worse model."""
        return cls(rows=slice(0, n_models), cols=slice(n_models, 2 * n_models), batch=batch)

    def kept(self, rows: Rows) -> tuple[Directions, Rows]:
        """The directions between some of the models, and the rows of a panel that these have."""
        if self.is_square:
            return Directions.all(len(rows), self.batch), rows
        return Directions.of_sides(len(rows), self.batch), np.concatenate([rows, rows + self.cols.start])

    @property
    def is_square(self) -> bool:
        """Whether every model is compared with every other, and has one row for both."""
        return self.rows == self.cols

    @property
    def shape(self) -> tuple[int, ...]:
        """(batch x) rows x columns."""
        return (*self.batch, self.rows.stop - self.rows.start, self.cols.stop - self.cols.start)

    @property
    def n_models(self) -> int:
        """Models that a panel has."""
        return int(max(self.rows.stop, self.cols.stop))


class Penalty(ABC):
    """Accumulates the penalties of a set of stakes over replicates, in named arrays."""

    coefficients: Floats
    """Stakes x features: what the features are multiplied with."""
    is_symmetric: bool
    """Whether both directions of a pair pay the same, as far as the evidence kind decides."""

    def __init__(self, space: Space, pairs: Directions) -> None:
        self._space = space
        self._pairs = pairs
        self._count = 0
        self._arrays: dict[str, Array] = {}  # (something x batch x) rows x columns, or models
        self._places: Sequence[int] = ()  # of each stake in arrays that are kept per stake

    @abstractmethod
    def add(self, residuals: Columns, shift: float) -> None:
        """Add a replicate of per-model residuals; a pair's is ``(res_a - res_b) / 2 - shift``."""

    @abstractmethod
    def features(self, terms: int, bound: Bound = "lower") -> Features:
        """The features, such that ``coefficients @ features`` is at least the penalty, for a lower bound of evidence.

        For an upper bound it is at most the penalty. Both stay true if the product is computed in float64 with at most
        ``terms`` roundings.
        """

    def keep(self, rows: Rows) -> None:
        """Forget all models but these."""
        self._pairs, of_models = self._pairs.kept(rows)
        for name, array in self._arrays.items():
            of_pairs = self._is_of_pairs(array)
            self._arrays[name] = (
                self._space.take_pairs(array, rows, rows) if of_pairs else self._space.take(array, of_models)
            )

    def split(self) -> None:
        """Give every model two rows from now on: see :meth:`Directions.of_sides`."""
        self._pairs = Directions.of_sides(self._pairs.n_models, self._pairs.batch)
        for name, array in self._arrays.items():
            if not self._is_of_pairs(array):
                self._arrays[name] = self._space.xp.concat([array, array], axis=-1)

    def join(self, parts: Sequence[Penalty]) -> None:
        """Take over what penalties have accumulated over the same replicates that have these stakes, in their order."""
        places = iter(self._places)
        for part in parts:
            self._count = part._count
            for from_place in part._places:
                to_place = next(places)
                for name, array in self._arrays.items():
                    array[to_place, ...] = part._arrays[name][from_place, ...]

    def _is_of_pairs(self, array: Array) -> bool:
        return bool(array.ndim == 3 + len(self._pairs.batch))  # and else of models

    def state(self) -> State:
        """Everything accumulated, as arrays."""
        count = {"count": np.array([self._count], dtype=np.float64)}
        return {name: to_numpy(array) for name, array in self._arrays.items()} | count

    def restore(self, state: State) -> None:
        """Take over what :meth:`state` returned."""
        self._arrays = {name: self._space.asarray(state[name]) for name in self._arrays}
        self._count = int(state["count"][0])


def error_sign(bound: Bound) -> int:
    """The sign with which a penalty's error is added to it."""
    return 1 if bound == "lower" else -1


def bernstein_psi(u: Floats) -> Floats:
    """``-log(1 - u) - u``, the published penalty coefficient."""
    return -np.log1p(-u) - u


def sharp_tail(b: Floats) -> Floats:
    """``(-log(1 - b) - b - b^2/2 - b^3/3) / b^4``: the smallest safe coefficient of ``z^4`` for ``z >= -b``.

    >>> float(np.round(sharp_tail(np.array(0.0)), 12))
    0.25
    """
    b = np.asarray(b, dtype=np.float64)
    small = b < 0.3
    # The closed form cancels for small b; there the series sum_{j>=4} b^(j-4) / j is summed instead.
    series, near, far = np.zeros_like(b), np.where(small, b, 0.0), np.where(small, 0.5, b)
    for j in range(44, 3, -1):
        series = series * near + 1.0 / j
    return np.where(small, series, (-np.log1p(-far) - far - far**2 / 2 - far**3 / 3) / far**4)


class HoeffdingPenalty(Penalty):
    """``u^2 / 8`` per block and replicate, whatever the scores do."""

    is_symmetric = True

    def __init__(self, stakes: Floats, layout: BlockLayout, *, space: Space, pairs: Directions) -> None:
        super().__init__(space, pairs)
        self.coefficients = (stakes**2 * np.square(layout.relative_weights).sum() / 8.0)[:, None]
        self._roundoff = (layout.count + 8) * UNIT

    def add(self, residuals: Columns, shift: float) -> None:
        """See :class:`Penalty`."""
        self._count += 1

    def features(self, terms: int, bound: Bound = "lower") -> Features:
        """See :class:`Penalty`."""
        replicates = self._count * (1.0 + error_sign(bound) * self._roundoff + error_sign(bound) * 2 * terms * UNIT)

        def read(rows: Places, cols: Places) -> list[Array]:
            lengths = (each.stop - each.start if isinstance(each, slice) else len(each) for each in (rows, cols))
            return [self._space.zeros(1, *self._pairs.batch, *lengths) + replicates]

        return read


_RUN = 128  # factors multiplied before one logarithm; each lies in [0.05, 201], so 128 of them stay in range
_DEGREES = (4, 2, 1)  # factors in a polynomial
_CANCELLED = 512  # roundings, at most, that a bet may lose because the terms of its polynomial cancel


class BettingPenalty(Penalty):
    r"""``z - log(1 + z)`` with ``z = lambda y``: one logarithm per run of factors, for all stakes at once.

    The product of a few factors is a polynomial of the stake whose coefficients no stake changes,

    .. math:: (1 + \lambda y_1) (1 + \lambda y_2) = 1 + \lambda (y_1 + y_2) + \lambda^2 y_1 y_2,

    so that all stakes together are a product of a small matrix of powers with the coefficients of all directions. In
    the opposite direction without a margin, only the odd powers change sign.
    """

    is_symmetric = False

    def __init__(self, stakes: Floats, layout: BlockLayout, *, space: Space, pairs: Directions, reach: float) -> None:
        """``reach`` is the largest possible ``-x``: 1 for any prediction, ``mu0`` for the null value."""
        super().__init__(space, pairs)
        shares = layout.relative_weights
        self._stakes, of_stake = _each_once(stakes)
        self._places = of_stake.tolist()
        self.coefficients = np.eye(len(self._stakes))[of_stake]
        self._n_blocks = len(shares)
        # A share of zero is a factor of one.
        self._shares = space.asarray(np.concatenate([shares, np.zeros(-self._n_blocks % _DEGREES[0])]))
        self._is_uniform = bool(np.all(shares == 1.0))  # what is padded has no residuals either
        self._arrays["sums"] = space.zeros(len(self._stakes), *pairs.shape)
        largest = np.reshape(self._stakes, (len(self._stakes), -1)).max(axis=1)  # of any repetition
        bets = largest * reach
        degrees = [next(k for k in _DEGREES if _cancelled(bet, k) <= _CANCELLED) for bet in bets.tolist()]
        # A factor 1 + z >= 1 - b with a residual wrong by a few roundings is wrong by that times u / (1 - b) in its
        # logarithm; the linear term adds a run's worth of roundings; a polynomial what its terms may cancel.
        per_bet = (2 * (layout.roundings + 8) + 8) / (1.0 - bets) + _RUN + 8
        roundoff = UNIT * (shares.sum() * largest * per_bet + 4 * self._n_blocks)
        lost = [_cancelled(bet, degree) for bet, degree in zip(bets.tolist(), degrees, strict=True)]
        roundoff += UNIT * self._n_blocks * np.array(lost)
        self._roundoff_there = space.asarray(roundoff)
        self._powers: list[tuple[int, slice, Array]] = []
        for degree in sorted(set(degrees)):  # the larger the stake, the lower the degree
            some = slice(degrees.index(degree), len(degrees) - degrees[::-1].index(degree))
            both = np.concatenate([self._stakes[some], -self._stakes[some]])  # of a bet, and of the opposite one
            powers = np.moveaxis(both, 0, -1)[..., None] ** np.arange(1, degree + 1)
            self._powers.append((degree, some, space.asarray(powers)))  # (batch x) stakes x degrees

    def add(self, residuals: Columns, shift: float) -> None:
        """See :class:`Penalty`."""
        self._count += 1
        xp = self._space.xp
        half = xp.moveaxis(residuals(slice(0, self._n_blocks), None), -1, 0) / 2  # blocks x (batch x) models
        missing = self._shares.shape[0] - self._n_blocks
        if missing:
            half = xp.concat([half, self._space.zeros(missing, *half.shape[1:])])
        elif self._space.is_numpy:
            half = np.ascontiguousarray(half)
        first, second = half[..., self._pairs.rows], half[..., self._pairs.cols]
        n_rows = first.shape[-1]
        width = max(1, math.prod(self._arrays["sums"].shape[1:]) // n_rows)
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
        moved = float(xp.sum(self._shares)) * shift
        one_by_one = (1,) * (linear.ndim + 1 - self._stakes.ndim)
        stakes = self._space.asarray(np.reshape(self._stakes, (*self._stakes.shape, *one_by_one)))
        self._arrays["sums"][..., rows, cols] += stakes * (linear - moved) - logs[0, ...]
        if square:  # the corner on the diagonal is in both halves
            back = (stakes * (-linear - moved) - logs[1, ...])[..., rows.stop - rows.start :]
            self._arrays["sums"][..., rows.stop : cols.stop, rows] += xp.matrix_transpose(back)

    def _add_logs(self, bet: Array, logs: Array) -> None:
        """Add ``sum log(1 + z)`` over a run of bets, the first axis, for every stake; and of the opposite bets."""
        xp, coefficients = self._space.xp, bet[None, ...]
        for degree, some, powers in self._powers:
            while coefficients.shape[0] < degree:
                coefficients = _doubled(self._space, coefficients)
            n_sides, n_stakes = logs.shape[0], powers.shape[-2] // 2
            # As many stakes at once as a temporary may hold, and both sides if it holds all stakes.
            step = min(n_stakes, max(1, self._space.tile // math.prod(coefficients.shape[1:])))
            together = n_sides if step == n_stakes else 1
            for side in range(0, n_sides, together):
                for start in range(0, n_stakes, step):
                    stop = min(start + step, n_stakes)
                    chosen = powers[..., side * n_stakes + start : (side + together - 1) * n_stakes + stop, :]
                    product = _product(chosen, coefficients, xp)
                    found = xp.reshape(xp.log(product), (together, stop - start, *bet.shape[1:]))
                    logs[side : side + together, some.start + start : some.start + stop, ...] += found

    def features(self, terms: int, bound: Bound = "lower") -> Features:
        """See :class:`Penalty`."""
        up = 1.0 + error_sign(bound) * (self._count + 128 + 2 * terms) * UNIT
        slack = self._space.column(self._roundoff_there * (error_sign(bound) * self._count), self._arrays["sums"].ndim)

        def read(rows: Places, cols: Places) -> list[Array]:
            # Every bet's penalty is nonnegative, so a negative sum can only be rounding.
            return [
                self._space.xp.clip(self._space.take_pairs(self._arrays["sums"], rows, cols), 0.0, None) * up + slack
            ]

        return read


def _cancelled(bet: float, degree: int) -> float:
    """Roundings that a factor of ``1 - b`` or more may lose in a polynomial, whose terms add up to ``(1 + b)^k``."""
    return 0.0 if degree == 1 else 16 / degree * ((1.0 + bet) / (1.0 - bet)) ** degree


def _each_once(stakes: Floats) -> tuple[Floats, Rows]:
    """Rising stakes, and the place of each in them; of repetitions with stakes of their own, by the largest."""
    if stakes.ndim == 1:
        return np.unique(stakes, return_inverse=True)
    order = np.argsort(np.reshape(stakes, (len(stakes), -1)).max(axis=1), kind="stable")
    return stakes[order], np.argsort(order)


def _product(powers: Array, coefficients: Array, xp: Any) -> Array:  # noqa: ANN401 - libraries have no common type
    """The product of one plus each polynomial of every stake: stakes x (batch x) rows x columns.

    The coefficients are degree x polynomials x (batch x) rows x columns, the powers stakes x degree; where repetitions
    have stakes of their own, batch x stakes x degree.
    """
    degree, *shape = coefficients.shape
    if len(powers.shape) == 2:
        values = powers @ xp.reshape(coefficients, (degree, -1))
        values += 1.0
        return xp.prod(xp.reshape(values, (-1, *shape)), axis=1)
    count, *batch, n_rows, n_cols = shape
    last = len(batch) + 2
    first = xp.permute_dims(coefficients, (*range(2, last), 0, 1, last, last + 1))
    values = powers @ xp.reshape(first, (*batch, degree, -1))
    values += 1.0
    product = xp.prod(xp.reshape(values, (*batch, -1, count, n_rows, n_cols)), axis=len(batch) + 1)
    return xp.moveaxis(product, len(batch), 0)


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
