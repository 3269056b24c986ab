"""Shares of alpha: positive, never more than alpha in all, and nearly all of it."""

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbedge.core.family import Spending
from bbedge.errors import BbedgeError, DesignError, DomainError

MANY = 100_000


@pytest.mark.parametrize("alpha", [1e-9, 0.01, 0.05, 0.1, 1 / 3, 0.999])
def test_an_open_ended_rule_spends_nearly_all_and_never_more(alpha):
    levels = [Spending().level(claim, alpha=alpha) for claim in range(MANY)]
    assert all(level > 0.0 for level in levels)
    assert all(one > other for one, other in pairwise(levels))
    total = 0.0
    for level in levels:
        total += level
        assert total <= alpha
    assert math.fsum(levels) <= alpha
    assert total > 0.999 * alpha


def test_the_open_ended_shares_are_the_stated_ones():
    for claim in (0, 1, 2, 10, 1000):
        stated = 0.05 * 6 / (math.pi**2 * (claim + 1) ** 2)
        level = Spending().level(claim, alpha=0.05)
        assert level <= stated
        assert level == pytest.approx(stated, rel=1e-10)


@pytest.mark.parametrize("shares", [1, 2, 3, 7, 10, 49, 1000, MANY])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 1 / 3])
def test_equal_shares_are_as_many_as_stated_and_then_none(shares, alpha):
    spending = Spending(rule="equal", shares=shares)
    levels = [spending.level(claim, alpha=alpha) for claim in range(shares)]
    assert len(set(levels)) == 1
    assert levels[0] <= alpha / shares
    assert levels[0] == pytest.approx(alpha / shares, rel=1e-10)
    total = 0.0
    for level in levels:
        total += level
    assert 0.999 * alpha < total <= alpha
    assert [spending.level(shares + more, alpha=alpha) for more in (0, 1, 1000)] == [0.0, 0.0, 0.0]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(shares=st.integers(1, 400), alpha=st.floats(1e-12, 1.0, exclude_max=True))
def test_equal_shares_never_add_up_to_more_than_alpha(shares, alpha):
    spending = Spending(rule="equal", shares=shares)
    total = 0.0
    for claim in range(shares + 3):
        total += spending.level(claim, alpha=alpha)
        assert total <= alpha


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rule": "greedy"}, DomainError, "unknown spending rule 'greedy'; choose open-ended or equal"),
        ({"rule": "equal"}, DesignError, "equal spending needs the number of shares"),
        ({"rule": "equal", "shares": 0}, DesignError, "a whole number of at least 1"),
        ({"rule": "equal", "shares": -3}, DesignError, "a whole number of at least 1"),
        ({"shares": 3}, DesignError, "open-ended spending takes no number of shares; leave it out"),
    ],
)
def test_rules_that_mean_nothing_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        Spending(**options)


def test_a_broken_number_of_shares_cannot_overspend():
    """Two and a half shares would pay three claims: 1.2 alpha."""
    with pytest.raises(BbedgeError, match="whole number"):
        Spending(rule="equal", shares=2.5)


def test_claims_are_counted_from_zero():
    for rule in (Spending(), Spending(rule="equal", shares=2)):
        with pytest.raises(BbedgeError):
            rule.level(-1, alpha=0.05)


def test_more_shares_than_a_float_can_count_are_no_crash():
    """Nothing is left for so many, or the rule is refused; both are fine."""
    try:
        level = Spending(rule="equal", shares=10**400).level(0, alpha=0.05)
    except BbedgeError:
        return
    assert level == 0.0
