"""A board from Python: shown in a line, closed at the end, verified, exported, certified as on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.certificate.certificate import Certificate
from bbedge.errors import BoardError, DataError
from bbedge.ledger.archive import export_lines, import_file
from bbedge.verify.ledger import Verified, verify_session
from unit.board.boards import ITEMS, make, runs


@pytest.fixture
def board(tmp_path):
    """Two replicates of three models, a fourth model, a second version of the benchmark without runs."""
    rng = np.random.default_rng(5)
    board = make(tmp_path)
    board.add(runs(rng, ["a", "b", "c"], 2))
    board.add_model("d", runs(rng, ["d"], 2))
    board.note("protocol", "temperature 0.7")
    board.add_items(["q6", "q7"])
    yield board
    board.close()


def test_a_board_is_shown_in_a_line(tmp_path, board):
    assert repr(board) == f"Board({tmp_path}/board.db, epoch 2: 4 models, 8 items, 0 replicates)"


def test_the_password_of_a_database_is_not_shown(board, monkeypatch):
    monkeypatch.setattr(board.store, "name", "postgresql://me:***@host/board")
    assert repr(board).startswith("Board(postgresql://me:***@host/board, epoch 2")


def test_equality_is_identity(tmp_path, board):
    with Board.open(tmp_path / "board.db") as again:
        assert again != board
        assert len({board, again, board}) == 2


def test_a_with_statement_closes_the_board_also_after_an_error(tmp_path, board, monkeypatch):
    closed = []
    monkeypatch.setattr(type(board.store), "close", lambda store: closed.append(store))
    with Board.open(tmp_path / "board.db") as opened:
        assert isinstance(opened, Board)
        assert closed == []
    assert closed == [opened.store]
    with pytest.raises(KeyError), Board.open(tmp_path / "board.db"):
        raise KeyError
    assert len(closed) == 2


def test_verify_counts_what_there_is(board):
    done = board.verify(board.events[1].hash)
    assert isinstance(done, Verified)
    assert (done.events, done.head) == (len(board.events), board.head) == (6, board.events[-1].hash)
    assert done.vectors == 2 * 4
    assert done.certificates == sum(len(json.loads(event.payload).get("certified", ())) for event in board.events)
    assert done.spent == board.state.spent


def test_verify_refuses_a_hash_that_no_event_has(board):
    with pytest.raises(BoardError, match="no event has the published hash"):
        board.verify("0" * 64)


def test_an_export_is_the_archive_and_makes_the_board_again(tmp_path, board):
    out = tmp_path / "all.jsonl"
    board.export(str(out))
    assert out.read_text(encoding="ascii") == "".join(export_lines(board.store))
    assert import_file(out, tmp_path / "again.db", verify=verify_session).head == board.head


def test_an_export_that_fails_leaves_what_was_there(tmp_path, board, monkeypatch):
    out = tmp_path / "all.jsonl"
    out.write_text("before")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(DataError, match="No space left on device"):
        board.export(out)
    assert out.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".part") == []


def test_a_board_is_not_exported_over_itself(tmp_path, board):
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "board.db")
    for place in (tmp_path / "board.db", tmp_path / "link.jsonl", f"{tmp_path}/./board.db"):
        with pytest.raises(BoardError, match="is the board itself; export it to another file"):
            board.export(place)
    assert board.verify().events == 6


def test_the_certificate_is_of_the_last_version_with_runs(board):
    certificate = board.certificate()
    assert isinstance(certificate, Certificate)
    assert certificate.document["board"]["epoch"] == 1
    assert certificate.document["items"] == len(ITEMS)
    assert certificate.document["board"]["head"] == board.head
    assert "temperature 0.7" in [note["text"] for note in certificate.document["notes"]]
    assert board.certificate(2).document["items"] == len(ITEMS) + 2
    with pytest.raises(BoardError, match="there is no epoch 3"):
        board.certificate(3)


def test_the_certificate_shows_itself(board):
    certificate = board.certificate()
    leaderboard = board.leaderboard(1)
    decided = int(leaderboard.to_frame()["wins"].sum())
    assert repr(certificate) == f"Certificate(4 models, 2 replicates: {decided} of 6 pairs certified)"
    assert json.loads(certificate.to_json()) == certificate.document
    assert "temperature 0.7" in certificate.to_html("Our board")
    assert "<title>Our board</title>" in certificate.to_html("Our board")


def test_the_leaderboard_of_a_board_has_the_board_s_certificate(board):
    certificate, leaderboard = board.certificate(1), board.leaderboard(1)
    assert leaderboard.to_json() == certificate.to_json()
    assert leaderboard.to_html("x") == certificate.to_html("x")
    rows = leaderboard.to_latex().splitlines()[4:-2]
    assert [row.split(" & ")[1] for row in rows] == leaderboard.to_frame()["model"].to_list()
    assert json.loads(board.leaderboard().to_json())["board"]["epoch"] == 2


def test_a_leaderboard_from_before_a_change_is_not_certified_as_it_is_now(board):
    leaderboard = board.leaderboard(1)
    board.note("protocol", "another server")
    with pytest.raises(BoardError, match=r"has changed since this leaderboard was made; call leaderboard\(\) again"):
        leaderboard.to_json()
    assert leaderboard.to_frame()["model"].len() == 4
    assert "another server" in board.leaderboard(2).to_json()
