"""Every figure can be drawn of every leaderboard, whatever the models are called."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import rank
from bbedge.core.leaderboard import certify
from bbedge.display.figures import evidence_figure, graph_figure, rank_figure, stability_figure, views_figure
from bbedge.display.plotting import house_style, save_figure
from bbedge.display.reports import dependence_figure, halves_figure, heterogeneity_figure
from bbedge.errors import BbedgeError, DomainError
from bbedge.records.output import Canvas
from unit.certificate.documents import document, suite
from unit.certificate.documents import drawn as scored

HOSTILE = ["$\\bad{", "<b>", "\u4e2d\u6587" * 20, "\u05d0\u05d1", "x" * 300, "\U0001f916", "a_b^c"]
CASES = {
    "two": document([0.9, 0.1]),
    "tied": document([0.5] * 6, replicates=1),
    "hostile": document(list(np.linspace(0.95, 0.1, 7)), names=HOSTILE),
    "many": document(list(np.linspace(0.95, 0.1, 45))),
    "very many": document(list(np.linspace(0.95, 0.1, 130)), replicates=1),
    "no data": document([0.5, 0.6], replicates=0),
}


def texts(figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in [*axes.texts, *axes.get_yticklabels()]]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("draw", [rank_figure, graph_figure])
def test_ranks_and_graph(tmp_path, case, draw):
    with house_style():
        figure = draw(Certificate.of(CASES[case]))
        save_figure(figure, tmp_path / "f.svg")
    assert (tmp_path / "f.svg").stat().st_size > 1000
    if case == "two":
        assert any("m00" in text for text in texts(figure))


@pytest.mark.parametrize("case", ["two", "tied", "hostile"])
def test_evidence(tmp_path, case):
    with house_style():
        figure = evidence_figure(Certificate.of(CASES[case]))
        save_figure(figure, tmp_path / "f.pdf")
    size = len(CASES[case]["models"])
    assert len(figure.axes[0].lines) == size * (size - 1) // 2 + 1


@pytest.mark.parametrize("case", ["many", "no data"])
def test_evidence_that_was_not_kept(case):
    with house_style(), pytest.raises(DomainError, match="does not contain the evidence"):
        evidence_figure(Certificate.of(CASES[case]))


@pytest.mark.parametrize("replicates", [1, 7, 40])
def test_the_grid_has_the_rank_of_every_model_in_every_replicate(tmp_path, replicates):
    means = np.random.default_rng(3).random((replicates, len(HOSTILE)))
    with house_style():
        figure = stability_figure(means, HOSTILE, [f"run{i}" for i in range(replicates)])
        save_figure(figure, tmp_path / "f.png")
    if replicates <= 30:
        order = np.argsort(-means.mean(axis=0), kind="stable")
        expected = [str(1 + int((means[r] > means[r, i]).sum())) for i in order for r in range(replicates)]
        assert [text.get_text() for text in figure.axes[0].texts] == expected


def test_diagnoses(tmp_path):
    with house_style():
        save_figure(dependence_figure(HOSTILE, [1.0] * 6 + [4.0], [1.0] * 6 + [0.01], alarm=0.02), tmp_path / "a.svg")
        save_figure(halves_figure(HOSTILE, [-1.0] * 6 + [30.0], alarm=8.0), tmp_path / "b.svg")
        figure = heterogeneity_figure(np.array([0.5, -0.1, 0.0, 0.2]), HOSTILE[0], HOSTILE[1])
        save_figure(figure, tmp_path / "c.svg")
    assert any("ahead on 2 items" in text for text in texts(figure))
    assert any("ahead on 1 item" in text for text in texts(figure))
    with house_style():
        save_figure(heterogeneity_figure(np.zeros(3), "a", "b"), tmp_path / "d.svg")
        save_figure(dependence_figure(["one"], [0.8], [1.0], alarm=0.02), tmp_path / "e.svg")


# The size of a figure ------------------------------------------------------------------------------------------


def stability(size: int, replicates: int = 5):
    rng = np.random.default_rng(size)
    names = [f"provider-{i % 5}/model-{i:02d}-instruct" for i in range(size)]
    return stability_figure(rng.random((replicates, size)), names, [f"run{i}" for i in range(replicates)])


def drawn(kind: str, size: int):
    with house_style():
        if kind == "stability":
            return stability(size)
        certificate = Certificate.of(document(list(np.linspace(0.95, 0.1, size))))
        return {"ranks": rank_figure, "graph": graph_figure}[kind](certificate)


@pytest.mark.parametrize("size", [2, 13, 60])
@pytest.mark.parametrize("kind", ["ranks", "graph", "stability"])
def test_a_file_has_the_width_the_height_and_the_dots_that_were_asked_for(tmp_path, kind, size):
    save_figure(drawn(kind, size), tmp_path / "f.png", canvas=Canvas(width=4.5, height=3.2, dpi=90))
    with Image.open(tmp_path / "f.png") as picture:
        assert picture.size == (405, 288)


def test_one_side_leaves_the_other_as_it_was(tmp_path):
    natural = drawn("ranks", 13)
    save_figure(drawn("ranks", 13), tmp_path / "f.png", canvas=Canvas(width=4.0, dpi=100))
    with Image.open(tmp_path / "f.png") as picture:
        assert picture.size == (400, round(100 * natural.get_size_inches()[1]))


@pytest.mark.parametrize("size", [2, 13, pytest.param(60, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("sides", [None, (3.3, 2.5), (2.8, 6.0), (7.0, 3.0)])
def test_the_label_of_the_colours_is_beside_nothing_else(tmp_path, size, sides):
    canvas = Canvas() if sides is None else Canvas(width=sides[0], height=sides[1])
    with house_style():
        figure = stability(size)
    save_figure(figure, tmp_path / "f.png", canvas=canvas)
    with house_style():
        figure.draw_without_rendering()
    axes, bar = figure.axes
    label = bar.xaxis.label.get_window_extent()
    others = [axes.get_window_extent(), axes.xaxis.label.get_window_extent(), bar.get_window_extent()]
    others += [tick.get_window_extent() for each in (axes, bar) for tick in each.get_xticklabels() if tick.get_text()]
    others += [tick.get_window_extent() for tick in axes.get_yticklabels()]
    assert not any(label.overlaps(other) for other in others)
    ticks = [tick.get_window_extent() for tick in bar.get_xticklabels() if tick.get_text()]
    assert all(left.x1 < right.x0 for left, right in pairwise(ticks))
    assert label.x0 >= 0.0
    assert label.y0 >= 0.0
    assert label.x1 <= figure.bbox.width


@pytest.mark.parametrize("sides", [(3.3, 2.5), (2.5, 2.0), (9.0, 2.0)])
@pytest.mark.parametrize("draw", [evidence_figure, rank_figure])
def test_nothing_is_cut_off_at_a_given_size(tmp_path, draw, sides):
    with house_style():
        figure = draw(certify(scored(list(np.linspace(0.95, 0.1, 8))), mean_share=0.1).certificate())
    save_figure(figure, tmp_path / "f.png", canvas=Canvas(width=sides[0], height=sides[1]))
    with Image.open(tmp_path / "f.png") as picture:
        dots = np.asarray(picture.convert("L"))
    assert np.all(dots[[0, 1, -2, -1]] == 255)
    assert np.all(dots[:, [0, 1, -2, -1]] == 255)
    assert np.any(dots < 100)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["ranks", "graph", "stability"])
def test_letters_shrink_with_their_rows(tmp_path, kind):
    large, small = drawn(kind, 60), drawn(kind, 60)
    save_figure(large, tmp_path / "l.svg")
    save_figure(small, tmp_path / "s.svg", canvas=Canvas(width=3.3, height=2.5))
    names = [figure.axes[0].get_yticklabels()[0].get_fontsize() for figure in (large, small)]
    assert names[1] < 0.5 * names[0]


@pytest.mark.parametrize("kind", ["ranks", "graph", "stability"])
def test_a_figure_without_its_title(tmp_path, kind):
    with_title, without = drawn(kind, 13), drawn(kind, 13)
    save_figure(with_title, tmp_path / "a.svg")
    save_figure(without, tmp_path / "b.svg", canvas=Canvas(no_title=True))
    places = ("left", "center", "right")
    assert any(with_title.axes[0].get_title(loc=place) for place in places)
    assert not any(axes.get_title(loc=place) for axes in without.axes for place in places)


def test_the_names_of_panels_stay_where_a_figure_has_several(tmp_path):
    with house_style():
        from matplotlib.figure import Figure

        figure = Figure()
        for axes, name in zip(figure.subplots(1, 2), ("left panel", "right panel"), strict=True):
            axes.set_title(name)
    save_figure(figure, tmp_path / "f.svg", canvas=Canvas(no_title=True))
    assert [axes.get_title() for axes in figure.axes] == ["left panel", "right panel"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"width": 0.5}, "width=0.5 is not allowed"),
        ({"height": 51.0}, "height=51.0 is not allowed"),
        ({"width": float("nan")}, "width=nan is not allowed"),
        ({"dpi": 5}, "dpi=5 is not allowed"),
        ({"width": 40.0, "height": 40.0, "dpi": 2400}, "96,000 x 96,000 dots"),
        ({"width": 1.0, "height": 1.0}, "leave no room for the figure in 1 x 1 inches"),
    ],
)
def test_a_size_that_is_not_possible_is_refused(tmp_path, given, words):
    with pytest.raises(DomainError, match=words):
        save_figure(drawn("ranks", 2), tmp_path / "f.png", canvas=Canvas(**given))
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(BbedgeError, match=r"pip install matplotlib$"), house_style():
        pass


@pytest.mark.parametrize("models", [3, 9])
def test_the_table_of_views_has_the_ranks_of_every_model_in_every_view(tmp_path, models):
    whole = Certificate.made(suite(("$\\bad{", "<b>", "a_b^c", "math"), models=models))
    with house_style():
        figure = views_figure(whole.view("math"))
        save_figure(figure, tmp_path / "f.pdf")
    (axes,) = figure.axes
    rows, columns = (len(ticks) for ticks in (axes.get_yticklabels(), axes.get_xticklabels()))
    assert (rows, columns) == ((9, 5) if models == 9 else (5, 3))
    cells = np.array([text.get_text() for text in axes.texts]).reshape(rows, columns)
    cells = cells if models == 9 else cells.T
    for column, view in zip(cells.T, (whole, *whole.views), strict=True):
        found = dict(zip(view.names, view.ranks.rank_intervals, strict=True))
        assert column.tolist() == [rank(found[name]) for name in whole.names]


def test_there_is_no_table_of_one_view_or_of_too_many():
    with pytest.raises(DomainError, match="no views besides the headline"):
        views_figure(Certificate.of(CASES["two"]))
    with pytest.raises(DomainError, match="too small to read"):
        views_figure(Certificate.made(suite(tuple(f"v{i}" for i in range(80)), models=2, items=1)))


@pytest.mark.parametrize("draw", [rank_figure, graph_figure, evidence_figure])
def test_the_figure_of_a_view_names_it(tmp_path, draw):
    whole = Certificate.made(suite(("$\\bad{", "math")))
    with house_style():
        figure = draw(whole.view("$\\bad{"))
        save_figure(figure, tmp_path / "f.svg")
    title = "".join(figure.axes[0].get_title(loc=place) for place in ("left", "center"))
    assert title.startswith("$\\bad{: ")
