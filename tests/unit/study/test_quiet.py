"""The study of quiet scores: what its contenders are, and that its settings differ in noise."""

from dataclasses import replace

import numpy as np
import pytest

from bbedge.study.contenders import DESIGN_STAKES, DESIGN_STAKES_TWO_WAY, PLANNED, TWO_WAY, variant_design
from bbedge.study.experiments import STUDIES
from bbedge.study.study import RepetitionSeeds

SETTINGS = STUDIES["quiet"].settings


@pytest.mark.parametrize("plan", ["", PLANNED])
@pytest.mark.parametrize(
    ("name", "stakes", "prediction"),
    [
        ("BB-EDGE-X", "fitted", "running-mean"),
        (TWO_WAY, "fitted", "two-way"),
        (DESIGN_STAKES, "design", "running-mean"),
        (DESIGN_STAKES_TWO_WAY, "design", "two-way"),
    ],
)
def test_contenders_differ_in_stakes_predictions_and_plan_alone(name, stakes, prediction, plan):
    for setting in SETTINGS:
        design = variant_design(name + plan, setting.design, runs=setting.looks)
        assert name + plan in setting.contenders
        assert (design.stakes, design.prediction) == (stakes, prediction)
        assert design.planned == (setting.looks if plan else None)
        assert (design.method, design.evidence, design.holm) == ("bb-edge-x", "betting", "staggered")


def test_a_name_that_plans_is_one_of_ours():
    assert variant_design("EMR" + PLANNED, SETTINGS[0].design, runs=5) is None
    assert variant_design("BB-EDGE" + PLANNED, SETTINGS[0].design, runs=5) is None


def test_the_noise_of_a_run_differs_between_settings():
    rng = np.random.default_rng(1)
    noise = [setting.benchmark.panels(rng, 40).var(axis=0).mean() for setting in SETTINGS]
    coins, quieter, quiet, graded = noise[0], noise[2], noise[3], noise[4]
    assert coins == pytest.approx(0.24, abs=0.01)
    assert coins > 2 * quieter > 4 * quiet
    assert graded < quiet


def test_what_stands_is_measured_at_every_look_and_read_once_at_the_last():
    setting = replace(SETTINGS[-1], looks=2)
    record = setting.repeat(RepetitionSeeds(seed=1, place="quiet/x", repetition=0))
    assert {name for name, _ in record} == set(setting.contenders)
    for name in setting.contenders:
        assert record[name, "fwer"].shape == (2,)
        assert 0.0 < record[name, "standing power"][0] <= record[name, "standing power"][1]
    read = {column.at for column in STUDIES["quiet"].table}
    assert not read & {each.looks for each in SETTINGS}
