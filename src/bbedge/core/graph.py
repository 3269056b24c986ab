"""What follows from a set of certified edges: order, rank intervals, tiers, Top-k sets, contradictions.

A leaderboard may have thousands of models, and then millions of edges, so nothing here walks over pairs one by one:
closure and reduction work on rows of bits, eight models at a time, and whatever counts alone decide (rank intervals,
tiers, Top-k sets) is read off the number of models above and below each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import Floats, Ints, Mask, Rows
from bbedge.core.design import Design
from bbedge.core.paths import Lengths, closure, longest_paths, multiply, no_paths, packed, unpacked
from bbedge.errors import DomainError

Array = TypeVar("Array", bound=NDArray[np.generic])

MOST_CROSSED = 200
"""So many crossed intervals are listed: one is enough to trust nothing, and there may be millions."""
_MOST_PATHS = 500  # longest paths among more models than this are slow to find
_STRIP = 1 << 20  # pairs looked at together where a whole matrix of indices would be large


def _fixed(array: Array) -> Array:
    """The array, no longer writable: what a graph has concluded, it keeps."""
    array.setflags(write=False)
    return array


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranks:
    """Rank intervals, tiers and Top-k sets, from the number of better and worse models alone.

    >>> Ranks(n_better=np.array([0, 0, 2]), n_worse=np.array([1, 1, 0])).tiers
    ((0, 1), (2,))
    """

    n_better: Ints
    """For each model, the number of models that are certified better than it."""
    n_worse: Ints
    """For each model, the number of models that are certified worse than it."""

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.n_better)

    @property
    def n_pairs(self) -> int:
        """Number of pairs of models."""
        return self.n_models * (self.n_models - 1) // 2

    @property
    def n_resolved(self) -> int:
        """Number of pairs that the order decides."""
        return int(self.n_worse.sum())

    @property
    def n_unresolved(self) -> int:
        """Number of pairs that the order does not decide."""
        return self.n_pairs - self.n_resolved

    @cached_property
    def rank_intervals(self) -> tuple[tuple[int, int], ...]:
        """For each model ``[1 + models certified above it, L - models certified below it]``."""
        return tuple(zip((1 + self.n_better).tolist(), (self.n_models - self.n_worse).tolist(), strict=True))

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """The sizes of all certified Top-k sets, smallest first."""
        return tuple(self._cut[1].tolist())

    @cached_property
    def tiers(self) -> tuple[tuple[int, ...], ...]:
        """The finest ordered split in which every model of a tier is certified above every model of the next.

        Inside a tier, models are linked by chains of pairs that the order does not decide.
        """
        order, cuts = self._cut
        return tuple(tuple(sorted(tier.tolist())) for tier in np.split(order, cuts))

    @property
    def settled(self) -> Mask:
        """Which models have no undecided pair."""
        return np.asarray(self.n_better + self.n_worse == self.n_models - 1)

    def top_k(self, k: int) -> tuple[int, ...] | None:
        """The k models that are certified above all others; ``None`` if there is no such set."""
        return tuple(np.flatnonzero(self._places < k).tolist()) if k in self._cut[1] else None

    @cached_property
    def _places(self) -> Rows:
        """Where each model is in the order that is cut."""
        return np.argsort(self._cut[0], kind="stable")

    @cached_property
    def _cut(self) -> tuple[Rows, Ints]:
        """The models by how many are below them, and the places at which this order is cut.

        A model above another has more models below, so that all models above one stand before it. Among the first
        k there are hence as many ordered pairs as these models have others above them, and the other pairs that have
        one of them on top lead across the cut. It is certified if these are all ``k (L - k)``.
        """
        order = np.argsort(-self.n_worse, kind="stable")
        across = np.cumsum(self.n_worse[order] - self.n_better[order])[:-1]
        first = np.arange(1, self.n_models)
        return order, first[across == first * (self.n_models - first)]


class Graph(Ranks):
    """A certified graph over models 0 to L - 1; immutable.

    ``reach`` is its closure, for those who have computed it elsewhere; it is taken as it is.

    **Guarantee:** on the event that no edge is false, which has probability at least ``1 - alpha``, everything that
    this class concludes is true.

    >>> chain = Graph(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool))
    >>> chain.rank_intervals, chain.top_k(2)
    (((1, 1), (2, 2), (3, 3)), (0, 1))
    """

    def __init__(self, edges: Mask, reach: Mask | None = None) -> None:
        self._edges = _fixed(np.array(edges, dtype=np.bool_))
        self._given = None if reach is None else _fixed(np.array(reach, dtype=np.bool_))
        if self._given is not None and self._given.shape != self._edges.shape:
            raise DomainError(f"a closure of shape {self._given.shape} is not one of {self._edges.shape} edges")

    @property
    def edges(self) -> Mask:
        """``edges[a, b]``: a is certified above b directly."""
        return self._edges

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self._edges)

    @cached_property
    def reach(self) -> Mask:
        """Transitive closure: ``reach[a, b]`` if a path of edges leads from a to b."""
        return _fixed(closure(self._edges)) if self._given is None else self._given

    @cached_property
    def above(self) -> Mask:
        """The strict order: a reaches b and b does not reach a. Models on a cycle are not ordered by it."""
        return _fixed(self.reach & ~self.reach.T) if self._has_cycle else self.reach

    @cached_property
    def reduction(self) -> Mask:
        """The fewest edges with the same order, each of them a certified edge (all edges, if there is a cycle)."""
        if self._has_cycle:
            return self._edges
        rows = packed(self.reach)
        indirect = np.zeros_like(rows)
        multiply(rows, rows, indirect)
        return _fixed(unpacked(rows & ~indirect, self.n_models))

    @property
    def _has_cycle(self) -> bool:
        return bool(self.reach.diagonal().any())

    @cached_property
    def cycles(self) -> tuple[tuple[int, ...], ...]:
        """Groups of models that reach each other: proof that an edge is false or an assumption broken."""
        members = np.flatnonzero(self.reach.diagonal())
        if not members.size:
            return ()
        inside = self.reach[np.ix_(members, members)]
        first = (inside & inside.T).argmax(axis=1)  # a group goes by its first member
        order = np.argsort(first, kind="stable")
        starts = np.flatnonzero(np.diff(first[order])) + 1
        return tuple(tuple(group.tolist()) for group in np.split(members[order], starts))

    @cached_property
    def path_lengths(self) -> Lengths:
        """Edges on the longest path from a to b; 0 if there is none.

        A path of ``d`` edges certifies a difference above ``d * tau``. A graph with a cycle proves nothing, and
        paths have no longest length in it: there, every ordered pair counts as one edge.
        """
        if self._has_cycle:
            return _fixed(no_paths(self.n_models) + self.above)
        return _fixed(longest_paths(self.reduction, self.n_worse))

    @cached_property
    def n_better(self) -> Ints:
        """For each model, the number of models that are certified better than it."""
        return _fixed(self.above.sum(axis=0, dtype=np.int64))

    @cached_property
    def n_worse(self) -> Ints:
        """For each model, the number of models that are certified worse than it."""
        return _fixed(self.above.sum(axis=1, dtype=np.int64))

    @cached_property
    def unresolved_pairs(self) -> NDArray[np.int32]:
        """Pairs that the order does not decide, one a row, in order; thousands of models have millions of them."""
        step = max(1, _STRIP // max(1, self.n_models))
        parts = [np.empty((0, 2), dtype=np.int32)]
        for start in range(0, self.n_models, step):
            stop = min(start + step, self.n_models)
            decided = self.above[start:stop, start:] | self.above[start:, start:stop].T
            parts.append(np.argwhere(np.triu(~decided, k=1)).astype(np.int32) + np.int32(start))
        return _fixed(np.concatenate(parts))

    @property
    def unresolved(self) -> tuple[tuple[int, int], ...]:
        """The same as tuples, for the few pairs of a small leaderboard."""
        return tuple((a, b) for a, b in self.unresolved_pairs.tolist())

    @property
    def n_edges(self) -> int:
        """Number of certified edges."""
        return int(np.count_nonzero(self._edges))


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossed:
    """An interval whose lower end is above its upper end.

    Bounds of all looks hold together, so that each of them may be used at any later look. Two that exclude each other
    show that an error has happened or that an assumption does not hold.
    """

    models: tuple[str, ...]
    """The model whose mean it is of; or two models, whose difference, first minus second, it is of."""
    lower: float
    """The largest lower end of any look, in score units."""
    upper: float
    """The smallest upper end of any look, in score units."""


def crossed_intervals(design: Design, graph: Graph, bounds: Floats, means: Floats | None) -> tuple[Crossed, ...]:
    """The pairs whose interval is crossed, in their order, and then the models whose interval of the mean is.

    ``bounds`` are the largest lower bounds of differences at any look on the [0, 1] scale, NaN where not tested, and
    ``means`` the tightest ends of the means. A certified comparison adds that the difference exceeds ``tau`` for every
    edge of its path. Pairs of a cycle say the same as it and are left out.
    """
    models, (low, high) = design.models, design.score_range
    steps = graph.path_lengths if design.tau and len(models) <= _MOST_PATHS else 1
    lower = np.fmax(bounds, np.where(graph.above, design.tau * steps, np.nan))
    both = graph.reach & graph.reach.T
    pairs = np.argwhere(np.triu((lower + lower.T > 0.0) & ~both, k=1))[:MOST_CROSSED].tolist()
    ends = lower * (high - low)
    found = [
        Crossed(models=(models[a], models[b]), lower=float(ends[a, b]), upper=-float(ends[b, a])) for a, b in pairs
    ]
    if means is not None:
        crossed = np.flatnonzero(means[:, 0] > means[:, 1])[:MOST_CROSSED].tolist()
        ends = low + means * (high - low)
        found += [Crossed(models=(models[i],), lower=float(ends[i, 0]), upper=float(ends[i, 1])) for i in crossed]
    return tuple(found)
