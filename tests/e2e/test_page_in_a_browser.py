"""The page as people meet it: opened from disk in a real browser that can reach nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.document import certificate, to_json
from bbedge.core.leaderboard import certify
from bbedge.core.scores import Scores
from bbedge.display.page import render_page
from bbedge.display.page.payload import MOST_PLAIN
from bbedge.display.page.view import MOST_ROWS
from unit.certificate.documents import many, parted, suite

ROOT = Path(__file__).parents[2]
NAMED = "BBEDGE_CHROMIUM"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = [
    "<script>window.hit=1</script>",
    '"><img src=x onerror="window.hit=1">',
    "</script><!--",
    "\u202egnp.exe\u202c",
    "\u05de\u05d5\u05d3\u05dc v2",
    "\U0001f916 bot",
    "x" * 300,
    "{{ 7 * 7 }}",
    "a & b \u2028 c",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = os.environ.get(NAMED) or shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        # A browser that was promised and is not there is a failure, not a reason to skip.
        assert "CI" not in os.environ, "no Chromium; .ci/chromium installs one"
        pytest.skip(f"{NAMED} is not set and no chromium is on the PATH")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


class Opened:
    """A page, what it asked the network for, and what it complained about."""

    def __init__(self, context: BrowserContext, path: Path) -> None:
        self.asked: list[str] = []
        self.said: list[str] = []
        self.page: Page = context.new_page()
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.goto(path.as_uri())

    def scripted(self) -> Page:
        self.page.wait_for_selector("html.scripted", timeout=20_000)
        return self.page

    def cells(self, kind: str) -> list[str]:
        return self.page.locator(f".ranking tbody .{kind}").all_inner_texts()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator:
    contexts = []

    def open_page(html: str, **options: object) -> Opened:
        path = tmp_path / "page.html"
        path.write_text(html, encoding="ascii")
        contexts.append(browser.new_context(offline=True, **{"viewport": {"width": 1280, "height": 900}, **options}))
        return Opened(contexts[-1], path)

    yield open_page
    for context in contexts:
        context.close()


def document_of(scores: Scores, **options: object) -> dict:
    return json.loads(certify(scores, method="bb-edge-x", **options).to_json())


def drawn(means: list[float], names: list[str], *, items: int = 120, replicates: int = 3) -> Scores:
    rng = np.random.default_rng(11)
    values = (rng.random((replicates, len(means), items)) < np.array(means)[None, :, None]).astype(float)
    return Scores.of(values, models=names, items=[f"q{i}" for i in range(items)])


def rank(interval: list[int]) -> str:
    return str(interval[0]) if interval[0] == interval[1] else f"{interval[0]}-{interval[1]}"


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> tuple[dict, str]:
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "bbedge", "certify", ROOT / "demo" / "scores.csv", "--method", "bb-edge-x"]
    subprocess.run(
        [*command, "--json", folder / "c.json", "--html", folder / "c.html"], check=True, capture_output=True
    )
    return json.loads((folder / "c.json").read_text()), (folder / "c.html").read_text(encoding="ascii")


def test_the_table_says_what_the_json_says(opened, demo):
    document, html = demo
    it = opened(html)
    it.scripted()
    models = document["models"]
    assert it.cells("model") == [model["name"] for model in models]
    assert it.cells("rank") == [rank(model["standing_rank_interval"]) for model in models]
    assert it.cells("mean") == [f"{model['mean']:.4f}" for model in models]
    assert it.cells("tier") == [str(model["standing_tier"]) for model in models]
    counts = [[str(model["standing_certified_above"]), str(model["standing_certified_below"])] for model in models]
    assert it.cells("counts") == [text for pair in counts for text in pair]
    sets = {k: names for k, names in document["standing_top_k"].items() if names}
    assert it.page.locator(".sets dt").all_inner_texts() == [f"Top-{k}" for k in sets]
    shown = it.page.locator(".open-pairs tbody tr").count()
    assert shown == len(document["standing_unresolved"]) == len(document["outlook"])
    assert document["design"]["hash"] in it.page.locator(".facts").inner_text()
    assert it.asked == [it.page.url]
    assert it.said == []


def test_a_model_tells_what_it_is_certified_above_and_below(opened, demo):
    document, html = demo
    page = opened(html).scripted()
    names = [model["name"] for model in document["models"]]
    edges = {(edge["winner"], edge["loser"]): edge for edge in document["standing_edges"]}
    page.locator(".ranking button").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    for place, model in enumerate(document["models"]):
        about = page.locator("#about")
        assert about.locator("h3").inner_text() == model["name"]
        lists = {}
        for heading, lines in zip(about.locator("h4").all(), about.locator("ul").all(), strict=True):
            lists[heading.get_attribute("class")] = {
                line.locator("bdi").inner_text(): line.locator("span").inner_text()
                for line in lines.locator("li").all()
            }
        assert len(lists.get("above", {})) == model["standing_certified_above"]
        assert len(lists.get("below", {})) == model["standing_certified_below"]
        open_to = {
            b if a == model["name"] else a for a, b in document["standing_unresolved"] if model["name"] in (a, b)
        }
        assert set(lists.get("open", {})) == open_to
        for other, text in lists.get("above", {}).items():
            log_e = document["log_e"][place][names.index(other)]
            assert f"log\u00a0e\u00a0{log_e:.2f}" in text
            edge = edges.get((model["name"], other))
            assert ("follows from other comparisons" in text) == (edge is None)
            if edge:
                assert f"certified at replicate\u00a0{edge['first_certified']}" in text
                floor = np.floor(edge["margin"] * 1e4) / 1e4
                assert (f"≥ {floor:.4f}" if floor > 0 else "> 0") in text
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    assert page.locator("html.choosing").count() == 0


def test_the_graph_and_the_pointer(opened, demo):
    document, html = demo
    page = opened(html).scripted()
    assert page.locator(".node[tabindex='0']").count() == page.locator(".ranking button[tabindex='0']").count() == 1
    page.locator(".node").first.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert page.locator("#about h3").inner_text() == document["models"][-1]["name"]
    page.keyboard.press("Escape")
    node = page.locator(".node").first
    node.hover()
    assert page.locator("#about h3").inner_text() == document["models"][0]["name"]
    below = document["models"][0]["standing_certified_above"]
    assert page.locator(".ranking tr.is-under").count() == page.locator(".node.is-under").count() == below
    node.click()
    page.mouse.move(2, 2)
    assert page.locator("#about h3").inner_text() == document["models"][0]["name"]
    page.locator("#close").click()
    assert page.locator(".is-under").count() == 0


def test_looking_back_and_taking_the_json_away(opened, demo):
    document, html = demo
    page = opened(html).scripted()
    for number, look in enumerate(document["looks"], start=1):
        page.locator("#look").fill(str(number))
        words = page.locator("#look-words").inner_text()
        assert (
            f"{look['standing_resolved_pairs']} of 15 pairs certified, {look['standing_edges']} direct comparison"
            in words
        )
        assert f"{document['history']['log_thresholds'][number - 1]:.2f}" in words
    ranks = page.locator("#then-ranks .rank").all_inner_texts()
    assert ranks == [rank(model["standing_rank_interval"]) for model in document["models"]]
    with page.expect_download() as download:
        page.locator("#download").click()
    assert json.loads(Path(download.value.path()).read_text()) == document


@pytest.mark.parametrize("shown", ["standing", "current"])
def test_the_last_look_back_is_what_the_table_shows(opened, shown):
    document = document_of(parted(), tau=0.01)
    it = opened(render_page(Certificate.of(document, shown=shown)))
    page = it.scripted()
    prefix = "standing_" if shown == "standing" else ""
    intervals = {model["name"]: rank(model[f"{prefix}rank_interval"]) for model in document["models"]}
    names = it.cells("model")
    assert it.cells("rank") == [intervals[name] for name in names]
    for number, look in enumerate(document["looks"], start=1):
        page.locator("#look").fill(str(number))
        words = page.locator("#look-words").inner_text()
        assert (
            f"{look[f'{prefix}resolved_pairs']} of 10 pairs certified, {look[f'{prefix}edges']} direct comparison"
            in words
        )
        ranks = page.locator("#then-ranks .rank").all_inner_texts()
        if number < len(document["looks"]) and shown == "current":
            assert ranks == []
            assert "does not contain the ranks" in page.locator("#then-ranks").inner_text()
        else:
            assert len(ranks) == 5
    assert ranks == [intervals[name] for name in names]
    page.locator(".ranking button").first.focus()
    page.locator(".ranking button").first.click()
    above = next(model[f"{prefix}certified_above"] for model in document["models"] if model["name"] == names[0])
    assert page.locator(".ranking tr.is-under").count() == above
    assert it.said == []


def test_before_the_first_replicate_nothing_breaks(opened):
    for size in (3, 45):
        names = [f"m{i:02}" for i in range(size)]
        it = opened(render_page(Certificate.of(document_of(drawn([0.5] * size, names, replicates=0)))))
        page = it.scripted()
        assert "Nothing is certified yet" in page.locator("main").inner_text()
        assert page.locator("table.ranking, .matrix, aside").count() == 0
        page.keyboard.press("Escape")
        assert it.said == []


def test_hostile_names_are_only_names(opened):
    document = document_of(drawn(list(np.linspace(0.95, 0.2, len(HOSTILE))), HOSTILE))
    it = opened(render_page(Certificate.of(document), title="<b>bold</b>"))
    page = it.scripted()
    for i in range(len(HOSTILE)):
        page.locator(".ranking tbody tr").nth(i).hover()
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert page.locator("h1").inner_text() == "<b>bold</b>"
    names = [model["name"] for model in document["models"]]
    texts = it.cells("model")
    assert texts[names.index(HOSTILE[0])] == HOSTILE[0]
    assert texts[names.index(HOSTILE[3])] == "\\u202egnp.exe\\u202c"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert it.said == []
    assert it.asked == [page.url]


def test_nothing_else_may_run_on_the_page(opened, demo):
    it = opened(demo[1])
    page = it.scripted()
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.hit = 1'; document.body.append(s);"
        " const i = new Image(); i.src = 'https://example.org/x.png'; document.body.append(i); }"
    )
    assert page.evaluate("window.hit") is None
    page.wait_for_function("document.querySelector('img').complete")
    for directive in ("script-src", "img-src"):
        assert any(directive in text and "Content Security Policy" in text for text in it.said)


def test_many_models_travel_packed_and_arrive_whole(opened):
    size = MOST_PLAIN + 10
    scores = drawn(list(np.linspace(0.9, 0.1, size)), [f"m{i:03}" for i in range(size)], replicates=2)
    document = document_of(scores, tau=0.01)
    html = render_page(Certificate.of(document))
    assert '"packed"' in html
    it = opened(html)
    page = it.scripted()
    assert it.cells("rank") == [rank(model["standing_rank_interval"]) for model in document["models"]]
    assert page.locator(".matrix").count() == 1
    page.locator(".ranking tbody tr").first.hover()
    assert page.locator(".ranking tr.is-under").count() == document["models"][0]["standing_certified_above"]
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
    models = document["models"]
    assert page.locator(".ranking tbody tr:visible").count() == MOST_ROWS
    page.locator("#rest summary").click()
    assert it.cells("model") == [model["name"] for model in models]
    assert it.cells("rank") == [rank(model["standing_rank_interval"]) for model in models]
    assert page.locator(".matrix, .graph, aside").count() == 0
    page.locator(".ranking tbody tr").first.click()
    page.keyboard.press("Escape")
    page.locator("#rest summary").click()
    page.locator("#find").fill(models[-1]["name"])
    assert page.locator(".ranking tbody tr:visible").count() == 1
    assert page.locator("#found").inner_text() == f"1 model of {size}"
    with page.expect_download() as download:
        page.locator("#download").click()
    assert json.loads(Path(download.value.path()).read_text()) == document
    assert it.said == []
    assert it.asked == [page.url]


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


@pytest.mark.parametrize("tau", [0.0, 0.02])
def test_margins_are_the_same_in_the_table_and_beside_it(opened, tau):
    means = [0.97, 0.8, 0.75, 0.4, 0.37, 0.05]
    document = document_of(drawn(means, [f"m{i}" for i in range(6)], items=150, replicates=4), tau=tau)
    it = opened(render_page(Certificate.of(document)))
    page = it.scripted()
    leads = it.cells("next")
    assert sum(lead.startswith(("≥", ">")) for lead in leads) >= 2
    for i, lead in enumerate(leads[:-1]):
        page.locator(".ranking tbody tr").nth(i).hover()
        following = it.cells("model")[i + 1]
        line = page.locator("#about li", has=page.get_by_text(following, exact=True)).inner_text()
        assert (f"better by {lead} " in line) == (lead != "open")


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_shows_it_without_sideways_scrolling(opened, demo, width):
    it = opened(demo[1], viewport={"width": width, "height": 800}, is_mobile=True, has_touch=True)
    page = it.scripted()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    row = page.locator(".ranking tbody tr").nth(3)
    row.locator("button").tap()
    panel, place = page.locator("#detail").bounding_box(), row.bounding_box()
    assert place["y"] + place["height"] <= panel["y"]
    page.locator("#close").tap()
    assert not page.locator("#detail").is_visible()


def test_without_scripts_the_findings_are_there(opened, demo):
    document, html = demo
    it = opened(html, java_script_enabled=False)
    assert it.cells("rank") == [rank(model["standing_rank_interval"]) for model in document["models"]]
    assert it.page.locator(".node").count() == 6
    assert it.page.locator(".open-pairs tbody tr").count() == len(document["standing_unresolved"]) > 0
    assert not it.page.locator("#download").is_visible()
    assert "How to read this" in it.page.locator("body").inner_text()


NAMES = ("code", "law & order", HOSTILE[0], HOSTILE[3])


def shows(it: Opened, view: Certificate) -> None:
    """Wait for the ranks of a view: the browser reports a new address to the page a little later."""
    ranks = [rank(list(interval)) for interval in view.ranks.rank_intervals]
    expect(it.page.locator(".ranking tbody .rank")).to_have_text(ranks)


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
