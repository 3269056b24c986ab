"""Sums over blocks of powers of differences of residuals, for all pairs of models, from a few matrix products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np  # noqa: F401 - for the example

from bbedge.core.arrays import Array, Space


class DifferenceSums:
    """``sum_m weight_m ((v_a - v_b) / 2)^j`` for rows ``a`` and columns ``b``, over chunks of blocks.

    >>> from bbedge.core.arrays import numpy_space
    >>> sums = DifferenceSums(numpy_space())
    >>> v = np.array([[1.0, 2.0], [0.0, 0.5]])
    >>> sums.add(v, v, {3: None})
    >>> float(sums.of(3)[0, 1])
    0.546875
    """

    def __init__(self, space: Space) -> None:
        self._space, self._xp = space, space.xp
        self._held: dict[Any, Array] = {}
        self._square = True
        self._last: Array | None = None  # the sums of squares, where those of fourth powers follow from them

    def add(self, rows: Array, cols: Array, weights: Mapping[int, Array | None]) -> None:
        """Add a chunk: rows and columns x blocks, and a weight per block for every power 1 to 4 that is asked for."""
        self._square = cols is rows
        if not self._square:
            self._add_sides(rows, cols, weights)
            return
        row2 = rows * rows if max(weights) > 2 else rows
        for j, weight in weights.items():
            left = rows if weight is None else rows * weight
            left2 = row2 if weight is None else left * rows
            if j == 1:
                self._hold(("moment", 1, "rows"), self._xp.sum(left, axis=-1))
            elif j == 2:
                self._hold((1, 1), self._product(left, rows))
            elif j == 3:
                self._hold((2, 1), self._product(left2, rows))
            else:
                self._hold((3, 1), self._product(left2 * rows, rows))
                self._hold((2, 2), self._product(left2, row2))

    def _add_sides(self, rows: Array, cols: Array, weights: Mapping[int, Array | None]) -> None:
        """The same where rows and columns differ: every product of powers is one of its own."""
        xp, top = self._xp, max(weights)
        of_cols = {1: cols}
        for j in range(2, top + 1):
            of_cols[j] = of_cols[j - 1] * cols
        for j, weight in weights.items():
            left = rows if weight is None else rows * weight
            for i in range(1, j):
                self._hold((i, j - i), self._product(left, of_cols[j - i]))
                left = left * rows
            self._hold(("moment", j, "rows"), xp.sum(left, axis=-1))
            self._hold(("moment", j, "cols"), xp.sum(of_cols[j] if weight is None else of_cols[j] * weight, axis=-1))

    def add_binary(self, rows: Array, cols: Array) -> None:
        """Add a chunk in which every number is 0 or 1, and so its own square: one product serves every power."""
        self._square = cols is rows
        self._hold("binary", self._xp.astype(self._product(rows, cols), self._xp.float64))
        for name, side in (("rows", rows), ("cols", cols)):
            self._hold(("binary", name), self._xp.astype(self._xp.sum(side, axis=-1), self._xp.float64))

    def add_whole(self, rows: Array, cols: Array, wanted: Mapping[int, None], unit: int) -> None:
        """Add a chunk of whole numbers that stand for multiples of one over the unit: in single precision, exactly."""
        part = DifferenceSums(self._space)
        if unit == 2 and cols is rows and 4 in wanted:  # 0, 1 and 2 are the roots of x^3 - 3 x^2 + 2 x
            part.add(rows, cols, dict.fromkeys(j for j in wanted if j < 4))
            squares = rows * rows
            part._hold((2, 2), part._product(squares, squares))
            part._hold((3, 1), 3 * part._held[2, 1] - 2 * part._held[1, 1])
        else:
            part.add(rows, cols, wanted)
        self._square = part._square
        for key, value in part._held.items():
            degree = key[1] if key[0] == "moment" else sum(key)
            self._hold(key, self._xp.astype(value, self._xp.float64) / unit**degree)

    def _product(self, left: Array, right: Array) -> Array:
        return left @ self._xp.matrix_transpose(right)

    def join(self, other: DifferenceSums) -> None:
        """Add the sums of other blocks; its arrays may be taken over, so that it must not be used again."""
        self._square = other._square
        for key, value in other._held.items():
            self._hold(key, value)

    def _hold(self, key: object, value: Array) -> None:
        if key in self._held:
            self._held[key] += value
        else:
            self._held[key] = value

    def _held_by(self, *powers: int) -> Array:
        """``sum_m weight_m v_a^i v_b^j``."""
        found = [self._held[key] for key in (powers, "binary") if key in self._held]
        return found[0] if len(found) == 1 else found[0] + found[1]

    def moments(self, j: int) -> tuple[Array, Array]:
        """``sum_m weight_m (v / 2)^j`` of the rows and of the columns."""
        if self._square and j > 1:
            of_rows = self._xp.linalg.diagonal(self._held_by(*{2: (1, 1), 3: (2, 1), 4: (2, 2)}[j])) * 0.5**j
            return of_rows, of_rows
        sides = [
            sum(self._held[key] for key in (("moment", j, side), ("binary", side)) if key in self._held) * 0.5**j
            for side in (("rows",) if self._square else ("rows", "cols"))
        ]
        return sides[0], sides[-1]

    def of(self, j: int) -> Array:
        """The sums of power ``j``, in an array that must not be changed."""
        transposed, scale = self._xp.matrix_transpose, 0.5**j
        if j > 2 and (j - 1, 1) not in self._held:  # all binary: differences are -1, 0 and 1
            lower = self._last if j == 4 and self._last is not None else self.of(j - 2)
            return lower * 0.25
        of_rows, of_cols = (moment[..., None] for moment in self.moments(j))
        of_cols = transposed(of_cols)
        if j == 1:
            return of_rows - of_cols
        if j == 2:
            sums = of_rows + of_cols
            sums -= (2 * scale) * self._held_by(1, 1)
            self._last = sums if "binary" in self._held else None
            return sums
        one_less = self._held_by(j - 1, 1)
        mirror = transposed(one_less) if self._square else self._held_by(1, j - 1)
        if j == 3:
            return (of_rows - 3 * scale * one_less) - (of_cols - 3 * scale * mirror)
        return (of_rows - 4 * scale * one_less) + (of_cols - 4 * scale * mirror) + 6 * scale * self._held_by(2, 2)
