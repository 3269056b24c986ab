"""Notes on a board: kept, covered by the ledger, carried by archives, and without effect on anything else."""

import numpy as np
import pytest

from bbedge.board import Board, BoardDesign
from bbedge.core.scores import Scores
from bbedge.errors import CopiedReplicateError
from bbedge.ledger.archive import export_lines, import_lines
from bbedge.records.events import NoteAdded
from bbedge.verify.ledger import verify, verify_session

MODELS, ITEMS = ("a", "b"), tuple(f"q{i}" for i in range(8))


def panel(number: int, values: np.ndarray) -> Scores:
    return Scores(
        models=MODELS, items=ITEMS, blocks=ITEMS, replicates=(str(number),), values=values[None], numbered=True
    )


def test_a_note_stays_and_changes_nothing_else(tmp_path):
    rng = np.random.default_rng(1)
    board = Board.create(tmp_path / "b.bbedge", BoardDesign(), models=MODELS, items=ITEMS)
    board.note("independence", "seeds are ignored", provider="x")
    board.add(panel(1, rng.random((2, 8))))
    before = board.leaderboard().log_e
    board.note("more", "text")
    again = Board.open(tmp_path / "b.bbedge")
    assert [note.about for note in again.noted] == ["independence", "more"]
    said = NoteAdded(about="independence", text="seeds are ignored", particulars={"provider": "x"}, epoch=1)
    assert again.noted[0] == said
    assert np.array_equal(again.leaderboard().log_e, before, equal_nan=True)
    assert verify(again.store).events == 4
    again.add(panel(2, rng.random((2, 8))))
    import_lines(export_lines(again.store), tmp_path / "copy.bbedge", source="archive", verify=verify_session)
    assert Board.open(tmp_path / "copy.bbedge").noted == again.noted


def test_copies_are_refused_unless_the_caller_vouches_for_them(tmp_path):
    board = Board.create(tmp_path / "b.bbedge", BoardDesign(), models=MODELS, items=ITEMS)
    values = np.tile([0.0, 1.0], (2, 4))
    board.add(panel(1, values))
    with pytest.raises(CopiedReplicateError, match=r"'1', '2' have the same score.*copies='allow'"):
        board.add(panel(2, values))
    assert board.add(panel(2, values), copies="allow").replicates == (2,)
    assert board.add(panel(2, values), copies="allow").already == (2,)  # the same number is the same replicate
