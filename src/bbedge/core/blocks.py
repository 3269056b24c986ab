"""How the items of a benchmark fall into blocks, what they weigh, and the block means of a panel."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import Array, Space, numpy_space


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLayout:
    """A partition of the items, in the form that makes block means one pass over a panel.

    The weight of a block is the sum of its items' weights, its mean is weighted likewise. Items and blocks of weight
    zero are left out.

    >>> layout = BlockLayout.of(["a", "b", "a"])
    >>> layout.means(np.array([[0.0, 1.0, 1.0]])).tolist()
    [[0.5, 1.0]]
    >>> layout = BlockLayout.of(["a", "b", "a"], [1.0, 0.0, 3.0])
    >>> layout.means(np.array([[0.0, 1.0, 1.0]])).tolist()
    [[0.75]]
    """

    order: NDArray[np.intp]
    """The items that weigh something, each block's side by side."""
    starts: NDArray[np.intp]
    """Where each block begins in that order."""
    sizes: NDArray[np.int64]
    """Number of items in each block."""
    relative_weights: NDArray[np.float64]
    """``w_m / w_max``: the share of a stake that each block carries."""
    weight_ratio: float
    """What all blocks weigh together, in units of the heaviest block."""
    within: NDArray[np.float64] | None = None
    """The share of each item in the weight of its block, in the same order; ``None`` if all items weigh the same."""
    overall: NDArray[np.float64] | None = None
    """The share of each item in the weight of all items, in the order of a panel; ``None`` likewise."""

    @classmethod
    def of(cls, blocks: Sequence[Hashable], weights: Sequence[float] | None = None) -> BlockLayout:
        """Lay out items by the label of their block; blocks are numbered as they first appear.

        ``weights`` holds a finite weight for each item, at least 0 and not all 0; without it all weigh the same.
        """
        present = range(len(blocks)) if weights is None else [i for i, weight in enumerate(weights) if weight > 0.0]
        number: dict[Hashable, int] = {}
        of_item = np.array([number.setdefault(blocks[i], len(number)) for i in present], dtype=np.intp)
        order = np.argsort(of_item, kind="stable")
        sizes = np.bincount(of_item, minlength=len(number)).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        if weights is None:
            relative, largest = sizes / sizes.max(), int(sizes.max())
            return cls(
                order=order, starts=starts, sizes=sizes, relative_weights=relative, weight_ratio=len(blocks) / largest
            )
        # As whole numbers, so that sums are exact and every share is rounded once.
        whole = _in_one_unit([weights[i] for i in present])
        block_weights = [0] * len(number)
        for block, weight in zip(of_item.tolist(), whole, strict=True):
            block_weights[block] += weight
        heaviest, total = max(block_weights), sum(whole)
        within = np.array([weight / block_weights[block] for block, weight in zip(of_item, whole, strict=True)])
        overall = np.zeros(len(blocks))
        overall[present] = [weight / total for weight in whole]
        return cls(
            order=np.array(present, dtype=np.intp)[order],
            starts=starts,
            sizes=sizes,
            relative_weights=np.array([weight / heaviest for weight in block_weights]),
            weight_ratio=total / heaviest,
            within=within[order],
            overall=overall,
        )

    @property
    def count(self) -> int:
        """Number of blocks."""
        return len(self.sizes)

    @property
    def largest(self) -> int:
        """Number of items in the largest block."""
        return int(self.sizes.max())

    @property
    def weights(self) -> NDArray[np.float64]:
        """``w_m``: the share of each block in the weight of all items."""
        if self.within is None:
            return self.sizes / len(self.order)
        return self.relative_weights / self.weight_ratio

    @property
    def roundings(self) -> int:
        """Roundings of a block mean, at most: of its sum, and of the weights."""
        return self.largest if self.within is None else self.largest + 4

    @property
    def effective_count(self) -> float:
        """``sum_m (w_m / w_max)^2``: how many blocks as heavy as the heaviest these are worth."""
        return float(np.square(self.relative_weights).sum())

    @property
    def contents(self) -> list[tuple[tuple[int, float], ...]]:
        """For each block its items and their shares in its mean: blocks with the same contents have the same mean."""
        shares = np.repeat(1.0 / self.sizes, self.sizes) if self.within is None else self.within
        pairs = list(zip(self.order.tolist(), shares.tolist(), strict=True))
        return [
            tuple(sorted(pairs[start : start + size]))
            for start, size in zip(self.starts.tolist(), self.sizes.tolist(), strict=True)
        ]

    def means(self, panel: Array, space: Space | None = None) -> Array:
        """Block means of a (batch x) models x items panel, as (batch x) models x blocks."""
        space = space or numpy_space()
        if self.largest == 1:  # blocks are numbered as their items come
            return panel if self.count == panel.shape[-1] else space.take(panel, self.order, axis=-1)
        # Blocks of one size are summed together: their items lie side by side as blocks x size.
        found, came_from = [], []
        for size in np.unique(self.sizes):
            blocks = np.flatnonzero(self.sizes == size)
            places = (self.starts[blocks, None] + np.arange(size)).ravel()
            items = space.take(panel, self.order[places], axis=-1)
            if self.within is not None:
                items = items * space.asarray(self.within[places])
            items = space.xp.reshape(items, (*panel.shape[:-1], len(blocks), int(size)))
            found.append(space.xp.sum(items, axis=-1) / (int(size) if self.within is None else 1))
            came_from.append(blocks)
        if len(found) == 1:
            return found[0]
        return space.take(space.xp.concat(found, axis=-1), np.argsort(np.concatenate(came_from)), axis=-1)


def _in_one_unit(weights: Sequence[float]) -> list[int]:
    """The weights as multiples of a power of two that divides them all: floats are such multiples."""
    ratios = [float(weight).as_integer_ratio() for weight in weights]
    unit = max(denominator for _, denominator in ratios)
    return [numerator * (unit // denominator) for numerator, denominator in ratios]
