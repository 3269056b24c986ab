"""The two charts of the history: decided pairs, and evidence against the threshold, after each look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bbedge.certificate.certificate import Certificate
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
