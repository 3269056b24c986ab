"""Transitive closure: what follows from edges by paths, for one graph of many models or for many graphs at once."""

from __future__ import annotations

import numpy as np
from array_api_compat import is_numpy_array
from numpy.typing import NDArray

from bbedge.core.arrays import Array, namespace

Mask = NDArray[np.bool_]
Bits = NDArray[np.uint64]
"""A row of bits per model, lowest bit first, in whole words."""

_WORDS = 1 << 17  # joined at a time, so that temporaries stay small beside the rows


def closure(edges: Array) -> Array:
    """``closure[a, b]`` if a path of one or more edges leads from a to b.

    >>> closure(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)).astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    return unpacked(close(packed(edges)), len(edges)) if is_numpy_array(edges) else closure_by_products(edges)


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


def close(rows: Bits) -> Bits:
    """The closure of a graph given as rows of bits, in place.

    Warshall's algorithm with eight models as one step: once these are closed among themselves, a table of the 256
    unions of their rows gives every other row all that it reaches through them.
    """
    octets = rows.view(np.uint8)
    for octet in range(-(-len(rows) // 8)):
        via = rows[8 * octet : 8 * octet + 8]
        for bit in range(len(via)):
            into = (octets[8 * octet : 8 * octet + 8, octet] >> bit) & 1 == 1
            via[into] |= via[bit]
        _join(rows, octets[:, octet], _unions(via))
    return rows


def multiply(left: Bits, right: Bits, out: Bits) -> None:
    """Add to ``out[a]`` the union of the rows of ``right`` that ``left[a]`` has bits for."""
    octets = left.view(np.uint8)
    for octet in range(-(-len(right) // 8)):
        _join(out, octets[:, octet], _unions(right[8 * octet : 8 * octet + 8]))


def packed(mask: Mask) -> Bits:
    """The rows of a mask, a column per model, as bits."""
    octets = np.packbits(mask, axis=1, bitorder="little")
    rows = empty(mask.shape[1], rows=len(mask))
    rows.view(np.uint8)[:, : octets.shape[1]] = octets
    return rows


def empty(n_models: int, *, rows: int | None = None) -> Bits:
    """The rows of a graph without edges, or some of them."""
    return np.zeros((n_models if rows is None else rows, -(-n_models // 64)), dtype=np.uint64)


def unpacked(rows: Bits, size: int) -> Mask:
    """The first ``size`` bits of every row as a mask."""
    return np.unpackbits(rows.view(np.uint8), axis=1, count=size, bitorder="little").view(np.bool_)


def _unions(rows: Bits) -> Bits:
    """The union of every subset of up to eight rows, by the number whose bits are the subset."""
    table = np.zeros((1 << len(rows), rows.shape[1]), dtype=np.uint64)
    for bit, row in enumerate(rows):
        np.bitwise_or(table[: 1 << bit], row, out=table[1 << bit : 2 << bit])
    return table


def _join(rows: Bits, chosen: NDArray[np.uint8], table: Bits) -> None:
    """Add to each row the union that it has chosen."""
    some = np.flatnonzero(chosen)
    step = max(1, _WORDS // max(1, rows.shape[1]))
    for start in range(0, some.size, step):
        few = some[start : start + step]
        rows[few] |= table[chosen[few]]
