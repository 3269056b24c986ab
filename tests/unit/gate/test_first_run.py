"""Gates that look inside the first run of a study."""

import math
from dataclasses import replace

import numpy as np
import pytest

from bbedge import Scores
from bbedge.core.checkpoints import Checkpoints, first_run_plan
from bbedge.core.design import Design
from bbedge.display.gate import markdown, sentence
from bbedge.errors import DataError
from bbedge.gate import Claim, Gate, Policy, gate
from bbedge.gate.gate import FirstRun, gate_after_runs
from bbedge.records.codec import convert, plain
from bbedge.records.gate import GateReport

ITEMS = tuple(f"q{i}" for i in range(240))
FRACTIONS = (0.05, 0.2, 0.5)
RULES = Policy(
    candidates=("new",),
    baseline="old",
    claims=(
        Claim(kind="better_by", amount=0.05),
        Claim(kind="at_least", amount=0.3),
        Claim(kind="not_worse_by", amount=0.3),
    ),
)


def runs(*chances, count=2, seed=1):
    values = (np.random.default_rng(seed).random((count, len(chances), 240)) < np.array(chances)[:, None]).astype(float)
    return Scores.of(values, models=("new", "old"), items=ITEMS)


def inside(scores, passed, seed=5):
    """The first run of these scores up to a checkpoint, as a study hands it on."""
    checkpoints = Checkpoints(order_seed=seed, fractions=FRACTIONS)
    plan = first_run_plan(Design.make(scores.models, scores.items, checkpoints=checkpoints))
    panels = {each.blocks: scores.values[0][:, plan.new_places(each.number)] for each in plan.checkpoints[:passed]}
    return FirstRun(checkpoints=checkpoints, panels=panels)


def without_runs(scores, count=0):
    return replace(scores, values=scores.values[:count], replicates=scores.replicates[:count])


def test_a_claim_is_decided_inside_the_first_run():
    scores = runs(0.97, 0.2)
    found = gate(RULES, without_runs(scores), first_run=inside(scores, 3))
    assert found.release == "ship"
    assert (found.replicates, found.fraction) == (0, 0.5)
    first = found.results[0]
    assert (first.since, first.since_fraction) == (1, 0.05)
    assert [look.fraction for look in first.looks] == list(FRACTIONS)
    assert [look.replicate for look in first.looks] == [1, 1, 1]
    assert sentence(found).endswith("50 % of the first run.")
    assert "| 1 (5 %) |" in markdown(found)
    values = found.to_values()
    assert (values["part"], values["claims"][0]["since_part"]) == (0.5, 0.05)
    assert [look.difference for look in first.looks] == [None] * 3, "a part of a run has no difference of its own"


def test_it_is_read_back_as_it_was():
    scores = runs(0.97, 0.2)
    found = gate(RULES, without_runs(scores), first_run=inside(scores, 2))
    assert convert(plain(found), GateReport, source="report") == found


def test_an_open_claim_has_no_forecast_before_the_first_run_is_complete():
    scores = runs(0.5, 0.5)
    found = gate(RULES, without_runs(scores), first_run=inside(scores, 1))
    assert found.results[0].verdict == "OPEN"
    assert found.results[0].outlook is None
    later = gate(RULES, scores, first_run=inside(scores, 3))
    assert later.results[0].outlook is not None
    assert (later.replicates, later.fraction) == (2, None)
    assert [(look.replicate, look.fraction) for look in later.results[0].looks] == [
        (1, 0.05),
        (1, 0.2),
        (1, 0.5),
        (1, None),
        (2, None),
    ]


@pytest.mark.parametrize("chances", [(0.9, 0.3), (0.5, 0.5), (0.3, 0.8), (0.62, 0.5)])
def test_no_verdict_without_the_evidence_for_it(chances):
    """A verdict needs evidence beyond the threshold, or a claim that implies it: looks inside a run are no shortcut."""
    scores = runs(*chances, count=3)
    first = inside(scores, 3)
    made = Gate(RULES, scores, checkpoints=first.checkpoints)
    for upto, panel in (*first.panels.items(), *((None, panel) for panel in scores.values)):
        made.update(panel, upto)
        better, floor, not_worse = results = made.results()
        passes = {each.claim: each.log_e >= each.log_threshold for each in results}
        fails = {each.claim: each.log_e_against >= each.log_threshold for each in results}
        passes[not_worse.claim] |= passes[better.claim]
        fails[better.claim] |= fails[not_worse.claim]
        for result in (better, floor, not_worse):
            assert (result.looks[-1].verdict == "PASS") == passes[result.claim]
            assert (result.looks[-1].verdict == "FAIL") == fails[result.claim]
    assert all(math.isfinite(result.log_e) for result in made.results())


def test_a_first_run_that_differs_from_its_parts_is_refused():
    scores = runs(0.6, 0.5)
    other = replace(scores, values=1.0 - scores.values)
    with pytest.raises(DataError):
        gate_after_runs(RULES, other, inside(scores, 2))


def test_nothing_is_written_about_parts_where_there_are_none():
    values = gate(RULES, runs(0.9, 0.2)).to_values()
    assert "part" not in values
    assert "since_part" not in values["claims"][0]
    assert set(values["claims"][0]["looks"][0]) == {"replicate", "verdict", "bounds", "difference"}
