from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bbedge.core.checkpoints import run_order
from bbedge.core.panels import BlockLayout
from bbedge.core.scores import Scores
from bbedge.diagnostics.assumptions import (
    ALARM_LEVEL,
    DEPENDENCE_LEVEL,
    POSITION_LEVEL,
    REPETITION_LEVEL,
    SELF_LEVEL,
    block_dependence,
    diagnose,
    grouped,
    heterogeneity,
    neighbour_variance,
    rank_stability,
    self_evidence,
    split_null,
)
from bbedge.diagnostics.findings import findings_of
from bbedge.records.notes import Note
from bbedge.records.options import Options
from bbedge.study.synthetic import SyntheticBenchmark


def panels(benchmark: SyntheticBenchmark, n: int, seed: int) -> np.ndarray:
    return np.stack(list(benchmark.panels(np.random.default_rng(seed), n)))


def test_dependence_inside_blocks_alone_raises_no_alarm():
    benchmark = SyntheticBenchmark(block_sizes=5)
    x = panels(benchmark, 20, 1)
    found = block_dependence(
        x, benchmark.models, BlockLayout.of(benchmark.blocks), rng=np.random.default_rng(2), permutations=300
    )
    assert [each.model for each in found] == [*benchmark.models, None]
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


@pytest.mark.parametrize(("effect", "share"), [(0.0, 0.0), (0.4, 0.64), (0.5, 1.0)])
def test_the_share_of_items_in_the_variance_is_found(effect, share):
    rng = np.random.default_rng(4)
    chances = 0.5 + rng.choice([-effect, effect], size=(3, 3000))
    x = (rng.random((3, 3, 3000)) < chances).astype(float)
    found = neighbour_variance(x, BlockLayout.of(list(range(3000))))
    assert found.between_share == pytest.approx(share, abs=0.03)
    assert found.drawn_variance(1) == pytest.approx(0.5 / 4, rel=0.05)
    assert neighbour_variance(x[:1], BlockLayout.of(list(range(3000)))) is None
    assert neighbour_variance(x, BlockLayout.of([0] * 3000)) is None


def test_what_is_to_be_claimed_decides_what_a_repeat_breaks():
    values = np.random.default_rng(3).random((4, 2, 30))
    values[3] = values[0]
    scores = Scores.of(values, models=["a", "b"], items=[f"q{i}" for i in range(30)])
    diagnosis = diagnose(scores, rng=np.random.default_rng(1), permutations=99)

    def verdict(**options):
        found = findings_of(diagnosis, scores, options=Options(**options))
        return {each.kind: each for each in found}["copies"].verdict

    assert verdict() == verdict(target="both") == verdict(target="new-items", of_runs="any:2") == "alarm"
    assert verdict(target="new-items") == "no alarm"


def test_shared_seeds_have_no_remedy_in_one_block_for_new_items():
    scores = Scores.of(np.ones((1, 2, 3)), models=["a", "b"], items=["x", "y", "z"])
    scores = replace(scores, notes=(Note(kind="seed", text="All items of a run share one seed ('1')."),))
    diagnosis = diagnose(scores, rng=np.random.default_rng(1), permutations=99)
    these, new = (
        {each.kind: each for each in findings_of(diagnosis, scores, options=options)}["seeds"].to_do
        for options in (None, Options(target="new-items"))
    )
    assert "blocks='one'" in these
    assert "blocks='one'" not in new
    assert "claim nothing about new items" in new


def test_noise_that_all_models_share_shows_in_their_mean():
    # One judge, a little kinder in some replicates than in others: too little to show in a single model.
    rng = np.random.default_rng(5)
    kindness = 0.06 * rng.standard_normal((12, 1, 1))
    x = (rng.random((12, 30, 40)) < 0.5 + kindness).astype(float)
    models = [f"m{i}" for i in range(30)]
    found = block_dependence(x, models, BlockLayout.of(list(range(40))), rng=rng)
    assert found[-1].model is None
    assert found[-1].adjusted <= DEPENDENCE_LEVEL
    assert min(each.adjusted for each in found[:-1]) > DEPENDENCE_LEVEL


def test_the_most_striking_of_many_models_is_judged_as_that():
    rng = np.random.default_rng(6)
    x = (rng.random((6, 40, 20)) < 0.5).astype(float)
    found = block_dependence(x, [f"m{i}" for i in range(40)], BlockLayout.of(list(range(20))), rng=rng)
    assert min(each.p_value for each in found) < 0.05 < min(each.adjusted for each in found)
    assert all(each.adjusted >= each.p_value for each in found)


def test_very_many_blocks_are_permuted_in_groups_that_hold_every_item():
    layout = BlockLayout.of([f"b{i // 3}" for i in range(3000)])
    groups = grouped(layout, np.random.default_rng(1))
    assert groups.count == 256
    assert set(groups.sizes.tolist()) <= {9, 12}
    of_item = np.empty(3000, dtype=int)
    of_item[groups.order] = np.repeat(np.arange(groups.count), groups.sizes)
    assert (of_item.reshape(-1, 3) == of_item[::3, None]).all()  # a block stays in one group
    assert grouped(BlockLayout.of(["a", "b"]), np.random.default_rng(1)).count == 2


def test_dependence_is_found_among_very_many_blocks():
    rng = np.random.default_rng(2)
    x = (rng.random((10, 1, 2000)) < 0.5 + 0.05 * rng.standard_normal((10, 1, 1))).astype(float)
    (found,) = block_dependence(x, ["m"], BlockLayout.of(list(range(2000))), rng=rng, permutations=499)
    assert found.adjusted <= DEPENDENCE_LEVEL


def test_constant_fractions_do_not_vary():
    x = np.full((5, 2, 9), 0.1)
    found = block_dependence(x, ["a", "b"], BlockLayout.of(list(range(9))), rng=np.random.default_rng(0))
    assert {(each.ratio, each.adjusted) for each in found} == {(1.0, 1.0)}


def test_certificates_of_single_splits_are_no_alarm():
    # Sound runs: among many splits that reuse them, some give a certificate.
    benchmark = SyntheticBenchmark()
    found = split_null(benchmark.scores(np.random.default_rng(3), 8), rng=np.random.default_rng(1))
    assert [each.model for each in found] == list(benchmark.models)
    assert sum(each.certified for each in found) > 0
    assert self_evidence(found) < 1.0


def test_a_model_that_changed_half_way_is_noticed():
    rng = np.random.default_rng(4)
    p = np.where(np.arange(10) < 5, 0.4, 0.7)[:, None]
    x = np.stack([rng.random((10, 80)) < p, rng.random((10, 80)) < 0.5], axis=1).astype(float)
    scores = Scores.of(x, models=["changed", "same"], items=[f"q{i}" for i in range(80)])
    found = split_null(scores, rng=np.random.default_rng(1))
    assert found[0].log_e > np.log(2.0 / SELF_LEVEL) > 0.0 > found[1].log_e
    assert self_evidence(found) > np.log(1.0 / SELF_LEVEL)


def test_the_evidence_is_an_average_over_directions_splits_and_models():
    # Equal halves in every split: the evidence of each is that of two equal models, at most one.
    x = np.tile((np.arange(12) % 2).astype(float), (6, 2, 1))
    scores = Scores.of(x, models=["a", "b"], items=[f"q{i}" for i in range(12)])
    one, other = split_null(scores, rng=np.random.default_rng(1), splits=3)
    assert one.log_e == other.log_e == pytest.approx(self_evidence([one, other]))
    assert one.log_e < 0.0


def test_halves_that_differ_are_noticed():
    x = np.zeros((8, 2, 60))
    x[::2, 0] = 1.0  # a model that is right in every second run only
    scores = Scores.of(x, models=["a", "b"], items=[f"q{i}" for i in range(60)])
    found = split_null(scores, rng=np.random.default_rng(1), splits=20)
    assert found[0].certified > 0
    assert found[1].certified == 0
    few = Scores.of(x[:3], models=["a", "b"], items=scores.items)
    assert split_null(few, rng=np.random.default_rng(1)) == ()


def test_the_shares_add_up_to_the_level_of_an_alarm():
    assert pytest.approx(ALARM_LEVEL) == DEPENDENCE_LEVEL + REPETITION_LEVEL + SELF_LEVEL + POSITION_LEVEL


def test_a_server_that_degrades_shows_in_the_order_of_the_first_run():
    items = [f"q{i}" for i in range(80)]
    values = (np.random.default_rng(1).random((3, 2, 80)) < 0.8).astype(float)
    late = np.array([place for block in run_order(items, items, seed=9)[48:] for place in block])
    values[0, 1, late] = 0.0
    scores = Scores.of(values, models=["a", "b"], items=items)

    def found(scores, order_seed):
        made = diagnose(scores, rng=np.random.default_rng(1), permutations=99, order_seed=order_seed)
        return {each.kind: each for each in findings_of(made, scores)}.get("position")

    alarm = found(scores, 9)
    assert alarm.verdict == "alarm"
    assert "The scores of 'b' have a correlation of -0." in alarm.found
    assert alarm.to_do
    assert found(scores, 10).verdict != "alarm"  # another order
    assert found(scores, None) is None
    few = Scores.of(values[:, :, :5], models=["a", "b"], items=items[:5])
    assert found(few, 9).verdict == "not possible"


def test_findings_name_arguments_in_python():
    values = np.random.default_rng(3).random((4, 2, 30))
    values[3] = values[0]
    scores = Scores.of(values, models=["a", "b"], items=[f"q{i}" for i in range(30)])
    diagnosis = diagnose(scores, rng=np.random.default_rng(1), permutations=99)
    copies = {finding.kind: finding for finding in findings_of(diagnosis, scores)}["copies"]
    assert "use copies='allow', or one run" in copies.to_do
