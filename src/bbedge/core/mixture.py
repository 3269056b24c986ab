r"""The mixture over stakes: evidence and margins of many directions, from a few numbers for each.

The logarithm of a stake's evidence is linear in the advantage ``T`` and in the features of the penalty,

.. math:: \log E_g = s_g T + \log\rho_g - \sum_k C_{gk} \Phi_k,

so the exponents of all stakes and directions are one thin matrix product, made and used up a tile at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bbedge.core.arrays import UNIT, Array, Floats, Places, Rows, Space, State, to_numpy, with_prefix
from bbedge.core.design import Design
from bbedge.core.gram import gram_penalty
from bbedge.core.margins import FORGOTTEN, LEAST_SLOPE, NEGLIGIBLE, least_advantage
from bbedge.core.panels import BlockLayout, model_means
from bbedge.core.penalties import (
    BettingPenalty,
    Bound,
    Columns,
    Directions,
    HoeffdingPenalty,
    Penalty,
    error_sign,
)
from bbedge.core.stakes import CENTRED_MAX, EntryGroup, Stakes
from bbedge.records.values import EvidenceKind

_FEW = 1 << 14  # exponents that are sooner computed than sifted


@dataclass(frozen=True, slots=True, kw_only=True)
class Bets:
    """What a mixture bets: stakes, the blocks that they are shared out over, and how noise is paid for."""

    layout: BlockLayout
    stakes: Stakes
    kind: EvidenceKind
    groups: tuple[EntryGroup, ...]
    is_predicted: bool = True
    """Whether stakes that allow it are centred at a prediction; if not, all are centred at the null value."""
    unit: int = 0
    """Scores of 0 and 1 give block means that are whole multiples of one over this; 0 if that is not known."""

    @classmethod
    def of(cls, design: Design) -> Bets:
        """Those of a design's complete replicates."""
        return cls(layout=design.layout, stakes=design.grid, kind=design.evidence, groups=design.entry_groups)


class Mixture:
    """The evidence of the directions of some pairs, as sufficient statistics; fed block means, read at any look.

    Stakes up to 0.95 are centred at the design's prediction, wider ones at the null value, where they stay valid.
    """

    def __init__(self, design: Design, space: Space, pairs: Directions, bets: Bets | None = None) -> None:
        bets = Bets.of(design) if bets is None else bets
        self._design = design
        self._space = space
        self._pairs = pairs
        self._count = 0
        self.totals: Array = space.zeros(*pairs.batch, pairs.n_models)
        """Sum of every model's replicate means."""
        # A sum of n scores errs by n roundings at most; NumPy adds them pairwise, others at least in parallel.
        self._sum_error = 48 + (0 if space.is_numpy else len(design.items) // 256)
        if design.weights is not None:
            self._sum_error += 2  # of an item's share, and of its product with the score

        weights = np.array(bets.stakes.weights)
        stakes = np.array(bets.stakes.values)[weights > 0.0]
        self._groups, self._log_weights = bets.groups, np.log(weights[weights > 0.0])
        self._slopes: Floats = stakes * bets.layout.weight_ratio  # lambda / w_max
        self.penalties: dict[str, Penalty] = {}
        """What the stakes pay, by what they are centred at."""
        predicted, coefficients = (stakes <= CENTRED_MAX) & bets.is_predicted, []
        for centre, some, reach in (("prediction", predicted, 1.0), ("null", ~predicted, design.mu0)):
            if some.any():
                penalty = _penalty(design, bets, stakes[some], space=space, pairs=pairs, reach=reach)
                coefficients.append(np.zeros((len(stakes), penalty.coefficients.shape[1])))
                coefficients[-1][some] = -penalty.coefficients
                self.penalties[centre] = penalty
        features = np.concatenate(coefficients, axis=1)
        # The roundings that a product with the matrix has at most.
        self._terms = features.shape[1] + 12
        constants = self._log_weights - self._terms * UNIT * np.abs(self._log_weights)
        self._matrix: Floats = np.concatenate([self._slopes[:, None], constants[:, None], features], axis=1)
        self._matrix_there = space.asarray(self._matrix)

    def add(self, means: Columns, residuals: Columns, *, shift: float, totals: Array) -> None:
        """Add a replicate: block means, their residuals, the shift of every pair's prediction, and model means."""
        for centre, penalty in self.penalties.items():
            if centre == "prediction":
                penalty.add(residuals, shift)
            else:
                penalty.add(means, self._design.tau / 2)  # x = Y - mu0
        self.totals += totals
        self._count += 1

    def log_e(self, at: float | None = None) -> Array:
        """Natural logarithm of the evidence: (batch x) rows x columns; any number for a model against itself.

        That a difference exceeds the ``tau`` of the design, or ``at``.
        """
        return mixed_log_e(self._space, self.log_groups(at=at))

    def log_groups(self, bound: Bound = "lower", *, at: float | None = None) -> Array:
        """Natural logarithm of what each group of stakes adds to the evidence: groups x (batch x) rows x columns.

        A lower bound, or an upper one; any number for a model against itself.
        """
        space, shape = self._space, (len(self._groups), *self._pairs.shape)
        if not self._count:
            return space.zeros(*shape) + space.column([math.log(group.weight) for group in self._groups], len(shape))
        out = space.empty(*shape)
        reader, (height, width) = _Reader(self, is_sorted=self._is_sorted, bound=bound, at=at), self._tile_shape()
        for rows in _steps(out.shape[-2], height):
            strip = reader.strip(rows, slice(0, out.shape[-1]), with_selves=not self._is_sorted)
            for cols in _steps(out.shape[-1], width):
                tile = strip[..., cols]
                mixed = self._mixed(space.xp.reshape(tile, (tile.shape[0], -1)), bound)
                out[..., rows, cols] = space.xp.reshape(mixed, (len(self._groups), *tile.shape[1:]))
        return reader.in_place(out)

    def _mixed(self, features: Array, bound: Bound) -> Array:
        """The logarithm of the mixture of each group, for a tile of directions."""
        xp = self._space.xp
        if len(self._groups) == 1 and bound == "lower":
            value = _log_sum(xp, self._adding(features) @ features)[None, :]
        else:
            matrix = self._matrix_there if bound == "lower" else self._space.asarray(self._upper_matrix)
            exponents = matrix @ features
            parts = [exponents[group.stakes[0] : group.stakes[-1] + 1, :] for group in self._groups]
            value = xp.concat([part if part.shape[0] == 1 else _log_sum(xp, part)[None, :] for part in parts])
        value -= error_sign(bound) * ((len(self._slopes) + 16) * 2 * UNIT + 4 * UNIT * xp.abs(value))
        return value

    @cached_property
    def _upper_matrix(self) -> Floats:
        matrix = self._matrix.copy()
        matrix[:, 1] = 2 * self._log_weights - matrix[:, 1]
        return matrix

    def _adding(self, features: Array) -> Array:
        """The rows of the stakes that add to the evidence of a tile.

        A stake that is far behind another wherever the features lie between their least and their greatest is left
        out. That can only lower the evidence, by less than rounding does.
        """
        if not self._is_sorted or features.shape[1] * len(self._slopes) < _FEW:
            return self._matrix_there
        least, greatest = (bound(features, axis=1) for bound in (np.min, np.max))
        rising, falling = self._between_stakes
        behind = rising @ least + falling @ greatest  # how far a stake is behind another, at least
        return self._matrix[behind.reshape(len(self._slopes), -1).max(axis=1) <= -FORGOTTEN]

    @cached_property
    def _between_stakes(self) -> tuple[Floats, Floats]:
        """Differences of the rows of two stakes, other less one, (one x other) x features: above and below zero."""
        differences = (self._matrix[None, :, :] - self._matrix[:, None, :]).reshape(-1, self._matrix.shape[1])
        return np.clip(differences, 0.0, None), np.clip(differences, None, 0.0)

    def exponents(self, rows: slice) -> tuple[Array, Floats]:
        """What each stake adds to the evidence of some rows of directions, and how fast it falls with a difference.

        Logarithms, rounded down: stakes x (batch x) rows x columns. They fall by half the slope times that by which a
        difference exceeds ``tau``, after one panel.
        """
        strip = _Reader(self).strip(rows, slice(0, self._pairs.shape[-1]))
        found = self._matrix_there @ self._space.xp.reshape(strip, (strip.shape[0], -1))
        return self._space.xp.reshape(found, (-1, *strip.shape[1:])), self._slopes

    def lower_bounds(self, n_directions: float) -> Array:
        """Lower bounds of the differences, simultaneous over so many directions and all looks; in [-1, 1]."""
        space, xp = self._space, self._space.xp
        if not self._count or self._slopes.max() <= LEAST_SLOPE:
            return space.zeros(*self._pairs.shape) - 1.0
        out, reader = space.empty(*self._pairs.shape), _Reader(self)
        target = math.log(n_directions / self._design.margin_alpha)
        *batch, n_rows, n_cols = self._pairs.shape
        height = max(1, 2 * space.tile // max(1, self._matrix.shape[1] * n_cols * math.prod(batch)))
        # Without a margin both directions of a pair may pay the same penalty, and then need the same advantage.
        symmetric = all(penalty.is_symmetric for penalty in self.penalties.values())
        mirrored = self._pairs.is_square and self._design.tau == 0.0 and symmetric
        for rows in _steps(n_rows, height):
            cols = slice(rows.start if mirrored else 0, n_cols)
            strip = reader.strip(rows, cols)
            flat = xp.reshape(strip, (strip.shape[0], -1))
            needed = xp.reshape(least_advantage(space, self._matrix, flat, target), tuple(strip.shape[1:]))
            needed *= 1.0 + 4 * self._terms * UNIT
            out[..., rows, cols] = self._bounds(reader.advantage(rows, cols), needed)
            if mirrored:
                out[..., cols, rows] = self._bounds(reader.advantage(cols, rows), xp.matrix_transpose(needed))
        return reader.in_place(out)

    def _bounds(self, advantage: Array, needed: Array) -> Array:
        bounds = advantage - needed
        bounds *= 2.0 / self._count
        bounds += self._design.tau - 8 * UNIT
        return self._space.xp.clip(bounds, -1.0, 1.0)

    @property
    def _is_sorted(self) -> bool:
        """Whether evidence is read in the order of totals: if that saves more exponentials than sorting costs."""
        tile, n_stakes = self._space.tile, len(self._slopes)
        is_worth_it = math.prod(self._pairs.shape) * n_stakes > tile >= self._matrix.size * n_stakes
        return is_worth_it and self._space.is_numpy and not self._pairs.batch

    def _tile_shape(self) -> tuple[int, int]:
        """Rows and columns of a tile: a square if they are sorted, and whole rows otherwise."""
        *batch, n_rows, n_cols = self._pairs.shape
        directions = max(1, self._space.tile // len(self._slopes))
        if self._is_sorted:
            edge = math.isqrt(directions)
            return min(edge, n_rows), min(edge, n_cols)
        return max(1, directions // max(1, n_cols * math.prod(batch))), n_cols

    def keep(self, rows: Rows) -> None:
        """Forget all models but these."""
        for penalty in self.penalties.values():
            penalty.keep(rows)
        self._pairs, of_models = self._pairs.kept(rows)
        self.totals = self._space.take(self.totals, of_models, axis=-1)

    def split(self) -> None:
        """Give every model two rows from now on: see :meth:`Directions.of_sides`."""
        for penalty in self.penalties.values():
            penalty.split()
        self._pairs = Directions.of_sides(self._pairs.n_models, self._pairs.batch)
        self.totals = self._space.xp.concat([self.totals, self.totals], axis=-1)

    def state(self) -> State:
        """Everything accumulated but the totals and the count, as arrays."""
        return {
            f"{centre}-penalty.{name}": array
            for centre, penalty in self.penalties.items()
            for name, array in penalty.state().items()
        }

    def restore(self, state: State, *, totals: np.ndarray, count: int) -> None:
        """Take over what :meth:`state` returned."""
        for centre, penalty in self.penalties.items():
            penalty.restore(with_prefix(state, f"{centre}-penalty."))
        self.totals, self._count = self._space.asarray(totals), count


class _Reader:
    """Reads the features of the directions of a mixture, the models in the order of their totals if they are sorted.

    Directions side by side in that order have near features, and few stakes matter to them.
    """

    def __init__(
        self, mixture: Mixture, *, is_sorted: bool = False, bound: Bound = "lower", at: float | None = None
    ) -> None:
        self._space, self._pairs, count = mixture._space, mixture._pairs, mixture._count
        self._n_features = mixture._matrix.shape[1]
        self._features = [penalty.features(mixture._terms, bound) for penalty in mixture.penalties.values()]
        # Summation of the items, then one addition a replicate; and the roundings of the product.
        error = error_sign(bound) * (mixture._sum_error + count + 8 + 2 * mixture._terms) * UNIT
        drift = count * (mixture._design.tau if at is None else at)
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


def unpredicted(design: Design, space: Space, pairs: Directions, bets: Bets, scores: Array) -> tuple[Mixture, Array]:
    """A mixture that was fed the scores of some items as one panel, without predictions, and their block means."""
    mixture, means = Mixture(design, space, pairs, bets), bets.layout.means(scores, space)

    def of_blocks(places: Places, out: Array | None) -> Array:
        some = space.take(means, places)
        if out is None:
            return some + 0.0
        out[...] = some
        return out

    totals = model_means(scores, space, bets.layout.overall)
    mixture.add(of_blocks, of_blocks, shift=design.tau / 2, totals=totals)
    return mixture, means


def joint_lower_bounds(looks: Sequence[tuple[Mixture, float]], n_directions: float) -> Array:
    """Lower bounds of the differences from a sum of the evidence of mixtures that were fed one panel, with log weights.

    Where a difference is larger by ``t``, every advantage is smaller by ``t / 2``. So the advantages of all mixtures
    are that of the last one and a constant for each, and the bound is where the last one has fallen to the root of the
    sum: see :mod:`bbedge.core.margins`.
    """
    mixtures, log_weights = zip(*looks, strict=True)
    last = mixtures[-1]
    space, design, shape = last._space, last._design, last._pairs.shape
    xp, widths = space.xp, [each._matrix.shape[1] - 2 for each in mixtures]
    starts = [2 + len(mixtures) + sum(widths[:place]) for place in range(len(mixtures))]
    matrix = np.zeros((sum(len(each._matrix) for each in mixtures), starts[-1] + widths[-1]))
    row = 0
    for place, (each, log_weight) in enumerate(zip(mixtures, log_weights, strict=True)):
        rows = slice(row, row + len(each._matrix))
        matrix[rows, 0], matrix[rows, 1] = each._matrix[:, 0], each._matrix[:, 1] + log_weight
        matrix[rows, 2 + place] = each._matrix[:, 0]
        matrix[rows, starts[place] : starts[place] + widths[place]] = each._matrix[:, 2:]
        row = rows.stop
    if matrix[:, 0].max() <= LEAST_SLOPE:
        return space.zeros(*shape) - 1.0
    terms = matrix.shape[1] + 12
    lost = 8 * terms * UNIT * (float(matrix[:, 0].max()) + float(np.abs(matrix[:, 1]).max()))
    target = math.log(n_directions / design.margin_alpha) + lost
    out, readers = space.empty(*shape), [_Reader(each) for each in mixtures]
    *batch, n_rows, n_cols = shape
    for rows in _steps(n_rows, max(1, 2 * space.tile // max(1, matrix.shape[1] * n_cols * math.prod(batch)))):
        strips = [reader.strip(rows, slice(0, n_cols)) for reader in readers]
        advantage = strips[-1][0, ...]
        parts = [strips[-1][:2, ...], *((each[:1, ...] - advantage[None, ...]) for each in strips)]
        features = xp.concat([*parts, *(each[2:, ...] for each in strips)], axis=0)
        flat = xp.reshape(features, (features.shape[0], -1))
        needed = xp.reshape(least_advantage(space, matrix, flat, target), advantage.shape)
        needed += 4 * terms * UNIT * (1.0 + xp.abs(needed))
        out[..., rows, :] = last._bounds(readers[-1].advantage(rows, slice(0, n_cols)), needed)
    return out


def mixed_log_e(space: Space, log_groups: Array) -> Array:
    """The logarithm of the evidence, rounded down, from what groups of stakes add to it."""
    if log_groups.shape[0] == 1:
        return log_groups[0, ...]
    value = _log_sum(space.xp, log_groups + 0.0)
    value -= (2 * log_groups.shape[0] + 16) * UNIT * (1.0 + space.xp.abs(value))
    return value


def _log_sum(xp: Any, exponents: Array) -> Array:  # noqa: ANN401 - libraries have no common type
    """The logarithm of the sum of exponentials over the first axis; overwrites its argument."""
    peak = xp.max(exponents, axis=0)
    exponents -= peak
    return peak + xp.log(xp.sum(xp.exp(xp.clip(exponents, NEGLIGIBLE, None)), axis=0))


def _steps(n: int, step: int) -> Iterator[slice]:
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _penalty(design: Design, bets: Bets, stakes: Floats, *, space: Space, pairs: Directions, reach: float) -> Penalty:
    if bets.kind == "hoeffding":
        return HoeffdingPenalty(stakes, bets.layout, space=space, pairs=pairs)
    if bets.kind == "betting":
        return BettingPenalty(stakes, bets.layout, space=space, pairs=pairs, reach=reach)
    penalty = gram_penalty(bets.kind, stakes, bets.layout, space=space, pairs=pairs, reach=reach)
    penalty.unit = bets.unit or int(design.share < 1.0)  # worth it where views share the products
    return penalty
