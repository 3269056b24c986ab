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

Each class here keeps ``P`` for a set of stakes and returns it as an upper bound: whatever rounding
may have taken from a penalty is added back, so that rounding can lower evidence and never raise it.
``docs/guarantees.md`` derives the bounds.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
State = dict[str, Array]

UNIT = 2.0**-53
"""Unit roundoff of float64."""


class Penalty(Protocol):
    """Accumulates the penalties of a set of stakes over replicates."""

    def add(self, residuals: Array, shift: float) -> None:
        """Add a replicate: per-model residuals (models x blocks); a pair's is ``(res_a - res_b) / 2 - shift``."""
        ...

    def values(self, rows: slice) -> Array:
        """Upper bounds of the penalties: stakes x rows x models, row against column."""
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


def bernstein_psi(u: Array) -> Array:
    """``-log(1 - u) - u``, the published penalty coefficient."""
    return -np.log1p(-u) - u


def sharp_tail(b: Array) -> Array:
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

    def __init__(self, stakes: Array, relative_sizes: Array, n_models: int) -> None:
        self._per_replicate = stakes**2 * np.square(relative_sizes).sum() / 8.0
        self._roundoff = (len(relative_sizes) + 8) * UNIT
        self._n_models = n_models
        self._count = 0

    def add(self, residuals: Array, shift: float) -> None:
        """See :class:`Penalty`."""
        self._count += 1

    def values(self, rows: slice) -> Array:
        """See :class:`Penalty`."""
        bound = self._count * self._per_replicate * (1.0 + self._roundoff)
        n_rows = len(range(*rows.indices(self._n_models)))
        return np.tile(bound[:, None, None], (1, n_rows, self._n_models))

    def keep(self, rows: Rows) -> None:
        """See :class:`Penalty`."""
        self._n_models = len(rows)

    def state(self) -> State:
        """See :class:`Penalty`."""
        return {"count": np.array([self._count], dtype=np.float64)}

    def restore(self, state: State) -> None:
        """See :class:`Penalty`."""
        self._count = int(state["count"][0])


_RUN = 128  # factors multiplied before one logarithm; each lies in [0.05, 1.95], so 128 of them stay in range
_TILE = 1 << 18  # elements of a temporary that still fits a core's cache


class BettingPenalty:
    """``z - log(1 + z)`` exactly, with one logarithm per run of factors instead of one per factor."""

    def __init__(self, stakes: Array, relative_sizes: Array, *, largest: int, n_models: int, reach: float) -> None:
        """``reach`` is the largest possible ``-x``: 1 for any prediction, ``mu0`` for the null value."""
        self._stakes, self._of_stake = np.unique(stakes, return_inverse=True)
        self._relative_sizes = relative_sizes
        self._sums = np.zeros((len(self._stakes), n_models, n_models))
        self._count = 0
        # A factor 1 + z >= 1 - b with a residual wrong by a few roundings is wrong by that times u / (1 - b) in its
        # logarithm; the linear term adds a run's worth of roundings, forming the factor a few that u does not scale.
        room = 1.0 - self._stakes * reach
        per_bet = (2 * (largest + 8) + 8) / room + _RUN + 8
        self._roundoff = UNIT * (relative_sizes.sum() * self._stakes * per_bet + 4 * len(relative_sizes))

    def add(self, residuals: Array, shift: float) -> None:
        """See :class:`Penalty`."""
        self._count += 1
        half = np.ascontiguousarray(residuals.T) / 2  # blocks x models
        first, second = np.triu_indices(half.shape[1], k=1)
        width = _TILE // _RUN
        for start in range(0, len(first), width):
            a, b = first[start : start + width], second[start : start + width]
            forward, backward = self._of_pairs(half, a, b, shift)
            self._sums[:, a, b] += forward
            self._sums[:, b, a] += backward

    def _of_pairs(self, half: Array, a: Rows, b: Rows, shift: float) -> tuple[Array, Array]:
        """Penalties of the directions a -> b and b -> a, stakes x pairs each."""
        forward = np.zeros((len(self._stakes), len(a)))
        backward = np.zeros_like(forward)
        for start in range(0, len(half), _RUN):
            run = slice(start, start + _RUN)
            difference = half[run, a] - half[run, b]
            share = self._relative_sizes[run, None]
            for total, x in ((forward, difference - shift), (backward, -difference - shift)):
                bet = share * x
                linear = bet.sum(axis=0)
                for g, stake in enumerate(self._stakes):
                    factor = np.multiply.reduce(1.0 + stake * bet, axis=0)
                    total[g] += stake * linear - np.log(factor)
        return forward, backward

    def values(self, rows: slice) -> Array:
        """See :class:`Penalty`."""
        penalty = np.maximum(self._sums[:, rows], 0.0)
        penalty *= 1.0 + (self._count + 128) * UNIT
        penalty += (self._count * self._roundoff)[:, None, None]
        return penalty[self._of_stake]

    def keep(self, rows: Rows) -> None:
        """See :class:`Penalty`."""
        self._sums = self._sums[:, rows][:, :, rows]

    def state(self) -> State:
        """See :class:`Penalty`."""
        return {"sums": self._sums, "count": np.array([self._count], dtype=np.float64)}

    def restore(self, state: State) -> None:
        """See :class:`Penalty`."""
        self._sums = state["sums"]
        self._count = int(state["count"][0])
