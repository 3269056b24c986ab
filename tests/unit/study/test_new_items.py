"""The study of new items: what is drawn, and what everybody claims of it."""

import numpy as np
import pytest

from bbedge.study.experiments import STUDIES
from bbedge.study.experiments.new_items import (
    NEW_ITEMS,
    NEW_ITEMS_PLANNED,
    T_TEST,
    T_TEST_ALWAYS,
    THESE_ITEMS,
    THESE_ITEMS_PLANNED,
    ItemDraw,
)
from bbedge.study.measures import METRICS
from bbedge.study.study import RepetitionSeeds


def seeds(repetition=0):
    return RepetitionSeeds(seed=1, place="new-items/x", repetition=repetition)


def test_items_are_drawn_from_a_population_with_the_stated_means():
    setting = ItemDraw(name="x", n_items=20_000, looks=2)
    first, second = setting.panels(np.random.default_rng(1))
    assert first.mean(axis=1) == pytest.approx(setting.abilities, abs=0.015)
    # Of the variance of a difference in one run, 2 x 0.16 of 0.5 lies between items.
    between = np.cov(first[0] - first[1], second[0] - second[1])[0, 1]
    assert between == pytest.approx(0.32, abs=0.02)
    assert setting.null.sum() == 4 + 5 + 2, "each model and itself, what is reversed, and two that are equal"


def test_a_repetition_is_repeatable_and_has_everybody():
    setting = ItemDraw(name="x", n_items=60, looks=3)
    record, again = setting.repeat(seeds()), setting.repeat(seeds())
    assert {name for name, _ in record} == {
        NEW_ITEMS,
        NEW_ITEMS_PLANNED,
        THESE_ITEMS,
        THESE_ITEMS_PLANNED,
        T_TEST,
        T_TEST_ALWAYS,
    }
    for key, values in record.items():
        assert np.array_equal(values, again[key])
        assert values.shape == (3,)


def test_claims_about_new_items_are_fewer_than_those_about_these():
    setting = ItemDraw(name="x", n_items=400, abilities=(0.6, 0.45, 0.45), looks=5)
    power = {}
    for repetition in range(4):
        for (name, metric), values in setting.repeat(seeds(repetition)).items():
            if metric == "power":
                power[name] = power.get(name, 0.0) + values / 4
    assert power[THESE_ITEMS][-1] == 1.0
    assert 0.0 < power[NEW_ITEMS][-1] <= power[NEW_ITEMS_PLANNED][-1] <= power[T_TEST_ALWAYS][-1]
    assert (np.diff(power[NEW_ITEMS]) >= 0.0).all(), "what is certified stands"


def test_equal_models_that_differ_on_every_draw_are_told_apart_on_these_items_only():
    setting = ItemDraw(name="x", n_items=200, abilities=(0.5, 0.5), effect=0.45, looks=8)
    wrong = dict.fromkeys((THESE_ITEMS, NEW_ITEMS), 0.0)
    for repetition in range(10):
        record = setting.repeat(seeds(repetition))
        assert (NEW_ITEMS, "power") not in record, "there is nothing to find"
        for name in wrong:
            wrong[name] += record[name, "false of new items"][-1]
    assert wrong[THESE_ITEMS] >= 3
    assert wrong[NEW_ITEMS] <= 1


def test_the_study_has_both_axes_and_a_null():
    study = STUDIES["new-items"]
    assert [each.n_items for each in study.settings[:4]] == [200, 500, 1000, 2000]
    assert all(len(set(each.abilities)) > 1 for each in study.settings[:-1])
    assert len(set(study.settings[-1].abilities)) == 1
    assert {column.at for column in study.table if column.metric == "power"} == {1, 2, 5, 10}
    assert METRICS["false of new items"].target == "alpha"
