"""Scores that depend on the place in the run: the test against all orders, and what it puts together."""

from itertools import permutations

import numpy as np
import pytest

from bbedge.core.certifier import Certifier
from bbedge.core.checkpoints import Checkpoints, first_run_outcomes, first_run_plan, position_trends, strongest
from bbedge.core.design import Design
from bbedge.core.leaderboard import certify_design
from bbedge.core.scores import Scores

ITEMS = tuple(f"q{i}" for i in range(60))


def design(models=("a", "b"), **options):
    return Design.make(models, ITEMS, checkpoints=Checkpoints(order_seed=3), **options)


def panel(seed, n_models=2, chance=0.7):
    return (np.random.default_rng(seed).random((n_models, len(ITEMS))) < chance).astype(float)


def degraded(made, after=0.6):
    """The first model fails from this part of the run order on."""
    scores, order = panel(1), first_run_plan(made).order
    scores[0, order[int(after * len(order)) :]] = 0.0
    return scores


def test_p_values_are_shares_of_all_orders():
    outcomes = np.random.default_rng(1).random((2, 8))
    trends = position_trends(outcomes, ["a", "b"], seed=1, permutations=20_000)
    rows = np.vstack([outcomes, outcomes.mean(axis=0)])
    every = np.array(list(permutations(range(8))))
    correlations = np.abs(np.corrcoef(np.vstack([np.arange(8), rows]))[0, 1:])
    place = np.arange(8) - 3.5
    centred = rows - rows.mean(axis=1, keepdims=True)
    scale = np.sqrt((centred**2).sum(axis=1) * (place**2).sum())
    values = np.abs(place[every] @ centred.T) / scale
    for trend, observed, column in zip(trends, correlations, values.T, strict=True):
        assert abs(trend.correlation) == pytest.approx(observed)
        assert trend.p_value == pytest.approx(np.mean(column >= observed - 1e-9), abs=0.02)
        assert trend.adjusted == pytest.approx(np.mean(values.max(axis=1) >= observed - 1e-9), abs=0.02)
    assert [trend.model for trend in trends] == ["a", "b", None]


def test_the_same_seed_gives_the_same_numbers_everywhere():
    trend = strongest(position_trends(np.cos(np.arange(20.0))[None] + np.linspace(0.0, 1.0, 20), ["a"], seed=7))
    assert (trend.model, trend.adjusted, round(trend.correlation, 6)) == ("a", 0.0855, 0.398339)


def test_outcomes_are_means_of_blocks_in_the_run_order():
    scores = np.array([[0.0, 1.0, 1.0, np.nan, 0.5], [np.nan, np.nan, 1.0, 0.0, 0.0]])
    found = first_run_outcomes(scores, [0, 2, 3, 5])
    assert found.tolist() == [[0.5, 1.0, 0.5], [0.5, 1.0, 0.0]]  # where there is none, the mean of the model
    long = np.arange(1000.0)[None]
    assert first_run_outcomes(long, range(1001)).shape == (1, 125)
    assert first_run_outcomes(long[:, :999], range(1001))[0, :2].tolist() == [
        10.5,
        18.5,
    ]  # not the first seven


@pytest.mark.parametrize("places", [0, 3, 7])
def test_few_places_show_nothing(places):
    assert position_trends(np.ones((2, places)), ["a", "b"], seed=1) == ()


def test_a_model_that_never_changes_is_no_trend():
    assert {trend.adjusted for trend in position_trends(np.ones((2, 30)), ["a", "b"], seed=1)} == {1.0}


def test_a_server_that_degrades_is_a_finding_of_the_certificate():
    made = design()
    scores = Scores.of(degraded(made), models=("a", "b"), items=ITEMS)
    leaderboard = certify_design(scores, made)
    assert leaderboard.early.position.model == "a"
    assert leaderboard.early.position.correlation < -0.5
    assert leaderboard.early.position.is_alarm
    assert (leaderboard.early.position.note.kind, leaderboard.early.position.note.subject) == ("position", ("a",))
    content = leaderboard.certificate().content
    assert content.first_pass.position.alarm
    assert [note for note in content.notes if "Scores of 'a' fall in the course of the first run" in note.text]


def test_sound_runs_have_no_such_note():
    content = certify_design(Scores.of(panel(2), models=("a", "b"), items=ITEMS), design()).certificate().content
    assert content.first_pass.position.alarm is False
    assert not [note for note in content.notes if "in the course of" in note]


def test_a_certifier_says_the_same_inside_the_run_after_it_and_when_it_is_resumed():
    made, scores = design(), degraded(design(), after=0.3)
    certifier, order = Certifier(made), first_run_plan(made).order
    start = 0
    while certifier.next_checkpoint is not None:
        end = certifier.next_checkpoint.items
        certifier.update(scores[:, order[start:end]], certifier.next_checkpoint.blocks)
        start = end
    inside = certifier.leaderboard().early.position
    assert inside.is_alarm
    assert Certifier.from_bytes(made, certifier.to_bytes()).leaderboard().early.position == inside
    certifier.update(scores.tolist())
    whole = certifier.leaderboard().early.position
    certifier.stop(["a"])
    certifier.update(panel(4)[:1])
    assert Certifier.from_bytes(made, certifier.to_bytes()).leaderboard().early.position == whole != inside
