"""What must hold of direct e-Holm for every set of e-values."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from bbedge.core.eholm import e_holm, log_threshold, weighted_e_holm, weighted_log_thresholds
from bbedge.errors import DomainError

ALPHAS = st.sampled_from([0.05, 0.01, 0.2, 0.1, 1 / 3, 0.9, 1e-9]) | st.floats(1e-12, 0.999)
LOGS = (
    st.floats(-10, 10)
    | st.floats(2.9, 3.1)  # around log 20
    | st.sampled_from([0.0, 5000.0, 1e300, -1e6, -745.2, math.log(20), -math.inf])
)


def examples(count):
    return settings(max_examples=count, derandomize=True, deadline=None)


def exact(logs, alpha):
    return oracle.e_holm_of_logs([max(x, -1e6) for x in logs], alpha)


def log_of_bar(logs, alpha):
    return exact([min(x, 5000.0) for x in logs], alpha)[1]


@examples(150)
@given(st.lists(st.fractions(0, 200, max_denominator=1000), min_size=1, max_size=12), st.integers(2, 100))
def test_rational_e_values(values, t):
    want, bar = oracle.e_holm(values, Fraction(1, t))
    with np.errstate(divide="ignore"):
        got = e_holm(np.log(np.array(values, dtype=float)), alpha=1 / t)
    for certified, wanted, value in zip(got.tolist(), want, values, strict=True):
        # 1/t and the logarithms are rounded on the way in: only at the bar itself may that be seen.
        if abs(value - bar) > bar / 10**9:
            assert certified == wanted


@examples(300)
@given(st.lists(LOGS, min_size=1, max_size=12), ALPHAS)
def test_logarithms_of_any_size(logs, alpha):
    bar = log_of_bar(logs, alpha)
    got = e_holm(np.array(logs), alpha=alpha)
    for certified, value in zip(got.tolist(), logs, strict=True):
        if certified:
            assert value == math.inf or Decimal(value) >= bar
        else:
            assert value == -math.inf or Decimal(value) < bar + Decimal("1e-12") * (1 + abs(bar))
    assert Decimal(log_threshold(np.array(logs), alpha)) >= bar


@examples(200)
@given(st.lists(LOGS, min_size=1, max_size=10), ALPHAS, st.integers(0, 9), st.floats(0, 50))
def test_raising_evidence_loses_no_certificate(logs, alpha, place, gain):
    before = np.array(logs)
    after = before.copy()
    after[place % len(logs)] += gain
    assert not np.any(e_holm(before, alpha=alpha) & ~e_holm(after, alpha=alpha))


@examples(200)
@given(st.lists(LOGS, min_size=1, max_size=10), ALPHAS, st.floats(0, 1))
def test_a_larger_alpha_loses_no_certificate(logs, alpha, share):
    log_e = np.array(logs)
    stricter = e_holm(log_e, alpha=alpha)
    looser = e_holm(log_e, alpha=min(0.999999, alpha * (1.001 + share)))
    assert not np.any(stricter & ~looser)


@examples(100)
@given(st.data(), st.lists(LOGS, min_size=1, max_size=10), ALPHAS)
def test_the_order_of_directions_does_not_matter(data, logs, alpha):
    order = np.array(data.draw(st.permutations(range(len(logs)))))
    log_e = np.array(logs)
    np.testing.assert_array_equal(e_holm(log_e[order], alpha=alpha), e_holm(log_e, alpha=alpha)[order])
    assert log_threshold(log_e[order], alpha) == pytest.approx(log_threshold(log_e, alpha), rel=1e-14)


@examples(150)
@given(st.lists(st.floats(-1e6, 40), min_size=1, max_size=10), ALPHAS)
def test_nothing_is_certified_when_everything_is_below_one_over_alpha(logs, alpha):
    log_e = np.minimum(np.array(logs), np.nextafter(-math.log(alpha), -math.inf))
    assert not e_holm(log_e, alpha=alpha).any()


@examples(100)
@given(st.lists(LOGS, min_size=1, max_size=8), st.integers(0, 5), ALPHAS, st.data())
def test_untested_directions_are_never_certified_and_never_counted(logs, holes, alpha, data):
    tested = np.array(logs)
    padded = np.concatenate([tested, np.full(holes, np.nan)])
    order = np.array(data.draw(st.permutations(range(len(padded)))))
    got = e_holm(padded[order], alpha=alpha)
    want = np.concatenate([e_holm(tested, alpha=alpha), np.zeros(holes, dtype=bool)])[order]
    np.testing.assert_array_equal(got, want)


@examples(100)
@given(st.lists(LOGS, min_size=4, max_size=4), ALPHAS)
def test_the_shape_does_not_matter(logs, alpha):
    log_e = np.array(logs)
    np.testing.assert_array_equal(e_holm(log_e.reshape(2, 2), alpha=alpha), e_holm(log_e, alpha=alpha).reshape(2, 2))


@examples(200)
@given(st.lists(st.floats(-20, 8) | st.floats(2.99, 3.0), min_size=0, max_size=12), ALPHAS, st.integers(-4, 4))
def test_one_unit_in_the_last_place_around_the_bar(others, alpha, steps):
    # A value at or above 1/alpha does not move the bar, so the bar can be computed first and aimed at.
    value = float(log_of_bar([*others, 5000.0], alpha))
    for _ in range(abs(steps)):
        value = float(np.nextafter(value, math.copysign(math.inf, steps)))
    want, _ = exact([*others, value], alpha)
    got = e_holm(np.array([*others, value]), alpha=alpha).tolist()
    assert not any(certified and not wanted for certified, wanted in zip(got, want, strict=True))


@examples(60)
@given(st.lists(st.floats(-20, 2.9), min_size=0, max_size=12), ALPHAS)
def test_the_bar_is_not_raised_by_more_than_rounding(others, alpha):
    bar = float(log_of_bar([*others, 5000.0], alpha))
    assert e_holm(np.array([*others, bar + 1e-12 * (1 + bar)]), alpha=alpha)[-1]


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.07])
@pytest.mark.parametrize("count", [300, 2000])
def test_many_values_just_below_one_over_alpha_cannot_lower_the_bar_by_rounding(alpha, count):
    # Each of them is short of 1/alpha by less than the roundings of its own exponential. If those all fall on the
    # same side, the shortfalls that were lost add up, and the bar must still not be too low.
    weak = -math.log(alpha)
    candidates = []
    for _ in range(300):
        weak = float(np.nextafter(weak, -math.inf))
        shortfall = Decimal(1) / Decimal(alpha) - Decimal(weak).exp()
        computed = 1.0 / alpha - float(np.exp(np.float64(weak)))
        candidates.append((shortfall - Decimal(computed), weak))
    worst = max(candidates)[1]
    logs = [worst] * count
    assert Decimal(log_threshold(np.array([*logs, 5000.0]), alpha)) >= log_of_bar([*logs, 5000.0], alpha)


def test_holm_by_hand():
    # t = 20; 0.5 and 15 fall short by 19.5 and 5, so the bar is 44.5.
    values = [1000.0, 0.5, 15.0, 44.0, 45.0]
    assert e_holm(np.log(values), alpha=0.05).tolist() == [True, False, False, False, True]
    assert log_threshold(np.log(values), 0.05) == pytest.approx(math.log(44.5), rel=1e-14)
    assert log_threshold(np.full(6, -math.inf), 0.05) == pytest.approx(math.log(7 * 20), rel=1e-14)
    assert log_threshold(np.array([np.nan]), 0.05) == pytest.approx(math.log(20), rel=1e-14)


FAMILIES = st.lists(st.one_of(st.floats(-30.0, 30.0), st.sampled_from([-math.inf, math.log(20), 5000.0])), max_size=12)
WEIGHTS = st.sampled_from([1.0, 0.5, 0.1, 3.0, 1e-6, 1e-90])


@given(FAMILIES.filter(bool), st.data())
@examples(200)
def test_weighted_e_holm_by_its_definition(logs, data):
    weights = data.draw(st.lists(WEIGHTS, min_size=len(logs), max_size=len(logs)))
    found = np.concatenate(weighted_e_holm([np.array([x]) for x in logs], weights, alpha=0.05))
    t = 1 / Fraction(0.05)
    # Evidence far beyond every threshold is as good as any other.
    values = [Fraction(0) if x == -math.inf else Fraction(Decimal(min(x, 2000.0)).exp()) for x in logs]
    q = [Fraction(weight) for weight in weights]
    deficit = sum((w * (t - value) for w, value in zip(q, values, strict=True) if value < t), Fraction(0))
    for certified, value, weight in zip(found.tolist(), values, q, strict=True):
        bar = t + deficit / weight
        assert not certified or value >= bar
        assert certified or value < bar * (1 + Fraction(1, 10**9)) + Fraction(1, 10**12) / weight


@given(FAMILIES.filter(bool), WEIGHTS)
@examples(100)
def test_equal_weights_are_e_holm(logs, weight):
    log_e, middle = np.array(logs), len(logs) // 2
    thresholds = weighted_log_thresholds([log_e[:middle], log_e[middle:]], [weight, weight], 0.05)
    np.testing.assert_allclose(thresholds, log_threshold(log_e, 0.05), rtol=1e-12)


@pytest.mark.parametrize("weights", [[1.0, 0.0], [1.0, -1.0], [math.nan, 1.0], [math.inf, 1.0], [1.0, 1e-200]])
def test_weights_of_directions_are_checked(weights):
    with pytest.raises(DomainError, match="weight of a direction"):
        weighted_e_holm([np.zeros(1), np.zeros(1)], weights, alpha=0.05)


def test_a_direction_that_is_not_tested_costs_nothing():
    parts, weights = [np.array([4.0]), np.array([math.nan]), np.array([1.0])], [1.0, 50.0, 2.0]
    thresholds = weighted_log_thresholds(parts, weights, 0.05)
    np.testing.assert_allclose(thresholds[::2], weighted_log_thresholds(parts[::2], weights[::2], 0.05))


@given(st.lists(st.floats(-30.0, 30.0), min_size=12, max_size=12))
@examples(50)
def test_weighted_families_of_a_batch_are_families_of_their_own(logs):
    first, second = np.array(logs[:6]).reshape(2, 3), np.array(logs[6:]).reshape(2, 3, 1)
    together = weighted_e_holm([first, second], [1.0, 3.0], alpha=0.05, batch=1)
    for place in range(2):
        alone = weighted_e_holm([first[place], second[place]], [1.0, 3.0], alpha=0.05)
        for got, want in zip(together, alone, strict=True):
            np.testing.assert_array_equal(got[place], want)
