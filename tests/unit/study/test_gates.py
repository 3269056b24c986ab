"""Rival gates by hand, and what is measured of verdicts."""

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_rel

from bbedge.study.experiments import STUDIES
from bbedge.study.experiments.gates import (
    OURS,
    RIVALS,
    Pipelines,
    chances,
    looks_of_gate,
    mcnemar,
    standing,
    t_test,
    threshold,
    threshold_of_last,
    verdict_measures,
)
from bbedge.study.study import RepetitionSeeds


def panels(new, old, *, runs=5, items=40, seed=1):
    rng = np.random.default_rng(seed)
    return (rng.random((runs, 2, items)) < np.array([[new], [old]])).astype(float)


@pytest.mark.parametrize("difference", [0.0, -0.01, -0.02, -0.05, 0.03])
def test_the_difference_is_exact_and_the_noise_that_of_the_demo(difference):
    both = chances(1319, difference)
    assert both.min() >= 0.0
    assert both.max() <= 1.0
    assert both[0].mean() - both[1].mean() == pytest.approx(difference, abs=1e-12)
    assert (both[1] * (1 - both[1])).mean() == pytest.approx(0.12, abs=0.002)


@pytest.mark.parametrize("seed", range(5))
def test_the_t_test_gate_is_a_paired_interval(seed):
    values = panels(0.6, 0.5, seed=seed)
    for look, verdict in enumerate(t_test(values, 0.02, 0.05), 1):
        so_far = values[:look].mean(axis=0)
        low, high = ttest_rel(so_far[0], so_far[1]).confidence_interval(0.95)
        assert verdict == (1 if low > -0.02 else -1 if high < -0.02 else 0)


@pytest.mark.parametrize("seed", range(5))
def test_the_mcnemar_gate_is_the_exact_test(seed):
    values = panels(0.4, 0.6, seed=seed)
    for look, verdict in enumerate(mcnemar(values, 0.02, 0.05), 1):
        gained = int((values[:look, 0] > values[:look, 1]).sum())
        lost = int((values[:look, 0] < values[:look, 1]).sum())
        worse = lost > gained and binomtest(gained, gained + lost).pvalue < 0.05
        assert verdict == (-1 if worse else 1)


def test_the_mcnemar_gate_without_any_difference_passes():
    assert mcnemar(np.ones((2, 2, 5)), 0.02, 0.05).tolist() == [1, 1]


def test_thresholds_see_all_runs_or_the_last():
    values = np.zeros((3, 2, 10))
    values[:, 1, :5] = [[0], [1], [0]]  # the old system is better in the second run alone
    assert threshold(values, 0.2, 0.05).tolist() == [1, -1, 1]
    assert threshold_of_last(values, 0.2, 0.05).tolist() == [1, -1, 1]
    values[2, 1, :5] = 1
    values[2, 0, :4] = 1
    assert threshold(values, 0.15, 0.05).tolist() == [1, -1, -1]
    assert threshold_of_last(values, 0.15, 0.05).tolist() == [1, -1, 1]


def test_our_gate_is_asked_after_every_run():
    assert looks_of_gate(panels(0.95, 0.05), 0.02, 0.05).tolist() == [1] * 5
    assert looks_of_gate(panels(0.05, 0.95), 0.02, 0.05).tolist() == [-1] * 5
    assert looks_of_gate(panels(0.5, 0.5), 0.02, 0.05).tolist() == [0] * 5


@pytest.mark.parametrize(
    ("looks", "stands"),
    [([0, 0, 0], [0, 0, 0]), ([0, 1, 0], [0, 1, 1]), ([-1, 0, 1], [-1, -1, -1]), ([0, 0, 1], [0, 0, 1])],
)
def test_the_first_verdict_stands(looks, stands):
    assert standing(np.array(looks)).tolist() == stands


def measured(looks, *, distance, stands=False):
    looks = np.array(looks)
    found = verdict_measures(standing(looks) if stands else looks, looks, distance=distance)
    return {name: values.astype(int).tolist() for name, values in found.items()}


def test_what_is_measured():
    assert measured([0, 1, 0, -1, 1], distance=0.02) == {
        "wrong": [0, 0, 0, 1, 1],
        "failed": [0, 0, 0, 1, 1],
        "reversed": [0, 0, 0, 1, 1],
        "flipped": [0, 0, 1, 1, 1],
        "passed": [0, 1, 0, 0, 1],
    }
    assert measured([0, 1, 0], distance=-0.02)["wrong"] == [0, 1, 1]
    assert measured([0, 1, 0], distance=0.0)["wrong"] == [0, 1, 1]
    assert measured([0, -1, 0], distance=0.0)["wrong"] == [0, 0, 0]
    assert measured([0, 0, 0], distance=0.0)["wrong"] == [0, 0, 0]


def test_a_verdict_that_stands_changes_only_by_a_contradiction():
    quiet = measured([1, 0, 1], distance=0.02, stands=True)
    assert (quiet["flipped"], quiet["passed"]) == ([0, 0, 0], [1, 1, 1])
    contradicted = measured([1, 0, -1], distance=0.02, stands=True)
    assert contradicted["reversed"] == contradicted["flipped"] == [0, 0, 1]
    assert contradicted["wrong"] == [0, 0, 1]


def test_a_pipeline_has_every_gate_and_is_repeatable():
    setting = Pipelines(name="x", difference=-0.02, n_items=50, looks=3)
    seeds = RepetitionSeeds(seed=1, place="gates/x", repetition=0)
    record, again = setting.repeat(seeds), setting.repeat(seeds)
    assert {method for method, _ in record} >= {OURS, *RIVALS}
    assert all(values.shape == (3,) for values in record.values())
    assert all(np.array_equal(values, again[key]) for key, values in record.items())


def test_the_study_asks_about_identical_systems_and_the_margin_itself():
    settings = STUDIES["gates"].settings
    assert [setting.difference for setting in settings] == [0.0, -0.01, -0.02, -0.05]
    assert {(setting.looks, setting.n_items, setting.margin) for setting in settings} == {(10, 1319, 0.02)}
