"""Write the invented scores of the documentation into the current folder.

python make_scores.py prompts      # prompts.csv: two prompts, 150 questions, 4 runs
python make_scores.py dialogues    # dialogues.csv: four models, 40 dialogues of 5 turns, 6 runs
python make_scores.py missing      # missing.csv: three models, of which one lacks some scores and one a whole run
python make_scores.py suite        # suite.csv: eight models on four benchmarks of different sizes, 3 runs
python make_scores.py leaderboard  # leaderboard.csv: sixty models, 500 questions, 2 runs; models.csv: their prices
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SEED = 20260102
Row = Sequence[object]
TREES = ("alder", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel", "ironwood", "juniper", "larch", "maple")
SIZES = ("1b", "3b", "8b", "30b", "70b")


def write(name: str, header: Sequence[str], rows: Sequence[Row]) -> None:
    """Write a CSV file."""
    with Path(name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    print(f"wrote {name}: {len(rows)} rows")


def chance(ability: float, difficulty: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance of a right answer to questions of these difficulties."""
    return np.asarray(1 / (1 + np.exp(difficulty - ability)))


def prompts(rng: np.random.Generator) -> None:
    """Two prompts for one model: the candidate is better by about twelve points."""
    difficulty = rng.normal(0, 2, 150)
    write(
        "prompts.csv",
        ["model", "item", "replicate", "score"],
        [
            [prompt, f"q{item + 1:03}", run, int(rng.random() < right)]
            for run in range(1, 5)
            for prompt, ability in (("current", 0.8), ("candidate", 1.4))
            for item, right in enumerate(chance(ability, difficulty))
        ],
    )


def dialogues(rng: np.random.Generator) -> None:
    """Turns of a dialogue succeed or fail together: once a run goes wrong, it stays wrong."""
    rows: list[Row] = []
    for run in range(1, 7):
        for model, ability in (("alder", 0.3), ("birch", 0.5), ("cedar", 0.6), ("dogwood", 1.6)):
            for dialogue in range(1, 41):
                mood = rng.normal(0, 3)
                for turn in range(1, 6):
                    right = rng.random() < 1 / (1 + np.exp(-ability - mood))
                    rows.append([model, f"d{dialogue:02}-t{turn}", f"d{dialogue:02}", run, int(right)])
    write("dialogues.csv", ["model", "item", "dialogue", "replicate", "score"], rows)


def missing(rng: np.random.Generator) -> None:
    """Some calls of birch failed, and cedar was not run a third time."""
    difficulty = rng.normal(0, 1, 200)
    rows: list[Row] = []
    for run in (1, 2, 3):
        for model, ability in (("alder", 2.0), ("birch", 0.0), ("cedar", -1.0)):
            for item, right in enumerate(chance(ability, difficulty)):
                score = int(rng.random() < right)
                if (model, run) != ("cedar", 3) and not (model == "birch" and rng.random() < 0.02):
                    rows.append([model, f"q{item + 1:03}", run, score])
    write("missing.csv", ["model", "item", "replicate", "score"], rows)


def suite(rng: np.random.Generator) -> None:
    """Four benchmarks of different sizes; dogwood is strong in mathematics, hazel in law."""
    sizes = {"math": 120, "code": 80, "law": 60, "chat": 40}
    strong = {("dogwood", "math"): 2.5, ("hazel", "law"): 2.0}
    rows: list[Row] = []
    difficulty = {name: rng.normal(0, 1.5, count) for name, count in sizes.items()}
    for run in (1, 2, 3):
        for place, model in enumerate(TREES[:8]):
            for name in sizes:
                ability = 0.35 * place - 1 + strong.get((model, name), 0)
                for item, right in enumerate(chance(ability, difficulty[name])):
                    rows.append([model, f"{name}-{item + 1:03}", name, run, int(rng.random() < right)])
    write("suite.csv", ["model", "item", "benchmark", "replicate", "score"], rows)


def leaderboard(rng: np.random.Generator) -> None:
    """Twelve families in five sizes: larger is better, families differ a little."""
    difficulty = rng.normal(0, 1.5, 500)
    family = dict(zip(TREES, rng.normal(0, 0.4, len(TREES)), strict=True))
    rows: list[Row] = []
    for run in (1, 2):
        for tree in TREES:
            for place, size in enumerate(SIZES):
                ability = 0.7 * place - 1.4 + family[tree]
                for item, right in enumerate(chance(ability, difficulty)):
                    rows.append([f"{tree}-{size}", f"q{item + 1:03}", run, int(rng.random() < right)])
    write("leaderboard.csv", ["model", "item", "replicate", "score"], rows)
    price = {tree: rng.uniform(0.6, 1.6) for tree in TREES}
    known: list[Row] = [
        [f"{tree}-{size}", f"{tree.title()} Labs", f"{price[tree] * 0.02 * int(size[:-1]) ** 0.8:.3f}"]
        for tree in TREES
        for size in SIZES
    ]
    write("models.csv", ["model", "organisation", "price"], known)


def questions(rng: np.random.Generator) -> None:
    """Alder and birch are as good at this kind of question, each at its own half; cedar is better at the kind.

    Of these questions a few more suit alder, as chance has it in every seventh draw of 400.
    """
    own = rng.permutation(np.where(np.arange(400) < 215, 0.35, -0.35))
    chances = {"alder": 0.5 + own, "birch": 0.5 - own, "cedar": np.full(400, 0.8)}
    rows: list[Row] = [
        [model, f"q{item + 1:03}", run, int(rng.random() < right)]
        for run in range(1, 9)
        for model, of_items in chances.items()
        for item, right in enumerate(of_items)
    ]
    write("questions.csv", ["model", "item", "replicate", "score"], rows)


def agents(rng: np.random.Generator) -> None:
    """Steady solves seven of ten tasks nearly always, the others hardly ever; lucky, any task in eight of ten runs."""
    chances = np.where(rng.random(200) < 0.7, 0.98, 0.02)
    rows: list[Row] = [
        [agent, f"task-{task + 1:03}", run, int(rng.random() < (of_steady if agent == "steady" else 0.8))]
        for run in range(1, 9)
        for agent in ("lucky", "steady")
        for task, of_steady in enumerate(chances)
    ]
    write("agents.csv", ["model", "item", "replicate", "score"], rows)


KINDS: dict[str, Callable[[np.random.Generator], None]] = {
    "prompts": prompts,
    "dialogues": dialogues,
    "missing": missing,
    "suite": suite,
    "leaderboard": leaderboard,
    "questions": questions,
    "agents": agents,
}


if __name__ == "__main__":
    asked = sys.argv[1:]
    if not asked or any(name not in KINDS for name in asked):
        sys.exit(f"say what to write: {', '.join(KINDS)}")
    for name in asked:
        KINDS[name](np.random.default_rng(SEED))
