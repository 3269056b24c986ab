r"""The mixture over stakes: evidence and margins of many directions, from a few numbers for each.

The logarithm of a stake's evidence is linear in the advantage ``T`` and in the features of the penalty,

.. math:: \log E_g = s_g T + \log\rho_g - \sum_k C_{gk} \Phi_k,

so the exponents of all stakes and directions are one thin matrix product, made and used up a tile at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from bbedge.core.arrays import UNIT, Array, Floats, Mask, Places, Rows, Space, State, with_prefix
from bbedge.core.design import Design
from bbedge.core.gram import PenaltyBySize, gram_penalty, has_common_sums
from bbedge.core.margins import FORGOTTEN, LEAST_SLOPE, least_advantage, log_sum
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
from bbedge.core.strips import StripReader, products, steps
from bbedge.records.values import EvidenceKind

Feed = Callable[[Columns, Columns, float], None]
"""Takes in a replicate: block means, their residuals, and the shift of every pair's prediction."""

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
        self.design: Design = design
        self.space: Space = space
        self.pairs: Directions = pairs
        self.count: int = 0
        """Replicates so far."""
        self.totals: Array = space.zeros(*pairs.batch, pairs.n_models)
        """Sum of every model's replicate means."""
        # A sum of n scores errs by n roundings at most; NumPy adds them pairwise, others at least in parallel.
        self.sum_error: int = 48 + (0 if space.is_numpy else len(design.items) // 256)
        if design.weights is not None:
            self.sum_error += 2  # of an item's share, and of its product with the score

        self._bets = bets
        self.groups: tuple[EntryGroup, ...] = bets.groups
        weights = np.array(bets.stakes.weights)
        self._log_weights: Floats = np.log(weights[weights > 0.0])
        values = np.array(bets.stakes.values)
        self._stakes: Floats = values[weights[: len(values)] > 0.0]  # those that have entered, x batch once fitted
        self.penalties: dict[str, Penalty] = self._made(self._stakes)
        """What the stakes pay, by what they are centred at."""
        self._lay_out()

    def _made(self, stakes: Floats) -> dict[str, Penalty]:
        """New penalties of some stakes, by what these are centred at."""
        made = dict[str, Penalty]()
        for centre, reach in (("prediction", 1.0), ("null", self.design.mu0)):
            some = self._centred(stakes, centre)
            if len(some) or (self._bets.stakes.horizons and not self.needs_past):  # fitted stakes may need either
                made[centre] = _penalty(self.design, self._bets, some, space=self.space, pairs=self.pairs, reach=reach)
        return made

    def _is_centred(self, stakes: Floats, centre: str) -> Mask:
        is_predicted: Mask = (stakes <= CENTRED_MAX) & self._bets.is_predicted
        return is_predicted if centre == "prediction" else ~is_predicted

    def _centred(self, stakes: Floats, centre: str) -> Floats:
        """The stakes with this centre in any repetition; in the others they are 0, which pays nothing."""
        mask = self._is_centred(stakes, centre)
        return np.where(mask, stakes, 0.0)[_in_any(mask)]

    @cached_property
    def needs_past(self) -> bool:
        """Whether the replicates before a stake enters must be replayed: their sums depend on the stake."""
        return not has_common_sums(self._bets.kind, self._bets.layout, self._bets.stakes, self.pairs)

    def _lay_out(self) -> None:
        """Make the matrix of the stakes that have entered: (batch x) stakes x features."""
        n_stakes, features = len(self._stakes), list[Floats]()
        self._slopes: Floats = self._stakes * self._bets.layout.weight_ratio  # lambda / w_max
        slopes = np.moveaxis(self._slopes, 0, -1)[..., None]
        for centre, penalty in self.penalties.items():
            places = np.flatnonzero(_in_any(self._is_centred(self._stakes, centre)))
            features.append(np.zeros((*slopes.shape[:-1], penalty.coefficients.shape[-1])))
            features[-1][..., places, :] = -penalty.coefficients
        # The roundings that a product with the matrix has at most.
        self.terms: int = sum(each.shape[-1] for each in features) + 12
        log_weights = self._log_weights[:n_stakes]
        constants = log_weights - self.terms * UNIT * np.abs(log_weights)
        self.matrix: Floats = np.concatenate([slopes, np.broadcast_to(constants[:, None], slopes.shape), *features], -1)
        """(Batch x) stakes x features: slopes, constants, and minus what the features are paid with."""
        self._matrix_there = self.space.asarray(self.matrix)

    def enter(self, stakes: Floats, replay: Callable[[Feed], None]) -> None:
        """Bet also with the stakes of the next group, as if from the first replicate: stakes x (batch).

        ``replay`` feeds the replicates so far, where no sums of these tell what other stakes would have paid.
        """
        before, fresh = self.penalties, self._made(stakes)
        known = np.reshape(self._stakes, (*self._stakes.shape, *(1,) * (stakes.ndim - self._stakes.ndim)))
        self._stakes = np.concatenate([np.broadcast_to(known, (len(known), *stakes.shape[1:])), stakes])
        if self.needs_past:
            replay(partial(self._feed, fresh))
            self.penalties = self._made(self._stakes)
            for centre, penalty in self.penalties.items():
                penalty.join([each[centre] for each in (before, fresh) if centre in each])
        else:
            common = {centre: each for centre, each in before.items() if isinstance(each, PenaltyBySize)}  # all are
            for centre, each in common.items():
                each.bet(self._centred(self._stakes, centre))
            # Once the last stakes have entered, none will need the other centre any more.
            is_open = len(self._stakes) < len(self._log_weights)
            self.penalties = {centre: each for centre, each in common.items() if is_open or each.is_needed}
        self._lay_out()

    def _feed(self, penalties: Mapping[str, Penalty], means: Columns, residuals: Columns, shift: float) -> None:
        for centre, penalty in penalties.items():
            if centre == "prediction":
                penalty.add(residuals, shift)
            else:
                penalty.add(means, self.design.tau / 2)  # x = Y - mu0

    def add(self, means: Columns, residuals: Columns, *, shift: float, totals: Array) -> None:
        """Add a replicate: block means, their residuals, the shift of every pair's prediction, and model means."""
        self._feed(self.penalties, means, residuals, shift)
        self.totals += totals
        self.count += 1

    def log_e(self, at: float | None = None) -> Array:
        """Natural logarithm of the evidence: (batch x) rows x columns; any number for a model against itself.

        That a difference exceeds the ``tau`` of the design, or ``at``.
        """
        return mixed_log_e(self.space, self.log_groups(at=at))

    def log_groups(self, bound: Bound = "lower", *, at: float | None = None) -> Array:
        """Natural logarithm of what each group of stakes adds to the evidence: groups x (batch x) rows x columns.

        A lower bound, or an upper one; any number for a model against itself.
        """
        space, shape = self.space, (len(self.groups), *self.pairs.shape)
        out = space.zeros(*shape) + space.column([math.log(group.weight) for group in self.groups], len(shape))
        if not self.count:
            return out
        entered = [group for group in self.groups if group.stakes[-1] < len(self._stakes)]
        reader, (height, width) = StripReader(self, is_sorted=self._is_sorted, bound=bound, at=at), self._tile_shape()
        for rows in steps(out.shape[-2], height):
            strip = reader.strip(rows, slice(0, out.shape[-1]), with_selves=not self._is_sorted)
            for cols in steps(out.shape[-1], width):
                out[: len(entered), ..., rows, cols] = self._mixed(strip[..., cols], bound, entered)
        return reader.in_place(out)

    def _mixed(self, tile: Array, bound: Bound, groups: Sequence[EntryGroup]) -> Array:
        """The logarithm of the mixture of each group, for a tile of directions."""
        xp = self.space.xp
        if len(self.groups) == 1 and bound == "lower":
            features = xp.reshape(tile, (tile.shape[0], -1))
            value = xp.reshape(log_sum(xp, self._adding(features) @ features), (1, *tile.shape[1:]))
        else:
            exponents = products(self._matrix_there if bound == "lower" else self._upper_matrix, tile, xp)
            parts = [exponents[group.stakes[0] : group.stakes[-1] + 1, ...] for group in groups]
            value = xp.concat([part if part.shape[0] == 1 else log_sum(xp, part)[None, ...] for part in parts])
        value -= error_sign(bound) * ((len(self._slopes) + 16) * 2 * UNIT + 4 * UNIT * xp.abs(value))
        return value

    @property
    def _upper_matrix(self) -> Array:
        matrix = self.matrix.copy()
        matrix[..., 1] = 2 * self._log_weights[: len(self._stakes)] - matrix[..., 1]
        return self.space.asarray(matrix)

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
        return self.matrix[behind.reshape(len(self._slopes), -1).max(axis=1) <= -FORGOTTEN]

    @cached_property
    def _between_stakes(self) -> tuple[Floats, Floats]:
        """Differences of the rows of two stakes, other less one, (one x other) x features: above and below zero."""
        differences = (self.matrix[None, :, :] - self.matrix[:, None, :]).reshape(-1, self.matrix.shape[1])
        return np.clip(differences, 0.0, None), np.clip(differences, None, 0.0)

    def exponents(self, rows: slice) -> tuple[Array, Floats]:
        """What each stake adds to the evidence of some rows of directions, and how fast it falls with a difference.

        Logarithms, rounded down: stakes x (batch x) rows x columns. They fall by half the slope times that by which a
        difference exceeds ``tau``, after one panel.
        """
        strip = StripReader(self).strip(rows, slice(0, self.pairs.shape[-1]))
        return products(self._matrix_there, strip, self.space.xp), self._slopes

    def lower_bounds(self, n_directions: float) -> Array:
        """Lower bounds of the differences, simultaneous over so many directions and all looks; in [-1, 1]."""
        space, xp = self.space, self.space.xp
        if not self.count or self._slopes.max() <= LEAST_SLOPE:
            return space.zeros(*self.pairs.shape) - 1.0
        out, reader = space.empty(*self.pairs.shape), StripReader(self)
        target = math.log(n_directions / self.design.margin_alpha)
        *batch, n_rows, n_cols = self.pairs.shape
        height = max(1, 2 * space.tile // max(1, self.matrix.shape[1] * n_cols * math.prod(batch)))
        # Without a margin both directions of a pair may pay the same penalty, and then need the same advantage.
        symmetric = all(penalty.is_symmetric for penalty in self.penalties.values())
        mirrored = self.pairs.is_square and self.design.tau == 0.0 and symmetric
        for rows in steps(n_rows, height):
            cols = slice(rows.start if mirrored else 0, n_cols)
            strip = reader.strip(rows, cols)
            flat = xp.reshape(strip, (strip.shape[0], -1))
            needed = xp.reshape(least_advantage(space, self.matrix, flat, target), tuple(strip.shape[1:]))
            needed *= 1.0 + 4 * self.terms * UNIT
            out[..., rows, cols] = self.bounds(reader.advantage(rows, cols), needed)
            if mirrored:
                out[..., cols, rows] = self.bounds(reader.advantage(cols, rows), xp.matrix_transpose(needed))
        return reader.in_place(out)

    def bounds(self, advantage: Array, needed: Array) -> Array:
        """The differences at which directions have just the advantage that is needed, rounded down."""
        bounds = advantage - needed
        bounds *= 2.0 / self.count
        bounds += self.design.tau - 8 * UNIT
        return self.space.xp.clip(bounds, -1.0, 1.0)

    @property
    def _is_sorted(self) -> bool:
        """Whether evidence is read in the order of totals: if that saves more exponentials than sorting costs."""
        tile, n_stakes = self.space.tile, len(self._slopes)
        is_worth_it = math.prod(self.pairs.shape) * n_stakes > tile >= self.matrix.size * n_stakes
        return is_worth_it and self.space.is_numpy and not self.pairs.batch

    def _tile_shape(self) -> tuple[int, int]:
        """Rows and columns of a tile: a square if they are sorted, and whole rows otherwise."""
        *batch, n_rows, n_cols = self.pairs.shape
        directions = max(1, self.space.tile // len(self._slopes))
        if self._is_sorted:
            edge = math.isqrt(directions)
            return min(edge, n_rows), min(edge, n_cols)
        return max(1, directions // max(1, n_cols * math.prod(batch))), n_cols

    def keep(self, rows: Rows) -> None:
        """Forget all models but these."""
        for penalty in self.penalties.values():
            penalty.keep(rows)
        self.pairs, of_models = self.pairs.kept(rows)
        self.totals = self.space.take(self.totals, of_models, axis=-1)

    def split(self) -> None:
        """Give every model two rows from now on: see :meth:`Directions.of_sides`."""
        for penalty in self.penalties.values():
            penalty.split()
        self.pairs = Directions.of_sides(self.pairs.n_models, self.pairs.batch)
        self.totals = self.space.xp.concat([self.totals, self.totals], axis=-1)

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
        self.totals, self.count = self.space.asarray(totals), count


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


def mixed_log_e(space: Space, log_groups: Array) -> Array:
    """The logarithm of the evidence, rounded down, from what groups of stakes add to it."""
    if log_groups.shape[0] == 1:
        return log_groups[0, ...]
    value = log_sum(space.xp, log_groups + 0.0)
    value -= (2 * log_groups.shape[0] + 16) * UNIT * (1.0 + space.xp.abs(value))
    return value


def _in_any(mask: Mask) -> Mask:
    """Of stakes x (batch), which stakes have it in any repetition."""
    return np.asarray(np.reshape(mask, (len(mask), -1)).any(axis=1))


def _penalty(design: Design, bets: Bets, stakes: Floats, *, space: Space, pairs: Directions, reach: float) -> Penalty:
    if bets.kind == "hoeffding":
        return HoeffdingPenalty(stakes, bets.layout, space=space, pairs=pairs)
    if bets.kind == "betting":
        return BettingPenalty(stakes, bets.layout, space=space, pairs=pairs, reach=reach)
    penalty = gram_penalty(
        bets.kind,
        stakes,
        bets.layout,
        space=space,
        pairs=pairs,
        reach=reach,
        has_common_sums=has_common_sums(bets.kind, bets.layout, bets.stakes, pairs) if bets.stakes.horizons else None,
    )
    penalty.unit = bets.unit or int(design.share < 1.0)  # worth it where views share the products
    return penalty
