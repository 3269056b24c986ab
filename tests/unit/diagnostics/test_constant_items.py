"""Items on which every score is the same are counted over all models and runs, and never a reason to drop them."""

from __future__ import annotations

import numpy as np
import pytest

from bbedge.core.scores import Scores
from bbedge.diagnostics.constant_items import ConstantItems, constant_finding, constant_items

CHOICES = np.array([0.0, 0.5, 1.0, np.nan])


def naive(scores: Scores) -> dict[str, tuple[str, ...]]:
    """The same, item by item and score by score."""
    found: dict[str, list[str]] = {"highest": [], "lowest": [], "between": []}
    for place, item in enumerate(scores.items):
        seen = {float(value) for value in scores.values[:, :, place].ravel()}
        if len(seen) == 1 and not any(value != value for value in seen):
            found[{1.0: "highest", 0.0: "lowest"}.get(seen.pop(), "between")].append(item)
    return {how: tuple(items) for how, items in found.items()}


@pytest.mark.parametrize("seed", range(5))
def test_it_agrees_with_a_naive_count(seed):
    rng = np.random.default_rng(seed)
    values = rng.choice(CHOICES, size=(2, 2, 60), p=[0.4, 0.1, 0.45, 0.05])
    values[:, :, ::7] = rng.choice(CHOICES[:3], size=values[:, :, ::7].shape[2])
    scores = Scores(
        models=("a", "b"),
        items=tuple(f"q{i}" for i in range(60)),
        blocks=tuple(f"q{i}" for i in range(60)),
        replicates=("1", "2"),
        values=values,
        score_range=(0.0, 10.0),
        gaps="worst-case",
    )
    found, expected = constant_items(scores), naive(scores)
    assert {how: getattr(found, how) for how in expected} == expected
    assert found.count == sum(map(len, expected.values()))
    assert found.share == 1.0 - found.count / 60


def scores_of(*rows: list[float]) -> Scores:
    return Scores.of([rows], models=[f"m{i}" for i in range(len(rows))], items=[f"q{i}" for i in range(len(rows[0]))])


def test_the_finding_says_what_was_counted_and_warns():
    found = constant_finding(constant_items(scores_of([1, 1, 0, 0], [1, 1, 0, 1])))
    assert (found.kind, found.verdict) == ("constant-items", "look")
    assert found.found == (
        "1 of 4 items (25 %) can tell these models apart. Over 2 models and 1 run, 2 always have the highest score, 1 "
        "always the lowest. Always highest: 'q0', 'q1'. Always lowest: 'q2'."
    )
    assert found.not_shown == ConstantItems.warning
    assert "Never leave items out" in found.not_shown
    assert found.to_do


def test_where_all_items_differ_nothing_is_to_do_and_one_model_tells_nothing():
    found = constant_finding(constant_items(scores_of([1, 0], [0, 1])))
    assert (found.verdict, found.to_do) == ("no alarm", "")
    assert found.found == "On every one of 2 items, some scores of 2 models and 1 run differ."
    assert constant_finding(constant_items(scores_of([1, 0]))).verdict == "not possible"
