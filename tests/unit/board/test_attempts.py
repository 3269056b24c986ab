"""Attempts at runs: begun before the first request, ended once, counted without gaps."""

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.errors import BbedgeError, BoardError
from bbedge.ledger.archive import import_lines
from bbedge.verify.ledger import verify_session
from unit.board import forging
from unit.board.boards import make, runs

PROTOCOL = "ab" * 32


@pytest.fixture
def board(tmp_path):
    return make(tmp_path)


def begin(board, replicate, attempt):
    board.begin_attempt(replicate, attempt, 7, PROTOCOL)


def test_attempts_are_on_the_ledger_and_in_the_state(board):
    begin(board, 1, 1)
    board.end_attempt(1, 1, "abandoned")
    begin(board, 1, 2)
    board.add(runs(np.random.default_rng(0), "abc"))
    board.end_attempt(1, 2, "finished")
    begin(board, 2, 1)
    kinds = ["init", "attempt", "attempt-ended", "attempt", "replicate", "attempt-ended", "attempt"]
    assert [event.kind for event in board.events] == kinds
    expected = {1: ["abandoned", "finished"], 2: [None]}
    assert board.state.epoch.attempts == expected
    assert Board.open(board.name).state.epoch.attempts == expected
    assert board.as_of(board.head).state.epoch.attempts == expected
    assert board.verify().events == 7


def test_attempts_at_a_pilot_finish_once_the_pilot_is_there(tmp_path):
    board = make(tmp_path, family="pilot-top-k", k=1, pilot=1)
    begin(board, 1, 1)
    with pytest.raises(BoardError, match="not finished: its scores are not on the board"):
        board.end_attempt(1, 1, "finished")
    board.add(runs(np.random.default_rng(0), "abc"))
    board.end_attempt(1, 1, "finished")
    begin(board, 2, 1)
    with pytest.raises(BoardError, match="not finished"):
        board.end_attempt(2, 1, "finished")


def test_an_epoch_counts_its_own_attempts(board):
    begin(board, 1, 1)
    board.add_items(["r1"])
    with pytest.raises(BoardError, match="has not begun"):
        board.end_attempt(1, 1, "abandoned")
    begin(board, 1, 1)
    assert [epoch.attempts for epoch in board.state.epochs] == [{1: [None]}, {1: [None]}]


@pytest.mark.parametrize(
    ("done", "attempt", "message"),
    [
        ([], 2, "attempt 2 at replicate 1 is out of order: the next one is attempt 1"),
        (["begin"], 1, "the next one is attempt 2"),
        (["begin"], 2, "cannot begin: attempt 1 has not ended"),
        (["begin", "abandoned"], 3, "the next one is attempt 2"),
        (["begin", "add", "finished"], 2, "cannot begin: attempt 1 was finished"),
    ],
)
def test_an_attempt_out_of_order_is_refused(board, done, attempt, message):
    for step in done:
        if step == "begin":
            begin(board, 1, 1)
        elif step == "add":
            board.add(runs(np.random.default_rng(0), "abc"))
        else:
            board.end_attempt(1, 1, step)
    before = board.head
    with pytest.raises(BoardError, match=message):
        begin(board, 1, attempt)
    assert Board.open(board.name).head == before


def test_an_attempt_ends_once(board):
    with pytest.raises(BoardError, match="attempt 1 at replicate 1 cannot end: it has not begun"):
        board.end_attempt(1, 1, "abandoned")
    begin(board, 1, 1)
    board.end_attempt(1, 1, "abandoned")
    with pytest.raises(BoardError, match="cannot end again: attempt 1 was abandoned"):
        board.end_attempt(1, 1, "abandoned")


@pytest.mark.parametrize(
    ("seed", "protocol", "outcome"), [(-1, PROTOCOL, "abandoned"), (2**63, PROTOCOL, "abandoned"), (1, "short", "x")]
)
def test_values_that_a_ledger_cannot_hold_are_refused(board, seed, protocol, outcome):
    with pytest.raises(BoardError):
        board.begin_attempt(1, 1, seed, protocol)
    begin(board, 1, 1)
    if outcome == "x":
        with pytest.raises(BoardError):
            board.end_attempt(1, 1, outcome)
    assert len(Board.open(board.name).events) == 2


@pytest.mark.parametrize("gone", [1, 2, 3, 4])
def test_removing_an_attempt_from_an_archive_is_noticed(board, gone, tmp_path):
    """All but the end of the last one, after which nothing follows: only a published head shows that."""
    begin(board, 1, 1)
    board.end_attempt(1, 1, "abandoned")
    begin(board, 1, 2)
    board.add(runs(np.random.default_rng(0), "abc"))
    board.end_attempt(1, 2, "finished")
    forged = forging.parsed(board)
    del forged.rows[gone]
    with pytest.raises(BbedgeError):
        import_lines(forged.lines(), tmp_path / "copy.db", source="archive", verify=verify_session)


def test_an_attempt_whose_scores_are_on_the_board_was_finished(board):
    begin(board, 1, 1)
    board.add(runs(np.random.default_rng(0), "abc"))
    with pytest.raises(BoardError, match="is not abandoned: scores of the replicate are on the board"):
        board.end_attempt(1, 1, "abandoned")
    board.end_attempt(1, 1, "finished")
