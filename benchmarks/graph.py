"""What the graph and the output of a leaderboard cost at the sizes of public leaderboards.

.venv/bin/python benchmarks/graph.py          sizes up to 1,000 models, and a product of evidence to compare with
.venv/bin/python benchmarks/graph.py --full   up to 5,041 models (some 3 GB of memory)
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import log

import numpy as np

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.document import certificate, to_json
from bbedge.core.design import Design
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Leaderboard, LookCount
from bbedge.display.compact import leaderboard_html
from bbedge.display.page import render_page

SIZES = (100, 300, 1000, 3000, 5041)
ITEMS = 12_032
REPLICATES = 20
PARTS: dict[str, Callable[[Graph], object]] = {
    "reach": lambda graph: graph.reach,
    "above": lambda graph: graph.above,
    "cycles": lambda graph: graph.cycles,
    "reduction": lambda graph: graph.reduction,
    "rank_intervals": lambda graph: graph.rank_intervals,
    "tiers": lambda graph: graph.tiers,
    "top_k, all k": lambda graph: [graph.top_k(k) for k in graph.cuts],
    "n_resolved": lambda graph: graph.n_resolved,
    "unresolved_pairs": lambda graph: graph.unresolved_pairs,
    "path_lengths": lambda graph: graph.path_lengths,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphCost:
    """Seconds that each part of the graph takes, in the order in which they build on each other."""

    models: int
    certified: float
    seconds: dict[str, float]

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCost:
    """Seconds and sizes of what is written of a leaderboard."""

    models: int
    json_seconds: float
    json_bytes: int
    page_seconds: float
    page_bytes: int
    notebook_bytes: int


def thresholded(models: int, *, certified: float = 0.8, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Means and edges like those of a look: a share of the pairs, those far apart, with noise; not closed in places."""
    rng = np.random.default_rng(seed)
    means = np.sort(rng.random(models))[::-1]
    # Of two uniform means, the larger exceeds the smaller by w in a share (1 - w)^2 of the pairs.
    width = 1.0 - certified**0.5
    noise = rng.random((models, models), dtype=np.float32)
    noise *= np.float32(-0.2 * width)
    noise += (means[:, None] - means).astype(np.float32)
    return means, noise > np.float32(0.9 * width)


def leaderboard(models: int, *, certified: float = 0.8, tau: float = 0.0) -> Leaderboard:
    """A leaderboard with such a graph, and with evidence and margins that look like some."""
    means, edges = thresholded(models, certified=certified)
    rng = np.random.default_rng(models)
    order = rng.permutation(models)
    means, edges = means[order], edges[np.ix_(order, order)]
    threshold = log(models * (models - 1) / 0.05)
    lower = means[:, None] - means - (1.0 - certified**0.5)
    log_e = np.where(edges, threshold * 2, threshold * 0.3 + lower)
    for matrix in (lower, log_e):
        np.fill_diagonal(matrix, np.nan)
    thresholds = np.full((models, models), threshold)
    np.fill_diagonal(thresholds, np.nan)
    graph = Graph(edges)
    return Leaderboard(
        design=Design.make(
            [f"organisation-{i % 97}/model-{i:05}-instruct" for i in range(models)],
            [f"q{i}" for i in range(ITEMS)],
            tau=tau,
            method="bb-edge",
        ),
        replicates=REPLICATES,
        means=means,
        log_e=log_e,
        log_thresholds=thresholds,
        lower_bounds=np.maximum(lower, -1.0),
        graph=graph,
        current_edges=edges,
        first_certified=np.where(edges, 3, 0),
        looks=tuple(
            LookCount(
                replicate=r, edges=graph.n_edges * r // REPLICATES, resolved_pairs=graph.n_resolved * r // REPLICATES
            )
            for r in range(1, REPLICATES + 1)
        ),
    )


def graph_cost(models: int, *, certified: float = 0.8) -> GraphCost:
    """Every part in turn, each with what it builds on done already; small sizes several times, the best counts."""
    edges = thresholded(models, certified=certified)[1]
    seconds = dict.fromkeys(PARTS, float("inf"))
    for _ in range(_times(models)):
        graph = Graph(edges)
        for name, part in PARTS.items():
            seconds[name] = min(seconds[name], timed(lambda part=part, graph=graph: part(graph))[0])
    return GraphCost(models=models, certified=graph.n_resolved / graph.n_pairs, seconds=seconds)


def product_seconds(models: int) -> float:
    """One product of the evidence: ``A @ A.T`` in float64, models x items."""
    scores = np.random.default_rng(0).random((models, ITEMS))
    return min(timed(lambda: scores @ scores.T)[0] for _ in range(_times(models)))


def output_cost(models: int) -> OutputCost:
    board = leaderboard(models)
    json_seconds, text = timed(lambda: to_json(certificate(board)))
    page_seconds, page = timed(lambda: render_page(Certificate.of(certificate(board))))
    return OutputCost(
        models=models,
        json_seconds=json_seconds,
        json_bytes=len(text),
        page_seconds=page_seconds,
        page_bytes=len(page),
        notebook_bytes=len(leaderboard_html(board.certificate())),
    )


def slopes(sizes: list[int], seconds: list[float]) -> list[float]:
    """The exponents between neighbouring sizes: 2 where twice the models take four times as long."""
    return [log(b / a) / log(m / n) for (n, m), (a, b) in zip(pairwise(sizes), pairwise(seconds), strict=True)]


def _times(models: int) -> int:
    return 5 if models <= 1000 else 1


def timed(work: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main() -> None:
    full = "--full" in sys.argv[1:]
    sizes = [size for size in SIZES if full or size <= 1000]
    costs = [graph_cost(size) for size in sizes]
    print(f"{'seconds':18}" + "".join(f"{size:>10,}" for size in sizes) + "   slopes")
    for name in PARTS:
        line = [cost.seconds[name] for cost in costs]
        print(f"{name:18}" + "".join(f"{each:10.4f}" for each in line) + "   " + _slopes(sizes, line))
    totals = [cost.total for cost in costs]
    print(f"{'all graph work':18}" + "".join(f"{each:10.4f}" for each in totals) + "   " + _slopes(sizes, totals))
    print(f"{'pairs decided':18}" + "".join(f"{cost.certified:10.1%}" for cost in costs))
    for size in (1000, 5041) if full else (1000,):
        total = costs[sizes.index(size)].total
        product = product_seconds(size)
        print(
            f"{size:,} models x {ITEMS:,} items: graph work is {total / product:.2f} of one product ({product:.2f} s)"
        )
    for size in sizes:
        cost = output_cost(size)
        print(
            f"{size:,} models: JSON {cost.json_bytes / 1e6:.2f} MB in {cost.json_seconds:.2f} s, page "
            f"{cost.page_bytes / 1e6:.2f} MB in {cost.page_seconds:.2f} s, notebook {cost.notebook_bytes / 1e3:.0f} kB"
        )
    print(f"largest memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


def _slopes(sizes: list[int], seconds: list[float]) -> str:
    return " ".join(f"{each:4.1f}" for each in slopes(sizes, [max(each, 1e-7) for each in seconds]))


if __name__ == "__main__":
    main()
