"""Submitters who look at their runs first and withhold what they do not like: announced runs, and runs that are not.

Every model is as good as any other, so that every certificate about the newcomer is false. With an announcement the
board keeps its level whatever is withheld. Without one it cannot know what it was not shown: the rate at which it then
fails is measured beside it, and documented in docs/guarantees.md. So is what an announcement does not prevent: that of
many announced models only one is added, so that the next one is compared with it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from bbedge.board import BoardDesign
from bbedge.board.admit import admit, create
from bbedge.board.incoming import proposed_model, proposed_replicate
from bbedge.board.state import BoardState
from bbedge.board.stored_scores import StoredScores
from bbedge.core.scores import Scores
from bbedge.records.events import AnnouncementClosed, Created, ModelAdded, ModelAnnounced
from calibration.binomial_rule import breaks

ALPHA, RUNS, LATER, MADE = 0.2, 8, 2, 100
ITEMS = tuple(f"q{i}" for i in range(24))
DESIGN = {
    "alpha": ALPHA, "spending": "equal", "shares": 2, "incomplete": "worst-case", "copies": "allow",
}  # fmt: skip
Runs = NDArray[np.float64]


def made(rng: np.random.Generator, count: int, models: int = 1) -> Runs:
    """Runs of equal models, on items that differ in difficulty and are graded or not."""
    chance = np.linspace(0.15, 0.85, len(ITEMS))
    return (rng.random((count, models, len(ITEMS))) < chance).astype(float)


def best_first(runs: Runs, _rng: np.random.Generator) -> Runs:
    """All runs, numbered from the best to the worst."""
    return runs[np.argsort(-runs.mean(axis=(1, 2)), kind="stable")]


def without_the_worst(runs: Runs, rng: np.random.Generator) -> Runs:
    """All but one."""
    return best_first(runs, rng)[:-1]


def the_best_two(runs: Runs, rng: np.random.Generator) -> Runs:
    """Two runs of eight."""
    return best_first(runs, rng)[:2]


def above_average(runs: Runs, rng: np.random.Generator) -> Runs:
    """The runs above the mean of an equal model, and at least one."""
    good = best_first(runs, rng)
    return good[: max(1, int((good.mean(axis=(1, 2)) > 0.5).sum()))]


def without_failures(runs: Runs, rng: np.random.Generator) -> Runs:
    """All runs, without a part of the scores that are failures."""
    kept = best_first(runs, rng).copy()
    kept[(kept == 0.0) & (rng.random(kept.shape) < 0.3)] = np.nan
    return kept


WITHHELD: tuple[Callable[[Runs, np.random.Generator], Runs], ...] = (
    best_first, without_the_worst, the_best_two, above_average, without_failures,
)  # fmt: skip


class MemoryBoard:
    """A board without a file."""

    def __init__(self, target: str | None = None, **options: object) -> None:
        design = BoardDesign(**{**DESIGN, **({"target": target} if target else {}), **options})
        created = Created(design=design.content, registration="", models=("a", "b"), items=ITEMS, blocks=ITEMS)
        self.state: BoardState
        self.state, _ = create(created)
        self.scores = StoredScores()

    def add(self, values: Runs) -> None:
        given = Scores.of(values, models=self.state.active, items=ITEMS)
        for index in range(len(values)):
            event, vectors = proposed_replicate(given, index, self.state, self.scores, copies="allow", rule=None)
            self.scores.offer(self.state.epoch.number, event.place, vectors)
            admit(self.state, event, self.scores)

    def add_model(self, name: str, values: Runs) -> ModelAdded:
        given = Scores.of(values, models=(name,), items=ITEMS)
        event, runs = proposed_model(name, given, self.state, "allow", whole_runs=True)
        for place, run in enumerate(runs, start=1):
            self.scores.offer(self.state.epoch.number, place, {name: run})
        return admit(self.state, event, self.scores)

    def is_false_about(self, name: str) -> bool:
        stage = next(each for each in self.state.stages if each.newcomer == name)
        return any(stage.edges(view).any() for view in self.state.epoch.looks_at)


def announced(seed: int, target: str | None = None) -> bool:
    """Whether the board certified anything false about a newcomer whose runs were announced."""
    rng = np.random.default_rng([seed, 1])
    board = MemoryBoard(target)
    board.add(made(rng, RUNS, 2))
    admit(board.state, ModelAnnounced(epoch=1, model="new", runs=RUNS), board.scores)
    admit(board.state, AnnouncementClosed(epoch=1, model="new"), board.scores)
    board.add_model("new", WITHHELD[seed % len(WITHHELD)](made(rng, RUNS), rng))
    board.add(made(rng, LATER, 3))
    return board.is_false_about("new")


def not_announced(seed: int, target: str | None = None) -> bool:
    """The same where the best of more runs are handed in, as if they were all."""
    rng = np.random.default_rng([seed, 2])
    board = MemoryBoard(target)
    board.add(made(rng, RUNS, 2))
    board.add_model("new", best_first(made(rng, MADE), rng)[:RUNS])
    return board.is_false_about("new")


def compared_with_the_chosen(seed: int, others: int) -> tuple[bool, float]:
    """Whether anything false is certified about an announced model, and at which level, if its opponent is chosen.

    It and the others are equal, and all their runs are made. Only that one of the others is added whose runs differ
    most; the announcements of those that never come change nothing in its claim, and are left out here.
    """
    rng = np.random.default_rng([seed, 77])
    board = MemoryBoard(spending="open-ended", shares=None)
    board.add(made(rng, RUNS, 2))
    for name in ("new", "other"):
        admit(board.state, ModelAnnounced(epoch=1, model=name, runs=RUNS), board.scores)
    level = board.state.announced["new"].level
    new, rest = made(rng, RUNS), made(rng, RUNS, others)
    chosen = int(np.abs(rest.mean(axis=(0, 2)) - new.mean()).argmax())
    board.add_model("other", rest[:, [chosen]])
    board.add_model("new", new)
    return board.is_false_about("new"), level


# The level of the newcomer's claim is half of alpha.
@pytest.mark.parametrize(
    ("boards", "target"),
    [
        pytest.param(100, None, marks=pytest.mark.every_push("withholding is what announcements are for")),
        pytest.param(10_000, None, marks=pytest.mark.nightly),
        pytest.param(1_000, "both", marks=pytest.mark.nightly),
    ],
)
def test_withholding_announced_runs_does_not_pay(boards, target, record_property):
    false = sum(announced(seed, target) for seed in range(boards))
    record_property("false certificates", f"{false} of {boards}")
    assert not breaks(false, boards, alpha=ALPHA / 2)


@pytest.mark.nightly
def test_withholding_runs_that_were_not_announced_breaks_the_level(record_property):
    """The break that announcements are for: nothing else on a board can show it."""
    boards = 500
    false = sum(not_announced(seed) for seed in range(boards))
    record_property("false certificates", f"{false} of {boards}")
    assert breaks(false, boards, alpha=ALPHA / 2)
    assert false > boards / 2


@pytest.mark.nightly
@pytest.mark.parametrize(("others", "is_broken"), [(1, False), (5000, True)])
def test_choosing_which_announced_model_is_compared_breaks_the_level(others, is_broken, record_property):
    """The condition of Theorem 8: the models that are compared are on the board for reasons apart from the scores."""
    boards = 500
    found = [compared_with_the_chosen(seed, others) for seed in range(boards)]
    false = sum(is_false for is_false, _ in found)
    record_property("false certificates", f"{false} of {boards}")
    assert breaks(false, boards, alpha=found[0][1]) is is_broken
