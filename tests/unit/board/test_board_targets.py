"""Boards about new items: looks by a schedule, models that join and retire, copies, and several runs as one score."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import bbedge
from bbedge import Board, BoardDesign, verify_certificate
from bbedge.board import CheckpointRule
from bbedge.board.words import announcement, design_values
from bbedge.certificate.of_board import graph_csv
from bbedge.cli import make_app
from bbedge.cli.board_add import open_board
from bbedge.core.design import Design
from bbedge.core.leaderboard import run
from bbedge.errors import BoardError, CopiedReplicateError, DesignError
from bbedge.records.reading import Reading
from bbedge.verify.ledger import verify_session
from unit.board.boards import runs, values

ITEMS = tuple(f"q{i}" for i in range(24))
TOPICS = {"topic": tuple("xyz"[i % 3] for i in range(24))}
LIVES = (
    {"target": "both"},
    {"target": "new-items", "looks": [2, 4], "look_weights": [0.3, 0.7]},
    {"target": "both", "planned": 6, "tau": 0.01, "mean_share": 0.1},
    {"target": "both", "of_runs": "any:2"},
    {"target": "both", "headline": {"macro": "topic"}, "views": {"column": "topic"}, "looks": [2, 5]},
    {"target": "new-items", "incomplete": "worst-case", "equal_within": 0.1},
    {"target": "both", "pairing": "first", "first": 2},
    {"target": "new-items", "margin_share": 0.0, "pairing": "first", "first": 1},
)


def board_of(folder, **options) -> Board:
    design = BoardDesign.from_values(options)
    return Board.create(folder / "b.bbedge", design, models=["a", "b", "c"], items=ITEMS, columns=TOPICS)


def add(board: Board, rng, number: int):
    return board.add(runs(rng, board.state.active, items=ITEMS, start=number))


def numbered(panel, models, number: int) -> bbedge.Scores:
    """One run, which states its number."""
    made = bbedge.Scores.of(panel[None], models=models, items=ITEMS)
    return replace(made, numbered=True, replicates=(str(number),))


def looks_of(board: Board) -> dict[str | None, list[int]]:
    whole = board.leaderboard()
    return {view.name: [look.replicate for look in view.looks] for view in (whole, *whole.views)}


@pytest.mark.parametrize("options", LIVES, ids=str)
def test_a_life_is_verified_saved_and_exported(tmp_path, options):
    board, rng = board_of(tmp_path, **options), np.random.default_rng(1)
    for number in range(1, 7):
        add(board, rng, number)
        if number == 4:
            board.add_model("new", runs(rng, ["new"], board.state.runs_needed(), ITEMS, start=1))
            board.retire("c")
    content = json.loads(board.certificate().to_json())
    assert content["counts"]["edges"] > 0
    board.verify()
    assert verify_certificate(content, board).verified
    saved = Board.open(tmp_path / "b.bbedge")
    assert json.loads(saved.certificate().to_json()) == content
    board.export(tmp_path / "b.jsonl")
    bbedge.ledger.archive.import_file(tmp_path / "b.jsonl", str(tmp_path / "c.bbedge"), verify=verify_session)
    again = json.loads(Board.open(tmp_path / "c.bbedge").certificate().to_json())
    assert {**again, "provenance": None} == {**content, "provenance": None}


@pytest.mark.parametrize("target", ["new-items", "both"])
def test_one_by_one_is_what_certify_says_of_all_runs(tmp_path, target):
    board = board_of(tmp_path, target=target, looks=[2, 4])
    scores = runs(np.random.default_rng(2), "abc", 5, ITEMS, start=1)
    for number in range(5):
        board.add(numbered(scores.values[number], "abc", number + 1))
    given = bbedge.certify(scores, target=target, looks=[2, 4], alpha=board.state.spent)
    found = board.leaderboard()
    for one, other in zip((given, *given.views), (found, *found.views), strict=True):
        for name in ("log_e", "lower_bounds", "log_thresholds", "first_certified", "means"):
            np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-12)
        assert other.looks == one.looks
        assert (other.log_w is None) == (one.log_w is None)
    assert looks_of(board)[None if target == "new-items" else "new items"] == [2, 4]


def test_a_new_model_is_looked_at_after_as_many_of_its_runs(tmp_path):
    """It joins between two looks, and its directions have the looks that there were."""
    board, rng = board_of(tmp_path, target="new-items"), np.random.default_rng(3)
    panels = [values(rng, "abc", 1, ITEMS)[0] for _ in range(4)]
    for number, panel in enumerate(panels[:3], start=1):
        board.add(numbered(panel, "abc", number))
    own = values(rng, ["new"], 3, ITEMS)
    board.add_model("new", bbedge.Scores.of(own, models=["new"], items=ITEMS))
    assert looks_of(board) == {None: [1, 2, 3]}
    stage = board.state.stages[-1]
    design = Design.make(
        ["a", "b", "c", "new"], ITEMS, newcomer="new", target="new-items", alpha=stage.level, evidence="betting"
    )
    assert design.hash == stage.design.hash
    wanted = run(design, [np.vstack([panel, mine]) for panel, mine in zip(panels, own, strict=False)])
    found = stage.certifier.leaderboard()
    np.testing.assert_allclose(found.log_e, wanted.log_e, rtol=1e-12)
    add(board, rng, 4)
    assert looks_of(board) == {None: [1, 2, 3, 4]}


def test_evidence_of_a_retired_model_is_kept(tmp_path):
    board, rng = board_of(tmp_path, target="new-items"), np.random.default_rng(4)
    for number in (1, 2, 3):
        add(board, rng, number)
    before = board.leaderboard()
    board.retire("c")
    add(board, rng, 4)
    now = board.leaderboard()
    assert now.log_e[0, 2] == before.log_e[0, 2] > 0.0
    assert now.lower_bounds[0, 2] == before.lower_bounds[0, 2]
    assert now.log_e[0, 1] > before.log_e[0, 1]


def test_models_retire_and_join_between_scores_of_several_runs(tmp_path):
    rng = np.random.default_rng(5)
    board = board_of(tmp_path, of_runs="all:2", pairing="first", first=2)
    for number in (1, 2, 3):
        add(board, rng, number)
    assert board.next_run.looks == {"benchmark": 4}
    with pytest.raises(DesignError, match=r"'c' cannot stop after run 3.*stop after run 4"):
        board.retire("c")
    with pytest.raises(BoardError, match=r"'new' joins with the first runs.*add it after run 4"):
        board.add_model("new", runs(rng, ["new"], 2, ITEMS))
    add(board, rng, 4)
    board.add_model("new", runs(rng, ["new"], 2, ITEMS))
    board.retire("c")
    assert board.leaderboard().looks[-1].replicate == 4
    board.verify()
    with pytest.raises(DesignError, match="first = 3 leaves a rest where 2 runs make a score"):
        BoardDesign(of_runs="all:2", pairing="first", first=3)


def test_of_new_items_alone_models_may_retire_inside_a_score(tmp_path):
    board, rng = board_of(tmp_path, target="new-items", of_runs="all:2"), np.random.default_rng(6)
    for number in (1, 2, 3):
        add(board, rng, number)
    board.retire("c")
    add(board, rng, 4)
    board.verify()


def test_repeated_runs_are_a_note_where_they_break_nothing(tmp_path):
    panel = values(np.random.default_rng(7), "abc", 1, ITEMS)[0]
    again = [numbered(panel, "abc", number) for number in (1, 2)]
    board = board_of(tmp_path, target="new-items")
    for each in again:
        board.add(each)
    own = np.repeat(values(np.random.default_rng(8), ["new"], 1, ITEMS), 2, axis=0)
    board.add_model("new", bbedge.Scores.of(own, models=["new"], items=ITEMS))
    board.verify()
    notes = [note for note in board.certificate().content.notes if note.kind == "copies"]
    assert [note.subject for note in notes] == [("replicate 2",), ("new",)]
    assert all("because repeats make no claim about new items false" in note.text for note in notes)
    for place, options in enumerate(({"target": "both"}, {"target": "new-items", "of_runs": "all:2"})):
        (tmp_path / str(place)).mkdir()
        board = board_of(tmp_path / str(place), **options)
        board.add(again[0])
        with pytest.raises(CopiedReplicateError):
            board.add(again[1])


@pytest.mark.parametrize("target", ["new-items", "both"])
def test_a_pilot_chooses_by_the_items_that_are_drawn_from(target):
    with pytest.raises(DesignError, match="does not go with a pilot"):
        BoardDesign(target=target, family="pilot-top-k", k=1, pilot=1)
    scores = runs(np.random.default_rng(9), "abc", 3, ITEMS)
    with pytest.raises(DesignError, match="does not go with a pilot"):
        bbedge.certify_pilot_top_k(scores, k=1, pilot=1, target=target)


def test_what_is_next_says_when_each_target_is_looked_at(tmp_path):
    board, rng = board_of(tmp_path, target="both", looks=[2, 4]), np.random.default_rng(10)
    assert board.next_run.looks == board.next_run.content["looks"] == {"benchmark": 1, "new-items": 2}
    assert "New items are looked at next after run 2." in said("next", tmp_path)
    for number in (1, 2, 3, 4):
        add(board, rng, number)
    assert board.next_run.looks == {"benchmark": 5}
    assert "New items are not looked at again." in said("next", tmp_path)


def test_whoever_adds_a_run_hears_when_the_next_look_is(tmp_path):
    board_of(tmp_path, target="new-items", looks=[2]).close()
    file, said_after = tmp_path / "run.csv", []
    for number in (1, 2):
        rows = [
            f"{model},{item},{number},{(number * 7 + ord(model) * 5 + int(item[1:]) ** 2) % 11 % 2}"
            for model in "abc"
            for item in ITEMS
        ]
        file.write_text("\n".join(["model,item,replicate,score", *rows]), encoding="utf-8")
        said_after.append(said("add", tmp_path, str(file)).splitlines()[-1])
    assert said_after == ["New items are looked at next after run 2.", "New items are not looked at again."]


def test_a_model_that_joins_between_two_looks_adds_no_look_to_the_schedule(tmp_path):
    board, rng = board_of(tmp_path, target="new-items", looks=[1, 4]), np.random.default_rng(11)
    for number in (1, 2, 3):
        add(board, rng, number)
    board.add_model("new", runs(rng, ["new"], 3, ITEMS))
    assert [look.replicate for look in board.leaderboard().looks] == [1, 3]
    shown = " ".join(said("show", tmp_path).split())
    assert "New items were looked at after 1 run:" in shown
    assert "The next look is after 4 runs." in shown


def test_with_fewer_runs_a_model_that_joined_still_has_looks_of_its_own(tmp_path):
    board = board_of(tmp_path, target="new-items", looks=[1, 2], pairing="first", first=1)
    rng = np.random.default_rng(13)
    for number in (1, 2):
        add(board, rng, number)
    board.add_model("new", runs(rng, ["new"], 1, ITEMS))
    assert "There is no further look, except at models that joined with fewer runs." in " ".join(
        said("show", tmp_path).split()
    )
    assert "not looked at again" not in said("next", tmp_path)
    add(board, rng, 3)
    assert [look.replicate for look in board.leaderboard().looks] == [1, 2, 2, 3]


def said(command: str, folder, *arguments: str) -> str:
    return CliRunner().invoke(make_app(), ["board", command, str(folder / "b.bbedge"), *arguments]).output


def test_an_exported_graph_names_the_views(tmp_path):
    board, rng = board_of(tmp_path, target="both"), np.random.default_rng(12)
    for number in (1, 2):
        add(board, rng, number)
    rows = list(csv.DictReader(io.StringIO(graph_csv(board))))
    whole = board.leaderboard()
    counts = {view.name or "headline": int(view.graph.n_edges) for view in (whole, *whole.views)}
    assert Counter(row["view"] for row in rows) == Counter(counts)


def test_a_board_begins_with_the_target_of_the_command(tmp_path):
    (tmp_path / "design.toml").write_text("alpha = 0.05")
    (tmp_path / "items.csv").write_text("item\n" + "\n".join(ITEMS))
    files = ["--design", str(tmp_path / "design.toml"), "--items", str(tmp_path / "items.csv"), "--models", "a,b"]
    options = ["--target", "both", "--looks", "2,4", "--look-weights", "0.3,0.7", "--of-runs", "any:2"]
    place = str(tmp_path / "b.bbedge")
    result = CliRunner().invoke(make_app(), ["board", "init", place, *files, *options])
    assert result.exit_code == 0, result.output
    design = open_board(place, tmp_path / "design.toml").design
    assert (design.schedule, design.of_runs, design.target) == ({2: 0.3, 4: 0.7}, "any:2", "both")
    again = design_values(Reading(), design)
    assert again == {"target": "both", "looks": [2, 4], "look_weights": [0.3, 0.7], "of_runs": "any:2"}
    (tmp_path / "design.toml").write_text('target = "new-items"')
    result = CliRunner().invoke(make_app(), ["board", "init", str(tmp_path / "c.bbedge"), *files, *options])
    assert "target = new-items, but --target is both" in str(result.exception)


def test_looks_inside_the_first_run_are_about_these_items_alone(tmp_path):
    design = BoardDesign(target="both", looks=(1, 2), checkpoints=CheckpointRule(fractions=(0.25, 0.5)))
    board = Board.create(tmp_path / "b.bbedge", design, models="abc", items=ITEMS, order_seed=5)
    rng = np.random.default_rng(11)
    panel = values(rng, "abc", 1, ITEMS)[0]
    for _ in range(2):
        items = board.next_items
        part = panel[:, [ITEMS.index(item) for item in items]]
        board.add(bbedge.Scores.of(part[None], models="abc", items=items), upto=board.next_checkpoint.blocks)
    inside = board.leaderboard()
    assert len(inside.early.looks) == 2
    assert inside.view("new items").early is None
    assert verify_certificate(json.loads(board.certificate().to_json()), board).verified
    board.add(numbered(panel, "abc", 1))
    assert looks_of(board) == {None: [1], "new items": [1]}
    board.verify()
    content = json.loads(board.certificate().to_json())
    table = bbedge.Scores.of(panel[None], models="abc", items=ITEMS)
    assert verify_certificate(content, board).verified
    assert verify_certificate(content, table).verified
    assert json.loads(Board.open(tmp_path / "b.bbedge").certificate().to_json()) == content


def test_what_is_published_states_the_target(tmp_path):
    board = board_of(tmp_path, target="both", looks=[2, 4], look_weights=[0.3, 0.7], of_runs="any:2")
    text = announcement(board)
    assert "2 runs make one score: whether one of them succeeds." in text
    assert "new items of the same kind, beside these items and with half of alpha each" in text
    assert "with weights: 2 (0.3), 4 (0.7)." in text
