"""The page's text: escaped, self-contained, complete without scripts, readable in both colour schemes."""

from __future__ import annotations

import base64
import copy
import gzip
import hashlib
import html
import io
import json
import math
import re
from dataclasses import replace
from importlib.resources import files
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
from msgspec import structs
from rich.console import Console

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.derive import provenance
from bbedge.certificate.document import certificate, to_json
from bbedge.certificate.provenance import inside_page, unpack, verify_command
from bbedge.core.leaderboard import certify
from bbedge.display.answer import answer
from bbedge.display.compact import badge
from bbedge.display.page import render_page
from bbedge.display.page.charts import evidence_chart
from bbedge.display.page.drawing import draw_graph, draw_matrix, shortened_names
from bbedge.display.page.facts import open_pairs, top_sets
from bbedge.display.page.payload import embedded
from bbedge.display.page.table import PageView
from bbedge.display.ranking import evidence_share, model_rows, ranks_of_means
from bbedge.display.terminal import show_leaderboard
from bbedge.errors import FormatError
from unit.certificate.documents import circular, document, drawn, many, suite

FEW = document([0.9, 0.7, 0.5, 0.48, 0.1])
STYLE = files("bbedge.display.page").joinpath("page.css").read_text(encoding="ascii")


def data_of(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL).group(1))


def test_the_page_asks_nobody_for_anything():
    page = render_page(Certificate.of(FEW))
    assert page.isascii()
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1))
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not re.search(r"\sstyle=|\son[a-z]+=", page.split("<script")[0])  # the policy would drop them


def test_the_same_certificate_gives_the_same_bytes():
    assert render_page(Certificate.of(FEW)) == render_page(Certificate.of(copy.deepcopy(FEW)))


def test_the_certificate_is_in_the_page():
    assert data_of(render_page(Certificate.of(FEW)))["document"] == FEW


AT_CHECKPOINTS = FEW | {"edges": [edge | {"first_part": 1} for edge in FEW["edges"]]}
VIEWS = json.loads(suite().to_json())


@pytest.mark.parametrize("content", [FEW, AT_CHECKPOINTS, VIEWS], ids=["few", "checkpoints", "views"])
def test_a_large_certificate_is_packed_without_loss(content):
    certificate = Certificate.of(content)
    data = embedded(certificate, [PageView.from_certificate(certificate)], most_plain=2)
    packed = json.loads(gzip.decompress(base64.b64decode(json.loads(data)["packed"])))
    assert unpack(packed) == content
    page = f'<script type="application/json" id="data">{data}</script>'
    assert inside_page(page, source="p.html", most_bytes=1 << 20) == content
    with pytest.raises(FormatError, match="more than 100 bytes"):
        inside_page(page, source="p.html", most_bytes=100)


def test_hostile_names_stay_text():
    names = ["<script>alert(1)</script>", "</script><!--", '"><b>', "{{ 7 * 7 }}", "\u202eabc", "a&b"]
    content = document([0.9, 0.8, 0.6, 0.4, 0.2, 0.1], names=names)
    content["notes"] = [{"kind": "remark", "text": "<i>note</i>", "subject": []}]
    page = render_page(Certificate.of(content), title="<u>title</u>")
    for tag in ("<script>alert", "<!--", "<b>", "<i>note", "<u>title"):
        assert tag not in page
    assert "{{ 7 * 7 }}" in page
    assert "\u202e" not in page
    assert "&#8238;" not in page.split('<script type="application/json"')[0]
    assert data_of(page)["document"] == content


@pytest.mark.parametrize("size", [2, 12, 45])
def test_no_evidence_is_told_apart_from_equality(size):
    page = render_page(Certificate.of(document([0.5] * size, replicates=1)))
    assert 'id="top"' not in page
    assert "It does not mean equal" in page
    if size <= 40:
        assert "does not mean that the models are equal" in page


def test_before_the_first_replicate():
    page = render_page(Certificate.of(document([0.5, 0.6], replicates=0)))
    assert "Nothing is certified yet: there is no complete run." in page
    assert '<table class="ranking' not in page
    assert "pairs are open; there is no complete run." in page


def test_everything_decided():
    page = render_page(Certificate.of(document([0.99, 0.01])))
    assert 'id="open"' not in page
    assert "Top-1" in page


def test_a_contradiction_is_shouted():
    page = render_page(Certificate.of(json.loads(to_json(certificate(circular())))))
    assert page.index("<strong>CONTRADICTION</strong>") < page.index("<header>")  # before anything else
    assert 'content="CONTRADICTION: ' in page  # and in the preview of a link
    assert "Top-1" not in page
    assert '<svg class="matrix' in page
    assert '<svg class="graph' not in page  # a graph with a cycle has no layers


def test_certificates_without_a_history_have_a_page():
    page = render_page(Certificate.of(FEW | {"history": None, "outlook": []}))
    assert 'id="pairs-chart"' in page
    assert "Evidence, as a share" not in page


def test_every_page_has_a_matrix_and_that_of_few_models_a_graph_besides():
    page = render_page(Certificate.of(FEW))
    assert page.index('<svg class="matrix') < page.index('<svg class="graph')
    assert draw_graph(Certificate.of(FEW)) is not None
    many = Certificate.of(document(list(np.linspace(0.95, 0.05, 45))))
    assert draw_graph(many) is None
    matrix = draw_matrix(many)
    cells = sum(int(width) for width in re.findall(r"h(\d+)v1", matrix.above))
    assert cells == many.graph.n_resolved
    assert len(matrix.labels) == 45


def test_the_cells_of_a_small_matrix_have_the_differences_of_the_means():
    few = Certificate.of(FEW)
    texts = {(row, column): float(text) for row, column, text in draw_matrix(few).texts}
    assert len(texts) == 5 * 4
    for (a, b), difference in texts.items():
        assert difference == pytest.approx(few.means[a] - few.means[b], abs=6e-4)
    assert draw_matrix(Certificate.of(document(list(np.linspace(0.9, 0.1, 16))))).texts == []


def test_the_answer_comes_first_and_is_what_a_link_shows():
    certificate = Certificate.of(FEW)
    page = html.unescape(render_page(certificate, title="Ours"))
    said = answer(certificate)
    assert page.index(f'<p class="answer">{said.first}</p>') < page.index('<table class="ranking')
    assert said.risk in page
    for name in ("og:description", "description"):
        assert f'"{name}" content="{said}"' in page
    assert '<meta property="og:title" content="Ours">' in page


def test_the_table_has_the_rows_of_every_display():
    certificate = Certificate.of(FEW)
    lines = re.findall(r'<tr role="row" data-model.*?</tr>', render_page(certificate))
    assert len(lines) == 5
    for line, row in zip(lines, model_rows(certificate), strict=True):
        cells = [re.sub("<[^>]*>", "", text).strip() for text in re.findall(r"<t[dh] .*?</t[dh]>", html.unescape(line))]
        behind = " ".join(filter(None, (row.behind, row.behind_interval)))
        counts = [str(row.beats), str(row.loses_to)]
        assert cells == [row.could_be, row.rank, row.label, "", "", row.mean, behind, *counts]
        assert ('class="cut"' in line) == row.cut_above
    assert any(row.cut_above for row in model_rows(certificate))


def test_the_page_says_how_to_verify_it_and_when_it_was_made():
    scores = drawn([0.9, 0.4])
    made = Certificate.made(certify(scores)).sealed("2026-01-31T12:34:56Z")
    facts = provenance(made.content)
    page = html.unescape(render_page(made)).split("<script")[0]
    assert f'<code class="command">{verify_command(made.content)}</code>' in page
    for value in (facts.digest, facts.design, facts.scores):
        assert value is None or value in page
    assert facts.digest
    assert "2026-01-31 12:34 UTC" in page
    assert f"{made.content.bbedge}" in page
    assert "UTC" not in render_page(Certificate.of(FEW)).split("<script")[0]


def test_names_are_cut_to_fit_and_wide_letters_count_twice():
    assert shortened_names(("short", "x" * 50), 10) == ["short", "xxxxx…xxxx"]
    assert len(shortened_names(("\u4e2d" * 30,), 16)[0]) <= 12


def channel(value: int) -> float:
    share = value / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def contrast(one: str, other: str) -> float:
    light, dark = sorted(
        (
            sum(weight * channel(int(colour[i : i + 2], 16)) for weight, i in ((0.2126, 1), (0.7152, 3), (0.0722, 5)))
            for colour in (one, other)
        ),
        reverse=True,
    )
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_text_has_enough_contrast(scheme):
    block = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)[scheme]
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))
    grounds = ("page", "sunk", "above-wash", "below-wash")
    for text in ("text", "quiet", "above", "below", "open"):
        for ground in grounds:
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for shade in "abcdefg":
        assert contrast(colours["text"], colours[f"heat-{shade}"]) >= 4.5
    assert contrast(colours["alarm"], colours["alarm-wash"]) >= 4.5
    assert contrast(colours["text"], colours["alarm-wash"]) >= 4.5
    assert contrast(colours["bar"], colours["page"]) >= 3.0
    for cell in ("win", "lose"):
        assert contrast(colours["text"], colours[cell]) >= 4.5


def test_the_contrast_measure_is_right():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_the_matrix_leaves_as_much_room_as_its_names_need():
    short, wide, long = (
        draw_matrix(Certificate.of(document([0.9, 0.1], names=names)))
        for names in (["a", "b"], ["WWWW", "MMMM"], ["x" * 60, "y" * 60])
    )
    assert short.gutter < wide.gutter < long.gutter
    assert wide.gutter > 4.4 * wide.letter  # four letters of the width of their height, and their distance


@pytest.mark.parametrize("options", [{}, {"method": "bb-edge"}], ids=["wealth", "evidence"])
def test_table_chart_and_details_measure_evidence_alike(options):
    made = certify(drawn([0.9, 0.8, 0.74, 0.7, 0.69], items=60), **options).certificate()
    chart, page = evidence_chart(made), render_page(made)
    curves, told = {curve.direction: curve for curve in chart.curves}, data_of(page)["panels"][0]["table"]["evidence"]
    low, high = math.log(1e-4), math.log(10.0)
    told = {(made.names[a], made.names[b]): words for a, b, words in told}
    assert len(told) == len(made.content.outlook) > 1
    for prospect in made.content.outlook:
        words = told[prospect.ahead, prospect.behind]
        missing = prospect.log_e - prospect.log_threshold
        end = float(curves[made.names.index(prospect.ahead), made.names.index(prospect.behind)].path.split()[-1])
        assert low + (chart.frame.foot - end) / (chart.frame.foot - chart.frame.top) * (high - low) == pytest.approx(
            max(low, missing), abs=0.05
        )
        share = 100 * math.exp(missing)
        assert share < 100
        assert words == ("< 0.01 %" if share < 0.01 else f"{share:.1g} %" if share < 1 else f"{math.floor(share)} %")
        assert f"</svg> {html.escape(words)}</td>" in page
    out = io.StringIO()
    show_leaderboard(Console(file=out, width=200), made)
    said = dict(re.findall(r"^(\w+ +\w+) .* ([<0-9. ]+%) of threshold", out.getvalue(), re.MULTILINE))
    assert said
    by_pair = {frozenset(pair): share for pair, share in told.items()}
    for pair, share in said.items():
        assert share.strip() == by_pair[frozenset(pair.split())]


def test_the_pairs_that_would_decide_who_is_best_come_first_and_are_never_cut():
    means = [0.9, 0.895, *np.linspace(0.8, 0.78, 30), *([0.1] * 3)]
    made = certify(drawn(means, items=60)).certificate()
    content = structs.replace(made.content, outlook=made.content.outlook[-3:])
    shown = Certificate.of(content)
    could = {name for name, better in zip(made.names, made.ranks.n_better, strict=True) if not better}
    first = made.names[0]
    assert len(could) > 3
    listed = open_pairs(shown)
    assert {each.ahead if each.behind == first else each.behind for each in listed.deciding} == could - {first}
    assert {first} == set.intersection(*({each.ahead, each.behind} for each in listed.deciding))
    shares = [each.log_e - each.log_threshold for each in listed.deciding]
    assert shares == sorted(shares, reverse=True)
    known = {frozenset((each.ahead, each.behind)): each for each in made.content.outlook}
    for each in listed.deciding:
        stated = known.get(frozenset((each.ahead, each.behind)))
        assert stated is None or each.more_replicates == stated.more_replicates
        assert stated is None or each.within == pytest.approx(stated.within)
        assert stated is None or each.log_e - each.log_threshold == pytest.approx(stated.log_e - stated.log_threshold)
    of_best = [{each.ahead, each.behind} <= could for each in listed.others]
    assert of_best == sorted(of_best, reverse=True)
    page = render_page(shown)
    section = page.split('<h3 id="deciding">')[1].split("</table>")[0]
    assert f"each of these {len(could) - 1} models" in section
    assert section.count("<tr><td>") == len(could) - 1
    assert '<a href="#deciding">' in page


def test_where_one_model_is_best_nothing_would_decide_it():
    for made in (document([0.95, 0.5, 0.48]), document([0.5, 0.5, 0.5], replicates=0)):
        shown = Certificate.of(made)
        assert open_pairs(shown).deciding == []
        assert "#deciding" not in render_page(shown)


def test_a_share_of_the_evidence_is_as_long_as_it_says():
    assert evidence_share(math.log(0.25)) == ("25 %", 0.25)
    assert evidence_share(3.0) == ("99 %", 0.99)
    assert evidence_share(-100.0)[0] == "< 0.01 %"


def test_parts_with_nothing_to_show_are_left_out():
    once, twice = (render_page(Certificate.of(document([0.9, 0.1, 0.1], replicates=runs))) for runs in (1, 2))
    for found in ('id="history"', 'id="look"', 'id="pairs-chart"', 'id="evidence-chart"'):
        assert found not in once
        assert found in twice


def test_two_models_are_compared_once():
    both, more = (Certificate.of(document(list(means))) for means in ((0.9, 0.2), (0.9, 0.4, 0.2)))
    assert 'id="forest"' in render_page(both)
    assert 'id="comparing"' not in render_page(both)
    lists = re.findall(r"<select [^>]*data-compare>", render_page(more))
    assert len(lists) == 3  # no more than there are models


def test_a_long_top_set_names_the_models_outside():
    made = many(60).certificate()
    sets = {each.size: each for each in top_sets(made)}
    for size, each in sets.items():
        before = max((other for other in sets if other < size), default=0)
        if each.words == "all but":
            assert size - before > 60 - size
            assert each.labels == made.labels[size:]
        else:
            assert each.labels == made.labels[before:size]
    last = Certificate.of(document([0.9] * 13 + [0.05, 0.05]))
    names = ", ".join(f"<bdi>{name}</bdi>" for name in last.labels[13:])
    assert f'<span class="quiet">all but</span> {names}</dd>' in render_page(last)


def test_cut_names_keep_what_tells_them_apart():
    names = [f"meta-llama/Llama-3.1-{size}B-Instruct-Turbo-fp8" for size in (8, 70, 405)]
    short = shortened_names(names, 19)
    for size, text in zip((8, 70, 405), short, strict=True):
        assert f"{size}B" in text
        assert len(text) <= 19
    assert shortened_names(["y" * 60, "y" * 61], 19)[1].endswith("(2)")


def test_the_dot_of_a_bar_is_the_rank_of_the_mean():
    made = Certificate.of(document([0.9, 0.5, 0.5, 0.1]))
    tied = replace(made, means=(0.9, 0.5, 0.5, 0.1))
    assert ranks_of_means(tied) == (1, 2, 2, 4)
    assert [row.mean_rank for row in model_rows(tied)] == [1, 2, 2, 4]
    dots = re.findall(r'class="by-mean" cx="([0-9.]+)%"', render_page(tied))
    assert [float(at) for at in dots[:4]] == [12.5, 37.5, 37.5, 87.5]
    assert ranks_of_means(Certificate.of(document([0.5, 0.6], replicates=0))) is None


def test_a_page_that_knows_its_address_says_so_and_names_its_picture():
    made, title = Certificate.of(FEW), '"A" & <b>'
    alone = render_page(made, title=title)
    assert "ADDRESS#embed=table" in alone
    for absent in ("canonical", "og:url", "og:image", "twitter:card"):
        assert absent not in alone
    page = render_page(made, title=title, address="https://example.org/a.html", picture="https://example.org/a.png")
    assert '<link rel="canonical" href="https://example.org/a.html">' in page
    assert '<meta property="og:url" content="https://example.org/a.html">' in page
    assert '<meta property="og:image" content="https://example.org/a.png">' in page
    frame, badge_code = (html.unescape(each) for each in re.findall(r'<code class="command">(&lt;.*?)</code>', page))
    # What is to be copied is markup whose texts are escaped once more.
    assert frame.startswith('<iframe src="https://example.org/a.html#embed=table" title="&#34;A&#34; &amp; &lt;b&gt;"')
    picture = base64.b64decode(re.search(r"base64,([^\"]+)", badge_code)[1]).decode()
    assert picture == badge(made, made.names[0])


def test_the_icon_of_a_page_is_inside_it():
    page = render_page(Certificate.of(FEW))
    (icon,) = re.findall(r'<link rel="icon" href="data:image/svg\+xml,([^"]+)">', page)
    assert ElementTree.fromstring(unquote(icon)).tag.endswith("svg")
    assert "img-src data:" in html.unescape(page)
