"""The probability of any false edge, at any look, is at most alpha: for every kind of evidence, on every null."""

import numpy as np
import pytest

from bbedge.core.leaderboard import certify_pilot_top_k, run
from bbedge.study.synthetic import SyntheticBenchmark, tied_pairs
from calibration.binomial_rule import breaks
from calibration.repetitions import (
    ALPHA,
    FIRST_TO_FAIL,
    METHODS,
    SOME_METHODS,
    TIGHT,
    false_edge_runs,
    long_run,
    plain,
    show,
    standing_edges,
)

UNEVEN = (1, 1, 2, 2, 6)

NULLS: dict[str, tuple[SyntheticBenchmark, dict]] = {
    "tight": (TIGHT, {}),
    "all-tied": (SyntheticBenchmark(means=(0.5,) * 5, n_items=12), {}),
    "heterogeneous": (SyntheticBenchmark(means=tied_pairs(0.45, 0.55, n_pairs=2), n_items=12, heterogeneity=0.2), {}),
    "blocks-of-five": (
        SyntheticBenchmark(means=(0.5, 0.5, 0.5), n_items=20, block_sizes=5, kappa_block=0.9, heterogeneity=0.2),
        {},
    ),
    "one-block": (
        SyntheticBenchmark(means=(0.5, 0.5), n_items=4, block_sizes=4, kappa_block=0.9, kappa_item=0.0),
        {"blocks": "one"},
    ),
    "graded-uneven": (
        SyntheticBenchmark(
            means=(0.7, 0.7), n_items=12, block_sizes=UNEVEN, scoring="graded", heterogeneity=0.2, levels=20
        ),
        {},
    ),
    "tiny-noise-uneven": (
        SyntheticBenchmark(
            means=(0.7, 0.7), n_items=12, block_sizes=UNEVEN, scoring="graded", heterogeneity=0.2, spread=0.05
        ),
        {},
    ),
    # One model answers like a coin that rarely fails, the other always gets the same part of the points.
    "rare-loss-uneven": (
        SyntheticBenchmark(means=(0.8, 0.8), n_items=12, block_sizes=UNEVEN, kappa_block=0.9, spread=(1.0, 0.0)),
        {},
    ),
    "exactly-tau": (
        SyntheticBenchmark(means=(0.6, 0.5), n_items=4, block_sizes=4, kappa_block=0.9, kappa_item=0.0),
        {"tau": 0.1},
    ),
    "exactly-tau-ladder": (
        SyntheticBenchmark(means=(0.6, 0.55, 0.5, 0.45), n_items=12, block_sizes=UNEVEN, spread=0.5),
        {"tau": 0.05},
    ),
}


def check_null(null: str, method: str, *, looks: int, n: int) -> None:
    benchmark, options = NULLS[null]
    design = benchmark.design(alpha=ALPHA, **METHODS[method], **options)
    failures = false_edge_runs(benchmark, design, looks=looks, n=n, seed=1)
    show(f"false-edges {null} {method} {failures}/{n} in {looks} looks")
    assert not breaks(failures, n, alpha=ALPHA)


@pytest.mark.parametrize("method", SOME_METHODS)
@pytest.mark.parametrize("null", NULLS)
def test_false_edges_are_rare(null, method):
    check_null(null, method, looks=12, n=40)


@pytest.mark.nightly
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("null", NULLS)
def test_false_edges_are_rare_in_the_long_run(null, method):
    check_null(null, method, looks=30, n=long_run(method, 400))


@pytest.mark.nightly
@pytest.mark.parametrize("prediction", ["running-mean", "two-way"])
def test_false_edges_are_rare_where_alpha_is_nearly_used_up(prediction):
    design = TIGHT.design(alpha=ALPHA, method="bb-edge-x", prediction=prediction)
    failures, n = false_edge_runs(TIGHT, design, looks=60, n=3000, seed=2), 3000
    show(f"false-edges tight-long bb-edge-x-{prediction} {failures}/{n} in 60 looks")
    assert not breaks(failures, n, alpha=ALPHA)
    # The check is worth something only where failures do happen.
    assert failures > 0.4 * ALPHA * n


@pytest.mark.nightly
@pytest.mark.parametrize("method", ["bb-edge", "bb-edge-x"])
@pytest.mark.parametrize("block_size", [1, 5, 100])
@pytest.mark.parametrize("heterogeneity", [0.0, 0.2])
def test_false_edges_are_rare_in_the_stated_setting(heterogeneity, block_size, method):
    benchmark = SyntheticBenchmark(heterogeneity=heterogeneity, block_sizes=block_size)
    n = 100
    failures = false_edge_runs(benchmark, benchmark.design(alpha=ALPHA, method=method), looks=60, n=n, seed=3)
    show(f"false-edges stated-h{heterogeneity}-blocks{block_size} {method} {failures}/{n}")
    assert not breaks(failures, n, alpha=ALPHA)


def active_rows(certifier, panel):
    return panel[[certifier.evidence.design.models.index(name) for name in certifier.evidence.active]]


def stop_settled(certifier, panel):
    """Run on with the models that have an undecided pair left."""
    if len(certifier.evidence.active) < 2:
        return np.zeros((len(panel),) * 2, dtype=bool)
    edges = plain(certifier, active_rows(certifier, panel))
    above = certifier.leaderboard().graph.above
    decided = (above | above.T | np.eye(len(above), dtype=bool)).all(axis=1)
    models = certifier.evidence.design.models
    certifier.stop([m for m, done in zip(models, decided, strict=True) if done and m in certifier.evidence.active])
    return edges


def stop_at_the_top(certifier, panel):
    """Freeze models while their evidence is high, which is what somebody who wants an edge would do."""
    if len(certifier.evidence.active) < 2:
        return np.zeros((len(panel),) * 2, dtype=bool)
    look = certifier.update(active_rows(certifier, panel))
    models = certifier.evidence.design.models
    high = np.flatnonzero(np.nanmax(look.log_e, axis=1) > np.log(5.0))
    certifier.stop([models[i] for i in high if models[i] in certifier.evidence.active])
    return look.edges


STOPPING = {
    "settled": (SyntheticBenchmark(means=(0.9, 0.5, 0.5, 0.5, 0.1), n_items=12, offset=0.0), stop_settled),
    "at-the-top": (SyntheticBenchmark(means=(0.5,) * 4, n_items=1, offset=0.0, kappa_item=0.0), stop_at_the_top),
}


def check_stopping(policy: str, method: str, *, looks: int, n: int) -> None:
    benchmark, step = STOPPING[policy]
    failures = false_edge_runs(
        benchmark, benchmark.design(alpha=ALPHA, **METHODS[method]), looks=looks, n=n, seed=4, step=step
    )
    show(f"stopping {policy} {method} {failures}/{n}")
    assert not breaks(failures, n, alpha=ALPHA)


@pytest.mark.parametrize("method", FIRST_TO_FAIL)
@pytest.mark.parametrize("policy", STOPPING)
def test_stopping_models_costs_no_level(policy, method):
    check_stopping(policy, method, looks=15, n=30)


@pytest.mark.nightly
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("policy", STOPPING)
def test_stopping_models_costs_no_level_in_the_long_run(policy, method):
    check_stopping(policy, method, looks=40, n=long_run(method, 300))


def test_settled_models_are_indeed_stopped():
    benchmark, step = STOPPING["settled"]
    design = benchmark.design(alpha=ALPHA, method="bb-edge-x")
    sizes = []

    def recording(certifier, panel):
        edges = step(certifier, panel)
        sizes.append(len(certifier.evidence.active))
        return edges

    standing_edges(design, benchmark.panels(np.random.default_rng(1), 30), benchmark.null(), step=recording)
    assert sizes[-1] == 3


PILOTS = {
    # The models around the cut are equal, so whatever the pilot picks, some tested directions are null.
    "tied-at-the-cut": (SyntheticBenchmark(means=(0.7, 0.5, 0.5, 0.5, 0.3), n_items=4, heterogeneity=0.1), 2),
    "all-tied": (SyntheticBenchmark(means=(0.5,) * 4, n_items=1, offset=0.0, kappa_item=0.0), 1),
}


def check_pilot(pilot: str, method: str, *, looks: int, n: int) -> None:
    benchmark, k = PILOTS[pilot]
    failures = 0
    for rng in np.random.default_rng(5).spawn(n):
        board = certify_pilot_top_k(benchmark.scores(rng, 5 + looks), k=k, pilot=5, alpha=ALPHA, **METHODS[method])
        failures += bool((board.edges & benchmark.null()).any())
    show(f"pilot {pilot} {method} {failures}/{n}")
    assert not breaks(failures, n, alpha=ALPHA)


@pytest.mark.parametrize("method", FIRST_TO_FAIL)
@pytest.mark.parametrize("pilot", PILOTS)
def test_a_pilot_may_choose_the_candidate(pilot, method):
    check_pilot(pilot, method, looks=15, n=30)


@pytest.mark.nightly
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("pilot", PILOTS)
def test_a_pilot_may_choose_the_candidate_in_the_long_run(pilot, method):
    check_pilot(pilot, method, looks=40, n=long_run(method, 300))


def test_what_is_counted_is_the_standing_graph():
    benchmark = SyntheticBenchmark(means=(0.7, 0.5, 0.3), n_items=12)
    design, panels = benchmark.design(method="bb-edge-x"), benchmark.panels(np.random.default_rng(6), 15)
    union = standing_edges(design, panels, benchmark.null())
    assert union.any()
    np.testing.assert_array_equal(union, run(design, panels).edges)
