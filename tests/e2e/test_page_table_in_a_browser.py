"""The table of a page in a browser: sorted, filtered, paged, linked to, and taken away."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.document import certificate, to_json
from bbedge.core.checkpoints import Checkpoints
from bbedge.core.leaderboard import Certifier, certify
from bbedge.core.scores import Scores
from bbedge.display.page import render_page
from bbedge.display.page.payload import MOST_PLAIN
from bbedge.display.page.table import MOST_ROWS, ModelInfo
from bbedge.display.ranking import ordinal
from e2e.browsing import HOSTILE, document_of, drawn, in_order, rank
from unit.board.first_runs import ITEMS, MODELS
from unit.board.first_runs import drawn as values_inside
from unit.certificate.documents import many
from unit.display.test_means_over_some_items import made as partial_certificate

pytestmark = pytest.mark.nightly


def test_every_column_sorts_both_ways_and_says_so(opened):
    means = [0.9, 0.2, 0.6, 0.55, 0.58, 0.1]
    names = ["echo", "Alpha", "delta", "bravo", "Charlie", "foxtrot"]
    document = document_of(drawn(means, names))
    it = opened(render_page(Certificate.of(document), model_info=INFO))
    page = it.scripted()
    models = in_order(document)
    usual = [model["name"] for model in models]
    assert it.cells("model") == usual
    assert page.locator("th[aria-sort]").inner_text().startswith("Rank")

    def order(key, *, reverse: bool) -> list[str]:
        known = [model for model in models if key(model) is not None]
        unknown = [model for model in models if key(model) is None]
        return [each["name"] for each in (*sorted(known, key=key, reverse=reverse), *unknown)]

    def stable(key) -> list[str]:
        return [each["name"] for each in sorted(models, key=lambda model: -key(model))]

    prices = {"echo": 1.0, "Alpha": 1000.0, "bravo": 20.0}
    for label, key, first in (
        ("Model", lambda model: model["name"].lower(), "ascending"),
        ("Mean", lambda model: model["mean"], "descending"),
        ("Beats", lambda model: model["certified_above"], "descending"),
        ("price", lambda model: prices.get(model["name"]), "ascending"),
    ):
        head = page.locator("#ranking").get_by_role("columnheader", name=label, exact=True)
        head.get_by_role("button").focus()
        for way in (first, {"ascending": "descending", "descending": "ascending"}[first]):
            page.keyboard.press("Enter")
            assert head.get_attribute("aria-sort") == way
            assert page.locator("th[aria-sort]").count() == 1
            expected = order(key, reverse=way == "descending")
            if label == "Beats" and way == "descending":
                expected = stable(key)
            assert it.cells("model") == expected, (label, way)
    for label in ("Could be", "Rank"):
        page.locator("#ranking").get_by_role("columnheader", name=label, exact=True).get_by_role("button").click()
        assert it.cells("model") == usual
    page.locator("#ranking").get_by_role("columnheader", name="Possible ranks").get_by_role("button").click()
    assert it.cells("model") == [m["name"] for m in sorted(models, key=lambda m: m["rank_interval"][1])]
    # What is selected after sorting is the model of that row.
    page.locator("#ranking").get_by_role("columnheader", name="Model", exact=True).get_by_role("button").click()
    page.locator(".ranking tbody tr").first.click()
    assert page.locator("#about h3").inner_text() == "Alpha"
    page.locator(".ranking tbody button").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == "bravo"
    assert it.said == []


INFO = ModelInfo.from_rows(
    ["maker", "link", "price", "note"],
    {
        "echo": ["Us", "https://example.org/e", "$1", HOSTILE[0]],
        "Alpha": ["Them", "https://example.org/a", "1,000", "=1+1"],
        "bravo": ["Us", "", "20", ""],
        "delta": ["Them", "", "", ""],
    },
)


def test_filters_by_text_and_by_what_is_known(opened):
    means = [0.9, 0.2, 0.6, 0.55, 0.58, 0.1]
    names = ["echo", "Alpha", "delta", "bravo", "Charlie", "foxtrot"]
    it = opened(render_page(Certificate.of(document_of(drawn(means, names))), model_info=INFO))
    page = it.scripted()
    page.get_by_label("maker").select_option("Us")
    assert set(it.cells("model")) == {"echo", "bravo"}
    assert page.locator("#found").inner_text() == "2 models of 6"
    page.get_by_label("Find a model").fill("BRA")
    assert it.cells("model") == ["bravo"]
    page.get_by_label("maker").select_option("all")
    page.get_by_label("Find a model").fill("them")
    assert set(it.cells("model")) == {"Alpha", "delta"}
    page.get_by_label("Find a model").fill("nothing like it")
    assert it.cells("model") == []
    page.get_by_label("Find a model").fill("")
    assert len(it.cells("model")) == 6
    link = page.locator(".ranking a").first
    assert link.get_attribute("rel") == "noopener noreferrer nofollow"
    assert page.locator(".cost .point").count() == 3
    assert page.evaluate("window.hit") is None
    assert it.said == []


def test_a_link_leads_to_a_model_and_the_way_back_works(opened):
    names = ["a & b", "c#d", HOSTILE[1], "plain"]
    document = document_of(drawn([0.9, 0.7, 0.5, 0.2], names))
    it = opened(render_page(Certificate.of(document)), viewport={"width": 1280, "height": 400})
    page = it.scripted()
    for name in names:
        page.goto(f"{page.url.split('#')[0]}#model={quote(name, safe='')}")
        expect(page.locator("#about h3")).to_have_text(name)
        row = page.locator("tr.is-chosen")
        expect(row).to_have_count(1)
        expect(row).to_be_in_viewport()
        assert row.locator("button:not(.pin)").get_attribute("aria-pressed") == "true"
    page.go_back()
    expect(page.locator("#about h3")).to_have_text(names[-2])
    page.reload()
    it.scripted()
    expect(page.locator("#about h3")).to_have_text(names[-2])
    page.locator(".ranking tbody button").first.click()
    assert page.evaluate("location.hash") == "#model=a%20%26%20b"
    page.keyboard.press("Escape")
    assert page.evaluate("location.hash") == ""
    assert page.locator("html.kept").count() == 0
    page.go_back()
    expect(page.locator("#about h3")).to_have_text("a & b")
    page.goto(f"{page.url.split('#')[0]}#model=nobody")
    assert page.locator("html.scripted").count() == 1
    assert page.evaluate("window.hit") is None
    assert it.said == []


def downloaded(page: Page, selector: str) -> list[dict]:
    with page.expect_download() as download:
        page.locator(selector).click()
    with Path(download.value.path()).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def test_the_table_and_the_pairs_can_be_taken_away_as_csv(opened):
    names = ["=1+1", '"quoted", name', "two\nlines", "@x", "plain"]
    document = document_of(drawn([0.9, 0.7, 0.5, 0.48, 0.2], names))
    certificate_shown = Certificate.of(document)
    info = ModelInfo.from_rows(["note", "price"], {"plain": ["-2+3", "$3"]})
    it = opened(render_page(certificate_shown, model_info=info))
    page = it.scripted()
    page.get_by_role("columnheader", name="Mean").get_by_role("button").click()
    safe = {"=1+1": "'=1+1", "@x": "'@x"}
    table = downloaded(page, "#download-table")
    assert [row["model"] for row in table] == [safe.get(name, name) for name in certificate_shown.names]
    for row, mean, (best, worst) in zip(
        table, certificate_shown.means, certificate_shown.ranks.rank_intervals, strict=True
    ):
        assert float(row["mean"]) == mean
        assert (int(row["best_rank"]), int(row["worst_rank"])) == (best, worst)
    plain = next(row for row in table if row["model"] == "plain")
    assert (plain["note"], plain["price"]) == ("'-2+3", "3")
    pairs = downloaded(page, "#download-pairs")
    assert len(pairs) == 10
    place = {safe.get(name, name): i for i, name in enumerate(certificate_shown.names)}
    for row in pairs:
        a, b = place[row["model"]], place[row["other"]]
        above = certificate_shown.graph.above
        assert row["result"] == ("beats" if above[a, b] else "loses to" if above[b, a] else "open")
        assert float(row["at_least"]) == certificate_shown.margins[a, b]
        assert float(row["at_most"]) == -certificate_shown.margins[b, a]
    assert {row["result"] for row in pairs} > {"open"}
    assert it.said == []


def test_a_mean_over_some_items_says_so_and_is_compared_with_no_other(opened):
    shown = partial_certificate()
    it = opened(render_page(Certificate.of(json.loads(shown.to_json()))))
    page = it.scripted()
    row = page.locator("tr", has=page.get_by_role("button", name="short", exact=True))
    expect(row.locator(".mean")).to_have_text("1.0000 10 of 60 items")
    expect(row.locator(".behind .value")).to_have_text("-")
    head = page.get_by_role("columnheader", name="Mean").get_by_role("button")
    for _ in range(2):  # both ways
        head.click()
        assert it.cells("model")[-1] == "short"
    page.get_by_role("button", name="short", exact=True).click()
    expect(page.locator("#about")).to_contain_text("mean 1.0000 (10 of 60 items)")
    table = {row["model"]: row for row in downloaded(page, "#download-table")}
    assert [table[name]["mean_items"] for name in ("full a", "full b", "short")] == ["60", "60", "10"]
    assert table["short"]["difference_to_leader"] == ""
    pairs = downloaded(page, "#download-pairs")
    assert all((row["difference"] == "") == ("short" in (row["model"], row["other"])) for row in pairs)
    assert it.said == []


@pytest.mark.parametrize("size", [60, 300])
def test_bars_are_readable_on_a_phone(opened, size):
    certificate_shown = Certificate.of(certificate(many(size)))
    page = opened(render_page(certificate_shown), viewport={"width": 390, "height": 844}, is_mobile=True).scripted()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".scale").is_visible()
    for i in (0, size // 2, size - 1):
        row = page.locator(".ranking tbody tr").nth(i)
        bar, whole = row.locator(".bar svg").bounding_box(), row.bounding_box()
        assert bar["width"] > 0.85 * whole["width"]
        assert bar["y"] >= row.locator(".model").bounding_box()["y"] + 10
        assert row.locator(".span").bounding_box()["width"] >= 2


@pytest.mark.parametrize("width", [390, 700, 820, 1200, 1440])
def test_long_names_and_both_answers_fit_every_width(opened, width):
    names = [f"organisation-{i}__a-model-of-some-length" for i in range(13)]
    scores = drawn(list(np.linspace(0.9, 0.2, 13)), names)
    page = opened(
        render_page(Certificate.made(certify(scores, target="both"))), viewport={"width": width, "height": 900}
    ).scripted()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("(([it]) => it.scrollWidth - it.clientWidth)(document.getElementsByClassName('sheet'))") <= 1
    whole = page.locator(".ranking tbody tr").first.bounding_box()["width"]
    bar = page.locator(".ranking tbody .bar svg").first.bounding_box()["width"]
    assert bar > (0.85 * whole if width == 390 else 70)
    # Names of a forest have three lines at most, and every interval is drawn in some length; on paper as well.
    for medium in ("screen", "print") if width >= 700 else ("screen",):
        page.emulate_media(media=medium)
        assert page.locator(".forest tbody th").first.bounding_box()["height"] < 80
        assert page.locator(".forest tbody .plot").first.bounding_box()["width"] > 120
    page.emulate_media(media="print")
    assert not page.locator("#comparing").is_visible()  # of models that nobody chose


def test_names_are_not_broken_inside_words(opened):
    names = [f"organisation-number-{i}__a-model-of-some-length" for i in range(13)]
    document = document_of(drawn(list(np.linspace(0.9, 0.2, 13)), names))
    page = opened(render_page(Certificate.of(document)), viewport={"width": 1200, "height": 900}).scripted()
    # The letter before every line break of a name.
    ends = page.evaluate(
        """() => [...document.querySelectorAll('.ranking tbody bdi')].flatMap((name) => {
          const text = name.firstChild, range = document.createRange(), found = [];
          const top = (i) => {
            range.setStart(text, i);
            range.setEnd(text, i + 1);
            return range.getBoundingClientRect().top;
          };
          for (let i = 1; i < text.length; i++) if (top(i) > top(i - 1) + 4) found.push(text.data[i - 1]);
          return found;
        })"""
    )
    assert set(ends) <= {"-"}
    assert len(ends) <= 13  # two lines a name at most
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200


def test_many_models_travel_packed_and_arrive_whole(opened):
    size = MOST_PLAIN + 10
    scores = drawn(list(np.linspace(0.9, 0.1, size)), [f"m{i:03}" for i in range(size)], replicates=2)
    document = document_of(scores, tau=0.01)
    html = render_page(Certificate.of(document))
    assert '"packed"' in html
    it = opened(html)
    page = it.scripted()
    assert it.cells("rank") == [rank(model["rank_interval"]) for model in in_order(document)]
    assert page.locator(".matrix").count() == 1
    page.locator(".ranking tbody tr").first.hover()
    assert page.locator(".ranking tr.is-under").count() == in_order(document)[0]["certified_above"]
    page.locator("#find").fill("m00")
    assert page.locator(".ranking tbody tr:visible").count() == 10
    with page.expect_download() as download:
        page.locator("#download").click()
    assert json.loads(Path(download.value.path()).read_text()) == document


def test_very_many_models_are_a_table_that_can_be_searched(opened):
    size = MOST_ROWS + 50
    document = json.loads(to_json(certificate(many(size), most_models=2)))
    it = opened(render_page(Certificate.of(document)))
    page = it.scripted()
    models = in_order(document)
    names = [model["name"] for model in models]
    assert it.cells("model") == names[:MOST_ROWS]
    page.get_by_role("button", name=f"Next {MOST_ROWS}").click()
    assert page.locator("#shown").inner_text() == f"{MOST_ROWS + 1} to {size} of {size}"
    assert it.cells("model") == names[MOST_ROWS:]
    assert it.cells("rank") == [rank(model["rank_interval"]) for model in models[MOST_ROWS:]]
    assert it.cells("mean .value") == [f"{model['mean']:.4f}" for model in models[MOST_ROWS:]]
    assert page.locator(".matrix, .graph, aside").count() == 0
    page.locator(".ranking tbody tr").first.click()
    page.keyboard.press("Escape")
    page.locator("#find").fill(names[-1])
    assert page.locator(".ranking tbody tr:visible").count() == 1
    assert page.locator("#found").inner_text() == f"1 model of {size}"
    with page.expect_download() as download:
        page.locator("#download").click()
    assert json.loads(Path(download.value.path()).read_text()) == document
    assert it.said == []
    assert it.asked == [page.url.split("#")[0]]


def test_five_thousand_models_are_paged_sorted_found_and_printed(opened):
    document = json.loads(to_json(certificate(many(5_000))))
    makers = {f"m{i:04}": [f"maker {i % 7}", f"https://example.org/{i}"] for i in range(5_000)}
    info = ModelInfo.from_rows(["maker", "link"], makers)
    it = opened(render_page(Certificate.of(document), model_info=info))
    page = it.scripted()
    assert page.locator(".ranking tbody tr").count() == MOST_ROWS
    models = {model["name"]: model for model in document["models"]}
    page.get_by_role("button", name="Loses to").click()
    page.get_by_role("button", name="Loses to").click()
    most = sorted((model["certified_below"] for model in models.values()), reverse=True)[:MOST_ROWS]
    shown = it.cells("model")
    assert [models[name]["certified_below"] for name in shown] == most
    assert it.cells("rank") == [rank(models[name]["rank_interval"]) for name in shown]
    assert it.cells("group") == [ordinal(models[name]["rank_interval"][0]) for name in shown]
    assert it.cells("info.text") == [makers[name][0] for name in shown]
    links = page.locator(".ranking tbody a").evaluate_all("found => found.map((each) => each.href)")
    assert links == [makers[name][1] for name in shown]
    page.get_by_label("maker").select_option("maker 3")
    assert page.locator("#found").inner_text() == "714 models of 5,000"
    assert set(it.cells("info.text")) == {"maker 3"}
    page.get_by_label("maker").select_option("all")
    last = document["models"][-1]["name"]
    page.goto(f"{page.url.split('#')[0]}#model={last}")
    expect(page.locator("tr.is-chosen .model")).to_have_text(last)
    expect(page.locator("tr.is-chosen")).to_be_in_viewport()
    page.locator("#find").fill("m49")
    assert page.locator("#found").inner_text() == "100 models of 5,000"
    page.locator("#find").fill("")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".ranking tbody tr").count() == 5_000
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".ranking tbody tr").count() == MOST_ROWS
    assert it.said == []


def test_heads_are_no_buttons_on_paper(opened):
    """Chromium repeats the heads of a table on every sheet, but not the buttons in them."""
    page = opened(render_page(Certificate.of(certificate(many(60))))).scripted()
    head = page.locator(".ranking thead .sorter")
    display = "found => found.map((each) => getComputedStyle(each).display)"
    assert "contents" not in head.evaluate_all(display)
    page.emulate_media(media="print")
    assert set(head.evaluate_all(display)) == {"contents"}


@pytest.mark.parametrize("width", [320, 390])
def test_very_many_models_fit_a_phone(opened, width):
    document = json.loads(to_json(certificate(many(120), most_models=2)))
    page = opened(render_page(Certificate.of(document)), viewport={"width": width, "height": 800}).scripted()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    row = page.locator(".ranking tbody tr").nth(50)
    left, right = row.locator(".rank").bounding_box(), row.locator(".model").bounding_box()
    assert left["x"] + left["width"] <= right["x"]


def test_very_many_models_without_scripts(opened):
    size = MOST_ROWS + 5
    it = opened(render_page(Certificate.of(certificate(many(size), most_models=2))), java_script_enabled=False)
    it.page.locator("#rest summary").click()
    assert len(it.cells("rank")) == size
    assert it.page.locator(".ranking tbody tr:visible").count() == size


@pytest.mark.parametrize("width", [1024, 1130, 1200])
def test_long_names_leave_room_for_the_other_columns(opened, width):
    names = ["a-very-long-model-name-with-many-parts-2026-11-16", "x" * 60, *(f"model-{i}" for i in range(6))]
    html = render_page(Certificate.of(document_of(drawn([0.95, 0.85, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2], names))))
    page = opened(html, viewport={"width": width, "height": 900}).scripted()
    assert (
        page.evaluate(
            "(() => { const it = document.querySelector('.sheet'); return it.scrollWidth - it.clientWidth })()"
        )
        <= 0
    )


@pytest.mark.parametrize("width", [320, 390, 700, 1200])
def test_no_name_in_the_answer_breaks_at_a_hyphen(opened, width):
    names = [f"model-{i:03d}" for i in range(9)]
    html = render_page(Certificate.of(document_of(drawn([0.9] * 8 + [0.1], names))))
    page = opened(html, viewport={"width": width, "height": 900}).scripted()
    words = page.locator(".contenders .unbroken")
    assert words.count() == 8
    assert {box["height"] for box in (words.nth(i).bounding_box() for i in range(8))} == {
        words.first.bounding_box()["height"]
    }
    lines = page.evaluate("[...document.querySelectorAll('.unbroken')].map((it) => it.getClientRects().length)")
    assert set(lines) == {1}
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_pairs_of_a_run_that_is_not_complete_have_no_difference_of_means(opened):
    panel = np.stack(list(values_inside(1).values()))
    design = Scores.of([panel], models=MODELS, items=ITEMS).design(checkpoints=Checkpoints(order_seed=5))
    certifier = Certifier(design)
    certifier.update(panel[:, [ITEMS.index(item) for item in certifier.next_items]], certifier.next_checkpoint.blocks)
    page = opened(render_page(Certificate.made(certifier.leaderboard()))).scripted()
    assert {row["difference"] for row in downloaded(page, "#download-pairs")} == {""}
    assert {row["mean"] for row in downloaded(page, "#download-table")} == {""}
