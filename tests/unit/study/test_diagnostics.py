from __future__ import annotations

import numpy as np
import pytest

from bbedge.core.blocks import BlockLayout
from bbedge.core.scores import Scores
from bbedge.study.diagnostics import (
    _holm_adjusted,
    block_dependence,
    heterogeneity,
    rank_stability,
    split_null,
)
from bbedge.study.synthetic import SyntheticBenchmark


def panels(benchmark: SyntheticBenchmark, n: int, seed: int) -> np.ndarray:
    return np.stack(list(benchmark.panels(np.random.default_rng(seed), n)))


def test_dependence_inside_blocks_alone_raises_no_alarm():
    benchmark = SyntheticBenchmark(block_sizes=5)
    x = panels(benchmark, 20, 1)
    found = block_dependence(
        x, benchmark.models, BlockLayout.of(benchmark.blocks), rng=np.random.default_rng(2), permutations=300
    )
    assert len(found) == 10
    assert min(each.adjusted for each in found) > 0.05
    assert 0.4 < np.median([each.ratio for each in found]) < 2.0


def test_dependence_across_the_stated_blocks_is_found():
    # Items depend in blocks of 20 and are analysed one by one.
    benchmark = SyntheticBenchmark(block_sizes=20)
    x = panels(benchmark, 20, 1)
    layout = BlockLayout.of([str(i) for i in range(100)])
    found = block_dependence(x, benchmark.models, layout, rng=np.random.default_rng(2), permutations=500)
    assert np.median([each.ratio for each in found]) > 3.0
    assert sum(each.adjusted < 0.05 for each in found) >= 5


def test_the_p_value_is_uniform_under_independence():
    rng = np.random.default_rng(0)
    p = []
    for _ in range(60):
        x = (rng.random((8, 1, 30)) < 0.5).astype(float)
        (found,) = block_dependence(x, ["m"], BlockLayout.of([str(i) for i in range(30)]), rng=rng, permutations=99)
        p.append(found.p_value)
    assert 0.35 < np.mean(p) < 0.65
    assert np.mean(np.array(p) <= 0.1) < 0.3


def test_too_few_replicates_or_blocks_say_nothing():
    layout = BlockLayout.of(["a", "b"])
    assert block_dependence(np.zeros((2, 1, 2)), ["m"], layout, rng=np.random.default_rng(0)) == ()
    assert block_dependence(np.zeros((5, 1, 2)), ["m"], BlockLayout.of(["a", "a"]), rng=np.random.default_rng(0)) == ()


def test_a_model_that_never_changes_is_no_alarm():
    layout = BlockLayout.of(["a", "b"])
    (found,) = block_dependence(np.ones((4, 1, 2)), ["m"], layout, rng=np.random.default_rng(0))
    assert (found.ratio, found.p_value, found.adjusted) == (1.0, 1.0, 1.0)


def test_rank_stability_counts_reversals():
    x = np.zeros((3, 3, 4))
    x[:, 0] = 1.0
    x[:, 1, :2] = 1.0
    x[0, 2, :3] = 1.0  # in the first replicate, c is ahead of b
    found = rank_stability(x, ["a", "b", "c"])
    assert (found.differing, found.replicates) == (1, 3)
    assert found.reversals == (("b", "c", 1),)


def test_heterogeneity_of_the_closest_pair():
    x = np.zeros((2, 3, 10))
    x[:, 0, :6] = 1.0
    x[:, 1, 5:] = 1.0
    first, *_ = heterogeneity(x, ["a", "b", "c"], pairs=1)
    assert (first.first, first.second, first.for_first, first.for_second) == ("a", "b", 5, 4)
    assert first.difference == pytest.approx(0.1)


def test_a_model_is_not_certified_above_itself():
    benchmark = SyntheticBenchmark()
    found = split_null(benchmark.scores(np.random.default_rng(3), 8), rng=np.random.default_rng(1), splits=5)
    assert [each.model for each in found] == list(benchmark.models)
    assert sum(each.certified for each in found) == 0


def test_halves_that_differ_are_noticed():
    x = np.zeros((8, 2, 60))
    x[::2, 0] = 1.0  # a model that is right in every second run only
    scores = Scores.of(x, models=["a", "b"], items=[f"q{i}" for i in range(60)])
    found = split_null(scores, rng=np.random.default_rng(1), splits=20)
    assert found[0].certified > 0
    assert found[1].certified == 0
    few = Scores.of(x[:3], models=["a", "b"], items=scores.items)
    assert split_null(few, rng=np.random.default_rng(1)) == ()


def test_holm_adjustment():
    assert _holm_adjusted([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert _holm_adjusted([0.6, 0.9]) == [1.0, 1.0]
