"""What exact logarithms cost over the polynomial bound that replaces them where there are many models."""

from __future__ import annotations

from collections.abc import Callable

from bbedge.core.evidence import Evidence
from bbedge.records.values import EvidenceKind
from benchmarks.panels import Panel, design, panels
from benchmarks.rows import Row
from benchmarks.timing import interleaved, ratio, told


def rows(*, quick: bool = False) -> list[Row]:
    """A row for each number of models."""
    sizes, n_items, times = ((20, 40), 200, 2) if quick else ((50, 100, 200), 1000, 3)
    found = []
    for n_models in sizes:
        panel = next(panels(n_models, n_items, 1))
        took = interleaved({kind: _work(kind, panel) for kind in ("betting", "sharp")}, times)
        found.append(
            Row(
                target=f"betting against sharp, {n_models} models x {n_items:,} items: update and evidence",
                measured=ratio(took["betting"], took["sharp"]),
                sides=told(took["betting"], took["sharp"], ("betting", "sharp")),
            )
        )
    return found


def _work(kind: EvidenceKind, panel: Panel) -> Callable[[], object]:
    evidence = Evidence(design(panel.shape[0], panel.shape[1], kind))

    def work() -> object:
        evidence.update(panel)
        return evidence.log_e()

    return work
