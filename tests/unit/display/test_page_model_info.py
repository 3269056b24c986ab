"""What the user knows of the models, on the page: typed, escaped, and drawn against the score."""

from __future__ import annotations

import html
import re

import pytest

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.document import certificate
from bbedge.display.page import render_page
from bbedge.display.page.charts import cost_plots
from bbedge.display.page.table import MOST_CHOICES, ModelInfo
from bbedge.display.ranking import difference_bounds, model_rows
from unit.certificate.documents import certified, document, drawn, many
from unit.display.test_page import data_of

FEW = Certificate.of(document([0.9, 0.7, 0.5, 0.48, 0.1]))
INFO = ModelInfo.from_rows(
    ["organisation", "link", "price"],
    {
        "m00": ["Us", "https://example.org/a", "$1,000"],
        "m01": ["<b>Them</b>", "https://example.org/b?x=1&y=2", "2.5"],
        "m03": ["Us", "", ""],
        "m04": ["Them", "", "0.1"],
    },
)


def test_columns_are_typed_by_all_of_their_values():
    assert [column.kind for column in INFO.columns] == ["text", "link", "number"]
    assert [INFO.columns[2].key(name) for name in FEW.names] == [1000.0, 2.5, None, None, 0.1]
    assert INFO.columns[0].choices == ("<b>Them</b>", "Them", "Us")
    assert INFO.columns[1].choices == ()
    many_values = {f"m{i}": [f"v{i // 2}"] for i in range(2 * MOST_CHOICES + 2)}
    assert ModelInfo.from_rows(["kind"], many_values).columns[0].choices == ()
    assert ModelInfo.from_rows(["kind"], dict(list(many_values.items())[:-2])).columns[0].choices != ()


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "//example.org",
        "https://a@b",
        "https://a b",
        "ftp://a",
        "https://a\u202e",
    ],
)
def test_what_is_no_plain_web_address_stays_text(address):
    info = ModelInfo.from_rows(["link"], {"m00": [address]})
    assert info.columns[0].kind == "text"
    page = render_page(FEW, model_info=info)
    assert not re.search(r"<a [^>]*(javascript|data:text|ftp)", page)
    assert page.count("href=") == render_page(FEW).count("href=")


def test_the_page_shows_every_column_and_blanks_where_nothing_is_known():
    page = render_page(FEW, model_info=INFO)
    rows = re.findall(r'<tr role="row" data-model.*?</tr>', page)
    cells = [
        [
            html.unescape(re.sub("<[^>]*>", "", text))
            for text in re.findall(r'<td role="cell" class="info[^"]*">(.*?)</td>', row)
        ]
        for row in rows
    ]
    place = {name: i for i, name in enumerate(FEW.names)}
    assert cells[place["m00"]] == ["Us", "example.org", "$1,000"]
    assert cells[place["m01"]] == ["<b>Them</b>", "example.org", "2.5"]
    assert cells[place["m02"]] == ["", "", ""]
    assert "<b>Them" not in page
    assert '<a href="https://example.org/b?x=1&amp;y=2" rel="noopener noreferrer nofollow" target="_blank">' in page
    assert data_of(page)["info"][2]["keys"] == [INFO.columns[2].key(model.name) for model in FEW.content.models]


def test_a_page_without_such_columns_says_nothing_of_them():
    page = render_page(FEW)
    assert 'class="info' not in page
    assert "against score" not in page
    assert data_of(page)["info"] == []


def test_cost_against_score_has_the_interval_of_the_difference_to_the_leader():
    (plot,) = cost_plots(FEW, INFO.columns)
    assert (plot.column.title, plot.value, plot.across.log, plot.unknown) == (
        "price",
        "Difference to the leader",
        True,
        2,
    )
    assert [FEW.names[point.index] for point in plot.points] == ["m00", "m01", "m04"]
    leader, *others = plot.points
    assert leader.low == leader.high == leader.value
    page = render_page(FEW, model_info=INFO)
    assert page.count('<g class="point"') == 3
    drawn_ends = re.findall(r'class="whisker" x1="[\d.]+" x2="[\d.]+" y1="([\d.]+)" y2="([\d.]+)"', page)
    up = {float(tick.text): tick.at for tick in plot.up.ticks()}
    (zero, top), (other, below) = list(up.items())[-1], next(iter(up.items()))
    per_unit = (below - top) / (other - zero)
    for point, ends in zip(others, drawn_ends, strict=True):
        assert (point.low, point.high) == difference_bounds(FEW, point.index, 0)
        assert point.low <= point.value <= point.high
        expected = [top + per_unit * (end - zero) for end in (point.low, point.high)]
        assert list(map(float, ends)) == pytest.approx(expected, abs=0.11)
    assert {FEW.names[index] for index in plot.named} == {"m00", "m01", "m04"}


def test_intervals_of_means_are_in_the_table_and_in_the_plot():
    made = Certificate.made(certified(drawn([0.9, 0.5, 0.2]), method="bb-edge-x", mean_share=0.2))
    info = ModelInfo.from_rows(["price"], {"m00": ["3"], "m01": ["2"], "m02": ["1"]})
    page = render_page(made, model_info=info)
    for row in model_rows(made):
        assert row.mean_interval
        assert f'<span class="value">{row.mean}</span> <span class="interval">{row.mean_interval}</span>' in page
    (plot,) = cost_plots(made, info.columns)
    assert plot.value == "Mean score"
    first, *_, last = plot.up.ticks()
    per_unit = (last.at - first.at) / (float(last.text) - float(first.text))
    for point, ends in zip(plot.points, made.mean_intervals, strict=True):
        assert (point.low, point.high) == ends
        drawn_ends = [first.at + per_unit * (end - float(first.text)) for end in ends]
        assert list(map(plot.up.at, ends)) == pytest.approx(drawn_ends, abs=0.15)


def test_a_certificate_without_pairs_has_means_without_intervals_in_the_plot():
    brief = Certificate.of(certificate(many(30), most_models=2))
    info = ModelInfo.from_rows(["tokens"], {name: [f"{100 + i}"] for i, name in enumerate(brief.names)})
    (plot,) = cost_plots(brief, info.columns)
    assert (plot.value, plot.across.log, plot.has_intervals) == ("Mean score", False, False)


def test_the_frontier_of_prices_is_what_no_cheaper_model_is_certified_to_beat():
    made = many(60).certificate()
    prices = {name: float(1 + 7 * i % 23) for i, name in enumerate(made.names)}
    (plot,) = cost_plots(made, ModelInfo.from_rows(["price"], {k: [str(v)] for k, v in prices.items()}).columns)
    beaten = {
        loser
        for a, winner in enumerate(made.names)
        for b, loser in enumerate(made.names)
        if made.graph.above[a, b] and prices[winner] <= prices[loser]
    }
    assert {made.names[point.index] for point in plot.points if not point.is_unbeaten} == beaten
    assert 0 < len(beaten) < 60
    # A mean that is higher is no reason: open pairs leave both on the frontier.
    assert any(
        a.is_unbeaten and b.is_unbeaten and a.value > b.value and a.cost <= b.cost
        for a in plot.points
        for b in plot.points
    )


def test_names_in_the_plot_of_prices_touch_nothing():
    made = many(60).certificate()
    info = ModelInfo.from_rows(["price"], {name: [f"{1.2 ** (i % 17):.3f}"] for i, name in enumerate(made.names)})
    (plot,) = cost_plots(made, info.columns)
    boxes = []
    for name in plot.named.values():
        room = 6.6 * len(name.text)
        left = name.x - {"start": 0.0, "middle": room / 2, "end": room}[name.anchor]
        boxes.append((left, name.y - 10, left + room, name.y + 3))
    boxes += [
        (x - 4, y - 4, x + 4, y + 4) for x, y in ((plot.across.at(p.cost), plot.up.at(p.value)) for p in plot.points)
    ]
    named = len(plot.named)
    assert named > 2
    for i, (left, top, right, foot) in enumerate(boxes[:named]):
        assert left >= plot.frame.left
        assert right <= plot.frame.width
        for other_left, other_top, other_right, other_foot in boxes[i + 1 :]:
            assert right <= other_left or other_right <= left or foot <= other_top or other_foot <= top


def test_a_column_that_is_no_cost_is_not_drawn():
    assert cost_plots(FEW, ModelInfo.from_rows(["parameters"], {"m00": ["7B"], "m01": ["70B"]}).columns) == []
    assert cost_plots(FEW, ModelInfo.from_rows(["price"], {"m00": ["7"], "m01": [""]}).columns) == []
    assert cost_plots(FEW, ModelInfo.from_rows(["price"], {"m00": ["cheap"], "m01": ["2"]}).columns) == []


def test_models_without_a_price_are_counted_in_good_english():
    names = FEW.names
    for known, words in (
        (len(names) - 1, "1 model has no value and is not drawn."),
        (2, "models have no value and are"),
    ):
        info = ModelInfo.from_rows(["price"], {name: [str(3 + i)] for i, name in enumerate(names[:known])})
        assert words in render_page(FEW, model_info=info)
