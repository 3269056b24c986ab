"""The charts of the page: pairs decided, evidence and cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import is_over_all, over
from bbedge.display.geometry import ChartFrame, Scale, Tick, leading_directions, round_marks, spread_out
from bbedge.display.page.drawing import shortened_names
from bbedge.display.page.table import InfoColumn
from bbedge.display.ranking import difference_bounds

LOOKS = ChartFrame(width=480.0, height=250.0, left=58.0, end=466.0, top=12.0, foot=214.0)
"""Of a chart over the looks."""
_INSET = 8.0
_SHARES = {-4.0: "≤ 0.01 %", -3.0: "0.1 %", -2.0: "1 %", -1.0: "10 %", 0.0: "100 %", 1.0: "≥ 1,000 %"}
"""Shares of the threshold between which evidence is drawn, by their powers of ten; more says nothing new."""
_MOST_DOTS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A line in a chart."""

    path: str
    """How it runs."""
    kind: str
    """What it stands for."""
    direction: tuple[int, int] | None = None
    """The model it speaks for and the one it speaks against, by place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookChart:
    """A chart over the looks."""

    across: Sequence[Tick]
    """Replicates."""
    up: Sequence[Tick]
    """Values."""
    curves: Sequence[Curve]
    """Its lines, the ones behind first."""
    places: Sequence[float]
    """Where each look is."""
    dots: Sequence[tuple[float, float, str]] = ()
    """Single points and their kind."""
    frame: ChartFrame = LOOKS
    """Its axes."""

    @property
    def has_added(self) -> bool:
        """Whether a model came at one of the looks."""
        return any(kind == "added" for _, _, kind in self.dots)


def pairs_chart(certificate: Certificate) -> LookChart | None:
    """Pairs decided after each look."""
    looks, total, board = certificate.content.looks, certificate.n_pairs, certificate.content.board
    if len(looks) < 2:
        return None
    places, across = _look_axis([look.replicate for look in looks])
    up = Scale(low=0.0, high=total, start=LOOKS.foot, end=LOOKS.top)
    points = list(zip(places, (up.at(look.resolved_pairs) for look in looks), strict=True))
    path = f"M{points[0][0]:g} {points[0][1]:g}" + "".join(f"H{x:g}V{y:g}" for x, y in points[1:])
    steps = [step for step in board.timeline if step.has_look and step.epoch == board.epoch] if board else []
    # The timeline also has the checkpoints of the first run.
    at = steps if len(steps) == len(points) else [None] * len(points)
    dots = [
        (x, y, "added" if step and step.kind == "add-model" else "pairs")
        for (x, y), step in zip(points, at, strict=True)
    ]
    return LookChart(
        across=across,
        up=[
            Tick(up.at(mark), f"{mark:,}" if mark < 1_000_000 else f"{mark / 1e6:.1f} M")
            for mark in round_marks(0, total)
        ],
        curves=[Curve(path=path, kind="pairs")],
        places=places,
        dots=dots if len(points) <= _MOST_DOTS else [],
    )


def evidence_chart(certificate: Certificate) -> LookChart | None:
    """The evidence of the leading direction of every pair, as a share of what it must reach, on a logarithmic axis."""
    if certificate.history is None or len(certificate.history[0]) < 2:
        return None
    looks, log_thresholds, log_e = certificate.history
    shares = np.clip((log_e - log_thresholds[:, None, None]) / math.log(10.0), min(_SHARES), max(_SHARES))
    places, across = _look_axis(looks.tolist())
    up = Scale(low=min(_SHARES), high=max(_SHARES), start=LOOKS.foot, end=LOOKS.top)
    curves: list[Curve] = []
    for a, b in leading_directions(certificate.log_e):
        points = list(zip(places, map(up.at, shares[:, a, b].tolist()), strict=True))
        kind = "decided" if certificate.graph.above[a, b] else "open"
        path = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
        curves.append(Curve(path=path, kind=kind, direction=(a, b)))
    return LookChart(
        across=across,
        up=[Tick(up.at(mark), text) for mark, text in _SHARES.items()],
        curves=sorted(curves, key=lambda curve: curve.kind == "open"),
        places=places,
    )


def _look_axis(replicates: Sequence[int]) -> tuple[list[float], list[Tick]]:
    """Where each look is, and the numbers below some of them."""
    scale = Scale(low=replicates[0], high=replicates[-1], start=LOOKS.left + _INSET, end=LOOKS.end - _INSET)
    runs = sorted(set(replicates))
    ticks = [Tick(scale.at(runs[i]), f"{runs[i]:,}") for i in spread_out(len(runs))]
    return [scale.at(replicate) for replicate in replicates], ticks


MOST_POINTS = 300
"""So many models are drawn, the first ones of the table."""
MOST_PLOTS = 2
"""So many columns are drawn, each in a plot of its own."""

COST = ChartFrame(width=760.0, height=380.0, left=62.0, end=740.0, top=22.0, foot=338.0)
"""Of a plot of costs."""
_LOG_FROM = 5.0  # costs that differ by such a factor are drawn on a logarithmic axis
_LETTERS, _LETTER, _LINE, _RADIUS = 26, 6.6, 13.0, 5.0  # of a name and of a point, in letters and pixels


class PointName(NamedTuple):
    """Where the name of a point is written."""

    text: str
    """The name, cut to fit."""
    x: float
    """In pixels."""
    y: float
    """Its base line."""
    anchor: Literal["start", "middle", "end"]
    """Which end of the text is at ``x``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPoint:
    """A model in the plot."""

    index: int
    """Its place in the table."""
    cost: float
    """What it costs."""
    value: float
    """Its mean, or that minus the leader's, in score units."""
    low: float
    """The lower end of its interval; the same as ``value`` if there is none."""
    high: float
    """The upper end."""
    is_unbeaten: bool
    """Whether no model of the same or a lower cost is certified better; of all models where pairs are not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPlot:
    """The plot of one column."""

    column: InfoColumn
    """What is known of the models."""
    value: str
    """What is drawn upwards."""
    across: Scale
    """Costs."""
    up: Scale
    """Scores."""
    points: Sequence[CostPoint]
    """The models."""
    named: Mapping[int, PointName]
    """The unbeaten models that there is room to name, by place."""
    partial: int
    """Models whose mean is over some of the items, and whose price is known."""
    unknown: int
    """Models without a cost."""
    left_out: int
    """Models that are not drawn because there are too many."""
    frame: ChartFrame = COST
    """Its axes."""

    @property
    def has_intervals(self) -> bool:
        """Whether the points have intervals."""
        return any(point.low < point.high for point in self.points)


def cost_plots(certificate: Certificate, columns: Sequence[InfoColumn]) -> list[CostPlot]:
    """A plot for each of the first columns that is a price or a number of tokens, and known of two models or more."""
    plots = (_cost_plot(certificate, column) for column in columns if column.is_cost)
    return [plot for plot in plots if plot is not None][:MOST_PLOTS]


def _cost_plot(certificate: Certificate, column: InfoColumn) -> CostPlot | None:
    # Differences to the leader have intervals where the means have none.
    compares = certificate.mean_intervals is None and certificate.pairs is not None
    known = list(_cost_points(certificate, column, compares=compares))
    points = known[:MOST_POINTS]
    if len(points) < 2 or not certificate.replicates:
        return None
    costs = [point.cost for point in points]
    log = min(costs) > 0.0 and max(costs) / min(costs) >= _LOG_FROM
    across = Scale.around(costs, start=COST.left, end=COST.end, log=log)
    ends = [end for point in points for end in (point.low, point.high)]
    up = Scale.around(ends, start=COST.foot, end=COST.top)
    partial = sum(
        bool(over(certificate, i)) and isinstance(column.key(name), float) for i, name in enumerate(certificate.names)
    )
    return CostPlot(
        column=column,
        value="Difference to the leader" if compares else "Mean score",
        across=across,
        up=up,
        points=points,
        named=dict(_named(shortened_names(certificate.names, _LETTERS), points, across, up)),
        partial=partial,
        unknown=len(certificate.names) - len(known) - partial,
        left_out=len(known) - len(points),
    )


def _cost_points(certificate: Certificate, column: InfoColumn, *, compares: bool) -> Iterator[CostPoint]:
    """The models whose cost is known."""
    leader, intervals = certificate.means[0], certificate.mean_intervals
    unbeaten = _unbeaten(certificate, column)
    if leader is None or (compares and not is_over_all(certificate, 0)):
        return
    for i, (name, mean) in enumerate(zip(certificate.names, certificate.means, strict=True)):
        cost = column.key(name)
        if not isinstance(cost, float) or mean is None or not is_over_all(certificate, i):
            continue
        value = mean - leader if compares else mean
        ends = intervals[i] if intervals else difference_bounds(certificate, i, 0) if i and compares else None
        low, high = (value if math.isnan(end) else end for end in ends or (value, value))
        yield CostPoint(index=i, cost=cost, value=value, low=low, high=high, is_unbeaten=bool(unbeaten[i]))


def _unbeaten(certificate: Certificate, column: InfoColumn) -> NDArray[np.bool_]:
    """The models that none of the same or a lower cost is certified better than; all where pairs are not known."""
    beaten = np.zeros(len(certificate.names), dtype=np.bool_)
    if certificate.pairs is not None:
        known = [key if isinstance(key := column.key(name), float) else math.nan for name in certificate.names]
        costs = np.array(known)
        (certificate.graph.above & (costs[:, None] <= costs)).any(axis=0, out=beaten)
    return ~beaten


def _named(
    names: Sequence[str], points: Sequence[CostPoint], across: Scale, up: Scale
) -> Iterator[tuple[int, PointName]]:
    """Names of unbeaten models, best first, right or left of their points, above or below, where nothing else is."""
    at = {point.index: (across.at(point.cost), up.at(point.value)) for point in points}
    taken = [_Box(x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS) for x, y in at.values()]
    for point in sorted(points, key=lambda point: -point.value):
        if not point.is_unbeaten:
            continue
        text, (x, y) = names[point.index], at[point.index]
        room = _LETTER * len(text)
        for name, left in (
            (PointName(text, x + 8, y + 4, "start"), x + 8),
            (PointName(text, x - 8, y + 4, "end"), x - 8 - room),
            (PointName(text, x, y - 9, "middle"), x - room / 2),
            (PointName(text, x, y + 18, "middle"), x - room / 2),
        ):
            box = _Box(left, name.y + 3 - _LINE, left + room, name.y + 3)
            inside = COST.left <= box.left and box.right <= COST.width and box.top >= 0 and box.foot <= COST.foot
            if inside and not any(map(box.meets, taken)):
                taken.append(box)
                yield point.index, name
                break


class _Box(NamedTuple):
    """Room that is taken, in pixels."""

    left: float
    top: float
    right: float
    foot: float

    def meets(self, other: _Box) -> bool:
        """Whether two boxes have a place in common."""
        return self.left < other.right and other.left < self.right and self.top < other.foot and other.top < self.foot
