"""A leaderboard and its scores speak in names, are shown in a line, and can be compared and hashed."""

import pickle

import numpy as np
import pytest

from bbedge.core.design import Design
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Certifier, certify, certify_design
from bbedge.core.looks import MOST_LOOKS, MOST_MODELS
from bbedge.core.scores import Scores
from bbedge.errors import DesignError, DomainError
from unit.certificate.documents import circular, drawn, parted


@pytest.fixture(scope="module")
def leaderboard():
    """Four models, of which the last two are alike; the best come first neither by name nor by place."""
    means, names = [0.5, 0.95, 0.5, 0.8], ["dove", "crow", "bat", "ant"]
    return certify(drawn(means, names=names, items=300), method="bb-edge-x")


def test_a_leaderboard_is_shown_in_a_line(leaderboard):
    assert repr(leaderboard) == "Leaderboard(4 models, 300 items, 3 replicates: 5 of 6 pairs certified)"
    empty = Certifier(Design.make(["a", "b"], ["q"], method="bb-edge")).leaderboard()
    assert repr(empty) == "Leaderboard(2 models, 1 item, 0 replicates: 0 of 1 pairs certified)"


def test_a_contradiction_is_not_hidden():
    assert repr(circular()) == "Leaderboard(4 models, 2 items, 2 replicates: 3 of 6 pairs certified, CONTRADICTION)"


def test_scores_are_shown_in_a_line():
    scores = Scores.of(np.zeros((1, 2, 3)), models=["a", "b"], items=list("xyz"), blocks=["d", "d", "e"])
    assert repr(scores) == "Scores(2 models, 3 items in 2 blocks, 1 replicate)"


def test_the_history_is_shown_in_a_line(leaderboard):
    assert repr(leaderboard.history) == "History(3 looks, to replicate 3)"


def test_equality_is_identity_and_everything_can_be_hashed(leaderboard):
    scores = drawn([0.5, 0.6])
    for one, other in (
        (scores, drawn([0.5, 0.6])),
        (leaderboard, certify(drawn([0.5, 0.6]), method="bb-edge")),
        (leaderboard.history, certify(drawn([0.5, 0.6]), method="bb-edge").history),
        (leaderboard.certificate(), leaderboard.certificate()),
    ):
        same = one
        assert one == same
        assert one != other
        assert len({one, other, same}) == 2


def test_what_is_certified_by_name(leaderboard):
    better = {("crow", "ant"), ("crow", "bat"), ("crow", "dove"), ("ant", "bat"), ("ant", "dove")}
    names = leaderboard.design.models
    for a in names:
        for b in names:
            assert leaderboard.certified(a, b) is leaderboard.is_certified(a, b) is ((a, b) in better)


def test_rank_intervals_by_name(leaderboard):
    found = {name: leaderboard.rank_interval(name) for name in leaderboard.design.models}
    assert found == {"crow": (1, 1), "ant": (2, 2), "bat": (3, 4), "dove": (3, 4)}


def test_top_sets_by_name(leaderboard):
    assert leaderboard.top_k(1) == ("crow",)
    assert leaderboard.top_k(2) == ("crow", "ant")
    assert leaderboard.top_k(3) is None
    # Positions, as before.
    assert leaderboard.graph.top_k(2) == (1, 3)


def test_names_are_about_what_stands_and_not_the_last_look_alone():
    scores = parted()
    leaderboard = certify_design(scores, scores.design(method="bb-edge", evidence="betting", stakes="design", tau=0.01))
    names = leaderboard.design.models
    lapsed = np.argwhere(leaderboard.graph.above & ~Graph(leaderboard.current_edges).above)
    assert len(lapsed)
    for a, b in lapsed.tolist():
        assert leaderboard.certified(names[a], names[b])
    assert leaderboard.graph.rank_intervals != Graph(leaderboard.current_edges).rank_intervals
    assert tuple(map(leaderboard.rank_interval, names)) == leaderboard.graph.rank_intervals


@pytest.mark.parametrize("k", [0, -1, 4, 5])
def test_a_top_set_of_no_or_all_models_is_refused(leaderboard, k):
    with pytest.raises(DomainError, match=f"k = {k} is not allowed; with 4 models choose 1 <= k <= 3"):
        leaderboard.top_k(k)


def test_an_unknown_model_is_named_with_those_there_are(leaderboard):
    known = "'eel' is not a model of this leaderboard; its models are 'dove', 'crow', 'bat', 'ant'"
    for ask in (
        lambda: leaderboard.rank_interval("eel"),
        lambda: leaderboard.certified("eel", "ant"),
        lambda: leaderboard.is_certified("ant", "eel"),
    ):
        with pytest.raises(DesignError) as error:
            ask()
        assert str(error.value) == known


def test_a_certifier_records_every_look():
    scores = drawn([0.8, 0.6, 0.4])
    certifier = Certifier(scores.design(method="bb-edge"))
    assert certifier.leaderboard().history is None
    seen = [certifier.update(panel) for panel in scores.panels()]
    history = certifier.leaderboard().history
    assert history.replicates == (1, 2, 3)
    for look, log_e, threshold in zip(seen, history.values, history.log_thresholds, strict=True):
        np.testing.assert_allclose(log_e, look.log_e, atol=5.1e-5)
        # e-Holm's bar by its definition: a direction passes if it is certified, or would be with more evidence.
        passed = look.log_e[look.edges]
        missed = look.log_e[~look.edges & ~np.isnan(look.log_e)]
        assert not passed.size or passed.min() >= threshold - 1e-4
        assert missed.max() < threshold + 1e-4


def test_what_a_certifier_keeps_is_bounded():
    many = Certifier(Design.make([f"m{i}" for i in range(MOST_MODELS + 1)], ["q"], method="bb-edge"))
    many.update(np.zeros((MOST_MODELS + 1, 1)))
    assert many.leaderboard().history is None
    few = Certifier(Design.make(["a", "b"], ["q"], method="bb-edge"))
    for replicate in range(3 * MOST_LOOKS):
        few.update([[replicate % 2], [0.5]])
    kept = few.leaderboard().history.replicates
    assert len(kept) <= MOST_LOOKS + 1
    assert (kept[0], kept[-1]) == (1, 3 * MOST_LOOKS)


def test_a_leaderboard_can_be_pickled(leaderboard):
    again = pickle.loads(pickle.dumps(leaderboard))
    assert repr(again) == repr(leaderboard)
    assert again.to_json() == leaderboard.to_json()


def test_a_resumed_certifier_has_no_half_history():
    scores = drawn([0.8, 0.4])
    certifier = Certifier(scores.design(method="bb-edge"))
    certifier.update(scores.values[0])
    resumed = Certifier.from_bytes(scores.design(method="bb-edge"), certifier.to_bytes())
    resumed.update(scores.values[1])
    assert resumed.leaderboard().history is None
    assert len(resumed.leaderboard().looks) == 2
    fresh = Certifier.from_bytes(scores.design(method="bb-edge"), Certifier(scores.design(method="bb-edge")).to_bytes())
    fresh.update(scores.values[0])
    assert fresh.leaderboard().history.replicates == (1,)
