"""The state of a board without a database: events in, structure and evidence out."""

import numpy as np
import pytest

from bbedge.board import BoardDesign
from bbedge.board.admit import admit, create
from bbedge.board.stored_scores import StoredScores, StoredVector
from bbedge.errors import BoardError
from bbedge.records.events import Created, ItemsAdded, ModelAdded, ModelRetired, PilotAdded, ReplicateAdded
from unit.board.boards import ITEMS

ABC = ("a", "b", "c")
RULES = {"copy_rule": "allow", "whole_runs": False}


class Life:
    """A state, and the scores that its events brought."""

    def __init__(self, models=ABC, **options):
        design = BoardDesign(**{"method": "bb-edge-x", **options})
        created = Created(design=design.content, registration="", models=tuple(models), items=ITEMS, blocks=ITEMS)
        self.state, self.first = create(created)
        self.scores = StoredScores()

    def _admit(self, event, vectors=None):
        for place, of_models in (vectors or {}).items():
            self.scores.offer(self.state.epoch.number, place, of_models)
        return admit(self.state, event, self.scores)

    def _complete(self, kind, panel, **number):
        vectors = {model: StoredVector.of(row) for model, row in panel.items()}
        digests = {model: each.print.digest for model, each in vectors.items()}
        event = kind(epoch=self.state.epoch.number, named=True, vectors=digests, **number, **RULES)
        return self._admit(event, {event.place: vectors})

    def replicate(self, panel):
        return self._complete(ReplicateAdded, panel, replicate=self.state.epoch.replicates + 1)

    def pilot(self, panel):
        return self._complete(PilotAdded, panel, pilot=self.state.epoch.pilots + 1)

    def model(self, name, runs):
        vectors = [StoredVector.of(run) for run in runs]
        event = ModelAdded(
            epoch=self.state.epoch.number, model=name, vectors=tuple(each.print.digest for each in vectors), **RULES
        )
        return self._admit(event, {place: {name: each} for place, each in enumerate(vectors, start=1)})

    def items(self, items, blocks):
        epoch = self.state.epoch.number + 1
        return self._admit(ItemsAdded(epoch=epoch, items=tuple(items), blocks=tuple(blocks)))

    def retire(self, model):
        return self._admit(ModelRetired(epoch=self.state.epoch.number, model=model))


def panel(models=ABC, seed=0):
    rng = np.random.default_rng(seed)
    return {model: rng.integers(0, 2, 6).astype(float) for model in models}


def test_the_beginning():
    life = Life()
    assert (life.state.active, life.state.retired, life.state.candidate, life.state.in_pilot) == (
        ["a", "b", "c"],
        [],
        None,
        False,
    )
    assert [(s.claim, s.level, s.newcomer) for s in life.state.stages] == [(0, life.state.design.level(0), None)]
    assert life.state.spent == life.state.design.level(0)
    assert life.state.next_level() == life.state.design.level(1)
    assert life.state.runs_needed() == 0
    board = life.state.leaderboard()
    assert board.graph.rank_intervals == ((1, 3),) * 3
    assert board.looks == ()
    assert np.isnan(board.means).all()
    np.testing.assert_array_equal(np.isnan(board.log_e), np.eye(3, dtype=bool))


def test_replicates():
    life = Life()
    life.replicate(panel())
    life.replicate(panel(seed=1))
    assert life.state.epoch.replicates == life.state.stages[0].certifier.evidence.replicates == 2
    assert [look.replicate for look in life.state.epoch.looks] == [1, 2]
    assert life.state.runs_needed() == 2


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
    life, given = Life(), panel()
    change(given)
    with pytest.raises(BoardError, match=message):
        life.replicate(given)


def test_an_added_model():
    life = Life()
    stored = [panel(seed=seed) for seed in range(3)]
    for each in stored:
        life.replicate(each)
    life.model("d", [np.zeros(6)] * 3)
    assert life.state.active == ["a", "b", "c", "d"]
    stage = life.state.stages[1]
    assert (stage.claim, stage.level, stage.newcomer) == (1, life.state.design.level(1), "d")
    assert stage.certifier.evidence.replicates == 3
    assert [look.replicate for look in life.state.epoch.looks] == [1, 2, 3, 3]
    assert life.state.spent == life.state.design.level(0) + life.state.design.level(1)


def test_an_added_model_before_the_first_replicate():
    life = Life()
    assert life.model("d", []).outcome is None
    assert life.state.epoch.looks == []
    life.replicate(panel((*ABC, "d")))
    assert [stage.certifier.evidence.replicates for stage in life.state.stages] == [1, 1]


@pytest.mark.parametrize(("replicates", "needed"), [(0, 0), (1, 1), (2, 2), (3, 2), (9, 2)])
def test_runs_that_the_first_pairing_needs(replicates, needed):
    life = Life(pairing="first", first=2)
    for seed in range(replicates):
        life.replicate(panel(seed=seed))
    assert life.state.runs_needed() == needed


def test_retiring():
    life = Life()
    life.replicate(panel())
    life.retire("b")
    assert (life.state.active, life.state.retired) == (["a", "c"], ["b"])
    assert life.state.stages[0].certifier.evidence.active == ("a", "c")
    assert life.state.leaderboard().design.models == ABC
    with pytest.raises(BoardError, match="'b' is retired; leave it out"):
        life.replicate(panel())
    life.replicate(panel(("a", "c")))


def test_a_new_epoch():
    life = Life()
    life.replicate(panel())
    life.retire("c")
    life.items(["n"], ["q0"])
    assert [epoch.number for epoch in life.state.epochs] == [1, 2]
    assert (life.state.epoch.items, life.state.epoch.blocks) == ((*ITEMS, "n"), (*ITEMS, "q0"))
    assert (life.state.epoch.models, life.state.epoch.replicates, life.state.epoch.looks) == (["a", "b"], 0, [])
    assert [stage.claim for stage in life.state.stages] == [0, 1]
    assert life.state.epochs[0].replicates == 1
    assert life.state.leaderboard(life.state.epochs[0]).replicates == 1
    assert life.state.leaderboard(life.state.epochs[0]).design.models == ABC


def test_a_pilot():
    life = Life(family="pilot-top-k", k=2, pilot=2)
    assert life.state.in_pilot
    assert (life.state.stages, life.state.spent) == ([], 0.0)
    with pytest.raises(BoardError, match="the pilot is not finished; its replicates are not evidence"):
        life.replicate(panel())
    one, two = panel(seed=1), {"a": np.zeros(6), "b": np.ones(6), "c": np.ones(6)}
    assert life.pilot(one).candidate is None
    assert life.state.in_pilot
    assert life.pilot(two).candidate == ("b", "c")
    assert not life.state.in_pilot
    assert (life.state.epoch.pilots, life.state.epoch.replicates) == (2, 0)
    assert life.state.stages[0].design.family.candidate == ("b", "c")
    assert life.state.stages[0].design.n_directions == 2
    assert life.state.spent == life.state.design.level(0)


def test_a_pilot_panel_must_be_whole():
    life = Life(family="pilot-top-k", k=1, pilot=1)
    with pytest.raises(BoardError, match="lacks model 'c'"):
        life.pilot(panel(("a", "b")))


def test_a_candidate_outlives_its_epoch():
    life = Life(family="pilot-top-k", k=2, pilot=1)
    life.pilot({"a": np.ones(6), "b": np.ones(6), "c": np.zeros(6)})
    life.retire("a")
    life.items(["n"], ["n"])
    assert life.state.stages[1].design.family.candidate == ("b",)
    assert life.state.candidate == ("a", "b")


def test_k_must_leave_somebody_out():
    with pytest.raises(BoardError, match="k = 3 leaves nothing to compare with 3 models; choose a smaller k"):
        Life(family="pilot-top-k", k=3, pilot=1)


@pytest.mark.parametrize("shares", [1, 2, 5, 49])
def test_exactly_the_stated_shares_are_paid(shares):
    life = Life(spending="equal", shares=shares)
    for claim in range(1, shares):
        life.items([f"n{claim}"], [f"n{claim}"])
    assert len(life.state.stages) == shares
    assert life.state.spent <= 0.05
    with pytest.raises(BoardError, match=f"the error budget is spent: {shares} claims have used 0.05 of 0.05"):
        life.items(["one too many"], ["x"])


def test_open_ended_spending_never_ends():
    life = Life(models=("a", "b"))
    for claim in range(60):
        life.items([f"n{claim}"], [f"n{claim}"])
        assert life.state.spent <= 0.05
    assert life.state.next_level() > 0.0
