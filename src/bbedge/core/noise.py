r"""The noise of the blocks seen so far, which decides the stakes that are fitted to it when they enter.

It is the mean of :math:`(Y_r - \bar Y_{r-1})^2 (r - 1) / r` over the replicates ``r`` from the second on, over the
tested directions, and over blocks in proportion to the square of their weight: what :math:`Y_r` would vary by if it
did not depend on ``r``. A stake may be any function of the replicates before it enters, so nothing here has to be
right to the last bit for the guarantee; see ``docs/guarantees.md``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bbedge.core.arrays import Array, Floats, Rows, Space, State, to_numpy
from bbedge.core.panels import BlockLayout
from bbedge.core.penalties import Directions
from bbedge.core.stakes import StakeSize


class SeenNoise:
    """Learns the noise of each repetition from replicate to replicate, and keeps the block means if they are needed.

    Needed they are where the evidence of a stake that enters cannot be told from sums that no stake changes.
    """

    def __init__(self, space: Space, layout: BlockLayout, batch: tuple[int, ...], *, keeps_panels: bool) -> None:
        squares = np.square(layout.weights)
        self._space, self._shares, self._keeps_panels = space, space.asarray(squares / squares.sum()), keeps_panels
        self.panels: list[Array] = []
        """The block means of each replicate, (batch x) models x blocks."""
        self._sum: Floats = np.zeros(batch)
        self._directions = 0.0  # summed over replicates
        self._replicates = 0
        self._is_closed = False

    def add(self, means: Array, sums: Array, tested: Array, pairs: Directions) -> None:
        """Add the block means of a replicate; ``sums`` are those of all replicates before it, of the same models."""
        if self._is_closed:
            return
        self._replicates += 1
        self.panels += [means] if self._keeps_panels else []
        count, xp = self._replicates, self._space.xp
        if count == 1:
            return
        apart = means - sums / (count - 1)
        weighed = apart * self._shares
        mask = xp.astype(tested, xp.float64)
        squares = xp.sum(weighed * apart, axis=-1)
        products = weighed[..., pairs.rows, :] @ xp.matrix_transpose(apart[..., pairs.cols, :])
        # (a - b)^2 = a^2 + b^2 - 2 a b, over all tested pairs of rows
        total = xp.sum(squares[..., pairs.rows] * xp.sum(mask, axis=1), axis=-1)
        total = total + xp.sum(squares[..., pairs.cols] * xp.sum(mask, axis=0), axis=-1)
        total = total - 2.0 * xp.sum(products * mask, axis=(-2, -1))
        self._sum = self._sum + to_numpy(xp.clip(total, 0.0, None)) / 4.0 * ((count - 1) / count)
        self._directions += float(xp.sum(mask))

    @property
    def value(self) -> Floats:
        """The noise of a block so far, of each repetition; 0 before the second replicate."""
        return self._sum / max(1.0, self._directions)

    def stakes(self, size: StakeSize, horizons: Sequence[float]) -> Floats:
        """The stakes for these numbers of replicates: horizons x (batch)."""
        noise = self.value
        found = [[size.stake(float(each) * horizon) for each in noise.flat] for horizon in horizons]
        return np.reshape(np.array(found), (len(horizons), *noise.shape))

    def close(self) -> None:
        """Learn nothing more: the last stakes have entered."""
        self._is_closed, self._keeps_panels, self.panels = True, False, []

    def keep(self, rows: Rows) -> None:
        """Forget all models but these rows; a row that is named twice becomes two."""
        self.panels = [self._space.take(each, rows, axis=-2) for each in self.panels]

    def state(self) -> State:
        """Everything learnt, as arrays."""
        panels = {f"panel.{place}": to_numpy(each) for place, each in enumerate(self.panels)}
        counts = np.array([self._directions, self._replicates, self._is_closed])
        return {"sum": self._sum, "counts": counts, **panels}

    def restore(self, state: State) -> None:
        """Take over what :meth:`state` returned."""
        self._sum = state["sum"]
        self._directions, self._replicates, is_closed = float(state["counts"][0]), *map(int, state["counts"][1:])
        if is_closed:
            self.close()
        kept = range(self._replicates if self._keeps_panels else 0)
        self.panels = [self._space.asarray(state[f"panel.{place}"]) for place in kept]
