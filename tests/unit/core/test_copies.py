"""Replicates that repeat each other: found by their scores, never left out because of them."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbedge import Certifier, Design, Scores, certify, certify_pilot_top_k
from bbedge.core.copies import always_repeating, described, find_copies, fingerprints
from bbedge.core.scores import SeenCopies
from bbedge.errors import CopiedReplicateError
from bbedge.study.synthetic import SyntheticBenchmark


def scores(values):
    values = np.asarray(values, dtype=float)
    models, items = ([f"{name}{i}" for i in range(size)] for name, size in zip("mq", values.shape[1:], strict=True))
    return Scores.of(values, models=models, items=items)


def run(seed=0, shape=(1, 3, 20)):
    return np.random.default_rng(seed).integers(0, 2, shape).astype(float)


def test_twenty_copies_of_one_run_are_refused_and_counted_only_if_allowed():
    copied = scores(np.repeat(run(), 20, axis=0))
    with pytest.raises(CopiedReplicateError, match=r"greedy decoding.*a copied file.*copies='allow'"):
        certify(copied)
    assert certify(copied, copies="allow").design.copies == "allow"


def test_one_model_that_repeats_itself_while_its_runs_vary_elsewhere_is_refused():
    values = run(shape=(5, 3, 20))
    values[4, 1] = values[2, 1]
    with pytest.raises(CopiedReplicateError, match="'m1' has the same score on every item in replicates '3', '5'"):
        certify(scores(values))


def test_a_model_that_always_repeats_itself_counts():
    values = run(shape=(5, 3, 20))
    values[:, 1] = values[0, 1]
    assert certify(scores(values)).replicates == 5
    assert always_repeating([fingerprints("abc", panel) for panel in values]) == ("b",)


def test_runs_of_one_model_that_are_equal_by_chance_count():
    rng = np.random.default_rng(1)
    values = (rng.random((12, 1, 9)) < 0.9).astype(float)
    assert any(np.array_equal(*pair) for pair in itertools.combinations(values, 2))
    assert not scores(values).copies
    assert scores(np.repeat(values[:1] * np.arange(9) / 9, 12, axis=0)).copies


def test_the_pilot_is_checked_too():
    values = run(shape=(5, 3, 20))
    values[3] = values[0]
    with pytest.raises(CopiedReplicateError):
        certify_pilot_top_k(scores(values), k=1, pilot=2)


def test_what_a_reader_saw_says_nothing_about_other_values():
    read = scores(run(shape=(2, 3, 20)))
    seen = dataclasses.replace(read, values=np.repeat(read.values[:1], 2, axis=0))
    assert not read.copies
    assert seen.copies


def test_the_rule_is_part_of_the_design_and_its_hash():
    refusing, allowing = (Design.make("ab", "q", copies=copies) for copies in ("refuse", "allow"))
    assert refusing.hash != allowing.hash
    assert (refusing.content["copies"], allowing.content["copies"]) == ("refuse", "allow")


def test_a_certifier_takes_what_it_is_given():
    certifier = Certifier(Design.make("ab", [f"q{i}" for i in range(9)]))
    for _ in range(2):
        certifier.update(np.ones((2, 9)))
    assert certifier.leaderboard().replicates == 2


def test_models_that_hardly_vary_repeat_themselves_by_chance():
    """500 models that are nearly always right: some repeat a run honestly."""
    nearly = (np.random.default_rng(9).random((3, 500, 40)) < 0.98).astype(float)
    assert any(np.array_equal(nearly[0, m], nearly[1, m]) and nearly[0, m].min() < 1.0 for m in range(500))
    assert not scores(nearly).copies


def test_honest_runs_are_rarely_called_copies():
    """Expected is at most one table in twenty; accuracies from 0.3 to 0.98, 12 to 40 items, 3 to 8 replicates."""
    rng = np.random.default_rng(4)
    called = 0
    for _ in range(300):
        shape = (int(rng.integers(3, 9)), int(rng.integers(2, 12)), int(rng.integers(12, 41)))
        difficulty = rng.uniform(0.3, 0.98, (1, shape[1], 1)) + rng.uniform(-0.2, 0.2, (1, 1, shape[2]))
        called += bool(scores((rng.random(shape) < difficulty).astype(float)).copies)
    assert called <= 15


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=7),
    st.integers(0, 6),
)
def test_copies_are_those_of_a_search_over_all_pairs(kinds, first):
    """Each number stands for a vector of scores; 0 for one in which all are the same."""
    vectors = {0: np.ones(20), 1: np.arange(1, 21) / 21, 2: np.arange(2, 22)[::-1] / 22}
    replicates = [fingerprints("abc", np.stack([vectors[kind] for kind in row])) for row in kinds]
    expected = set()
    for s, r in itertools.combinations(range(len(kinds)), 2):
        if r < first:
            continue
        if kinds[s] == kinds[r] and any(kinds[r]):
            expected.add((r, "all"))
        expected |= {
            (r, "abc"[m]) for m in range(3) if kinds[s][m] == kinds[r][m] != 0 and len({row[m] for row in kinds}) > 1
        }
    whole = {r for r, who in expected if who == "all"}
    expected = {(r, who) for r, who in expected if who == "all" or r not in whole}
    found = [
        copy
        for copy in find_copies(replicates, lambda r, m: vectors[kinds[r]["abc".index(m)]])
        if copy.replicate >= first
    ]
    assert {(copy.replicate, "all") if copy.whole else (copy.replicate, m) for copy in found for m in copy.models} == {
        *expected
    }
    for copy in found:
        assert all(kinds[copy.of]["abc".index(m)] == kinds[copy.replicate]["abc".index(m)] for m in copy.models)


def test_many_copies_are_described_briefly():
    values = run(shape=(12, 9, 20))
    for model in range(9):
        values[model + 1, model] = values[0, model]
    text = described(scores(values).copies, "abcdefghijkl")
    assert "And 6 more such repetitions." in text


def test_rows_without_any_score_are_not_copies_of_each_other():
    values = run(shape=(6, 3, 20))
    values[3:, 1] = np.nan
    assert scores(values).copies == ()
    assert set(fingerprints("abc", values[4])) == {"a", "c"}
    assert always_repeating([fingerprints("abc", panel) for panel in values]) == ()
    values[:3, 1] = values[0, 1]
    assert always_repeating([fingerprints("abc", panel) for panel in values]) == ("b",)


def test_the_same_scores_with_gaps_in_the_same_places_are_a_copy():
    values = run(shape=(5, 3, 20))
    values[2, 1, 4] = np.nan
    values[4, 1] = values[2, 1]
    assert [(copy.replicate, copy.of, copy.models) for copy in scores(values).copies] == [(4, 2, ("m1",))]
    # Another bit pattern of NaN is a gap like any other.
    values[4, 1, 4] = np.copysign(np.nan, -1.0)
    assert len(scores(values).copies) == 1
    values[4, 1, 4] = 0.0
    assert scores(values).copies == ()
    values[4, 1, 4], values[4, 1, 5] = np.nan, np.nan
    assert scores(values).copies == ()


def test_a_whole_replicate_is_repeated_although_a_model_was_stopped_before():
    values = run(shape=(5, 3, 20))
    values[2:, 1] = np.nan
    values[4] = values[3]
    (found,) = scores(values).copies
    assert (found.replicate, found.of, found.models, found.whole) == (4, 3, ("m0", "m2"), True)


def test_runs_with_gaps_that_are_equal_by_chance_count():
    rng = np.random.default_rng(1)
    values = (rng.random((12, 1, 18)) < 0.9).astype(float)
    values[:, :, 9:] = np.nan
    rows = values[:, 0, :9]
    assert any(np.array_equal(*pair) for pair in itertools.combinations(rows, 2))
    assert not scores(values).copies


def test_gaps_that_grow_from_run_to_run_do_not_make_steady_scores_a_copy():
    # A model that nearly always repeats itself, on fewer items in every run: only its scores say how much it varies.
    values = np.tile(run(shape=(1, 1, 40)), (6, 1, 1))
    for place in range(6):
        values[place, 0, 40 - 8 * (place // 2) :] = np.nan
    values[0, 0, 0] = 1.0 - values[0, 0, 0]
    panels = np.concatenate([values, run(1, (6, 1, 40))], axis=1)
    assert scores(panels).copies == ()


def test_whole_replicates_that_are_equal_by_chance_count():
    """Two of 45 runs of five models on four items are equal, where a hundredth of such a pair is expected."""
    benchmark = SyntheticBenchmark(means=(0.7, 0.5, 0.5, 0.5, 0.3), n_items=4, heterogeneity=0.1)
    drawn = benchmark.scores(np.random.default_rng(5).spawn(300)[205], 45)
    assert np.array_equal(drawn.values[26], drawn.values[35])
    assert not drawn.copies
    small = (np.random.default_rng(3).random((30, 2, 8)) < 0.9).astype(float)
    assert any(
        np.array_equal(*pair) and any(row.min() < row.max() for row in pair[0])
        for pair in itertools.combinations(small, 2)
    )
    assert not scores(small).copies


def test_a_whole_replicate_is_a_copy_where_others_differ():
    values = run(shape=(10, 2, 20))
    values[7] = values[2]
    (found,) = scores(values).copies
    assert (found.replicate, found.of, found.whole) == (7, 2, True)
    values[3:] = values[2]  # a cache since the third run
    assert [copy.replicate for copy in scores(values).copies] == [3, 4, 5, 6, 7, 8, 9]


def test_other_blocks_are_searched_anew():
    read = scores(run(shape=(2, 3, 20)))
    found = read.copies
    kept = SeenCopies(values=read.values, models=read.models, blocks=read.blocks, copies=(*found, "kept"))
    assert dataclasses.replace(read, seen=kept).copies == (*found, "kept")
    assert dataclasses.replace(read, seen=kept, blocks=("one",) * 20).copies == found
