"""The views on the page: all in one file, all in one table, and bounded."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from dataclasses import replace

import pytest

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import rank
from bbedge.core.conclusions import GapCount
from bbedge.display.page import render_page
from bbedge.display.page.drawing import SHADES, draw_heat, shade
from bbedge.display.page.payload import embedded
from bbedge.display.page.table import PageView
from unit.certificate.documents import suite
from unit.display.test_page import data_of

SUITE = suite(("code", "math", "law"))
WHOLE = Certificate.made(SUITE)


def live(page: str) -> str:
    """What is shown without scripts."""
    return re.sub(r"<template.*?</template>", "", page, flags=re.DOTALL)


def ranks_in(text: str) -> list[str]:
    return re.findall(r'<td role="cell" class="rank">([^<]*)</td>', text)


def test_every_view_is_on_the_page_and_one_is_shown():
    page = render_page(WHOLE)
    assert ranks_in(live(page)) == [rank(each) for each in WHOLE.ranks.rank_intervals]
    templates = re.findall(r'<template id="view-(\d)">(.*?)</template>', page, re.DOTALL)
    assert [int(number) for number, _ in templates] == [1, 2, 3]
    for (_, text), view in zip(templates, WHOLE.views, strict=True):
        assert ranks_in(text) == [rank(each) for each in view.ranks.rank_intervals]
        assert f"View {view.name} " in text
    assert re.findall(r"<option [^>]*>([^<]*)<", page) == ["Headline", "code", "law", "math"]
    assert data_of(page)["document"] == WHOLE.document


def test_the_page_of_a_view_opens_with_it():
    page = render_page(WHOLE.view("law"))
    assert ranks_in(live(page)) == [rank(each) for each in WHOLE.view("law").ranks.rank_intervals]
    assert re.findall(r'<template id="view-(\d)">', page) == ["0", "1", "3"]
    assert '<option value="2" selected>law<' in page
    assert data_of(page)["opened"] == 2
    assert data_of(page)["document"] == WHOLE.document


def test_a_page_without_views_has_no_switch():
    page = render_page(Certificate.made(replace(SUITE, views=())))
    for absent in ("<template", '<select id="view"', 'class="heat', "<h2>Views"):
        assert absent not in page


@pytest.mark.parametrize(("models", "views"), [(6, 2), (3, 5)])
def test_the_table_has_the_ranks_of_every_model_in_every_view(models, views):
    whole = Certificate.made(suite(tuple(f"v{i}" for i in range(views)), models=models))
    heat = draw_heat(whole, linked=True)
    cells = [[rank(ranks) for ranks in row] for _, row in heat.rows]
    if models < views + 1:
        assert heat.corner == "View"
        cells = [list(column) for column in zip(*cells, strict=True)]
    for column, view in zip(zip(*cells, strict=True), (whole, *whole.views), strict=True):
        found = dict(zip(view.names, view.ranks.rank_intervals, strict=True))
        assert list(column) == [rank(found[name]) for name in whole.names]
    text = re.search(r'<table class="heat.*?</table>', render_page(whole), re.DOTALL).group(0)
    written = [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in text.split("<tr>")[2:]]
    assert written == [[rank(ranks) for ranks in row] for _, row in heat.rows]


def test_better_ranks_have_a_stronger_colour_and_what_is_open_has_none():
    heat = draw_heat(WHOLE, linked=True)
    shades = {ranks: shade(ranks, 5) for _, row in heat.rows for ranks in row}
    assert shades.pop((1, 5)) is None
    ordered = [found for _, found in sorted(shades.items(), key=lambda each: sum(each[0]))]
    assert ordered == sorted(ordered, reverse=True)
    assert all(0 <= found < SHADES for found in ordered)


def test_names_of_views_stay_text():
    names = ["<script>alert(1)</script>", '"><b>', "{{ 7 * 7 }}", "\u202eabc", "a&b", "</template>"]
    views = tuple(replace(SUITE.views[0], name=name) for name in names)
    page = render_page(Certificate.made(replace(SUITE, views=views)))
    markup = page.split('<script type="application/json"')[0]
    for hostile in ("<script>alert", '"><b>', ">49<", "\u202e", "a&b", "</template>view"):
        assert hostile not in markup
    assert markup.count("<template") == markup.count("</template>") == len(names)
    assert [html.unescape(text) for text in re.findall(r"<option [^>]*>([^<]*)<", page)][1:] == [
        *names[:3],
        "\\u202eabc",
        *names[4:],
    ]
    assert "#view=%3C%2Ftemplate%3E" in markup
    assert [view["name"] for view in data_of(page)["document"]["views"]] == names


def test_views_travel_packed_too():
    content = json.loads(
        embedded(WHOLE, [PageView.from_certificate(each) for each in (WHOLE, *WHOLE.views)], most_plain=2)
    )
    packed = json.loads(gzip.decompress(base64.b64decode(content["packed"])))
    names = [view["rest"]["name"] for view in packed["views"]]
    assert names == ["code", "law", "math"]
    whole = WHOLE.document["views"][1]
    view = packed["views"][1]
    assert view["rest"]["log_e"] == whole["log_e"]
    assert len(view["edges"]) == 5 * len(whole["edges"])
    assert [panel["view"] for panel in content["panels"]] == [None, 0, 1, 2]


def test_many_rows_in_views_leave_the_ranks_of_all_and_one_view_in_full(monkeypatch):
    monkeypatch.setattr("bbedge.display.page.MOST_VIEW_ROWS", 14)
    for shown in (WHOLE, WHOLE.view("math")):
        page = render_page(shown)
        assert "<template" not in page
        assert '<select id="view"' not in page
        assert "bbedge report --view NAME" in page
        assert ranks_in(page) == [rank(each) for each in shown.ranks.rank_intervals]
        assert '<table class="heat' in page
        assert "data-view=" not in page.split("<script")[0]
    monkeypatch.setattr("bbedge.display.page.drawing.MOST_CELLS", 9)
    assert draw_heat(WHOLE, linked=False).n_models == 2
    assert "3 more models are not in this table" in render_page(WHOLE)


def test_missing_scores_and_weights_are_on_the_page():
    gaps = GapCount(of_models=(0, 3, 0, 0, 0), resolved_if_means=7)
    page = html.unescape(render_page(Certificate.made(replace(SUITE, gaps=gaps))))
    assert "3 scores are missing (m01: 3). If the missing scores had been their models' means, 7 pairs" in page
    assert "the headline with 50 % of alpha, 3 other views with 16.7 % each" in page
    assert "20 comparisons in each of 4 views" in page
    assert "in the headline and all 3 other views together" in page
