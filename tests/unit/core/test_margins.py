import math

import numpy as np
import pytest

from bbedge.core import margins
from bbedge.core.arrays import numpy_space
from bbedge.core.margins import least_advantage


def lower_bounds(exponents, slopes, *, tau, log_threshold):
    """Bounds of directions given by their exponents at ``tau``: the advantage is counted from there."""
    features = np.concatenate([np.zeros((1, exponents.shape[1])), np.ones((1, exponents.shape[1])), exponents])
    matrix = np.concatenate([slopes[:, None], np.zeros((len(slopes), 1)), np.eye(len(slopes))], axis=1)
    needed = least_advantage(numpy_space(), matrix, features, log_threshold)
    return np.clip(tau - needed, -1.0, 1.0)


def test_one_stake_has_its_root_in_closed_form():
    # A + s (tau - t) = log threshold.
    bounds = lower_bounds(np.array([[5.0]]), np.array([4.0]), tau=0.1, log_threshold=3.0)
    assert bounds[0] == pytest.approx(0.1 + 2.0 / 4.0, abs=1e-11)
    assert bounds[0] <= 0.6


def test_bounds_stay_within_minus_one_and_one():
    exponents = np.array([[-50.0, 1000.0, 0.0]])
    bounds = lower_bounds(exponents, np.array([2.0]), tau=0.0, log_threshold=3.0)
    assert bounds.tolist() == [-1.0, 1.0, -1.0]


def test_a_mixture_is_solved_from_the_safe_side():
    exponents, slopes = np.array([[4.0], [-3.0], [2.0]]), np.array([1.0, 40.0, 300.0])
    (bound,) = lower_bounds(exponents, slopes, tau=0.05, log_threshold=math.log(40))
    value = np.logaddexp.reduce(exponents[:, 0] + slopes * (0.05 - bound))
    assert math.log(40) <= value <= math.log(40) + 1e-6


def test_slopes_of_very_different_size_converge():
    rng = np.random.default_rng(0)
    slopes = 10.0 ** rng.uniform(-6, 5, 41)
    exponents = rng.uniform(-1e4, 50, (41, 200))
    bounds = lower_bounds(exponents, slopes, tau=0.0, log_threshold=10.0)
    for j, bound in enumerate(bounds):
        at = np.logaddexp.reduce(exponents[:, j] - slopes * bound)
        just_right = np.logaddexp.reduce(exponents[:, j] - slopes * (bound + 1e-6))
        assert bound == -1.0 or at >= 10.0
        assert bound == 1.0 or just_right < 10.0


def alone(matrix, penalties, log_threshold):
    """Each root by itself: too few directions for tangents."""
    features = np.stack([np.zeros_like(penalties), np.ones_like(penalties), penalties])
    parts = [
        least_advantage(numpy_space(), matrix, features[:, i : i + 10], log_threshold)
        for i in range(0, len(penalties), 10)
    ]
    return np.concatenate(parts)


PAPER = np.linspace(0, 0.95, 41)


@pytest.mark.parametrize(
    ("stakes", "low", "high", "target", "shared"),
    [
        (PAPER, 900.0, 1500.0, 16.0, True),
        (PAPER, 1300.0, 1300.0, 16.0, True),  # a single penalty
        (np.array([0.5]), 10.0, 11.0, 16.0, True),  # a straight line
        (PAPER, 3.0, 4e3, 16.0, False),  # too wide for a few tangents
        (np.array([0.3, 0.9]), 1.6e6, 1.63e6, 1e6, False),  # a bend that lies between two tangents
        (PAPER, 0.0, 1e-3, 16.0, False),  # nothing to pay
    ],
)
def test_many_directions_with_one_penalty_share_tangents(monkeypatch, stakes, low, high, target, shared):
    given, by_tangents = [], margins._by_tangents

    def spy(*arguments):
        given.append(by_tangents(*arguments))
        return given[-1]

    monkeypatch.setattr(margins, "_by_tangents", spy)
    slopes, psi = stakes * 1000.0, -np.log1p(-stakes) - stakes
    matrix = np.stack([slopes, np.full_like(stakes, -np.log(len(stakes))), -psi], axis=1)
    rng = np.random.default_rng(1)
    penalties = np.sort(rng.uniform(low, high, 90_000))
    features = np.stack([np.zeros_like(penalties), np.ones_like(penalties), penalties])
    found = least_advantage(numpy_space(), matrix, features, target)
    assert (given[0] is not None) == shared
    some = rng.choice(90_000, 400)
    roots = alone(matrix, penalties[some], target)
    assert np.all(found[some] >= roots * (1 - 1e-14))
    np.testing.assert_allclose(found[some], roots, rtol=1e-9)
    exponents = slopes[:, None] * found[some] + matrix[:, 1:2] - psi[:, None] * penalties[some]
    assert np.all(np.logaddexp.reduce(exponents, axis=0) >= target * (1 - 1e-15))
