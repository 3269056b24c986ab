"""Pairs that are about equal: what the margins say, where it is written, and who says it."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from rich.console import Console

import bbedge
from bbedge.certificate.certificate import Certificate
from bbedge.certificate.derive import is_equal
from bbedge.certificate.document import certificate, to_json
from bbedge.certificate.provenance import pack, unpack
from bbedge.display.answer import answer
from bbedge.display.page import render_page
from bbedge.display.scope import equal_pairs
from bbedge.display.terminal import show_leaderboard
from bbedge.errors import FormatError
from unit.certificate.documents import checked, schema

WITHIN = 0.12


def made(means, *, items=600, runs=6, low=0.0, high=1.0, **options) -> bbedge.Leaderboard:
    rng = np.random.default_rng(4)
    values = (rng.random((runs, len(means), items)) < np.array(means)[None, :, None]).astype(float)
    scores = bbedge.Scores.of(
        values,
        models=[f"m{i}" for i in range(len(means))],
        items=[f"q{i}" for i in range(items)],
    )
    return bbedge.certify(replace(scores, score_range=(low, high)), **options)


FOUR = [0.7, 0.69, 0.66, 0.3]
LEADERBOARD = made(FOUR, equal_within=WITHIN)
DOCUMENT = json.loads(to_json(certificate(LEADERBOARD)))
SHOWN = checked(DOCUMENT)


def printed(shown: Certificate) -> str:
    console = Console(file=io.StringIO(), width=120, no_color=True)
    show_leaderboard(console, shown)
    return console.file.getvalue()


def test_the_list_follows_from_both_margins_of_each_pair():
    names = [model["name"] for model in DOCUMENT["models"]]
    margins = DOCUMENT["margins"]
    expected = [
        [names[a], names[b]]
        for a in range(4)
        for b in range(a + 1, 4)
        if margins[a][b] > -WITHIN and margins[b][a] > -WITHIN
    ]
    assert DOCUMENT["equal"] == expected
    assert 0 < len(expected) < 6
    assert not any("m3" in pair for pair in expected)
    jsonschema.validate(DOCUMENT, schema())
    assert "equal" not in json.loads(to_json(certificate(made(FOUR))))


def test_the_limit_is_a_part_of_the_score_range():
    of_hundred = made(FOUR, equal_within=WITHIN, low=-50.0, high=50.0)
    document = json.loads(to_json(certificate(of_hundred)))
    assert document["equal"] == DOCUMENT["equal"]
    assert equal_pairs(checked(document)).endswith("equal within 12.") or "within 12;" in equal_pairs(checked(document))
    assert "equal within 0.12 (12 points of 100)" in equal_pairs(SHOWN)


def test_rounding_never_makes_a_pair_equal():
    limit = 0.02 * 3.0
    margins = np.array([[np.nan, -limit, -0.059], [-limit, np.nan, np.nan], [-0.0599, -0.01, np.nan]])
    assert is_equal(margins, limit).tolist() == [[False, False, True], [False, False, False], [True, False, False]]


def test_many_models_have_no_list():
    brief = json.loads(to_json(certificate(LEADERBOARD, most_models=3)))
    assert brief["equal"] is None
    assert brief["margins"] is None
    assert checked(brief).equal is None
    assert equal_pairs(checked(brief)) == ""


@pytest.mark.parametrize("change", ["added", "left out", "missing", "unknown"])
def test_a_list_that_does_not_follow_is_refused(change):
    changed = json.loads(json.dumps(DOCUMENT))
    if change == "added":
        changed["equal"].append(["m0", "m3"])
    elif change == "left out":
        changed["equal"].pop()
    elif change == "missing":
        del changed["equal"]
    else:
        changed["equal"].append(["m0", "nobody"])
    with pytest.raises(FormatError, match=r"equal"):
        checked(changed)


def test_the_order_of_the_list_says_nothing():
    turned = json.loads(json.dumps(DOCUMENT))
    turned["equal"] = [pair[::-1] for pair in turned["equal"][::-1]]
    assert checked(turned).equal.tolist() == SHOWN.equal.tolist()


def test_a_packed_certificate_has_the_list():
    document = SHOWN.content
    packed = json.loads(json.dumps(pack(document)))
    assert "m0" not in json.dumps(packed["pairs"])
    assert unpack(packed)["equal"] == DOCUMENT["equal"]


def test_frames_say_which_pairs_are_equal():
    frame = LEADERBOARD.pairs_frame()
    for row in frame.iter_rows(named=True):
        assert row["equal"] == (row["lower"] > -WITHIN and row["upper"] < WITHIN)
    assert "equal" not in made(FOUR).pairs_frame().columns
    assert frame["equal"].sum() == 2 * len(DOCUMENT["equal"])


def test_frames_of_both_targets_have_the_columns_of_both():
    both = made(FOUR, equal_within=WITHIN, target="both")
    whole, of_new = both.pairs_frame(), both.view("new items").pairs_frame()
    assert [name for name in whole.columns if name.endswith("_new")] == [f"{name}_new" for name in of_new.columns[3:]]
    joined = whole.join(of_new, on=["model", "other"], suffix="_there")
    assert joined.height == whole.height
    for name in of_new.columns[3:]:
        assert joined[f"{name}_new"].to_list() == joined[f"{name}_there"].to_list()
    models = both.to_frame().join(both.view("new items").to_frame(), on="model", suffix="_there")
    for name in ("rank_best", "rank_worst", "wins", "losses"):
        assert models[f"{name}_new"].to_list() == models[f"{name}_there"].to_list()


def test_frames_have_no_bounds_of_new_items_before_a_look():
    frame = made(FOUR, target="both", looks=[9]).pairs_frame()
    assert frame.select("lower_new", "upper_new", "log_e_new", "since_new").null_count().row(0) == (12,) * 4
    assert not frame["certified_new"].any()
    assert frame["lower"].null_count() == 0
    alone = made(FOUR, target="new-items", looks=[9]).pairs_frame()
    assert alone["log_e"].null_count() == alone.height == 12


def test_the_answer_counts_them_and_says_that_the_best_are_equal():
    said = answer(SHOWN)
    assert said.equal.startswith(f"{len(DOCUMENT['equal'])} of 6 pairs are known to be equal within 0.12")
    together = made([0.7, 0.69, 0.3], equal_within=0.1)
    assert "m1. They are equal within 0.1 (10 points of 100)." in answer(Certificate.made(together)).contenders
    apart = made([0.7, 0.69, 0.3], equal_within=0.001)
    assert "They are equal" not in answer(Certificate.made(apart)).contenders
    assert answer(Certificate.made(apart)).equal.startswith("0 of 3 pairs are known to be equal")


def test_two_models_may_be_equal_and_one_of_them_better():
    better = Certificate.made(made([0.7, 0.55], equal_within=0.3))
    first = answer(better).first
    assert first.startswith("On these 600 items, m0 beats m1; the means differ by 0.1")
    assert first.endswith("; they are also equal within 0.3 (30 points of 100).")
    least, most = (float(end) for end in first.split("lies between ")[1].split(";")[0].split(" and "))
    assert 0 < least <= float(better.margins[0, 1])
    assert -float(better.margins[1, 0]) <= most < 0.3
    assert equal_pairs(better) == (
        "1 of 1 pair is known to be equal within 0.3 (30 points of 100); in each of them a model is also certified "
        "better, by no more than that."
    )


def test_two_models_that_are_equal_and_neither_better():
    same = Certificate.made(made([0.7, 0.7], equal_within=0.2))
    first = answer(same).first
    assert " are equal within 0.2 (20 points of 100); the true difference lies between -0." in first
    assert answer(same).contenders == "Neither is certified better."
    assert "equal within 0.2" in next(line for line in printed(same).splitlines() if line.startswith("m1 "))


def test_tables_of_open_pairs_say_which_are_equal():
    text = printed(SHOWN)
    first = next(line for line in text.split("open pairs")[1].splitlines() if line.startswith("m0"))
    assert first.rstrip().endswith("equal within 0.12")
    page = render_page(SHOWN)
    assert "<td>equal within 0.12</td>" in page
    assert '<th scope="col">About equal</th>' in page
    assert "About equal" not in render_page(Certificate.made(made(FOUR)))
