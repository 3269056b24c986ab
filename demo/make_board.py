"""Write the files of the worked example in docs/board.md: a design, items, runs of four models.

.venv/bin/python demo/make_board.py FOLDER
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

SEED = 20260101
MEANS = {"alder": 0.35, "birch": 0.55, "cedar": 0.6, "dogwood": 0.85}
OLD = [(f"d{d:02}-q{q}", f"d{d:02}") for d in range(25) for q in range(3)]
NEW = [(f"e{d:02}-q{q}", f"e{d:02}") for d in range(10) for q in range(3)]

DESIGN = """\
alpha = 0.05            # largest probability that anything shown is ever wrong, over the lifetime of the board
tau = 0.0               # margin that a difference must exceed, on the [0, 1] scale
method = "bb-edge-x"    # or bb-edge; evidence, prediction, stakes and holm may override its parts
spending = "equal"      # how alpha is divided: equal shares ...
shares = 4              # ... for at most four claims; or "open-ended" for any number
pairing = "all"         # a new model's runs join every stored replicate, in order; or "first" with first = N
"""


def write(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def main(folder: Path) -> None:
    """Write everything into the folder."""
    rng = np.random.default_rng(SEED)

    def run(models: Sequence[str], items: Sequence[tuple[str, str]], replicates: Sequence[int]) -> list[list[object]]:
        return [
            [model, item, replicate, int(rng.random() < MEANS[model])]
            for replicate in replicates
            for model in models
            for item, _ in items
        ]

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "design.toml").write_text(DESIGN, encoding="utf-8")
    write(folder / "items.csv", ["item", "block"], OLD)
    write(folder / "more.csv", ["item", "block"], NEW)
    header = ["model", "item", "replicate", "score"]
    for number in (1, 2, 3):
        write(folder / f"run{number}.csv", header, run(["alder", "birch", "cedar"], OLD, [number]))
    write(folder / "dogwood.csv", header, run(["dogwood"], OLD, [1, 2, 3]))
    write(folder / "run4.csv", header, run(["birch", "cedar", "dogwood"], OLD, [4]))
    write(folder / "fresh1.csv", header, run(["birch", "cedar", "dogwood"], OLD + NEW, [1]))
    print(f"wrote the example into {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
