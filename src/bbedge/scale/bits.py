"""Graphs of very many models, as rows of bits: 50,000 models take 312 MB."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from bbedge.core.closure import Bits, Mask, close, packed, unpacked

_ROWS = 256  # that are worked on at a time, so that temporaries stay small; a multiple of 64


class PackedGraph:
    """A certified graph over models 0 to L - 1, a bit per direction; concludes what :class:`bbedge.Graph` does.

    **Guarantee:** on the event that no edge is false, which has probability at least ``1 - alpha``, the rank
    intervals are true.

    >>> PackedGraph.of(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)).rank_intervals
    ((1, 1), (2, 2), (3, 3))
    """

    def __init__(self, bits: Bits, n_models: int) -> None:
        self._bits = bits
        self._n = n_models

    @classmethod
    def of(cls, edges: Mask) -> PackedGraph:
        """Pack a models x models matrix of edges, row above column."""
        return cls(packed(edges), len(edges))

    @property
    def n_models(self) -> int:
        """Number of models."""
        return self._n

    @property
    def bits(self) -> Bits:
        """The edges: row ``a`` holds a bit for every ``b`` that a is above, lowest bit first."""
        return self._bits

    def edges(self) -> Mask:
        """The edges as a models x models matrix; eight times the memory."""
        return unpacked(self._bits, self._n)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(np.bitwise_count(self._bits).sum(dtype=np.int64))

    @cached_property
    def reach(self) -> Bits:
        """The transitive closure, packed: a path of edges leads from row to column."""
        return close(self._bits.copy())

    @property
    def has_contradictions(self) -> bool:
        """Whether some models are above each other: proof that an edge is false or an assumption broken."""
        models = np.arange(self._n, dtype=np.uint64)
        return bool(((self.reach[models, models >> 6] >> (models & 63)) & 1).any())

    @cached_property
    def rank_intervals(self) -> tuple[tuple[int, int], ...]:
        """For each model ``[1 + models certified above it, L - models certified below it]``."""
        best, worst = np.ones(self._n, dtype=np.int64), np.full(self._n, self._n)
        for rows, above in self._above():
            best += above.sum(axis=0)
            worst[rows] -= above.sum(axis=1)
        return tuple(zip(best.tolist(), worst.tolist(), strict=True))

    @cached_property
    def n_resolved(self) -> int:
        """Number of pairs that the order decides."""
        return sum(int(np.count_nonzero(above)) for _, above in self._above())

    def _above(self) -> Iterator[tuple[slice, Mask]]:
        """The strict order, some rows at a time: a reaches b and b does not reach a."""
        for start in range(0, self._n, _ROWS):
            rows = slice(start, min(start + _ROWS, self._n))
            words = np.ascontiguousarray(self.reach[:, start // 64 : -(-rows.stop // 64)])
            back = unpacked(words, rows.stop - start)
            yield rows, unpacked(self.reach[rows], self._n) & ~back.T
