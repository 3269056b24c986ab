"""Predictable guesses of the next block scores, one per model and block.

The prediction of a pair is ``(p_a - p_b + 1) / 2 + shift``. Any guess in [0, 1] that is fixed before the replicate
is valid; a good one makes the residuals small, and small residuals make evidence grow. Predicting per model rather
than per pair keeps all pairs one matrix product away.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bbedge.core.design import Design
from bbedge.core.kinds import PredictionRule

Array = NDArray[np.float64]


class Predictor(Protocol):
    """Learns from completed replicates and predicts the next one."""

    def predict(self) -> tuple[Array, float]:
        """Per-model predictions (models x blocks) and the shift that is added to every pair's prediction."""
        ...

    def update(self, means: Array) -> None:
        """Learn the block means of a completed replicate."""
        ...

    def keep(self, rows: NDArray[np.intp]) -> None:
        """Forget all models but these rows."""
        ...

    def state(self) -> dict[str, Array]:
        """Everything learnt, as arrays."""
        ...

    def restore(self, state: dict[str, Array]) -> None:
        """Take over what :meth:`state` returned."""
        ...


class RunningMean:
    """The published rule: the mean of the earlier replicates and one pseudo-observation at the null value.

    For a pair, ``p_r = (mu0 + sum_{s<r} Y_s) / r``; per model that is the sum of earlier block means over ``r``, and
    a shift of ``tau / (2 r)`` for the pseudo-observation.
    """

    def __init__(self, n_models: int, n_blocks: int, tau: float) -> None:
        self._sums = np.zeros((n_models, n_blocks))
        self._count = 0
        self._tau = tau

    def predict(self) -> tuple[Array, float]:
        """See :class:`Predictor`."""
        r = self._count + 1
        return self._sums / r, self._tau / (2 * r)

    def update(self, means: Array) -> None:
        """See :class:`Predictor`."""
        self._sums += means
        self._count += 1

    def keep(self, rows: NDArray[np.intp]) -> None:
        """See :class:`Predictor`."""
        self._sums = self._sums[rows]

    def state(self) -> dict[str, Array]:
        """See :class:`Predictor`."""
        return {"sums": self._sums, "count": np.array([self._count], dtype=np.float64)}

    def restore(self, state: dict[str, Array]) -> None:
        """See :class:`Predictor`."""
        self._sums = state["sums"]
        self._count = int(state["count"][0])


class TwoWay:
    """Model effect plus block effect plus a shrunken interaction, fitted to the earlier replicates.

    The interaction is shrunk by the share of its variance that is not replicate noise, as far as the earlier
    replicates tell; half of it is kept after a single replicate, which cannot tell.
    """

    def __init__(self, n_models: int, n_blocks: int) -> None:
        self._sums = np.zeros((n_models, n_blocks))
        self._squares = np.zeros(n_models)  # per model, so that a stopped model takes its noise along
        self._count = 0

    def predict(self) -> tuple[Array, float]:
        """See :class:`Predictor`."""
        n = self._count
        if n == 0:
            return np.full_like(self._sums, 0.5), 0.0
        mean = self._sums / n
        model = mean.mean(axis=1, keepdims=True)
        block = mean.mean(axis=0, keepdims=True) - mean.mean()
        interaction = mean - model - block
        kept = self._signal_share(interaction) * interaction
        return np.clip(model + block + kept, 0.0, 1.0), 0.0

    def _signal_share(self, interaction: Array) -> float:
        n, n_models = self._count, len(self._sums)
        if n < 2:
            return 0.5
        spread = float(np.square(interaction).mean())
        if spread == 0.0:
            return 0.0
        within = self._squares.sum() - np.square(self._sums).sum() / n
        noise = max(0.0, float(within)) / ((n - 1) * self._sums.size)
        return float(np.clip(1.0 - noise * (1.0 - 1.0 / n_models) / (n * spread), 0.0, 1.0))

    def update(self, means: Array) -> None:
        """See :class:`Predictor`."""
        self._sums += means
        self._squares += np.square(means).sum(axis=1)
        self._count += 1

    def keep(self, rows: NDArray[np.intp]) -> None:
        """See :class:`Predictor`."""
        self._sums, self._squares = self._sums[rows], self._squares[rows]

    def state(self) -> dict[str, Array]:
        """See :class:`Predictor`."""
        return {
            "sums": self._sums,
            "squares": self._squares,
            "count": np.array([self._count], dtype=np.float64),
        }

    def restore(self, state: dict[str, Array]) -> None:
        """See :class:`Predictor`."""
        self._sums, self._squares = state["sums"], state["squares"]
        self._count = int(state["count"][0])


def predictor_for(design: Design) -> Predictor:
    """A fresh predictor of the design's rule."""
    shape = (len(design.models), design.layout.count)
    rules: dict[PredictionRule, Predictor] = {
        "running-mean": RunningMean(*shape, tau=design.tau),
        "two-way": TwoWay(*shape),
    }
    return rules[design.prediction]
