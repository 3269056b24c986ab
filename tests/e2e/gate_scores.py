"""A policy and scores for it."""

from __future__ import annotations

import csv
import random
from pathlib import Path

POLICY = 'candidate = "new"\nbaseline = "old"\nopen = "error"\n[[claims]]\nnot_worse_by = 0.02\n'


def write_scores(path: Path, new: float, old: float, *, items: int = 200) -> Path:
    rng = random.Random(7)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["model", "item", "replicate", "score"])
        for run in (1, 2):
            for item in range(items):
                rows.writerow(["new", f"q{item}", run, int(rng.random() < new)])
                rows.writerow(["old", f"q{item}", run, int(rng.random() < old)])
    return path


def write_swapped(path: Path, new: float = 0.7, old: float = 0.4, *, items: int = 400, runs: int = 6) -> Path:
    """Two systems whose labels change places half-way."""
    rng = random.Random(7)
    lines = ["model,item,replicate,score"]
    for run in range(runs):
        names = ("new", "old") if run < runs // 2 else ("old", "new")
        for item in range(items):
            for name, chance in zip(names, (new, old), strict=True):
                lines.append(f"{name},q{item},{run + 1},{int(rng.random() < chance)}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
