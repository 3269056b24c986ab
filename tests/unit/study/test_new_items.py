"""The study of new items: what is drawn, and what everybody claims of it."""

import numpy as np
import pytest

from bbedge.study.contenders import METRICS
from bbedge.study.experiments import STUDIES
from bbedge.study.experiments.new_items import (
    NEW_ITEMS,
    NEW_ITEMS_PLANNED,
    T_TEST,
    T_TEST_ALWAYS,
    THESE_ITEMS,
    THESE_ITEMS_PLANNED,
    ItemDraw,
    edges_after,
)
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
    setting = ItemDraw(name="x", n_items=400, abilities=(0.6, 0.45, 0.45), looks=4)
    power = {}
    for repetition in range(3):
        for (name, metric), values in setting.repeat(seeds(repetition)).items():
            if metric == "power":
                power[name] = power.get(name, 0.0) + values / 3
    assert power[THESE_ITEMS][-1] == 1.0
    assert 0.0 < power[NEW_ITEMS][-1] <= power[NEW_ITEMS_PLANNED][-1] <= power[T_TEST_ALWAYS][-1]
    assert (np.diff(power[NEW_ITEMS]) >= 0.0).all(), "what is certified stands"


def test_equal_models_that_differ_on_every_draw_are_told_apart_on_these_items_only():
    setting = ItemDraw(name="x", n_items=200, abilities=(0.5, 0.5), effect=0.45, looks=16)
    assert setting.null.all()
    targets = {"benchmark": 0, "new-items": 0}
    for seed in range(10):
        panels = setting.panels(np.random.default_rng(seed))
        for target in targets:
            targets[target] += bool(edges_after(panels, setting.design(target=target))[-1].any())
    assert targets["benchmark"] >= 3
    assert targets["new-items"] <= 1


def test_where_nothing_is_true_there_is_no_power():
    record = ItemDraw(name="x", n_items=20, abilities=(0.5, 0.5), looks=2).repeat(seeds())
    assert {metric for _, metric in record} == {"false of new items"}


def test_the_study_has_both_axes_and_a_null():
    study = STUDIES["new-items"]
    assert [each.n_items for each in study.settings[:4]] == [200, 500, 1000, 2000]
    assert all(len(set(each.abilities)) > 1 for each in study.settings[:-1])
    assert len(set(study.settings[-1].abilities)) == 1
    assert {column.at for column in study.table if column.metric == "power"} == {1, 2, 5, 10}
    assert METRICS["false of new items"].target == "alpha"
