"""Certificates of designs with checkpoints: what they say inside the first run, and what contradicts it."""

import json

import jsonschema
import numpy as np
import pytest

from bbedge.board import Board, BoardDesign
from bbedge.certificate.certificate import Certificate
from bbedge.certificate.exports import pair_arrays
from bbedge.core.checkpoint_evidence import plan_of
from bbedge.core.checkpoints import Checkpoints
from bbedge.core.leaderboard import Certifier, certify_design
from bbedge.core.scores import Scores
from bbedge.display.terminal import show_leaderboard
from bbedge.errors import FormatError
from bbedge.records.design import CheckpointRule
from bbedge.verify.verify import verify_certificate
from unit.board.first_runs import ITEMS, MODELS, add_checkpoint, complete, drawn, life, make
from unit.certificate.documents import checked, schema


@pytest.fixture
def inside(tmp_path):
    """A board inside its first run, where something is certified and a model was stopped."""
    board, panel = make(tmp_path / "board.db"), drawn(1)
    add_checkpoint(board, panel)
    add_checkpoint(board, panel)
    board.retire("d")
    add_checkpoint(board, panel)
    return board


def plain(board, epoch=None):
    return json.loads(board.certificate(epoch).to_json())


def test_a_certificate_says_where_the_first_run_stands(inside):
    content = plain(inside)
    jsonschema.validate(content, schema())
    assert content["replicates"] == 0
    assert content["first_pass"] == {
        "complete": False,
        "checkpoint": 3,
        "checkpoints": 3,
        "blocks": 36,
        "of_blocks": 60,
        "position": content["first_pass"]["position"],
    }
    assert [(part["checkpoint"], part["blocks"], part["models"]) for part in content["parts"]] == [
        (1, 6, 4),
        (2, 18, 4),
        (3, 36, 3),
    ]
    assert content["design"]["checkpoints"] == {
        "fractions": [0.1, 0.3, 0.6],
        "weights": content["board"]["design"]["checkpoints"]["weights"],
        "complete": 0.5,
        "order": "sha256-1",
        "order_seed": 5,
    }
    assert {model["mean"] for model in content["models"]} == {None}
    assert content["edges"]
    assert {edge["first_certified"] for edge in content["edges"]} == {1}
    assert {edge["first_part"] for edge in content["edges"]} <= {1, 2, 3}


def test_what_complete_runs_certify_has_no_part(tmp_path):
    board, panel = make(tmp_path / "board.db"), drawn(1)
    complete(board, panel)
    content = plain(board)
    assert content["first_pass"] == {
        "complete": True,
        "checkpoint": 0,
        "checkpoints": 3,
        "blocks": 60,
        "of_blocks": 60,
        "position": content["first_pass"]["position"],
    }
    assert content["parts"] == []
    assert content["edges"]
    assert all("first_part" not in edge for edge in content["edges"])


def test_evidence_inside_the_first_run_is_shown_of_the_models_that_it_is_of():
    """Their means so far are of some of the items, and order nothing."""
    panel = (np.random.default_rng(0).random((4, 60)) < np.array([0.2, 0.5, 0.7, 0.9])[:, None]).astype(float)
    scores = Scores.of(panel, models="abcd", items=[f"q{i}" for i in range(60)])
    rule = Checkpoints(order_seed=5, fractions=(0.1, 0.3), weights=(0.25, 0.25), complete=0.5)
    design = scores.design(checkpoints=rule)
    certifier = Certifier(design)
    for number in (1, 2):
        certifier.update(panel[:, plan_of(design).new_places(number)], plan_of(design).checkpoints[number - 1].blocks)
        made = certifier.leaderboard().certificate()
        read = Certificate.of(made.content)
        assert made.names == read.names
        for key in ("log_e", "margins", "first_certified"):
            np.testing.assert_array_equal(getattr(made, key), getattr(read, key))
        arrays = dict(pair_arrays(certifier.leaderboard()))
        assert arrays["models"].tolist() == [model.name for model in made.content.models]
        np.testing.assert_array_equal(arrays["log_e"], made.content.log_e)


def test_designs_without_checkpoints_say_nothing_of_them(tmp_path):
    board = Board.create(tmp_path / "board.db", BoardDesign(), models=MODELS, items=ITEMS)
    complete(board, drawn(1))
    content = plain(board)
    assert not {"first_pass", "parts"} & content.keys()
    assert "checkpoints" not in content["design"]
    assert all("first_part" not in edge for edge in content["edges"])


@pytest.mark.parametrize("epoch", [1, 2])
def test_a_certificate_is_read_and_follows_from_its_board(tmp_path, epoch):
    board = life(tmp_path / "board.db")
    content = plain(board, epoch)
    assert json.loads(checked(content).to_json()) == content
    assert verify_certificate(content, board).verified


def test_views_have_parts_of_their_own(tmp_path):
    design = BoardDesign.from_toml('[checkpoints]\nfractions = [0.2, 0.5]\n[views]\ncolumn = "topic"')
    topics = ["x" if place % 3 else "y" for place in range(len(ITEMS))]
    board = Board.create(
        tmp_path / "board.db", design, models=MODELS, items=ITEMS, columns={"topic": topics}, order_seed=3
    )
    panel = drawn(1)
    add_checkpoint(board, panel)
    add_checkpoint(board, panel)
    content = plain(board)
    assert [len(view["parts"]) for view in content["views"]] == [2, 2]
    assert verify_certificate(content, board).verified
    complete(board, panel)
    assert verify_certificate(plain(board), board).verified
    assert board.verify().events == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["first_pass"].update(checkpoint=2), "first_pass.checkpoint"),
        (lambda c: c["first_pass"].update(complete=True), "first_pass.complete"),
        (lambda c: c["first_pass"].update(blocks=60), "first_pass.blocks"),
        (lambda c: c["first_pass"].update(checkpoints=2), "not the first checkpoints"),
        (lambda c: c["first_pass"].update(checkpoints=9), "more checkpoints than the design"),
        (lambda c: c.pop("first_pass"), "do not agree"),
        (lambda c: c["design"].pop("checkpoints"), "do not agree"),
        (lambda c: c["parts"].pop(0), "not the first checkpoints"),
        (lambda c: c["parts"][0].update(blocks=20), "are not possible"),
        (lambda c: c["parts"][2].update(models=4), "edges at checkpoint|are not possible|models"),
        (lambda c: c["parts"][1].update(models=5), "are not possible"),
        (lambda c: c["parts"][1].update(edges=0), r"parts\[1\]\.edges is"),
        (lambda c: c["parts"][2].update(resolved_pairs=6), "resolved pairs of the last part"),
        (lambda c: c["edges"][0].update(first_part=9), "a checkpoint that was not looked at"),
        (lambda c: c["edges"][0].pop("first_part"), r"parts\[2\]\.edges is"),
        (lambda c: c["models"][0].update(mean=0.9), "has a mean, and there are no replicates"),
        (lambda c: c["design"]["checkpoints"].update(weights=[0.5]), "give one weight per checkpoint"),
    ],
)
def test_a_changed_certificate_contradicts_itself(inside, change, message):
    content = plain(inside)
    change(content)
    if content["parts"] and content["parts"][-1]["models"] == 4:  # possible by itself: only the board knows
        assert not verify_certificate(content, inside).verified
        return
    with pytest.raises(FormatError, match=message):
        checked(content)


def test_every_display_says_that_the_first_run_is_not_complete(inside, capsys):
    from rich.console import Console

    certificate = inside.certificate()
    where = "60 % of blocks, checkpoint 3 of 3"
    assert f"The first run is not complete: {where}." in certificate.answer
    assert "a is best: it beats all 3 others." in certificate.answer
    show_leaderboard(Console(width=200), certificate)
    assert f"first run: {where}" in capsys.readouterr().out
    assert f"first run: {where}" in certificate.to_markdown()
    assert "| 1st | 1 | a | - |" in certificate.to_markdown()
    page = certificate.to_html()
    assert f"first run: {where}" in page
    assert "there is no complete run" not in page.split("<main>")[1].split("</main>")[0]
    assert "at 10, 30, 60 % of the blocks of the first run, whose order has the seed 5" in page
    assert where in inside.leaderboard()._repr_html_()


def test_before_anything_is_certified(tmp_path):
    board = make(tmp_path / "board.db", checkpoints=CheckpointRule(fractions=(0.02, 0.5)))
    assert "there is no complete run" in board.certificate().answer
    add_checkpoint(board, drawn(1))
    assert board.certificate().answer == (
        "On these 60 items, nothing is certified yet. The first run is not complete: 3.33 % of blocks, "
        "checkpoint 1 of 2."
    )


def test_a_table_of_complete_runs_verifies_looks_inside_and_their_absence():
    panel = np.stack(list(drawn(1).values()))
    scores = Scores.of([panel], models=MODELS, items=ITEMS)
    design = scores.design(checkpoints=Checkpoints(order_seed=5, fractions=(0.1, 0.5)))
    content = json.loads(certify_design(scores, design).to_json())
    assert content["first_pass"]["complete"]
    assert verify_certificate(content, scores).verified
    certifier = Certifier(design)
    certifier.update(panel[:, [ITEMS.index(item) for item in certifier.next_items]], certifier.next_checkpoint.blocks)
    certifier.update(panel)
    looked = json.loads(certifier.leaderboard().to_json())
    assert looked["parts"] != content["parts"]
    assert verify_certificate(looked, scores).verified


def test_a_leaderboard_inside_the_run_has_a_certificate_without_a_board():
    panel = np.stack(list(drawn(1).values()))
    design = Scores.of([panel], models=MODELS, items=ITEMS).design(checkpoints=Checkpoints(order_seed=5))
    certifier = Certifier(design)
    while (upcoming := certifier.next_checkpoint) is not None:
        certifier.update(panel[:, [ITEMS.index(item) for item in certifier.next_items]], upcoming.blocks)
    content = json.loads(certifier.leaderboard().to_json())
    assert {model["mean"] for model in content["models"]} == {None}
    assert content["models"][0]["name"] == "a"
    assert checked(content).content.first_pass.checkpoint == len(content["parts"])
