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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import UNIT, Array, Space
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

    @classmethod
    def of_sides(cls, n_models: int, batch: tuple[int, ...] = ()) -> Pairs:
        """All directions between so many models that have two rows each: one as the better, one as the worse model."""
        return cls(rows=slice(0, n_models), cols=slice(n_models, 2 * n_models), batch=batch)

    def kept(self, rows: Rows) -> tuple[Pairs, Rows]:
        """The directions between some of the models, and the rows of a panel that these have."""
        if self.is_square:
            return Pairs.all(len(rows), self.batch), rows
        return Pairs.of_sides(len(rows), self.batch), np.concatenate([rows, rows + self.cols.start])

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

    def split(self) -> None:
        """Give every model two rows from now on: see :meth:`Pairs.of_sides`."""
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
        replicates = self._count * (1.0 + toward(bound) * self._roundoff + toward(bound) * 2 * terms * UNIT)

        def read(rows: Places, cols: Places) -> list[Array]:
            return [self._space.zeros(1, *self._batch, _length(rows), _length(cols)) + replicates]

        return read

    def keep(self, rows: Rows) -> None:
        """See :class:`Penalty`."""

    def split(self) -> None:
        """See :class:`Penalty`."""

    def state(self) -> State:
        """See :class:`Penalty`."""
        return {"count": np.array([self._count], dtype=np.float64)}

    def restore(self, state: State) -> None:
        """See :class:`Penalty`."""
        self._count = int(state["count"][0])
