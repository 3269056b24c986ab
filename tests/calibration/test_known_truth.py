"""Eight invented models on 40 dialogues, six times over: what is certified is true, and it is a good part of all."""

import numpy as np
import pytest

import bbedge
from bbedge.study.synthetic import SyntheticBenchmark

SEED = 20260
REPLICATES = 6
DIALOGUES = 40
# The third and the seventh are equal: no honest leaderboard tells them apart.
MEANS = (0.545, 0.66, 0.74, 0.795, 0.61, 0.45, 0.74, 0.60)


@pytest.fixture(scope="module")
def scores() -> bbedge.Scores:
    rng = np.random.default_rng(SEED)
    turns = tuple(int(n) for n in rng.integers(2, 5, size=DIALOGUES))
    benchmark = SyntheticBenchmark(
        means=MEANS, n_items=sum(turns), block_sizes=turns, scoring="graded", spread=0.8, levels=100
    )
    names = [(f"d{d}-t{t}", f"d{d}") for d, n in enumerate(turns) for t in range(n)]
    return bbedge.Scores.of(
        np.stack(list(benchmark.panels(rng, REPLICATES))),
        models=[f"m{place}" for place in range(len(MEANS))],
        items=[item for item, _ in names],
        blocks=[block for _, block in names],
    )


@pytest.mark.parametrize(
    ("options", "pairs"),
    [
        ({"method": "bb-edge"}, 16),
        ({"method": "bb-edge-x"}, 23),
        ({"method": "bb-edge-x", "stakes": "design"}, 22),
        ({"method": "bb-edge-x", "planned": REPLICATES}, 24),
        ({"method": "bb-edge-x", "margin_share": 0.0}, 23),
    ],
    ids=["bb-edge", "bb-edge-x", "design stakes", "planned", "whole alpha"],
)
def test_a_good_part_is_certified_and_nothing_false(scores, options, pairs):
    board = bbedge.certify(scores, **options)
    theta = np.array([MEANS[int(name[1:])] for name in board.design.models])
    assert not (board.edges & (theta[:, None] <= theta)).any()
    assert board.graph.n_resolved == pairs
