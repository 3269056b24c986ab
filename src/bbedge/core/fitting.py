r"""Stakes that are fitted to the noise when they enter: what has been seen of it, and what was chosen.

The noise is the mean of :math:`(Y_r - \bar Y_{r-1})^2 (r - 1) / r` over the replicates ``r`` from the second on, over
the tested directions, and over blocks in proportion to the square of their weight: what :math:`Y_r` would vary by if
it did not depend on ``r``. A stake may be any function of the replicates before it enters, so nothing here has to be
right to the last bit for the guarantee; see ``docs/guarantees.md``.
"""

from __future__ import annotations

import numpy as np

from bbedge.core.arrays import Array, Floats, Rows, Space, State, to_numpy, with_prefix
from bbedge.core.design import Design
from bbedge.core.penalties import Directions
from bbedge.core.stakes import EntryGroup
from bbedge.records.design import FittedStake


class StakeFitting:
    """Learns the noise of each repetition from replicate to replicate, and chooses the stakes of a design by it.

    It keeps the block means until the last stakes have entered, if the evidence of a stake cannot be found from sums
    that no stake changes.
    """

    def __init__(self, design: Design, space: Space, batch: tuple[int, ...], *, keeps_panels: bool) -> None:
        layout = design.layout
        squares = np.square(layout.weights)
        self._design, self._late = design, [group for group in design.entry_groups if group.after]
        self._space, self._shares, self._keeps_panels = space, space.asarray(squares / squares.sum()), keeps_panels
        self.panels: list[Array] = []
        """The block means of each replicate, (batch x) models x blocks."""
        self.chosen: list[Floats] = []
        """The stakes of each group that has entered: stakes x (batch)."""
        self._noises: list[Floats] = []  # up to the entry of each of these groups
        self._sum: Floats = np.zeros(batch)
        self._directions = 0.0  # summed over replicates
        self._replicates = 0

    @property
    def _is_done(self) -> bool:
        return len(self.chosen) == len(self._late)

    def add(self, means: Array, sums: Array, tested: Array, pairs: Directions) -> None:
        """Add the block means of a replicate; ``sums`` are those of all replicates before it, of the same models."""
        if self._is_done:
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

    def choose(self, group: EntryGroup) -> Floats:
        """The stakes of the next group, which enters now: stakes x (batch)."""
        noise, size = self._sum / max(1.0, self._directions), self._design.stake_size()
        found = [[size.stake(float(each) * horizon) for each in noise.flat] for horizon in self._horizons(group)]
        self.chosen.append(np.reshape(np.array(found), (-1, *noise.shape)))
        self._noises.append(noise)
        if self._is_done:
            self.panels = []
        return self.chosen[-1]

    def _horizons(self, group: EntryGroup) -> list[float]:
        grid = self._design.grid
        return [grid.horizons[stake - len(grid.values)] for stake in group.stakes]

    @property
    def records(self) -> tuple[FittedStake, ...]:
        """The stakes that were chosen; of repetitions, those of the first."""
        return tuple(
            FittedStake(horizon=horizon, after=group.after, noise=float(noise.flat[0]), stake=float(stake.flat[0]))
            for group, noise, stakes in zip(self._late, self._noises, self.chosen, strict=False)
            for horizon, stake in zip(self._horizons(group), stakes, strict=True)
        )

    def keep(self, rows: Rows) -> None:
        """Forget all models but these rows; a row that is named twice becomes two."""
        self.panels = [self._space.take(each, rows, axis=-2) for each in self.panels]

    def state(self) -> State:
        """Everything learnt and chosen, as arrays."""
        arrays: State = {"sum": self._sum, "counts": np.array([self._directions, self._replicates])}
        for name, values in (("panel", self.panels), ("noise", self._noises), ("stakes", self.chosen)):
            arrays |= {f"{name}.{place}": to_numpy(each) for place, each in enumerate(values)}
        return arrays

    def restore(self, state: State) -> None:
        """Take over what :meth:`state` returned."""
        self._sum = state["sum"]
        self._directions, self._replicates = float(state["counts"][0]), int(state["counts"][1])
        self._noises = list(with_prefix(state, "noise.").values())
        self.chosen = list(with_prefix(state, "stakes.").values())
        kept = range(self._replicates if self._keeps_panels and not self._is_done else 0)
        self.panels = [self._space.asarray(state[f"panel.{place}"]) for place in kept]
