"""Paths of edges: their transitive closure, for one graph of many models or for many at once, and the longest ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import is_numpy_array
from numpy.typing import NDArray

from bbedge.core.arrays import Array, Ints, Mask, namespace

Bits = NDArray[np.uint64]
"""A row of bits per model, lowest bit first, in whole words."""
Lengths = NDArray[np.signedinteger[Any]]

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


def no_paths(n_models: int) -> Lengths:
    """The lengths of paths between so many models before any is found, in the smallest type that can hold them."""
    return np.zeros((n_models, n_models), dtype=np.int16 if n_models < 2**15 else np.int32)


def longest_paths(reduction: Mask, below: Ints) -> Lengths:
    """Edges on the longest path from row to column, in a graph without cycles; 0 if there is none.

    ``below`` counts the models that each can reach. There are two ways, of which the shorter is taken.

    Few edges in the reduction: model by model, one more than the longest path from any child. Few edges on the longest
    path: level by level, with rows of bits for the pairs that are at least so many edges apart.
    """
    size = len(reduction)
    heights = np.zeros(size, dtype=np.int64)
    for a in np.argsort(below, kind="stable").tolist():  # fewest below first: children are done before their parents
        heights[a] = np.max(heights[reduction[a]] + 1, initial=0)
    order = np.argsort(-heights, kind="stable")
    inside = reduction[np.ix_(order, order)]
    # Both are counts of 64-bit words touched: a level is a product of bits, and on average a quarter of it is left.
    by_level = int(heights.max(initial=0)) / 4 * size * (size / 8) * (size / 64)
    by_child = int(np.count_nonzero(reduction)) * size / 4
    lengths = _by_level(inside, heights[order]) if by_level < by_child else _by_child(inside)
    back = np.argsort(order, kind="stable")
    return lengths[np.ix_(back, back)]


def _by_child(reduction: Mask) -> Lengths:
    lengths = no_paths(len(reduction))
    for a in range(len(reduction) - 1, -1, -1):
        children = np.flatnonzero(reduction[a])
        if children.size:
            start = int(children[0])
            longest = lengths[children, start:].max(axis=0)
            lengths[a, start:] = longest + (longest > 0)
            lengths[a, children] = np.maximum(lengths[a, children], 1)
    return lengths


def _by_level(reduction: Mask, heights: Ints) -> Lengths:
    """The models come tallest first. Only the first of them have paths of many edges, and only to the last of them."""
    size, tallest, lengths = len(reduction), int(heights[0]), no_paths(len(reduction))
    children, level = packed(reduction), packed(closure(reduction))
    for edges in range(1, tallest + 1):
        tall = min(size, -(-int(np.count_nonzero(heights >= edges)) // 8) * 8)
        word = int(np.count_nonzero(heights > tallest - edges)) // 64
        part = np.ascontiguousarray(level[:tall, word:])
        lengths[:tall, 64 * word :] += unpacked(part, size - 64 * word)
        following = np.zeros_like(part)
        multiply(children[:tall], part, following)
        level = np.zeros_like(level)
        level[:tall, word:] = following
    return lengths
