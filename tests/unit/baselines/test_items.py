"""The paired test over items: against statsmodels, against loops, and against what it should never claim."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bbedge.baselines import METHODS
from bbedge.baselines.means import item_differences
from bbedge.core.design import Design
from bbedge.errors import DesignError

BLOCKS = (0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 4, 4, 5, 6, 6)
RUNS = (
    ("111110010100011", "011110101011011", "100010000000001"),
    ("111110111111111", "111100110101000", "010110001100000"),
)
# From statsmodels 0.15.0 on Python 3.13, with d the differences of item means over the first runs:
#   OLS(d, ones).fit(cov_type="cluster", cov_kwds={"groups": BLOCKS}, use_t=True) -> params, bse, pvalues
GOLDEN = {
    (1, 0, 1): (-0.06666666666666665, 0.1616580753730952, 0.6943811061849943),
    (1, 0, 2): (0.39999999999999997, 0.09767671544815962, 0.0063921860623204615),
    (1, 1, 2): (0.46666666666666656, 0.09552971226757634, 0.002752156971404837),
    (2, 0, 1): (0.16666666666666666, 0.08314794192830981, 0.091856976435373),
    (2, 0, 2): (0.49999999999999994, 0.07200822998230956, 0.0004424522256696478),
    (2, 1, 2): (0.3333333333333333, 0.09296222517045284, 0.011563716807719256),
}


def design(blocks, n_models: int = 3, **options) -> Design:
    models = [f"m{i}" for i in range(n_models)]
    return Design.make(
        models, [f"q{i}" for i in range(len(blocks))], blocks=[f"b{block}" for block in blocks], **options
    )


def edges(d: Design, x: np.ndarray) -> np.ndarray:
    return METHODS["Item-t-Holm"].run(d, x, np.random.default_rng(0))


def few() -> np.ndarray:
    return np.array([[[float(score) for score in row] for row in run] for run in RUNS])


def test_golden_values_of_statsmodels():
    means, errors, p = item_differences(design(BLOCKS), few())
    for (runs, a, b), (mean, error, p_value) in GOLDEN.items():
        assert means[runs - 1, a, b] == pytest.approx(mean, rel=1e-12)
        assert errors[runs - 1, a, b] == pytest.approx(error, rel=1e-12)
        assert p[runs - 1, a, b] == pytest.approx(p_value, rel=1e-10)
        assert p[runs - 1, b, a] == p[runs - 1, a, b]


def test_the_claims_that_follow_from_the_golden_values():
    # Holm over three pairs: 0.00275 <= 0.05/3, 0.0064 <= 0.05/2, 0.69 > 0.05; then 0.00044, 0.0116, and 0.09 > 0.05.
    both = [[False, False, True], [False, False, True], [False, False, False]]
    assert edges(design(BLOCKS), few()).tolist() == [both, both]
    assert edges(design(BLOCKS, alpha=0.02), few())[1].tolist() == [[False, False, True], *[[False] * 3] * 2]


def literal(x: np.ndarray, blocks, tau: float, alpha: float) -> set[tuple[int, int]]:
    """One look, item by item and pair by pair."""
    n_models, n_items = x.shape[1:]
    groups = sorted(set(blocks))
    p, ahead = {}, {}
    for a in range(n_models):
        for b in range(a + 1, n_models):
            differences = [sum(run[a, i] - run[b, i] for run in x) / len(x) for i in range(n_items)]
            mean = sum(differences) / n_items
            sums = [sum(d - mean for d, block in zip(differences, blocks, strict=True) if block == g) for g in groups]
            error = math.sqrt(len(groups) / (len(groups) - 1) * sum(u * u for u in sums)) / n_items
            better = stats.t.sf((mean - tau) / error, len(groups) - 1)
            worse = stats.t.sf((-mean - tau) / error, len(groups) - 1)
            p[a, b] = min(1.0, 2.0 * min(better, worse))
            ahead[a, b] = (a, b) if mean > 0 else (b, a)
    claimed = set()
    for step, pair in enumerate(sorted(p, key=p.__getitem__)):
        if p[pair] > alpha / (len(p) - step):
            break
        claimed.add(ahead[pair])
    return claimed


@pytest.mark.parametrize("tau", [0.0, 0.08])
@pytest.mark.parametrize("seed", range(4))
def test_against_loops(seed, tau):
    rng = np.random.default_rng(seed)
    blocks = np.repeat(np.arange(18), rng.integers(1, 5, 18)).tolist()
    means = np.array([0.2, 0.45, 0.5, 0.8])[:, None] + 0.2 * rng.standard_normal(18)[blocks]
    x = np.clip(means + 0.3 * rng.standard_normal((3, 4, len(blocks))), 0.0, 1.0)
    found = edges(design(blocks, 4, tau=tau), x)
    counts = []
    for look in range(3):
        expected = literal(x[: look + 1], blocks, tau, 0.05)
        assert {(int(a), int(b)) for a, b in np.argwhere(found[look])} == expected
        counts.append(len(expected))
    assert 0 < max(counts) < 12


def test_without_clusters_it_is_the_paired_t_test():
    rng = np.random.default_rng(5)
    x = rng.random((2, 3, 40))
    _, _, p = item_differences(design(range(40)), x)
    for look in range(2):
        items = x[: look + 1].mean(axis=0)
        for a, b in ((0, 1), (0, 2), (1, 2)):
            assert p[look, a, b] == pytest.approx(stats.ttest_rel(items[a], items[b]).pvalue, rel=1e-9)


def test_clusters_that_move_together_widen_the_error():
    rng = np.random.default_rng(6)
    shared = np.repeat(rng.random((1, 2, 12)), 8, axis=2)
    alone = item_differences(design(range(96), 2), shared)[1][0, 0, 1]
    clustered = item_differences(design(np.repeat(range(12), 8).tolist(), 2), shared)[1][0, 0, 1]
    assert clustered == pytest.approx(math.sqrt(8 * (95 / 96) * (12 / 11)) * alone, rel=1e-9)


def test_models_with_the_same_scores_in_another_order_are_no_different():
    scores = np.array([0.1, 0.2, 0.3, 0.7, 0.6])
    x = np.stack([np.tile(scores[:, None], 30), np.tile(scores[::-1][:, None], 30)], axis=1)
    assert x.shape == (5, 2, 30)
    assert not edges(design(range(30), 2), x)[-1].any()


def test_a_difference_without_any_variation_is_taken_as_known():
    x = np.stack([np.full((1, 20), 0.7), np.full((1, 20), 0.4)], axis=1)
    assert edges(design(range(20), 2), x)[0].tolist() == [[False, True], [False, False]]
    assert not edges(design(range(20), 2, tau=0.3 + 1e-6), x).any()


def test_only_tested_directions_are_claimed():
    d = design(BLOCKS, candidate=["m0"])
    assert edges(d, few())[-1].tolist() == [[False, False, True], *[[False] * 3] * 2]


def test_one_block_is_refused():
    with pytest.raises(DesignError, match="at least 2"):
        item_differences(design([0] * 15), few())


def test_the_level_at_one_look_over_other_items():
    """Items drawn anew in every repetition: any claim among equal models is made in at most 5 % of them."""
    rng = np.random.default_rng(8)
    wrong = 0
    for _ in range(600):
        taste = rng.random((3, 40)).repeat(3, axis=1)  # what a block is like for a model, the same in all its items
        wrong += bool(
            edges(design(np.repeat(range(40), 3).tolist()), (rng.random((2, 3, 120)) < taste).astype(float))[-1].any()
        )
    assert 3 <= wrong <= stats.binom.isf(1e-6, 600, 0.05)
