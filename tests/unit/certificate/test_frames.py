"""The frames say what the scores and the certified directions say, computed here one by one."""

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest

from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Certifier, Leaderboard, certify, certify_design, certify_pilot_top_k
from bbedge.core.scores import Scores
from unit.certificate.documents import LOOK_BY_LOOK, circular, drawn, parted

MODELS = {
    "model": pl.String,
    "mean": pl.Float64,
    "rank_best": pl.Int64,
    "rank_worst": pl.Int64,
    "wins": pl.Int64,
    "losses": pl.Int64,
}
PAIRS = {
    "model": pl.String,
    "other": pl.String,
    "difference": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "log_e": pl.Float64,
    "certified": pl.Boolean,
    "since": pl.Int64,
}


def scaled() -> Scores:
    """Scores that were on a scale from -5 to 15."""
    return replace(parted(), score_range=(-5.0, 15.0))


@pytest.fixture(scope="module")
def leaderboard() -> Leaderboard:
    scores = scaled()
    return certify_design(scores, scores.design(**LOOK_BY_LOOK, tau=0.01))


def ordered(leaderboard: Leaderboard) -> set[tuple[str, str]]:
    """Every pair that a path of certified directions decides, found by following the directions."""
    names = leaderboard.design.models
    found = {(names[a], names[b]) for a, b in np.argwhere(leaderboard.first_certified > 0).tolist()}
    while more := {(a, d) for (a, b), (c, d) in product(found, found) if b == c} - found:
        found |= more
    return {(a, b) for a, b in found if (b, a) not in found}


def test_a_row_per_model(leaderboard):
    scores, above = scaled(), ordered(leaderboard)
    frame = leaderboard.to_frame()
    assert dict(frame.schema) == MODELS
    assert frame["model"].to_list() == [scores.models[i] for i in leaderboard.order()]
    for row in frame.iter_rows(named=True):
        raw = -5.0 + 20.0 * scores.values[:, scores.models.index(row["model"])]
        assert row["mean"] == pytest.approx(float(raw.mean()), abs=1e-12)
        assert row["wins"] == sum(better == row["model"] for better, _ in above)
        assert row["losses"] == sum(worse == row["model"] for _, worse in above)
        assert (row["rank_best"], row["rank_worst"]) == (1 + row["losses"], 5 - row["wins"])
    assert frame["wins"].sum() == len(above) > 0


def test_the_frame_is_of_what_stands(leaderboard):
    assert Graph(leaderboard.current_edges).n_resolved < leaderboard.graph.n_resolved
    assert leaderboard.graph.n_resolved == leaderboard.to_frame()["wins"].sum()


def test_a_row_per_tested_direction(leaderboard):
    scores, above = scaled(), ordered(leaderboard)
    frame = leaderboard.pairs_frame()
    assert dict(frame.schema) == PAIRS
    shown = [scores.models[i] for i in leaderboard.order()]
    pairs = list(zip(frame["model"], frame["other"], strict=True))
    assert pairs == [(a, b) for a in shown for b in shown if a != b]
    # From the first look on, one look at a time: the replicate at which each direction was first certified.
    certifier, since = Certifier(leaderboard.design), {}
    for replicate, panel in enumerate(scores.values, start=1):
        for a, b in np.argwhere(certifier.update(panel).edges).tolist():
            since.setdefault((scores.models[a], scores.models[b]), replicate)
    bounds = 20.0 * certifier.evidence.lower_bounds()
    raw = dict(zip(scores.models, (-5.0 + 20.0 * scores.values).mean(axis=(0, 2)).tolist(), strict=True))
    for pair, row in zip(pairs, frame.iter_rows(named=True), strict=True):
        a, b = map(scores.models.index, pair)
        assert row["difference"] == pytest.approx(raw[pair[0]] - raw[pair[1]], abs=1e-12)
        assert row["lower"] == pytest.approx(float(bounds[a, b]))
        assert row["upper"] == pytest.approx(-float(bounds[b, a]))
        assert row["lower"] < row["difference"] < row["upper"]
        assert row["log_e"] == float(certifier.evidence.log_e()[a, b])
        assert row["certified"] is (pair in above) is leaderboard.certified(*pair)
        assert row["since"] == since.get(pair)
    assert {row for row in frame["since"] if row is not None} >= {1, 2}


def test_a_pair_that_only_a_path_decides_has_no_since():
    edges = np.zeros((3, 3), dtype=bool)
    edges[0, 1] = edges[1, 2] = True
    base = certify(drawn([0.5, 0.5, 0.5]), method="bb-edge")
    leaderboard = replace(base, graph=Graph(edges), current_edges=edges, first_certified=2 * edges)
    rows = {(row["model"], row["other"]): row for row in leaderboard.pairs_frame().iter_rows(named=True)}
    assert (rows["m00", "m02"]["certified"], rows["m00", "m02"]["since"]) == (True, None)
    assert (rows["m00", "m01"]["certified"], rows["m00", "m01"]["since"]) == (True, 2)
    assert (rows["m02", "m00"]["certified"], rows["m02", "m00"]["since"]) == (False, None)


def test_only_tested_directions_have_a_row_and_one_side_a_bound():
    scores = drawn([0.9, 0.5, 0.2], names=["high", "mid", "low"])
    leaderboard = certify_pilot_top_k(scores, k=1, pilot=1, method="bb-edge-x")
    frame = leaderboard.pairs_frame()
    assert list(zip(frame["model"], frame["other"], strict=True)) == [("high", "mid"), ("high", "low")]
    assert frame["upper"].null_count() == 2
    assert frame["lower"].null_count() == 0


def test_before_the_first_replicate_nothing_is_known():
    leaderboard = Certifier(drawn([0.5, 0.6, 0.7]).design(method="bb-edge")).leaderboard()
    frame, pairs = leaderboard.to_frame(), leaderboard.pairs_frame()
    assert frame["mean"].null_count() == 3
    assert (frame["rank_best"].to_list(), frame["rank_worst"].to_list()) == ([1] * 3, [3] * 3)
    assert pairs["difference"].null_count() == pairs["since"].null_count() == len(pairs) == 6
    assert set(pairs["lower"]) == {-1.0}
    assert set(pairs["upper"]) == {1.0}
    assert not pairs["certified"].any()


def test_models_in_a_circle_are_not_above_each_other():
    frame = circular().to_frame()
    assert dict(zip(frame["model"], frame["wins"], strict=True)) == {"a": 1, "b": 1, "c": 1, "d": 0}
    pairs = circular().pairs_frame().filter(pl.col("certified"))
    assert set(pairs["other"]) == {"d"}
