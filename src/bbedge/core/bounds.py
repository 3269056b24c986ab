r"""Bounds besides the margins of complete runs: of differences inside the first run, and of each model's own mean.

Inside the first run no prediction may be used, so the null value is moved in the bets themselves. With
:math:`\mu_t = (1 + t) / 2` the evidence that a difference exceeds ``t`` is

.. math:: E^{(t)} = \sum_g \rho_g \prod_j \bigl(1 + u_j(t) (Y_j - \mu_t)\bigr), \qquad
          u_j(t) = \min(\lambda_g, 0.95 / \mu_t)\, w_j / w^*,

and falls in every factor as ``t`` grows, also where the stake is cut: then a factor is
:math:`1 + 0.95\, (w_j / w^*) (Y_j / \mu_t - 1)`. So the difference is at least every ``t`` at which it reaches
the threshold. Where the products would cost too much, a lower bound of them is used, the sharp one, which needs the
sums of the first four powers of the differences and no product for every ``t``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bbedge.core.arrays import UNIT, Array, Floats, Places, Rows, Space, State, to_numpy, with_prefix
from bbedge.core.design import Design
from bbedge.core.mixture import Bets, Mixture
from bbedge.core.penalties import Columns, Directions, sharp_tail
from bbedge.core.stakes import CENTRED_MAX, StakeSize, design_stakes, wide_max

_STEPS = 20  # halvings of [-1, 1], each checked: what is left is below what is shown
_POWERS = 4
_RUN = 64  # factors multiplied before one logarithm; each lies in [0.05, 2.9], so 64 of them stay in range
EXACT_LIMIT = 60_000
"""Exact products are used up to so many (direction, block) pairs."""

AtDifference = Callable[[Array], Array]
"""From a difference for each direction to a lower bound of the logarithm of the evidence that it is exceeded."""


def log_e_above(bets: Bets, space: Space, means: Array, pairs: Directions) -> AtDifference:
    """The evidence of a checkpoint that differences exceed others, from block means: (batch x) rows x blocks.

    **Guarantee:** what it returns is at most the logarithm of ``E^(t)``, whose mean is at most 1 where the difference
    is ``t``, over the random order and the scores.
    """
    if math.prod(pairs.shape) * means.shape[-1] <= EXACT_LIMIT:
        return _exact(bets, space, means, pairs)
    return _sharp(bets, space, means, pairs)


def lower_bounds(log_e: AtDifference, start: Array, log_threshold: float, space: Space) -> Array:
    """The largest differences that were found at which the evidence reaches the threshold; -1 if there are none.

    ``start`` is any array of the shape of the directions. What is returned was tried, so that the search cannot end on
    the wrong side.
    """
    xp = space.xp
    low, high = xp.zeros_like(start) - 1.0, xp.zeros_like(start) + 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        reached = log_e(middle) >= log_threshold
        low, high = xp.where(reached, middle, low), xp.where(reached, high, middle)
    return low


def _exact(bets: Bets, space: Space, means: Array, pairs: Directions) -> AtDifference:
    xp, n = space.xp, means.shape[-1]
    missing = -n % _RUN  # a share of zero is a factor of one
    shares = space.asarray(np.concatenate([bets.layout.relative_weights, np.zeros(missing)]))
    first, second = means[..., pairs.rows, :], means[..., pairs.cols, :]
    difference = first[..., :, None, :] - second[..., None, :, :]
    if missing:
        difference = xp.concat([difference, space.zeros(*difference.shape[:-1], missing)], axis=-1)
    # A factor of 0.05 or more, whose block means are wrong by a few roundings.
    slack = n * 40 * (bets.layout.roundings + 24) * UNIT + 1e-12

    def read(t: Array) -> Array:
        bet = shares * (difference - t[..., None])
        total = xp.full_like(t, -xp.inf)
        for half, weight in _stakes(bets, space, t):
            product = xp.prod(xp.reshape(1.0 + half[..., None] * bet, (*t.shape, -1, _RUN)), axis=-1)
            total = xp.logaddexp(total, xp.sum(xp.log(product), axis=-1) + math.log(weight))
        return total - slack - 64 * UNIT * xp.abs(total)

    return read


def _sharp(bets: Bets, space: Space, means: Array, pairs: Directions) -> AtDifference:
    xp, shares, n = space.xp, bets.layout.relative_weights, means.shape[-1]
    counts = [math.fsum(shares**k) for k in range(1, _POWERS + 1)]
    sums = _sums(bets, space, means, pairs)
    # Block means, their powers and sums over blocks are wrong by so many roundings of numbers that, times the largest
    # possible bets, add up to less than 260 for a block.
    slack = 260.0 * n * (n + 4 * bets.layout.roundings + 64) * UNIT + 1e-12

    def read(t: Array) -> Array:
        powers = []  # sum_j s_j^k (d_j - t)^k
        for k in range(1, _POWERS + 1):
            total = counts[k - 1] * (-t) ** k
            for i in range(1, k + 1):
                total = total + math.comb(k, i) * (-t) ** (k - i) * sums[k, i]
            powers.append(total)
        total = xp.full_like(t, -xp.inf)
        tails = [float(sharp_tail(np.array(min(stake, CENTRED_MAX)))) for stake in bets.stakes.values]  # u mu_t is less
        for (half, weight), tail in zip(_stakes(bets, space, t), tails, strict=True):
            value = half * (powers[0] - half * (powers[1] / 2 - half * (powers[2] / 3 - tail * half * powers[3])))
            total = xp.logaddexp(total, value + math.log(weight))
        return total - slack - 64 * UNIT * xp.abs(total)

    return read


def _stakes(bets: Bets, space: Space, t: Array) -> list[tuple[Array, float]]:
    """Half of each stake, cut to what the difference of each direction allows, and its weight."""
    cut = CENTRED_MAX / space.xp.clip((1.0 + t) / 2.0, 1e-3, None)
    halves = (space.xp.clip(cut, None, stake) / 2.0 for stake in bets.stakes.values)
    return list(zip(halves, bets.stakes.weights, strict=True))


def _sums(bets: Bets, space: Space, means: Array, pairs: Directions) -> dict[tuple[int, int], Array]:
    """``sum_j s_j^k d_j^i`` of every direction; where all shares are 1, those of one k are those of all."""
    first, second = means[..., pairs.rows, :], means[..., pairs.cols, :]
    shares = bets.layout.relative_weights
    found: dict[tuple[int, int], Array] = {}
    for i in range(1, _POWERS + 1):
        for k in range(i, _POWERS + 1):
            if k > i and np.all(shares == 1.0):
                found[k, i] = found[i, i]
                continue
            weight, found[k, i] = space.asarray(shares**k), space.zeros(*pairs.shape)
            for j in range(i + 1):  # (a - b)^i
                product = (first ** (i - j) * weight) @ space.xp.matrix_transpose(second**j)
                found[k, i] = found[k, i] + (-1) ** j * math.comb(i, j) * product
    return found


class MeanBounds:
    """Lower and upper bounds of the means of a design's models, fed the block means of one panel after the other.

    For a model by itself, ``Y`` is its block score ``X``, or ``1 - X`` for the upper bound. Twice its scores against
    those of a reference that always scores 1 have exactly this ``Y = (2 X - 1 + 1) / 2``, so that evidence and bounds
    are those of a mixture whose only pairs are the models and this reference. ``docs/guarantees.md`` has the proof.

    The stakes are those of the design rule for two claims a model, whatever the stakes and the evidence of pairs. Where
    only the directions of a newcomer are tested, only its mean is bounded.

    **Guarantee:** with probability at least one less the share of the view times the level of means, all bounds of all
    models hold at every look. Rounding can widen an interval and never narrow it.

    **Needs:** what :class:`~bbedge.core.evidence.Evidence` needs.
    """

    def __init__(self, design: Design, space: Space, *, batch: tuple[int, ...] = ()) -> None:
        n_models, newcomer = len(design.models), design.family.newcomer
        # The other models of a newcomer's design have their intervals by designs before it.
        self._others = np.array([newcomer not in (None, name) for name in design.models])
        claims, level = 2 * int((~self._others).sum()) / design.share, design.levels.means
        size = StakeSize(
            alpha=level, cap=wide_max(0.5), n_directions=claims, effective_blocks=design.layout.effective_count
        )
        stakes = design_stakes(size, design.planned)
        # The mixture knows the level of margins; so many claims at that level have the threshold of these.
        self._claims = claims * design.levels.margins / level
        self._design = design.with_grid(stakes, evidence="betting", tau=0.0)
        self._space, self._batch = space, batch
        self._active: Rows = np.arange(n_models)
        self._last = np.zeros((*batch, n_models, 2)) + np.array([0.0, 1.0])  # of stopped models
        self._sides = self._mixtures(is_split=False)

    def _mixtures(self, *, is_split: bool) -> tuple[Mixture, Mixture]:
        """For the lower bounds all models against the reference, for the upper ones the reference against them."""
        count = self._active.size
        first, last = (count, 2 * count) if is_split else (0, count)
        reference = slice(last, last + 1)
        sides = ((slice(0, count), reference), (reference, slice(first, last)))
        lower, upper = (Directions(rows=rows, cols=cols, batch=self._batch) for rows, cols in sides)
        return Mixture(self._design, self._space, lower), Mixture(self._design, self._space, upper)

    def add(self, means: Columns, residuals: Columns, totals: Array, *, shift: float) -> None:
        """Add a replicate: block means, their residuals, by how much each prediction is raised, and model means."""
        for side in self._sides:
            side.add(
                self._doubled(means, 1.0),
                self._doubled(residuals, 2.0 * shift),
                shift=0.0,
                totals=self._space.xp.concat([2.0 * totals, self._space.zeros(*self._batch, 1) + 1.0], axis=-1),
            )

    def _doubled(self, columns: Columns, of_reference: float) -> Columns:
        """Twice the values of the models, and those of the reference."""

        def found(places: Places, out: Array | None) -> Array:
            doubled = 2.0 * columns(places, None)
            reference = self._space.zeros(*self._batch, 1, doubled.shape[-1]) + of_reference
            return self._space.xp.concat([doubled, reference], axis=-2)

        return found

    def bounds(self) -> Floats:
        """The lower and the upper bound of each model's mean on the [0, 1] scale: (batch x) models x 2."""
        found = self._last.copy()
        if self._active.size:
            lower, upper = (to_numpy(side.lower_bounds(self._claims)) for side in self._sides)
            found[..., self._active, 0] = (1.0 + lower[..., 0]) / 2 - 2 * UNIT
            found[..., self._active, 1] = (1.0 - upper[..., 0, :]) / 2 + 2 * UNIT
        found[..., self._others, :] = 0.0, 1.0
        return np.asarray(np.clip(found, 0.0, 1.0))

    def split(self) -> None:
        """Give every model two rows from now on, with missing scores as 0 and as 1."""
        self._rebuild(np.arange(self._active.size), is_split=True)

    def keep(self, rows: Rows, *, is_split: bool) -> None:
        """Freeze the bounds of all active models but these."""
        self._last = self.bounds()
        self._rebuild(rows, is_split=is_split)

    def _rebuild(self, rows: Rows, *, is_split: bool) -> None:
        """Go on with some of the active models; ``is_split`` says whether each has two rows then."""
        states, count = [side.state() for side in self._sides], self._active.size
        totals = to_numpy(self._sides[0].totals)
        low, high, reference = totals[..., :count], totals[..., -1 - count : -1], totals[..., -1:]
        self._active = self._active[rows]
        self._sides = self._mixtures(is_split=is_split)
        kept = [low[..., rows], *([high[..., rows]] if is_split else []), reference]
        for side, state, axis in zip(self._sides, states, (-2, -1), strict=True):
            some = {name: np.take(each, rows, axis=axis) if each.ndim > 1 else each for name, each in state.items()}
            side.restore(some, totals=np.concatenate(kept, axis=-1), count=int(reference.flat[0]))

    def state(self) -> State:
        """Everything accumulated but the totals and the count, as arrays."""
        sides = zip(("lower.", "upper."), self._sides, strict=True)
        return {"last": self._last} | {f"{side}{name}": each for side, of in sides for name, each in of.state().items()}

    def restore(self, state: State, *, active: Rows, totals: Array, count: int, is_split: bool) -> None:
        """Take over what :meth:`state` returned; ``totals`` are those of the active models, both rows if split."""
        self._active, self._last = active, state["last"]
        self._sides = self._mixtures(is_split=is_split)
        for side, prefix in zip(self._sides, ("lower.", "upper."), strict=True):
            side.restore(with_prefix(state, prefix), totals=np.concatenate([2.0 * totals, [float(count)]]), count=count)
