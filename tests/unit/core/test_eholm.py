import math

import numpy as np
import pytest

from bbedge.core.eholm import e_holm, log_threshold, log_threshold_of, shortfall_below
from bbedge.errors import DomainError


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1.0, math.nan])
def test_alpha_is_checked(alpha):
    with pytest.raises(DomainError, match="alpha"):
        e_holm(np.zeros(3), alpha=alpha)
    with pytest.raises(DomainError, match="alpha"):
        log_threshold(np.zeros(3), alpha)


def test_the_bar_counts_every_shortfall():
    # t = 10; shortfalls 10 - 4 and 10 - 9 make the bar 17.
    assert log_threshold(np.log([4.0, 9.0, 100.0]), 0.1) == pytest.approx(math.log(17), rel=1e-14)
    assert e_holm(np.log([4.0, 9.0, 16.9]), alpha=0.1).tolist() == [False, False, False]
    assert e_holm(np.log([4.0, 9.0, 17.1]), alpha=0.1).tolist() == [False, False, True]


def test_without_a_shortfall_everything_passes_at_one_over_alpha():
    assert e_holm(np.log([10.1, 10.1]), alpha=0.1).all()


def test_evidence_beyond_float64_outside_of_logarithms():
    assert e_holm(np.array([5000.0, -5000.0, 1e300, math.inf, -math.inf]), alpha=0.05).tolist() == [
        True,
        False,
        True,
        True,
        False,
    ]


def test_nan_is_not_tested():
    log_e = np.array([[np.nan, 3.1], [np.nan, np.nan]])
    assert e_holm(log_e, alpha=0.05).tolist() == [[False, True], [False, False]]
    assert not e_holm(np.full(3, np.nan), alpha=0.05).any()


def test_reaching_the_bar_is_enough_and_one_step_below_is_not():
    others = np.log([4.0, 9.0])
    bar = log_threshold(np.array([*others, 50.0]), 0.1)
    assert e_holm(np.array([*others, bar]), alpha=0.1)[-1]
    assert not e_holm(np.array([*others, np.nextafter(bar, 0.0)]), alpha=0.1)[-1]


def test_parts_of_a_family_add_up_to_its_bar():
    log_e = np.random.default_rng(1).normal(0.0, 4.0, (30, 40))
    log_e[3, 5:20] = np.nan
    whole = log_threshold(log_e, 0.05)
    parts = [
        shortfall_below(log_e[rows, cols], 0.05)
        for rows in (slice(0, 7), slice(7, 30))
        for cols in (slice(11), slice(11, 40))
    ]
    together = log_threshold_of(np.float64(math.fsum(parts)), 0.05, directions=1200, terms=60)
    assert together == pytest.approx(whole, rel=1e-13)
    exact = math.log(20 + math.fsum(20 - math.exp(x) for x in log_e.ravel().tolist() if x < math.log(20)))
    assert exact < whole < exact + 1e-12
