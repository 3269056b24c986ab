"""MMLU by subject: from the graded answers that RouteLLM published to a table.

python -m gallery.mmlu_subjects.table CHECKOUT [TABLE]
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from gallery.boards import make_table, models_of, table_of


def rows(checkout: Path) -> pl.DataFrame:
    """Whether each model answered each question of the 57 subjects; the subject is the block."""
    return table_of(_cells(checkout / "routellm" / "evals" / "mmlu" / "responses"), "block")


def _cells(folder: Path) -> Iterator[tuple[str, str, float, str]]:
    models = models_of("mmlu_subjects")
    for path in sorted(folder.glob("mmlu_*.csv")):
        subject = path.stem.removeprefix("mmlu_")
        with path.open(encoding="utf-8", newline="") as file:
            for number, question in enumerate(csv.DictReader(file)):
                for model in models:
                    yield model, f"{subject}-{number:04}", float(_right(question[model])), subject


def _right(text: str) -> bool:
    if text not in ("True", "False"):
        raise ValueError(f"{text!r} is neither True nor False")
    return text == "True"


if __name__ == "__main__":
    make_table("mmlu_subjects", rows, sys.argv[1:])
