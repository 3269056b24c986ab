from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from bbedge.core.panels import BlockLayout
from bbedge.core.scores import Scores
from bbedge.diagnostics.repetition import _tail_bounds, close_runs, repeated_scores


def items(n: int) -> BlockLayout:
    return BlockLayout.of(list(range(n)))


def runs(seed: int, shape: tuple[int, int, int], p: float = 0.5) -> np.ndarray:
    return (np.random.default_rng(seed).random(shape) < p).astype(float)


def test_independent_runs_are_not_close():
    found = close_runs(runs(1, (6, 3, 50)), ["a", "b", "c"], items(50))
    assert [each.model for each in found] == ["a", "b", "c", None]
    assert min(each.adjusted for each in found) == 1.0


@pytest.mark.parametrize("changed", [0, 1, 3])
def test_a_copied_run_is_found_with_some_scores_changed(changed):
    x = runs(2, (5, 3, 50))
    x[4, 1] = x[1, 1]
    x[4, 1, :changed] = 1.0 - x[4, 1, :changed]
    found = [each for each in close_runs(x, ["a", "b", "c"], items(50)) if each.adjusted <= 0.004]
    assert [(each.model, each.replicates, each.differing) for each in found] == [("b", (1, 4), changed)]
    assert found[0].usual > 15.0


def test_a_near_copy_of_a_whole_replicate_shows_where_no_single_model_does():
    # Every model changes an answer or two between runs; only all of them together show the copy.
    rng = np.random.default_rng(3)
    p = np.where(rng.random((40, 30)) < 0.1, 0.5, 0.0)
    x = (rng.random((4, 40, 30)) < p).astype(float)
    x[3] = x[0]
    x[3, 0, 0] = 1.0 - x[3, 0, 0]
    close = [
        each for each in close_runs(x, [f"m{i}" for i in range(40)], items(30), level=0.004) if each.adjusted <= 0.004
    ]
    assert [(each.model, each.replicates, each.differing) for each in close] == [(None, (0, 3), 1)]


def test_scores_that_are_never_equal_by_chance():
    x = np.random.default_rng(4).random((4, 2, 20))
    assert min(each.adjusted for each in close_runs(x, ["a", "b"], items(20))) == 1.0
    x[2, 0] = x[1, 0]
    x[2, 0, 5] = 0.5
    found = [each for each in close_runs(x, ["a", "b"], items(20)) if each.adjusted <= 0.004]
    assert {(each.model, each.replicates) for each in found} >= {("a", (1, 2))}


@pytest.mark.parametrize("seed", range(5))
def test_models_that_hardly_change_are_not_suspected(seed):
    rng = np.random.default_rng(seed)
    steady = (rng.random((1, 4, 200)) < 0.6).astype(float)
    flips = rng.random((8, 4, 200)) < 0.004
    x = np.abs(steady - flips)
    assert any(each.differing == 0 for each in close_runs(x, list("abcd"), items(200)))
    assert min(each.adjusted for each in close_runs(x, list("abcd"), items(200))) > 0.05


def test_runs_that_are_all_equal_prove_nothing():
    x = np.repeat(runs(5, (1, 2, 40)), 5, axis=0)
    assert {(each.differing, each.adjusted) for each in close_runs(x, ["a", "b"], items(40))} == {(0, 1.0)}


def test_equal_runs_prove_nothing_where_all_items_may_depend_on_each_other():
    x = runs(6, (5, 1, 40))
    x[1] = x[0]
    assert close_runs(x, ["a"], BlockLayout.of(["one"] * 40)) == ()
    (found,) = close_runs(x, ["a"], BlockLayout.of(["first"] * 20 + ["second"] * 20))
    assert found.differing == 0
    assert found.adjusted > 0.05


def test_two_replicates_say_nothing():
    assert close_runs(runs(7, (2, 1, 40)), ["a"], items(40)) == ()


def test_the_bound_is_above_the_exact_probability():
    # Every order of the replicates of every block, for one pair of replicates.
    x = np.array([[0, 0, 1, 1], [1, 0, 0, 1], [1, 1, 0, 0]], dtype=float)
    pairs = list(combinations(range(3), 2))
    differing = np.array([[int(x[a, i] != x[b, i]) for i in range(4)] for a, b in pairs])
    sums = [sum(terms) for terms in product(*differing.T)]
    totals = np.arange(4)
    exact = np.array([np.mean(np.array(sums) <= total) for total in totals])
    bounds = _tail_bounds(differing, totals)
    assert (bounds >= exact - 1e-12).all()
    assert bounds[0] == pytest.approx(exact[0])
    assert (np.diff(bounds) >= 0.0).all()


def test_repeated_scores_lists_all_and_says_of_which_sort():
    x = runs(8, (4, 3, 30))
    x[2, 0] = x[0, 0]
    x[:, 1] = x[0, 1]
    x[:, 2] = 1.0
    scores = Scores.of(x, models=["copied", "steady", "perfect"], items=[f"q{i}" for i in range(30)])
    found = {each.model: (each.replicates, each.always, each.varied) for each in repeated_scores(scores)}
    assert found == {
        "copied": ((0, 2), False, True),
        "steady": ((0, 1, 2, 3), True, True),
        "perfect": ((0, 1, 2, 3), True, False),
    }
