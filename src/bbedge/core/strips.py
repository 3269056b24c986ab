"""The features of some directions of a mixture at a time: their advantage, a one, and what their stakes pay for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from bbedge.core.arrays import UNIT, Array, Places, Rows, to_numpy
from bbedge.core.penalties import Bound, error_sign

if TYPE_CHECKING:
    from bbedge.core.mixture import Mixture


class StripReader:
    """Reads the features of the directions of a mixture, the models in the order of their totals if they are sorted.

    Directions side by side in that order have near features, and few stakes matter to them.
    """

    def __init__(
        self, mixture: Mixture, *, is_sorted: bool = False, bound: Bound = "lower", at: float | None = None
    ) -> None:
        self._space, self._pairs, count = mixture.space, mixture.pairs, mixture.count
        self._n_features = mixture.matrix.shape[-1]
        self._features = [penalty.features(mixture.terms, bound) for penalty in mixture.penalties.values()]
        # Summation of the items, then one addition a replicate; and the roundings of the product.
        error = error_sign(bound) * (mixture.sum_error + count + 8 + 2 * mixture.terms) * UNIT
        drift = count * (mixture.design.tau if at is None else at)
        # Each side is a sum of numbers that are not negative, so that scaling it moves it in the right direction.
        self._low = (mixture.totals[..., self._pairs.rows] + max(0.0, -drift)) * ((1.0 - error) / 2)
        self._high = (mixture.totals[..., self._pairs.cols] + max(0.0, drift)) * ((1.0 + error) / 2)
        self._orders: tuple[Rows, Rows] | None = None  # in which rows and columns are read
        if is_sorted:
            totals = to_numpy(mixture.totals)
            self._orders = np.argsort(totals[self._pairs.rows]), np.argsort(totals[self._pairs.cols])

    def _places(self, rows: slice, cols: slice) -> tuple[Places, Places]:
        return (rows, cols) if self._orders is None else (self._orders[0][rows], self._orders[1][cols])

    def advantage(self, rows: slice, cols: slice) -> Array:
        """``T`` of some directions, rounded down; up, for an upper bound."""
        some_rows, some_cols = self._places(rows, cols)
        return (
            self._space.take(self._low, some_rows)[..., :, None] - self._space.take(self._high, some_cols)[..., None, :]
        )

    def strip(self, rows: slice, cols: slice, *, with_selves: bool = False) -> Array:
        """The features of some directions: features x (batch x) rows x columns.

        A model against itself pays nothing and is no direction; without selves, its features are those of others.
        """
        advantage, xp, row = self.advantage(rows, cols), self._space.xp, 2
        strip = self._space.empty(self._n_features, *advantage.shape)
        strip[0, ...] = advantage
        strip[1, ...] = 1.0
        for read in self._features:
            for part in read(*self._places(rows, cols)):
                strip[row : row + part.shape[0], ...] = part
                row += part.shape[0]
        selves = slice(max(rows.start, cols.start), min(rows.stop, cols.stop))
        if not with_selves and self._pairs.is_square and selves.start < selves.stop:
            of_rows = slice(selves.start - rows.start, selves.stop - rows.start)
            of_cols = slice(selves.start - cols.start, selves.stop - cols.start)
            same = self._space.bools(np.eye(selves.stop - selves.start, dtype=np.bool_))
            others = xp.max(strip[2:, ..., of_rows, :], axis=-1, keepdims=True)
            strip[2:, ..., of_rows, of_cols] = xp.where(same, others, strip[2:, ..., of_rows, of_cols])
        return strip

    def in_place(self, found: Array) -> Array:
        """What was found, rows and columns where they belong."""
        if self._orders is None:
            return found
        return self._space.take_pairs(found, *map(np.argsort, self._orders))


def products(matrix: Array, strip: Array, xp: Any) -> Array:  # noqa: ANN401 - libraries have no common type
    """A matrix times the features of a strip: stakes x (batch x) rows x columns.

    The matrix is stakes x features; where repetitions have stakes of their own, batch x stakes x features.
    """
    if len(matrix.shape) == 2:
        return xp.reshape(matrix @ xp.reshape(strip, (strip.shape[0], -1)), (-1, *strip.shape[1:]))
    *batch, n_rows, n_cols = strip.shape[1:]
    features = xp.reshape(xp.moveaxis(strip, 0, -3), (*batch, strip.shape[0], -1))
    return xp.moveaxis(xp.reshape(matrix @ features, (*batch, -1, n_rows, n_cols)), -3, 0)


def steps(n: int, step: int) -> Iterator[slice]:
    """Slices of so many each, up to ``n``."""
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
