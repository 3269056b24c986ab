"""The state of a board without a database: events in, structure and evidence out."""

import numpy as np
import pytest

from bbedge.board import BoardDesign
from bbedge.board.state import BoardState
from bbedge.errors import BoardError
from unit.board.boards import ITEMS

ABC = ("a", "b", "c")


def state_of(models=ABC, **options):
    return BoardState(BoardDesign(**{"method": "bb-edge-x", **options}), models, ITEMS, ITEMS)


def panel(models=ABC, seed=0):
    rng = np.random.default_rng(seed)
    return {model: rng.integers(0, 2, 6).astype(float) for model in models}


def test_the_beginning():
    state = state_of()
    assert (state.active, state.retired, state.candidate, state.in_pilot) == (["a", "b", "c"], [], None, False)
    assert [(s.claim, s.level, s.newcomer) for s in state.stages] == [(0, state.design.level(0), None)]
    assert state.spent == state.design.level(0)
    assert state.next_level() == state.design.level(1)
    assert state.runs_needed() == 0
    board = state.leaderboard()
    assert board.graph.rank_intervals == ((1, 3),) * 3
    assert board.looks == ()
    assert np.isnan(board.means).all()
    np.testing.assert_array_equal(np.isnan(board.log_e), np.eye(3, dtype=bool))


def test_replicates():
    state = state_of()
    state.add_replicate(panel())
    state.add_replicate(panel(seed=1))
    assert state.epoch.replicates == state.stages[0].certifier.evidence.replicates == 2
    assert [look.replicate for look in state.epoch.looks] == [1, 2]
    assert state.runs_needed() == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.pop("b"), "lacks model 'b'"),
        (lambda p: p.update(z=p["a"]), "'z' is not on the board; add it with add-model first"),
        (lambda p: p.update(a=p["a"][:5]), "model 'a' has 5 scores; the benchmark has 6 items"),
        (lambda p: p.update(a=np.full((2, 6), 0.5)), "model 'a' has 12 scores"),
        (lambda p: p.update(a=np.full(6, 1.5)), r"model 'a' scored 1.5 on item 'q0'; scores lie in \[0, 1\]"),
        (lambda p: p.update(a=np.full(6, np.nan)), "model 'a' has no score on item 'q0'; the design"),
    ],
)
def test_panels_that_are_not_whole(change, message):
    state, given = state_of(), panel()
    change(given)
    with pytest.raises(BoardError, match=message):
        state.add_replicate(given)
    with pytest.raises(BoardError, match=message):
        state.check_panel(given)


def test_an_added_model():
    state = state_of()
    stored = [panel(seed=seed) for seed in range(3)]
    for each in stored:
        state.add_replicate(each)
    state.add_model("d", [np.zeros(6)] * 3, stored)
    assert state.active == ["a", "b", "c", "d"]
    stage = state.stages[1]
    assert (stage.claim, stage.level, stage.newcomer) == (1, state.design.level(1), "d")
    assert stage.certifier.evidence.replicates == 3
    assert [look.replicate for look in state.epoch.looks] == [1, 2, 3, 3]
    assert state.spent == state.design.level(0) + state.design.level(1)


def test_an_added_model_before_the_first_replicate():
    state = state_of()
    assert state.add_model("d", [], []) == {}
    assert state.epoch.looks == []
    state.add_replicate(panel((*ABC, "d")))
    assert [stage.certifier.evidence.replicates for stage in state.stages] == [1, 1]


@pytest.mark.parametrize(("replicates", "needed"), [(0, 0), (1, 1), (2, 2), (3, 2), (9, 2)])
def test_runs_that_the_first_pairing_needs(replicates, needed):
    state = state_of(pairing="first", first=2)
    for seed in range(replicates):
        state.add_replicate(panel(seed=seed))
    assert state.runs_needed() == needed


def test_retiring():
    state = state_of()
    state.add_replicate(panel())
    state.retire("b")
    assert (state.active, state.retired) == (["a", "c"], ["b"])
    assert state.stages[0].certifier.evidence.active == ("a", "c")
    assert state.leaderboard().design.models == ABC
    with pytest.raises(BoardError, match="'b' is retired; leave it out"):
        state.add_replicate(panel())
    state.add_replicate(panel(("a", "c")))


def test_a_new_epoch():
    state = state_of()
    state.add_replicate(panel())
    state.retire("c")
    state.add_items(["n"], ["q0"])
    assert [epoch.number for epoch in state.epochs] == [1, 2]
    assert (state.epoch.items, state.epoch.blocks) == ((*ITEMS, "n"), (*ITEMS, "q0"))
    assert (state.epoch.models, state.epoch.replicates, state.epoch.looks) == (["a", "b"], 0, [])
    assert [stage.claim for stage in state.stages] == [0, 1]
    assert state.epochs[0].replicates == 1
    assert state.leaderboard(state.epochs[0]).replicates == 1
    assert state.leaderboard(state.epochs[0]).design.models == ABC


def test_a_pilot():
    state = state_of(family="pilot-top-k", k=2, pilot=2)
    assert state.in_pilot
    assert (state.stages, state.spent) == ([], 0.0)
    with pytest.raises(BoardError, match="the pilot is not finished; its replicates are not evidence"):
        state.add_replicate(panel())
    one, two = panel(seed=1), {"a": np.zeros(6), "b": np.ones(6), "c": np.ones(6)}
    assert state.add_pilot(one, []) is None
    assert state.in_pilot
    assert state.add_pilot(two, [one]) == ("b", "c")
    assert not state.in_pilot
    assert (state.epoch.pilots, state.epoch.replicates) == (2, 0)
    assert state.stages[0].design.family.candidate == ("b", "c")
    assert state.stages[0].design.n_directions == 2
    assert state.spent == state.design.level(0)


def test_a_pilot_panel_must_be_whole():
    state = state_of(family="pilot-top-k", k=1, pilot=1)
    with pytest.raises(BoardError, match="lacks model 'c'"):
        state.add_pilot(panel(("a", "b")), [])


def test_a_candidate_outlives_its_epoch():
    state = state_of(family="pilot-top-k", k=2, pilot=1)
    state.add_pilot({"a": np.ones(6), "b": np.ones(6), "c": np.zeros(6)}, [])
    state.retire("a")
    state.add_items(["n"], ["n"])
    assert state.stages[1].design.family.candidate == ("b",)
    assert state.candidate == ("a", "b")


def test_k_must_leave_somebody_out():
    with pytest.raises(BoardError, match="k = 3 leaves nothing to compare with 3 models; choose a smaller k"):
        state_of(family="pilot-top-k", k=3, pilot=1)


@pytest.mark.parametrize("shares", [1, 2, 5, 49])
def test_exactly_the_stated_shares_are_paid(shares):
    state = state_of(spending="equal", shares=shares)
    for claim in range(1, shares):
        state.add_items([f"n{claim}"], [f"n{claim}"])
    assert len(state.stages) == shares
    assert state.spent <= 0.05
    with pytest.raises(BoardError, match=f"the error budget is spent: {shares} claims have used 0.05 of 0.05"):
        state.add_items(["one too many"], ["x"])


def test_open_ended_spending_never_ends():
    state = state_of(models=("a", "b"))
    for claim in range(60):
        state.add_items([f"n{claim}"], [f"n{claim}"])
        assert state.spent <= 0.05
    assert state.next_level() > 0.0
