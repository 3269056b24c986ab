"""The charts of the page: pairs decided, evidence and cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import is_over_all, over
from bbedge.display.page.table import InfoColumn, ModelInfo
from bbedge.display.ranking import bounds
from bbedge.text import shown

WIDTH, HEIGHT = 480.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 14.0, 12.0, 36.0
CLIPPED = (-0.5, 2.0)
"""Shares of the threshold between which evidence is drawn; far beyond it, more says nothing new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A mark on an axis."""

    at: float
    """Where, in pixels."""
    text: str
    """What it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A line in a chart."""

    path: str
    """How it runs."""
    kind: str
    """What it stands for."""
    title: str = ""
    """What it is called."""
    first: int = -1
    """The model it speaks for, by place; -1 for none."""
    second: int = -1
    """The model it speaks against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart, ready to be written."""

    across: tuple[Tick, ...]
    """Replicates."""
    up: tuple[Tick, ...]
    """Values."""
    curves: tuple[Curve, ...]
    """Its lines, the ones behind first."""
    places: tuple[float, ...]
    """Where each look is."""
    dots: tuple[tuple[float, float, str], ...] = ()
    """Single points: a chart of one look has no lines."""
    width: float = WIDTH
    """In pixels."""
    height: float = HEIGHT
    """In pixels."""
    left: float = LEFT
    """Where the axis of values is."""
    foot: float = HEIGHT - BOTTOM
    """Where the axis of replicates is."""
    end: float = WIDTH - RIGHT
    """Where both end."""


def pairs_chart(certificate: Certificate) -> Chart | None:
    """Pairs decided after each look."""
    looks = certificate.content.looks
    if not looks:
        return None
    replicates = [look.replicate for look in looks]
    places = _places(replicates)
    total = certificate.n_pairs
    values = [_level(look.resolved_pairs / total) for look in looks]
    path = f"M{places[0]:g} {values[0]:g}" + "".join(
        f"H{place:g}V{value:g}" for place, value in zip(places[1:], values[1:], strict=True)
    )
    marks = sorted({0, *(round(total * part / 4) for part in (1, 2, 3)), total})
    return Chart(
        across=_ticks(replicates, places),
        up=tuple(Tick(at=_level(mark / total), text=_short(mark)) for mark in marks),
        curves=(Curve(path=path, kind="pairs"),),
        places=tuple(places),
        dots=tuple((place, value, "pairs") for place, value in zip(places, values, strict=True))
        if len(places) <= 60
        else (),
    )


def evidence_chart(certificate: Certificate) -> Chart | None:
    """The evidence of the leading direction of every pair, as a share of the threshold of each look."""
    if certificate.history is None:
        return None
    looks, log_thresholds, log_e = certificate.history
    shares = np.clip(log_e / log_thresholds[:, None, None], *CLIPPED)
    replicates = looks.tolist()
    places = _places(replicates)
    names = [shown(name) for name in certificate.names]
    curves: list[Curve] = []
    dots: list[tuple[float, float, str]] = []
    for a, b in _leading(np.nan_to_num(log_e[-1], nan=-np.inf)):
        levels = [_level((value - CLIPPED[0]) / (CLIPPED[1] - CLIPPED[0])) for value in shares[:, a, b].tolist()]
        kind = "decided" if certificate.graph.above[a, b] else "open"
        points = list(zip(places, levels, strict=True))
        curves.append(
            Curve(
                path="M" + "L".join(f"{x:g} {y:g}" for x, y in points),
                kind=kind,
                title=f"{names[a]} better than {names[b]}",
                first=a,
                second=b,
            )
        )
        if len(points) == 1:
            dots.append((*points[0], kind))
    return Chart(
        across=_ticks(replicates, places),
        up=tuple(
            Tick(at=_level((mark - CLIPPED[0]) / (CLIPPED[1] - CLIPPED[0])), text=text)
            for mark, text in (
                (-0.5, "≤ -50 %"),
                (0.0, "0"),
                (0.5, "50 %"),
                (1.0, "100 %"),
                (1.5, "150 %"),
                (2.0, "≥ 200 %"),
            )
        ),
        curves=tuple(sorted(curves, key=lambda curve: curve.kind == "open")),
        places=tuple(places),
        dots=tuple(dots),
    )


def _leading(log_e: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[tuple[int, int]]:
    """The direction of each pair that has more evidence; pairs that are not tested are left out."""
    size = len(log_e)
    pairs = [(a, b) if log_e[a, b] >= log_e[b, a] else (b, a) for a in range(size) for b in range(a + 1, size)]
    return [(a, b) for a, b in pairs if log_e[a, b] > -np.inf]


def _level(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP), 1)


def _short(number: int) -> str:
    """A number that fits beside an axis.

    >>> _short(999_999), _short(12_703_320)
    ('999,999', '12.7 M')
    """
    return f"{number:,}" if number < 1_000_000 else f"{number / 1e6:.1f} M"


def _places(replicates: list[int]) -> list[float]:
    first, last = replicates[0], replicates[-1]
    if first == last:
        return [round((LEFT + WIDTH - RIGHT) / 2, 1) for _ in replicates]
    return [round(LEFT + 8 + (r - first) / (last - first) * (WIDTH - RIGHT - LEFT - 16), 1) for r in replicates]


def _ticks(replicates: list[int], places: list[float]) -> tuple[Tick, ...]:
    step = max(1, -(-len(replicates) // 8))
    chosen = [i for i in range(len(replicates)) if i % step == 0]
    last = len(replicates) - 1
    if chosen[-1] < last:
        if last - chosen[-1] < 0.7 * step:
            chosen.pop()  # two numbers would touch
        chosen.append(last)
    return tuple(Tick(at=places[i], text=f"{replicates[i]:,}") for i in chosen)


MOST_POINTS = 300
"""So many models are drawn, the first ones of the table."""
MOST_PLOTS = 2
"""So many columns are drawn, each in a plot of its own."""

COST_WIDTH, COST_HEIGHT = 760.0, 380.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 20.0, 22.0, 42.0
_LOG_FROM = 20.0  # costs that differ by such a factor are drawn on a logarithmic axis
_LABEL = 15.0  # the least distance between two names, in pixels
_LETTER = 6.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A model in the plot."""

    index: int
    """Its place in the table."""
    x: float
    """Where its cost is."""
    y: float
    """Where its score is."""
    low: float
    """Where its interval ends below; the same as ``y`` if there is none."""
    high: float
    """Where its interval ends above."""
    title: str
    """What it says when pointed at."""
    label: str
    """Its name beside it; empty for most."""
    leftward: bool
    """Whether the name is on its left, for want of room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPlot:
    """The plot of one column."""

    title: str
    """The column."""
    value: str
    """What is drawn upwards."""
    log: bool
    """Whether the axis of costs is logarithmic."""
    across: tuple[Tick, ...]
    """Costs."""
    up: tuple[Tick, ...]
    """Scores."""
    points: tuple[Point, ...]
    """The models."""
    has_intervals: bool
    """Whether the points have intervals."""
    partial: int
    """Models whose mean is over some of the items, and whose price is known."""
    unknown: int
    """Models without a cost."""
    left_out: int
    """Models that are not drawn because there are too many."""
    width: float = COST_WIDTH
    """In pixels."""
    height: float = COST_HEIGHT
    """In pixels."""
    left: float = _LEFT
    """Where the axis of scores is."""
    foot: float = COST_HEIGHT - _BOTTOM
    """Where the axis of costs is."""
    end: float = COST_WIDTH - _RIGHT
    """Where the axis of costs ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A model before it is drawn."""

    index: int
    cost: float
    text: str
    value: float
    low: float
    high: float


def cost_plots(certificate: Certificate, info: ModelInfo) -> tuple[CostPlot, ...]:
    """A plot for each of the first columns that is a price or a number of tokens, and known of two models or more."""
    plots = (_plot(certificate, column) for column in info.columns if column.is_cost)
    return tuple(plot for plot in plots if plot is not None)[:MOST_PLOTS]


def _plot(certificate: Certificate, column: InfoColumn) -> CostPlot | None:
    known = list(_known(certificate, column))
    partial = sum(
        bool(over(certificate, i)) and isinstance(column.key(name), float) for i, name in enumerate(certificate.names)
    )
    seen = known[:MOST_POINTS]
    if len(seen) < 2 or not certificate.replicates:
        return None
    log = min(each.cost for each in seen) > 0.0 and max(x.cost for x in seen) / min(x.cost for x in seen) >= _LOG_FROM
    costs = [math.log10(each.cost) if log else each.cost for each in seen]
    across, up = _Axis.around(costs), _Axis.around([end for each in seen for end in (each.low, each.high)])
    return CostPlot(
        title=column.title,
        value="Difference to the leader" if _compares(certificate) else "Mean score",
        log=log,
        across=tuple(Tick(at=_across(across.share(at)), text=text) for at, text in across.ticks(log=log)),
        up=tuple(Tick(at=_up(up.share(at)), text=text) for at, text in up.ticks(log=False)),
        points=tuple(_points(certificate, seen, costs, across, up)),
        has_intervals=any(each.low < each.high for each in seen),
        partial=partial,
        unknown=len(certificate.names) - len(known) - partial,
        left_out=len(known) - len(seen),
    )


def _compares(certificate: Certificate) -> bool:
    """Whether the plot is of differences to the leader: they have intervals where the means have none."""
    return certificate.mean_intervals is None and certificate.pairs is not None


def _known(certificate: Certificate, column: InfoColumn) -> Iterator[_Seen]:
    """The models whose cost is known."""
    leader, compares, intervals = certificate.means[0], _compares(certificate), certificate.mean_intervals
    if compares and not is_over_all(certificate, 0):
        return
    for i, (name, mean) in enumerate(zip(certificate.names, certificate.means, strict=True)):
        cost = column.key(name)
        if not isinstance(cost, float) or mean is None or leader is None or not is_over_all(certificate, i):
            continue
        value = mean - leader if compares else mean
        ends = intervals[i] if intervals else bounds(certificate, i, 0) if i and compares else None
        low, high = (value if math.isnan(end) else end for end in ends or (value, value))
        yield _Seen(index=i, cost=cost, text=column.cell(name).text, value=value, low=low, high=high)


def _points(
    certificate: Certificate, seen: Sequence[_Seen], costs: Sequence[float], across: _Axis, up: _Axis
) -> Iterator[Point]:
    places = [(_across(across.share(cost)), _up(up.share(each.value))) for cost, each in zip(costs, seen, strict=True)]
    named = set(_named(certificate.labels, seen, places))
    for i, (each, (x, y)) in enumerate(zip(seen, places, strict=True)):
        label, units = certificate.labels[each.index], certificate.units
        score = units.score(certificate.means[each.index])
        yield Point(
            index=each.index,
            x=x,
            y=y,
            low=_up(up.share(each.low)),
            high=_up(up.share(each.high)),
            title=f"{label}: {score}, {each.text}",
            label=label if i in named else "",
            leftward=_is_leftward(x, 8 + _LETTER * len(label)),
        )


def _named(labels: Sequence[str], seen: Sequence[_Seen], places: Sequence[tuple[float, float]]) -> Iterator[int]:
    """The models that no cheaper one has a higher mean than, best first, as far as their names do not touch."""
    frontier, best = list[int](), -math.inf
    for i in sorted(range(len(seen)), key=lambda i: (seen[i].cost, -seen[i].value)):
        if seen[i].value > best:
            best = seen[i].value
            frontier.append(i)
    taken = list[tuple[float, float, float]]()
    for i in reversed(frontier):
        (x, y), room = places[i], 8 + _LETTER * len(labels[seen[i].index])
        start, end = (x - room, x) if _is_leftward(x, room) else (x, x + room)
        if all(abs(y - other) >= _LABEL or end < left or start > right for left, right, other in taken):
            taken.append((start, end, y))
            yield i


def _is_leftward(x: float, room: float) -> bool:
    return x + room > COST_WIDTH


@dataclass(frozen=True, slots=True)
class _Axis:
    """The part of a scale that is drawn."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Sequence[float]) -> _Axis:
        low, high = min(values), max(values)
        room = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
        return cls(low - room, high + room)

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def ticks(self, *, log: bool) -> Iterator[tuple[float, str]]:
        if log:
            powers = range(math.floor(self.low), math.ceil(self.high) + 1)
            wide = self.high - self.low > 2.5
            for value in (power + math.log10(part) for power in powers for part in ((1,) if wide else (1, 2, 5))):
                if self.low <= value <= self.high:
                    yield value, f"{10**value:,.4g}"
            return
        step = _step((self.high - self.low) / 5)
        for i in range(math.ceil(self.low / step), math.floor(self.high / step) + 1):
            yield i * step, f"{i * step + 0.0:,.6g}"


def _step(about: float) -> float:
    """A round number at least as large.

    >>> _step(0.3), _step(21)
    (0.5, 50.0)
    """
    power = 10.0 ** math.floor(math.log10(about))
    return next(part * power for part in (1.0, 2.0, 5.0, 10.0) if part * power >= about)


def _across(share: float) -> float:
    return round(_LEFT + share * (COST_WIDTH - _RIGHT - _LEFT), 1)


def _up(share: float) -> float:
    return round(COST_HEIGHT - _BOTTOM - share * (COST_HEIGHT - _BOTTOM - _TOP), 1)
