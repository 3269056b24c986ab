"""Missing scores: how many, where, what dropping would leave, and what a policy makes of them.

A slice is one replicate, one model or one item. Cells that are counted are either the missing or the present ones,
whichever is known: a table in which every item is seen once has far more missing cells than rows. What a policy does
follows from which scores are there and from what logs say about the others, never from their values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bbedge.readers.assemble.coding import Coder
from bbedge.readers.assemble.grid import Grid, Names
from bbedge.readers.choices import ERROR_KINDS, IncompletePolicy, Treatment
from bbedge.readers.logs.table import LogTable
from bbedge.records.notes import Note
from bbedge.text import counted, listed, quoted

Axis = Literal[0, 1, 2]
Kept = tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]
"""Which replicates, models and items stay."""
FailedCells = tuple[NDArray[np.int64], NDArray[np.uint8]]
"""Positions of cells, in order, and what failed in each of them: a position in ``ERROR_KINDS``."""

PLURALS = ("replicates", "models", "items")
AXES: tuple[Axis, ...] = (0, 1, 2)
# At least one replicate and one item; a leaderboard of one model says nothing.
_LEAST = (1, 2, 1)
_MOST_ROUNDS = 2000
_PART = 1 << 22
# At most one slice in so many goes in one round; more of them where a round takes long.
_SHARE, _SHARE_OF_LONG, _LONG = 50, 8, 5000
_UNKNOWN = ERROR_KINDS.index("unknown")
# Pairs of a replicate and a model that are looked at one by one; more of them are a wrong column, not panels.
_MOST_PAIRS = 1 << 24
_SHOWN = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class MissingCells:
    """A set of panels that may have missing cells."""

    names: Names
    """Names of the replicates, models and items."""
    cells: NDArray[np.int64]
    """Positions in replicates x models x items, without repetition."""
    listing: Literal["missing", "present"]
    """Which cells ``cells`` lists."""
    failed: FailedCells = field(default_factory=lambda: (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint8)))
    """The missing cells that have a row: a run was made, and the sample failed."""
    ordered: bool = True
    """Whether the replicates are in the order in which they were run, as far as their names say; seeds say nothing."""
    sources: str = ""
    """What to call the tables in messages."""
    hint: str = ""
    """What logs say about the missing scores, for a message."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of replicates, models and items."""
        return len(self.names[0]), len(self.names[1]), len(self.names[2])

    @property
    def missing(self) -> int:
        """How many cells have no score."""
        return len(self.cells) if self.listing == "missing" else prod(self.shape) - len(self.cells)

    @cached_property
    def outline(self) -> Outline | None:
        """How many are missing where, and why; None where there are too many pairs for these to be panels."""
        replicates, models, items = self.shape
        pairs = replicates * models
        if pairs > _MOST_PAIRS:
            return None
        listed = np.bincount(self.cells // items, minlength=pairs).reshape(replicates, models)
        missing = listed if self.listing == "missing" else items - listed
        cells, kinds = self.failed
        places = kinds.astype(np.int64) * pairs + cells // items
        failed = np.bincount(places, minlength=len(ERROR_KINDS) * pairs).reshape(len(ERROR_KINDS), replicates, models)
        by_kind = failed.copy()
        # Why there is no row is not known.
        by_kind[_UNKNOWN] += missing - failed.sum(axis=0)
        return Outline(gaps=self, failed=failed, by_kind=by_kind)

    def coordinates(self) -> NDArray[np.int32]:
        """The listed cells as rows of replicates, models and items."""
        places = np.empty((3, len(self.cells)), dtype=np.int32)
        # In parts, because the positions are made in 64 bits, of which there may be hundreds of millions.
        for first in range(0, len(self.cells), _PART):
            part = slice(first, first + _PART)
            places[:, part] = np.unravel_index(self.cells[part], self.shape)
        return places

    @cached_property
    def counts(self) -> tuple[NDArray[np.int64], ...]:
        """The number of missing cells in every replicate, model and item."""
        return self._counts(self.coordinates(), keep_all(self.shape))

    def without_holes(self, axis: Axis) -> Kept:
        """What stays if every slice along the axis that has a hole is dropped."""
        kept = keep_all(self.shape)
        kept[axis][:] = self.counts[axis] == 0
        return kept

    def greedy(self) -> Kept | None:
        """What stays if the slice with the largest share of holes is dropped until there are none; None if nothing.

        On a long axis, slices that are nearly as bad go together, which keeps the number of rounds small when there
        are a million items.
        """
        kept, cells = keep_all(self.shape), self.coordinates()
        for _ in range(_MOST_ROUNDS):
            sizes = [int(keep.sum()) for keep in kept]
            shares = [
                counts * length / prod(sizes) for counts, length in zip(self._counts(cells, kept), sizes, strict=True)
            ]
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
        counts = [np.bincount(cells[axis], minlength=self.shape[axis]).astype(np.int64) for axis in AXES]
        if self.listing == "present":
            counts = [prod(sizes) // max(size, 1) - count for size, count in zip(sizes, counts, strict=True)]
        return tuple(np.where(keep, count, 0) for keep, count in zip(kept, counts, strict=True))

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


def size(kept: Kept) -> int:
    """The number of cells that stay, 0 if they are not enough for a leaderboard."""
    sizes = [int(keep.sum()) for keep in kept]
    return prod(sizes) if all(stay >= least for stay, least in zip(sizes, _LEAST, strict=True)) else 0


def kept_in_words(kept: Kept) -> str:
    """The panels that stay, in words."""
    replicates, models, items = (int(keep.sum()) for keep in kept)
    cells = size(kept)
    return f"{models} models x {items} items x {replicates} replicates ({cells} cells)" if cells else "nothing usable"


def dropped(gaps: MissingCells, kept: Kept) -> str:
    """The slices that go, in words."""
    gone = [[name for name, stays in zip(gaps.names[axis], kept[axis], strict=True) if not stays] for axis in AXES]
    return ", ".join(
        f"{len(names)} of {gaps.shape[axis]} {PLURALS[axis]} ({listed(names)})"
        for axis, names in zip(AXES, gone, strict=True)
        if names
    )


def failed_cells(coder: Coder, grid: Grid) -> FailedCells:
    """The cells that have a row and no score.

    An empty cell of a wide table is no row: such a table has a place for every run, also for those that were not made.
    """
    cells, kinds = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.uint8)]
    for chunk in coder.chunks:
        rows = np.flatnonzero(np.isnan(chunk.scores()))
        if not len(rows) or chunk.table.wide:
            continue
        of_log = chunk.table.failures(rows + chunk.first_row) if isinstance(chunk.table, LogTable) else None
        cells.append(grid.cells(chunk)[rows])
        kinds.append(np.full(len(rows), _UNKNOWN, dtype=np.uint8) if of_log is None else of_log)
    found = np.concatenate(cells)
    order = np.argsort(found, kind="stable")
    return found[order], np.concatenate(kinds)[order]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outline:
    """How many scores are missing in every replicate of every model, and why."""

    gaps: MissingCells
    """The cells themselves."""
    failed: NDArray[np.int64]
    """Cells with a row and no score: kinds x replicates x models."""
    by_kind: NDArray[np.int64]
    """All missing scores by kind: kinds x replicates x models."""

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which models have a score in which replicates."""
        return np.asarray(self.by_kind.sum(axis=0) < self.gaps.shape[2])

    @property
    def made(self) -> NDArray[np.bool_]:
        """Which models were run in which replicates: they have a score there, or a sample that failed."""
        return np.asarray(self.scored | (self.failed.sum(axis=0) > 0))

    def plan(self, policy: IncompletePolicy) -> Plan:
        """What a policy that drops nothing makes of the missing scores."""
        run, zeros = self.made, _treated(policy, "zero")
        failures = self.failed[zeros].sum(axis=0)
        if zeros[_UNKNOWN]:
            # A run that no model made is no failure of a model that was stopped before.
            absent = self.by_kind[_UNKNOWN] - self.failed[_UNKNOWN]
            failures = failures + (absent * run.any(axis=1, keepdims=True) if policy.stopped else absent)
        exists = (self.scored | (failures > 0)).any(axis=1)
        positions = np.arange(1, len(exists) + 1)[:, None]
        ends = np.full(run.shape[1], len(exists))
        if policy.stopped:
            ends = np.where(run & exists[:, None], positions, 0).max(axis=0)
        counted_cells = self.by_kind * (exists[:, None] & (positions <= ends))
        return Plan(outline=self, policy=policy, exists=exists, ends=ends, counted=counted_cells)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What a policy makes of the missing scores of some panels."""

    outline: Outline
    """Where scores are missing."""
    policy: IncompletePolicy
    """The policy."""
    exists: NDArray[np.bool_]
    """Which replicates there are: those in which any model has a score, or a failure that counts as one."""
    ends: NDArray[np.int64]
    """For every model the place, from 1, of the last replicate that it has."""
    counted: NDArray[np.int64]
    """The missing scores in these replicates: kinds x replicates x models."""

    @property
    def runs(self) -> NDArray[np.int64]:
        """For every model the number of replicates that it has."""
        return np.concatenate([[0], np.cumsum(self.exists)])[self.ends]

    @property
    def stopped(self) -> NDArray[np.bool_]:
        """Which models were stopped before the last replicate."""
        return np.asarray(self.runs < self.exists.sum())

    @property
    def stops(self) -> tuple[int, ...] | None:
        """For every model the number of replicates after which it was stopped; None if none was."""
        return tuple(self.runs.tolist()) if self.stopped.any() else None

    def counts(self, treatment: Treatment) -> NDArray[np.int64]:
        """The missing scores of every kind and model that are treated so: kinds x models."""
        return np.asarray(self.counted.sum(axis=1) * _treated(self.policy, treatment)[:, None])

    def fill(self, replicate: int, panel: NDArray[np.float64], missing: NDArray[np.int64]) -> None:
        """Write into a panel, models x items, what its missing cells count as; they are counted from its first one.

        What counts in no comparison of its own model's favour stays NaN.
        """
        failed, failed_kinds = self.outline.gaps.failed
        kinds, first = np.full(len(missing), _UNKNOWN, dtype=np.uint8), replicate * panel.size
        here = slice(*np.searchsorted(failed, [first, first + panel.size]))
        kinds[np.searchsorted(missing, failed[here] - first)] = failed_kinds[here]
        is_zero = _treated(self.policy, "zero")[kinds] & (replicate < self.ends[missing // panel.shape[1]])
        panel.reshape(-1)[missing] = np.where(is_zero, 0.0, np.nan)

    def notes(self) -> Iterator[Note]:
        """What a reader of the results should know."""
        names = self.outline.gaps.names
        left_out = np.flatnonzero(~self.exists)
        if len(left_out):
            labels = ", ".join(quoted(names[0][place]) for place in left_out[:_SHOWN])
            yield Note(
                kind="gaps",
                text=f"{counted(len(left_out), 'replicate')} in which no model has a score left out, first {labels}.",
            )
        if self.stopped.any():
            yield Note(
                kind="gaps",
                subject=tuple(compress(names[1], self.stopped)),
                text=f"{counted(int(self.stopped.sum()), 'model')} stopped early: {self.stops_in_words()}. This is "
                "only valid if each decision to stop was made from scores that were seen by then, and every run that "
                "was made is in the files.",
            )
        worst, zero = self.counts("worst-case"), self.counts("zero")
        if kinds := kinds_in_words(worst):  # how many of which model, the leaderboard itself says: it has the gaps
            yield Note(
                kind="gaps",
                subject=tuple(compress(names[1], worst.sum(axis=0) > 0)),
                text=f"Missing scores that count as the worst case, by kind of error: {kinds}.",
            )
        if zero.any():
            yield Note(
                kind="gaps",
                subject=tuple(compress(names[1], zero.sum(axis=0) > 0)),
                text=f"{counted(int(zero.sum()), 'missing score')} declared to be failures and counted with the worst "
                f"score of the range: {missing_in_words(names[1], zero)}.",
            )

    def stops_in_words(self, most: int = _SHOWN) -> str:
        """The models that were stopped, each with its last replicate."""
        replicates, models, _ = self.outline.gaps.names
        places = np.flatnonzero(self.stopped)
        words = ", ".join(
            f"{quoted(models[place])} after replicate {quoted(replicates[self.ends[place] - 1])}"
            for place in places[:most]
        )
        return words + _more(len(places), most)


def _treated(policy: IncompletePolicy, treatment: Treatment) -> NDArray[np.bool_]:
    """Which kinds of missing scores a policy treats so."""
    return np.array([policy.treatment(kind) == treatment for kind in ERROR_KINDS])


def _more(count: int, most: int) -> str:
    return f" and {counted(count - most, 'more model')}" if count > most else ""


def missing_in_words(models: tuple[str, ...], counts: NDArray[np.int64], most: int = _SHOWN) -> str:
    """The models with most missing scores, with how many; and how many of which kind, where logs say."""
    of_models = counts.sum(axis=0)
    order = np.argsort(-of_models, kind="stable")[: int((of_models > 0).sum())]
    words = ", ".join(f"{quoted(models[place])} ({of_models[place]:,})" for place in order[:most])
    kinds = kinds_in_words(counts)
    return words + _more(len(order), most) + (f"; {kinds}" if kinds else "")


def kinds_in_words(counts: NDArray[np.int64]) -> str:
    """How many missing scores there are of which kind; empty if nothing is known of any."""
    of_kinds = counts.sum(axis=1)
    if of_kinds.sum() == of_kinds[_UNKNOWN]:
        return ""
    return ", ".join(f"{count:,} {kind}" for kind, count in zip(ERROR_KINDS, of_kinds, strict=True) if count)
