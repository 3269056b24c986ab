"""EQ-Bench v2: from the answers that the repository keeps to a table.

python -m gallery.eq_bench.table CHECKOUT [TABLE]

The result files keep the scores of the first version of the benchmark; those of the second, which are published, are
computed here from the answers, by the formula of the repository's ``lib/scoring.py``, written anew.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from gallery.boards import make_table, models_of, table_of

RANDOM = 0.7477
"""What a point of difference costs: chosen by the authors so that random answers score 0."""


def rows(checkout: Path) -> pl.DataFrame:
    """The score of each model's first answers to each dialogue, out of 10."""
    return table_of(_cells(checkout))


def _cells(checkout: Path) -> Iterator[tuple[str, str, float]]:
    dialogues = json.loads((checkout / "data" / "eq_bench_v2_questions_171.json").read_text(encoding="utf-8"))
    for model in models_of("eq_bench"):
        path = checkout / "results" / "eq-bench" / f"{model}_eqbench_v2_results.json"
        (run,) = json.loads(path.read_text(encoding="utf-8"))["raw_results"].values()
        for number, dialogue in dialogues.items():
            given = run["respondent_answers"][number]["first_pass"]
            yield model, f"dialogue-{int(number):03}", _score(dialogue["reference_answer_fullscale"], given)


def _score(reference: Mapping[str, Any], given: Mapping[str, Any]) -> float:
    """10 less what the four emotions differ from the reference; small differences count for less than their size."""
    right = {reference[f"emotion{i}"]: float(reference[f"emotion{i}_score"]) for i in range(1, 5)}
    if given.keys() != right.keys() or not all(0 <= float(value) <= 10 for value in given.values()):
        raise ValueError(f"{dict(given)} does not rate {', '.join(right)} from 0 to 10")
    return 10 - RANDOM * sum(_cost(abs(float(given[emotion]) - right[emotion])) for emotion in right)


def _cost(difference: float) -> float:
    if not 0 < difference <= 5:
        return difference
    return 6.5 / (1 + math.exp(-1.2 * (difference - 4)))


if __name__ == "__main__":
    make_table("eq_bench", rows, sys.argv[1:])
