"""How the items of a benchmark fall into blocks, and the block means of a panel."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import Array, Space, numpy_space


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLayout:
    """A partition of the items, in the form that makes block means one pass over a panel.

    >>> layout = BlockLayout.of(["a", "b", "a"])
    >>> layout.means(np.array([[0.0, 1.0, 1.0]])).tolist()
    [[0.5, 1.0]]
    """

    order: NDArray[np.intp]
    """Permutation of the items that puts each block's items side by side."""
    starts: NDArray[np.intp]
    """Where each block begins in that order."""
    sizes: NDArray[np.int64]
    """Number of items in each block."""

    @classmethod
    def of(cls, blocks: Sequence[Hashable]) -> BlockLayout:
        """Lay out items by the label of their block; blocks are numbered as they first appear."""
        number: dict[Hashable, int] = {}
        of_item = np.array([number.setdefault(label, len(number)) for label in blocks], dtype=np.intp)
        order = np.argsort(of_item, kind="stable")
        sizes = np.bincount(of_item, minlength=len(number)).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        return cls(order=order, starts=starts, sizes=sizes)

    @property
    def count(self) -> int:
        """Number of blocks."""
        return len(self.sizes)

    @property
    def largest(self) -> int:
        """Number of items in the largest block."""
        return int(self.sizes.max())

    @property
    def relative_sizes(self) -> NDArray[np.float64]:
        """``w_m / w_max``: the share of a stake that each block carries."""
        relative: NDArray[np.float64] = self.sizes / self.sizes.max()
        return relative

    @property
    def effective_count(self) -> float:
        """``sum_m (w_m / w_max)^2``: how many blocks of the largest size these are worth."""
        return float(np.square(self.relative_sizes).sum())

    def means(self, panel: Array, space: Space | None = None) -> Array:
        """Block means of a (batch x) models x items panel, as (batch x) models x blocks."""
        space = space or numpy_space()
        if self.largest == 1:
            return panel  # blocks are numbered as their items come
        # Blocks of one size are summed together: their items lie side by side as blocks x size.
        found, came_from = [], []
        for size in np.unique(self.sizes):
            blocks = np.flatnonzero(self.sizes == size)
            places = self.order[(self.starts[blocks, None] + np.arange(size)).ravel()]
            items = space.xp.reshape(space.take(panel, places, axis=-1), (*panel.shape[:-1], len(blocks), int(size)))
            found.append(space.xp.sum(items, axis=-1) / int(size))
            came_from.append(blocks)
        if len(found) == 1:
            return found[0]
        return space.take(space.xp.concat(found, axis=-1), np.argsort(np.concatenate(came_from)), axis=-1)
