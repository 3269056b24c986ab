"""Boards of bb-edge-x: staggered e-Holm, margins with a share, planned replicates."""

import json

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.core.arrays import load_arrays
from bbedge.verify.ledger import verify
from unit.board.boards import ITEMS, make, scores, values
from unit.board.recomputed import Record, assert_same

ABC = ("a", "b", "c")
BLOCKS = ("x", "x", "y", "y", "y", "z")
LOOK_BY_LOOK = {"method": "bb-edge", "evidence": "betting", "stakes": "design"}
OPTIONS = [{}, {"planned": 3}, {"planned": 60, "margin_share": 0.5}, LOOK_BY_LOOK, {"mean_share": 0.1}]


class Both:
    """A board and a plain record of what happened to it. ``reopened``: close and open the board before every change."""

    def __init__(self, folder, models=ABC, *, reopened=False, **options):
        folder.mkdir(exist_ok=True)
        self.board = make(folder, models=models, blocks=BLOCKS, **options)
        of_record = {name: value for name, value in options.items() if name != "family"}
        self.record = Record(models, ITEMS, BLOCKS, **{"method": "bb-edge-x", **of_record})
        self.rng, self.items, self.reopened = np.random.default_rng(7), ITEMS, reopened

    def _before(self):
        if self.reopened:
            self.board.close()
            self.board = Board.open(self.board.name)

    def replicates(self, models, n):
        for panel in values(self.rng, models, n, self.items):
            self._before()
            self.board.add(scores(panel, models, self.items))
            self.record.replicate(dict(zip(models, panel, strict=True)))

    def join(self, name, n):
        self._before()
        array = values(self.rng, (name,), n, self.items)
        self.board.add_model(name, scores(array, (name,), self.items))
        self.record.add_model(name, list(array[:, 0]))

    def retire(self, name):
        self._before()
        self.board.retire(name)
        self.record.retire(name)

    def add_items(self, names):
        self._before()
        self.board.add_items(names)
        self.record.add_items(names)
        self.items = (*self.items, *names)

    def check(self):
        assert_same(self.board, self.record)
        verify(self.board.store)


# On every push the default and the other method.
SOMETIMES = [
    options if options in ({}, LOOK_BY_LOOK) else pytest.param(options, marks=pytest.mark.nightly)
    for options in OPTIONS
]


@pytest.fixture(params=SOMETIMES, ids=str)
def options(request):
    return request.param


def test_a_board_uses_staggered_e_holm_and_shares_its_level(tmp_path):
    (stage,) = make(tmp_path, planned=8).state.stages
    design = stage.design
    assert (design.holm, design.margin_share, design.planned) == ("staggered", 0.2, 8)


def test_a_stage(tmp_path, options):
    both = Both(tmp_path, **options)
    both.replicates(ABC, 8)
    both.join("d", 8)
    both.replicates((*ABC, "d"), 14)
    both.check()
    edges = both.board.leaderboard().edges
    assert edges[:3, :3].any()
    assert edges[3].any() or edges[:, 3].any()


def test_an_epoch(tmp_path, options):
    both = Both(tmp_path, **options)
    both.replicates(ABC, 6)
    both.add_items(["n1", "n2"])
    both.check()
    both.replicates(ABC, 10)
    both.check()
    assert both.board.leaderboard(2).graph.n_edges


@pytest.mark.parametrize("after", [0, 1, 4])
def test_a_retired_model(tmp_path, options, after):
    both = Both(tmp_path, **options)
    both.replicates(ABC, after)
    both.retire("b")
    both.replicates(("a", "c"), 10 - after)
    both.check()
    assert both.board.leaderboard().edges[0, 2]


def test_a_family_that_a_pilot_chose(tmp_path, options):
    both = Both(tmp_path, ("c", "b", "a", "d"), family="pilot-top-k", k=2, pilot=3, **options)
    both.replicates(("c", "b", "a", "d"), 14)
    both.check()
    assert both.board.state.candidate == ("a", "b")
    assert both.board.leaderboard().graph.n_edges


@pytest.mark.nightly
def test_a_board_that_is_opened_for_every_change_is_the_same_bit_by_bit(tmp_path, options):
    """Past the last entry, after 17 replicates, with a stage and a stopped model."""
    written = []
    for name in ("one process", "many"):
        both = Both(tmp_path / name, reopened=name == "many", **options)
        both.replicates(ABC, 9)
        both.join("d", 9)
        both.replicates((*ABC, "d"), 3)
        both.retire("b")
        both.replicates(("a", "c", "d"), 7)
        both.check()
        with both.board.store.read() as session:
            states = session.cache()
        written.append(([json.loads(event.payload) for event in both.board.events], states))
        saved = [load_arrays(load_arrays(state)["evidence"].tobytes()) for state in states.values()]
        entered = [{name for name in arrays if name.startswith("entry_")} for arrays in saved]
        groups = len(both.board.state.stages[0].design.entry_groups)
        assert entered[0] == {f"entry_{place}" for place in range(1, groups)}
    assert written[0] == written[1]
