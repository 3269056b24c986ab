"""Missing cells: how many, where, and what dropping slices of the panels would leave.

A slice is one replicate, one model or one item. Everything here counts listed cells, which are either the missing or
the present ones, whichever is known: a table in which every item is seen once has far more missing cells than rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bbedge.text import listed

Axis = Literal[0, 1, 2]
Kept = tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]
"""Which replicates, models and items stay."""

PLURALS = ("replicates", "models", "items")
AXES: tuple[Axis, ...] = (0, 1, 2)
# At least one replicate and one item; a leaderboard of one model says nothing.
_LEAST = (1, 2, 1)
_MOST_ROUNDS = 2000
_PART = 1 << 22
# At most one slice in so many goes in one round; more of them where a round takes long.
_SHARE, _SHARE_OF_LONG, _LONG = 50, 8, 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """A set of panels that may have missing cells."""

    names: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    """Names of the replicates, models and items."""
    cells: NDArray[np.int64]
    """Positions in replicates x models x items, without repetition."""
    listing: Literal["missing", "present"]
    """Which cells ``cells`` lists."""
    failed: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Positions, in order, of the missing cells that have a row: a run was made, and the sample failed."""
    failed_kinds: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, dtype=np.uint8))
    """What failed in each of them: a position in ``ERROR_KINDS``."""
    ordered: bool = True
    """Whether the replicates are in the order in which they were run, as far as their names say; seeds say nothing."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of replicates, models and items."""
        return len(self.names[0]), len(self.names[1]), len(self.names[2])

    @property
    def missing(self) -> int:
        """How many cells have no score."""
        return len(self.cells) if self.listing == "missing" else prod(self.shape) - len(self.cells)

    def coordinates(self) -> NDArray[np.int32]:
        """The listed cells as rows of replicates, models and items."""
        places = np.empty((3, len(self.cells)), dtype=np.int32)
        # In parts, because the positions are made in 64 bits, of which there may be hundreds of millions.
        for first in range(0, len(self.cells), _PART):
            part = slice(first, first + _PART)
            places[:, part] = np.unravel_index(self.cells[part], self.shape)
        return places

    def counts(self) -> tuple[NDArray[np.int64], ...]:
        """The number of missing cells in every replicate, model and item."""
        return self._counts(self.coordinates(), keep_all(self.shape))

    def without_holes(self, axis: Axis) -> Kept:
        """What stays if every slice along the axis that has a hole is dropped."""
        kept = keep_all(self.shape)
        kept[axis][:] = self.counts()[axis] == 0
        return kept

    def greedy(self) -> Kept | None:
        """What stays if the slice with the largest share of holes is dropped until there are none; None if nothing.

        On a long axis, slices that are nearly as bad go together, which keeps the number of rounds small when there
        are a million items.
        """
        kept, cells = keep_all(self.shape), self.coordinates()
        for _ in range(_MOST_ROUNDS):
            sizes = [int(keep.sum()) for keep in kept]
            counts = self._counts(cells, kept)
            shares = [counts[axis] * sizes[axis] / prod(sizes) for axis in AXES]
            if not any(share.any() for share in shares):
                return kept
            droppable = [axis for axis in AXES if sizes[axis] > _LEAST[axis]]
            if not droppable:
                return None
            # Of equally bad slices the one with the fewest cells, that is, along the longest axis.
            axis = max(droppable, key=lambda a: (float(shares[a].max()), sizes[a]))
            worst = float(shares[axis].max())
            if worst == 0.0:
                return None
            share = _SHARE_OF_LONG if sizes[axis] > _LONG else _SHARE
            most = min(max(1, sizes[axis] // share), sizes[axis] - _LEAST[axis])
            near = np.flatnonzero(shares[axis] >= 0.98 * worst)
            near = near[np.argsort(-shares[axis][near], kind="stable")][:most]
            kept[axis][near] = False
            cells = cells[:, kept[axis][cells[axis]]]
        return None

    def _counts(self, cells: NDArray[np.int32], kept: Kept) -> tuple[NDArray[np.int64], ...]:
        sizes = [int(keep.sum()) for keep in kept]
        counts = []
        for axis in AXES:
            count = np.bincount(cells[axis], minlength=self.shape[axis]).astype(np.int64)
            if self.listing == "present":
                count = prod(sizes) // max(sizes[axis], 1) - count
            counts.append(np.where(kept[axis], count, 0))
        return tuple(counts)

    def examples(self, most: int = 3) -> list[tuple[int, int, int]]:
        """A few missing cells, in order."""
        if self.listing == "missing":
            found = self.cells[:most]
        else:
            # Among the first n + most positions at least `most` are not one of n cells.
            first = np.arange(min(len(self.cells) + most, prod(self.shape)), dtype=np.int64)
            found = np.setdiff1d(first, self.cells, assume_unique=True)[:most]
        return [(int(r), int(m), int(i)) for r, m, i in zip(*np.unravel_index(found, self.shape), strict=True)]


def keep_all(shape: tuple[int, int, int]) -> Kept:
    """Nothing dropped."""
    return np.ones(shape[0], bool), np.ones(shape[1], bool), np.ones(shape[2], bool)


def usable(kept: Kept | None) -> bool:
    """Whether enough stays for a leaderboard."""
    return kept is not None and all(keep.sum() >= least for keep, least in zip(kept, _LEAST, strict=True))


def size(kept: Kept | None) -> int:
    """The number of cells that stay, 0 if they are no use."""
    return prod(int(keep.sum()) for keep in kept) if kept is not None and usable(kept) else 0


def kept_in_words(kept: Kept | None) -> str:
    """The panels that stay, in words."""
    if kept is None or not usable(kept):
        return "nothing usable"
    replicates, models, items = (int(keep.sum()) for keep in kept)
    return f"{models} models x {items} items x {replicates} replicates ({size(kept)} cells)"


def dropped(gaps: Gaps, kept: Kept) -> str:
    """The slices that go, in words."""
    parts = []
    for axis in AXES:
        gone = np.flatnonzero(~kept[axis])
        if len(gone):
            names = listed([gaps.names[axis][position] for position in gone])
            parts.append(f"{len(gone)} of {gaps.shape[axis]} {PLURALS[axis]} ({names})")
    return ", ".join(parts)
