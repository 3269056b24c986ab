"""Makes the demo: scores of eight invented models on 40 dialogues, six times over, and the truth behind them.

Run ``python demo/make_scores.py``; it writes ``scores.csv`` and ``truth.csv`` beside itself, the same bytes every
time. The turns of a dialogue build on one another, so a dialogue is a block. Two of the models are exactly equal
and two more nearly so: no honest leaderboard should tell the first two apart.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from bbedge.study.synthetic import SyntheticBenchmark

SEED = 20260
REPLICATES = 6
DIALOGUES = 40
MEANS = {
    "aster-7b": 0.545,
    "birch-13b": 0.66,
    "cedar-34b": 0.74,
    "dahlia-70b": 0.795,
    "elder-9b": 0.61,
    "fern-3b": 0.45,
    "gorse-8x7b": 0.74,
    "hazel-mini": 0.60,
}


def main(folder: Path) -> None:
    """Write both tables into a folder."""
    rng = np.random.default_rng(SEED)
    turns = tuple(int(n) for n in rng.integers(2, 5, size=DIALOGUES))
    benchmark = SyntheticBenchmark(
        means=tuple(MEANS.values()),
        n_items=sum(turns),
        block_sizes=turns,
        scoring="graded",
        spread=0.8,
        levels=100,
    )
    names = [(f"d{d:02d}-t{t}", f"d{d:02d}") for d, n in enumerate(turns, start=1) for t in range(1, n + 1)]
    rows = [
        (model, item, block, replicate, f"{score:.2f}")
        for replicate, panel in enumerate(benchmark.panels(rng, REPLICATES), start=1)
        for model, scores in zip(MEANS, panel, strict=True)
        for (item, block), score in zip(names, scores, strict=True)
    ]
    write(folder / "scores.csv", ("model", "item", "block", "replicate", "score"), rows)
    write(folder / "truth.csv", ("model", "mean"), MEANS.items())


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write one table, with the same line ends on every platform."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(__file__).parent)
