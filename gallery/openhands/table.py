"""OpenHands Index: from the results of single tasks to a table.

python -m gallery.openhands.table CHECKOUT [TABLE]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from gallery.boards import Board, make_table, models_of, table_of


def rows(checkout: Path) -> pl.DataFrame:
    """Whether each model solved each task of the parts; a task without a result is a failure, as on the board."""
    return table_of(_cells(checkout / "results"), "category")


def _cells(folder: Path) -> Iterator[tuple[str, str, float, str]]:
    models = models_of("openhands")
    for part in Board.read("openhands").parts:
        found = {model: _results(folder / model / "instance_results" / f"{part}.json") for model in models}
        for task in sorted({task for results in found.values() for task in results}):
            for model in models:
                yield model, f"{part}:{task}", float(found[model].get(task) is True), part


def _results(path: Path) -> dict[str, bool | None]:
    results = json.loads(path.read_text(encoding="utf-8"))
    return {task: result["resolved"] for task, result in results.items()}


if __name__ == "__main__":
    make_table("openhands", rows, sys.argv[1:])
