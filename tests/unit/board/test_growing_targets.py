"""Boards about new items that grow: evidence and certificates go on, and every version shows what stands."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from msgspec import UNSET
from typer.testing import CliRunner

import bbedge
import new_items_oracle as literal
from bbedge import Board, BoardDesign, verify_certificate
from bbedge.board import CheckpointRule
from bbedge.board.words import particulars
from bbedge.cli import make_app
from bbedge.core.views import category_weights, macro_weights
from bbedge.display.page import render_page
from bbedge.errors import BoardError
from bbedge.ledger.archive import import_file
from bbedge.verify.ledger import verify_session
from unit.board.boards import runs, values

OLD, MORE, LAST = (tuple(f"{letter}{i}" for i in range(n)) for letter, n in (("q", 24), ("r", 12), ("s", 6)))
TOPICS = {item: "xyz"[i % 3] for items in (OLD, MORE, LAST) for i, item in enumerate(items)}
LIVES = (
    {"target": "new-items"},
    {"target": "both", "tau": 0.01, "mean_share": 0.1},
    {"target": "new-items", "looks": [2, 4], "look_weights": [0.3, 0.7], "equal_within": 0.1},
    {"target": "both", "of_runs": "any:2"},
    {"target": "both", "headline": {"macro": "topic"}, "views": {"column": "topic"}, "looks": [1, 2, 5]},
    {"target": "new-items", "incomplete": "worst-case"},
    {"target": "both", "pairing": "first", "first": 2},
    {"target": "new-items", "margin_share": 0.0, "pairing": "first", "first": 1},
)


def board_of(folder, items=OLD, **options) -> Board:
    design = BoardDesign.from_values({"alpha": 0.3, **options})
    columns = {"topic": [TOPICS[item] for item in items]}
    return Board.create(folder / "b.bbedge", design, models=["a", "b", "c"], items=items, columns=columns)


def grow(board: Board, items, **columns) -> None:
    board.add_items(items, columns=columns or {"topic": [TOPICS[item] for item in items]})


def add(board: Board, rng, count: int = 1) -> None:
    epoch = board.state.epoch
    made = runs(rng, board.state.active, count, epoch.items, start=epoch.replicates + 1)
    if board.design.incomplete == "worst-case":
        made = replace(made, values=np.where(rng.random(made.values.shape) < 0.04, np.nan, made.values))
    board.add(made)


def lived(folder, **options) -> Board:
    """Three versions: a model joins in each, and one is retired in each."""
    board, rng = board_of(folder, **options), np.random.default_rng(5)
    add(board, rng, 4)
    join(board, rng, "d")
    grow(board, MORE)
    board.retire("c")
    add(board, rng, 2)
    join(board, rng, "e")
    add(board, rng, 2)
    board.retire("d")
    grow(board, LAST)
    join(board, rng, "f")
    add(board, rng, 2)
    return board


def join(board: Board, rng, name: str) -> None:
    board.add_model(name, runs(rng, [name], board.state.runs_needed(), board.state.epoch.items))


def of_new_items(board: Board, epoch: int | None = None):
    whole = board.leaderboard(epoch)
    return whole if board.design.target == "new-items" else whole.view("new items")


@pytest.mark.nightly
@pytest.mark.parametrize("options", LIVES, ids=str)
def test_a_life_is_verified_saved_and_exported(tmp_path, options):
    a_life_is_verified(lived(tmp_path, **options), tmp_path)


def a_life_is_verified(board: Board, folder) -> None:
    contents = [json.loads(board.certificate(number).to_json()) for number in (1, 2, 3)]
    assert of_new_items(board).graph.n_edges > 0
    board.verify()
    saved = Board.open(folder / "b.bbedge")
    board.export(folder / "b.jsonl")
    import_file(folder / "b.jsonl", str(folder / "c.bbedge"), verify=verify_session)
    again = Board.open(folder / "c.bbedge")
    for number, content in enumerate(contents, start=1):
        assert verify_certificate(content, board).verified
        assert json.loads(saved.certificate(number).to_json()) == content
        assert {**json.loads(again.certificate(number).to_json()), "provenance": None} == {
            **content,
            "provenance": None,
        }
        assert verify_certificate(content).outcome == "consistent"
        assert render_page(board.certificate(number))


class Literal:
    """The claims of a board about new items again, each from the scores of all versions, by the literal oracle."""

    def __init__(self, board: Board, *, has_views: bool = False) -> None:
        self.design, self.has_views, self.versions = board.design, has_views, []

    def claims(self, models, items, level: float, newcomer: str | None) -> literal.Claims:
        views = [((1.0,) * len(items), 1.0)]
        if self.has_views:
            topics = [TOPICS[item] for item in items]
            views = [(macro_weights(topics), 0.5)]
            views += [(weights, 0.5 / 3) for weights in category_weights(topics).values()]
        level = level / 2 if self.design.target == "both" else level
        return literal.Claims(
            n_models=len(models),
            blocks=tuple(items),
            views=tuple(views),
            schedule=self.design.schedule,
            alpha_certificates=level * 0.8,
            alpha_margins=level * 0.2,
            newcomer=None if newcomer is None else models.index(newcomer),
        )


@pytest.mark.nightly
@pytest.mark.parametrize("target", ["new-items", "both"])
def test_claims_are_those_of_a_literal_implementation(tmp_path, target):
    """Two versions with views: founders, a model that joined in each version, and one that was retired."""
    options = {"headline": {"macro": "topic"}, "views": {"column": "topic"}}
    board, rng = board_of(tmp_path, target=target, looks=[1, 2, 4], **options), np.random.default_rng(8)
    every, names, panels = (*OLD, *MORE), ["a", "b", "c", "d", "e"], []
    drawn = values(rng, names, 5, every)
    for number, gone in enumerate([(), (), ("c",), ("c",), ("c",)]):
        if number == 2:
            own = drawn[:2, names.index("d")][:, None, :24]
            board.add_model("d", bbedge.Scores.of(own, models=["d"], items=OLD))
            board.retire("c")
            grow(board, MORE)
        if number == 4:  # it joins the two runs of the first version and the two of the second
            board.add_model("e", bbedge.Scores.of(drawn[:4, -1:], models=["e"], items=every))
        items, start = (OLD, 0) if number < 2 else (every, 2)
        there = [name for name in board.state.active if name not in gone]
        panel = drawn[number][[names.index(name) for name in there]][:, : len(items)]
        made = bbedge.Scores.of(panel[None], models=there, items=items)
        board.add(replace(made, numbered=True, replicates=(str(number - start + 1),)))
        panels.append({name: drawn[number][names.index(name)] for name in names if name not in gone})
    maker, level = Literal(board, has_views=True), board.design.level
    shown = [view for view in board.state.epoch.looks_at if target == "new-items" or "new items" in view]
    for newcomer, family, claim in ((None, names[:3], 0), ("d", names[:4], 1), ("e", names, 2)):
        batches = [
            (maker.claims(family, OLD, level(claim), newcomer), panels, slice(0, 24)),
            (maker.claims(family, MORE, level(claim), newcomer), panels[2:], slice(24, 36)),
        ]
        moments = [
            [
                (claims, [[panel[name][its].tolist() if name in panel else None for name in family] for panel in some])
                for claims, part, its in batches
                if (some := part[: len(part) - len(panels) + run])
            ]
            for run in range(1, len(panels) + 1)
        ]
        stands = literal.standing_in(moments)[-1]
        (stage,) = (
            each
            for each in board.state.epoch.stages
            if each.newcomer == newcomer and each.target in (None, "new-items")
        )
        assert set(stage.views) == set(shown)
        assert (stage.level, stage.design.models) == (level(claim), tuple(family))
        for place in range(4):
            view = stage.certifier.views[place]
            log_e, bounds, edges = view.log_e(), view.lower_bounds(), stage.certifier.edges(place)
            for a, b in np.argwhere(~np.isnan(log_e)).tolist():
                e = (place, a, b)
                want = literal.log_product(moments[-1], e)
                assert log_e[a, b] == pytest.approx(max(want, -1e300), rel=1e-9, abs=1e-9)
                best = max(literal.product_margin(moment, e) for moment in moments)
                assert bounds[a, b] == pytest.approx(best, abs=1e-9)
                assert edges[a, b] == (e in stands)
    board.verify()


def test_what_stands_about_new_items_stands_in_the_next_version(tmp_path):
    board, rng = board_of(tmp_path, target="new-items"), np.random.default_rng(4)
    add(board, rng, 4)
    before, spent = board.leaderboard(), board.state.spent
    grow(board, MORE)
    assert board.state.spent == spent
    now = board.leaderboard()
    np.testing.assert_array_equal(now.log_e, before.log_e)
    np.testing.assert_array_equal(now.lower_bounds, before.lower_bounds)
    np.testing.assert_array_equal(now.edges, before.edges)
    assert now.graph.n_edges > 0
    assert now.looks == ()
    add(board, rng)
    after = board.leaderboard()
    assert (after.edges | ~before.edges).all()
    assert (after.first_certified[before.edges] == 0).all()
    np.testing.assert_array_equal(board.leaderboard(1).log_e, before.log_e)
    (step,) = [step for step in board.certificate().content.board.timeline if step.kind == "add-items"]
    assert step.kept == before.graph.n_edges
    assert step.ranks == dict(zip("abc", before.graph.rank_intervals, strict=True))


def test_of_both_targets_these_items_begin_again(tmp_path):
    board, rng = board_of(tmp_path, target="both"), np.random.default_rng(4)
    add(board, rng, 4)
    before, level = board.leaderboard(), board.design.level
    grow(board, MORE)
    assert board.state.spent == level(0) + level(1) / 2  # the half for these items
    now = board.leaderboard()
    assert now.graph.n_edges == 0
    assert not now.log_e[~np.isnan(now.log_e)].any()
    np.testing.assert_array_equal(now.view("new items").log_e, before.view("new items").log_e)
    assert board.state.next_level() == (level(2) + level(1)) / 2
    certificate = board.certificate(2).content
    assert [(each.target or None, each.continues, each.spends) for each in certificate.board.claims[1:]] == [
        ("benchmark", UNSET, level(1) / 2),
        ("new-items", 0, 0.0),
    ]


def test_the_budget_of_these_items_is_spent_by_versions_and_that_of_new_ones_by_models(tmp_path):
    board = board_of(tmp_path, target="both", spending="equal", shares=2)
    grow(board, MORE)
    with pytest.raises(BoardError, match="error budget is spent"):
        grow(board, LAST)


def test_a_version_about_new_items_alone_spends_nothing(tmp_path):
    board, rng = board_of(tmp_path, target="new-items", spending="equal", shares=1), np.random.default_rng(4)
    grow(board, MORE)
    grow(board, LAST)
    add(board, rng)
    assert board.state.spent == board.design.level(0)
    with pytest.raises(BoardError, match="error budget is spent"):
        join(board, rng, "d")


def test_looks_count_the_runs_of_every_batch(tmp_path):
    board, rng = board_of(tmp_path, target="new-items", looks=[2, 5]), np.random.default_rng(4)
    add(board, rng, 4)
    grow(board, MORE)
    assert board.next_run.looks == {
        "new-items": 2
    }  # the first one of the new items; the fifth run of old ones is before
    add(board, rng, 2)
    assert [look.replicate for look in board.leaderboard().looks] == [2]
    assert board.next_run.looks == {"new-items": 5}
    add(board, rng, 3)
    assert [look.replicate for look in board.leaderboard().looks] == [2, 5]
    assert board.next_run.looks == {}
    board.verify()
    assert verify_certificate(json.loads(board.certificate().to_json())).outcome == "consistent"


def test_a_new_model_joins_the_runs_of_all_versions(tmp_path):
    """As if it had been there from the beginning: when it came makes no difference."""
    every, boards = (*OLD, *MORE), []
    drawn = values(np.random.default_rng(3), ["a", "b", "c", "d"], 5, every)
    for place, joins in enumerate(("early", "late")):
        (tmp_path / str(place)).mkdir()
        board = board_of(tmp_path / str(place), target="new-items")
        for number in range(5):
            if number == 3:
                if joins == "early":
                    board.add_model("d", bbedge.Scores.of(drawn[:3, 3:, :24], models=["d"], items=OLD))
                grow(board, MORE)
            items, start = (OLD, 0) if number < 3 else (every, 3)
            panel = drawn[number][: len(board.state.active), : len(items)]
            made = bbedge.Scores.of(panel[None], models=board.state.active, items=items)
            board.add(replace(made, numbered=True, replicates=(str(number - start + 1),)))
        if joins == "late":
            assert board.state.runs_needed() == 5
            with pytest.raises(BoardError, match=r"joins exactly 5: one with each .* of all versions"):
                board.add_model("d", bbedge.Scores.of(drawn[:2, 3:], models=["d"], items=every))
            board.add_model("d", bbedge.Scores.of(drawn[:, 3:], models=["d"], items=every))
        board.verify()
        boards.append(board)
    early, late = (board.leaderboard() for board in boards)
    np.testing.assert_array_equal(early.log_e, late.log_e)
    np.testing.assert_array_equal(early.edges, late.edges)
    np.testing.assert_allclose(early.lower_bounds, late.lower_bounds, atol=1e-12)


def test_a_run_of_a_model_counts_once_in_all_versions(tmp_path):
    board, rng = board_of(tmp_path, target="new-items"), np.random.default_rng(3)
    add(board, rng)
    grow(board, MORE)
    add(board, rng)
    own = runs(rng, ["d"], 2, (*OLD, *MORE))
    board.add_model("d", replace(own, runs=(("first",), ("second",))))
    late = runs(rng, board.state.active, 1, (*OLD, *MORE))
    with pytest.raises(BoardError, match="counted in epoch 1"):
        board.add(replace(late, runs=(("first",),)))
    board.verify()


def test_a_model_that_is_retired_inside_the_first_run_of_a_version_keeps_no_evidence(tmp_path):
    """The scores of the new items so far may be the reason. Before that run begins, nothing can be known of them."""
    design = BoardDesign(alpha=0.3, target="both", checkpoints=CheckpointRule(fractions=(0.5,)))
    board = Board.create(tmp_path / "b.bbedge", design, models=list("abcd"), items=OLD, order_seed=5)
    rng = np.random.default_rng(3)
    add(board, rng, 2)
    board.add_items(MORE, order_seed=6)
    before = board.leaderboard().view("new items")
    board.retire("d")
    some = board.next_items
    board.add(runs(rng, "abc", 1, some), upto=board.next_checkpoint.blocks)
    board.retire("c")
    now = board.leaderboard().view("new items")
    place = board.state.epoch.models.index
    assert now.log_e[place("a"), place("d")] == before.log_e[place("a"), place("d")] > 0.0
    assert now.log_e[place("a"), place("c")] < -500.0
    np.testing.assert_array_equal(now.edges, before.edges)
    np.testing.assert_array_equal(now.lower_bounds[:, place("c")], before.lower_bounds[:, place("c")])
    board.verify()


@pytest.mark.parametrize(
    ("options", "columns", "blocks", "said"),
    [
        ({"headline": {"macro": "topic"}}, {"topic": ["x", "y", "new"]}, None, "1 item with topic 'new': 0 % of"),
        ({"headline": {"macro": "topic"}}, {"topic": ["x", "y", "y"]}, None, "1 item with topic 'x': 33.33 % of"),
        ({"views": {"column": "topic"}}, {"topic": ["x", "y", "z", "z"]}, None, "1 item with topic 'x': 33.33 % of"),
        ({}, {}, ["one", "one", "two"], "Blocks of 1 item: 100 % of the weight of the first items"),
        ({}, {}, ["q0", "one", "two"], "the block 'q0' is on the board already"),
    ],
)
@pytest.mark.parametrize("target", ["new-items", "both"])
def test_added_items_are_of_the_same_kinds_in_the_same_parts(tmp_path, target, options, columns, blocks, said):
    board = board_of(tmp_path, target=target, **options)
    items = [f"n{i}" for i in range(max(3, *(len(texts) for texts in columns.values()), 0))]
    with pytest.raises(BoardError, match=said):
        board.add_items(items, blocks, columns=columns)
    assert len(board.state.epochs) == 1
    assert len(Board.open(tmp_path / "b.bbedge").state.epochs) == 1


def test_categories_that_weigh_the_same_may_have_other_numbers_of_items(tmp_path):
    board = board_of(tmp_path, target="new-items", headline={"macro": "topic"})
    board.add_items(["n1", "n2", "n3", "n4"], columns={"topic": ["x", "y", "y", "z"]})
    batch = board.state.epoch.stages[0].batches[-1]
    assert batch.weights == macro_weights(["x", "y", "y", "z"])


def test_words_say_that_evidence_about_new_items_goes_on(tmp_path):
    board, rng = board_of(tmp_path, target="new-items"), np.random.default_rng(4)
    add(board, rng, 4)
    kept = board.leaderboard().graph.n_edges
    (tmp_path / "more.csv").write_text("item\n" + "\n".join(MORE), encoding="utf-8")
    said = run_command("add-items", tmp_path, str(tmp_path / "more.csv"))
    assert "Evidence about new items goes on" in said
    assert "starts again" not in said
    board = Board.open(tmp_path / "b.bbedge")
    add(board, rng)
    page = render_page(board.certificate())
    assert f"{kept} comparisons about new items stand" in page
    shown = run_command("show", tmp_path)
    assert "epoch 2: all pairs, continues claim 0" in shown
    assert "Evidence about new items is that of 24 items and of 12 added ones, multiplied." in shown
    (event,) = [event for event in board.events if event.kind == "add-items"]
    assert particulars(event) == "epoch 2: 12 new items, evidence about new items goes on"


def test_words_say_what_begins_again_and_what_goes_on(tmp_path):
    board, rng = board_of(tmp_path, target="both"), np.random.default_rng(4)
    add(board, rng, 2)
    (tmp_path / "more.csv").write_text("item\n" + "\n".join(MORE), encoding="utf-8")
    said = run_command("add-items", tmp_path, str(tmp_path / "more.csv"))
    assert "Evidence about these items starts again" in said
    assert "Evidence about new items goes on" in said


def run_command(command: str, folder, *arguments: str) -> str:
    result = CliRunner().invoke(make_app(), ["board", command, str(folder / "b.bbedge"), *arguments])
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())
