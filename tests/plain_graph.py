"""The conclusions from a certified graph the plain way, one model or one pair at a time: an oracle for the fast way."""

from __future__ import annotations

from functools import cached_property

import numpy as np


class PlainGraph:
    """As the definitions read. Everything is computed when asked for."""

    def __init__(self, edges):
        self.edges = np.array(edges, dtype=bool)
        self.n_models = len(self.edges)

    @cached_property
    def reach(self):
        reach = self.edges.copy()
        for via in range(self.n_models):
            reach[reach[:, via]] |= reach[via]
        return reach

    @cached_property
    def above(self):
        return self.reach & ~self.reach.T

    @cached_property
    def reduction(self):
        if self.cycles:
            return self.edges
        closure = self.reach.astype(np.float32)
        return self.reach & ~((closure @ closure) > 0.5)

    @cached_property
    def cycles(self):
        both = self.reach & self.reach.T
        seen, groups = set(), []
        for model in np.flatnonzero(both.diagonal()).tolist():
            if model not in seen:
                group = tuple(np.flatnonzero(both[model]).tolist())
                seen.update(group)
                groups.append(group)
        return tuple(groups)

    @cached_property
    def path_lengths(self):
        if self.cycles:
            return self.above.astype(np.int64)
        reach, reduction = self.reach, self.reduction
        lengths = np.zeros((self.n_models, self.n_models), dtype=np.int64)
        for a in np.argsort(reach.sum(axis=1), kind="stable").tolist():
            children = np.flatnonzero(reduction[a])
            if children.size:
                below = lengths[children]
                lengths[a] = np.where(below > 0, below + 1, 0).max(axis=0)
                lengths[a, children] = np.maximum(lengths[a, children], 1)
        return lengths

    @cached_property
    def rank_intervals(self):
        best = 1 + self.above.sum(axis=0)
        worst = self.n_models - self.above.sum(axis=1)
        return tuple(zip(best.tolist(), worst.tolist(), strict=True))

    @cached_property
    def tiers(self):
        order = np.argsort(-self.above.sum(axis=1), kind="stable")
        inside = self.above[np.ix_(order, order)]
        tiers, start = [], 0
        for k in range(1, self.n_models + 1):
            if k == self.n_models or bool(inside[:k, k:].all()):
                tiers.append(tuple(sorted(order[start:k].tolist())))
                start = k
        return tuple(tiers)

    def top_k(self, k):
        members = ()
        for tier in self.tiers[:-1]:
            members += tier
            if len(members) == k:
                return tuple(sorted(members))
        return None

    @cached_property
    def unresolved(self):
        open_pairs = np.triu(~(self.above | self.above.T), k=1)
        return tuple((a, b) for a, b in np.argwhere(open_pairs).tolist())
