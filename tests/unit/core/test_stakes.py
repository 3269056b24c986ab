import itertools
import math
from fractions import Fraction

import pytest

from bbedge.core.stakes import Stakes, StakeSize, design_stakes, given_stakes, paper_stakes, wide_max
from bbedge.errors import DomainError


def test_paper_stakes_are_41_equal_steps_up_to_095():
    stakes = paper_stakes()
    assert len(stakes.values) == 41
    assert stakes.values[0] == 0.0
    assert stakes.values[40] == 0.95
    assert stakes.values[20] == pytest.approx(0.475, rel=1e-15)
    steps = [b - a for a, b in itertools.pairwise(stakes.values)]
    assert steps == pytest.approx([0.02375] * 40, rel=1e-12)
    assert stakes.weights == (1 / 41,) * 41
    assert not stakes.is_wide


def test_wide_max():
    assert wide_max(0.5) == pytest.approx(1.9, rel=1e-15)
    assert wide_max(0.65) == pytest.approx(0.95 / 0.65, rel=1e-15)


def test_design_stakes_by_hand():
    # 2 log(2 / 0.05) = 7.377758908227872. With 100 blocks the first stake is sqrt(7.3777... * 80 / 100), above 1.9, and
    # the last is sqrt(7.3777... / (100 * 25)).
    stakes = design_stakes(StakeSize(alpha=0.05, cap=wide_max(0.5), n_directions=2, effective_blocks=100.0))
    assert stakes.weights == (1 / 12,) * 12
    assert len(stakes.values) == 12
    assert stakes.values[0] == pytest.approx(1.9, rel=1e-15)
    assert stakes.values[11] == pytest.approx(0.05432406, rel=1e-7)
    assert stakes.values[11] == pytest.approx(math.sqrt(7.377758908227872 / 2500), rel=1e-14)
    # kappa grows by (25 * 80)^(1/11) = 2000^(1/11) a step, so the uncapped stakes shrink by its root.
    free = [value for value in stakes.values if value < 1.9]
    ratios = [b / a for a, b in itertools.pairwise(free)]
    assert ratios == pytest.approx([2000 ** (-1 / 22)] * len(ratios), rel=1e-12)
    assert stakes.is_wide


def test_design_stakes_without_a_cap():
    stakes = design_stakes(StakeSize(alpha=0.1, cap=wide_max(0.65), n_directions=12, effective_blocks=5000.0))
    budget = 2 * math.log(120)
    assert stakes.values[0] == pytest.approx(math.sqrt(budget * 80 / 5000), rel=1e-14)
    assert stakes.values[5] == pytest.approx(math.sqrt(budget / (5000 / 80 * 2000 ** (5 / 11))), rel=1e-13)
    assert not stakes.is_wide


def test_design_stakes_are_capped_for_the_margin():
    stakes = design_stakes(StakeSize(alpha=0.05, cap=wide_max(0.65), n_directions=2, effective_blocks=1.0))
    assert stakes.values[0] == wide_max(0.65)
    assert max(stakes.values) <= 0.95 / 0.65 * (1 + 1e-15)


def test_given_stakes_have_equal_weights_unless_told():
    assert given_stakes((0.1, 0.2)).weights == (0.5, 0.5)
    assert given_stakes((0.1, 0.2), (0.25, 0.75)).weights == (0.25, 0.75)


@pytest.mark.parametrize(
    ("values", "weights", "message"),
    [
        ((), (), "stake grid is empty"),
        ((0.1, 0.2), (1.0,), "2 stakes but 1 mixture weights"),
        ((-0.1,), (1.0,), r"stake -0\.1 is not allowed"),
        ((math.nan,), (1.0,), "stake nan is not allowed"),
        ((math.inf,), (1.0,), "stake inf is not allowed"),
        ((0.1, 0.2), (1.5, -0.5), r"mixture weight -0\.5 is not allowed"),
        ((0.1,), (math.nan,), "mixture weight nan is not allowed"),
        ((0.1, 0.2), (0.0, 0.0), r"sum to 0\.0"),
        ((0.1, 0.2), (1e308, 1e308), "sum to inf"),
    ],
)
def test_stakes_that_are_refused(values, weights, message):
    with pytest.raises(DomainError, match=message):
        Stakes(values=values, weights=weights)


def test_an_empty_grid_is_refused_before_weights_are_made():
    with pytest.raises(DomainError, match="empty"):
        given_stakes(())


def test_stakes_are_frozen():
    with pytest.raises(AttributeError):
        paper_stakes().values = (0.1,)


@pytest.mark.parametrize("weights", [(2.0, 1.0, 1.0), (0.5, 0.6, 0.1), (1e-300, 3e-300, 7e-300), (1.0, 1e-17, 1.0)])
def test_given_weights_are_normalised_and_never_sum_to_more_than_one(weights):
    stakes = given_stakes((0.1, 0.2, 0.3), weights)
    assert math.fsum(stakes.weights) <= 1.0
    total = sum(Fraction(weight) for weight in weights)
    assert stakes.weights == pytest.approx([float(Fraction(weight) / total) for weight in weights], rel=1e-15)
