"""How the time of a replicate and its look grows with models, items, replicates, block sizes and stakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bbedge.core.design import Design
from bbedge.core.leaderboard import Certifier
from bbedge.records.values import EvidenceKind
from benchmarks.look import KINDS, whole_look
from benchmarks.panels import design, panels
from benchmarks.rows import Row
from benchmarks.timing import interleaved, seconds_text

LINEAR, QUADRATIC = 1.15, 2.15
BLOCKS = 1200


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Something that grows while the rest stays."""

    name: str
    """What grows, and what stays."""
    sizes: tuple[int, ...]
    """How large it gets."""
    quick: tuple[int, ...]
    """How large it gets where only the harness is checked."""
    design: Callable[[EvidenceKind, int], Design]
    """The design at a size."""
    limit: float | None
    """The steepest slope that is allowed, on logarithmic scales."""
    replicates: Callable[[int], int] = lambda size: 1
    """Replicates that are timed together, at a size."""


def _block_sizes(kind: EvidenceKind, count: int) -> Design:
    """As many blocks whatever their sizes, which go round from 1 to the count."""
    blocks = [f"b{m}" for m in range(BLOCKS) for _ in range(1 + m % count)]
    return design(200, len(blocks), kind, blocks=blocks)


def _stakes(kind: EvidenceKind, count: int) -> Design:
    return design(300, 1000, kind, stakes=np.linspace(0.02, 0.9, count).tolist())


AXES = (
    Axis(
        name="models, at 2,000 items",
        sizes=(100, 200, 400, 800),
        quick=(20, 40),
        design=lambda kind, size: design(size, 2000, kind),
        limit=QUADRATIC,
    ),
    Axis(
        name="items, at 200 models",
        sizes=(1000, 2000, 4000, 8000, 16_000),
        quick=(200, 400),
        design=lambda kind, size: design(200, size, kind),
        limit=LINEAR,
    ),
    Axis(
        name="replicates, at 100 models x 1,000 items",
        sizes=(4, 8, 16, 32),
        quick=(2, 4),
        design=lambda kind, _: design(100, 1000, kind),
        limit=LINEAR,
        replicates=lambda size: size,
    ),
    Axis(
        name=f"distinct block sizes, at 200 models x {BLOCKS:,} blocks",
        sizes=(1, 2, 4, 8, 16, 32, 64),
        quick=(1, 2),
        design=_block_sizes,
        limit=LINEAR,
    ),
    Axis(
        name="stakes, at 300 models x 1,000 items",
        sizes=(6, 12, 24, 48),
        quick=(6, 12),
        design=_stakes,
        limit=LINEAR,
    ),
)


def rows(*, quick: bool = False) -> list[Row]:
    """A row for each axis and kind of evidence."""
    return [_row(axis, kind, quick=quick) for axis in AXES for kind in KINDS]


def _row(axis: Axis, kind: EvidenceKind, *, quick: bool) -> Row:
    sizes, times = (axis.quick, 2) if quick else (axis.sizes, 4)
    took = interleaved({size: _looks(axis, kind, size) for size in sizes}, times)
    seconds = [took[size].least for size in sizes]
    last = slope(sizes[-2:], seconds[-2:])
    return Row(
        target=f"growth with {axis.name}, {kind}: slope on logarithmic scales",
        measured=slope(sizes, seconds),
        limit=axis.limit,
        unit="",
        sides=", ".join(f"{size:,}: {seconds_text(each)}" for size, each in zip(sizes, seconds, strict=True)),
        note=f"update and whole look, shortest of {times}; {last:.2f} between the two largest",
    )


def _looks(axis: Axis, kind: EvidenceKind, size: int) -> Callable[[], object]:
    """The replicates and looks that are timed at a size, all but the first of a run where there is only one."""
    made, count = axis.design(kind, size), axis.replicates(size)
    given = list(panels(len(made.models), len(made.items), min(count, 4)))
    if count == 1:
        certifier = Certifier(made)
        certifier.update(given[0])
        return lambda: whole_look(certifier, given[0])

    def from_the_start() -> None:
        certifier = Certifier(made)
        for replicate in range(count):
            whole_look(certifier, given[replicate % len(given)])

    return from_the_start


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The exponent of growth: 2 where twice the size takes four times as long.

    >>> round(slope([1, 2, 4], [3.0, 12.0, 48.0]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
