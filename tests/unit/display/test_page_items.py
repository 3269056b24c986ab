"""Scores of single items on the page: means of the runs, bounded, and only when asked for."""

from __future__ import annotations

import base64
import gzip
import json

import numpy as np

from bbedge.certificate.certificate import Certificate
from bbedge.core.scores import Scores
from bbedge.display.page import render_page
from bbedge.display.page.payload import ItemScores
from unit.certificate.documents import certified, drawn
from unit.display.test_page import data_of

SCORES = drawn([0.9, 0.5, 0.2], items=30)


def unpacked(items: ItemScores) -> dict:
    return json.loads(gzip.decompress(base64.b64decode(items.packed())))


def test_the_means_are_those_of_the_runs_in_score_units():
    scores = Scores(
        models=("a", "b"),
        items=("x", "y"),
        blocks=("x", "y"),
        replicates=("1", "2"),
        values=np.array([[[0.0, 1.0], [0.5, np.nan]], [[1.0, 1.0], [np.nan, np.nan]]]),
        score_range=(0.0, 10.0),
        gaps="worst-case",
    )
    content = unpacked(ItemScores.from_scores(scores, ["b", "a"]))
    assert content["models"] == ["b", "a"]
    assert content["means"] == [[5.0, None], [5.0, 10.0]]
    assert content["addresses"] is None


def test_more_items_than_the_bound_leave_those_that_differ_most_and_the_page_says_so():
    whole = ItemScores.from_scores(SCORES, SCORES.models)
    some = ItemScores.from_scores(SCORES, SCORES.models, most_items=7, most_models=2)
    assert whole.bound == ""
    assert some.bound == "This page has the 7 items of 30 on which the models differ most and 2 of 3 models."
    means = SCORES.values.mean(axis=0)[:2]
    spread = dict(zip(SCORES.items, means.max(axis=0) - means.min(axis=0), strict=True))
    assert min(spread[item] for item in some.items) >= max(spread[i] for i in SCORES.items if i not in some.items)
    page = render_page(Certificate.made(certified(SCORES)), items=some)
    assert some.bound in page


def test_items_belong_to_the_views_in_which_they_weigh_something():
    weights = {"": None, "even": [float(i % 2 == 0) for i in range(30)]}
    content = unpacked(ItemScores.from_scores(SCORES, SCORES.models, weights=weights))
    assert content["views"] == {"": list(range(30)), "even": list(range(0, 30, 2))}


def test_addresses_travel_with_their_samples():
    items = ItemScores.from_scores(SCORES, SCORES.models, addresses={("m01", "q3"): "runs/a.eval, sample 4\u202e"})
    assert unpacked(items)["addresses"][1][3] == "runs/a.eval, sample 4\\u202e"
    assert unpacked(items)["addresses"][0][3] == ""


def test_a_page_has_no_items_unless_asked():
    made = Certificate.made(certified(SCORES))
    page = render_page(made)
    assert data_of(page)["items"] is None
    assert 'id="where"' not in page
    asked = render_page(made, items=ItemScores.from_scores(SCORES, made.names))
    assert data_of(asked)["items"] == ItemScores.from_scores(SCORES, made.names).packed()
    assert "q3" not in page.split("<style>")[0] + page.split("</style>")[1]


def test_differences_of_items_are_those_of_the_means_and_not_of_rounded_ones():
    thirds = np.array([[[1.0], [1.0]], [[1.0], [0.0]], [[0.0], [0.0]]])
    scores = Scores(
        models=("a", "b"),
        items=("x",),
        blocks=("x",),
        replicates=("1", "2", "3"),
        values=thirds,
        score_range=(0.0, 1.0),
    )
    first, second = (row[0] for row in unpacked(ItemScores.from_scores(scores, ["a", "b"]))["means"])
    assert f"{first - second:.4f}" == "0.3333"
