import numpy as np
import pytest

import oracle
from bbedge.core.arrays import numpy_space
from bbedge.core.design import Design
from bbedge.core.predictions import RunningMean, TwoWay, predictor_for

RNG = np.random.default_rng(4)
SPACE = numpy_space()
ALL = slice(None)


def design(tau):
    return Design.make(["a", "b"], ["q"], tau=tau)


def predicted_by(rule, places=ALL):
    """The prediction, as what is missing from scores of zero."""
    sums = rule._sums
    return -rule.residuals(np.zeros_like(sums), places)


def test_running_mean_by_hand():
    rule = RunningMean(SPACE, (2, 1), design(0.06))
    predicted, shift = predicted_by(rule), rule.shift
    assert predicted.tolist() == [[0.0], [0.0]]
    assert shift == pytest.approx(0.03)
    rule.update(np.array([[1.0], [0.0]]))
    rule.update(np.array([[0.5], [0.0]]))
    predicted, shift = predicted_by(rule), rule.shift
    # Pair: (mu0 + Y1 + Y2) / 3 with mu0 = 0.53, Y1 = 1, Y2 = 0.75.
    assert (predicted[0, 0] - predicted[1, 0] + 1) / 2 + shift == pytest.approx((0.53 + 1 + 0.75) / 3)


def test_two_way_by_hand():
    rule = TwoWay(SPACE, (2, 2))
    assert predicted_by(rule).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    rule.update(np.array([[1.0, 0.0], [0.0, 0.0]]))
    # Model means 0.5 and 0, block effects +0.25 and -0.25, interaction 0.25 in size, half of it kept.
    assert predicted_by(rule).tolist() == [[0.875, 0.125], [0.125, 0.0]]
    assert rule.shift == 0.0


@pytest.mark.parametrize("replicates", [1, 2, 3, 6])
@pytest.mark.parametrize("noise", [0.0, 0.1, 1.0])
def test_two_way_against_the_oracle(replicates, noise):
    base = RNG.random((3, 5))
    history = [np.clip(base + noise * RNG.standard_normal(base.shape), 0, 1) for _ in range(replicates)]
    rule = TwoWay(SPACE, (3, 5))
    for means in history:
        rule.update(means)
    want = oracle.two_way_predictions([means.tolist() for means in history], oracle.FLOAT)
    np.testing.assert_allclose(predicted_by(rule), want, rtol=0, atol=1e-12)


def test_two_way_keeps_what_repeats_and_drops_what_does_not():
    base = RNG.random((4, 8))
    steady, noisy = TwoWay(SPACE, (4, 8)), TwoWay(SPACE, (4, 8))
    for _ in range(5):
        steady.update(base)
    np.testing.assert_allclose(predicted_by(steady), base, atol=1e-9)
    first, second = np.zeros((4, 8)), np.ones((4, 8))
    first[0, 0], second[0, 0] = 0.2, 0.9
    noisy.update(first)
    noisy.update(second)
    predicted = predicted_by(noisy)
    additive = predicted.mean(axis=1, keepdims=True) + predicted.mean(axis=0) - predicted.mean()
    np.testing.assert_allclose(predicted, additive, atol=1e-12)


@pytest.mark.parametrize("rule", [RunningMean(SPACE, (4, 3), design(0.1)), TwoWay(SPACE, (4, 3))])
def test_predictions_stay_in_the_unit_interval_and_keep_forgets(rule):
    other = RunningMean(SPACE, (2, 3), design(0.1)) if isinstance(rule, RunningMean) else TwoWay(SPACE, (2, 3))
    for _ in range(4):
        means = RNG.choice([0.0, 1.0], (4, 3))
        rule.update(means)
        other.update(means[[1, 3]])
        predicted = predicted_by(rule)
        assert predicted.min() >= 0.0
        assert predicted.max() <= 1.0
    rule.keep(np.array([1, 3]))
    np.testing.assert_allclose(predicted_by(rule), predicted_by(other), rtol=0, atol=1e-12)


def test_predictor_for_follows_the_design():
    assert isinstance(predictor_for(Design.make(["a", "b"], ["q"]), SPACE), RunningMean)
    assert isinstance(predictor_for(Design.make(["a", "b"], ["q"], prediction="two-way"), SPACE), TwoWay)


@pytest.mark.parametrize(
    "make", [lambda *shape: RunningMean(SPACE, shape, design(0.1)), lambda *shape: TwoWay(SPACE, shape)]
)
def test_some_blocks_and_batches_are_predicted_as_all_are(make):
    batch, alone = make(2, 4, 5), make(4, 5)
    for _ in range(3):
        means = RNG.random((2, 4, 5))
        batch.update(means)
        alone.update(means[1])
    np.testing.assert_allclose(predicted_by(batch)[1], predicted_by(alone), rtol=0, atol=1e-14)
    for places in (slice(1, 4), np.array([4, 0])):
        np.testing.assert_array_equal(predicted_by(batch, places), predicted_by(batch)[..., places])
