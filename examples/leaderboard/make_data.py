"""Write the scores of five models that do not exist: the stand-in for your evaluations.

python make_data.py FOLDER
"""

import csv
import random
import sys
from pathlib import Path

MODELS = {"heron": 0.82, "osprey": 0.74, "plover": 0.71, "wren": 0.55}
LATER = {"kestrel": 0.90}
# Four questions about each of 40 articles. Questions about one article may depend on each other: they are a block.
ITEMS = [(f"article-{number:02}-q{question}", f"article-{number:02}") for number in range(40) for question in range(4)]


def scores(models: dict[str, float], run: int) -> list[tuple[object, ...]]:
    """One complete run: every model on every item. Articles differ in difficulty, and a run repeats no answer."""
    return [
        (model, item, run, int(random.Random(f"{model} {item} {run}").random() < skill - hardness(block)))
        for model, skill in models.items()
        for item, block in ITEMS
    ]


def hardness(block: str) -> float:
    """How much harder an article is than the average."""
    return random.Random(block).uniform(-0.15, 0.15)


def write(path: Path, header: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    """Write a table as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def main(folder: Path) -> None:
    """Write the list of items, three runs of the first models, three runs of the later one, and a run of all."""
    folder.mkdir(parents=True, exist_ok=True)
    header = ("model", "item", "replicate", "score")
    write(folder / "items.csv", ("item", "block"), [*ITEMS])
    for run in (1, 2, 3):
        write(folder / f"run-{run}.csv", header, scores(MODELS, run))
    write(folder / "kestrel.csv", header, [row for run in (1, 2, 3) for row in scores(LATER, run)])
    write(folder / "run-4.csv", header, scores(MODELS | LATER, 4))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
