"""The first run of a board in parts, on a file and on a server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bbedge.board import Board
from bbedge.errors import BoardError
from bbedge.ledger.archive import export_lines, import_lines
from bbedge.verify.ledger import verify_session
from unit.board import first_runs

TESTS = Path(__file__).parents[1]
WRITER = """
import sys
from unit.board import first_runs
from bbedge.board import Board
board, panel = Board.open(sys.argv[1]), first_runs.drawn(1)
while board.next_checkpoint is not None:
    first_runs.add_checkpoint(board, panel)
    print(board.next_checkpoint.number if board.next_checkpoint else 0, flush=True)
    sys.stdin.readline()
"""


def test_parts_are_kept_and_verified(place, new_place):
    board = first_runs.life(place)
    verified = Board.open(place).verify()
    assert (verified.events, verified.head) == (len(board.events), board.head)
    other = new_place("sqlite")
    assert import_lines(export_lines(board.store), other, source="archive", verify=verify_session).head == board.head
    assert Board.open(other).leaderboard().early.looks == board.leaderboard().early.looks


def test_a_changed_score_of_a_part_is_found(place, sql):
    board = first_runs.make(place)
    first_runs.add_checkpoint(board, first_runs.drawn(1))
    sql(place, "UPDATE bbedge_vectors SET model = 'x' WHERE model = 'a'")
    with pytest.raises(BoardError, match="'a' in the first run up to 6 blocks of epoch 1 are missing"):
        board.verify()


def test_two_writers_add_a_part_once(place):
    board, panel = first_runs.make(place), first_runs.drawn(1)
    other, part = Board.open(place), first_runs.some(panel, first_runs.MODELS, board.next_items)
    first_runs.add_upto(board, part)
    with pytest.raises(BoardError, match="a look after 6 blocks is not planned; the next checkpoint is after 18"):
        first_runs.add_upto(other, part)
    assert [event.kind for event in Board.open(place).events] == ["init", "replicate"]


@pytest.mark.nightly
@pytest.mark.parametrize("parts", [1, 2])
def test_a_killed_writer_loses_nothing(place, parts):
    first_runs.make(place)
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for _ in range(parts):
        assert process.stdout.readline()
        if _ + 1 < parts:
            process.stdin.write("\n")
            process.stdin.flush()
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)
    process.stdin.close()
    process.stdout.close()
    board, panel = Board.open(place), first_runs.drawn(1)
    assert board.state.epoch.passed == parts
    while board.next_checkpoint is not None:
        first_runs.add_checkpoint(board, panel)
    first_runs.complete(board, panel)
    board.verify()
