"""The parts of the page as people meet them, in a real browser that can reach nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from bbedge.board import Board, BoardDesign
from bbedge.certificate.certificate import Certificate
from bbedge.core.scores import Scores
from bbedge.display.page import render_page
from e2e.browsing import HOSTILE, document_of, drawn, rank
from unit.certificate.documents import parted

pytestmark = pytest.mark.nightly


def test_a_model_tells_what_it_is_certified_above_and_below(opened, demo):
    document, html = demo
    page = opened(html).scripted()
    names = [model["name"] for model in document["models"]]
    edges = {(edge["winner"], edge["loser"]): edge for edge in document["edges"]}
    page.locator(".ranking tbody button").first.focus()
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
        assert len(lists.get("above", {})) == model["certified_above"]
        assert len(lists.get("below", {})) == model["certified_below"]
        open_to = {b if a == model["name"] else a for a, b in document["unresolved"] if model["name"] in (a, b)}
        assert set(lists.get("open", {})) == open_to
        for other, text in lists.get("above", {}).items():
            log_e = document["log_e"][place][names.index(other)]
            assert f"log\u00a0e\u00a0{log_e:.2f}" in text
            edge = edges.get((model["name"], other))
            assert ("follows from other comparisons" in text) == (edge is None)
            if edge:
                assert f"certified at run\u00a0{edge['first_certified']}" in text
                floor = np.floor(edge["margin"] * 1e4) / 1e4
                assert (f"≥ {floor:.4f}" if floor > 0 else "> 0") in text
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    assert page.locator("html.choosing").count() == 0


def test_what_came_with_a_new_model_says_on_which_runs_it_is_certified(opened, tmp_path):
    names, scores = ["a", "b", "c", "late"], drawn([0.95, 0.7, 0.3, 0.5], ["a", "b", "c", "late"], replicates=3)
    part = lambda models, runs: Scores.of(  # noqa: E731
        scores.values[runs][:, [names.index(model) for model in models]], models=models, items=scores.items
    )
    with Board.create(tmp_path / "b.bbedge", BoardDesign(), models=names[:3], items=scores.items) as board:
        board.add(part(names[:3], slice(0, 2)))
        board.add_model("late", part(["late"], slice(0, 2)))
        board.add(part(names, slice(2, 3)))
        made = board.certificate()
    page = opened(made.to_html()).scripted()
    said = set()
    for edge in made.content.edges:
        page.locator(".ranking tbody button:not(.pin)", has_text=edge.winner).first.click()
        line = page.locator("#about h4.above + ul li", has=page.locator("bdi", has_text=edge.loser))
        run, came = edge.first_certified, "late" in (edge.winner, edge.loser) and edge.first_certified <= 2
        joined = f"certified when late was added, on run{'s 1 to' if run > 1 else ''}\u00a0{run} of both"
        assert (joined if came else f"certified at run\u00a0{run}") in line.inner_text()
        said.add(came)
        page.keyboard.press("Escape")
    assert said == {True, False}


def test_a_triangle_that_points_up_is_in_favour_of_the_selected_or_first_model(opened, demo):
    document, html = demo
    page = opened(html).scripted()
    winner, loser = document["edges"][0]["winner"], document["edges"][0]["loser"]
    for chosen, other, sign in ((winner, loser, "\u25b2"), (loser, winner, "\u25bc")):
        page.goto(f"{page.url.split('#')[0]}#model={chosen}&compare={chosen},{other}")
        kind = "above" if chosen == winner else "below"
        assert page.locator(f"#about h4.{kind}").inner_text().startswith(sign)
        row = page.locator(".ranking tbody tr", has=page.locator("th bdi", has_text=re.compile(f"^{other}$")))
        assert row.locator(".sign").inner_text() == sign
        mark = page.locator("#compare-pairs .result").first
        assert sign in mark.evaluate("element => getComputedStyle(element, '::before').content")


def test_the_graph_and_the_pointer(opened, demo):
    document, html = demo
    page = opened(html).scripted()
    page.get_by_role("button", name="Graph", exact=True).click()
    assert page.locator(".matrix").is_hidden()
    assert (
        page.locator(".node[tabindex='0']").count()
        == page.locator(".ranking tbody button:not(.pin)[tabindex='0']").count()
        == 1
    )
    page.locator(".node").first.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert page.locator("#about h3").inner_text() == document["models"][-1]["name"]
    page.keyboard.press("Escape")
    node = page.locator(".node").first
    node.hover()
    assert page.locator("#about h3").inner_text() == document["models"][0]["name"]
    below = document["models"][0]["certified_above"]
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
        assert f"{look['resolved_pairs']} of 15 pairs certified, {look['edges']} direct comparison" in words
        assert f"{document['history']['log_thresholds'][number - 1]:.2f}" in words
    ranks = page.locator("#then-ranks .rank").all_inner_texts()
    assert ranks == [rank(model["rank_interval"]) for model in document["models"]]
    with page.expect_download() as download:
        page.locator("#download").click()
    assert json.loads(Path(download.value.path()).read_text()) == document


@pytest.mark.parametrize("shown", ["all", "current"])
def test_the_last_look_back_is_everything_certified(opened, shown):
    document = document_of(parted(), tau=0.01)
    certificate = Certificate.of(document, shown=shown)
    it = opened(render_page(certificate))
    page = it.scripted()
    names = it.cells("model")
    assert names == list(certificate.names)
    assert it.cells("rank") == list(map(rank, certificate.ranks.rank_intervals))
    for number, look in enumerate(document["looks"], start=1):
        page.locator("#look").fill(str(number))
        words = page.locator("#look-words").inner_text()
        assert f"{look['resolved_pairs']} of 10 pairs certified, {look['edges']} direct comparison" in words
        ranks = page.locator("#then-ranks .rank").all_inner_texts()
        assert len(ranks) == 5
    intervals = {model["name"]: rank(model["rank_interval"]) for model in document["models"]}
    assert ranks == [intervals[name] for name in names]
    page.locator(".ranking tbody button").first.focus()
    page.locator(".ranking tbody button").first.click()
    assert page.locator(".ranking tr.is-under").count() == certificate.ranks.n_worse[0]
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


@pytest.mark.parametrize("tau", [0.0, 0.02])
def test_margins_are_the_same_in_the_table_and_beside_it(opened, tau):
    means = [0.97, 0.8, 0.75, 0.4, 0.37, 0.05]
    document = document_of(drawn(means, [f"m{i}" for i in range(6)], items=150, replicates=4), tau=tau)
    it = opened(render_page(Certificate.of(document)))
    page = it.scripted()
    leader = it.cells("model")[0]
    intervals = [text.split("\n")[-1] for text in it.cells("behind")]
    certified = 0
    for i in range(1, 6):
        page.locator(".ranking tbody tr").nth(i).hover()
        line = page.locator("#about li", has=page.get_by_text(leader, exact=True)).inner_text()
        high = float(intervals[i].split(" to ")[1])
        if "better by" in line:
            assert float(line.split("better by ")[1].split(" ")[1]) == pytest.approx(-high)
            certified += 1
        else:
            assert f"to {high:+.4f}" in line
    assert certified >= 2


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_shows_it_without_sideways_scrolling(opened, demo, width):
    it = opened(demo[1], viewport={"width": width, "height": 800}, is_mobile=True, has_touch=True)
    page = it.scripted()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    row = page.locator(".ranking tbody tr").nth(3)
    row.locator("button:not(.pin)").tap()
    panel, place = page.locator("#detail").bounding_box(), row.bounding_box()
    assert place["y"] + place["height"] <= panel["y"]
    page.locator("#close").tap()
    assert not page.locator("#detail").is_visible()


def test_without_scripts_the_findings_are_there(opened, demo):
    document, html = demo
    it = opened(html, java_script_enabled=False)
    assert it.cells("rank") == [rank(model["rank_interval"]) for model in document["models"]]
    assert it.page.locator(".node").count() == 6
    assert it.page.locator(".matrix").is_visible()
    assert it.page.locator(".open-pairs tbody tr").count() == len(document["unresolved"]) > 0
    assert not it.page.locator("#download").is_visible()
    assert "How to read this" in it.page.locator("body").inner_text()
