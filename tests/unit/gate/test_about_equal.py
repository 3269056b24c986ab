"""The claim that two means are about equal: its evidence, its verdicts, what follows from it, and its forecasts."""

import math

import numpy as np
import pytest

from bbedge.core.forecast import PairAssumptions
from bbedge.errors import DesignError, DomainError
from bbedge.gate import Claim, Gate, Policy, gate
from bbedge.gate.verdicts import AGAINST, FOR, ComparedMeans, Hypothesis, certified, implied
from unit.gate.test_gate import close, literal_evidence, literal_thresholds, panels, policy, table
from unit.gate.test_new_items import FIVE_PLANNED, literal_s

MEANS = ComparedMeans(candidate="new", view="headline", baseline="old")


def mean_of(*logs):
    return math.log(sum(map(math.exp, logs)) / len(logs))


def joined(low, high):
    """From the evidence for and against the excess over either bar, that the difference lies between them, or not."""
    return min(low[FOR], high[AGAINST]), mean_of(low[AGAINST], high[FOR])


def test_it_is_one_claim_with_a_bar_on_either_side():
    values = panels(0.7, 0.6)
    found = gate(policy(("equal_within", 0.3), ("better_by", 0.02)), table(values)).results
    low, high = (literal_evidence(values, bar, family=2) for bar in (-0.3, 0.3))
    evidence = [joined(low, high), literal_evidence(values, 0.02, family=2)]
    for each, both, needed in zip(found, evidence, literal_thresholds(evidence), strict=True):
        close((each.log_e, each.log_e_against), both)
        close(each.log_threshold, needed)
    assert found[0].bar == -0.3
    assert found[0].lower == found[1].lower, "one difference has one interval"


def test_new_items():
    values = panels(0.7, 0.6, runs=5)
    (found,) = gate(policy(("equal_within", 0.2), target="new-items", budget=5), table(values)).results
    low, high = (
        (
            literal_s(values, bar, FIVE_PLANNED, family=1),
            literal_s(values[:, ::-1], -bar, FIVE_PLANNED, family=1),
        )
        for bar in (-0.2, 0.2)
    )
    close((found.log_e, found.log_e_against), joined(low, high))


def test_a_verdict_is_what_all_intersections_certify():
    """A set of nulls that can be true together has one case of each claim: below, between or above of this kind."""
    rng, t, decided = np.random.default_rng(1), 25.0, 0
    hypothesis = Hypothesis(means=MEANS, bar=-0.1, most=0.1)
    for _ in range(400):
        logs = rng.choice([-2.0, 1.0, 4.0, 6.0], (2, 2, 2)) + rng.normal(0.0, 1.0, (2, 2, 2))  # claim x bar x direction
        # What speaks against each case: that the difference is below, between and above.
        cases = [[low[FOR], mean_of(low[AGAINST], high[FOR]), high[AGAINST]] for low, high in logs.tolist()]

        def is_rejected(claim, case, cases=cases):
            alone, others = math.exp(cases[claim][case]), [math.exp(log) for log in cases[1 - claim]]
            return alone >= t and all((alone + other) / 2 >= t for other in others)

        log_e = np.array([hypothesis.log_e(both) for both in logs])
        expected = [[is_rejected(c, 0) and is_rejected(c, 2), is_rejected(c, 1)] for c in (0, 1)]
        assert certified(log_e, 1 / t).tolist() == expected
        decided += np.sum(expected)
    assert decided > 50


def test_equal_systems_pass_and_others_fail():
    for chance, verdict in ((0.5, "PASS"), (0.2, "FAIL"), (0.8, "FAIL")):
        report = gate(policy(("equal_within", 0.2)), table(panels(chance, 0.5, runs=8, items=100)))
        (result,) = report.results
        assert result.verdict == verdict
        assert report.release == ("ship" if verdict == "PASS" else "stop")
        inside = -0.2 <= result.lower <= result.upper <= 0.2
        outside = result.upper <= -0.2 if chance < 0.5 else result.lower >= 0.2
        assert inside if verdict == "PASS" else outside


def test_a_failure_bounds_the_difference_only_once_its_side_is_known():
    """Evidence for either side is enough for the verdict; the interval rules out the other one."""
    crossed = 0
    for seed in range(20):
        (result,) = gate(policy(("equal_within", 0.1)), table(panels(0.75, 0.5, runs=5, items=60, seed=seed))).results
        if result.verdict == "FAIL":
            assert result.lower >= 0.1 or result.lower < -0.1
            crossed += result.lower == pytest.approx(0.1)
    assert crossed, "no interval begins at the margin, so that nothing is tested"


def test_runs_that_are_equal_and_then_are_not_contradict_each_other():
    values = np.concatenate([panels(0.5, 0.5, runs=8, items=200), panels(1.0, 0.0, runs=30, items=200, seed=2)])
    (result,) = gate(policy(("equal_within", 0.2), copies="allow"), table(values)).results
    assert result.verdict == "CONTRADICTION"


def test_what_follows_from_it_and_what_it_follows_from():
    narrow, wide = Hypothesis(means=MEANS, bar=-0.1, most=0.1), Hypothesis(means=MEANS, bar=-0.3, most=0.3)
    lower = Hypothesis(means=MEANS, bar=-0.2)
    passed = np.array([[True, False], [False, False], [False, False]])
    assert implied(passed, [narrow, wide, lower]).tolist() == [[True, False]] * 3
    failed = np.array([[False, False], [False, True], [False, False]])
    assert implied(failed, [narrow, wide, lower]).tolist() == [[False, True], [False, True], [False, False]]
    not_worse = np.array([[False, False], [False, False], [True, False]])
    assert not implied(not_worse, [narrow, wide, lower])[:2].any(), "it may be far above"
    worse = np.array([[False, False], [False, False], [False, True]])
    assert implied(worse, [narrow, wide, lower]).tolist() == [[False, True], [False, False], [False, True]]


def test_score_units_and_views():
    values = panels(0.7, 0.6)
    (small,) = gate(policy(("equal_within", 0.3)), table(values)).results
    (large,) = gate(policy(("equal_within", 3.0)), table(values, score_range=(0.0, 10.0))).results
    close((small.log_e, 10 * small.bar), (large.log_e, large.bar))
    views = policy(("equal_within", 0.3, {"view": "*"}), views="topic")
    found = gate(views, table(values, topic=("code",) * 8 + ("math",) * 16)).results
    assert [each.claim.view for each in found] == ["code", "math"]


@pytest.mark.parametrize(
    ("amount", "words"),
    [(0.0, "no runs show that two means are the same"), (-0.1, "not above 0"), (math.inf, "number")],
)
def test_amounts_that_nothing_can_show_are_refused(amount, words):
    with pytest.raises(DomainError, match=words):
        Claim(kind="equal_within", amount=amount)


def test_other_refusals():
    with pytest.raises(DomainError, match="not below the width of the score range"):
        gate(policy(("equal_within", 1.0)), table(panels(0.5, 0.5)))
    with pytest.raises(DesignError, match="a claim compares with one"):
        policy(("equal_within", 0.1), baseline=None)
    with pytest.raises(DesignError, match="has no effect"):
        policy(("equal_within", 0.1, {"view": "*"}), ("equal_within", 0.2, {"view": "code"}), views="topic")


def test_the_key_of_a_policy_file():
    made = Policy.from_toml('candidate = "new"\nbaseline = "old"\n[[claims]]\nequal_within = 0.02\n')
    assert made.claims == (Claim(kind="equal_within", amount=0.02),)
    assert str(made.claims[0]) == "equal within 0.02"


# Forecasts ---------------------------------------------------------------------------------------------------------


def forecast(kind, amount, items=200):
    scores = table(np.zeros((1, 2, items)))
    (found,) = Gate(policy((kind, amount)), scores).forecasts(PairAssumptions.of_scores(mean=0.5))
    return found


def test_both_sides_must_be_shown_and_either_refutes_it():
    equal, one_side = forecast("equal_within", 0.1), forecast("not_worse_by", 0.1)
    assert equal.holds_at(0.0)
    assert equal.holds_at(-0.1)
    assert not equal.holds_at(0.11)
    assert equal.runs_for(0.0) > one_side.runs_for(0.0), "two events with 80 % together"
    assert equal.runs_for(0.0) < 2 * one_side.runs_for(0.0)
    assert equal.runs_for(0.05) == equal.runs_for(-0.05) > equal.runs_for(0.0)
    assert equal.runs_for(0.15) == equal.runs_for(-0.15) > one_side.runs_for(-0.15), "its evidence is a mean of two"
    assert equal.runs_for(math.nan) is equal.items_for(math.nan, 3) is None
    assert equal.runs_for(0.1) is None, "at the bar nothing decides"


def test_the_margin_and_the_items_that_pass_do():
    made = forecast("equal_within", 0.05)
    margin, items = made.amount_for(-0.02, 5), made.items_for(0.0, 5)
    assert forecast("equal_within", margin).runs_for(-0.02) <= 5
    assert forecast("equal_within", 0.05, items=items).runs_for(0.0) <= 5
    assert made.outlook(0.0, 5).amount > 0.05


def test_equal_systems_pass_about_when_the_forecast_says():
    made = forecast("equal_within", 0.15)
    runs, passed = made.runs_for(0.0), 0
    for seed in range(40):
        values = panels(0.5, 0.5, runs=runs, items=200, seed=seed)
        passed += gate(policy(("equal_within", 0.15)), table(values)).results[0].verdict == "PASS"
    assert 0.65 < passed / 40 <= 1.0
