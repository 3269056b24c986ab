"""The noise of a judged benchmark split into answers and judge, against variances that are known."""

import numpy as np
import pytest

from bbedge.core.scores import JudgedScores, Scores
from bbedge.diagnostics.judge_noise import MOST_JUDGEMENTS, judge_finding, judge_noise
from bbedge.errors import DomainError


def judged(values, *, blocks="item"):
    """Values: replicates x judgements x models x items."""
    n_models, n_items = values.shape[2:]
    scores = Scores.of(
        values.mean(axis=1),
        models=[f"m{place}" for place in range(n_models)],
        items=[f"q{place}" for place in range(n_items)],
        blocks=blocks if blocks == "item" else [str(place) for place in blocks],
    )
    return JudgedScores(scores=scores, judgements=values)


def drawn(rng, *, replicates, judgements, answers, judge, blocks, models=1):
    """Answers and judgements with these standard deviations; items of a block share a part of both."""
    blocks = np.asarray(blocks)

    def noise(deviation, *shape):
        own = rng.normal(0.0, deviation, (*shape, models, len(blocks)))
        shared = rng.normal(0.0, deviation, (*shape, models, blocks.max() + 1))
        return own + shared[..., blocks]

    return 0.5 + noise(answers, replicates, 1) + noise(judge, replicates, judgements)


def test_the_formulas_by_hand():
    """One item, two runs with judgements (0.2, 0.4) and (0.6, 0.6)."""
    values = np.array([[[[0.2]], [[0.4]]], [[[0.6]], [[0.6]]]])
    noise = judge_noise(judged(values))
    assert noise.together.judge == pytest.approx((0.02 + 0.0) / 2)
    assert noise.together.answers == pytest.approx(0.045 - 0.01 / 2)  # the variance of 0.3 and 0.6, less half of that
    assert noise.together.judge_error is None  # a single block says nothing about its error


@pytest.mark.parametrize("blocks", ["item", [0, 0, 0, 1, 1, 2]])
@pytest.mark.parametrize("judgements", [2, 3])
def test_both_parts_are_unbiased_whatever_depends_inside_of_blocks(blocks, judgements):
    rng = np.random.default_rng(1)
    of_items = list(range(6)) if blocks == "item" else blocks
    sizes = np.bincount(of_items)
    # A block's sum has the variance of its own parts and, once for all its items, of the shared one.
    factor = (sizes + sizes**2).sum() / 6**2
    found = [
        judge_noise(
            judged(
                drawn(rng, replicates=3, judgements=judgements, answers=0.3, judge=0.5, blocks=of_items), blocks=blocks
            )
        ).together
        for _ in range(3000)
    ]
    for name, variance in (("answers", 0.3**2), ("judge", 0.5**2)):
        estimates = np.array([getattr(each, name) for each in found])
        error = estimates.std(ddof=1) / np.sqrt(len(estimates))
        assert abs(estimates.mean() - factor * variance) < 5 * error
        assert error < 0.05 * factor * variance  # precise enough for a wrong divisor to show


def test_the_errors_are_those_of_the_estimates():
    rng = np.random.default_rng(2)
    found = [
        judge_noise(
            judged(drawn(rng, replicates=4, judgements=2, answers=0.3, judge=0.5, blocks=range(40), models=2))
        ).together
        for _ in range(400)
    ]
    for name in ("answers", "judge"):
        spread = np.std([getattr(each, name) for each in found], ddof=1)
        stated = np.mean([getattr(each, f"{name}_error") for each in found])
        assert stated == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize(
    ("answers", "judge", "cost", "best", "worth"),
    [
        (0.1, 0.1, 1.0, 1, "runs"),
        (0.1, 0.2, 1.0, 2, "runs"),  # the present number is the best
        (0.1, 0.3, 1.0, 3, "runs"),  # another one saves 3 %, which is not worth a change
        (0.1, 0.4, 1.0, 4, "judgements"),
        (0.1, 0.1, 0.04, 5, "judgements"),  # cheap judgements
        (0.1, 0.4, 16.0, 1, "runs"),  # dear ones
    ],
)
def test_what_is_worth_paying_for(answers, judge, cost, best, worth):
    """The best number of judgements is near judge / answers / sqrt(cost)."""
    rng = np.random.default_rng(3)
    noise = judge_noise(
        judged(drawn(rng, replicates=40, judgements=2, answers=answers, judge=judge, blocks=range(200))), cost=cost
    )
    assert abs(noise.best - best) <= (best > 4)  # the optimum is flat
    assert noise.worth == worth
    assert 0.0 <= noise.saved < 1.0
    assert noise.saved > 0.0 or noise.best == 2


def test_more_judgements_save_as_much_as_is_said():
    """Eight times the spread of the answers from the judge: the variance at equal cost, computed from the truth."""
    noise = judge_noise(
        judged(
            drawn(np.random.default_rng(4), replicates=1500, judgements=2, answers=0.05, judge=0.4, blocks=range(300))
        )
    )
    assert noise.saved == pytest.approx(1 - (1 + 64 / 8) * (1 + 8) / ((1 + 64 / 2) * (1 + 2)), abs=0.03)


def test_answers_that_never_differ_leave_everything_to_the_judge():
    rng = np.random.default_rng(5)
    noise = judge_noise(judged(drawn(rng, replicates=20, judgements=2, answers=0.0, judge=0.4, blocks=range(100))))
    assert noise.together.judge_share > 0.8
    assert noise.worth == "judgements"


def test_too_little_says_nothing():
    for shape in ((1, 2, 1, 5), (3, 1, 1, 5)):
        values = judged(np.random.default_rng(6).random(shape))
        assert judge_noise(values) is None
        finding = judge_finding(None, values)
        assert (finding.kind, finding.verdict) == ("judge-noise", "not possible")


def test_a_judge_that_repeats_itself_is_pointed_out():
    values = np.repeat(np.random.default_rng(7).random((3, 1, 2, 5)), 2, axis=1)
    noise = judge_noise(judged(values))
    assert (noise.together.judge, noise.best, noise.worth) == (0.0, 1, "runs")
    finding = judge_finding(noise, judged(values))
    assert finding.verdict == "look"
    assert "Judge each answer once" in finding.to_do


def test_nothing_varies():
    noise = judge_noise(judged(np.full((3, 2, 1, 5), 0.5)))
    assert (noise.together.judge, noise.together.answers, noise.best, noise.saved) == (0.0, 0.0, 2, 0.0)


@pytest.mark.parametrize(
    ("judge", "verdict", "words"), [(0.2, "no alarm", "Pay for more runs"), (0.6, "look", "Pay for more judgements")]
)
def test_the_finding_says_what_to_pay_for(judge, verdict, words):
    values = judged(
        drawn(np.random.default_rng(8), replicates=40, judgements=2, answers=0.1, judge=judge, blocks=range(200))
    )
    finding = judge_finding(judge_noise(values), values)
    assert finding.verdict == verdict
    assert words in finding.found
    assert ("judge_repeats" in finding.to_do) == (verdict == "look")


def test_fewer_judgements_can_be_the_advice():
    values = judged(
        drawn(np.random.default_rng(9), replicates=40, judgements=4, answers=0.4, judge=0.1, blocks=range(200))
    )
    noise = judge_noise(values)
    assert (noise.best, noise.worth) == (1, "runs")
    assert "more runs with fewer judgements" in judge_finding(noise, values).found


def test_the_best_number_has_an_end():
    values = judged(
        drawn(np.random.default_rng(10), replicates=6, judgements=2, answers=0.0, judge=0.4, blocks=range(400))
    )
    assert judge_noise(values, cost=0.001).best == MOST_JUDGEMENTS


@pytest.mark.parametrize("cost", [0.0, -1.0, float("nan")])
def test_a_cost_is_positive(cost):
    with pytest.raises(DomainError, match="expected a number above 0"):
        judge_noise(judged(np.zeros((2, 2, 1, 2))), cost=cost)
