"""e-Holm over claims, against its definition: every set of nulls that can be true together."""

from itertools import product

import numpy as np
import pytest

from bbedge.gate.verdicts import AGAINST, FOR, ComparedMeans, Hypothesis, certified, implied, log_thresholds


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
