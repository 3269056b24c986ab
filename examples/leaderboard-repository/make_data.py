"""Write the items of a benchmark and the scores of models that do not exist: the stand-in for evaluations.

python make_data.py FOLDER
"""

import csv
import random
import sys
from pathlib import Path

FIRST = {"heron": 0.82, "plover": 0.71, "wren": 0.55}
SUBMITTED = {"kestrel": 0.90, "osprey": 0.74}
ITEMS = [f"question-{number:03}" for number in range(160)]
RUNS = (1, 2)


def scores(models: dict[str, float], run: int) -> list[tuple[object, ...]]:
    """One complete run: every model on every item. Questions differ in difficulty, and a run repeats no answer."""
    return [
        (model, item, run, int(random.Random(f"{model} {item} {run}").random() < skill - hardness(item)))
        for model, skill in models.items()
        for item in ITEMS
    ]


def hardness(item: str) -> float:
    """How much harder a question is than the average."""
    return random.Random(item).uniform(-0.15, 0.15)


def write(path: Path, header: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    """Write a table as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def main(folder: Path) -> None:
    """Write the list of items, two runs of the first models, and two runs of each model that is handed in."""
    header = ("model", "item", "replicate", "score")
    write(folder / "items.csv", ("item",), [(item,) for item in ITEMS])
    for run in RUNS:
        write(folder / f"run-{run}.csv", header, scores(FIRST, run))
    for model, skill in SUBMITTED.items():
        for run in RUNS:
            write(folder / model / f"run-{run}.csv", header, scores({model: skill}, run))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
