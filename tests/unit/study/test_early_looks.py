"""The study of looks inside the first pass: its questions, its counts and its rival."""

import numpy as np
import pytest

from bbedge.study.experiments import STUDIES
from bbedge.study.experiments.early_looks import (
    COMPLETE,
    EARLY,
    IN_FILE_ORDER,
    SHUFFLED,
    FirstRunExperiment,
    Listed,
    by_category,
    chances,
    sequential_bets,
)
from bbedge.study.study import RepetitionSeeds


def seeds(repetition=0):
    return RepetitionSeeds(seed=1, place="early-looks/x", repetition=repetition)


def test_chances_rank_the_models_and_the_two_categories_are_equal():
    found = chances(4, 100, 3.0)
    assert (np.diff(found.mean(axis=1)) < 0).all()
    assert (np.diff(found, axis=1) < 0).all()
    assert np.allclose(*by_category(50).mean(axis=1))


@pytest.mark.parametrize("question", ["top-k", "all-pairs", "gate"])
def test_a_run_is_repeatable_and_never_costs_more_than_its_budget(question):
    setting = FirstRunExperiment(name="x", n_models=2, n_items=60, question=question, spread=6.0, looks=2)
    record, again = setting.repeat(seeds()), setting.repeat(seeds())
    assert {method for method, _ in record} == {EARLY, COMPLETE}
    assert all(np.array_equal(values, again[key]) for key, values in record.items())
    for method in (EARLY, COMPLETE):
        assert 0.0 < record[method, "queries"][0] <= 2.0
        assert record[method, "answered"].shape == record[method, "fwer"].shape == (2,)


def test_a_clear_answer_comes_inside_the_first_run_and_saves_queries():
    setting = FirstRunExperiment(name="x", n_models=3, n_items=400, spread=8.0, looks=2)
    record = setting.repeat(seeds())
    assert record[EARLY, "answered"][0] == record[COMPLETE, "answered"][0] == 1.0
    assert record[COMPLETE, "queries"] == 1.0
    assert record[EARLY, "queries"] < 0.7


def test_dropped_models_are_not_counted():
    setting = FirstRunExperiment(name="x", n_models=6, n_items=200, spread=8.0, looks=3)
    record = setting.repeat(seeds())
    if not record[COMPLETE, "answered"][0]:
        assert record[COMPLETE, "queries"] < 3.0
    assert record[EARLY, "queries"] < 3.0


def test_file_order_misleads_and_random_order_does_not():
    record = [Listed(name="x", n_items=600).repeat(seeds(i)) for i in range(5)]
    assert all(each[IN_FILE_ORDER, "fwer"].tolist() == [1.0, 1.0] for each in record)
    assert sum(float(each[SHUFFLED, "fwer"][-1]) for each in record) <= 1
    assert all(each[EARLY, "fwer"].tolist() == [0.0, 0.0] for each in record)


def test_the_rival_finds_a_difference_and_keeps_quiet_without_one():
    apart, equal = np.stack([np.ones(50), np.zeros(50)]), np.ones((2, 50))
    assert sequential_bets(np.stack([equal, apart, equal]), 0.05).tolist() == [0.0, 1.0, 1.0]
    assert sequential_bets(1.0 - apart[None], 0.05).tolist() == [1.0]
    assert sequential_bets(equal[None], 0.05).tolist() == [0.0]


def test_the_study_covers_what_it_says():
    settings = STUDIES["early-looks"].settings
    runs = [setting for setting in settings if isinstance(setting, FirstRunExperiment)]
    assert {run.n_items for run in runs} == {200, 1300, 12_000}
    assert {run.question for run in runs} == {"top-k", "all-pairs", "gate"}
    assert max(run.n_models for run in runs) == 50
    assert len({setting.name for setting in settings}) == len(settings)
