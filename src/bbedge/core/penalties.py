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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import UNIT, Array, Space, to_numpy
from bbedge.core.predictions import Places, some

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
State = dict[str, np.ndarray]
Columns = Callable[[Places, Array | None], Array]
"""Gives the residuals of some blocks, (batch x) models x those blocks, in an array that may be overwritten: a new one,
or the one that is given for it."""
Bound = Literal["lower", "upper"]
"""On which side of the exact evidence a number is: below it where it certifies, above it where it is divided by."""
Features = Callable[[Places, Places], list[Array]]
"""Gives the features of some rows and columns: arrays of features x (batch x) rows x columns, to be put together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Which directions are kept: from the row models to the column models of a panel, over a batch of panels.

    >>> Pairs.all(3).is_square
    True
    """

    rows: slice
    """The models that may be better."""
    cols: slice
    """The models that they are compared with."""
    batch: tuple[int, ...] = ()
    """Independent repetitions that are computed together: leading axes of every array."""

    @classmethod
    def all(cls, n_models: int, batch: tuple[int, ...] = ()) -> Pairs:
        """All directions between so many models."""
        return cls(rows=slice(0, n_models), cols=slice(0, n_models), batch=batch)

    @property
    def is_square(self) -> bool:
        """Whether every model is compared with every other."""
        return self.rows == self.cols

    @property
    def shape(self) -> tuple[int, ...]:
        """(batch x) rows x columns."""
        return (*self.batch, self.rows.stop - self.rows.start, self.cols.stop - self.cols.start)

    @property
    def n_models(self) -> int:
        """Models that a panel has."""
        return int(max(self.rows.stop, self.cols.stop))


class Penalty(Protocol):
    """Accumulates the penalties of a set of stakes over replicates."""

    @property
    def coefficients(self) -> Floats:
        """Stakes x features: what the features are multiplied with."""
        ...

    @property
    def is_symmetric(self) -> bool:
        """Whether both directions of a pair pay the same, as far as the evidence kind decides."""
        ...

    def add(self, residuals: Columns, shift: float) -> None:
        """Add a replicate of per-model residuals; a pair's is ``(res_a - res_b) / 2 - shift``."""
        ...

    def features(self, terms: int, bound: Bound = "lower") -> Features:
        """The features, such that ``coefficients @ features`` is at least the penalty, for a lower bound of evidence.

        For an upper bound it is at most the penalty. Both stay true if the product is computed in float64 with at most
        ``terms`` roundings.
        """
        ...

    def keep(self, rows: Rows) -> None:
        """Forget all models but these."""
        ...

    def state(self) -> State:
        """Everything accumulated, as arrays."""
        ...

    def restore(self, state: State) -> None:
        """Take over what :meth:`state` returned."""
        ...


def toward(bound: Bound) -> int:
    """The sign with which a penalty's error is added to it."""
    return 1 if bound == "lower" else -1


def some_pairs(space: Space, array: Array, rows: Places, cols: Places) -> Array:
    """Some rows and columns of arrays of directions."""
    return some(space, some(space, array, rows, axis=-2), cols)


def _length(places: Places) -> int:
    return places.stop - places.start if isinstance(places, slice) else len(places)


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
    near = np.where(small, b, 0.0)
    series = np.zeros_like(b)
    for j in range(44, 3, -1):
        series = series * near + 1.0 / j
    far = np.where(small, 0.5, b)
    closed = (-np.log1p(-far) - far - far**2 / 2 - far**3 / 3) / far**4
    return np.where(small, series, closed)


class HoeffdingPenalty:
    """``u^2 / 8`` per block and replicate, whatever the scores do."""

    is_symmetric = True

    def __init__(self, stakes: Floats, relative_sizes: Floats, *, space: Space, pairs: Pairs) -> None:
        self.coefficients: Floats = (stakes**2 * np.square(relative_sizes).sum() / 8.0)[:, None]
        self._roundoff = (len(relative_sizes) + 8) * UNIT
        self._space = space
        self._batch = pairs.batch
        self._count = 0

    def add(self, residuals: Columns, shift: float) -> None:
        """See :class:`Penalty`."""
        self._count += 1

    def features(self, terms: int, bound: Bound = "lower") -> Features:
        """See :class:`Penalty`."""
        replicates = self._count * (1.0 + toward(bound) * (self._roundoff + 2 * terms * UNIT))

        def read(rows: Places, cols: Places) -> list[Array]:
            return [self._space.zeros(1, *self._batch, _length(rows), _length(cols)) + replicates]

        return read

    def keep(self, rows: Rows) -> None:
        """See :class:`Penalty`."""

    def state(self) -> State:
        """See :class:`Penalty`."""
        return {"count": np.array([self._count], dtype=np.float64)}

    def restore(self, state: State) -> None:
        """See :class:`Penalty`."""
        self._count = int(state["count"][0])


_RUN = 128  # factors multiplied before one logarithm; each lies in [0.05, 1.95], so 128 of them stay in range


class BettingPenalty:
    """``z - log(1 + z)`` exactly, with one logarithm per run of factors instead of one per factor."""

    is_symmetric = False

    def __init__(
        self, stakes: Floats, relative_sizes: Floats, *, space: Space, pairs: Pairs, largest: int, reach: float
    ) -> None:
        """``reach`` is the largest possible ``-x``: 1 for any prediction, ``mu0`` for the null value."""
        self._stakes, of_stake = np.unique(stakes, return_inverse=True)
        self.coefficients: Floats = np.eye(len(self._stakes))[of_stake]
        self._relative_sizes = relative_sizes
        self._shares = space.asarray(relative_sizes)
        self._space = space
        self._pairs = pairs
        # Four temporaries are in use at once and share a core's cache; an accelerator has room for all.
        self._tile = space.tile // 4 if space.is_numpy else space.tile
        self._sums = space.zeros(len(self._stakes), *pairs.shape)
        self._count = 0
        # A factor 1 + z >= 1 - b with a residual wrong by a few roundings is wrong by that times u / (1 - b) in its
        # logarithm; the linear term adds a run's worth of roundings, forming the factor a few that u does not scale.
        room = 1.0 - self._stakes * reach
        per_bet = (2 * (largest + 8) + 8) / room + _RUN + 8
        roundoff = UNIT * (relative_sizes.sum() * self._stakes * per_bet + 4 * len(relative_sizes))
        self._roundoff_there, self._stakes_there = space.asarray(roundoff), space.asarray(self._stakes)

    def add(self, residuals: Columns, shift: float) -> None:
        """See :class:`Penalty`."""
        self._count += 1
        xp = self._space.xp
        everything = residuals(slice(0, len(self._relative_sizes)), None)
        half = xp.moveaxis(everything, -1, 0) / 2  # blocks x (batch x) models
        half = self._space.asarray(np.ascontiguousarray(half)) if self._space.is_numpy else half
        first, second = half[..., self._pairs.rows], half[..., self._pairs.cols]
        n_rows = first.shape[-1]
        width = max(1, int(np.prod(self._sums.shape[1:])) // n_rows)
        step = max(1, self._tile // (_RUN * width))
        for start in range(0, n_rows, step):
            self._add_rows(first, second, slice(start, min(start + step, n_rows)), shift)

    def _add_rows(self, first: Array, second: Array, rows: slice, shift: float) -> None:
        """Add the directions of some rows; of a square, both directions of the pairs on and above the diagonal."""
        square = self._pairs.is_square
        cols = slice(rows.start if square else 0, second.shape[-1])
        xp = self._space.xp
        shape = (len(self._stakes), *self._pairs.batch, rows.stop - rows.start, cols.stop - cols.start)
        ahead, back = self._space.zeros(*shape), self._space.zeros(*shape)
        n_blocks = len(self._relative_sizes)
        for start in range(0, n_blocks, _RUN):
            run = slice(start, min(start + _RUN, n_blocks))
            difference = first[run, ..., rows, None] - second[run, ..., None, cols]
            share = xp.reshape(self._shares[run], (-1,) + (1,) * (difference.ndim - 1))
            for total, sign in ((ahead, 1.0), (back, -1.0))[: 2 if square else 1]:
                bet = share * (sign * difference - shift)
                total += self._penalties(bet)
        self._sums[..., rows, cols] += ahead
        if square:  # the corner on the diagonal is in both halves
            beyond = back[..., rows.stop - rows.start :]
            self._sums[..., rows.stop : cols.stop, rows] += xp.matrix_transpose(beyond)

    def _penalties(self, bet: Array) -> Array:
        """``sum (z - log(1 + z))`` over a run of bets, which is the first axis, for every stake: stakes first."""
        xp, linear = self._space.xp, self._space.xp.sum(bet, axis=0)
        found = []
        # As many stakes at once as a temporary may hold: one at a time on a core, many on an accelerator.
        step = max(1, self._tile // math.prod(bet.shape))
        for start in range(0, len(self._stakes), step):
            stakes = self._stakes_there[start : min(start + step, len(self._stakes))]
            factors = self._column(stakes, bet.ndim + 1) * bet
            factors += 1.0
            found.append(self._column(stakes, bet.ndim) * linear - xp.log(xp.prod(factors, axis=1)))
        return xp.concat(found, axis=0)

    def features(self, terms: int, bound: Bound = "lower") -> Features:
        """See :class:`Penalty`."""
        up = 1.0 + toward(bound) * (self._count + 128 + 2 * terms) * UNIT
        slack = self._column(self._roundoff_there * (toward(bound) * self._count), self._sums.ndim)

        def read(rows: Places, cols: Places) -> list[Array]:
            # Every bet's penalty is nonnegative, so a negative sum can only be rounding.
            return [self._space.xp.clip(some_pairs(self._space, self._sums, rows, cols), 0.0, None) * up + slack]

        return read

    def _column(self, of_stakes: Array, ndim: int) -> Array:
        return self._space.xp.reshape(of_stakes, (-1,) + (1,) * (ndim - 1))

    def keep(self, rows: Rows) -> None:
        """See :class:`Penalty`."""
        self._sums = self._space.take(self._space.take(self._sums, rows, axis=-2), rows, axis=-1)
        self._pairs = Pairs.all(len(rows), self._pairs.batch)

    def state(self) -> State:
        """See :class:`Penalty`."""
        return {"sums": to_numpy(self._sums), "count": np.array([self._count], dtype=np.float64)}

    def restore(self, state: State) -> None:
        """See :class:`Penalty`."""
        self._sums = self._space.asarray(state["sums"])
        if self._pairs.is_square:
            self._pairs = Pairs.all(self._sums.shape[-1], self._pairs.batch)
        self._count = int(state["count"][0])
