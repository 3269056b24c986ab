"""Models side by side on a page in a browser: every number is in the certificate, with a mouse and with a keyboard."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import bbedge
from bbedge.certificate.certificate import Certificate
from bbedge.core.scores import Scores
from bbedge.core.views import suite_options
from bbedge.display.page import render_page
from bbedge.display.page.drawing import view_names
from bbedge.display.page.payload import ItemScores
from bbedge.display.ranking import difference_interval, observed_difference
from e2e.browsing import HOSTILE, drawn
from unit.certificate.documents import circular, suite

pytestmark = pytest.mark.nightly


def compared(page: Page) -> dict[tuple[str, str], list[tuple[str, str, str, str]]]:
    """The rows of every pair: view, result, difference of the means, interval."""
    found = {}
    for block in page.locator(".one-pair").all():
        pair = tuple(block.locator("h3 bdi").all_inner_texts())
        rows = [
            (
                row.locator("th").inner_text().removesuffix(result := row.locator(".result").inner_text()).strip(),
                result,
                row.locator(".value").inner_text(),
                row.locator(".interval").inner_text(),
            )
            for row in block.locator("tbody tr").all()
        ]
        found[pair] = rows
    return found


def expected(whole: Certificate, first: str, second: str) -> list[tuple[str, str, str, str]]:
    """The same from the certificate."""
    views, rows = (whole, *whole.views), []
    names = view_names(whole) if len(views) > 1 else [""]
    for name, view in zip(names, views, strict=True):
        a, b = view.names.index(first), view.names.index(second)
        result = "beats" if view.graph.above[a, b] else "loses to" if view.graph.above[b, a] else "open"
        interval = difference_interval(view, a, b) if view.content.looks else "no look yet"
        rows.append((name, result, observed_difference(view, a, b), interval))
    return rows


def check_all_pairs(page: Page, whole: Certificate, least: int) -> None:
    """Compare every two models, four at a time, by the address, and check every number."""
    labels, seen = dict(zip(whole.names, whole.labels, strict=True)), 0
    names = list(whole.names)
    for start in range(0, len(names) - 1):
        four = [names[start], *names[start + 1 :][:3]]
        page.evaluate("names => { location.hash = `compare=${names.map(encodeURIComponent).join(',')}`; }", four)
        expect(page.locator("#compare-words")).to_contain_text(f"{len(four) * (len(four) - 1) // 2} pair")
        expect(page.locator("#compare-1")).to_have_value(f"={four[0]}")
        shown = compared(page)
        for i, first in enumerate(four):
            for second in four[i + 1 :]:
                assert shown[labels[first], labels[second]] == expected(whole, first, second)
                seen += 1
    assert seen >= least


def suite_of_both(tau: float = 0.0) -> Certificate:
    rng = np.random.default_rng(3)
    means = np.array([0.86, 0.8, 0.72, 0.7, 0.4])
    values = (rng.random((4, 5, 160)) < means[None, :, None]).astype(float)
    names = ["aster", "birch, the second", "cedar & co", HOSTILE[0], "fir"]
    scores = Scores.of(values, models=names, items=[f"q{i}" for i in range(160)])
    scores = replace(scores, columns={"topic": tuple("abcd"[i % 4] for i in range(160))})
    options = suite_options(scores, macro="topic", views="topic")
    return Certificate.made(bbedge.certify(scores, target="both", tau=tau, **options))


def test_every_number_is_that_of_the_certificate(opened):
    whole = suite_of_both()
    it = opened(render_page(whole))
    check_all_pairs(it.scripted(), whole, 9)
    assert it.page.evaluate("window.hit") is None
    assert it.said == it.asked[1:] == []


@pytest.mark.parametrize("options", [{"tau": 0.02}, {"equal_within": 0.3}, {"score_range": (0.0, 10.0)}])
def test_options_do_not_change_that(opened, options):
    scores = drawn([0.97, 0.9, 0.6, 0.55, 0.1, 0.08], ["a", "b", "c", "d", "e", "f"], items=160)
    if "score_range" in options:
        scores, options = replace(scores, score_range=options["score_range"]), {}
    whole = Certificate.made(bbedge.certify(scores, **options))
    check_all_pairs(opened(render_page(whole)).scripted(), whole, 12)


def test_contradictions_are_said(opened):
    whole = Certificate.made(circular())
    it = opened(render_page(whole))
    check_all_pairs(it.scripted(), whole, 3)
    it.page.evaluate("names => { location.hash = `compare=${names}`; }", list(whole.names[:3]))
    expect(it.page.locator("#compare-pairs")).to_contain_text("contradiction")


def test_the_last_look_has_its_own_results(opened):
    scores = drawn([0.7, 0.62, 0.5, 0.45], ["a", "b", "c", "d"], items=160, replicates=6)
    whole = Certificate.made(bbedge.certify(scores, method="bb-edge", tau=0.02), shown="current")
    check_all_pairs(opened(render_page(whole)).scripted(), whole, 6)


def test_models_are_pinned_in_rows_and_details_and_the_address_says_which(opened):
    whole = suite_of_both()
    page = opened(render_page(whole)).scripted()
    pins, names = page.locator(".pin"), list(whole.names)
    # At first, the leader and the next; nothing is pinned.
    assert list(compared(page)) == [tuple(whole.labels[:2])]
    assert page.locator(".pin[aria-pressed='true']").count() == 0
    pins.nth(3).click()
    expect(page.locator("#compare-words")).to_have_text("Choose another model to compare.")
    assert page.locator("html.kept").count() == 0  # the row was not selected with it
    pins.nth(1).click()
    assert list(compared(page)) == [(whole.labels[3], whole.labels[1])]
    quoted = page.evaluate("names => names.map(encodeURIComponent).join(',')", [names[3], names[1]])
    assert page.evaluate("location.hash") == f"#compare={quoted}"
    for place in (0, 2):
        pins.nth(place).click()
    pins.nth(4).click()
    expect(page.locator("#compare-words")).to_contain_text("take one out first")
    assert len(compared(page)) == 6
    page.go_back()
    expect(page.locator(".one-pair")).to_have_count(3)
    page.reload()
    page.wait_for_selector("html.scripted")
    expect(page.locator(".one-pair")).to_have_count(3)
    # Another view keeps them.
    page.get_by_label("About", exact=True).select_option("1")
    expect(page.locator(".one-pair")).to_have_count(3)
    assert page.locator(".pin[aria-pressed='true']").count() == 3
    # From the details of a model.
    page.locator(".ranking tbody tr").nth(2).locator("button").first.click()
    other = page.locator("#about li").first
    label = other.locator("bdi").inner_text()
    other.get_by_role("button", name="Compare").click()
    model = page.locator("#about h3").inner_text()
    assert list(compared(page)) == [(model, label)]
    expect(page.locator("#compare")).to_be_focused()


def test_a_keyboard_is_enough(opened, demo):
    _, html = demo
    page = opened(html).scripted()
    page.locator(".ranking tbody button").first.focus()
    for key in ("Tab", "Enter", "Shift+Tab", "ArrowDown", "ArrowDown", "Tab", "Space"):
        page.keyboard.press(key)
    rows = page.locator(".ranking tbody .model bdi").all_inner_texts()
    assert list(compared(page)) == [(rows[0], rows[2])]
    assert page.locator(".pin[tabindex='0']").count() == 1
    page.get_by_label("Model 3").focus()
    page.keyboard.type(rows[1])
    expect(page.locator(".one-pair")).to_have_count(3)


def test_the_items_on_which_models_differ(opened):
    views = ("code", "math")
    board = suite(views, models=4, items=30)
    rng = np.random.default_rng(8)
    values = (rng.random((4, 4, 60)) < np.array([0.9, 0.7, 0.4, 0.2])[None, :, None]).astype(float)
    scores = Scores.of(values, models=board.design.models, items=[*(f"item {i}" for i in range(59)), HOSTILE[0]])
    whole = Certificate.made(board)
    weights = {"": None, "code": [1.0] * 30 + [0.0] * 30, "math": [0.0] * 30 + [1.0] * 30}
    items = replace(
        ItemScores.from_scores(scores, whole.names, weights=weights),
        addresses={("m00", "item 3"): "logs/a.eval, sample 4", ("m01", "item 3"): "https://example.org/3"},
        questions=dict.fromkeys(scores.items, f"Why?\n{HOSTILE[0]}"),
        answers={("m00", item): HOSTILE[1] for item in scores.items},
    )
    it = opened(render_page(whole, items=items))
    page = it.scripted()
    means = dict(zip(scores.models, values.mean(axis=0), strict=True))
    rows = page.locator("#where-rows tr:not(.texts)")

    def choose(*names: str) -> None:
        for place, name in enumerate([*names, "", ""][:4], start=1):
            page.locator(f"#compare-{place}").select_option(f"={name}" if name else "")

    def check(a: str, b: str, inside: range) -> None:
        differences = means[a] - means[b]
        ahead = int((differences[inside] > 0).sum())
        expect(page.locator("#where-words")).to_contain_text(f"{a} has the higher mean on {ahead},")
        shown = [rows.nth(i).locator("th, td").all_inner_texts() for i in range(rows.count())]
        assert len(shown) == min(15, ahead) + min(15, int((differences[inside] < 0).sum()))
        for item, first, second, difference, *_ in shown:
            i = scores.items.index(item)
            assert i in inside
            assert (float(first), float(second)) == (means[a][i], means[b][i])
            assert float(difference) == differences[i]
        largest = [abs(float(row[3])) for row in shown if float(row[3]) > 0]
        assert largest == sorted(largest, reverse=True)

    choose("m00", "m03")
    check("m00", "m03", range(60))
    page.get_by_label("View", exact=True).select_option("2")
    check("m00", "m03", range(30, 60))
    page.get_by_label("View", exact=True).select_option("1")
    check("m00", "m03", range(30))
    choose("m00", "m01")
    check("m00", "m01", range(30))
    row = page.locator("#where-rows tr", has=page.get_by_text("item 3", exact=True))
    if row.count():
        assert row.locator(".at").inner_text().split() == ["logs/a.eval,", "sample", "4", "https://example.org/3"]
    texts = page.locator("#where-rows .texts").first
    assert texts.locator("p").is_hidden()
    texts.locator("summary").click()
    assert texts.locator("p").inner_text() == f"Why?\n{HOSTILE[0]}"
    assert texts.locator("dt, dd").all_inner_texts() == ["m00", HOSTILE[1]]
    # Of more than two models, the items with the largest spread.
    choose("m00", "m01", "m02")
    spread = np.ptp(np.array([means[name][:30] for name in ("m00", "m01", "m02")]), axis=0)
    expect(page.locator("#where-words")).to_have_text(f"Of 30 items, they differ on {int((spread > 0).sum())}.")
    found = [scores.items.index(name) for name in rows.locator("th").all_inner_texts()]
    assert [spread[i] for i in found] == sorted(spread[spread > 0], reverse=True)[:30]
    assert page.evaluate("window.hit") is None
    assert it.said == []
