"""A board whose first run comes in parts says what a certifier says that is given the same parts."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbedge.board import Board, BoardDesign
from bbedge.core.leaderboard import Certifier
from bbedge.core.scores import Scores
from bbedge.records.design import CheckpointRule

MODELS = ("a", "b", "c")


@st.composite
def runs(draw):
    """Items, their blocks, the order, the looks that are taken, which model stops after which, and the scores."""
    count = draw(st.integers(8, 24))
    blocks = tuple(f"k{draw(st.integers(0, count // 2))}" for _ in range(count))
    seed, order = draw(st.integers(0, 2**32)), draw(st.integers(0, 2**53 - 1))
    looks, stop = draw(st.integers(0, 2)), draw(st.none() | st.tuples(st.integers(1, 2), st.sampled_from(MODELS)))
    missing = draw(st.booleans())
    return count, blocks, seed, order, looks, stop, missing


def check(given_run):
    count, blocks, seed, order, looks, stop, missing = given_run
    if len(set(blocks)) < 3:
        return
    items = tuple(f"q{i}" for i in range(count))
    rng = np.random.default_rng(seed)
    panel = dict(zip(MODELS, rng.random((3, count)).round(2) ** np.array([[0.2], [1.0], [5.0]]), strict=True))
    if missing:
        panel["b"][rng.random(count) < 0.2] = np.nan
    rule = CheckpointRule(fractions=(0.25, 0.6))
    design = BoardDesign(checkpoints=rule, incomplete="worst-case" if missing else "refuse")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "board.db"
        Board.create(place, design, models=MODELS, items=items, blocks=blocks, order_seed=order)
        certifier = Certifier(Board.open(place).state.epoch.stages[0].design)
        for number in range(1, looks + 1):
            with Board.open(place) as board:  # every part in a process of its own
                if board.next_checkpoint is None:
                    break
                active, columns = board.state.active, [items.index(item) for item in certifier.next_items]
                assert board.next_items == certifier.next_items
                scores = np.stack([panel[model][columns] for model in active])
                upto = certifier.next_checkpoint.blocks
                board.add(Scores.of(scores, models=active, items=board.next_items), upto=upto)
                certifier.update(scores, upto)
                if stop is not None and stop[0] == number:
                    board.retire(stop[1])
                    certifier.stop([stop[1]])
        with Board.open(place) as board:
            active = board.state.active
            whole = np.stack([panel[model] for model in active])
            board.add(Scores.of(whole, models=active, items=items), incomplete=design.incomplete)
            certifier.update(whole)
            assert board.state.epoch.stages[0].certifier.to_bytes() == certifier.to_bytes()
            board.verify()


@settings(max_examples=8, deadline=None)
@given(runs())
def test_a_board_with_parts_is_a_certifier_with_parts(given_run):
    check(given_run)


@pytest.mark.nightly
@settings(max_examples=60, deadline=None)
@given(runs())
def test_a_board_with_parts_is_a_certifier_with_parts_in_many_runs(given_run):
    check(given_run)
