"""The plan of a gate: what is assumed of its claims, and when they are decided."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from bbedge import Scores
from bbedge.core.forecast import PairAssumptions
from bbedge.display.plan import PlannedClaim, plan_values, render_plan
from bbedge.gate import Claim, Gate, Policy

RUNS = (1, 5, 20)


def forecasts(*claims, items=500, score_range=(0.0, 1.0), names=("new", "old")):
    scores = Scores.of(np.zeros((1, 2, items)), models=names, items=[f"q{i}" for i in range(items)])
    policy = Policy(candidates=names[:1], baseline=names[1], claims=claims)
    return Gate(policy, replace(scores, score_range=score_range)).forecasts(PairAssumptions.of_scores(mean=0.5))


def planned(*claims, differences=None, **options):
    return [
        PlannedClaim(forecast=each, difference=difference)
        for each in forecasts(*claims, **options)
        for difference in differences or each.usual_differences
    ]


def shown(claims, *, items=500):
    console = Console(file=io.StringIO(), width=160, color_system=None)
    console.print(render_plan(claims, RUNS, items=items, assumed="Assumed: coins."))
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("kind", "amount", "score_range", "expected"),
    [
        ("not_worse_by", 0.02, (0.0, 1.0), (0.0, -0.04)),
        ("not_worse_by", 0.0, (0.0, 1.0), (0.05, -0.05)),
        ("not_worse_by", 0.8, (0.0, 1.0), (0.0, -0.9)),
        ("better_by", 0.01, (0.0, 1.0), (0.02, 0.0)),
        ("better_by", 0.0, (0.0, 100.0), (5.0, -5.0)),
        ("better_by", 70.0, (0.0, 100.0), (85.0, 0.0)),
        ("at_least", 0.9, (0.0, 1.0), (0.05, -0.05)),
        ("at_least", 0.98, (0.0, 1.0), (0.01, -0.01)),
        ("at_least", 1.1, (1.0, 10.0), (0.05, -0.05)),
        ("cheaper_by", 0.1, (0.0, 1.0), (0.05, -0.05)),
    ],
)
def test_what_is_assumed_if_nothing_is_said_is_possible_and_has_both_verdicts(kind, amount, score_range, expected):
    (made,) = forecasts(Claim(kind=kind, amount=amount), score_range=score_range)
    assert made.usual_differences == pytest.approx(expected)
    good, bad = (PlannedClaim(forecast=made, difference=difference) for difference in made.usual_differences)
    assert (good.verdict, bad.verdict) == ("PASS", "FAIL")


def test_the_answer_comes_first_and_is_the_largest_number_of_runs():
    claims = planned(Claim(kind="not_worse_by", amount=0.05), Claim(kind="at_least", amount=0.3))
    needed = [each.forecast.runs_for(each.difference) for each in claims if each.verdict == "PASS"]
    text = shown(claims)
    assert text.startswith(f"Plan for {max(needed)} runs of 500 items: then each blocking claim passes with 80 %")
    assert "Assumed: coins." in text
    assert "not a guarantee" in text
    for each in claims:
        assert all(f" {count} " in text or f" {count}\n" in text for count in each.runs)


def test_claims_that_only_warn_do_not_prolong_the_plan():
    block, hard = Claim(kind="not_worse_by", amount=0.1), Claim(kind="not_worse_by", amount=0.01, tier="warn")
    first = forecasts(block, hard)[0].runs_for(0.0)
    assert shown(planned(block, hard)).startswith(f"Plan for {first} runs")
    alone = forecasts(hard)[0].runs_for(0.0)
    assert shown(planned(hard)).startswith(f"Plan for {alone} runs"), "where nothing blocks, all claims count"


def test_what_cannot_be_decided_is_said():
    claim = Claim(kind="not_worse_by", amount=0.05)
    assert shown(planned(claim, differences=[-0.05])).startswith("No blocking claim is true of the assumed differences")
    barely = shown(planned(claim, differences=[-0.05 + 1e-6]))
    assert barely.startswith("At least one blocking claim will not be decided by any number of runs")
    assert "never" in barely


def test_margins_are_shown_for_what_passes_and_never_for_a_part_of_a_cost():
    text = shown(planned(Claim(kind="not_worse_by", amount=0.05)))
    assert "Margin or floor that so many runs pass" in text
    assert "Margin or floor" not in shown(planned(Claim(kind="cheaper_by", amount=0.1)))
    assert "none" in shown(planned(Claim(kind="better_by", amount=0.01)))


def test_the_json_has_what_is_shown():
    claims = planned(Claim(kind="not_worse_by", amount=0.05), Claim(kind="at_least", amount=0.3, tier="info"))
    values = plan_values(claims, RUNS, items=500)
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert values["items"] == 500
    assert [each["verdict"] for each in values["claims"]] == ["PASS", "FAIL"] * 2
    first, second, *_ = values["claims"]
    assert set(first) == {"candidate", "claim", "bar", "difference", "verdict", "noise", "runs", "amounts"}
    assert [each["power"] for each in first["runs"]] == [0.5, 0.8, 0.9]
    assert [each["runs"] for each in first["runs"]] == list(claims[0].runs)
    assert [each["runs"] for each in first["amounts"]] == list(RUNS)
    assert second["amounts"] == []


def test_names_cannot_be_more_than_names():
    text = shown(planned(Claim(kind="not_worse_by", amount=0.05), names=("\x1b[31mnew", "[bold]old")))
    assert "\x1b" not in text
    assert "\\x1b[31mnew" in text
