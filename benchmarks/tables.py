"""Reading a table of scores, against a product of the same size; the measuring is done by ``reading.py``."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from benchmarks.rows import Row
from benchmarks.timing import seconds_text


def rows(*, quick: bool = False) -> list[Row]:
    """Time and memory of reading a table with a row per score, in both orders of rows."""
    if find_spec("benchmarks.reading") is None:
        return [Row(target="reading a table", measured=None, note="benchmarks/reading.py is missing")]
    reading = import_module("benchmarks.reading")
    found = []
    for order in ("sorted", "shuffled"):
        cost = reading.measure(*((50, 200, 2) if quick else reading.DEFAULT), order=order)
        size = f"{cost.models:,} models x {cost.items:,} items x {cost.replicates} replicates, rows {order}"
        found += [
            Row(
                target=f"reading a replicate, {size}, against the product A @ A.T",
                measured=cost.products,
                limit=1.0,
                sides=f"reading {seconds_text(cost.seconds)}, product {seconds_text(cost.product_seconds)}",
                note=f"{cost.rows / cost.seconds / 1e6:.2f} million rows a second, {cost.file_bytes / 1e6:,.0f} MB on "
                f"disk; in CPU time {cost.cpu_products:.3g}",
            ),
            Row(
                target=f"peak memory of reading, {size}, as multiples of the scores in float64",
                measured=cost.peak_over_scores,
                limit=None if quick else 3.0,
                note=f"{cost.peak_bytes / 1e6:,.0f} MB in all, with Python and its libraries",
            ),
        ]
    return found
