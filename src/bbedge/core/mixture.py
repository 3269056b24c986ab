r"""The mixture over stakes: evidence and margins of many directions, from a few numbers for each.

The logarithm of a stake's evidence is linear in the advantage ``T`` and in the features of the penalty,

.. math:: \log E_g = s_g T + \log\rho_g - \sum_k C_{gk} \Phi_k,

so the exponents of all stakes and directions are one thin matrix product, made and used up a tile at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bbedge.core.arrays import UNIT, Array, Space
from bbedge.core.design import Design
from bbedge.core.gram import gram_penalty
from bbedge.core.margins import LEAST_SLOPE, NEGLIGIBLE, least_advantage
from bbedge.core.penalties import (
    BettingPenalty,
    Columns,
    Features,
    Floats,
    HoeffdingPenalty,
    Pairs,
    Penalty,
    Rows,
    State,
)
from bbedge.core.stakes import CENTRED_MAX


@dataclass(frozen=True, slots=True)
class _Part:
    """The stakes that are centred alike, and their penalty."""

    centre: Literal["prediction", "null"]
    stakes: Rows
    penalty: Penalty


class Mixture:
    """The evidence of the directions of some pairs, as sufficient statistics; fed block means, read at any look.

    Stakes up to 0.95 are centred at the design's prediction, wider ones at the null value, where they stay valid.
    """

    def __init__(self, design: Design, space: Space, pairs: Pairs) -> None:
        self._design = design
        self._space = space
        self._pairs = pairs
        self._count = 0
        self._totals = space.zeros(*pairs.batch, pairs.n_models)
        # A sum of n scores errs by n roundings at most; NumPy adds them pairwise, others at least in parallel.
        self._sum_error = 48 + (0 if space.is_numpy else len(design.items) // 256)

        layout, weights = design.layout, np.array(design.stakes.weights)
        stakes = np.array(design.stakes.values)[weights > 0.0]
        self._log_weights = np.log(weights[weights > 0.0])
        self._slopes: Floats = stakes * (len(design.items) / layout.largest)  # lambda / w_max
        self._parts: list[_Part] = []
        for centre, places, reach in (
            ("prediction", np.flatnonzero(stakes <= CENTRED_MAX), 1.0),
            ("null", np.flatnonzero(stakes > CENTRED_MAX), design.mu0),
        ):
            if places.size:
                penalty = _penalty(design, stakes[places], space=space, pairs=pairs, reach=reach)
                self._parts.append(_Part(centre, places, penalty))  # type: ignore[arg-type]
        self._matrix, self._terms = self._stake_matrix()
        self._matrix_there = space.asarray(self._matrix)

    @property
    def totals(self) -> Array:
        """Sum of every model's replicate means."""
        return self._totals

    def add(self, means: Columns, residuals: Columns, *, shift: float, totals: Array) -> None:
        """Add a replicate: block means, their residuals, the shift of every pair's prediction, and model means."""
        for part in self._parts:
            if part.centre == "prediction":
                part.penalty.add(residuals, shift)
            else:
                part.penalty.add(means, self._design.tau / 2)  # x = Y - mu0
        self._totals += totals
        self._count += 1

    def log_e(self) -> Array:
        """Natural logarithm of the evidence: (batch x) rows x columns."""
        xp, out = self._space.xp, self._space.zeros(*self._pairs.shape)
        if not self._count:
            return out
        reader = self._reader()
        lost = (len(self._slopes) + 16) * 2 * UNIT

        for rows in self._tiles():
            features, shape = reader.tile(rows, slice(0, out.shape[-1]))
            exponents = self._matrix_there @ features
            peak = xp.max(exponents, axis=0)
            exponents -= peak
            value = peak + xp.log(xp.sum(xp.exp(xp.clip(exponents, NEGLIGIBLE, None)), axis=0))
            value -= lost + 4 * UNIT * xp.abs(value)
            out[..., rows, :] = xp.reshape(value, shape)
        return out

    def lower_bounds(self, n_directions: int) -> Array:
        """Lower bounds of the differences, simultaneous over so many directions and all looks; in [-1, 1]."""
        xp = self._space.xp
        out = self._space.zeros(*self._pairs.shape) - 1.0
        if not self._count or self._slopes.max() <= LEAST_SLOPE:
            return out
        design, count = self._design, self._count
        target = math.log(n_directions / design.alpha)
        reader = self._reader()
        # Without a margin both directions of a pair may pay the same penalty, and then need the same advantage.
        mirrored = self._pairs.is_square and design.tau == 0.0 and all(p.penalty.is_symmetric for p in self._parts)

        def bounds(rows: slice, cols: slice, needed: Array) -> Array:
            advantage = reader.advantage(rows, cols)
            bound = design.tau + (advantage - needed) * (2.0 / count)
            return xp.clip(bound - 8 * UNIT, -1.0, 1.0)

        for rows in self._tiles():
            cols = slice(rows.start if mirrored else 0, out.shape[-1])
            features, shape = reader.tile(rows, cols, with_selves=False)
            needed = xp.reshape(least_advantage(self._space, self._matrix, features, target), shape)
            needed *= 1.0 + 4 * self._terms * UNIT
            out[..., rows, cols] = bounds(rows, cols, needed)
            if mirrored:
                out[..., cols, rows] = bounds(cols, rows, xp.matrix_transpose(needed))
        return out

    def _tiles(self) -> Iterator[slice]:
        *batch, n_rows, n_cols = self._pairs.shape
        step = max(1, self._space.tile // max(1, len(self._slopes) * n_cols * math.prod(batch)))
        for start in range(0, n_rows, step):
            yield slice(start, min(start + step, n_rows))

    def _stake_matrix(self) -> tuple[Floats, int]:
        """What the features are multiplied with, and the roundings that a product with it has at most."""
        n_features = sum(part.penalty.coefficients.shape[1] for part in self._parts)
        terms = n_features + 12
        matrix = np.zeros((len(self._slopes), 2 + n_features))
        matrix[:, 0] = self._slopes
        matrix[:, 1] = self._log_weights - terms * UNIT * np.abs(self._log_weights)
        column = 2
        for part in self._parts:
            coefficients = part.penalty.coefficients
            matrix[part.stakes, column : column + coefficients.shape[1]] = -coefficients
            column += coefficients.shape[1]
        return matrix, terms

    def _reader(self) -> _Reader:
        return _Reader(
            space=self._space,
            pairs=self._pairs,
            n_features=self._matrix.shape[1],
            features=[part.penalty.features(self._terms) for part in self._parts],
            totals=self._totals,
            drift=self._count * self._design.tau,
            # Summation of the items, then one addition a replicate; and the roundings of the product.
            total_error=(self._sum_error + self._count + 2 * self._terms) * UNIT,
        )

    def keep(self, rows: Rows) -> None:
        """Forget all models but these."""
        for part in self._parts:
            part.penalty.keep(rows)
        self._totals = self._space.take(self._totals, rows, axis=-1)
        self._pairs = Pairs.all(len(rows), self._pairs.batch)

    def state(self) -> State:
        """Everything accumulated but the totals and the count, as arrays."""
        return {
            f"{part.centre}-penalty.{name}": array
            for part in self._parts
            for name, array in part.penalty.state().items()
        }

    def restore(self, state: State, *, totals: np.ndarray, count: int) -> None:
        """Take over what :meth:`state` returned."""
        for part in self._parts:
            prefix = f"{part.centre}-penalty."
            part.penalty.restore({k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)})
        self._totals, self._count = self._space.asarray(totals), count
        if self._pairs.is_square:
            self._pairs = Pairs.all(len(totals), self._pairs.batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Reads the features of a tile of directions."""

    space: Space
    pairs: Pairs
    n_features: int
    features: list[Features]
    totals: Array
    drift: float
    total_error: float

    def advantage(self, rows: slice, cols: slice) -> Array:
        """``T`` of some directions, rounded down."""
        ahead = self.totals[..., self.pairs.rows][..., rows, None]
        behind = self.totals[..., self.pairs.cols][..., None, cols]
        return ((ahead - behind - self.drift) - self.total_error * (ahead + behind + self.drift)) / 2

    def tile(self, rows: slice, cols: slice, *, with_selves: bool = True) -> tuple[Array, tuple[int, ...]]:
        """The features of a tile, features x directions, and the shape of the tile.

        A model against itself pays nothing and is no direction; without selves, its features are those of others.
        """
        advantage = self.advantage(rows, cols)
        shape = tuple(advantage.shape)
        tile = self.space.empty(self.n_features, *shape)
        tile[0, ...] = advantage
        tile[1, ...] = 1.0
        row = 2
        for read in self.features:
            for some in read(rows, cols):
                tile[row : row + some.shape[0], ...] = some
                row += some.shape[0]
        if not with_selves and self.pairs.is_square:
            of_rows, of_cols = (self.space.xp.arange(each.start, each.stop) for each in (rows, cols))
            same = self.space.bools(of_rows[:, None] == of_cols[None, :])
            tile[2:, ...] = self.space.xp.where(
                same, self.space.xp.max(tile[2:, ...], axis=-1, keepdims=True), tile[2:, ...]
            )
        return self.space.xp.reshape(tile, (tile.shape[0], -1)), shape


def _penalty(design: Design, stakes: Floats, *, space: Space, pairs: Pairs, reach: float) -> Penalty:
    shares, kind, largest = design.layout.relative_sizes, design.evidence, design.layout.largest
    if kind == "hoeffding":
        return HoeffdingPenalty(stakes, shares, space=space, pairs=pairs)
    if kind == "betting":
        return BettingPenalty(stakes, shares, space=space, pairs=pairs, largest=largest, reach=reach)
    return gram_penalty(kind, stakes, shares, space=space, pairs=pairs, largest=largest, reach=reach)
