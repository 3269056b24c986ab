"""Reading a table of scores, against the look that it is read for; the measuring is done by ``reading.py``."""

from __future__ import annotations

import time
from importlib import import_module
from importlib.util import find_spec

from bbedge.core.leaderboard import Certifier
from benchmarks.panels import design, panels
from benchmarks.rows import Row
from benchmarks.timing import seconds_text


def look_seconds(n_models: int, n_items: int) -> float:
    """A second replicate taken in and looked at, margins not included."""
    certifier = Certifier(design(n_models, n_items, "sharp"))
    first, second = panels(n_models, n_items, 2)
    certifier.update(first)
    start = time.perf_counter()
    certifier.update(second)
    return time.perf_counter() - start


def rows(*, quick: bool = False) -> list[Row]:
    """Time and memory of reading a table with a row per score, in both orders of rows."""
    if find_spec("benchmarks.reading") is None:
        return [Row(target="reading a table", measured=None, note="benchmarks/reading.py is missing")]
    reading = import_module("benchmarks.reading")
    found = []
    models, items, _ = shape = (50, 200, 1) if quick else reading.FULL
    look = look_seconds(models, items)
    for order in ("sorted", "shuffled"):
        cost = reading.measure(*shape, order=order)
        size = f"{cost.models:,} models x {cost.items:,} items x {cost.replicates} replicates, rows {order}"
        found += [
            Row(
                target=f"reading a replicate, {size}, against taking it in and looking at it (sharp)",
                measured=cost.seconds / look,
                limit=1.0,
                sides=f"reading {seconds_text(cost.seconds)}, update and look {seconds_text(look)}",
                note=f"{cost.rows / cost.seconds / 1e6:.2f} million rows a second, {cost.file_bytes / 1e6:,.0f} MB on "
                f"disk; {cost.products:.3g} products A @ A.T",
            ),
            Row(
                target=f"peak memory of reading, {size}, as multiples of the scores in float64",
                measured=cost.peak_over_scores,
                limit=None if quick else 3.0,
                note=f"{cost.peak_bytes / 1e6:,.0f} MB in all, with Python and its libraries",
            ),
        ]
    return found
