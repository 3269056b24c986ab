"""Announced runs: what is refused, what a missing run does, what certificates say, and the order that is drawn."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.board.sequence import drawn_order
from bbedge.board.stored_scores import StoredScores
from bbedge.display.scope import announced_runs
from bbedge.errors import BoardError, FormatError
from bbedge.ledger.archive import import_file, import_lines
from bbedge.verify.ledger import verify_session
from bbedge.verify.verify import verify_certificate
from unit.board import forging
from unit.board.boards import ITEMS, make, runs
from unit.certificate.documents import checked

RUNS = 6


def board_of(folder, **options):
    options = {"alpha": 0.3, "incomplete": "worst-case", **options}
    board = make(folder, **options)
    board.add(runs(np.random.default_rng(1), "abc", RUNS))
    return board


@pytest.fixture
def board(tmp_path):
    return board_of(tmp_path)


def given(count, model="d", seed=2):
    return runs(np.random.default_rng(seed), model, count)


def test_all_runs_are_taken_in_an_order_that_is_drawn(board):
    board.announce("d", RUNS)
    delivered = given(RUNS)
    board.add_model("d", delivered)
    event = board.events[-1].content
    assert sorted(event.gaps) == [0] * RUNS
    with board.store.read() as session:
        stored = [session.vectors(1, place)["d"] for place in range(1, RUNS + 1)]
    assert len(set(stored)) == RUNS
    assert drawn_order(event.order_seed, event.vectors) == list(range(RUNS))
    orders = {tuple(drawn_order(seed, event.vectors)) for seed in range(50)}
    assert len(orders) > 40
    board.verify()
    assert verify_certificate(board.certificate().document, board).verified


def test_the_order_does_not_depend_on_the_order_of_the_files():
    digests = [f"{number:064x}" for number in (5, 5, 7, 9, 5, 8)]
    sequences = {
        tuple(order[place] for place in drawn_order(11, order)) for order in set(itertools.permutations(digests))
    }
    assert len(sequences) == 1
    assert sorted(sequences.pop()) == sorted(digests)


def test_what_is_missing_is_waited_for_until_the_announcement_is_closed(board):
    board.announce("d", RUNS)
    with pytest.raises(BoardError, match=r"4 of 6 announced runs of 'd' are given; deliver the others, or close"):
        board.add_model("d", given(4))
    with pytest.raises(BoardError, match="'d' are announced; close the announcement first"):
        board.add_items(("r1",))
    assert announced_runs(board.certificate()) == "d: 6 announced, 0 delivered, open; not announced: 'a', 'b', 'c'."
    board.close_announcement("d")
    board.add_model("d", given(4))
    event = board.events[-1].content
    assert sorted(event.gaps) == [0, 0, 0, 0, len(ITEMS), len(ITEMS)]
    first = event.gaps.index(len(ITEMS)) + 1
    stage = board.state.stages[-1]
    assert stage.certifier.runs == first, "the evidence ends with the first run that was not delivered"
    assert "d" not in stage.certifier.evidence.active
    place, before = stage.design.models.index("d"), board.leaderboard().log_e
    board.add(runs(np.random.default_rng(5), "abcd", 2))
    np.testing.assert_array_equal(board.leaderboard().log_e[place], before[place])
    board.verify()
    record = board.certificate().content.board.announcements
    assert [(each.model, each.announced, each.delivered, each.open) for each in record] == [("d", 6, 4, False)]


def test_a_missing_run_counts_as_the_worst_case_and_then_nothing_counts(tmp_path):
    """The evidence is that of the same runs, the missing one with 0 for the model above and 1 for the one below."""
    board = board_of(tmp_path)
    board.announce("d", RUNS)
    board.close_announcement("d")
    board.add_model("d", given(5))
    event, stage = board.events[-1].content, board.state.stages[-1]
    last = event.gaps.index(len(ITEMS)) + 1
    found = stage.certifier.leaderboard().log_e
    d, others = stage.design.models.index("d"), [stage.design.models.index(name) for name in "abc"]
    with board.store.read() as session:
        panels = [dict(StoredScores(session).panel(board.state.epoch, place)) for place in range(1, last + 1)]
    for filled, rows in ((0.0, [(d, other) for other in others]), (1.0, [(other, d) for other in others])):
        twin = type(stage.certifier)(stage.design)
        for panel in panels:
            model = np.nan_to_num(panel["d"], nan=filled)
            twin.update(np.stack([panel["a"], panel["b"], panel["c"], model]))
        for row in rows:
            assert found[row] == pytest.approx(twin.leaderboard().log_e[row], abs=1e-9)


def test_one_missing_score_ends_the_evidence_too(board):
    board.announce("d", RUNS)
    delivered = given(RUNS)
    gapped = delivered.values.copy()
    gapped[2, 0, 0] = np.nan
    board.add_model("d", replace(delivered, values=gapped, gaps="worst-case"))
    event = board.events[-1].content
    assert board.state.announced["d"].delivered == RUNS
    assert board.state.stages[-1].certifier.runs == event.gaps.index(1) + 1
    board.verify()


def test_in_the_claims_of_later_models_it_has_no_evidence_at_all(board):
    board.announce("d", RUNS)
    board.close_announcement("d")
    board.add_model("d", given(3))
    board.add_model("e", given(RUNS, "e", 3))
    stage = board.state.stages[-1]
    assert stage.certifier.runs == RUNS
    assert "d" not in stage.certifier.evidence.active
    d, e = (stage.design.models.index(name) for name in "de")
    found = stage.certifier.leaderboard().log_e
    assert np.isneginf(found[[d, e], [e, d]]).all() or (found[[d, e], [e, d]] < -100).all()
    board.add(runs(np.random.default_rng(5), "abcde", 2))
    board.verify()
    document = board.certificate().document
    checked(document)
    assert verify_certificate(document, board).verified


def test_in_the_next_version_its_runs_count_like_any_others(board):
    board.announce("d", RUNS)
    board.close_announcement("d")
    board.add_model("d", given(3))
    more = ("r1", "r2")
    board.add_items(more)
    items = (*ITEMS, *more)
    board.add(runs(np.random.default_rng(6), "abcd", 4, items))
    board.add_model("e", runs(np.random.default_rng(7), "e", 4, items))
    stage = board.state.stages[-1]
    d, e = (stage.design.models.index(name) for name in "de")
    assert "d" in stage.certifier.evidence.active
    assert (stage.certifier.leaderboard().log_e[[d, e], [e, d]] > -100).all()
    board.verify()
    assert verify_certificate(board.certificate().document, board).verified


def test_the_model_joins_the_replicates_that_there_were_when_its_runs_were_announced(board):
    board.announce("d", RUNS)
    board.add(runs(np.random.default_rng(3), "abc", 2))
    board.add_model("d", given(RUNS))
    assert board.state.stages[-1].places == [1, 2, 3, 4, 5, 6]
    board.add(runs(np.random.default_rng(4), "abcd", 1))
    assert board.state.stages[-1].places == [1, 2, 3, 4, 5, 6, 9]
    board.verify()


def test_the_level_is_spent_when_runs_are_announced(board):
    level = board.state.next_level()
    board.announce("d", RUNS)
    spent = board.state.spent
    assert board.state.next_level() < level
    board.add_model("e", given(RUNS, "e", 3))
    assert board.state.stages[-1].level < level
    board.close_announcement("d")
    assert board.state.spent > spent
    board.add_model("d", given(2))
    assert (board.state.stages[-1].claim, board.state.stages[-1].level) == (1, level)
    assert sorted(stage.claim for stage in board.state.stages) == [0, 1, 2]
    document = board.certificate().document
    checked(document)
    assert document["board"]["alpha_spent"] == pytest.approx(board.state.spent)
    board.verify()
    again = Board.open(board.store.name)
    assert again.leaderboard().log_e == pytest.approx(board.leaderboard().log_e, nan_ok=True)


def test_withholding_everything_leaves_its_level_spent(board):
    board.announce("d", RUNS)
    board.close_announcement("d")
    with pytest.raises(BoardError, match=r"no run|no score|6 runs|0 runs"):
        board.add_model("d")
    document = board.certificate().document
    checked(document)
    assert document["board"]["announcements"][0]["delivered"] == 0
    assert document["board"]["alpha_spent"] == pytest.approx(board.state.spent)
    board.add_items(("r1", "r2"))
    board.verify()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"incomplete": "refuse"}, "does not count missing scores in the worst case"),
        ({"incomplete": "zero"}, "does not count missing scores in the worst case"),
        ({"of_runs": "all:2"}, "several runs make a score of this board"),
    ],
)
def test_designs_that_cannot_keep_the_promise_refuse(tmp_path, options, why):
    with pytest.raises(BoardError, match=why):
        board_of(tmp_path, **options).announce("d", RUNS)


@pytest.mark.parametrize("target", ["new-items", "both"])
def test_claims_about_new_items_count_announced_runs_likewise(tmp_path, target):
    board = board_of(tmp_path, target=target)
    board.announce("d", RUNS)
    board.close_announcement("d")
    board.add_model("d", given(4))
    board.add(runs(np.random.default_rng(5), "abcd", 3))
    board.verify()
    assert verify_certificate(board.certificate().document, board).verified


def test_what_else_is_refused(board, tmp_path):
    for model, count, why in (
        ("a", RUNS, "'a' is on the board already"),
        ("d", 5, "5 runs announced; the pairing rule of the design joins exactly 6 now"),
    ):
        with pytest.raises(BoardError, match=why):
            board.announce(model, count)
    with pytest.raises(BoardError, match="no runs of model 'd' were announced"):
        board.close_announcement("d")
    board.announce("d", RUNS)
    with pytest.raises(BoardError, match="runs of model 'd' were announced already"):
        board.announce("d", RUNS)
    with pytest.raises(BoardError, match="7 runs of 'd' given"):
        board.add_model("d", given(7))
    board.close_announcement("d")
    with pytest.raises(BoardError, match="the announcement of 'd' is closed already"):
        board.close_announcement("d")
    (tmp_path / "empty").mkdir()
    empty = make(tmp_path / "empty", incomplete="worst-case")
    with pytest.raises(BoardError, match="there is no complete replicate that 'd' could join"):
        empty.announce("d", 1)


@pytest.mark.parametrize("change", ["order", "seed", "no seed", "never announced", "level", "delivered"])
def test_a_forged_announcement_is_refused(board, tmp_path, change):
    board.announce("d", RUNS)
    board.close_announcement("d")
    board.add_model("d", given(5))
    forged = forging.parsed(board)
    row = forged.rows[-1]
    content = row["content"]
    if change == "order":
        content["vectors"] = content["vectors"][::-1]
        content["gaps"] = content["gaps"][::-1]
        data = [vector[3] for vector in row["vectors"]][::-1]
        for vector, each in zip(row["vectors"], data, strict=True):
            vector[3] = each
    elif change == "seed":
        content["order_seed"] += 1
    elif change == "no seed":
        del content["order_seed"]
    elif change == "never announced":
        del forged.rows[-3:-1]
    elif change == "level":
        forged.rows[-3]["content"]["level"] = 0.2
    else:
        del forged.rows[-2]
    with pytest.raises((BoardError, FormatError)):
        import_lines(forged.lines(), tmp_path / "copy.db", source="archive", verify=verify_session)


def test_export_import_and_forged_certificates(board, tmp_path):
    board.announce("d", RUNS)
    board.close_announcement("d")
    board.add_model("d", given(5))
    board.export(tmp_path / "all.jsonl")
    import_file(tmp_path / "all.jsonl", tmp_path / "copy.db", verify=verify_session)
    assert Board.open(tmp_path / "copy.db").head == board.head
    document = board.certificate().document
    for key, value in (("delivered", 0), ("delivered", 9), ("level", 0.01), ("open", True)):
        forged = json.loads(json.dumps(document))
        forged["board"]["announcements"][0][key] = value
        with pytest.raises(FormatError, match=r"announcement of 'd' does not agree|alpha_spent"):
            checked(forged)
    shown = board.certificate().to_html()
    assert "d: 6 announced, 5 delivered; not announced: &#39;a&#39;, &#39;b&#39;, &#39;c&#39;." in shown


def test_items_are_not_added_beside_runs_about_new_items_that_were_not_delivered(tmp_path):
    board = board_of(tmp_path, target="both")
    board.announce("d", RUNS)
    board.close_announcement("d")
    board.add_model("d", given(4))
    with pytest.raises(
        BoardError, match="announced runs of 'd' were not delivered, and evidence about new items would"
    ):
        board.add_items(("r1",))
    (tmp_path / "grown").mkdir()
    grown = board_of(tmp_path / "grown", target="both")
    grown.add_items(("r1",))
    with pytest.raises(BoardError, match="items were added to this board, and a model joins the runs of every version"):
        grown.announce("d", RUNS)
