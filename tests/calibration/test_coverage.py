"""Rank intervals and margins hold for all models and at all looks together, with probability at least 1 - alpha."""

import numpy as np
import pytest

from bbedge.core.design import Design
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Certifier, run
from bbedge.study.synthetic import SyntheticBenchmark
from calibration.binomial_rule import breaks
from calibration.repetitions import ALPHA, FIRST_TO_FAIL, METHODS, TIGHT, long_run, show

pytestmark = pytest.mark.nightly

UNEVEN = (1,) * 4 + (2,) * 8

TRUTHS: dict[str, tuple[SyntheticBenchmark, dict]] = {
    "tight": (TIGHT, {}),
    "ties-in-the-middle": (
        SyntheticBenchmark(means=(0.7, 0.5, 0.5, 0.3), n_items=20, block_sizes=UNEVEN, heterogeneity=0.1),
        {},
    ),
    "quiet": (
        SyntheticBenchmark(
            means=(0.8, 0.6, 0.6, 0.4), n_items=20, block_sizes=UNEVEN, scoring="graded", spread=0.2, levels=100
        ),
        {},
    ),
    "rare-loss": (
        SyntheticBenchmark(means=(0.8, 0.75), n_items=4, block_sizes=4, kappa_block=0.9, spread=(1.0, 0.0)),
        {"tau": 0.02},
    ),
}


def true_rank_ranges(benchmark):
    """Best and worst rank of each model when ties may be broken either way."""
    better = (benchmark.differences > 1e-12).sum(axis=0)
    worse = (benchmark.differences > 1e-12).sum(axis=1)
    return np.stack([1 + better, len(benchmark.means) - worse], axis=1)


def check_coverage(truth: str, method: str, *, looks: int, n: int) -> None:
    benchmark, options = TRUTHS[truth]
    design = benchmark.design(alpha=ALPHA, **METHODS[method], **options)
    ranks, off_diagonal = true_rank_ranges(benchmark), ~np.eye(len(benchmark.means), dtype=bool)
    rank_misses = margin_misses = 0
    narrowest, highest = np.inf, -1.0
    for rng in np.random.default_rng(7).spawn(n):
        certifier = Certifier(design)
        ranks_hold = margins_hold = True
        for panel in benchmark.panels(rng, looks):
            certifier.update(panel)
            board = certifier.leaderboard()
            for graph in (Graph(board.current_edges), board.graph):
                intervals = np.array(graph.rank_intervals)
                ranks_hold &= bool(np.all((intervals[:, 0] <= ranks[:, 0]) & (ranks[:, 1] <= intervals[:, 1])))
            margins_hold &= bool(np.all(board.lower_bounds[off_diagonal] <= benchmark.differences[off_diagonal]))
        narrowest = min(narrowest, float(np.diff(intervals).mean()))
        highest = max(highest, float(np.nanmax(board.lower_bounds)))
        rank_misses += not ranks_hold
        margin_misses += not margins_hold
    show(
        f"coverage {truth} {method} ranks {rank_misses}/{n} margins {margin_misses}/{n}; "
        f"narrowest mean width {narrowest:.2f}, highest bound {highest:.3f}"
    )
    assert not breaks(rank_misses, n, alpha=ALPHA)
    assert not breaks(margin_misses, n, alpha=ALPHA)


@pytest.mark.parametrize("method", FIRST_TO_FAIL)
@pytest.mark.parametrize("truth", TRUTHS)
def test_ranks_and_margins_hold(truth, method):
    check_coverage(truth, method, looks=15, n=40)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("truth", TRUTHS)
def test_ranks_and_margins_hold_in_the_long_run(truth, method):
    check_coverage(truth, method, looks=30, n=long_run(method, 300))


def test_bounds_from_equal_stakes_on_unequal_blocks_are_caught():
    """Twenty small blocks favour one model and a large one the other; the rule must find the bounds too high."""
    benchmark = SyntheticBenchmark(means=(0.5, 0.5), n_items=40, block_sizes=(1,) * 20 + (20,), heterogeneity=0.3)
    honest = benchmark.design(alpha=ALPHA, method="bb-edge-x")
    equal = Design.make(benchmark.models, tuple(dict.fromkeys(benchmark.blocks)), alpha=ALPHA, method="bb-edge-x")
    n, misses = 20, {"honest": 0, "equal": 0}
    for rng in np.random.default_rng(8).spawn(n):
        panels = benchmark.panels(rng, 15)
        for name, design, seen in (
            ("honest", honest, panels),
            ("equal", equal, [honest.layout.means(panel) for panel in panels]),
        ):
            misses[name] += bool(np.nanmax(run(design, seen).lower_bounds) > 0.0)
    assert not breaks(misses["honest"], n, alpha=ALPHA)
    assert breaks(misses["equal"], n, alpha=ALPHA)
