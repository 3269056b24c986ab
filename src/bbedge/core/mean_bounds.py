"""Intervals for each model's own mean: exact bets on its scores, at a level of their own.

For a model by itself, ``Y`` is its block score ``X``, or ``1 - X`` for the upper bound. Twice its scores against those
of a reference that always scores 1 have exactly this ``Y = (2 X - 1 + 1) / 2``, so that evidence and bounds are those
of a mixture whose only pairs are the models and this reference. ``docs/guarantees.md`` has the proof.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import UNIT, Array, Space, to_numpy
from bbedge.core.design import Design
from bbedge.core.mixture import Mixture
from bbedge.core.penalties import Columns, Pairs, Rows, State
from bbedge.core.predictions import Places
from bbedge.core.stakes import design_stakes, given_stakes


class MeanBounds:
    """Lower and upper bounds of the means of a design's models, fed the block means of one panel after the other.

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
        stakes = design_stakes(
            alpha=level,
            tau=0.0,
            n_directions=claims,
            effective_blocks=design.layout.effective_count,
            planned=design.planned,
        )
        # The mixture knows the level of margins; so many claims at that level have the threshold of these.
        self._claims = claims * design.levels.margins / level
        self._design = replace(
            design, tau=0.0, evidence="betting", holm="direct", stakes=given_stakes(stakes.values, stakes.weights)
        )
        self._space, self._batch = space, batch
        self._active: Rows = np.arange(n_models)
        self._last = np.zeros((*batch, n_models, 2)) + np.array([0.0, 1.0])  # of stopped models
        self._sides = self._mixtures(is_split=False)

    def _mixtures(self, *, is_split: bool) -> tuple[Mixture, Mixture]:
        """For the lower bounds all models against the reference, for the upper ones the reference against them."""
        count = self._active.size
        first, last = (count, 2 * count) if is_split else (0, count)
        reference = slice(last, last + 1)
        lower = Pairs(rows=slice(0, count), cols=reference, batch=self._batch)
        upper = Pairs(rows=reference, cols=slice(first, last), batch=self._batch)
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

    def bounds(self) -> NDArray[np.float64]:
        """The lower and the upper bound of each model's mean on the [0, 1] scale: (batch x) models x 2."""
        found = self._last.copy()
        if self._active.size:
            lower, upper = (to_numpy(side.lower_bounds(self._claims)) for side in self._sides)
            found[..., self._active, 0] = (1.0 + lower[..., 0]) / 2 - 2 * UNIT
            found[..., self._active, 1] = (1.0 - upper[..., 0, :]) / 2 + 2 * UNIT
        found[..., self._others, :] = 0.0, 1.0
        clipped: NDArray[np.float64] = np.clip(found, 0.0, 1.0)
        return clipped

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
        lower, upper = (side.state() for side in self._sides)
        return {
            "last": self._last,
            **{f"lower.{name}": array for name, array in lower.items()},
            **{f"upper.{name}": array for name, array in upper.items()},
        }

    def restore(self, state: State, *, active: Rows, totals: Array, count: int, is_split: bool) -> None:
        """Take over what :meth:`state` returned; ``totals`` are those of the active models, both rows if split."""
        self._active, self._last = active, state["last"]
        self._sides = self._mixtures(is_split=is_split)
        for side, prefix in zip(self._sides, ("lower.", "upper."), strict=True):
            own = {name.removeprefix(prefix): each for name, each in state.items() if name.startswith(prefix)}
            side.restore(own, totals=np.concatenate([2.0 * totals, [float(count)]]), count=count)
