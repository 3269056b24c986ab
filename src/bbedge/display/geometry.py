"""Where things are drawn, for every display: on scales with ticks, as rank bars, in the layers of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from bbedge.certificate.certificate import Certificate
from bbedge.core.graph import Graph
from bbedge.records.certificate import Matrix

MOST_MODELS = 40
"""With more models than this, a matrix is clearer than a graph."""
MOST_EDGES = 150
"""Likewise with more lines."""

Point = tuple[float, float]


def rank_bar(ranks: tuple[int, int], size: int, *, whole: float = 100.0) -> tuple[float, float]:
    """Where the bar of a rank interval starts, and how long it is, if all ranks together are ``whole``.

    >>> rank_bar((2, 3), 4)
    (25.0, 50.0)
    """
    best, worst = ranks
    return whole * (best - 1) / size, whole * (worst - best + 1) / size


def leading_directions(log_e: Matrix) -> list[tuple[int, int]]:
    """The direction of each pair that has more evidence; pairs that are not tested are left out."""
    known = np.nan_to_num(log_e, nan=-np.inf)
    pairs = np.argwhere(np.triu(np.isfinite(np.maximum(known, known.T)), k=1)).tolist()
    return [(a, b) if known[a, b] >= known[b, a] else (b, a) for a, b in pairs]


def ranks_in_views(whole: Certificate) -> list[tuple[tuple[int, int], ...]]:
    """The rank interval of each model, in the order shown, in the headline and in every other view."""
    by_view = [dict(zip(view.names, view.ranks.rank_intervals, strict=True)) for view in (whole, *whole.views)]
    return [tuple(ranks[name] for ranks in by_view) for name in whole.names]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A drawing in layers. Across runs along a layer in units of one model, layers count from 0 at the top."""

    places: dict[int, Point]
    """Across and layer of each model that has an edge."""
    routes: dict[tuple[int, int], tuple[Point, ...]]
    """The points that each edge of the reduced graph passes, its ends included."""
    alone: tuple[int, ...]
    """Models without any edge."""
    width: float
    """The largest across."""
    layers: int
    """How many layers there are."""


def can_draw(graph: Graph) -> bool:
    """Whether a drawing in layers is clearer than a matrix, and possible.

    It cannot be made of a graph with a cycle, nor where the library that lays it out could not be installed.
    """
    few = graph.n_models <= MOST_MODELS and int(graph.reduction.sum()) <= MOST_EDGES
    return few and not graph.cycles and find_spec("fast_sugiyama") is not None


def layered(graph: Graph) -> Layout:
    """Lay out the reduced graph. The same graph always gives the same drawing."""
    from scipy.sparse.csgraph import connected_components

    _, part_of = connected_components(graph.reduction, directed=True, connection="weak")
    parts: dict[int, list[int]] = {}
    for model, part in enumerate(part_of.tolist()):
        parts.setdefault(part, []).append(model)
    places: dict[int, Point] = {}
    routes: dict[tuple[int, int], tuple[Point, ...]] = {}
    start = 0.0
    for members in parts.values():
        if len(members) > 1:
            start += 1.0 + _place(graph, members, start, places, routes)
    return Layout(
        places=places,
        routes=dict(sorted(routes.items())),
        alone=tuple(members[0] for members in parts.values() if len(members) == 1),
        width=max(0.0, start - 1.0),
        layers=1 + max((round(layer) for _, layer in places.values()), default=-1),
    )


def _place(
    graph: Graph,
    members: list[int],
    start: float,
    places: dict[int, Point],
    routes: dict[tuple[int, int], tuple[Point, ...]],
) -> float:
    """Lay out one connected part, beginning at ``start``; returns its width."""
    from fast_sugiyama import from_edges

    # One part at a time, its models numbered without gaps: the library numbers the bends of long edges after them.
    size = len(members)
    edges = np.argwhere(graph.reduction[np.ix_(members, members)]).tolist()
    ((positions, _, _, links),) = from_edges(
        [(a, b) for a, b in edges],
        vertex_spacing=1.0,
        dummy_vertices=True,
        dummy_size=0.3,
        ranking_type="up",
        crossing_minimization="barycenter",
        transpose=True,
    )
    left = min(x for _, (x, _) in positions)
    top = max(y for _, (_, y) in positions)
    at = {int(place): (start + x - left, top - y) for place, (x, y) in positions}
    following: dict[int, list[int]] = {}
    for source, target in links or ():
        following.setdefault(int(source), []).append(int(target))
    for place in range(size):
        places[members[place]] = at[place]
        for step in following.get(place, []):
            points = [at[place]]
            while step >= size:
                points.append(at[step])
                (step,) = following[step]
            routes[members[place], members[step]] = (*points, at[step])
    return max(x for x, _ in at.values()) - start
