"""A withdrawn model: its row is hidden everywhere, its scores stay, and no conclusion changes."""

from __future__ import annotations

import json
import re
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from bbedge.board import Board
from bbedge.certificate.certificate import Certificate
from bbedge.display.compact import badge, to_markdown
from bbedge.display.ranking import model_rows
from bbedge.display.terminal import show_leaderboard
from bbedge.errors import BoardError, FormatError
from bbedge.ledger.archive import import_file
from bbedge.verify.ledger import verify_session
from bbedge.verify.verify import verify_certificate
from unit.board import first_runs
from unit.board.boards import make, runs
from unit.certificate.documents import checked
from unit.verify.test_recompute_board import content_of, table

REASON = "Trained on the items, says <its maker> & 'others'"


@pytest.fixture
def board(tmp_path):
    made = make(tmp_path, models=("a", "b", "c", "d"), alpha=0.3)
    made.add(runs(np.random.default_rng(1), "abcd", 8))
    return made


def conclusions(board: Board, epoch: int = 1) -> dict:
    """The certificate without what names its board."""
    found = json.loads(board.certificate(epoch).to_json())
    found.pop("provenance")
    for key in ("head", "events", "timeline", "withdrawn"):
        found["board"].pop(key, None)
    return found


def test_no_conclusion_changes_and_none_of_a_later_run(board, tmp_path):
    (tmp_path / "other").mkdir()
    twin = make(tmp_path / "other", models=("a", "b", "c", "d"), alpha=0.3)
    twin.add(runs(np.random.default_rng(1), "abcd", 8))
    before = conclusions(board)
    board.withdraw("a", REASON)
    assert conclusions(board) == before
    assert board.state.active == ["a", "b", "c", "d"]
    for each in (board, twin):
        each.add(runs(np.random.default_rng(2), "abcd", 2, start=9))
    assert conclusions(board) == conclusions(twin)
    record = board.certificate().content.board
    assert [(each.model, each.event, each.reason) for each in record.withdrawn] == [("a", 10, REASON)]
    assert [(step.kind, step.names) for step in record.timeline if step.event == 10] == [("withdraw", ("a",))]


def test_it_is_verified_exported_and_imported(board, tmp_path):
    board.withdraw("b", REASON)
    given = board.certificate().document
    assert verify_certificate(given, board).verified
    board.verify()
    board.export(tmp_path / "all.jsonl")
    import_file(tmp_path / "all.jsonl", tmp_path / "copy.db", verify=verify_session)
    again = Board.open(tmp_path / "copy.db")
    assert (again.state.withdrawn, again.head) == (["b"], board.head)
    for change in ({"withdrawn": []}, {"withdrawn": [{"model": "c", "event": 10, "reason": REASON}]}):
        forged = {**given, "board": {**given["board"], **change}}
        with pytest.raises(FormatError, match="'timeline' and 'withdrawn' of the board do not agree"):
            checked(forged)
        assert verify_certificate(forged, board).outcome == "differs"
    other = {**given, "board": {**given["board"], "withdrawn": [{"model": "b", "event": 10, "reason": "other"}]}}
    other.pop("provenance")
    assert verify_certificate(other, board).outcome == "differs"


def test_a_table_of_scores_verifies_it_too(tmp_path):
    board, panel = first_runs.make(tmp_path / "board.db"), first_runs.drawn(1)
    first_runs.add_checkpoint(board, panel)
    board.withdraw("c", REASON)
    first_runs.complete(board, panel)
    found = verify_certificate(content_of(board), table(board, panel))
    assert found.verified, [each for check in found.checks for each in check.differences]


@pytest.mark.parametrize(
    ("model", "reason", "why"),
    [
        ("x", "a reason", "model 'x' is not on the board; the active models are 'a', 'b', 'c', 'd'"),
        ("c", "a reason", "model 'c' is withdrawn already"),
        ("a", " \t", "reason"),
        ("a", "r" * 1001, "reason"),
    ],
)
def test_what_is_refused(board, model, reason, why):
    board.withdraw("c", "the first reason")
    head = board.head
    with pytest.raises(BoardError, match=why):
        board.withdraw(model, reason)
    assert Board.open(board.store.name).head == head


def test_a_model_of_an_earlier_version_is_hidden_there_alone(board):
    board.retire("b")
    board.add_items(("r1", "r2"))
    board.withdraw("b", REASON)
    assert [row.label for row in model_rows(board.certificate(2))] == ["a", "c", "d"]
    assert board.certificate(2).withdrawn == ()
    assert "b" not in [row.label for row in model_rows(board.certificate(1))]
    assert "withdrawn" not in to_markdown(board.certificate(2))


def everywhere(certificate: Certificate) -> dict[str, str]:
    said = StringIO()
    show_leaderboard(Console(file=said, width=160), certificate)
    return {
        "terminal": said.getvalue(),
        "markdown": to_markdown(certificate),
        "notebook": certificate._repr_html_(),
        "latex": certificate.to_latex(),
        "page": certificate.to_html(),
    }


def test_every_display_hides_the_row_counts_it_and_says_why(board):
    hidden = board.certificate().names[0]  # the first row, so that groups and cuts begin with another one
    board.withdraw(hidden, REASON)
    board.withdraw("d", "second reason")
    made = board.certificate()
    rows = model_rows(made)
    assert [row.label for row in rows] == [name for name in made.names if name not in (hidden, "d")]
    assert (rows[0].opens_group, rows[0].cut_above) == (True, False)
    assert [row.ranks for row in rows] == [made.ranks.rank_intervals[row.index] for row in rows]
    for name, text in everywhere(made).items():
        assert "2 withdrawn models are not in the table, and still count in every rank and comparison." in text, name
        assert "second reason" in text, name
        assert "<its maker>" not in text or name in ("terminal", "latex"), name
    shown = everywhere(made)
    lines = re.findall(r"<tr[^>]*data-model=\"(\d+)\"( hidden)?", shown["page"])
    assert {int(place) for place, is_hidden in lines if is_hidden} == {made.names.index(hidden), made.names.index("d")}
    assert '<a href="#withdrawn">' in shown["page"]
    assert 'id="withdrawn"' in shown["page"]
    assert f"{made.content.board.events}: {made.content.board.head}" in shown["page"]
    for name in ("markdown", "latex"):
        assert f" {hidden} |" not in shown[name]
        assert f"& {hidden} &" not in shown[name]
    assert ">b: certified" in badge(made, "b") or ">b: no rank" in badge(made, "b")
    assert badge(made, hidden).count("withdrawn") >= 3
    assert f"Head {len(board.events)}: {board.head}" in badge(made, "b")


def test_a_view_hides_the_same_rows(tmp_path):
    from unit.board.test_views import whole_life

    made = whole_life(tmp_path)
    name = made.certificate().names[1]
    made.withdraw(name, REASON)
    certificate = made.certificate()
    for view in certificate.views:
        assert view.labels[view.names.index(name)] == f"{name} (withdrawn)"
        assert [row.label for row in model_rows(view)] == [each for each in view.names if each != name]
