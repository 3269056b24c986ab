"""The views of a page in a browser: the switch, the addresses, the table of all views."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from bbedge.certificate.certificate import Certificate
from bbedge.core.leaderboard import certify_design
from bbedge.display.page import render_page
from bbedge.display.page.payload import MOST_PLAIN
from e2e.browsing import HOSTILE, shows
from unit.certificate.documents import drawn, suite

pytestmark = pytest.mark.nightly

NAMES = ("code", "law & order", HOSTILE[0], HOSTILE[3])


@pytest.mark.parametrize("size", [6, MOST_PLAIN // 2])
def test_the_switch_shows_another_view_and_the_address_says_which(opened, size):
    whole = Certificate.made(suite(NAMES, models=size, items=60))
    it = opened(render_page(whole))
    page = it.scripted()
    shows(it, whole)
    choice = page.get_by_label("View", exact=True)
    for place, view in enumerate(whole.views, start=1):
        choice.select_option(str(place))
        shows(it, view)
        assert it.cells("model") == list(view.labels)
        assert (
            page.locator("#viewing").inner_text().endswith(f"{view.ranks.n_resolved} of {view.n_pairs} pairs certified")
        )
        assert page.evaluate("location.hash").startswith("#view=")
        # What is selected in a view is about that view.
        page.locator(".ranking tbody button").nth(0).click()
        beaten = int(view.ranks.n_worse[0])
        assert f"beats {beaten}," in page.locator("#spoken").inner_text()
        page.keyboard.press("Escape")
        assert page.locator("html.choosing").count() == 0
    for view in (*whole.views[-2::-1], whole):
        # Past the model that was selected in the view, and past nothing selected.
        for _ in range(3):
            page.go_back()
        shows(it, view)
    choice.select_option("2")
    choice.select_option("0")
    shows(it, whole)
    assert page.evaluate("location.hash") == "#headline"
    assert page.evaluate("window.hit") is None
    assert it.said == []


def test_a_link_leads_to_a_view_and_the_keyboard_to_all_of_them(opened):
    whole = Certificate.made(suite(NAMES, models=6, items=60))
    it = opened(render_page(whole))
    page = it.scripted()
    page.goto(f"{page.url}#view=law%20%26%20order")
    page.reload()
    it.scripted()
    law = whole.view("law & order")
    shows(it, law)
    assert page.locator(".heat [aria-current]").inner_text() == "law & order"
    page.locator("#view").focus()
    page.keyboard.press("ArrowUp")
    shows(it, whole.view("code"))
    page.get_by_role("link", name="law & order").focus()
    page.keyboard.press("Enter")
    shows(it, law)
    with page.expect_download() as download:
        page.locator("#download").click()
    assert json.loads(Path(download.value.path()).read_text()) == whole.document
    assert it.said == []


@pytest.mark.parametrize("width", [390, 1280])
def test_many_views_fit_and_their_table_scrolls_by_itself(opened, width):
    whole = Certificate.made(suite(tuple(f"high_school_subject_{i:02}" for i in range(57)), models=4, items=8))
    it = opened(render_page(whole), viewport={"width": width, "height": 800})
    page = it.scripted()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".heat tbody tr").count() == 58
    page.get_by_label("View", exact=True).select_option(label="high_school_subject_31")
    shows(it, whole.view("high_school_subject_31"))
    assert it.said == []


def test_without_scripts_the_ranks_of_all_views_are_there(opened):
    whole = Certificate.made(suite(NAMES, models=6, items=60))
    it = opened(render_page(whole), java_script_enabled=False)
    shows(it, whole)
    assert it.page.locator(".heat tbody tr").count() == 6
    assert it.page.locator("#view").is_hidden()


def test_a_link_to_a_model_in_a_view(opened):
    whole = Certificate.made(suite(NAMES, models=6, items=60))
    it = opened(render_page(whole))
    page = it.scripted()
    law = whole.view("law & order")
    page.goto(f"{page.url}#view=law%20%26%20order&model={law.names[2]}")
    shows(it, law)
    expect(page.locator("#about h3")).to_have_text(law.names[2])
    page.locator(".ranking tbody button").first.click()
    assert page.evaluate("location.hash") == f"#view=law%20%26%20order&model={law.names[0]}"
    assert it.said == []


def test_both_targets_are_one_switch_and_stand_side_by_side_in_tables(opened):
    scores = drawn([0.9, 0.89, 0.82, 0.3], items=900)
    leaderboard = certify_design(scores, scores.design(target="both", equal_within=0.12, looks=[1, 9]))
    whole = leaderboard.certificate()
    it = opened(render_page(whole))
    page = it.scripted()
    choice = page.get_by_label("About", exact=True)
    assert choice.locator("option").all_inner_texts() == ["these items", "new items"]

    def downloaded(button: str) -> list[dict[str, str]]:
        with page.expect_download() as download:
            page.locator(button).click()
        return list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))

    frame, known = leaderboard.pairs_frame(), {True: "yes", False: "no"}
    models = {row["model"]: row for row in leaderboard.to_frame().iter_rows(named=True)}
    pairs = {(row["model"], row["other"]): row for row in frame.iter_rows(named=True)}
    ranks = {
        row["model"]: f"{row['rank_best_new']}-{row['rank_worst_new']}"
        if row["rank_best_new"] < row["rank_worst_new"]
        else f"{row['rank_best_new']}"
        for row in models.values()
    }
    assert it.cells("also") == [ranks[name] for name in it.cells("model")]
    page.get_by_role("button", name="New items", exact=True).click()
    assert it.cells("also") == sorted(ranks.values(), key=lambda text: (int(text[0]), int(text[-1])))
    page.get_by_role("button", name="Rank", exact=True).click()
    # Names and heads of the differences are not broken inside a word.
    heads = page.locator(".forest th:visible")
    heights = heads.evaluate_all("all => all.map((each) => each.getClientRects()[0].height)")
    assert max(heights) < 40
    for row in downloaded("#download-table"):
        assert [int(row["best_rank_new"]), int(row["worst_rank_new"])] == [
            models[row["model"]][key] for key in ("rank_best_new", "rank_worst_new")
        ]
    rows = downloaded("#download-pairs")
    assert len(rows) == 6
    for row in rows:
        pair = pairs[row["model"], row["other"]]
        for end in ("", "_new"):
            assert row[f"equal{end}"] == known[pair[f"equal{end}"]]
            assert (row[f"result{end}"] == "beats") == pair[f"certified{end}"]
            assert float(row[f"at_least{end}"]) == pair[f"lower{end}"]
            assert float(row[f"at_most{end}"]) == pair[f"upper{end}"]
    assert {row["equal"] for row in rows} == {"yes", "no"}
    # A pair that is about equal says so beside the selected model, in either view.
    a, b = next((row["model"], row["other"]) for row in rows if row["equal"] == row["equal_new"] == "yes")
    for place in ("0", "1"):
        choice.select_option(place)
        page.locator(".ranking tbody button", has_text=a).click()
        line = page.locator("#about li", has_text=b)
        expect(line).to_contain_text("equal within 0.12")
        page.keyboard.press("Escape")
    shows(it, whole.view("new items"))
    assert it.said == []
