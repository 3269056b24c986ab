"""The transitive closure of a graph, where its edges are."""

from __future__ import annotations

import numpy as np  # noqa: F401 - for the example
from array_api_compat import is_numpy_array

from bbedge.core.arrays import Array, namespace
from bbedge.core.graph import closure as closure_by_bits


def closure(edges: Array) -> Array:
    """``closure[a, b]`` if a path of edges leads from a to b.

    >>> closure(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)).astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    return closure_by_bits(edges) if is_numpy_array(edges) else closure_by_products(edges)


def closure_by_products(edges: Array) -> Array:
    """The same by matrix products, which accelerators are made for, of one graph or many: (batch x) models x models.

    Each product doubles the length of the paths that are seen.
    """
    xp = namespace(edges)
    reach, known = edges, -1
    while (found := int(xp.count_nonzero(reach))) != known:
        known = found
        counts = xp.astype(reach, xp.float32)  # small whole numbers, which float32 adds without error
        reach = reach | (counts @ counts > 0.5)
    return reach
