"""What follows from a set of certified edges: order, rank intervals, tiers, Top-k sets, contradictions."""

from __future__ import annotations

from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Scalar = TypeVar("Scalar", np.bool_, np.int64)


def _fixed(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """The array, no longer writable: what a graph has concluded, it keeps."""
    array.setflags(write=False)
    return array


class Graph:
    """A certified graph over models 0 to L - 1; immutable.

    **Guarantee:** on the event that no edge is false, which has probability at least ``1 - alpha``, everything that
    this class concludes is true.

    >>> chain = Graph(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool))
    >>> chain.rank_intervals, chain.top_k(2)
    (((1, 1), (2, 2), (3, 3)), (0, 1))
    """

    def __init__(self, edges: Mask, reach: Mask | None = None) -> None:
        self._edges = np.array(edges, dtype=np.bool_)
        self._edges.setflags(write=False)
        if reach is not None:
            self.__dict__["reach"] = _fixed(np.array(reach, dtype=np.bool_))

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
        # Warshall's algorithm with a row of bits per model: L steps of L x L / 8 bytes.
        rows = np.packbits(self._edges, axis=1)
        for via in range(self.n_models):
            byte, bit = divmod(via, 8)
            into = (rows[:, byte] >> (7 - bit)) & 1 == 1
            rows[into] |= rows[via]
        return _fixed(np.unpackbits(rows, axis=1, count=self.n_models).view(np.bool_))

    @cached_property
    def above(self) -> Mask:
        """The strict order: a reaches b and b does not reach a. Models on a cycle are not ordered by it."""
        return _fixed(self.reach & ~self.reach.T)

    @cached_property
    def reduction(self) -> Mask:
        """The fewest edges with the same order, each of them a certified edge (all edges, if there is a cycle)."""
        if self.cycles:
            return self._edges
        closure = self.reach.astype(np.float32)  # counts stay below 2^24, so the product is exact
        return _fixed(self.reach & ~((closure @ closure) > 0.5))

    @cached_property
    def cycles(self) -> tuple[tuple[int, ...], ...]:
        """Groups of models that reach each other: proof that an edge is false or an assumption broken."""
        both = self.reach & self.reach.T
        seen: set[int] = set()
        groups = []
        for model in np.flatnonzero(both.diagonal()).tolist():
            if model not in seen:
                group = tuple(np.flatnonzero(both[model]).tolist())
                seen.update(group)
                groups.append(group)
        return tuple(groups)

    @cached_property
    def path_lengths(self) -> NDArray[np.int64]:
        """Edges on the longest path from a to b; 0 if there is none.

        A path of ``d`` edges certifies a difference above ``d * tau``. A graph with a cycle proves nothing, and
        paths have no longest length in it: there, every ordered pair counts as one edge.
        """
        lengths = np.zeros((self.n_models, self.n_models), dtype=np.int64)
        if self.cycles:
            return _fixed(self.above.astype(np.int64))
        # Fewest descendants first: a model's children are finished before it is reached.
        for a in np.argsort(self.reach.sum(axis=1), kind="stable").tolist():
            children = np.flatnonzero(self.reduction[a])
            if children.size:
                below = lengths[children]
                lengths[a] = np.where(below > 0, below + 1, 0).max(axis=0)
                lengths[a, children] = np.maximum(lengths[a, children], 1)
        return _fixed(lengths)

    @cached_property
    def rank_intervals(self) -> tuple[tuple[int, int], ...]:
        """For each model ``[1 + models certified above it, L - models certified below it]``."""
        best = 1 + self.above.sum(axis=0)
        worst = self.n_models - self.above.sum(axis=1)
        return tuple(zip(best.tolist(), worst.tolist(), strict=True))

    @cached_property
    def tiers(self) -> tuple[tuple[int, ...], ...]:
        """The finest ordered split in which every model of a tier is certified above every model of the next.

        Inside a tier, models are linked by chains of pairs that the graph does not separate.
        """
        # Ordered by descendants, a certified cut after k models means that they have all others below them.
        order = np.argsort(-self.above.sum(axis=1), kind="stable")
        inside = self.above[np.ix_(order, order)]
        tiers, start = [], 0
        for k in range(1, self.n_models + 1):
            if k == self.n_models or bool(inside[:k, k:].all()):
                tiers.append(tuple(sorted(order[start:k].tolist())))
                start = k
        return tuple(tiers)

    def top_k(self, k: int) -> tuple[int, ...] | None:
        """The certified Top-k set: every member reaches every other model. ``None`` if there is none of size k."""
        members: tuple[int, ...] = ()
        for tier in self.tiers[:-1]:
            members += tier
            if len(members) == k:
                return tuple(sorted(members))
        return None

    @cached_property
    def unresolved(self) -> tuple[tuple[int, int], ...]:
        """Pairs that the order does not decide."""
        open_pairs = np.triu(~(self.above | self.above.T), k=1)
        return tuple((a, b) for a, b in np.argwhere(open_pairs).tolist())

    @property
    def n_edges(self) -> int:
        """Number of certified edges."""
        return int(self._edges.sum())

    @property
    def n_resolved(self) -> int:
        """Number of pairs that the order decides."""
        return int(self.above.sum())
