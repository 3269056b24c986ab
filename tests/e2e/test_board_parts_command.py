"""A harness of one's own and a board with checkpoints, from the command line alone."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from bbedge.board import Board
from bbedge.readers import read_items

MODELS = ["good", "fair", "poor"]
ITEMS = [f"q{i}" for i in range(60)]
SCORES = {"good": 1, "fair": 0.3, "poor": 0}  # on every item, so that nothing depends on the order that is drawn
DESIGN = "[checkpoints]\nfractions = [0.1, 0.5]\n"
BOARD = "board.bbedge"


@pytest.fixture
def command(bbedge, tmp_path, monkeypatch):
    """Runs a command of the board; it must end with the code that is expected."""
    monkeypatch.chdir(tmp_path)

    def run(*words, code=0):
        done = bbedge("board", *words)
        assert done.code == code, (done.out, done.err)
        assert "Traceback" not in done.err
        return " ".join((done.out if code == 0 else done.err).split())

    return run


@pytest.fixture
def made(command):
    """A board without scores."""
    create(command)
    return command


def create(command, design=DESIGN, *options):
    Path("design.toml").write_text(design)
    Path("items.csv").write_text("item,block,topic\n" + "".join(f"{item},b{item},t\n" for item in ITEMS))
    command("init", BOARD, "--design", "design.toml", "--items", "items.csv", "--models", ",".join(MODELS), *options)


def harness(out="scores.csv", *, table="next.csv", models=None, skip=()):
    """Reads the items to run and appends the scores of the models to a file."""
    with Path(table).open(newline="") as file:
        items = [row["item"] for row in csv.DictReader(file)]
    new = not Path(out).exists()
    with Path(out).open("a") as file:
        if new:
            file.write("model,item,score\n")
        for model in models or MODELS:
            for item in items:
                if (model, item) not in skip:
                    file.write(f"{model},{item},{SCORES[model]}\n")
    return items


def following(command):
    """What is next, for programs; the items are written for the harness."""
    command("next", BOARD, "--items", "next.csv", "--json", "next.json")
    return json.loads(Path("next.json").read_text(encoding="ascii"))


def test_a_harness_goes_from_checkpoint_to_checkpoint(made):
    for number, at, count in (
        (1, "checkpoint 1 of 2 (10 % of blocks)", 6),
        (2, "checkpoint 2 of 2 (50 % of blocks)", 24),
    ):
        said = made("next", BOARD)
        models = MODELS if number == 1 else MODELS[:2]
        assert f"Run {len(models)} models on the next {count} items of the first run, up to {at}" in said
        assert "bbedge board add board.bbedge FILES --part" in said
        assert f"Models: {', '.join(models)} Items: {' '.join(Board.open(BOARD).next_items)}" in said
        run = following(made)
        assert (run["kind"], run["checkpoint"]["number"], run["models"]) == ("part", number, models)
        assert harness(models=models) == run["items"] == list(Board.open(BOARD).next_items)
        said = made("add", BOARD, "scores.csv", "--part")
        assert f"Added a part of the first run, which is at {at} now." in said
        assert "pairs certified (" in said
        if number == 1:
            made("retire", BOARD, "poor")
    assert "new good > fair (log e" in said
    assert "checkpoint 2)" in said
    said = made("next", BOARD)
    assert "Run 2 models on the last 30 items, because every checkpoint of the first run has passed" in said
    assert following(made)["kind"] == "rest"
    harness(models=MODELS[:2])
    assert "Added replicate 1." in made("add", BOARD, "scores.csv")  # poor is in the file up to its last checkpoint
    said = made("next", BOARD)
    assert "Run 2 models on all 60 items, because the first run is complete and later ones have no checkpoints" in said
    assert "then add the complete replicate 2: bbedge board add board.bbedge FILES" in said
    assert "all is in order" in made("verify", BOARD)
    assert "epoch 1, replicate 1 up to 30 blocks, 2" in made("log", BOARD)


def test_the_table_of_items_is_one_that_the_board_reads(made):
    run = following(made)
    table = read_items(Path("next.csv"))
    assert (list(table.items), list(table.blocks)) == (run["items"], [f"b{item}" for item in run["items"]])


def test_columns_that_the_design_uses_are_in_the_table(command):
    create(command, DESIGN + '[headline]\nmacro = "topic"\n')
    run = following(command)
    rows = list(csv.DictReader(Path("next.csv").read_text().splitlines()))
    assert [(row["item"], row["topic"]) for row in rows] == [(item, "t") for item in run["items"]]


def test_json_to_standard_output_is_json_alone(made, bbedge):
    done = bbedge("board", "next", BOARD, "--json", "-")
    content = json.loads(done.out)
    assert list(content) == [
        "summary", "kind", "epoch", "replicate", "checkpoint", "checkpoints", "looks", "models", "items",
    ]  # fmt: skip
    assert done.err.startswith(content["summary"])


def test_without_checkpoints_it_says_what_to_do_instead(command):
    create(command, 'method = "bb-edge-x"\n')
    said = command("next", BOARD)
    assert "Run 3 models on all 60 items, because the design has no checkpoints, then add the complete" in said
    following(command)
    assert len(harness()) == 60
    refused = command("add", BOARD, "scores.csv", "--part", code=2)
    assert "the design of this board has no checkpoints; add complete replicates" in refused
    command("add", BOARD, "scores.csv")


def test_in_a_pilot_it_says_what_to_do_instead(command):
    create(command, 'family = "pilot-top-k"\nk = 1\npilot = 2\n' + DESIGN)
    said = command("next", BOARD)
    assert "because the pilot is not finished, then add the complete pilot replicate 1 of 2" in said


def test_very_many_items_are_not_all_printed(command):
    Path("design.toml").write_text("[checkpoints]\nfractions = [0.9]\n")
    Path("items.csv").write_text("item\n" + "".join(f"q{i}\n" for i in range(300)))
    command("init", BOARD, "--design", "design.toml", "--items", "items.csv", "--models", "a,b")
    assert "and 70 more; --items OUT.csv writes all of them" in command("next", BOARD, "--items", "next.csv")
    assert len(Path("next.csv").read_text().splitlines()) == 271


def test_items_beyond_the_checkpoint_are_refused(made):
    harness(table="items.csv")
    refused = made("add", BOARD, "scores.csv", "--part", code=2)
    assert "54 items are not among those up to the next checkpoint" in refused
    assert "A look uses nothing beyond its checkpoint: leave them out, or add the complete run" in refused
    assert len(Board.open(BOARD).events) == 1


def test_what_is_missing_is_named(made):
    items = following(made)["items"]
    harness(skip={("fair", items[0]), ("fair", items[3])})
    refused = made("add", BOARD, "scores.csv", "--part", code=2)
    assert f"'fair' on 2 of the 6 items ('{items[0]}', '{items[3]}'); run them first" in refused
    assert "--incomplete" not in refused  # the design counts no missing scores
    harness("two.csv", models=MODELS[:2])
    assert f"'poor' on 6 of the 6 items ('{items[0]}'," in made("add", BOARD, "two.csv", "--part", code=2)
    Path("one.csv").write_text("model,item,score\n" + "".join(f"{model},{items[0]},1\n" for model in MODELS))
    refused = made("add", BOARD, "one.csv", "--part", code=2)
    assert f"5 of the 6 items up to the next checkpoint are not in these scores: '{items[1]}'" in refused
    assert len(Board.open(BOARD).events) == 1


def test_a_gap_counts_only_if_the_option_repeats_the_rule(command):
    create(command, DESIGN, "--incomplete", "worst-case")
    items = following(command)["items"]
    harness(skip={("fair", items[0])})
    refused = command("add", BOARD, "scores.csv", "--part", code=2)
    assert "run them first, or count them as missing, which is final: --incomplete worst-case" in refused
    wrong = command("add", BOARD, "scores.csv", "--part", "--incomplete", "zero", code=2)
    assert "is not the rule of this board's design" in wrong
    said = command("add", BOARD, "scores.csv", "--part", "--incomplete", "worst-case")
    assert "Missing so far: 1 score." in said
    Path("scores.csv").write_text(Path("scores.csv").read_text() + f"fair,{items[0]},1\n")
    following(command)
    harness()
    assert "A missing score that is recorded is final" in command("add", BOARD, "scores.csv", "--part", code=2)


def test_changed_scores_are_refused(made):
    items = following(made)["items"]
    harness()
    made("add", BOARD, "scores.csv", "--part")
    again = made("add", BOARD, "scores.csv", "--part", code=2)
    assert "24 of the 24 items up to the next checkpoint are not in these scores" in again
    assert "the first run is at checkpoint 1" in again
    following(made)
    harness()
    text = Path("scores.csv").read_text().replace(f"good,{items[0]},1", f"good,{items[0]},0")
    Path("changed.csv").write_text(text)
    refused = made("add", BOARD, "changed.csv", "--part", code=2)
    assert f"the score of 'good' on '{items[0]}' differs from the one on the board" in refused
    made("add", BOARD, "scores.csv", "--part")


def test_parts_in_files_of_their_own_make_the_complete_run(made):
    for part in ("1.csv", "2.csv"):
        following(made)
        harness(part)
        made("add", BOARD, part, "--part")
    following(made)
    harness("3.csv")
    assert "Added replicate 1." in made("add", BOARD, "1.csv", "2.csv", "3.csv")


def test_notes_of_readers_are_recorded(made):
    following(made)
    Path("runs").mkdir()
    harness("runs/scores.csv")
    Path("runs/readme.txt").write_text("Our runs.")
    made("add", BOARD, "runs", "--part")
    ((epoch, note),) = Board.open(BOARD).noticed
    assert epoch == 1
    assert "readme.txt" in note.text


def test_a_part_with_the_scores_of_the_pilot_is_a_question(command):
    create(command, 'family = "pilot-top-k"\nk = 1\npilot = 1\n' + DESIGN)
    score = {model: {item: (int(item[1:]) * step) % 7 / 6 for item in ITEMS} for step, model in enumerate(MODELS, 1)}

    def write(items):
        rows = (f"{model},{item},{score[model][item]}\n" for model in MODELS for item in items)
        Path("scores.csv").write_text("model,item,score\n" + "".join(rows))

    write(ITEMS)
    command("add", BOARD, "scores.csv")
    write(following(command)["items"])
    refused = command("add", BOARD, "scores.csv", "--part", code=2)
    assert "has the scores of pilot replicate 1 on every item up to checkpoint 1" in refused
    assert "--copies allow" in refused
    assert "Added a part" in command("add", BOARD, "scores.csv", "--part", "--copies", "allow")


def test_a_certificate_of_parts_is_verified_from_the_files_of_the_harness(made, bbedge):
    following(made)
    harness()
    made("add", BOARD, "scores.csv", "--part")
    made("show", BOARD, "--json", "early.json")
    done = bbedge("verify", "early.json", "scores.csv")
    assert done.code == 2
    assert "follows from all 60 items, and the scores have 6; list all items with --items FILE" in " ".join(
        done.err.split()
    )
    done = bbedge("verify", "early.json", "scores.csv", "--items", "items.csv")
    assert done.code == 0, done.out
    assert "verified: the certificate matches its digest, and everything" in done.out
    assert "ledger not checked the board was not given" in " ".join(done.out.split())
    made("retire", BOARD, "poor")
    for _ in range(2):
        following(made)
        harness(models=MODELS[:2])
        if Board.open(BOARD).next_checkpoint:
            made("add", BOARD, "scores.csv", "--part")
    made("add", BOARD, "scores.csv")
    made("show", BOARD, "--json", "late.json")
    for certificate in ("early.json", "late.json"):
        assert bbedge("verify", certificate, "scores.csv", "--items", "items.csv").code == 0
        assert bbedge("verify", certificate, BOARD).code == 0
    Path("changed.csv").write_text(Path("scores.csv").read_text().replace("fair,q7,0.3", "fair,q7,0.9"))
    done = bbedge("verify", "late.json", "changed.csv")
    assert done.code == 3
    assert "models['fair'].mean" in done.out


def test_what_the_design_of_the_board_uses_is_read_without_options(command, bbedge):
    create(command, DESIGN + '[headline]\nmacro = "topic"\n[views]\ncolumn = "topic"\n')
    following(command)
    harness()
    command("add", BOARD, "scores.csv", "--part")
    command("show", BOARD, "--json", "b.json")
    assert bbedge("verify", "b.json", "scores.csv", "--items", "items.csv").code == 0


def test_a_board_without_checkpoints_verifies_its_certificates_itself(command, bbedge):
    create(command, 'method = "bb-edge-x"\n')
    following(command)
    harness()
    command("add", BOARD, "scores.csv")
    command("show", BOARD, "--json", "b.json")
    done = bbedge("verify", "b.json", "scores.csv")
    assert done.code == 2
    assert "b.json is the certificate of a board; give the board, not score files" in done.err
