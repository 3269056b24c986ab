"""Forecasts of gates: what would decide a claim, against simulation and by what must hold."""

import math
from dataclasses import replace

import numpy as np
import pytest

from bbedge import Scores
from bbedge.core.forecast import PairAssumptions
from bbedge.gate import Claim, Gate, Policy, gate

COINS = PairAssumptions.of_scores(mean=0.5)


def empty(items, *, score_range=(0.0, 1.0)):
    scores = Scores.of(np.zeros((1, 2, items)), models=["new", "old"], items=[f"q{i}" for i in range(items)])
    return replace(scores, score_range=score_range)


def policy(kind, amount, **options):
    return Policy(candidates=("new",), baseline="old", claims=(Claim(kind=kind, amount=amount),), **options)


def forecast(kind, amount, *, items=200, noise=COINS, score_range=(0.0, 1.0), **options):
    (found,) = Gate(policy(kind, amount, **options), empty(items, score_range=score_range)).forecasts(noise)
    return found


def test_runs_until_a_claim_is_decided_are_those_of_simulated_gates():
    """Two equal coins, 200 items, a margin of 0.1: the share of gates with a verdict after the forecast runs."""
    made = forecast("not_worse_by", 0.1)
    half, most = made.runs_for(0.0, power=0.5), made.runs_for(0.0)
    assert 1 < half < most
    rules = policy("not_worse_by", 0.1)
    verdicts = []
    for rng in np.random.default_rng(1).spawn(60):
        values = (rng.random((most, 2, 200)) < 0.5).astype(float)
        scores = Scores.of(values, models=["new", "old"], items=[f"q{i}" for i in range(200)])
        gated = Gate(rules, scores)
        for panel in values:
            gated.update(panel)
        verdicts.append(gated.results()[0])
    since = np.array([each.since or most + 1 for each in verdicts])
    assert {each.verdict for each in verdicts} <= {"PASS", "OPEN"}
    # A verdict stands from the first look at which it is given, so that a little more than forecast are decided.
    assert 0.45 < np.mean(since <= half) < 0.75
    assert 0.7 < np.mean(since <= most) < 0.95


def test_a_claim_and_its_opposite_at_the_same_distance_need_as_many_runs():
    made = forecast("not_worse_by", 0.05)
    assert made.bar == -0.05
    assert made.runs_for(0.0) == made.runs_for(-0.1)
    assert made.runs_for(0.05) < made.runs_for(0.0) < made.runs_for(-0.02)
    assert made.runs_for(-0.05) is None, "at the bar nothing decides"
    assert made.runs_for(math.nan) is None
    assert made.items_for(-0.05, 3) is None
    assert made.items_for(math.nan, 3) is None
    assert made.amount_for(math.nan, 3) is None


def test_more_claims_need_more_runs():
    rules = policy("not_worse_by", 0.05)
    more = rules.changed(claims=(*rules.claims, Claim(kind="at_least", amount=0.3), Claim(kind="better_by", amount=0)))
    first, *_ = Gate(more, empty(200)).forecasts(COINS)
    assert first.runs_for(0.0) > forecast("not_worse_by", 0.05).runs_for(0.0)


def test_the_items_that_decide_in_some_runs_do():
    made = forecast("not_worse_by", 0.05)
    items = made.items_for(0.0, 3)
    assert items > 200
    assert items == float(f"{items:.2g}"), "two digits are enough for a forecast"
    assert forecast("not_worse_by", 0.05, items=items).runs_for(0.0) <= 3
    assert forecast("not_worse_by", 0.05, items=int(0.93 * items)).runs_for(0.0) > 3


@pytest.mark.parametrize(("kind", "amount"), [("not_worse_by", 0.02), ("better_by", 0.2), ("at_least", 0.6)])
def test_the_margin_that_passes_in_some_runs_does(kind, amount):
    made = forecast(kind, amount)
    difference = {"not_worse_by": 0.0, "better_by": 0.22, "at_least": -0.1}[kind]
    found = made.amount_for(difference, 5)
    assert (found > amount) if kind == "not_worse_by" else (found < amount)
    assert found == float(f"{found:.2g}")
    # A floor is what the difference is taken from.
    moved = difference + (amount - found) if kind == "at_least" else difference
    assert forecast(kind, found).runs_for(moved) <= 5


def test_no_margin_is_proposed_that_means_nothing():
    assert forecast("better_by", 0.05).amount_for(0.01, 2) is None, "no system is better by less than nothing"
    assert forecast("not_worse_by", 0.05, items=3).amount_for(-0.5, 1) is None
    assert forecast("at_least", 0.05, items=20).amount_for(0.0, 1) is None, "below the lowest score"
    assert forecast("cheaper_by", 0.1).amount_for(0.0, 5) is None


def test_score_units():
    small, large = forecast("not_worse_by", 0.05), forecast("not_worse_by", 5.0, score_range=(0.0, 100.0))
    assert large.bar == -5.0
    assert large.runs_for(0.0) == small.runs_for(0.0)
    assert large.items_for(-1.0, 4) == small.items_for(-0.01, 4)
    assert large.amount_for(0.0, 4) == pytest.approx(100 * small.amount_for(0.0, 4))
    low, high = forecast("at_least", 0.6), forecast("at_least", 1.0, score_range=(-5.0, 5.0))
    assert high.runs_for(0.5) == low.runs_for(0.05)
    assert high.amount_for(0.5, 4) == pytest.approx(10 * low.amount_for(0.05, 4) - 5.0, abs=0.1)


def test_a_floor_has_no_noise_of_its_own():
    assert forecast("at_least", 0.5).ahead.assumed.noise == COINS.noise / 2


def test_the_noise_of_the_runs_is_used_where_there_are_some():
    values = (np.random.default_rng(1).random((4, 2, 200)) < 0.5).astype(float)
    scores = Scores.of(values, models=["new", "old"], items=[f"q{i}" for i in range(200)])
    made = Gate(policy("not_worse_by", 0.02), scores)
    for panel in values:
        made.update(panel)
    (found,) = made.forecasts()
    assert found.ahead.assumed.noise == pytest.approx(0.125, rel=0.1)
    quiet = Gate(policy("not_worse_by", 0.02), replace(scores, values=values[[0, 0, 0, 0]]))
    for panel in values[[0, 0, 0, 0]]:
        quiet.update(panel)
    assert quiet.forecasts()[0].ahead.assumed.noise == 0.0


def test_the_outlook_of_an_open_claim_is_what_the_forecast_says():
    values = (np.random.default_rng(3).random((3, 2, 200)) < 0.5).astype(float)
    scores = Scores.of(values, models=["new", "old"], items=[f"q{i}" for i in range(200)])
    (result,) = gate(policy("not_worse_by", 0.02), scores).results
    assert result.verdict == "OPEN"
    made = Gate(policy("not_worse_by", 0.02), scores)
    for panel in values:
        made.update(panel)
    (found,) = made.forecasts()
    assert result.outlook == found.outlook(result.difference, 3)
    assert result.outlook.more_runs == found.runs_for(result.difference) - 3


def test_runs_that_should_have_been_enough_get_no_advice_to_ask_for_more_with_less():
    made = forecast("not_worse_by", 0.05)
    enough = made.runs_for(0.0)
    late = made.outlook(0.0, enough + 10)
    assert late.more_runs == 1
    assert late.items is None
    assert late.amount is None
    early = made.outlook(0.0, 3)
    assert early.more_runs == enough - 3
    assert early.items > 200
    assert early.amount > 0.05
    assert made.outlook(-0.05, 3).more_runs is None
