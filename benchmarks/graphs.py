"""All that a leaderboard concludes from its edges, against a product of the evidence; measured by ``graph.py``."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from benchmarks.rows import Row
from benchmarks.timing import seconds_text


def rows(*, quick: bool = False) -> list[Row]:
    """The graph's work at the size of a look, and how it grows."""
    if find_spec("benchmarks.graph") is None:
        return [Row(target="graph work", measured=None, note="benchmarks/graph.py is missing")]
    graph = import_module("benchmarks.graph")
    sizes = (50, 100) if quick else (250, 500, 1000)
    for size in sizes[:1]:
        graph.graph_cost(size)  # imports and caches
    costs = [graph.graph_cost(size) for size in sizes]
    totals = [cost.total for cost in costs]
    slowest = max(costs[-1].seconds, key=lambda name: costs[-1].seconds[name])
    product = min(graph.product_seconds(sizes[-1]) for _ in range(3))
    slopes = graph.slopes(list(sizes), totals)
    return [
        Row(
            target=f"all graph work, {sizes[-1]:,} models, against the product A @ A.T at {graph.ITEMS:,} items",
            measured=totals[-1] / product,
            limit=1.0,
            sides=f"graph {seconds_text(totals[-1])}, product {seconds_text(product)}",
            note=f"{costs[-1].certified:.0%} of the pairs decided; slowest part: {slowest}, "
            f"{seconds_text(costs[-1].seconds[slowest])}",
        ),
        Row(
            target="growth of the graph work with models: steepest slope on logarithmic scales",
            measured=max(slopes),
            unit="",
            sides=", ".join(f"{size:,}: {seconds_text(each)}" for size, each in zip(sizes, totals, strict=True)),
        ),
    ]
