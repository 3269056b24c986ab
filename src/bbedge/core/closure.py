"""The transitive closure of a graph, where its edges are."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from bbedge.core.arrays import Array


def closure(edges: Array) -> Array:
    """``closure[a, b]`` if a path of edges leads from a to b.

    >>> closure(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)).astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    return _by_bits(edges) if is_numpy_array(edges) else _by_squaring(edges)


def _by_bits(edges: np.ndarray) -> np.ndarray:
    """Warshall's algorithm with a row of bits per model: L steps of L x L / 8 bytes."""
    rows = np.packbits(edges, axis=1)
    for via in range(len(edges)):
        byte, bit = divmod(via, 8)
        into = (rows[:, byte] >> (7 - bit)) & 1 == 1
        rows[into] |= rows[via]
    return np.unpackbits(rows, axis=1, count=len(edges)).view(np.bool_)


def _by_squaring(edges: Array) -> Array:
    """Matrix products, which accelerators are made for; each doubles the length of the paths that are seen."""
    xp = array_namespace(edges)
    reach, known = edges, -1
    while (found := int(xp.count_nonzero(reach))) != known:
        known = found
        counts = xp.astype(reach, xp.float32)  # small whole numbers, which float32 adds without error
        reach = reach | (counts @ counts > 0.5)
    return reach
