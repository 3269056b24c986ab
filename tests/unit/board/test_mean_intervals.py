"""Intervals of means on a board: every model's by the claim that brought it, at the level of that claim."""

import json

import jsonschema
import numpy as np
import pytest

from bbedge.board import Board
from bbedge.certificate.certificate import Certificate
from bbedge.certificate.of_board import board_certificate
from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.verify.ledger import verify
from unit.board.boards import ITEMS, make, scores, values
from unit.certificate.documents import schema

ABC = ("a", "b", "c")


def bounds(panels, models, level, newcomer=None):
    evidence = Evidence(Design.make(models, ITEMS, alpha=level, mean_share=0.1, newcomer=newcomer))
    for panel in panels:
        evidence.update(panel)
    return evidence.mean_bounds()


@pytest.fixture
def grown(tmp_path):
    """A board with an added and a retired model, and all its scores: three replicates of a to c, then of b to d."""
    rng = np.random.default_rng(3)
    board = make(tmp_path, mean_share=0.1)
    first, second, joined = values(rng, ABC, 3), values(rng, ("b", "c", "d"), 2), values(rng, ("d",), 3)
    board.add(scores(first, ABC))
    board.add_model("d", scores(joined, ("d",)))
    board.retire("a")
    board.add(scores(second, ("b", "c", "d")))
    return board, first, second, joined


def test_every_model_has_the_interval_of_the_claim_that_brought_it(grown):
    board, first, second, joined = grown
    opening, added = (stage.level for stage in board.state.stages)
    shown = board.leaderboard()
    assert shown.design.models == ("a", "b", "c", "d")
    evidence = Evidence(Design.make(ABC, ITEMS, alpha=opening, mean_share=0.1))
    for panel in first:
        evidence.update(panel)
    evidence.stop(["a"])
    for panel in second:
        evidence.update(panel[:2])
    assert np.array_equal(shown.mean_bounds[:3], evidence.mean_bounds())
    assert np.array_equal(shown.mean_bounds[0], bounds(first, ABC, opening)[0])
    own = np.concatenate([joined[:, 0], second[:, 2]])
    # What the other models score makes no difference.
    alone = np.stack([own, own, own, own], axis=1)
    assert np.array_equal(shown.mean_bounds[3], bounds(alone, ("a", "b", "c", "d"), added, newcomer="d")[3])


def test_a_board_is_replayed_and_verified_with_its_intervals(grown):
    board, *_ = grown
    before = board.leaderboard().mean_bounds
    verify(board.store)
    place = board.name
    board.close()
    with Board.open(place) as again:
        assert np.array_equal(again.leaderboard().mean_bounds, before)


def test_the_certificate_of_a_board_has_the_intervals(grown):
    board, *_ = grown
    certificate = board_certificate(board)
    document = json.loads(certificate.to_json())
    jsonschema.validate(document, schema())
    assert document["board"]["design"]["mean_share"] == document["design"]["mean_share"] == 0.1
    read = Certificate.of(document)
    assert len(read.mean_intervals) == 4
    assert read.mean_intervals == certificate.mean_intervals


def test_before_the_first_replicate_nothing_is_known(tmp_path):
    board = make(tmp_path, mean_share=0.1)
    assert board.leaderboard().mean_bounds.tolist() == [[0.0, 1.0]] * 3
    assert Certificate.of(json.loads(board_certificate(board).to_json())).mean_intervals == ((0.0, 1.0),) * 3


def test_a_board_without_a_mean_share_says_nothing_of_it(tmp_path):
    board = make(tmp_path, mean_share=0.0)
    board.add(scores(values(np.random.default_rng(3), ABC, 2), ABC))
    assert "mean_share" not in board.design.content
    assert board.leaderboard().mean_bounds is None
    assert "mean_" not in board_certificate(board).to_json()
