"""MMLU-Pro: from the answers in the repository to a table.

python -m gallery.mmlu_pro.table CHECKOUT [TABLE]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import polars as pl
from gallery.boards import make_table, models_of, table_of


def rows(checkout: Path) -> pl.DataFrame:
    """Whether each model's answer is the right one; an answer that the repository could not read is wrong."""
    return table_of(_cells(checkout / "eval_results"), "category")


def _cells(folder: Path) -> Iterator[tuple[str, str, float, str]]:
    for model in models_of("mmlu_pro"):
        with ZipFile(folder / f"model_outputs_{model}_5shots.zip") as archive:
            (name,) = (each for each in archive.namelist() if each.endswith(".json") and not each.startswith("__"))
            questions = json.loads(archive.read(name))
        for each in questions:
            number = f"{each['question_id']:05}"
            yield model, number, float(each["pred"] == each["answer"]), each["category"]


if __name__ == "__main__":
    make_table("mmlu_pro", rows, sys.argv[1:])
