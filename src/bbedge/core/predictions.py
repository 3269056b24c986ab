"""Predictable guesses of the next block scores, one per model and block.

The prediction of a pair is ``(p_a - p_b + 1) / 2 + shift``. Any guess in [0, 1] that is fixed before the replicate
is valid; a good one makes the residuals small, and small residuals make evidence grow. Predicting per model rather
than per pair keeps all pairs one matrix product away.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from bbedge.core.arrays import Array, Places, Rows, Space, to_numpy
from bbedge.core.design import Design


class Predictor(ABC):
    """Learns from completed replicates and predicts the next one; arrays are (batch x) models x blocks."""

    def __init__(self, space: Space, shape: tuple[int, ...]) -> None:
        self._space = space
        self._sums = space.zeros(*shape)
        self._count = 0

    @property
    def sums(self) -> Array:
        """The sums of the block means so far."""
        return self._sums

    @property
    def shift(self) -> float:
        """What is added to every pair's prediction of the next replicate."""
        return 0.0

    @property
    def own_shift(self) -> float:
        """What is added to the prediction of a model that is compared with no other."""
        return 0.0

    @abstractmethod
    def residuals(self, means: Array, places: Places, out: Array | None = None) -> Array:
        """Block means of the next replicate less their predictions, for some blocks; a new array, or ``out``."""

    def update(self, means: Array) -> None:
        """Learn the block means of a completed replicate."""
        self._sums += means
        self._count += 1

    def keep(self, rows: Rows) -> None:
        """Forget all models but these rows; a row that is named twice becomes two."""
        self._sums = self._space.take(self._sums, rows, axis=-2)

    def state(self) -> dict[str, np.ndarray]:
        """Everything learnt, as arrays."""
        return {"sums": to_numpy(self._sums), "count": np.array([self._count], dtype=np.float64)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over what :meth:`state` returned."""
        self._sums = self._space.asarray(state["sums"])
        self._count = int(state["count"][0])


class RunningMean(Predictor):
    """The published rule: the mean of the earlier replicates and one pseudo-observation at the null value.

    For a pair, ``p_r = (mu0 + sum_{s<r} Y_s) / r``; per model that is the sum of earlier block means over ``r``, and
    a shift of ``tau / (2 r)`` for the pseudo-observation.
    """

    def __init__(self, space: Space, shape: tuple[int, ...], design: Design) -> None:
        super().__init__(space, shape)
        self._tau = design.tau

    @property
    def shift(self) -> float:
        """See :class:`Predictor`."""
        return self._tau / (2 * (self._count + 1))

    @property
    def own_shift(self) -> float:
        """A pseudo-observation at one half, which in pairs of models cancels."""
        return 0.5 / (self._count + 1)

    def residuals(self, means: Array, places: Places, out: Array | None = None) -> Array:
        """See :class:`Predictor`."""
        means, sums = self._space.take(means, places), self._space.take(self._sums, places)
        return self._space.combine(means, -1.0 / (self._count + 1), sums, out=out)


class TwoWay(Predictor):
    """Model effect plus block effect plus a shrunken interaction, fitted to the earlier replicates.

    The interaction is shrunk by the share of its variance that is not replicate noise, as far as the earlier
    replicates tell; half of it is kept after a single replicate, which cannot tell.
    """

    def __init__(self, space: Space, shape: tuple[int, ...]) -> None:
        super().__init__(space, shape)
        self._squares = space.zeros(*shape[:-1])  # per model, so that a stopped model takes its noise along
        self._fit: tuple[Array, Array, Array] | None = None

    def residuals(self, means: Array, places: Places, out: Array | None = None) -> Array:
        """See :class:`Predictor`."""
        return self._space.combine(self._space.take(means, places), -1.0, self._predicted(places), out=out)

    def _predicted(self, places: Places) -> Array:
        xp, sums = self._space.xp, self._space.take(self._sums, places)
        if self._count == 0:
            return xp.full_like(sums, 0.5)
        model, block, share = self._fit = self._fit or self._fitted()
        effects = model + self._space.take(block, places)
        return xp.clip(effects + share * (sums / self._count - effects), 0.0, 1.0)

    def _fitted(self) -> tuple[Array, Array, Array]:
        """Model effects, block effects, and the share of the interaction that is kept."""
        xp, n = self._space.xp, self._count
        mean = self._sums / n
        model = xp.mean(mean, axis=-1, keepdims=True)
        block = xp.mean(mean, axis=-2, keepdims=True) - xp.mean(model, axis=-2, keepdims=True)
        if n < 2:
            return model, block, 0.5
        n_models, n_blocks = self._sums.shape[-2:]
        spread = xp.mean((mean - model - block) ** 2, axis=(-2, -1), keepdims=True)
        within = (
            xp.sum(self._squares, axis=-1)[..., None, None]
            - xp.sum(self._sums * self._sums, axis=(-2, -1), keepdims=True) / n
        )
        noise = xp.clip(within, 0.0, None) / ((n - 1) * n_models * n_blocks)
        known = xp.where(spread > 0.0, spread, xp.ones_like(spread))
        share = xp.clip(1.0 - noise * (1.0 - 1.0 / n_models) / (n * known), 0.0, 1.0)
        return model, block, xp.where(spread > 0.0, share, xp.zeros_like(share))

    def update(self, means: Array) -> None:
        """See :class:`Predictor`."""
        super().update(means)
        self._squares += self._space.xp.sum(means * means, axis=-1)
        self._fit = None

    def keep(self, rows: Rows) -> None:
        """See :class:`Predictor`."""
        super().keep(rows)
        self._squares = self._space.take(self._squares, rows, axis=-1)
        self._fit = None

    def state(self) -> dict[str, np.ndarray]:
        """See :class:`Predictor`."""
        return super().state() | {"squares": to_numpy(self._squares)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """See :class:`Predictor`."""
        super().restore(state)
        self._squares = self._space.asarray(state["squares"])
        self._fit = None


def predictor_for(
    design: Design, space: Space, *, batch: tuple[int, ...] = (), n_models: int | None = None
) -> Predictor:
    """A fresh predictor of the design's rule for all its models, or for so many rows."""
    shape = (*batch, n_models or len(design.models), design.layout.count)
    if design.prediction == "two-way":
        return TwoWay(space, shape)
    return RunningMean(space, shape, design)
