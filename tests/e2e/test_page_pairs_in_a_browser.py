"""Comparisons on a page in a browser: the matrix, the graph, and the items behind a comparison."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect

from bbedge.certificate.certificate import Certificate
from bbedge.core.scores import Scores
from bbedge.display.page import render_page
from bbedge.display.page.payload import ItemScores
from e2e.browsing import HOSTILE
from unit.certificate.documents import suite

pytestmark = pytest.mark.nightly


def test_where_one_model_beats_another(opened):
    views = ("code", "math")
    board = suite(views, models=4, items=30)
    rng = np.random.default_rng(8)
    values = (rng.random((4, 4, 60)) < np.array([0.9, 0.7, 0.4, 0.2])[None, :, None]).astype(float)
    scores = Scores.of(values, models=board.design.models, items=[*(f"item {i}" for i in range(59)), HOSTILE[0]])
    whole = Certificate.made(board)
    weights = {"": None, "code": [1.0] * 30 + [0.0] * 30, "math": [0.0] * 30 + [1.0] * 30}
    addresses = {("m00", "item 3"): "logs/a.eval, sample 4", ("m01", "item 3"): "https://example.org/3"}
    items = ItemScores.from_scores(scores, whole.names, weights=weights, addresses=addresses)
    it = opened(render_page(whole, items=items))
    page = it.scripted()
    means = dict(zip(scores.models, values.mean(axis=0), strict=True))

    def check(a: str, b: str, inside: range) -> None:
        differences = means[a] - means[b]
        ahead = int((differences[inside] > 0).sum())
        expect(page.locator("#where-words")).to_contain_text(f"{a} has the higher mean on {ahead},")
        rows = page.locator("#where-rows tr")
        shown = [rows.nth(i).locator("th, td").all_inner_texts() for i in range(rows.count())]
        assert len(shown) == min(15, ahead) + min(15, int((differences[inside] < 0).sum()))
        for item, first, second, difference, *_ in shown:
            i = scores.items.index(item)
            assert i in inside
            assert (float(first), float(second)) == (means[a][i], means[b][i])
            assert float(difference) == differences[i]
        largest = [abs(float(row[3])) for row in shown if float(row[3]) > 0]
        assert largest == sorted(largest, reverse=True)

    page.locator("#where-a").select_option("m00")
    page.locator("#where-b").select_option("m03")
    check("m00", "m03", range(60))
    page.get_by_label("View", exact=True).select_option("2")
    check("m00", "m03", range(30, 60))
    page.get_by_label("View", exact=True).select_option("1")
    check("m00", "m03", range(30))
    page.locator(".ranking tbody tr", has_text="m01").click()
    page.locator("#about li", has=page.get_by_text("m02", exact=True)).get_by_role("button").click()
    check("m01", "m02", range(30))
    expect(page.locator("#where")).to_be_in_viewport()
    page.keyboard.press("Escape")
    page.locator("#where-a").select_option("m00")
    page.locator("#where-b").select_option("m01")
    check("m00", "m01", range(30))
    row = page.locator("#where-rows tr", has=page.get_by_text("item 3", exact=True))
    if row.count():
        assert row.locator(".at").inner_text().split() == ["logs/a.eval,", "sample", "4", "https://example.org/3"]
    assert page.evaluate("window.hit") is None
    assert it.said == []


def test_the_matrix_says_what_a_cell_means_and_selects_its_row(opened, demo):
    document, html = demo
    page = opened(html).scripted()
    page.locator(".matrix").scroll_into_view_if_needed()
    box = page.locator(".matrix .ground").bounding_box()
    names = [model["name"] for model in document["models"]]
    cell = box["width"] / len(names)
    page.mouse.move(box["x"] + 5.5 * cell, box["y"] + 0.5 * cell)
    assert page.locator("#cell").inner_text().startswith(f"{names[0]} beats {names[5]}: better by ")
    page.mouse.click(box["x"] + 5.5 * cell, box["y"] + 0.5 * cell)
    assert page.locator("#about h3").inner_text() == names[0]
    assert page.locator(".graph").is_hidden()
    page.get_by_role("button", name="Graph", exact=True).click()
    assert page.locator(".graph").is_visible()
    page.get_by_role("button", name="Matrix", exact=True).click()
    assert page.locator(".matrix").is_visible()
