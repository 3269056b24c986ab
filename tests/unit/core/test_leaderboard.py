import dataclasses

import numpy as np
import polars as pl
import pytest

from bbedge.core.design import Design
from bbedge.core.eholm import e_holm, log_threshold
from bbedge.core.leaderboard import Certifier, certify, certify_pilot_top_k, pilot_design, run
from bbedge.core.scores import Scores
from bbedge.errors import DataError, DesignError, DomainError, FormatError
from bbedge.readers import read_scores

ITEMS = [f"q{i}" for i in range(10)]
WINS = np.array([np.ones(10), np.zeros(10)])


def two_models(**options):
    return Design.make(["a", "b"], ITEMS, method="bb-edge", evidence="betting", stakes="design", **options)


def three_steps(replicates=4, seed=0):
    """Scores of three models far apart."""
    rng = np.random.default_rng(seed)
    chance = np.array([0.15, 0.9, 0.5])[:, None]
    values = (rng.random((replicates, 3, 60)) < chance).astype(float)
    return Scores.of(values, models=["low", "high", "mid"], items=[f"i{k}" for k in range(60)])


# Looks -----------------------------------------------------------------------------------------------------------


def test_a_leaderboard_without_data():
    board = Certifier(Design.make(["a", "b", "c"], ITEMS, method="bb-edge")).leaderboard()
    assert board.replicates == 0
    assert board.looks == ()
    assert board.graph.rank_intervals == ((1, 3),) * 3
    assert board.graph.n_edges == 0
    assert np.isnan(board.means).all()
    assert np.all(board.log_e[board.design.tested] == 0.0)
    assert np.all(board.lower_bounds[board.design.tested] == -1.0)
    assert not board.first_certified.any()
    assert board.contradictions == ()
    assert board.order() == (0, 1, 2)
    # Six directions at evidence one: 20 + 6 * 19.
    assert np.nanmax(board.log_thresholds) == pytest.approx(np.log(134))


def test_a_look_is_what_the_evidence_and_e_holm_say():
    certifier = Certifier(two_models())
    for replicate in range(1, 4):
        look = certifier.update(WINS)
        assert look.replicate == replicate
        np.testing.assert_array_equal(look.log_e, certifier.evidence.log_e())
        np.testing.assert_array_equal(look.edges, e_holm(look.log_e, alpha=0.05))
    board = certifier.leaderboard()
    assert board.replicates == 3
    np.testing.assert_array_equal(board.log_e, look.log_e)
    assert np.nanmin(board.log_thresholds) == log_threshold(look.log_e, 0.05)
    np.testing.assert_array_equal(board.current_edges, look.edges)
    assert [count.replicate for count in board.looks] == [1, 2, 3]
    assert board.looks[-1].edges == board.looks[-1].resolved_pairs == 1


def test_resolved_pairs_count_paths():
    board = certify(three_steps(), method="bb-edge")
    assert board.looks[-1].edges == 3
    assert board.looks[-1].resolved_pairs == 3
    assert [board.design.models[i] for i in board.order()] == ["high", "mid", "low"]


def test_an_edge_that_is_lost_still_stands():
    # Two replicates of a far above b, then replicates in which b is a little ahead.
    certifier = Certifier(two_models())
    back = np.array([[0.0] * 6 + [1.0] * 4, [1.0] * 6 + [0.0] * 4])
    edges = [bool(certifier.update(WINS if r < 2 else back).edges[0, 1]) for r in range(6)]
    assert any(edges)
    assert not edges[-1]
    first = edges.index(True) + 1
    board = certifier.leaderboard()
    assert board.current_edges.sum() == 0
    assert board.edges.tolist() == [[False, True], [False, False]]
    assert board.first_certified.tolist() == [[0, first], [0, 0]]
    assert board.is_certified("a", "b")
    assert not board.is_certified("b", "a")
    assert board.contradictions == ()


def test_an_edge_lost_on_golden_scores(request):
    table = pl.read_parquet(request.config.rootpath / "tests" / "golden" / "singletons_binary.parquet")
    table = table.sort("replicate", "model", "item")
    models, items = sorted(set(table["model"])), sorted(set(table["item"]))
    values = table["score"].to_numpy().reshape(-1, len(models), len(items))
    certifier = Certifier(Design.make(models, items, evidence="hoeffding", method="bb-edge"))
    looks = [certifier.update(panel) for panel in values]
    board = certifier.leaderboard()
    counts = [int(look.edges.sum()) for look in looks]
    stands = np.logical_or.accumulate([look.edges for look in looks])
    assert [count.edges for count in board.looks] == stands.sum(axis=(1, 2)).tolist()
    assert max(counts) == 3
    assert counts[-1] == board.current_edges.sum() == 2
    assert board.graph.n_edges == 3
    ((a, b),) = np.argwhere(board.edges & ~board.current_edges).tolist()
    assert board.first_certified[a, b] == next(look.replicate for look in looks if look.edges[a, b])
    assert board.is_certified(models[a], models[b])


def test_first_certified_is_the_first_look_with_the_edge():
    scores = three_steps()
    certifier = Certifier(scores.design(method="bb-edge-x"))
    first = np.zeros((3, 3), dtype=int)
    for panel in scores.panels():
        look = certifier.update(panel)
        first[look.edges & (first == 0)] = look.replicate
    assert first.any()
    np.testing.assert_array_equal(certifier.leaderboard().first_certified, first)


def test_a_leaderboard_is_a_snapshot():
    certifier = Certifier(two_models())
    before = certifier.leaderboard()
    for _ in range(3):
        certifier.update(WINS)
    assert before.replicates == 0
    assert before.looks == ()
    assert not before.first_certified.any()
    assert before.current_edges.sum() == 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        before.replicates = 3


# Contradictions --------------------------------------------------------------------------------------------------


def test_data_that_turn_round_are_reported_as_a_contradiction():
    # Replicates that are not alike break the assumptions; both directions get certified, and neither is dropped.
    certifier = Certifier(two_models())
    for replicate in range(12):
        certifier.update(WINS if replicate < 3 else WINS[::-1])
    board = certifier.leaderboard()
    assert board.contradictions == (("a", "b"),)
    assert board.edges.tolist() == [[False, True], [True, False]]
    assert board.current_edges.tolist() == [[False, False], [True, False]]
    assert board.graph.cycles == ((0, 1),)
    assert not board.is_certified("a", "b")
    assert not board.is_certified("b", "a")
    assert 0 < board.first_certified[0, 1] < board.first_certified[1, 0]


# Order -----------------------------------------------------------------------------------------------------------


def test_order_is_by_tier_then_mean_then_name():
    names = ["d", "c", "b", "a"]
    certifier = Certifier(Design.make(names, ITEMS, evidence="betting", stakes="design", method="bb-edge"))
    for _ in range(4):
        certifier.update(np.array([np.zeros(10), np.ones(10), np.zeros(10), [0.0] * 9 + [0.3]]))
    board = certifier.leaderboard()
    assert board.graph.tiers[0] == (1,)
    assert [names[i] for i in board.order()] == ["c", "a", "b", "d"]


def test_a_tier_counts_more_than_a_mean():
    board = certify(three_steps(), method="bb-edge")
    swapped = dataclasses.replace(board, means=np.array([0.9, 0.1, 0.5]))
    assert swapped.order() == board.order()


# Stopping --------------------------------------------------------------------------------------------------------


def test_a_stopped_model_keeps_its_edges():
    scores = three_steps(6)
    certifier = Certifier(scores.design(method="bb-edge-x"))
    for panel in scores.values[:3]:
        certifier.update(panel)
    edges = certifier.leaderboard().current_edges
    assert edges[1, 0]
    certifier.stop(["low"])
    assert certifier.evidence.active == ("high", "mid")
    for panel in scores.values[3:]:
        look = certifier.update(panel[1:])
    assert look.edges[1, 0]
    assert certifier.leaderboard().replicates == 6


# Certifying in one go --------------------------------------------------------------------------------------------


def test_certify_is_the_certifier_panel_by_panel():
    scores = three_steps()
    board = certify(scores, alpha=0.1, method="bb-edge-x")
    certifier = Certifier(scores.design(alpha=0.1, method="bb-edge-x"))
    for panel in scores.panels():
        certifier.update(panel)
    other = certifier.leaderboard()
    assert board.design == other.design
    np.testing.assert_array_equal(board.log_e, other.log_e)
    np.testing.assert_array_equal(board.lower_bounds, other.lower_bounds)
    assert board.looks == other.looks


def test_certify_refuses_an_incomplete_panel():
    scores = three_steps()
    scores.values[1, 2, 3] = np.nan
    with pytest.raises(DataError, match="model 'mid' on item 'i3'"):
        certify(scores, method="bb-edge")


# Pilot Top-k -----------------------------------------------------------------------------------------------------


def test_the_pilot_picks_and_never_enters_the_evidence():
    scores = three_steps(6)
    board = certify_pilot_top_k(scores, k=2, pilot=2, method="bb-edge-x", alpha=0.1)
    assert board.design.family.candidate == ("high", "mid")
    straight = run(scores.design(candidate=["high", "mid"], method="bb-edge-x", alpha=0.1), scores.values[2:])
    assert board.replicates == 4
    assert board.design == straight.design
    np.testing.assert_array_equal(board.log_e, straight.log_e)
    np.testing.assert_array_equal(board.first_certified, straight.first_certified)
    # Only candidate -> others is tested: from rows high and mid to the column low.
    assert np.argwhere(~np.isnan(board.log_e)).tolist() == [[1, 0], [2, 0]]
    assert board.graph.top_k(2) == (1, 2)
    # Other panels in the pilot with the same ranking change nothing.
    again = scores.values.copy()
    again[:2] = np.array([0.0, 1.0, 0.5])[:, None]
    again[1, 2, 0] = 0.25
    other = certify_pilot_top_k(dataclasses.replace(scores, values=again), k=2, pilot=2, method="bb-edge-x", alpha=0.1)
    np.testing.assert_array_equal(other.log_e, board.log_e)


def test_the_candidate_comes_from_the_pilot_alone():
    values = np.zeros((4, 2, 4))
    values[0, 1] = 1.0
    values[1:3, 0] = 1.0
    scores = Scores.of(values, models=["a", "b"], items=list("wxyz"))
    assert pilot_design(scores, k=1, pilot=1, method="bb-edge").family.candidate == ("b",)
    assert pilot_design(scores, k=1, pilot=3, method="bb-edge").family.candidate == ("a",)


def test_equal_pilot_means_go_to_the_first_model():
    scores = Scores.of(np.full((2, 4, 3), 0.5), models=["d", "c", "b", "a"], items=list("xyz"))
    assert pilot_design(scores, k=1, pilot=1, method="bb-edge").family.candidate == ("d",)
    assert certify_pilot_top_k(scores, k=2, pilot=1, method="bb-edge").design.family.candidate == ("c", "d")


@pytest.mark.parametrize("k", [0, 3, -1, 10])
def test_an_impossible_k(k):
    with pytest.raises(DomainError, match=f"k = {k} is not allowed; with 3 models choose 1 <= k <= 2"):
        certify_pilot_top_k(three_steps(), k=k, pilot=1, method="bb-edge")


@pytest.mark.parametrize("pilot", [0, 4, 5, -1])
def test_an_impossible_pilot(pilot):
    with pytest.raises(DesignError, match=f"a pilot of {pilot} replicates is not possible with 4 in all"):
        certify_pilot_top_k(three_steps(), k=1, pilot=pilot, method="bb-edge")


def test_weights_decide_what_is_compared():
    # The first model is better on the ten items that weigh a lot, the second on the thirty that weigh little.
    panel = np.repeat([[1.0, 0.0], [0.0, 1.0]], [10, 30], axis=1)
    scores = Scores.of(panel, models=["a", "b"], items=[f"q{i}" for i in range(40)])
    weights = [1.0] * 10 + [0.0] * 30
    assert not certify(scores).certified("a", "b")
    weighted = certify(scores, weights=weights)
    assert weighted.certified("a", "b")
    assert weighted.means.tolist() == pytest.approx([1.0, 0.0])


def test_a_pilot_ranks_by_weighted_means():
    panel = np.repeat([[1.0, 0.0], [0.0, 1.0]], [10, 30], axis=1)
    scores = Scores.of(np.stack([panel, panel]), models=["a", "b"], items=[f"q{i}" for i in range(40)])
    assert pilot_design(scores, k=1, pilot=1).family.candidate == ("b",)
    assert pilot_design(scores, k=1, pilot=1, weights=[1.0] * 10 + [0.1] * 30).family.candidate == ("a",)


# What may be certified -------------------------------------------------------------------------------------------


def test_a_path_and_frames_are_certified_as_their_scores_are(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    rows = [
        {"model": model, "item": f"q{item}", "replicate": run, "score": float(rng.random() < mean)}
        for run in (1, 2)
        for model, mean in (("a", 0.9), ("b", 0.3))
        for item in range(60)
    ]
    frame, path = pl.DataFrame(rows), tmp_path / "scores.csv"
    frame.write_csv(path)
    expected = certify(read_scores(path)).answer
    assert "a beats b" in expected
    for given in (path, str(path), frame, pd.DataFrame(rows)):
        assert certify(given).answer == expected
        assert certify_pilot_top_k(given, k=1, pilot=1).pilot == 1
    with pytest.raises(FormatError, match=r"nowhere\.csv"):
        certify("nowhere.csv")
