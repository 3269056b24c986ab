"""e-Holm over claims, against its definition: every set of nulls that can be true together."""

import math
from itertools import product

import numpy as np
import pytest

from bbedge.gate.verdicts import AGAINST, FOR, ComparedMeans, Hypothesis, certified, implied, log_thresholds, verdict_of


def literal(log_e: np.ndarray, alpha: float) -> np.ndarray:
    """A direction is certified if the mean evidence of every set with it reaches 1 / alpha.

    A set has at most one direction of each claim: both cannot be true nulls.
    """
    t, n = 1.0 / alpha, len(log_e)
    found = np.zeros_like(log_e, dtype=bool)
    for claim, direction in product(range(n), (FOR, AGAINST)):
        others = [k for k in range(n) if k != claim]
        means = []
        for chosen in product((None, FOR, AGAINST), repeat=len(others)):
            pairs = zip(others, chosen, strict=True)
            nulls = [log_e[claim, direction], *(log_e[k, side] for k, side in pairs if side is not None)]
            means.append(np.exp(nulls).mean())
        found[claim, direction] = min(means) >= t
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_certified_is_what_all_intersections_certify(n):
    rng = np.random.default_rng(n)
    decided = 0
    for _ in range(300):
        log_e = np.where(rng.random((n, 2)) < 0.5, rng.uniform(2.0, 7.0, (n, 2)), rng.normal(0.0, 1.0, (n, 2)))
        expected = literal(log_e, 0.04)
        assert np.array_equal(certified(log_e, 0.04), expected)
        decided += int(expected.sum())
    assert decided > 50


def test_one_claim_needs_one_over_alpha_in_either_direction():
    assert log_thresholds(np.zeros((1, 2)), 0.04)[0] == pytest.approx(np.log(25.0), abs=1e-12)
    assert log_thresholds(np.zeros((1, 2)), 0.04)[0] >= np.log(25.0)


def test_claims_without_evidence_ask_for_their_number():
    assert log_thresholds(np.full((5, 2), -np.inf), 0.04) == pytest.approx([np.log(125.0)] * 5, abs=1e-12)


def test_evidence_beyond_float64_neither_overflows_nor_loses_a_verdict():
    log_e = np.array([[5000.0, -5000.0], [np.inf, -np.inf]])
    assert certified(log_e, 0.05).tolist() == [[True, False], [True, False]]


def test_batches_are_families_of_their_own():
    rng = np.random.default_rng(3)
    log_e = rng.normal(3.0, 3.0, (7, 3, 2))
    together = certified(log_e, 0.05)
    assert np.array_equal(together, np.stack([certified(each, 0.05) for each in log_e]))


def means(**more) -> ComparedMeans:
    return ComparedMeans(**({"candidate": "new", "view": "headline", "baseline": "old"} | more))


def test_a_verdict_stands_for_every_claim_that_follows_from_it():
    bars = [Hypothesis(means=means(), bar=bar) for bar in (-0.02, 0.0, 0.05)]
    passed = np.array([[False, False], [True, False], [False, False]])
    assert implied(passed, bars).tolist() == [[True, False], [True, False], [False, False]]
    failed = np.array([[False, False], [False, True], [False, False]])
    assert implied(failed, bars).tolist() == [[False, False], [False, True], [False, True]]


@pytest.mark.parametrize(
    ("one", "other", "follows"),
    [
        (means(baseline=None, floor=0.8), means(baseline=None, floor=0.7), True),
        (means(baseline=None, floor=0.7), means(baseline=None, floor=0.8), False),
        (means(cheaper=0.2), means(cheaper=0.1), True),
        (means(cheaper=0.1), means(cheaper=0.2), False),
        (means(cheaper=0.1), means(), True),  # a system that is a tenth cheaper is cheaper
        (means(view="math"), means(), False),
        (means(candidate="other"), means(), False),
        (means(baseline="older"), means(), False),
        (means(baseline=None, floor=0.1), means(), False),
    ],
)
def test_what_implies_what(one, other, follows):
    assert Hypothesis(means=one, bar=0.0).implies(Hypothesis(means=other, bar=0.0)) is follows


def above(bar, **more):
    return Hypothesis(means=means(**more), bar=bar)


def test_the_pair_of_a_floor_and_of_a_part_of_a_cost():
    panel = np.array([[0.9, 0.1], [0.5, 1.0]])
    assert means().pair(panel, ("new", "old")).tolist() == [[0.9, 0.1], [0.5, 1.0]]
    assert means().pair(panel, ("old", "new")).tolist() == [[0.5, 1.0], [0.9, 0.1]]
    assert means(baseline=None, floor=0.3).pair(panel, ("new", "old")).tolist() == [[0.9, 0.1], [0.3, 0.3]]
    # Costs of 0.5 and 0 of the range: a fifth less of them is 0.4 and 0.
    assert means(cheaper=0.2).pair(panel, ("new", "old"))[1] == pytest.approx([0.6, 1.0])


def test_an_implication_is_true_of_every_pair_of_means():
    """By the means themselves: wherever one hypothesis holds, those that it implies hold."""
    grid = np.linspace(0.0, 1.0, 11)
    hypotheses = [above(bar) for bar in (-0.3, 0.0, 0.2)]
    hypotheses += [above(0.0, baseline=None, floor=score) for score in (0.35, 0.75)]
    hypotheses += [above(0.0, cheaper=part) for part in (0.1, 0.5)]
    implications = [
        (a, b) for a, b in product(range(len(hypotheses)), repeat=2) if hypotheses[a].implies(hypotheses[b])
    ]
    assert len(implications) > len(hypotheses)
    for new, old in product(grid, grid):
        pairs = [each.means.pair(np.array([[new], [old]]), ("new", "old"))[:, 0] for each in hypotheses]
        holds = [one - two > each.bar + 1e-12 for (one, two), each in zip(pairs, hypotheses, strict=True)]
        assert all(holds[b] for a, b in implications if holds[a])


def test_both_directions_are_a_contradiction_also_by_implication():
    found = np.array([[False, True], [True, False]])  # worse by 0.02 or more, and better by more than 0.1
    assert [verdict_of(both) for both in implied(found, [above(-0.02), above(0.1)])] == ["CONTRADICTION"] * 2
    words = [verdict_of(np.array(both)) for both in ([False, False], [True, False], [False, True])]
    assert words == ["OPEN", "PASS", "FAIL"]


def test_a_decided_claim_costs_the_others_as_much_as_an_open_one_and_a_contradicted_one_nothing():
    """The deficit of a claim is that of its weaker direction."""
    t = 25.0
    for other, deficit in (([50.0, -50.0], t), ([50.0, 40.0], 0.0), ([0.0, 0.0], t - 1.0)):
        found = log_thresholds(np.array([[1.0, 1.0], other]), 0.04)
        assert found[0] == pytest.approx(math.log(t + deficit), rel=1e-12)
        assert found[0] >= math.log(t + deficit) - 1e-15


def test_no_floating_point_error_is_raised_by_huge_evidence():
    log_e = np.array([[1e5, -1e5], [800.0, 799.0], [-1e300, -1e300], [math.log(25.0), -3.0]])
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(log_thresholds(log_e, 0.04)).all()
        assert certified(log_e, 0.04).tolist() == [[True, False], [True, True], [False, False], [False, False]]


def test_evidence_at_the_threshold_is_not_certified_by_rounding():
    log_e = np.array([[math.log(25.0), -40.0]])
    assert not certified(np.nextafter(log_e, -np.inf), 0.04).any()
    assert certified(log_e + 1e-12, 0.04).tolist() == [[True, False]]


def test_the_order_of_claims_does_not_matter():
    log_e = np.random.default_rng(2).normal(2.0, 3.0, (9, 2))
    order = np.random.default_rng(3).permutation(9)
    assert log_thresholds(log_e[order], 0.04) == pytest.approx(log_thresholds(log_e, 0.04)[order], rel=1e-13)
