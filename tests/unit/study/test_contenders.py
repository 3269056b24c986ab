import numpy as np
import pytest
from scipy import stats

from bbedge.errors import DomainError
from bbedge.study.contenders import covariance, difference_variances, z_test_edges
from bbedge.study.study import Contest, RepetitionSeeds
from bbedge.study.synthetic import SyntheticBenchmark, tied_pairs


@pytest.mark.parametrize("rho", [0.0, 0.1, 0.5, 0.9])
def test_covariance_is_that_of_the_bivariate_normal(rho):
    for h, k in ((0.0, 0.0), (-0.3, 0.8), (1.5, -1.5), (2.0, 2.0)):
        joint = stats.multivariate_normal.cdf([h, k], cov=[[1.0, rho], [rho, 1.0]], abseps=1e-10, releps=1e-10)
        expected = joint - stats.norm.cdf(h) * stats.norm.cdf(k)
        assert covariance(np.array(h), np.array(k), rho) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    "truth",
    [
        SyntheticBenchmark(heterogeneity=0.2),
        SyntheticBenchmark(block_sizes=5, heterogeneity=0.2),
        SyntheticBenchmark(means=tied_pairs(0.25, 0.75), block_sizes=10, offset=0.05, heterogeneity=0.2),
        SyntheticBenchmark(block_sizes=(*range(1, 11), *range(1, 10)), kappa_block=tuple(np.linspace(0.1, 0.7, 19))),
    ],
    ids=["alone", "fives", "probabilities of 0 and 1", "uneven"],
)
def test_variances_are_those_of_simulated_panels(truth):
    means = truth.panels(np.random.default_rng(1), 4000).mean(axis=2)
    seen = (means[:, :, None] - means[:, None, :]).var(axis=0, ddof=1)
    known = difference_variances(truth)
    pairs = ~np.eye(len(known), dtype=bool)
    # A variance of 4000 normal numbers has a relative error of 2.2 %.
    np.testing.assert_allclose(seen[pairs], known[pairs], rtol=0.11)
    assert abs((seen[pairs] / known[pairs]).mean() - 1.0) < 0.02


def test_variances_of_graded_scores_are_refused():
    with pytest.raises(DomainError, match="binary"):
        difference_variances(SyntheticBenchmark(scoring="graded"))


def test_a_single_look_of_the_z_test_keeps_its_level():
    benchmark = SyntheticBenchmark(means=(0.5, 0.5, 0.5), n_items=60, block_sizes=5)
    design = benchmark.design(method="bb-edge")
    false = sum(
        bool(z_test_edges(benchmark, design, benchmark.panels(rng, 10))[-1].any())
        for rng in np.random.default_rng(3).spawn(600)
    )
    # Exact for three equal models is a little below 5 %; the bounds are those of a binomial at 1e-6.
    assert 5 <= false <= stats.binom.isf(1e-6, 600, 0.05)


def test_a_contender_that_is_not_applicable_has_no_numbers():
    benchmark = SyntheticBenchmark(means=(0.2, 0.9), n_items=20)

    def measured(looks: int) -> set[str]:
        contest = Contest(name="few", benchmark=benchmark, contenders=("EMR", "t-Holm", "BB-EDGE"), looks=looks)
        return {name for name, _ in contest.repeat(RepetitionSeeds(seed=1, place="few", repetition=0))}

    assert measured(1) == {"EMR", "BB-EDGE"}
    assert measured(2) == {"EMR", "t-Holm", "BB-EDGE"}
