"""Missing cells: how many, where, and what dropping slices of the panels would leave.

A slice is one replicate, one model or one item. Everything here counts listed cells, which are either the missing or
the present ones, whichever is known: a table in which every item is seen once has far more missing cells than rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from bbedge.errors import Argument, DataError, Part
from bbedge.readers.assemble.coding import Coder
from bbedge.readers.assemble.grid import Grid
from bbedge.text import listed, quoted

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


class MissingCellsError(DataError):
    """Cells have no score. ``remedy`` is the policy that would keep most, if any keeps something usable."""

    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """A set of panels that may have missing cells."""

    names: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    """Names of the replicates, models and items."""
    cells: NDArray[np.int64]
    """Positions in replicates x models x items, without repetition."""
    listing: Literal["missing", "present"]
    """Which cells ``cells`` lists."""

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


def remedy(gaps: Gaps) -> str | None:
    """The policy that keeps most cells, if one keeps anything usable."""
    kept = {f"drop-{PLURALS[axis]}": size(gaps.without_holes(axis)) for axis in (1, 2, 0)}
    best = max(kept, key=lambda policy: kept[policy])
    return best if kept[best] else None


def report(gaps: Gaps) -> list[Part]:
    """What is missing and what can be done, for the error message."""
    cells = prod(gaps.shape)
    replicates, models, items = gaps.shape
    counts = gaps.counts()
    where = "; ".join(_worst(gaps, counts[axis], axis) for axis in (1, 2, 0))
    examples = "; ".join(
        f"model {quoted(gaps.names[1][m])}, item {quoted(gaps.names[2][i])}, replicate {quoted(gaps.names[0][r])}"
        for r, m, i in gaps.examples()
    )
    policies: dict[str, Kept | None] = {f"drop-{PLURALS[axis]}": gaps.without_holes(axis) for axis in (1, 2, 0)}
    offers: list[Part] = []
    for policy, kept in policies.items():
        offers += ["; " if offers else "", Argument("incomplete", policy), f" would keep {kept_in_words(kept)}"]
    mix = gaps.greedy()
    best = max(policies, key=lambda policy: size(policies[policy]))
    if mix is not None and size(mix) > size(policies[best]):
        largest = (
            f"The largest complete panel found is a mix of these, which keeps {kept_in_words(mix)}, "
            f"if you leave out {dropped(gaps, mix)}"
        )
    elif size(policies[best]):
        largest = f"{best} leaves the largest complete panel found"
    else:
        largest = "No way of dropping leaves two models with a complete panel"
    return [
        f"{gaps.missing} of {cells} cells ({100 * gaps.missing / cells:.3g}%) have no score, but the panels of "
        f"{models} models x {items} items x {replicates} replicates must be complete.\n"
        f"Most missing: {where}.\n"
        f"For example: {examples}.\n"
        "Complete the runs, or drop: ",
        *offers,
        f". {largest}.\n"
        "Decide what to drop without looking at the scores; dropping items changes the benchmark that the claims are "
        "about. A missing score is never counted as zero.",
    ]


def _worst(gaps: Gaps, counts: NDArray[np.int64], axis: Axis, most: int = 3) -> str:
    order = np.argsort(-counts, kind="stable")[:most]
    of = prod(gaps.shape) // gaps.shape[axis]
    names = ", ".join(
        f"{quoted(gaps.names[axis][slice_])} ({counts[slice_]} of {of})" for slice_ in order if counts[slice_]
    )
    lacking = int((counts > 0).sum())
    return f"{lacking} of {gaps.shape[axis]} {PLURALS[axis]}, first {names}"


def check_unique(coder: Coder, grid: Grid) -> None:
    """Raise if a model has two scores on one item in one replicate.

    The message names the repetition that comes first in the files, and the row that it repeats.
    """
    count, second, cell = _in_groups(coder, grid) if grid.is_dense(coder) else _sorted(coder, grid)
    if count:
        _refuse(coder, grid, count, second, cell)


def _in_groups(coder: Coder, grid: Grid) -> tuple[int, int, int]:
    """The number of repetitions, the row of the first and its cell; cells are marked some replicates at a time."""
    count, found = 0, (0, 0)
    panel = grid.shape[1] * grid.shape[2]
    for group in grid.groups():
        seen = np.zeros(len(group) * panel, dtype=bool)
        first_row = 0
        for chunk in coder.chunks:
            within = grid.within(chunk, group)
            if within is not None:
                inside, cells = within
                _, first = np.unique(cells, return_index=True)
                again = np.ones(len(cells), dtype=bool)
                again[first] = seen[cells[first]]
                if again.any():
                    position = int(again.argmax())
                    row = first_row + (position if inside is None else int(np.flatnonzero(inside)[position]))
                    if not count or row < found[0]:
                        found = row, int(cells[position]) + group.start * panel
                    count += int(again.sum())
                seen[cells] = True
            first_row += chunk.height
    return count, *found


def _sorted(coder: Coder, grid: Grid) -> tuple[int, int, int]:
    """The same where there are far more cells than rows."""
    cells: NDArray[np.int64] = np.concatenate([grid.cells(chunk) for chunk in coder.chunks])
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not len(again):
        return 0, 0, 0
    second = int(order[again + 1].min())
    return len(again), second, int(cells[second])


def _refuse(coder: Coder, grid: Grid, count: int, second: int, cell: int) -> NoReturn:
    first = 0
    for chunk in coder.chunks:
        same = np.flatnonzero(grid.cells(chunk) == cell)
        if len(same):
            first += int(same[0])
            break
        first += chunk.height
    replicate, model, item = np.unravel_index(cell, grid.shape)
    raise DataError(
        f"{coder.place(second)}: a second score for model {quoted(grid.models.names[model])}, item "
        f"{quoted(grid.items.names[item])}, replicate {quoted(grid.replicates.names[replicate])}, first given at "
        f"{coder.place(first)} ({count} such rows in all); remove one, or give repeated runs different numbers in "
        "a column named replicate"
    )
