"""Where scores came from: what readers noticed, the files, and repetitions that were counted are in the ledger."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.certificate.of_board import board_document
from bbedge.errors import BoardError
from bbedge.ledger.archive import export_lines, import_lines
from bbedge.readers import read_scores
from bbedge.records.notes import Note
from bbedge.verify.ledger import verify, verify_session
from unit.board.boards import ITEMS, make, runs, scores, values

ABC = ("a", "b", "c")
SEED = Note(kind="seed", subject=("a",), text="Replicates of 'a' share a seed.")
CACHE = Note(kind="cache", text="3 answers came from a cache.")


@pytest.fixture
def rng():
    return np.random.default_rng(8)


def test_what_a_reader_noticed_reaches_the_ledger_and_every_certificate(tmp_path, rng):
    board = make(tmp_path)
    board.add(replace(runs(rng, ABC, 2, start=1), notes=(SEED,)))
    board.add_model("d", replace(runs(rng, ("d",), 2), notes=(CACHE,)))
    board = Board.open(board.name)
    assert [note for _, note in board.noticed] == [SEED, CACHE]
    assert {SEED, CACHE} <= set(board_document(board, board.leaderboard(), 1).notes)
    board.add_items(["x"])
    assert SEED in board_document(board, board.leaderboard(1), 1).notes
    assert SEED not in board_document(board, board.leaderboard(2), 2).notes
    import_lines(export_lines(board.store), tmp_path / "copy.db", source="archive", verify=verify_session)
    assert Board.open(tmp_path / "copy.db").noticed == board.noticed


def test_repetitions_that_count_are_stated(tmp_path, rng):
    board = make(tmp_path)
    same = values(rng, ABC)
    board.add(scores(np.repeat(same, 2, axis=0), ABC, start=1), copies="allow")
    made = board_document(board, board.leaderboard(), 1)
    assert made.design.copies == "refuse"
    assert any("because copies were allowed when they were added: replicate 2" in note.text for note in made.notes)
    verify(board.store)

    (tmp_path / "other").mkdir()
    board = make(tmp_path / "other", copies="allow")
    board.add(scores(np.repeat(same, 2, axis=0), ABC, start=1))
    made = board_document(board, board.leaderboard(), 1)
    assert made.design.copies == "allow"
    assert any("as the design allows: replicate 2" in note.text for note in made.notes)


def table(path, *, block="block"):
    rows = [f"{m},{i},{'xy'[n % 2]},{(n * 7 + ord(m)) % 10 / 10}" for m in ABC for n, i in enumerate(ITEMS)]
    path.write_text("\n".join([f"model,item,{block},score", *rows]) + "\n", encoding="ascii")
    return path


def test_the_hash_of_the_file_is_recorded(tmp_path):
    board = make(tmp_path)
    file = table(tmp_path / "run.csv", block="other")
    board.add(read_scores(file, identify=True))
    assert board.events[-1].content.files == (hashlib.sha256(file.read_bytes()).hexdigest(),)


def test_blocks_of_the_files_are_those_of_the_design(tmp_path):
    board = make(tmp_path, blocks=["even", "odd"] * 3)
    board.add(read_scores(table(tmp_path / "run.csv")))  # other labels, the same blocks
    (tmp_path / "single").mkdir()
    single = make(tmp_path / "single")
    with pytest.raises(BoardError, match="the files put item 'q2' into the block 'x', which does not hold the same"):
        single.add(read_scores(table(tmp_path / "run.csv")))
    single.add(read_scores(table(tmp_path / "plain.csv", block="other")))
