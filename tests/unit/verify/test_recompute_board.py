"""The certificate of a board with checkpoints follows from a table of its scores, without the board."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from bbedge.board import Board, BoardDesign
from bbedge.core.scores import Scores
from bbedge.errors import DesignError, DomainError
from bbedge.verify.verify import verify_certificate
from unit.board.first_runs import ITEMS, MODELS, add_checkpoint, add_upto, complete, drawn, life, make, some
from unit.verify.test_verification_in_parts import check_found, leaves, resealed


def table(board, *panels, stopped=None, items=ITEMS, names=MODELS):
    """What a harness has in its files: every score that was run, with the models and items in an order of its own."""
    values = np.full((len(panels), len(names), len(items)), np.nan)
    plan = board.state.epoch.plan
    for place, panel in enumerate(panels):
        for row, model in enumerate(names):
            until = (stopped or {}).get(model)
            if until is None:
                values[place, row] = panel[model]
            elif place == 0:
                values[0, row, plan.places(until)] = panel[model][plan.places(until)]
    scores = Scores.of(values[:, ::-1, ::-1], models=names[::-1], items=items[::-1])
    return replace(scores, gaps="worst-case", numbered=True)


def content_of(board):
    return json.loads(board.certificate().to_json())


def stopped_inside(place, **options):
    """Two parts, a model that was retired after the first, the rest of the run, and one more replicate."""
    board, panel = make(place, **options), drawn(1)
    add_checkpoint(board, panel)
    board.retire("d")
    add_checkpoint(board, panel)
    return board, panel


def test_inside_the_first_run(tmp_path):
    board, panel = stopped_inside(tmp_path / "board.db")
    scores = table(board, panel, stopped={"a": 2, "b": 2, "c": 2, "d": 1})
    found = verify_certificate(content_of(board), scores)
    assert found.verified, [each for check in found.checks for each in check.differences]
    assert "everything that it concludes follows from the scores." in found.summary
    statuses = {check.kind: check.status for check in found.checks}
    assert statuses == {
        "schema": "ok", "digest": "ok", "version": "ok", "consistency": "ok", "ledger": "unknown", "design": "ok",
        "results": "ok", "notes": "ok",
    }  # fmt: skip
    assert verify_certificate(content_of(board), table(board, panel, stopped={"d": 1})).verified  # a longer table


def test_after_the_first_run(tmp_path):
    board, panel = stopped_inside(tmp_path / "board.db")
    complete(board, panel)
    assert verify_certificate(content_of(board), table(board, panel, stopped={"d": 1})).verified
    again = drawn(2, ("a", "b", "c"))
    complete(board, again)
    board.retire("a")
    board.note("about", "text")
    found = verify_certificate(content_of(board), table(board, panel, {**again, "d": panel["d"]}, stopped={"d": 1}))
    assert found.verified, [each for check in found.checks for each in check.differences]


def test_without_looks_inside_the_first_run(tmp_path):
    board, panel = make(tmp_path / "board.db"), drawn(1)
    complete(board, panel)
    board.retire("d")
    again = drawn(2, ("a", "b", "c"))
    complete(board, again)
    scores = table(board, panel, {**again, "d": np.full(len(ITEMS), np.nan)})
    found = verify_certificate(content_of(board), scores)
    assert found.verified, [each for check in found.checks for each in check.differences]
    ran_on = table(board, panel, {**again, "d": panel["d"]})
    assert not verify_certificate(content_of(board), ran_on).verified


@pytest.mark.parametrize("rule", ["worst-case", "zero"])
def test_missing_scores(tmp_path, rule):
    board = make(tmp_path / "board.db", incomplete=rule)
    panel = drawn(1)
    panel["b"][:7] = np.nan
    add_checkpoint(board, panel)
    complete(board, panel)
    found = verify_certificate(content_of(board), table(board, panel))
    assert found.verified, [each for check in found.checks for each in check.differences]
    filled = {**panel, "b": np.nan_to_num(panel["b"], nan=1.0)}
    assert not verify_certificate(content_of(board), table(board, filled)).verified


def test_blocks_views_and_weights(tmp_path):
    design = BoardDesign.from_toml(
        "alpha = 0.1\nscore_range = [0, 10]\n[checkpoints]\nfractions = [0.2, 0.5]\n"
        '[headline]\nmacro = "topic"\nweights = "weight"\n[views]\ncolumn = "topic"'
    )
    columns = {
        "topic": ["x" if place % 3 else "y" for place in range(len(ITEMS))],
        "weight": ["2" if place % 2 else "1" for place in range(len(ITEMS))],
    }
    blocks = [f"b{place // 2}" for place in range(len(ITEMS))]
    board = Board.create(
        tmp_path / "board.db", design, models=MODELS, items=ITEMS, blocks=blocks, columns=columns, order_seed=3
    )
    panel = drawn(1)
    add_upto(board, replace(some(panel, MODELS, board.next_items), score_range=(0.0, 10.0)))
    board.add(replace(some(panel, MODELS, ITEMS), score_range=(0.0, 10.0)))
    scores = replace(
        table(board, panel),
        blocks=tuple(f"other {block}" for block in blocks[::-1]),
        columns={name: tuple(texts[::-1]) for name, texts in columns.items()},
        score_range=(0.0, 10.0),
    )
    found = verify_certificate(content_of(board), scores)
    assert found.verified, [each for check in found.checks for each in check.differences]
    found = verify_certificate(content_of(board), replace(scores, blocks=scores.items))
    assert "design" in {check.kind for check in found.checks if check.status == "differs"}
    found = verify_certificate(content_of(board), replace(scores, columns={}))
    assert "the items have no column 'topic', which the design uses" in found.summary


def test_what_differs_is_said(tmp_path):
    board, panel = stopped_inside(tmp_path / "board.db")
    content = content_of(board)
    changed = {**panel, "a": 1.0 - panel["a"]}
    found = verify_certificate(content, table(board, changed, stopped={"d": 1}))
    assert "other results at" in found.summary
    found = verify_certificate(content, table(board, panel))  # d ran on, and is retired all the same
    assert "parts[1].models" in [each.place for check in found.checks for each in check.differences]
    found = verify_certificate(content, table(board, panel, stopped={"c": 1, "d": 1}))  # c was never retired
    assert "lacks model 'c'" in found.summary
    found = verify_certificate(content, table(board, panel, names=MODELS[:3]))  # d ran the first part
    assert "parts[0].models" in [each.place for check in found.checks for each in check.differences]
    found = verify_certificate(content, table(board, panel, names=MODELS[1:]))
    assert "other models: 'a' only in the certificate" in found.summary


def test_a_model_that_never_ran(tmp_path):
    board, panel = make(tmp_path / "board.db"), drawn(1)
    board.retire("b")
    add_checkpoint(board, panel)
    found = verify_certificate(content_of(board), table(board, panel, names=("a", "c", "d")))
    assert found.verified, [each for check in found.checks for each in check.differences]


def test_the_order_needs_all_items(tmp_path):
    board, panel = stopped_inside(tmp_path / "board.db")
    with pytest.raises(DesignError, match="follows from all 60 items, and the scores have 20"):
        verify_certificate(content_of(board), some(panel, MODELS, ITEMS[:20]))


def test_what_only_the_board_verifies(tmp_path):
    scores = some(drawn(1), MODELS, ITEMS)
    grown = life(tmp_path / "life.db")
    with pytest.raises(DomainError, match="items were added to this board: only its ledger says"):
        verify_certificate(json.loads(grown.certificate(1).to_json()), scores)
    joined = make(tmp_path / "joined.db")
    joined.add_model("e")
    add_checkpoint(joined, drawn(1, (*MODELS, "e")))
    with pytest.raises(DomainError, match=r"models were added to this board.*give the board, not score files"):
        verify_certificate(content_of(joined), scores)
    pilot = make(tmp_path / "pilot.db", family="pilot-top-k", k=1, pilot=1)
    complete(pilot, drawn(1))
    with pytest.raises(DomainError, match="a pilot chose the candidate of this board"):
        verify_certificate(content_of(pilot), scores)
    plain = Board.create(tmp_path / "plain.db", BoardDesign(), models=MODELS, items=ITEMS)
    complete(plain, drawn(1))
    with pytest.raises(DomainError, match="certificate is the certificate of a board; give the board, not score files"):
        verify_certificate(content_of(plain), scores)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["board"].update(claims=[]),
        lambda content: content["parts"].extend([content["parts"][-1]] * 3),
        lambda content: content["parts"].clear(),
        lambda content: content.update(replicates=1),
        lambda content: content["board"]["retired"].clear(),
        lambda content: content["board"]["retired"].append("a"),
        lambda content: content["unresolved"].append(["b", "a"]),
        lambda content: content["unresolved"].extend([["b", "a"], ["a", "b"]]),
        lambda content: content["design"].pop("checkpoints"),
    ],
)
def test_what_contradicts_itself_is_found_and_breaks_nothing(tmp_path, change):
    board, panel = stopped_inside(tmp_path / "board.db")
    content = content_of(board)
    change(content)
    assert not verify_certificate(resealed(content), table(board, panel, stopped={"d": 1})).verified


# What only the ledger says; the version and the digest are checked elsewhere.
LEDGER = {("board", "head"), ("board", "events"), ("board", "design_hash"), ("design", "hash"), ("bbedge",)}


def is_of_ledger(path):
    """Whether it is where an event is, or when it was: no score shows that."""
    return path[:2] == ("board", "timeline") and path[-1] in ("event", "time")


def values_of(tmp_path):
    board, panel = stopped_inside(tmp_path / "board.db")
    complete(board, panel)
    content, scores = content_of(board), table(board, panel, stopped={"d": 1})
    every = [
        (path, value)
        for path, value in leaves(content)
        if path not in LEDGER and path[0] not in ("provenance", "notes") and not is_of_ledger(path)
    ]
    return content, scores, every


@pytest.mark.nightly
def test_a_changed_value_is_found(tmp_path):
    content, scores, every = values_of(tmp_path)
    rng = np.random.default_rng(2)
    chosen = [each for each in every if each[0][0] in ("first_pass", "parts")]
    for some_of in ([each for each in every if each[0][0] == "board"], every):
        chosen += [some_of[i] for i in rng.choice(len(some_of), 6, replace=False)]
    check_found(content, scores, chosen)


@pytest.mark.nightly
def test_every_changed_value_is_found(tmp_path):
    check_found(*values_of(tmp_path))
