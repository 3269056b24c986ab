"""Comparisons on a page in a browser: the matrix and the graph."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.nightly


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
