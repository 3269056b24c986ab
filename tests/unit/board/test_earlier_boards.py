"""Boards that an earlier version wrote still open, verify, import and grow."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.board.archive import export_lines, import_lines
from bbedge.board.verify import verify
from bbedge.board_certificate import document, notes
from unit.board.boards import runs

GOLDEN = Path(__file__).parents[2] / "golden" / "boards"
DESIGN_HASH = "546eb10e9c5f638c2d250b757eb33a0c1ae3c8d90d07deeffd405559795fd257"
HEAD = "8d37597988ab49da3aefeed077573ef5c706ca3ce5053bfdf40bfb0739190331"

GROWTH = "3c1a127fc55c317a66c0f34af34257b0eb91d975c3479774a8a6d49aef99188f"
"""SHA-256 of the events by which the last version before the second edition grew the board."""


@pytest.fixture
def grown(tmp_path):
    """Two epochs, an added model, a retired one, a note."""
    shutil.copy(GOLDEN / "grown.bbedge", tmp_path / "grown.bbedge")
    return Board.open(tmp_path / "grown.bbedge")


def test_it_opens_and_verifies_with_the_head_that_was_published(grown):
    assert (grown.head, grown.design.hash) == (HEAD, DESIGN_HASH)
    assert verify(grown.store, head=HEAD).events == len(grown.events)
    assert [grown.leaderboard(epoch).standing.n_edges for epoch in (1, 2)] == [6, 2]


def test_its_certificates_name_the_registration_and_say_what_the_old_hash_covered(grown):
    made = document(grown, grown.leaderboard(), 2)
    assert made.board.design_hash == made.design.hash == grown.registration != DESIGN_HASH
    (note,) = (note for note in notes(grown, 2) if "earlier version" in note)
    assert DESIGN_HASH in note
    assert grown.registration in note


def test_it_grows_and_is_exported_and_imported(grown, tmp_path):
    items = grown.state.epoch.items
    added = grown.add(runs(np.random.default_rng(3), ("a", "b", "d"), 1, items, start=3))
    assert added.replicates == (3,)
    assert [event.content.version for event in grown.events[-2:]] == [1, 2]
    grown.note("later", "A note of this version.")
    verify(grown.store, head=HEAD)
    import_lines(export_lines(grown.store), tmp_path / "copy.bbedge", source="archive")
    assert Board.open(tmp_path / "copy.bbedge").head == grown.head


def test_it_stays_under_the_first_edition(grown):
    """What the version that made it wrote when it was grown in the same way, but for saved states and last digits."""
    assert (grown.design.method, grown.design.edition, grown.design.margin_share) == ("bb-edge-x", 1, None)
    items, known = grown.state.epoch.items, len(grown.events)
    grown.add(runs(np.random.default_rng(3), ("a", "b", "d"), 5, items, start=3))
    grown.add_model("e", runs(np.random.default_rng(4), ("e",), 7, items))
    grown.retire("a")
    grown.add(runs(np.random.default_rng(5), ("b", "d", "e"), 2, items, start=8))
    grown.add_items(["x1", "x2"])
    grown.add(runs(np.random.default_rng(6), ("b", "d", "e"), 3, (*items, "x1", "x2"), start=1))
    assert {(stage.design.edition, stage.design.holm, stage.design.margin_share) for stage in grown.state.stages} == {
        (1, "direct", 0.0)
    }
    assert grown.leaderboard().log_w is None
    verify(grown.store, head=HEAD)
    written = hashlib.sha256()
    for event in grown.events[known:]:
        content = {key: value for key, value in json.loads(event.payload).items() if key != "cache"}
        for edge in content.get("certified", ()):
            edge["log_e"] = round(edge["log_e"], 6)
        written.update(json.dumps([event.kind, content], sort_keys=True).encode())
    assert written.hexdigest() == GROWTH


@pytest.mark.parametrize("name", ["grown", "pilot"])
def test_its_archives_are_imported(name, tmp_path):
    lines = (GOLDEN / f"{name}.jsonl").read_text(encoding="ascii").splitlines(keepends=True)
    assert import_lines(lines, tmp_path / "board.bbedge", source=name).events == len(lines) - 2


def test_a_note_keeps_its_particulars(tmp_path):
    lines = (GOLDEN / "pilot.jsonl").read_text(encoding="ascii").splitlines()
    import_lines(lines, tmp_path / "board.bbedge", source="pilot")
    (note,) = Board.open(tmp_path / "board.bbedge").noted
    assert (note.particulars["content"], note.particulars["protocol"]) == ({"x": 1}, "0" * 64)
