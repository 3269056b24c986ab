"""Intervals that no value fits into, although each end is promised: one of the signs that something shown is false.

Bounds hold at all looks together, so that the lower end is the largest of any look and the upper end the smallest.
Where labels change between runs, what was shown early excludes what is shown late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbedge.core.graph import Graph

MOST_CROSSED = 200
"""So many are listed: one is enough to trust nothing, and thousands of models have millions of pairs."""
_MOST_PATHS = 500  # longest paths among more models than this are slow to find

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossed:
    """An interval whose lower end is above its upper end."""

    models: tuple[str, ...]
    """The model whose mean it is of; or two models, whose difference, first minus second, it is of."""
    lower: float
    """The largest lower end of any look, in score units."""
    upper: float
    """The smallest upper end of any look, in score units."""


def crossed_differences(
    models: Sequence[str], bounds: Matrix, graph: Graph, *, tau: float, width: float
) -> tuple[Crossed, ...]:
    """The pairs whose interval is crossed, in their order; those of a cycle say the same and are left out.

    ``bounds`` are the largest lower bounds of any look on the [0, 1] scale, NaN where not tested. A certified
    comparison adds that the difference exceeds ``tau`` for every edge of its path.
    """
    above = graph.above
    steps = graph.path_lengths if tau and len(models) <= _MOST_PATHS else 1
    lower = np.fmax(bounds, np.where(above, tau * steps, np.nan))
    both = graph.reach & graph.reach.T
    found = np.argwhere(np.triu((lower + lower.T > 0.0) & ~both, k=1))[:MOST_CROSSED]
    return tuple(
        Crossed(models=(models[a], models[b]), lower=float(lower[a, b]) * width, upper=-float(lower[b, a]) * width)
        for a, b in found.tolist()
    )


def crossed_means(models: Sequence[str], bounds: Matrix, *, score_range: tuple[float, float]) -> tuple[Crossed, ...]:
    """The models whose interval of the mean is crossed; ``bounds`` are the tightest ends of any look on [0, 1]."""
    low, high = score_range
    found = np.flatnonzero(bounds[:, 0] > bounds[:, 1])[:MOST_CROSSED]
    ends = low + bounds * (high - low)
    return tuple(Crossed(models=(models[i],), lower=float(ends[i, 0]), upper=float(ends[i, 1])) for i in found.tolist())
