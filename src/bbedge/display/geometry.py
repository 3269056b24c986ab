"""Where things are drawn, for every display: on scales with ticks, as rank bars, in the layers of a graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from bbedge.certificate.certificate import Certificate
from bbedge.core.graph import Graph
from bbedge.records.certificate import Matrix
from bbedge.records.values import grouped

MOST_MODELS = 40
"""With more models than this, a matrix is clearer than a graph."""
MOST_EDGES = 150
"""Likewise with more lines."""

Point = tuple[float, float]


class Tick(NamedTuple):
    """A mark on an axis."""

    at: float
    """Where, in pixels."""
    text: str
    """What it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Values along an axis, and where they are drawn.

    >>> Scale(low=0.0, high=4.0, start=10.0, end=50.0).ticks()[:2]
    [Tick(at=10.0, text='0'), Tick(at=20.0, text='1')]
    """

    low: float
    """The value at the start; of a logarithmic scale its logarithm to base 10."""
    high: float
    """Likewise the value at the end."""
    start: float
    """In pixels."""
    end: float
    """In pixels."""
    log: bool = False
    """Whether it is logarithmic."""

    @classmethod
    def around(cls, values: Sequence[float], *, start: float, end: float, log: bool = False) -> Scale:
        """A scale with room around the values."""
        drawn = [math.log10(value) for value in values] if log else values
        low, high = min(drawn), max(drawn)
        room = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
        return cls(low=low - room, high=high + room, start=start, end=end, log=log)

    def at(self, value: float) -> float:
        """Where a value is."""
        return self._place(math.log10(value) if self.log else value)

    def _place(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low) if self.low < self.high else 0.5
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[Tick]:
        """Marks at round values."""
        if self.log:
            parts = (1,) if self.high - self.low > 2.5 else (1, 2, 5)
            powers = range(math.floor(self.low), math.ceil(self.high) + 1)
            values = [power + math.log10(part) for power in powers for part in parts]
            return [Tick(self._place(v), f"{10**v:,.4g}") for v in values if self.low <= v <= self.high]
        step = round_step((self.high - self.low) / 5)
        counts = range(math.ceil(self.low / step), math.floor(self.high / step) + 1)
        return [Tick(self._place(i * step), f"{i * step + 0.0:,.6g}") for i in counts]


def round_step(about: float) -> float:
    """A round number at least as large.

    >>> round_step(0.3), round_step(21)
    (0.5, 50.0)
    """
    power = 10.0 ** math.floor(math.log10(about))
    return next(part * power for part in (1.0, 2.0, 5.0, 10.0) if part * power >= about)


def round_marks(first: int, last: int) -> list[int]:
    """Whole numbers to mark on an axis: both ends, and round ones between them that do not touch these.

    >>> round_marks(1, 43), round_marks(0, 15), round_marks(1, 8)
    ([1, 10, 20, 30, 43], [0, 5, 10, 15], [1, 2, 3, 4, 5, 6, 7, 8])
    """
    step = 1 if last - first < 10 else round(round_step((last - first) / 6))
    between = range(step * (first // step + 1), last, step)
    return [first, *(mark for mark in between if min(mark - first, last - mark) > 0.6 * step), last]


def spread_out(count: int, *, most: int = 8) -> list[int]:
    """Which of so many places along an axis have a number, the first and the last among them.

    >>> spread_out(4), spread_out(20)
    ([0, 1, 2, 3], [0, 3, 6, 9, 12, 15, 19])
    """
    step, last = max(1, -(-count // most)), count - 1
    chosen = list(range(0, count, step))
    if 0 < last - chosen[-1] < 0.7 * step:
        chosen.pop()  # two numbers would touch
    return chosen if chosen[-1] == last else [*chosen, last]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartFrame:
    """Where the axes of a chart are, in pixels."""

    width: float
    height: float
    left: float
    """The axis of values."""
    end: float
    """Where the other axis ends."""
    top: float
    """Where the axis of values ends."""
    foot: float
    """The other axis."""


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

    n_parts, part_of = connected_components(graph.reduction, directed=True, connection="weak")
    parts = [np.flatnonzero(part_of == part).tolist() for part in range(n_parts)]
    places: dict[int, Point] = {}
    routes: dict[tuple[int, int], tuple[Point, ...]] = {}
    start = 0.0
    for members in parts:
        if len(members) > 1:
            start += 1.0 + _place(graph, members, start, places, routes)
    return Layout(
        places=places,
        routes=dict(sorted(routes.items())),
        alone=tuple(members[0] for members in parts if len(members) == 1),
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
    following = grouped((int(source), int(target)) for source, target in links or ())
    for place in range(size):
        places[members[place]] = at[place]
        for step in following.get(place, []):
            points = [at[place]]
            while step >= size:
                points.append(at[step])
                (step,) = following[step]
            routes[members[place], members[step]] = (*points, at[step])
    return max(x for x, _ in at.values()) - start
