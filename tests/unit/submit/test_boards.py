"""Submissions on boards: all of one or nothing, who handed it in, and how far its scores can be trusted."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.board.stored_scores import StoredScores
from bbedge.display.compact import to_markdown
from bbedge.errors import BoardError
from bbedge.ledger.archive import import_file
from bbedge.records.reading import Reading
from bbedge.submit.add import add, take
from bbedge.submit.archive import digest, pack
from bbedge.submit.check import check
from bbedge.submit.confined import check_confined
from bbedge.verify.ledger import verify_session
from bbedge.verify.verify import verify_certificate
from unit.board.boards import ITEMS, make, runs, scores, values


@pytest.fixture
def board(tmp_path):
    made = make(tmp_path, alpha=0.3)
    made.add(runs(np.random.default_rng(1), "abc", 3))
    return made


def packed(folder, name, models, *, count=3, seed=7, items=ITEMS, start=1, keep=True, **given):
    """A submission of drawn scores, and the scores."""
    drawn = values(np.random.default_rng(seed), models, count, items)
    table = folder / f"{name}.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("model", "item", "replicate", "score"))
        for place, panel in enumerate(drawn):
            for model, row in zip(models, panel, strict=True):
                writer.writerows((model, item, start + place, score) for item, score in zip(items, row, strict=True))
    pack([str(table)], folder / f"{name}.zip", Reading(), who="Team A", keep_files=keep, **given)
    return folder / f"{name}.zip", drawn


def trust(board):
    return {model: (each.trust, each.by) for model, each in board.certificate().trust.items()}


def test_a_new_model_joins_as_add_model_has_it(board, tmp_path):
    (tmp_path / "twin").mkdir()
    twin = make(tmp_path / "twin", alpha=0.3)
    twin.add(runs(np.random.default_rng(1), "abc", 3))
    path, drawn = packed(tmp_path, "d", "d")
    brought = take(board, path)
    assert brought.edges == twin.add_model("d", scores(drawn, "d", start=1)).edges
    mine, theirs = ({**each.certificate().document, "board": None, "provenance": None} for each in (board, twin))
    assert mine == theirs
    assert trust(board) == {"d": ("logs-kept", "Team A")}
    assert board.certificate().trust["d"].sha256 == digest(path)


def test_the_same_submission_again_changes_nothing(board, tmp_path):
    path, _ = packed(tmp_path, "d", "d")
    take(board, path)
    head = board.head
    assert take(board, path) is None
    assert board.head == head


def test_several_new_models_come_together_or_not_at_all(board, tmp_path):
    head = board.head
    short, _ = packed(tmp_path, "short", "de", items=ITEMS[1:])
    with pytest.raises(BoardError):
        take(board, short)
    assert Board.open(board.store.name).head == head
    path, _ = packed(tmp_path, "de", "de")
    take(board, path)
    assert board.state.epoch.models == ["a", "b", "c", "d", "e"]
    assert set(trust(board)) == {"d", "e"}


def test_a_replicate_of_all_models_comes_with_the_least_trust_of_their_scores(board, tmp_path):
    board.state_trust("a", "re-run", by="us")
    path, _ = packed(tmp_path, "all", "abc", count=1, start=4, keep=False)
    assert take(board, path).replicates == (4,)
    assert trust(board)["a"] == ("self-reported", "Team A")


def test_a_mixture_of_new_and_old_models_is_refused(board, tmp_path):
    path, _ = packed(tmp_path, "mixed", "ad")
    with pytest.raises(BoardError, match="'d' is new on the board, and 'a' not"):
        take(board, path)


def test_replicates_that_the_board_has_are_no_submission(board, tmp_path):
    path, _ = packed(tmp_path, "old", "abc", seed=1)
    with pytest.raises(BoardError):
        take(board, path)


def test_a_submission_for_another_board_or_scale_is_refused(board, tmp_path):
    path, _ = packed(tmp_path, "other", "d", registration="0" * 64)
    with pytest.raises(BoardError, match="for a board with registration 0000000000000000"):
        take(board, path)
    path, _ = packed(tmp_path, "right", "d", registration=board.registration)
    assert take(board, path) is not None
    pack([str(tmp_path / "right.csv")], tmp_path / "scale.zip", Reading(score_range=(0, 10)), who="A")
    with pytest.raises(BoardError, match="on the scale 0 to 10, those of the board on 0 to 1"):
        take(board, tmp_path / "scale.zip")


class TestAnnounced:
    """Submissions of models whose runs were announced."""

    @pytest.fixture
    def board(self, tmp_path):
        made = make(tmp_path, alpha=0.3, incomplete="worst-case")
        made.add(runs(np.random.default_rng(1), "abc", 3))
        made.announce("d", 3)
        return made

    def test_all_announced_runs_are_taken_and_their_order_is_drawn(self, board, tmp_path):
        path, drawn = packed(tmp_path, "d", "d")
        assert take(board, path) is not None
        joined = board.events[-2].content
        assert joined.order_seed >= 0
        assert joined.gaps == (0, 0, 0)
        with board.store.read() as session:
            stored = [StoredScores(session).panel(board.state.epoch, place)["d"] for place in (1, 2, 3)]
        assert sorted(map(tuple, stored)) == sorted(map(tuple, drawn[:, 0]))
        assert trust(board) == {"d": ("logs-kept", "Team A")}
        board.verify()
        assert verify_certificate(board.certificate().document, board).verified

    def test_fewer_runs_are_taken_once_the_announcement_is_closed(self, board, tmp_path):
        path, _ = packed(tmp_path, "d", "d", count=2)
        head = board.head
        with pytest.raises(BoardError, match="2 of 3 announced runs of 'd' are given; deliver the others, or close"):
            take(board, path)
        assert Board.open(board.store.name).head == head
        board.close_announcement("d")
        assert take(board, path) is not None
        assert sorted(board.events[-2].content.gaps) == [0, 0, len(ITEMS)]
        (record,) = board.certificate().content.board.announcements
        assert (record.announced, record.delivered, record.open) == (3, 2, False)
        board.verify()
        assert verify_certificate(board.certificate().document, board).verified

    def test_one_submission_may_have_more_runs_of_another_model(self, board, tmp_path):
        """The run that the announced model lacks was not delivered; the other model has all that it needs."""
        board.close_announcement("d")
        rng, table = np.random.default_rng(7), tmp_path / "de.csv"
        with table.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("model", "item", "replicate", "score"))
            for model, numbers in (("d", (1, 3)), ("e", (1, 2, 3))):
                writer.writerows(
                    (model, item, number, score)
                    for number in numbers
                    for item, score in zip(ITEMS, values(rng, model, 1)[0, 0], strict=True)
                )
        pack([str(table)], tmp_path / "de.zip", Reading(incomplete="worst-case"), who="Team A")
        assert take(board, tmp_path / "de.zip") is not None
        assert board.state.announced["d"].delivered == 2
        assert board.state.epoch.models[-2:] == ["d", "e"]
        board.verify()

    def test_missing_scores_of_a_run_are_kept_missing(self, board, tmp_path):
        packed(tmp_path, "whole", "d")
        rows = (tmp_path / "whole.csv").read_text().splitlines()
        (tmp_path / "d.csv").write_text("\n".join([*rows[:3], *rows[4:]]))
        path = tmp_path / "d.zip"
        pack([str(tmp_path / "d.csv")], path, Reading(incomplete="worst-case"), who="Team A", keep_files=True)
        assert take(board, path) is not None
        assert sorted(board.events[-2].content.gaps) == [0, 0, 1]
        assert board.state.announced["d"].lacks_scores
        board.verify()

    def test_more_runs_than_announced_are_refused(self, board, tmp_path):
        path, _ = packed(tmp_path, "d", "d", count=4)
        with pytest.raises(BoardError, match="4 runs of 'd' given; the pairing rule of the design joins exactly 3"):
            take(board, path)

    def test_a_check_does_not_say_what_another_order_would_certify(self, board, tmp_path):
        board.close_announcement("d")
        board.export(tmp_path / "board.jsonl")
        path, _ = packed(tmp_path, "d", "d", count=2)
        found = check(path, tmp_path / "board.jsonl")
        assert found.accepted
        assert found.news == (
            "d: 2 of 3 announced runs. Their order is drawn when they are added, so that what they certify is known "
            "only then.",
        )


@pytest.mark.nightly
def test_it_is_checked_again_when_it_is_added(board, tmp_path):
    path, _ = packed(tmp_path, "d", "d")
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    with pytest.raises(BoardError, match="refused: archive"):
        add(board, path)
    path.write_bytes(whole)
    assert add(board, path) is not None


def test_the_last_statement_counts_and_is_not_made_twice(board):
    board.state_trust("a", "self-reported", by="them")
    board.state_trust("a", "re-run", by="us")
    assert trust(board) == {"a": ("re-run", "us")}
    with pytest.raises(BoardError, match="that is what the board states of model 'a' already"):
        board.state_trust("a", "re-run", by="us")
    with pytest.raises(BoardError, match="model 'x' is not on the board"):
        board.state_trust("x", "re-run", by="us")


def test_it_is_verified_exported_imported_and_not_forged(board, tmp_path):
    path, _ = packed(tmp_path, "d", "d")
    take(board, path)
    given = board.certificate().document
    assert verify_certificate(given, board).verified
    board.export(tmp_path / "all.jsonl")
    import_file(tmp_path / "all.jsonl", tmp_path / "copy.db", verify=verify_session)
    again = Board.open(tmp_path / "copy.db")
    assert (again.state.trust, again.state.submissions) == (board.state.trust, board.state.submissions)
    forged = [{**given["board"]["trust"][0], "trust": "re-run"}]
    found = verify_certificate({**given, "board": {**given["board"], "trust": forged}}, board)
    assert found.outcome == "differs"


def test_displays_show_it(board, tmp_path):
    path, _ = packed(tmp_path, "d", "d", keep=False)
    assert "trust" not in to_markdown(board.certificate())
    take(board, path)
    made = board.certificate()
    assert "self-reported" in to_markdown(made)
    page = made.to_html()
    assert "self-reported" in page
    assert "Team A" in page


@pytest.mark.parametrize("checked", [check, pytest.param(check_confined, marks=pytest.mark.nightly)])
def test_a_check_tries_it_on_a_copy_of_the_board(board, tmp_path, checked):
    board.export(tmp_path / "board.jsonl")
    path, _ = packed(tmp_path, "d", "d")
    found = checked(path, tmp_path / "board.jsonl")
    assert found.accepted
    assert any("pairs certified" in line for line in found.news)
    short, _ = packed(tmp_path, "short", "d", items=ITEMS[1:])
    refused = checked(short, tmp_path / "board.jsonl")
    assert [each.what for each in refused.checks if each.status == "fails"] == ["board"]
    assert Board.open(board.store.name).head == board.head
