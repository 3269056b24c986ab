"""The picture of a certificate: its words follow from the certificate, and its size is exact."""

from __future__ import annotations

import re

import numpy as np
import pytest
from PIL import Image

from bbedge.certificate.certificate import Certificate
from bbedge.display.answer import answer
from bbedge.display.hero import CANVAS, MOST_NAMED, headline, hero_figure
from bbedge.display.plotting import COLOURS, house_style, save_figure
from unit.certificate.documents import document

CLOSE = [0.8, 0.78, 0.7, 0.5, 0.45, 0.2]
CASES = {
    "several": (document(CLOSE), "The table says one. The data say 3."),
    "winner": (document([0.95, 0.4, 0.35, 0.3]), "The table says one. The data agree."),
    "two": (document([0.9, 0.1]), "The table says one. The data agree."),
    "two, open": (document([0.52, 0.5]), "The table says one. The data say 2."),
    "no data": (
        document([0.5, 0.6], replicates=0),
        "On these 80 items, nothing is certified yet: there is no complete run.",
    ),
    "many": (document(list(np.linspace(0.95, 0.1, 130)), replicates=1), None),
    "hostile": (document(CLOSE, names=["$\\bad{", "<b>", "x" * 300, "a_b^c", "\u05d0\u05d1", "long name " * 9]), None),
}


def drawn(certificate: Certificate, **options: str):
    with house_style():
        figure = hero_figure(certificate, **options)
        return figure, [text.get_text() for text in figure.axes[0].texts]


@pytest.mark.parametrize("case", CASES)
def test_it_says_how_many_could_be_best(case):
    content, said = CASES[case]
    certificate = Certificate.of(content)
    could = sum(model["certified_below"] == 0 for model in content["models"])
    assert headline(certificate) == said or f"The data say {could}." in headline(certificate)
    figure, words = drawn(certificate, title="Who wins?")
    assert words[0] == "Who wins?"
    assert headline(certificate) in " ".join(words)
    bars = figure.axes[0].patches[: len(content["models"])]
    blue = [bar for bar in bars if bar.get_facecolor()[2] == int(COLOURS[0][5:], 16) / 255]
    assert len(blue) == could
    assert "$ bbedge certify scores.csv" in words


def test_bars_are_the_possible_ranks():
    certificate = Certificate.of(CASES["several"][0])
    figure, _ = drawn(certificate)
    size = len(certificate.names)
    left = min(bar.get_x() for bar in figure.axes[0].patches[:size])
    wide = (768 - 48 - left) / size
    for bar, (best, worst) in zip(figure.axes[0].patches, certificate.ranks.rank_intervals, strict=False):
        assert bar.get_x() == pytest.approx(left + wide * (best - 1))
        assert bar.get_width() == pytest.approx(wide * (worst - best + 1), abs=2.01)


def test_tied_means_are_counted():
    scores = document([0.5, 0.5, 0.1])
    for model in scores["models"]:
        model["mean"] = 0.5
    assert headline(Certificate.of(scores)).startswith("The table says 3. The data say 2.")
    for model in scores["models"]:
        model["mean"] = 0.5 if model["certified_below"] == 0 else 0.1
    assert headline(Certificate.of(scores)) == "The table says 2. The data agree."


def test_an_alarm_is_all_that_is_drawn():
    certificate = Certificate.of(CASES["several"][0], flaw="an edge is missing")
    figure, words = drawn(certificate)
    assert headline(certificate) == answer(certificate).first
    assert headline(certificate).startswith("ALTERED CERTIFICATE")
    assert not figure.axes[0].patches
    assert not any("bbedge certify" in text for text in words)


@pytest.mark.parametrize("case", ["several", "many", "hostile"])
def test_files_have_the_size_of_pictures_of_links(tmp_path, case):
    figure, _ = drawn(Certificate.of(CASES[case][0]))
    files = [tmp_path / "hero.png", tmp_path / "hero.svg"]
    save_figure(figure, *files, canvas=CANVAS)
    with Image.open(files[0]) as picture:
        assert picture.size == (1200, 630)
    points = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', files[1].read_text(encoding="utf-8"))
    assert [float(side) * 96 / 72 for side in points.groups()] == [1200, 630]


def test_few_models_are_named_beside_their_bars_and_of_many_some_that_could_be_best():
    _, words = drawn(Certificate.of(CASES["several"][0]))
    assert {"m00", "m01", "m02", "m03", "m04", "m05"} <= set(words)
    many = Certificate.of(CASES["many"][0])
    _, words = drawn(many)
    could = int((many.ranks.n_better == 0).sum())
    assert [word for word in words if word in many.labels] == list(many.labels[:6])
    assert f"and {could - 6} more" in words
    assert len(CASES["several"][0]["models"]) <= MOST_NAMED < len(many.names)
