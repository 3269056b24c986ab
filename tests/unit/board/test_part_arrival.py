"""Parts of the first run as a harness hands them over: growing files, gaps, stopped models, looks too far ahead."""

from dataclasses import replace

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.errors import BoardError
from unit.board.first_runs import ITEMS, MODELS, add_checkpoint, add_upto, complete, drawn, make, some

PANEL = drawn(1)


@pytest.fixture
def board(tmp_path):
    """A board at the first of its three checkpoints."""
    made = make(tmp_path / "board.db")
    add_checkpoint(made, PANEL)
    return made


def grown(board, *, models=MODELS, panel=PANEL, beyond=0):
    """What a harness has by now: everything up to the next checkpoint, and maybe more, in the order of the items."""
    there = {*_seen(board), *board.next_items, *_after(board)[:beyond]}
    return some(panel, models, tuple(item for item in ITEMS if item in there))


def _seen(board):
    return tuple(ITEMS[place] for place in board.state.epoch.seen_places)


def _after(board):
    known = {*_seen(board), *board.next_items}
    return [item for item in ITEMS if item not in known]


def changed(scores, model, item, value):
    values = scores.values.copy()
    values[0, scores.models.index(model), scores.items.index(item)] = value
    return replace(scores, values=values)


def test_a_growing_file_is_the_same_as_its_new_part(board, tmp_path):
    alone = make(tmp_path / "alone.db")
    add_checkpoint(alone, PANEL)
    for _ in range(2):
        add_upto(board, grown(board))
        add_checkpoint(alone, PANEL)
    assert [event.payload for event in board.events] == [event.payload for event in alone.events]


def test_earlier_scores_must_be_those_recorded(board):
    item = _seen(board)[2]
    other = changed(grown(board), "b", item, 1.0 - PANEL["b"][ITEMS.index(item)])
    with pytest.raises(BoardError, match=f"the score of 'b' on '{item}' differs from the one on the board"):
        add_upto(board, other)
    assert len(board.events) == 2
    add_upto(board, changed(grown(board), "b", item, np.nan))  # which these scores need not have again


def test_a_recorded_gap_is_final(tmp_path):
    board = make(tmp_path / "board.db", incomplete="worst-case")
    item = board.next_items[0]
    add_upto(board, changed(grown(board), "b", item, np.nan))
    with pytest.raises(
        BoardError, match=f"'b' has no score on '{item}' on the board.*A missing score that is recorded is final"
    ):
        add_upto(board, grown(board))
    add_upto(board, changed(grown(board), "b", item, np.nan))


def test_a_look_beyond_the_checkpoint_is_refused(board):
    with pytest.raises(BoardError, match=r"2 items are not among those up to the next checkpoint: .*leave them out"):
        add_upto(board, grown(board, beyond=2))
    ahead = _after(board)[0]
    empty = grown(board, beyond=1)
    for model in MODELS:
        empty = changed(empty, model, ahead, np.nan)
    add_upto(board, empty)  # a place for a score, and no score


def test_an_unknown_item_is_refused(board):
    scores = grown(board)
    with pytest.raises(BoardError, match="1 items that are not part of the benchmark: 'z9'"):
        add_upto(board, replace(scores, items=(*scores.items[:-1], "z9")))


def test_what_has_not_run_yet_is_named(board):
    late = board.next_items[-1]
    rest = some(PANEL, MODELS, board.next_items[:-1])
    with pytest.raises(BoardError, match=f"1 of the 12 items up to the next checkpoint are not .*: '{late}'"):
        add_upto(board, rest)
    with pytest.raises(BoardError, match=r"12 of the 12 items .* the first run is at checkpoint 1"):
        add_upto(board, some(PANEL, MODELS, _seen(board)))


@pytest.mark.parametrize("rule", ["refuse", "worst-case", "zero"])
def test_scores_that_may_still_come_do_not_count_as_missing(tmp_path, rule):
    board = make(tmp_path / "board.db", incomplete=rule)
    first, second = board.next_items[:2]
    late = changed(changed(grown(board), "b", first, np.nan), "b", second, np.nan)
    remedy = "" if rule == "refuse" else f".*incomplete='{rule}'"
    with pytest.raises(BoardError, match=f"'b' on 2 of the 6 items \\('{first}', '{second}'\\)" + remedy):
        add_upto(board, late, incomplete="refuse")
    assert len(board.events) == 1
    if rule != "refuse":
        add_upto(board, late, incomplete=rule)
        assert (
            board.leaderboard().gaps is None if rule == "zero" else board.leaderboard().gaps.of_models == (0, 2, 0, 0)
        )
        board.verify()


def test_whole_models_and_items_are_missing_only_if_that_is_said(tmp_path):
    board = make(tmp_path / "board.db", incomplete="worst-case")
    short = some(PANEL, MODELS[:3], board.next_items[1:])
    with pytest.raises(BoardError, match="1 of the 6 items"):
        add_upto(board, short)
    with pytest.raises(BoardError, match="lacks model 'd'"):
        add_upto(board, some(PANEL, MODELS[:3], board.next_items))
    with pytest.raises(BoardError, match="'d' on 6 of the 6"):
        add_upto(board, some(PANEL, MODELS[:3], board.next_items), incomplete="refuse")
    with pytest.raises(BoardError, match="is not the rule of this board's design"):
        add_upto(board, short, incomplete="zero")
    add_upto(board, short, incomplete="worst-case")
    assert board.leaderboard().gaps.of_models == (1, 1, 1, 6)
    with pytest.raises(BoardError, match="12 of the 12 items"):
        add_upto(board, some(PANEL, MODELS, _seen(board)), incomplete="worst-case")
    assert Board.open(tmp_path / "board.db").verify().events == 2


def test_a_stopped_model_may_stay_in_the_files(board):
    board.retire("d")
    there = grown(board)
    for item in board.next_items:
        there = changed(there, "d", item, np.nan)
    with pytest.raises(BoardError, match="model 'd' is retired"):
        add_upto(board, grown(board))  # it ran on
    item = _seen(board)[0]
    with pytest.raises(BoardError, match=f"the score of 'd' on '{item}' differs"):
        add_upto(board, changed(there, "d", item, 0.5))
    assert add_upto(board, there).checkpoint.number == 2
    whole = some(PANEL, MODELS, ITEMS)
    for item in ITEMS:
        if item not in _seen(board)[:6]:
            whole = changed(whole, "d", item, np.nan)
    with pytest.raises(BoardError, match="model 'd' is retired"):
        board.add(some(PANEL, MODELS, ITEMS))
    with pytest.raises(BoardError, match="model 'd' is retired"):
        board.add(changed(whole, "d", _seen(board)[0], 0.5))
    assert board.add(whole).replicates == (1,)
    board.verify()


def test_the_number_of_the_replicate_must_be_that_of_the_first_run(board):
    part = replace(some(PANEL, MODELS, board.next_items), numbered=True)
    with pytest.raises(BoardError, match="numbered replicate 2; the first run is replicate 1"):
        add_upto(board, replace(part, replicates=("2",)))
    add_upto(board, replace(part, replicates=("1.0",)))


def test_every_checkpoint_has_passed(board):
    while board.next_checkpoint:
        add_upto(board, grown(board))
    with pytest.raises(BoardError, match="every checkpoint of the first run has passed; add the complete replicate"):
        add_upto(board, some(PANEL, MODELS, ITEMS))
    complete(board, PANEL)
