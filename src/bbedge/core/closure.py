"""The transitive closure of a graph, where its edges are."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from bbedge.core.arrays import Array

_ROWS = 1024  # that take in others at a time, so that temporaries stay small


def closure(edges: Array) -> Array:
    """``closure[a, b]`` if a path of edges leads from a to b.

    >>> closure(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)).astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    return _by_bits(edges) if is_numpy_array(edges) else _by_squaring(edges)


def _by_bits(edges: np.ndarray) -> np.ndarray:
    return np.unpackbits(close_bits(np.packbits(edges, axis=1)), axis=1, count=len(edges)).view(np.bool_)


def close_bits(rows: np.ndarray) -> np.ndarray:
    """The closure of a graph given as a row of bits per model, as ``numpy.packbits`` makes it; in place.

    Warshall's algorithm, eight models at a time: the rows of all subsets of the eight are made first, so that every
    row takes in what it needs from them in one step. L / 8 steps of L x L / 8 bytes.
    """
    n_models = len(rows)
    either = np.zeros((256, rows.shape[1]), dtype=np.uint8)
    for byte in range(rows.shape[1]):
        eight = rows[8 * byte : 8 * byte + 8]
        for via in range(len(eight)):
            into = (eight[:, byte] >> (7 - via)) & 1 == 1
            eight[into] |= eight[via]
        for bit in range(8):  # of the subsets, those whose greatest member this is
            last = 8 * byte + 7 - bit
            step = 1 << bit
            either[step : 2 * step] = either[:step] | rows[last] if last < n_models else either[:step]
        into = np.flatnonzero(rows[:, byte])
        for start in range(0, len(into), _ROWS):
            some = into[start : start + _ROWS]
            rows[some] |= either[rows[some, byte]]
    return rows


def _by_squaring(edges: Array) -> Array:
    """Matrix products, which accelerators are made for; each doubles the length of the paths that are seen."""
    xp = array_namespace(edges)
    reach, known = edges, -1
    while (found := int(xp.count_nonzero(reach))) != known:
        known = found
        counts = xp.astype(reach, xp.float32)  # small whole numbers, which float32 adds without error
        reach = reach | (counts @ counts > 0.5)
    return reach
