"""Bugs that would break the guarantee are planted, and the same rule must find them.

Each bug comes with its honest twin: the same data and design without the bug, which the rule must pass.
"""

import numpy as np
import pytest

from bbedge.core.design import Design
from bbedge.core.leaderboard import certify_pilot_top_k, run
from bbedge.core.predictions import RunningMean, TwoWay
from bbedge.study.synthetic import SyntheticBenchmark
from calibration.binomial_rule import breaks, fewest_that_break
from calibration.repetitions import ALPHA, METHODS, false_edge_runs, plain, show

pytestmark = pytest.mark.nightly

SOME_METHODS = [
    "bernstein-running-mean-paper",
    "hoeffding-running-mean-paper",
    "sharp-two-way-design",
    "betting-running-mean-design",
]


def judge(bug: str, honest: int, planted: int, n: int) -> None:
    needed = fewest_that_break(n, alpha=ALPHA)
    show(f"bug {bug}: honest {honest}/{n}, planted {planted}/{n}, caught from {needed} on")
    assert not breaks(honest, n, alpha=ALPHA)
    assert breaks(planted, n, alpha=ALPHA)


@pytest.mark.parametrize("method", SOME_METHODS)
def test_equal_stakes_on_unequal_blocks_are_caught(method):
    """Twenty small blocks favour one model and a large one the other: equal overall, not block by block."""
    benchmark = SyntheticBenchmark(means=(0.5, 0.5), n_items=40, block_sizes=(1,) * 20 + (20,), heterogeneity=0.3)
    honest = benchmark.design(alpha=ALPHA, **METHODS[method])
    # Block means taken for items of their own: every block then carries the same stake.
    equal = Design.make(benchmark.models, tuple(dict.fromkeys(benchmark.blocks)), alpha=ALPHA, **METHODS[method])

    def by_block(certifier, panel):
        return plain(certifier, honest.layout.means(panel))

    n, looks = 40, 15
    judge(
        f"equal-stakes {method}",
        false_edge_runs(benchmark, honest, looks=looks, n=n, seed=1),
        false_edge_runs(benchmark, equal, looks=looks, n=n, seed=1, step=by_block),
        n,
    )


class PeekingMean(RunningMean):
    """Has seen the replicate that it predicts."""

    def peek(self, means):
        super().update(means)

    def update(self, means):
        pass


class PeekingTwoWay(TwoWay):
    """Has seen the replicate that it predicts."""

    def peek(self, means):
        super().update(means)

    def update(self, means):
        pass


def peeking_predictor(design, space, *, batch):
    shape = (*batch, len(design.models), design.layout.count)
    if design.prediction == "running-mean":
        return PeekingMean(space, shape, design)
    return PeekingTwoWay(space, shape)


def peeking_step(certifier, panel):
    evidence = certifier.evidence
    evidence._predictor.peek(evidence.design.layout.means(panel))
    return plain(certifier, panel)


@pytest.mark.parametrize("prediction", ["running-mean", "two-way"])
@pytest.mark.parametrize(
    ("evidence", "n_items", "n"),
    [
        ("sharp", 600, 350),
        ("betting", 600, 350),
        # Its penalty is the coarsest: only small stakes, hence many blocks, show the leak.
        ("bernstein", 8000, 500),
    ],
)
def test_a_prediction_that_peeks_is_caught(monkeypatch, evidence, n_items, n, prediction):
    """At the first replicate half of the score leaks into its own prediction, and the penalty falls to a quarter.

    With many blocks the weighted sum is Gaussian, Z, and for a stake that moves the logarithm by s per standard
    deviation the evidence is exp(s Z - s^2 / 8) where exp(s Z - s^2 / 2) is fair. At s = 5.4 it passes 2 / alpha with
    probability 0.087 in either direction, 0.17 in all.
    """
    benchmark = SyntheticBenchmark(means=(0.5, 0.5), n_items=n_items, offset=0.0, kappa_item=0.0)
    stake = 5.4 / np.sqrt(n_items / 8)  # Y is 0, 1/2 or 1 with variance 1/8
    options = {"method": "bb-edge", "evidence": evidence, "prediction": prediction, "grid": [stake]}
    design = benchmark.design(alpha=ALPHA, **options)
    honest = false_edge_runs(benchmark, design, looks=2, n=n, seed=2)
    monkeypatch.setattr("bbedge.core.evidence.predictor_for", peeking_predictor)
    planted = false_edge_runs(benchmark, design, looks=2, n=n, seed=2, step=peeking_step)
    judge(f"peeking {evidence}-{prediction}", honest, planted, n)


@pytest.mark.parametrize("method", SOME_METHODS)
def test_dependence_inside_blocks_that_is_ignored_is_caught(method):
    benchmark = SyntheticBenchmark(
        means=(0.5, 0.5), n_items=20, block_sizes=10, offset=0.0, kappa_block=0.9, kappa_item=0.0
    )
    n, looks = 80, 15
    judge(
        f"blocks-ignored {method}",
        false_edge_runs(benchmark, benchmark.design(alpha=ALPHA, **METHODS[method]), looks=looks, n=n, seed=3),
        false_edge_runs(
            benchmark, benchmark.design(alpha=ALPHA, blocks="item", **METHODS[method]), looks=looks, n=n, seed=3
        ),
        n,
    )


def test_a_pilot_that_enters_the_evidence_is_caught():
    benchmark = SyntheticBenchmark(means=(0.5,) * 20, n_items=1, offset=0.0, kappa_item=0.0)
    options = {"alpha": ALPHA, "method": "bb-edge-x"}
    honest = planted = 0
    n, pilot = 250, 20
    for rng in np.random.default_rng(4).spawn(n):
        scores = benchmark.scores(rng, 30)
        board = certify_pilot_top_k(scores, k=1, pilot=pilot, **options)
        honest += board.graph.n_edges > 0
        planted += run(board.design, scores.panels()).graph.n_edges > 0
    judge("pilot-in-evidence", honest, planted, n)
