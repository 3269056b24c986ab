"""The file of the heads of a ledger: one line an event, appended after the event, and never another history."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.errors import BoardError, ForkedError, FormatError, RewrittenError, RolledBackError
from bbedge.ledger.archive import import_file
from bbedge.ledger.heads import LedgerHead, heads_beside, read_heads
from bbedge.verify.ledger import verify_session
from unit.board import forging
from unit.board.boards import make, runs


def heads_of(board: Board) -> list[LedgerHead]:
    return [LedgerHead(number=event.seq, hash=event.hash, time=event.at) for event in board.events]


def beside(board: Board) -> Path:
    return heads_beside(Path(board.store.name))


@pytest.fixture
def board(tmp_path):
    made = make(tmp_path, alpha=0.3)
    made.add(runs(np.random.default_rng(1), "abc", 3))
    return made


def test_every_event_has_its_line(tmp_path):
    board = forging.whole_life(tmp_path)
    assert read_heads(beside(board)) == heads_of(board)
    first = json.loads(beside(board).read_text().splitlines()[0])
    event = board.events[0]
    assert first == {"version": 1, "number": 1, "hash": event.hash, "time": event.at}
    board.verify(heads=read_heads(beside(board)))


def test_two_boards_of_a_folder_have_a_file_each(tmp_path):
    for name in ("board.db", "board.bbedge"):
        (tmp_path / name).mkdir()
        make(tmp_path / name)
        shutil.move(tmp_path / name / "board.db", tmp_path / f"moved-{name}")
    boards = [Board.open(tmp_path / name) for name in ("moved-board.db", "moved-board.bbedge")]
    for each in boards:
        each.note("about", each.store.name)
    assert len({beside(each) for each in boards}) == 2
    assert [read_heads(beside(each)) for each in boards] == [heads_of(each) for each in boards]


KILLED = """
import os, signal, sys
from bbedge.board import Board
from bbedge.ledger.heads import HeadsFile
board = Board.open(sys.argv[1])
HeadsFile.append = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
board.note("about", "killed")
"""
NOTES = """
import sys
from bbedge.board import Board
for number in range(5):
    Board.open(sys.argv[1]).note(sys.argv[2], str(number))
"""


def started(program: str, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", program, *words])


@pytest.mark.parametrize("torn", ["", '{"hash":"0', "\0\0\0"], ids=["between", "half a line", "zeros"])
@pytest.mark.parametrize("then", ["open", "change"])
def test_a_kill_between_the_event_and_its_head(board, torn, then):
    """The event is kept, and its head is not."""
    assert started(KILLED, board.store.name).wait() == -signal.SIGKILL
    before = beside(board).read_text()
    with beside(board).open("a") as file:
        file.write(torn)
    again = Board.open(board.store.name)
    assert [event.kind for event in again.events[-1:]] == ["note"]
    assert len(before.splitlines()) == len(again.events) - 1
    if then == "change":
        again.note("about", "more")
    assert beside(board).read_text().startswith(before)
    assert read_heads(beside(board)) == heads_of(again)


def test_it_only_grows(board):
    before = beside(board).read_bytes()
    board.note("about", "more")
    assert beside(board).read_bytes().startswith(before)
    assert beside(board).stat().st_size > len(before)


def test_a_board_without_a_file_of_heads_gets_one_with_the_next_change(board):
    beside(board).unlink()
    Board.open(board.store.name)
    assert not beside(board).exists()
    board.note("about", "more")
    assert read_heads(beside(board)) == heads_of(board)


@pytest.mark.nightly
def test_several_writers(board):
    writers = [started(NOTES, board.store.name, name) for name in "xyz"]
    assert [each.wait() for each in writers] == [0, 0, 0]
    again = Board.open(board.store.name)
    assert len(again.events) == 4 + 15
    assert read_heads(beside(board)) == heads_of(again)


def restored(board: Board, tmp_path: Path) -> Board:
    """An older copy of the board in its place, with the file of the heads as it is."""
    copy = tmp_path / "copy.db"
    board.close()
    shutil.copy(board.store.name, copy)
    later = Board.open(board.store.name)
    later.note("about", "what is lost")
    later.close()
    shutil.copy(copy, board.store.name)
    return Board.open(board.store.name)


def test_a_rolled_back_board_is_not_continued(board, tmp_path):
    old = restored(board, tmp_path)
    heads = read_heads(beside(old))
    with pytest.raises(BoardError, match="an event 5 that the ledger does not have: the ledger was rolled back"):
        old.note("about", "another history")
    assert len(Board.open(old.store.name).events) == 4
    with pytest.raises(RolledBackError, match=r"number 5 .* is ahead of the ledger, which ends with event 4"):
        old.verify(heads=heads)
    beside(old).rename(tmp_path / "kept.jsonl")
    old.note("about", "another history")
    with pytest.raises(RewrittenError, match=r"event 5 has the hash .* rewritten there or before"):
        old.verify(heads=heads)
    with pytest.raises(ForkedError, match="two heads of number 5 were published"):
        old.verify(heads=[*heads, *read_heads(beside(old))])
    shutil.copy(tmp_path / "kept.jsonl", beside(old))
    with pytest.raises(BoardError, match="an event 5 that the ledger does not have: the ledger was rolled back"):
        old.note("about", "more")


def test_another_time_is_found(board):
    heads = read_heads(beside(board))
    edited = LedgerHead(number=2, hash=heads[1].hash, time="2020-01-01T00:00:00+00:00")
    with pytest.raises(BoardError, match=r"number 2 has the time 2020-01-01T00:00:00\+00:00, its event"):
        board.verify(heads=[heads[0], edited])


def test_heads_come_in_any_order_and_more_than_once(board):
    heads = read_heads(beside(board))
    board.verify(heads=[*heads[::-1], *heads, heads[1]])


def test_a_new_board_does_not_follow_the_heads_of_another_one(board, tmp_path):
    (tmp_path / "board.db").unlink()
    with pytest.raises(BoardError, match="an event 4 that the ledger does not have"):
        make(tmp_path, alpha=0.2)
    assert not (tmp_path / "board.db").exists()


def test_an_import_beside_its_heads_is_the_same_ledger(board, tmp_path):
    board.export(tmp_path / "all.jsonl")
    board.close()
    (tmp_path / "board.db").unlink()
    import_file(tmp_path / "all.jsonl", tmp_path / "board.db", verify=verify_session)
    assert read_heads(beside(board)) == heads_of(Board.open(tmp_path / "board.db"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("[]\n", "expected|is not"),
        ('{"number":1}\n', "states no version"),
        ('{"version":2,"number":1,"hash":"0","time":""}\n', "version 2"),
        ('{"version":1,"number":0,"hash":"%s","time":""}\n' % ("0" * 64), "number"),
        ('{"version":1,"number":1,"hash":"zz","time":""}\n', "hash"),
        ('{"version":1,"number":1,"hash":"%s","time":"","more":1}\n' % ("0" * 64), "unknown key 'more'"),
        ("not json\n", "no JSON"),
    ],
)
def test_other_files_are_refused(tmp_path, text, why):
    (tmp_path / "heads.jsonl").write_text(text)
    for place in (tmp_path, tmp_path / "heads.jsonl"):
        with pytest.raises(FormatError, match=why):
            read_heads(place)
