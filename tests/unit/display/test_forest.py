"""Forests of differences: every interval is that of the certificate, and every row says what is certified of it."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from bbedge.certificate.certificate import Certificate
from bbedge.core.leaderboard import certify
from bbedge.display.figures import forest_figure
from bbedge.display.forest import COLOURS, Forest, certificate_forest
from bbedge.display.page import render_page
from bbedge.display.plotting import house_style, save_figure
from bbedge.display.ranking import CONTRADICTION
from bbedge.errors import DomainError
from bbedge.records.output import Canvas
from unit.certificate.documents import circular, document, suite
from unit.certificate.documents import drawn as scored

CLOSE = [0.8, 0.78, 0.7, 0.5, 0.45, 0.2]
JOINT = {"method": "bb-edge-x", "evidence": "betting", "stakes": "design"}


def bounds(content: dict, a: str, b: str) -> tuple[float, float]:
    """Where a difference lies, from nothing but the document, of a design without tau."""
    place = [model["name"] for model in content["models"]]
    i, j = place.index(a), place.index(b)
    low, high = content["margins"][i][j], -content["margins"][j][i]
    sure = reachable(content)
    return max(low, 0.0) if (a, b) in sure else low, min(high, 0.0) if (b, a) in sure else high


def reachable(content: dict) -> set[tuple[str, str]]:
    """The pairs that edges and paths decide."""
    found = {(edge["winner"], edge["loser"]) for edge in content["edges"]}
    while True:
        more = {(a, d) for a, b in found for c, d in found if b == c} - found
        if not more:
            return found
        found |= more


def outward(low: float, high: float) -> str:
    ends = math.floor(low * 1e4) / 1e4, math.ceil(high * 1e4) / 1e4
    return " to ".join(f"{end:+.4f}" if end else "0" for end in ends)


def found(certificate: Certificate, *models: str, **options) -> Forest:
    forest = certificate_forest(certificate, models, **options)
    assert forest is not None
    return forest


@pytest.mark.parametrize("against", [None, "m03", "m05"])
def test_rows_are_the_differences_of_the_document(against):
    content = document(CLOSE)
    certificate = Certificate.of(content)
    forest = found(certificate, against=against)
    a = against or certificate.names[0]
    means, sure = {model["name"]: model["mean"] for model in content["models"]}, reachable(content)
    assert [row.label for row in forest.rows] == [name for name in certificate.names if name != a]
    for row in forest.rows:
        low, high = bounds(content, a, row.label)
        (span,) = row.spans
        assert span[:2] == (low, high)
        assert row.point == means[a] - means[row.label]
        assert row.cells == (f"{row.point + 0.0:+.4f}", outward(low, high))
        kind = "better" if (a, row.label) in sure else "worse" if (row.label, a) in sure else "open"
        assert span.kind == kind
    kinds = {None: {"open", "better"}, "m03": {"open", "worse", "better"}, "m05": {"worse"}}
    assert {row.spans[0].kind for row in forest.rows} == kinds[against]


def test_a_scale_shows_zero_and_every_interval_whole():
    forest = found(Certificate.of(document(CLOSE)))
    places = [forest.at(end) for row in forest.rows for span in row.spans for end in span[:2]]
    assert 0.0 < min(*places, forest.at(0.0)) < max(places) < 100.0
    slope = (forest.at(0.3) - forest.at(0.1)) / 0.2
    assert forest.at(0.2) == pytest.approx(forest.at(0.0) + 0.2 * slope)
    assert forest.at(math.nan, 100.0) == 100.0


def test_chosen_models_are_compared_among_themselves():
    certificate = Certificate.of(document(CLOSE))
    forest = found(certificate, "m03", "m00", "m05")
    assert [row.label for row in forest.rows] == ["m03 minus m00", "m03 minus m05", "m00 minus m05"]
    single = found(certificate, "m03", "m00")
    assert [row.label for row in single.rows] == ["m03 minus m00"]
    assert single.heads == ("Pair", "difference", "interval")
    assert single.rows[0].spans[0][:2] == bounds(certificate.document, "m03", "m00")


def test_two_models_have_a_row_for_each_view():
    certificate = Certificate.made(suite(("code", "math"), models=2))
    forest = found(certificate)
    assert [row.label for row in forest.rows] == ["Headline", "code", "math"]
    for row, part in zip(forest.rows, (certificate, *certificate.views), strict=True):
        a, b = (part.names.index(name) for name in certificate.names)
        known = part.by_pair()
        assert row.spans[0].low >= known.margins[a, b]
        assert row.spans[0].high <= -known.margins[b, a]
        assert row.point == part.means[a] - part.means[b]


def test_tau_is_a_line_on_either_side_and_only_what_is_beyond_it_is_certified():
    certificate = Certificate.of(document([0.95, 0.9, 0.5, 0.45], tau=0.05))
    forest = found(certificate)
    assert all(sorted(row.bars) == [-0.05, 0.05] for row in forest.rows)
    assert all(row.spans[0].low >= 0.05 for row in forest.rows if row.spans[0].kind == "better")
    assert any(row.spans[0].kind == "open" for row in forest.rows)
    assert "Dashed: a difference of 0.05" in forest.notes[0]


def test_both_targets_stand_side_by_side():
    scores = scored([0.9, 0.6, 0.58], items=300, replicates=4)
    certificate = Certificate.made(certify(scores, target="both"))
    new = certificate.on_new_items
    forest = found(certificate)
    assert forest.heads == ("Model", "difference", "interval", "on new items")
    for row in forest.rows:
        a, b = (new.names.index(name) for name in (certificate.names[0], row.label))
        assert row.spans[1].low == max(new.margins[a, b], 0.0 if new.graph.above[a, b] else -1.0)
        assert len(row.cells) == 3
    assert forest.rows[0].spans[1].low < forest.rows[0].spans[0].low


def test_models_about_equal_have_a_colour_of_their_own():
    scores = scored([0.97, 0.97, 0.1], items=400, replicates=12)
    certificate = Certificate.made(certify(scores, equal_within=0.2))
    assert certificate.equal[0, 1]
    assert found(certificate).rows[0].spans[0].kind == "equal"
    assert "Green: equal within 0.2" in found(certificate).notes[0]


def test_of_many_models_the_nearest_in_the_table_are_drawn_and_the_others_counted():
    certificate = Certificate.of(document(list(np.linspace(0.95, 0.1, 30)), replicates=2))
    for against, place in ((None, 0), (certificate.names[20], 20)):
        forest = found(certificate, against=against, most=8)
        drawn = [certificate.names.index(row.label) for row in forest.rows]
        assert drawn == sorted(drawn)
        assert len(drawn) == 8
        left = [i for i in range(30) if i not in (place, *drawn)]
        assert min(abs(i - place) for i in left) >= max(abs(i - place) for i in drawn)
        above = certificate.graph.above
        words = re.search(r"21 models .* left out: .* better than (\d+) and worse than (\d+)", forest.notes[1])
        assert [int(count) for count in words.groups()] == [above[place, left].sum(), above[left, place].sum()]


def test_contradictions_are_not_drawn():
    certificate = Certificate.made(circular())
    forest = found(certificate)
    assert all(row.spans[0].kind == "none" for row in forest.rows if row.cells[1] == CONTRADICTION)
    assert any(row.cells[1] == CONTRADICTION for row in forest.rows)


def test_without_pairs_or_runs_there_is_no_forest():
    assert certificate_forest(Certificate.of(document([0.5, 0.6], replicates=0))) is None


def test_names_must_be_there_and_at_least_two():
    certificate = Certificate.of(document(CLOSE))
    with pytest.raises(DomainError, match="'m0' is not a model of this certificate; did you mean 'm0"):
        certificate_forest(certificate, against="m0")
    for names in (["m00"], ["m00", "m00"]):
        with pytest.raises(DomainError, match="two models or more"):
            certificate_forest(certificate, names)


def test_a_figure_has_the_intervals_in_their_colours(tmp_path):
    names = ["$\\bad{", "<b>&", "x" * 300, "a_b^c", "\u05d0\u05d1", "long name " * 9]
    certificate = Certificate.of(document(CLOSE, names=names))
    forest = found(certificate)
    with house_style():
        figure = forest_figure(forest)
    (axes,) = figure.axes
    lines = [line for each in axes.collections for line in each.get_segments()]
    assert [tuple(ends[:, 0]) for ends in lines if len(ends)] == [row.spans[0][:2] for row in forest.rows]
    assert {COLOURS[row.spans[0].kind] for row in forest.rows} == {COLOURS["open"], COLOURS["better"]}
    said = [text.get_text() for text in axes.texts]
    columns = zip(forest.heads[1:], *(row.cells for row in forest.rows), strict=True)
    assert said == [text for column in columns for text in column]
    save_figure(figure, tmp_path / "forest.svg", canvas=Canvas(width=7.0, height=4.0))


def test_the_page_draws_it_without_script_at_the_right_places():
    certificate = Certificate.of(document(CLOSE, names=["<i>", "&amp;", '"', "b", "c", "d"]))
    page, forest = render_page(certificate), found(certificate)
    body = page.split('<table class="forest">')[1].split("</table>")[0].split("<tbody>")[1]
    assert "<i>" not in body
    drawn = re.findall(r'class="interval (\w+)" x1="([\d.]+)%" x2="([\d.]+)%"', body)
    assert len(drawn) == len(forest.rows)
    for (kind, low, high), row in zip(drawn, forest.rows, strict=True):
        assert kind == row.spans[0].kind
        assert [float(low), float(high)] == pytest.approx([forest.at(end) for end in row.spans[0][:2]], abs=6e-4)
    dots = [float(place) for place in re.findall(r'<circle class="point \w+" cx="([\d.]+)%"', body)]
    assert dots == pytest.approx([forest.at(row.point) for row in forest.rows], abs=6e-4)
    zero = {float(place) for place in re.findall(r'class="zero" x1="([\d.]+)%"', body)}
    assert zero == {round(forest.at(0.0), 3)}
