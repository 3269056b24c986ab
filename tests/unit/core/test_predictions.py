import numpy as np
import pytest

import oracle
from bbedge.core.design import Design
from bbedge.core.predictions import RunningMean, TwoWay, predictor_for

RNG = np.random.default_rng(4)


def test_running_mean_by_hand():
    rule = RunningMean(2, 1, tau=0.06)
    predicted, shift = rule.predict()
    assert predicted.tolist() == [[0.0], [0.0]]
    assert shift == pytest.approx(0.03)
    rule.update(np.array([[1.0], [0.0]]))
    rule.update(np.array([[0.5], [0.0]]))
    predicted, shift = rule.predict()
    # Pair: (mu0 + Y1 + Y2) / 3 with mu0 = 0.53, Y1 = 1, Y2 = 0.75.
    assert (predicted[0, 0] - predicted[1, 0] + 1) / 2 + shift == pytest.approx((0.53 + 1 + 0.75) / 3)


def test_two_way_by_hand():
    rule = TwoWay(2, 2)
    assert rule.predict()[0].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    rule.update(np.array([[1.0, 0.0], [0.0, 0.0]]))
    # Model means 0.5 and 0, block effects +0.25 and -0.25, interaction 0.25 in size, half of it kept.
    assert rule.predict()[0].tolist() == [[0.875, 0.125], [0.125, 0.0]]
    assert rule.predict()[1] == 0.0


@pytest.mark.parametrize("replicates", [1, 2, 3, 6])
@pytest.mark.parametrize("noise", [0.0, 0.1, 1.0])
def test_two_way_against_the_oracle(replicates, noise):
    base = RNG.random((3, 5))
    history = [np.clip(base + noise * RNG.standard_normal(base.shape), 0, 1) for _ in range(replicates)]
    rule = TwoWay(3, 5)
    for means in history:
        rule.update(means)
    want = oracle.two_way_predictions([means.tolist() for means in history], oracle.FLOAT)
    np.testing.assert_allclose(rule.predict()[0], want, rtol=0, atol=1e-12)


def test_two_way_keeps_what_repeats_and_drops_what_does_not():
    base = RNG.random((4, 8))
    steady, noisy = TwoWay(4, 8), TwoWay(4, 8)
    for _ in range(5):
        steady.update(base)
    np.testing.assert_allclose(steady.predict()[0], base, atol=1e-9)
    first, second = np.zeros((4, 8)), np.ones((4, 8))
    first[0, 0], second[0, 0] = 0.2, 0.9
    noisy.update(first)
    noisy.update(second)
    predicted = noisy.predict()[0]
    additive = predicted.mean(axis=1, keepdims=True) + predicted.mean(axis=0) - predicted.mean()
    np.testing.assert_allclose(predicted, additive, atol=1e-12)


@pytest.mark.parametrize("rule", [RunningMean(4, 3, tau=0.1), TwoWay(4, 3)])
def test_predictions_stay_in_the_unit_interval_and_keep_forgets(rule):
    other = RunningMean(2, 3, tau=0.1) if isinstance(rule, RunningMean) else TwoWay(2, 3)
    for _ in range(4):
        means = RNG.choice([0.0, 1.0], (4, 3))
        rule.update(means)
        other.update(means[[1, 3]])
        predicted, _ = rule.predict()
        assert predicted.min() >= 0.0
        assert predicted.max() <= 1.0
    rule.keep(np.array([1, 3]))
    np.testing.assert_allclose(rule.predict()[0], other.predict()[0], rtol=0, atol=1e-12)


def test_predictor_for_follows_the_design():
    assert isinstance(predictor_for(Design.make(["a", "b"], ["q"])), RunningMean)
    assert isinstance(predictor_for(Design.make(["a", "b"], ["q"], prediction="two-way")), TwoWay)
