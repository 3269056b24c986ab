"""What stood after each look: the union of this look and all looks before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbedge.core.graph import Graph

Shown = Literal["current", "standing"]
"""Which graph is shown: that of the last look alone, or everything that stands."""


class Stood(NamedTuple):
    """How much stood after a look."""

    edges: int
    """Edges certified at this look or an earlier one."""
    resolved_pairs: int
    """Pairs decided by these edges and the paths they form."""


def look_of(first_certified: NDArray[np.int64], replicates: Sequence[int]) -> NDArray[np.int64]:
    """The look, from 1, that first certified each direction; 0 if none did.

    Both arguments count replicates: the one that first certified a direction, and the one before each look.

    >>> look_of(np.array([0, 2, 3]), [2, 3]).tolist()
    [0, 1, 2]
    """
    return np.where(first_certified > 0, 1 + np.searchsorted(replicates, first_certified), 0)


def stood(first_look: NDArray[np.int64], looks: int) -> list[Stood]:
    """What stood after each of so many looks, from the look that first certified each direction.

    >>> stood(np.array([[0, 1, 0], [0, 0, 2], [0, 0, 0]]), 2)
    [Stood(edges=1, resolved_pairs=1), Stood(edges=2, resolved_pairs=3)]
    """
    result: list[Stood] = []
    for look in range(1, looks + 1):
        edges = (first_look > 0) & (first_look <= look)
        found = int(np.count_nonzero(edges))
        # A closure takes seconds with thousands of models, and most looks add nothing.
        unchanged = result and result[-1].edges == found
        result.append(result[-1] if unchanged else Stood(found, Graph(edges).n_resolved))
    return result
