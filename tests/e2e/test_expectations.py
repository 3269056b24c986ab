"""``--expect`` and ``--forbid``: statements about two models, with and without margins, and their exit codes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bbedge.core.conclusions import Statement, parse
from bbedge.core.leaderboard import certify
from bbedge.core.scores import Scores
from bbedge.errors import DomainError

UNIT = 1.0


def write(path, scores, models):
    rows = ["model,item,replicate,score"]
    rows += [
        f"{model},q{i},{r + 1},{scores[r, m, i]}"
        for r in range(scores.shape[0])
        for m, model in enumerate(models)
        for i in range(scores.shape[2])
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def equal(tmp_path):
    """Two systems with the same chance, item by item, in twelve runs."""
    rng = np.random.default_rng(2)
    chances = np.where(np.arange(200) < 150, 0.98, 0.02)
    return write(tmp_path / "equal.csv", (rng.random((12, 2, 200)) < chances).astype(float), ["new", "old"])


@pytest.fixture
def worse(tmp_path):
    """The new system is worse by half of the score range."""
    scores = np.zeros((2, 2, 80))
    scores[:, 1] = 1.0
    scores[:, :, ::2] = 1.0
    scores[0, 0, 0], scores[1, 1, 2] = 0.0, 0.0  # the runs differ
    return write(tmp_path / "worse.csv", scores, ["new", "old"])


def test_a_margin_below_zero_is_certified_where_no_order_is(bbedge, equal):
    assert bbedge("certify", equal, "--expect", "new > old").code == 3
    outcome = bbedge("certify", equal, "--expect", "new > old - 0.1", "--expect", "old > new - 0.1")
    assert outcome.code == 0, outcome.out
    assert "new > old - 0.1" in outcome.out
    assert bbedge("certify", equal, "--expect", "new > old - 0.001").code == 3


def test_margins_are_those_of_the_certificate(bbedge, equal, tmp_path):
    out = tmp_path / "c.json"
    assert bbedge("certify", equal, "--json", out).code == 0
    document = json.loads(out.read_text())
    names = [model["name"] for model in document["models"]]
    bound = document["margins"][names.index("new")][names.index("old")]
    assert -0.1 < bound < 0.0
    assert bbedge("certify", equal, "--expect", f"new > old - {-bound + 1e-4:.6f}").code == 0
    assert bbedge("certify", equal, "--expect", f"new > old - {-bound - 1e-4:.6f}").code == 3


def test_a_certified_opposite_has_its_own_exit_code(bbedge, worse):
    outcome = bbedge("certify", worse, "--expect", "new > old", "--expect", "old > new")
    assert outcome.code == 4
    assert "opposite certified  new > old" in outcome.out
    assert bbedge("certify", worse, "--expect", "new > old - 0.1").code == 4
    assert bbedge("certify", worse, "--expect", "old > new + 0.9").code == 4  # the difference is half of that
    assert bbedge("certify", worse, "--expect", "old > new + 0.1").code == 0
    assert bbedge("certify", worse, "--expect", "new > old - 0.9").code == 0


def test_what_is_forbidden_must_not_be_certified(bbedge, worse, equal):
    outcome = bbedge("certify", worse, "--forbid", "old > new")
    assert outcome.code == 4
    assert "old > new (forbidden)" in outcome.out
    assert bbedge("certify", worse, "--forbid", "new > old").code == 0
    assert bbedge("certify", equal, "--forbid", "old > new").code == 0
    assert bbedge("certify", equal, "--forbid", "old > new - 0.1").code == 4
    # An opposite weighs more than an expectation that is open.
    assert bbedge("certify", worse, "--expect", "old > new + 0.45", "--forbid", "old > new").code == 4


def test_margins_are_in_score_units(bbedge, worse, tmp_path):
    text = worse.read_text().replace(",1.0\n", ",10\n").replace(",0.0\n", ",0\n")
    scaled = tmp_path / "scaled.csv"
    scaled.write_text(text)
    wide = ("certify", scaled, "--score-range", 0, 10)
    assert bbedge(*wide, "--expect", "old > new + 1").code == 0
    assert bbedge(*wide, "--expect", "old > new + 9").code == 4
    refused = bbedge(*wide, "--expect", "old > new + 10")
    assert refused.code == 2
    assert "width of the score range, 10" in refused.err


def test_expectations_are_about_the_view_that_is_shown(bbedge, tmp_path):
    rows = ["model,item,replicate,subject,score"]
    for run in (1, 2):
        for i in range(160):
            better = i < 80
            rows += [
                f"a,q{i},{run},{'math' if better else 'code'},{int(better or i == 90 + run)}",
                f"b,q{i},{run},{'math' if better else 'code'},{int(not better)}",
            ]
    table = tmp_path / "t.csv"
    table.write_text("\n".join(rows) + "\n")
    views = ("certify", table, "--views", "subject", "--view")
    assert bbedge(*views, "math", "--expect", "a > b + 0.1").code == 0
    assert bbedge(*views, "code", "--expect", "a > b + 0.1").code == 4
    assert bbedge(*views, "code", "--forbid", "b > a").code == 4


def test_an_order_that_stands_supports_margins_below_it():
    scores = np.zeros((1, 2, 60))
    scores[0, 0, :9] = 1.0
    board = certify(Scores.of(scores, models=["a", "b"], items=[f"q{i}" for i in range(60)]), method="bb-edge-x")
    assert board.is_certified("a", "b")
    assert Statement(better="a", worse="b", shift=-1e-6).found(board) == "certified"
    assert Statement(better="b", worse="a", shift=1e-6).found(board) == "opposite certified"
    assert Statement(better="a", worse="b", shift=1e-6).found(board) == "not certified"


@pytest.mark.parametrize(
    ("text", "models", "expected"),
    [
        ("a > b", ["a", "b"], ("a", "b", 0.0)),
        ("a>b-.5", ["a", "b"], ("a", "b", -0.5)),
        ("a > b + 1e-3", ["a", "b"], ("a", "b", 1e-3)),
        ("a > b - 0", ["a", "b"], ("a", "b", 0.0)),
        ("a > b > c", ["a > b", "c"], ("a > b", "c", 0.0)),
        ("gpt-4 > gpt-3.5", ["gpt-4", "gpt-3.5"], ("gpt-4", "gpt-3.5", 0.0)),
        ("gpt-4 > gpt-3.5 - 0.02", ["gpt-4", "gpt-3.5"], ("gpt-4", "gpt-3.5", -0.02)),
        ("a+1 > b - 1e - 0.5", ["a+1", "b - 1e"], ("a+1", "b - 1e", -0.5)),
        ("x > a-1e-1", ["x", "a-1e", "b"], None),  # a margin of 1
        ("x > a-1e-0.1", ["x", "a-1e", "b"], ("x", "a-1e", -0.1)),
    ],
)
def test_names_are_matched_against_the_models(text, models, expected):
    if expected is None:
        with pytest.raises(DomainError, match="width of the score range"):
            parse(text, models, UNIT, argument="expect")
        return
    found = parse(text, models, UNIT, argument="expect")
    assert (found.better, found.worse, found.shift) == expected


@pytest.mark.parametrize(
    ("text", "models", "words"),
    [
        ("new > old - 0.02", ["new", "old", "old - 0.02"], "two readings"),
        ("a > b > c", ["a", "b > c", "a > b", "c"], "two readings"),
        ("x > gpt-3.5", ["x", "gpt", "gpt-3.5"], "two readings"),
        ("a > c", ["a", "b"], "does not name two models"),
        ("a > a - 0.1", ["a", "b"], "does not name two models"),
        ("a > b - -0.1", ["a", "b"], "does not name two models"),
        ("a > b - nan", ["a", "b"], "does not name two models"),
        ("a > b + 1", ["a", "b"], "width of the score range"),
    ],
)
def test_other_texts_are_refused(text, models, words):
    with pytest.raises(DomainError, match=words):
        parse(text, models, UNIT, argument="forbid")
