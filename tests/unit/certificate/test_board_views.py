"""The certificate of a board with views and missing scores agrees with itself, whatever happened to the board."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from bbedge.board import Board, BoardDesign
from bbedge.certificate.certificate import Certificate
from bbedge.certificate.document import plain
from bbedge.core.scores import Scores
from unit.certificate.documents import checked, schema

ITEMS = tuple(f"q{i}" for i in range(60))
CHANCES = {"m0": 0.9, "m1": 0.7, "m2": 0.5, "m3": 0.2, "m4": 0.6}
DESIGN = """
alpha = 0.05
tau = 0.0
method = "{method}"
incomplete = "worst-case"
[headline]
macro = "category"
[views]
column = "category"
"""


def drawn(rng: np.random.Generator, models: list[str], replicates: int) -> Scores:
    values = np.array([[rng.random(len(ITEMS)) < CHANCES[m] for m in models] for _ in range(replicates)]).astype(float)
    values[rng.random(values.shape) < 0.02] = np.nan
    whole = Scores.of(np.zeros_like(values), models=models, items=ITEMS)
    return replace(whole, values=values, gaps="worst-case")


@pytest.mark.parametrize("method", ["bb-edge", "bb-edge-x"])
@pytest.mark.parametrize("seed", range(3))
def test_every_state_of_a_board_with_views_has_a_certificate_that_agrees_with_itself(tmp_path, method, seed):
    rng = np.random.default_rng(seed)
    board = Board.create(
        tmp_path / "b.bbedge",
        BoardDesign.from_toml(DESIGN.format(method=method)),
        models=["m0", "m1", "m2", "m3"],
        items=ITEMS,
        columns={"category": ["a"] * 20 + ["b"] * 40},
    )
    agrees(board)
    board.add(drawn(rng, ["m0", "m1", "m2", "m3"], 3))
    assert all(len(view.history[0]) == 3 for view in agrees(board).views)
    board.add_model("m4", drawn(rng, ["m4"], 3))
    board.retire("m3")
    board.add(drawn(rng, ["m0", "m1", "m2", "m4"], 2))
    certificate = agrees(board)
    assert certificate.content.gaps.cells > 0
    assert certificate.content.board.design.headline.macro == "category"
    assert certificate.content.design.weights.items == len(ITEMS)
    assert any(view.ranks.n_resolved for view in certificate.views)
    board.close()


def agrees(board: Board) -> Certificate:
    made = board.certificate()
    assert [view.name for view in made.views] == ["a", "b"]
    jsonschema.validate(made.document, schema())
    read = checked(json.loads(made.to_json()))
    assert read.to_json() == made.to_json()
    for ours, theirs in zip(made.views, read.views, strict=True):
        assert plain(ours.content)["looks"] == plain(theirs.content)["looks"]
        assert np.allclose(ours.pairs.log_thresholds, theirs.pairs.log_thresholds, equal_nan=True, rtol=1e-9)
    return made
