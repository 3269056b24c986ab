"""The generator tells the truth about itself; every other check in this folder leans on that."""

import numpy as np
import pytest
from scipy.stats import norm

from bbedge.errors import DomainError
from bbedge.study.synthetic import SyntheticBenchmark, tied_pairs
from calibration.binomial_rule import SURE

SETTINGS = {
    "stated": SyntheticBenchmark(),
    "heterogeneous": SyntheticBenchmark(heterogeneity=0.2, block_sizes=5),
    "odd": SyntheticBenchmark(means=(0.3, 0.6, 0.6), n_items=7, block_sizes=(1, 2, 4), heterogeneity=0.1),
    "graded": SyntheticBenchmark(means=(0.2, 0.8), n_items=20, block_sizes=4, scoring="graded", spread=0.4),
    "quantised": SyntheticBenchmark(means=(0.2, 0.8), n_items=20, scoring="graded", spread=(1.0, 0.02), levels=20),
    "extreme": SyntheticBenchmark(means=(0.0, 1.0), n_items=4, offset=0.0, scoring="graded"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_scores_have_the_means_that_are_claimed(name):
    benchmark = SETTINGS[name]
    n = 4000
    panels = benchmark.panels(np.random.default_rng(11), n)
    assert panels.min() >= 0.0
    assert panels.max() <= 1.0
    np.testing.assert_allclose(benchmark.probabilities.mean(axis=1), benchmark.theta, atol=1e-12)
    # Half the range bounds any standard deviation; two-sided, all cells together, below 1e-6.
    cells = benchmark.probabilities.size
    allowed = norm.isf(SURE / (2 * cells)) * 0.5 / np.sqrt(n)
    np.testing.assert_allclose(panels.mean(axis=0), benchmark.probabilities, atol=allowed)


def test_one_panel_at_a_time_is_the_same_stream():
    benchmark = SyntheticBenchmark(scoring="graded", levels=10, n_items=10)
    rng = np.random.default_rng(5)
    one_by_one = np.stack([benchmark.panel(rng) for _ in range(4)])
    np.testing.assert_array_equal(one_by_one, benchmark.panels(np.random.default_rng(5), 4))


def test_answers_depend_inside_blocks_and_nowhere_else():
    benchmark = SyntheticBenchmark(means=(0.5, 0.5), n_items=4, block_sizes=2, offset=0.0)
    n = 20_000
    panels = benchmark.panels(np.random.default_rng(3), n).reshape(n, 8)
    found = np.corrcoef(panels, rowvar=False)
    # A Gaussian pair with correlation rho agrees in sign with correlation (2 / pi) asin(rho).
    same_block, same_item = (2 / np.pi * np.arcsin(rho) for rho in (0.5, 0.1))
    expected = np.kron(np.eye(2), np.kron(np.eye(2), np.full((2, 2), same_block)))
    expected += np.kron(np.ones((2, 2)) - np.eye(2), np.eye(4) * same_item)
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(found, expected, atol=6 / np.sqrt(n))


def test_the_stated_setting():
    benchmark = SyntheticBenchmark(heterogeneity=0.2)
    assert benchmark.means == tied_pairs(0.41, 0.59)
    assert benchmark.probabilities.shape == (10, 100)
    first, second = benchmark.probabilities[:2]
    np.testing.assert_allclose((first - second)[:50], 0.4)
    np.testing.assert_allclose((first - second)[50:], -0.4)
    assert benchmark.null().sum() == 10 + 10 + 40
    design = benchmark.design(alpha=0.1)
    assert (design.models, design.items, design.blocks) == (benchmark.models, benchmark.items, benchmark.blocks)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"heterogeneity": 0.4}, "leave"),
        ({"means": (0.5,)}, "at least 2"),
        ({"block_sizes": 3}, "do not split"),
        ({"block_sizes": (99, 2)}, "do not split"),
        ({"block_sizes": 0}, "do not split"),
        ({"kappa_block": 0.95}, "not possible"),
        ({"spread": 1.5}, "spread"),
        ({"spread": (0.5, 0.5)}, "spreads for"),
        ({"n_items": 0}, "at least 1"),
        ({"means": (float("nan"), 0.5)}, "leave"),
    ],
)
def test_settings_that_cannot_be_are_refused(options, complaint):
    with pytest.raises(DomainError, match=complaint):
        SyntheticBenchmark(**options)
