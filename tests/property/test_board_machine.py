"""Random lives of a small board: after every step it is what its history says it is, and nothing is lost."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from bbedge.board import Board, BoardDesign
from bbedge.board.change import replay
from bbedge.core.family import Spending
from bbedge.core.scores import Scores
from bbedge.errors import BbedgeError
from bbedge.ledger.archive import export_lines, import_lines
from bbedge.verify.ledger import verify, verify_session
from unit.board.recomputed import Record, assert_same

OPTIONS = [
    {"method": "bb-edge-x"},
    {"method": "bb-edge", "tau": 0.02},
    {"method": "bb-edge-x", "evidence": "sharp", "prediction": "two-way"},
]
MEMORY = Path("/dev/shm")


class BoardLife(RuleBasedStateMachine):
    """A board in a file, and a plain record of what was done to it."""

    @initialize(
        options=st.sampled_from(OPTIONS),
        shares=st.sampled_from([None, None, 3]),
        first=st.sampled_from([None, None, 2]),
        pilot=st.sampled_from([0, 0, 2]),
        n_models=st.integers(2, 3),
        pairs=st.booleans(),
        seed=st.integers(0, 2**32 - 1),
    )
    def begin(self, options, shares, first, pilot, n_models, pairs, seed):
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.rng = np.random.default_rng(seed)
        self.names = iter(f"m{i}" for i in range(n_models, 1000))
        self.item_names = iter(f"q{i}" for i in range(8, 1000))
        models, items = [f"m{i}" for i in range(n_models)], [f"q{i}" for i in range(8)]
        blocks = [f"p{i // 2}" for i in range(8)] if pairs else items
        settings_ = dict(options)
        if shares:
            settings_ |= {"spending": "equal", "shares": shares}
        if first:
            settings_ |= {"pairing": "first", "first": first}
        if pilot:
            settings_ |= {"family": "pilot-top-k", "k": 1, "pilot": pilot}
        self.board = Board.create(
            self.folder / "board.db", BoardDesign(**settings_), models=models, items=items, blocks=blocks
        )
        spending = Spending(rule="equal", shares=shares) if shares else Spending()
        self.record = Record(
            models, items, blocks, spending=spending, first=first, k=1 if pilot else None, pilot=pilot, **options
        )
        self.certified = {}
        self.given = []

    def teardown(self):
        if hasattr(self, "folder"):
            self.board.close()
            shutil.rmtree(self.folder)

    # What can be done ------------------------------------------------------------------------------------------------

    def means(self, models):
        # Far apart, so that there is something to certify.
        return np.array([(0.97, 0.03, 0.5)[int(model[1:]) % 3] for model in models])

    def scores(self, models, n):
        shape = (n, len(models), len(self.record.version.items))
        right = self.rng.random(shape) < self.means(models)[None, :, None]
        # Hundredths, so that no replicate comes twice by chance.
        values = np.round(0.85 * right + 0.15 * self.rng.random(shape), 3)
        return Scores.of(values, models=models, items=self.record.version.items)

    @property
    def piloting(self):
        return len(self.record.pilots) < self.record.pilot

    @property
    def following(self):
        return len(self.record.version.panels) + 1 + (len(self.record.pilots) if len(self.record.versions) == 1 else 0)

    @precondition(lambda self: self.record.active)
    @rule(n=st.integers(1, 5), numbered=st.booleans(), turned=st.booleans())
    def add(self, n, numbered, turned):
        models = self.record.active
        scores = self.scores(models, n)
        panels = [dict(zip(models, panel, strict=True)) for panel in scores.values]
        if turned:
            scores = replace(scores, models=tuple(models[::-1]), values=scores.values[:, ::-1])
        if numbered:
            labels = tuple(str(self.following + r) for r in range(n))
            scores = replace(scores, numbered=True, replicates=labels)
        added = self.board.add(scores)
        assert len(added.replicates) + len(added.pilots) == n
        assert added.already == added.already_pilots == ()
        for panel in panels:
            self.record.replicate(panel)
        self.given = [*self.given, scores] if len(self.record.versions) == 1 else [scores]

    @precondition(lambda self: not self.piloting)
    @rule(enough=st.integers(0, 5))
    def add_model(self, enough):
        name = next(self.names)
        runs = self.scores([name], self.record.runs_needed())
        if self.board.state.next_level() == 0.0:
            self.refused(lambda: self.board.add_model(name, runs))
            return
        if enough == 0:
            self.refused(lambda: self.board.add_model(name, self.scores([name], self.record.runs_needed() + 1)))
        added = self.board.add_model(name, runs)
        assert all(name in (edge.winner, edge.loser) for edge in added.edges)
        self.record.add_model(name, list(runs.values[:, 0]))

    @precondition(lambda self: not self.piloting and len(self.record.versions) < 4)
    @rule(n=st.integers(1, 2), one_block=st.booleans())
    def add_items(self, n, one_block):
        items = [next(self.item_names) for _ in range(n)]
        blocks = ["p0"] * n if one_block else None
        active, candidate = set(self.record.active), set(self.record.candidate or ())
        possible = len(active) >= 2 and self.board.state.next_level() > 0.0
        if self.record.candidate is not None:
            possible = possible and bool(candidate & active) and bool(active - candidate)
        if not possible:
            self.refused(lambda: self.board.add_items(items, blocks))
            return
        self.board.add_items(items, blocks)
        self.record.add_items(items, blocks)
        self.given = []

    @precondition(lambda self: not self.piloting and len(self.record.active) > 1)
    @rule(which=st.integers(0, 10))
    def retire(self, which):
        model = self.record.active[which % len(self.record.active)]
        self.board.retire(model)
        self.record.retire(model)

    @rule()
    def reopen(self):
        self.board.close()
        self.board = Board.open(self.folder / "board.db")

    @rule()
    def forget_the_saved_evidence(self):
        """It is a shortcut: without it, or with a wrong one, the board is the same."""
        states = {stage.claim: b"nonsense" for stage in self.board.state.stages}
        with self.board.store.write() as session:
            session.put_cache(states)
        self.reopen()
        # Written anew by hand: the rest of this life is checked with a cache again.
        with self.board.store.write() as session:
            session.put_cache({stage.claim: stage.certifier.to_bytes() for stage in self.board.state.stages})

    # What is refused, or changes nothing -----------------------------------------------------------------------------

    def refused(self, action):
        head = self.board.head
        with pytest.raises(BbedgeError):
            action()
        assert self.board.head == head == Board.open(self.folder / "board.db").head

    @precondition(lambda self: self.given and set(self.given[-1].models) == set(self.record.active))
    @rule()
    def add_again(self):
        if not self.given[-1].numbered:  # nothing but the scores says which replicates these are: a question
            self.refused(lambda: self.board.add(self.given[-1]))
            return
        head = self.board.head
        added = self.board.add(self.given[-1])
        assert len(added.already + added.already_pilots) == len(self.given[-1].values)
        assert added.replicates == added.pilots == added.edges == ()
        assert self.board.head == head

    @precondition(lambda self: self.given and set(self.given[-1].models) == set(self.record.active))
    @rule()
    def add_a_copy(self):
        copy = replace(self.given[-1], values=self.given[-1].values[-1:], numbered=True)
        self.refused(lambda: self.board.add(replace(copy, replicates=(str(self.following),))))

    @rule(
        kind=st.sampled_from(["order", "old", "model", "stranger", "item", "range", "exists", "known", "again", "who"])
    )
    def refuse(self, kind):
        active, items = self.record.active, self.record.version.items
        fine = self.scores(active, 1) if active else None
        numbered = None if fine is None else replace(fine, numbered=True)
        everyone = {model for version in self.record.versions for model in version.models}
        everyone |= {name for version in self.record.versions for name, _, _ in version.joined}
        retired = sorted(everyone - set(active))
        actions = {
            "order": lambda: self.board.add(replace(numbered, replicates=(str(self.following + 1),))),
            "old": lambda: self.board.add(replace(numbered, replicates=(str(self.following - 1),))),
            "model": lambda: self.board.add(self.scores(active[:-1], 1)),
            "stranger": lambda: self.board.add(self.scores([*active, "m999"], 1)),
            "item": lambda: self.board.add(Scores.of(fine.values[:, :, :-1], models=active, items=items[:-1])),
            "range": lambda: self.board.add(replace(fine, values=fine.values + 1.001)),
            "exists": lambda: self.board.add_items(["q0"]),
            "known": lambda: self.board.add_model("m0", self.scores(["m0"], self.record.runs_needed())),
            "again": lambda: self.board.retire(retired[0]),
            "who": lambda: self.board.retire("m999"),
        }
        possible = {
            "order": bool(active),
            "old": bool(active) and self.following > 1,
            "model": len(active) > 1,
            "stranger": True,
            "item": bool(active),
            "range": bool(active),
            "again": bool(retired),
        }
        if possible.get(kind, True):
            self.refused(actions[kind])

    # What always holds -----------------------------------------------------------------------------------------------

    @invariant()
    def the_board_is_what_its_history_says(self):
        if not hasattr(self, "board"):
            return
        assert_same(self.board, self.record, numbers=self.record.first is None)
        with self.board.store.read() as session:
            again = replay(session, session.events())
        mine = self.board.state
        assert [stage.certifier.to_bytes() for stage in again.stages] == [
            stage.certifier.to_bytes() for stage in mine.stages
        ]
        assert [epoch.looks for epoch in again.epochs] == [epoch.looks for epoch in mine.epochs]
        assert (again.active, again.retired, again.candidate, again.spent) == (
            mine.active,
            mine.retired,
            mine.candidate,
            mine.spent,
        )

    @invariant()
    def the_budget_is_kept(self):
        if hasattr(self, "board"):
            assert self.board.state.spent <= self.board.design.alpha
            assert self.board.state.spent + self.board.state.next_level() <= self.board.design.alpha

    @invariant()
    def what_is_certified_remains(self):
        if not hasattr(self, "board"):
            return
        for epoch in self.board.state.epochs:
            shown = self.board.leaderboard(epoch.number)
            models = shown.design.models
            now = {(models[a], models[b]) for a, b in np.argwhere(shown.edges).tolist()}
            assert self.certified.get(epoch.number, set()) <= now
            assert {(models[a], models[b]) for a, b in np.argwhere(shown.current_edges).tolist()} <= now
            self.certified[epoch.number] = now

    @invariant()
    def on_disk_it_is_the_same_and_in_order(self):
        if not hasattr(self, "board"):
            return
        there = Board.open(self.folder / "board.db")
        assert there.head == self.board.head
        assert there.events == self.board.events
        assert [stage.certifier.to_bytes() for stage in there.state.stages] == [
            stage.certifier.to_bytes() for stage in self.board.state.stages
        ]
        done = verify(there.store, head=self.board.events[0].hash)
        assert (done.head, done.events, done.spent) == (self.board.head, len(self.board.events), self.board.state.spent)
        assert done.certificates == sum(there.leaderboard(e.number).graph.n_edges for e in there.state.epochs)

    @rule()
    def export_and_import(self):
        lines = list(export_lines(self.board.store))
        place = self.folder / "copy.db"
        import_lines(lines, place, source="archive", verify=verify_session)
        copy = Board.open(place)
        assert list(export_lines(copy.store)) == lines
        assert copy.head == self.board.head
        for epoch in self.board.state.epochs:
            one, other = copy.leaderboard(epoch.number), self.board.leaderboard(epoch.number)
            np.testing.assert_array_equal(one.log_e, other.log_e)
            np.testing.assert_array_equal(one.lower_bounds, other.lower_bounds)
            np.testing.assert_array_equal(one.first_certified, other.first_certified)
            assert one.looks == other.looks
        copy.close()
        for file in self.folder.glob("copy.db*"):
            file.unlink()


def live(count, steps):
    run_state_machine_as_test(
        BoardLife,
        settings=settings(
            max_examples=count,
            stateful_step_count=steps,
            derandomize=True,
            phases=(Phase.explicit, Phase.generate),  # making a life shorter takes minutes; the long one says enough
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.every_push("the model of a board, for a few lives")
def test_random_lives_of_a_board():
    live(3, 14)


@pytest.mark.nightly
@pytest.mark.parametrize(("count", "steps"), [(60, 14), (40, 40)])
def test_many_random_lives_of_a_board(count, steps):
    live(count, steps)
