"""What the scripts of frozen outputs are made with: their list, and small tables of scores."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from golden.freezing import Bench

GOLDEN = Path(__file__).parent
ROOT = GOLDEN.parents[1]
ALL_FORMS = "--json c.json --html c.html --markdown c.md"
CASES: dict[str, Callable[[Bench], None]] = {}


def case(script: Callable[[Bench], None]) -> Callable[[Bench], None]:
    """Register a script under its name."""
    CASES[script.__name__] = script
    return script


def take(*files: str) -> None:
    """Copy files of the repository into the folder of the case."""
    for file in files:
        shutil.copy(ROOT / file, Path(file).name)


def rows(
    skills: dict[str, float],
    items: Sequence[str],
    replicates: Iterable[int],
    *,
    seed: int,
    columns: dict[str, dict[str, str]] | None = None,
    without: Callable[[str, str, int], bool] = lambda model, item, replicate: False,
    numbered: bool = True,
) -> str:
    """A long table of scores in tenths; ``columns`` have a value for each item."""
    rng, columns = np.random.default_rng(seed), columns or {}
    lines = [",".join(["model", "item", *(["replicate"] if numbered else []), *columns, "score"])]
    for replicate in replicates:
        for model, skill in skills.items():
            for item in items:
                score = round(0.8 * (rng.random() < skill) + 0.2 * rng.random(), 1)
                if not without(model, item, replicate):
                    place = [model, item, *([str(replicate)] if numbered else [])]
                    lines.append(",".join([*place, *(values[item] for values in columns.values()), str(score)]))
    return "\n".join(lines) + "\n"


def items_table(items: Sequence[str], **columns: Callable[[int], str]) -> str:
    """A list of items with columns."""
    lines = [",".join(["item", *columns])]
    lines += [",".join([item, *(value(i) for value in columns.values())]) for i, item in enumerate(items)]
    return "\n".join(lines) + "\n"


def gate_rows(new: float, old: float, *, seed: int, runs: int = 3, items: int = 60) -> str:
    """Right and wrong answers of two systems."""
    rng = np.random.default_rng(seed)
    lines = ["model,item,replicate,topic,score"]
    for run in range(1, runs + 1):
        for model, chance in (("new", new), ("old", old)):
            for i in range(items):
                right = int(rng.random() < (chance if i % 4 else 0.5))
                lines.append(f"{model},q{i},{run},{'safety' if i % 3 else 'math'},{right}")
    return "\n".join(lines) + "\n"
