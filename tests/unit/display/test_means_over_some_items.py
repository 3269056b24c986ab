"""A mean over some of the items is shown as that, compared with no other mean, and makes no model the leader."""

import io
import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from rich.console import Console

from bbedge import Scores, certify
from bbedge.board import Board, BoardDesign
from bbedge.certificate.certificate import Certificate
from bbedge.certificate.exports import to_graphml
from bbedge.certificate.numbers import comparable, difference, mean_items, over
from bbedge.core.panels import scored_items
from bbedge.display.answer import answer
from bbedge.display.figures import rank_figure
from bbedge.display.page import render_page
from bbedge.display.page.charts import cost_plots
from bbedge.display.page.table import ModelInfo, PageView
from bbedge.display.scope import view_rows
from bbedge.display.terminal import show_leaderboard
from bbedge.errors import FormatError
from bbedge.records.certificate import Document
from unit.certificate.documents import checked

ITEMS, EASY = 60, 10
WORDS = f"{EASY} of {ITEMS} items"


def scored(*, shares=(0.6, 0.58, 0.55), short=("short",), names=("full a", "full b", "short"), runs=2):
    """Runs in which some models have scores on the easy items only, all of which everybody solves."""
    rng = np.random.default_rng(4)
    values = (rng.random((runs, len(names), ITEMS)) < np.array(shares)[:, None]).astype(float)
    values[:, :, :EASY] = 1.0
    for place, name in enumerate(names):
        if name in short:
            values[:, place, EASY:] = np.nan
    categories = ["easy" if item < EASY else "hard" for item in range(ITEMS)]
    return Scores(
        models=names,
        items=tuple(f"q{item}" for item in range(ITEMS)),
        blocks=tuple(f"q{item}" for item in range(ITEMS)),
        replicates=tuple(str(run + 1) for run in range(runs)),
        values=values,
        gaps="worst-case",
        columns={"level": tuple(categories)},
    )


def made(**options) -> Certificate:
    return Certificate.made(certify(scored(**options)))


def printed(shown: Certificate) -> str:
    console = Console(file=io.StringIO(), width=120, no_color=True)
    show_leaderboard(console, shown)
    return console.file.getvalue()


def test_the_document_says_what_each_mean_is_over():
    document = made().document
    assert [model["name"] for model in document["models"]][-1] == "short"
    assert document["models"][-1]["mean"] == 1.0
    assert [model.get("mean_items") for model in document["models"]] == [None, None, EASY]
    # A document is read with the same facts, and refused if no score may be missing.
    read = Certificate.of(document)
    assert mean_items(read) == (ITEMS, ITEMS, EASY)
    assert [over(read, i) for i in range(3)] == ["", "", WORDS]
    assert comparable(read) == [0, 1]
    assert difference(read, 0, 2) is difference(read, 2, 1) is None
    assert difference(read, 0, 1) == pytest.approx(read.means[0] - read.means[1])
    del document["design"]["gaps"]
    with pytest.raises(FormatError, match="over some items, and no score may be missing"):
        checked(document)


def test_items_that_were_scored_once_count():
    panels = np.full((3, 2, 4), np.nan)
    panels[0, 0, 0] = panels[2, 0, 3] = panels[1, 1] = 1.0
    assert scored_items(panels).tolist() == [[True, False, False, True], [True] * 4]
    values = scored().values.copy()
    values[1] = np.nan_to_num(values[1], nan=0.0)
    assert mean_items(Certificate.made(certify(replace(scored(), values=values)))) == (ITEMS,) * 3


def test_every_display_says_what_the_mean_is_over():
    shown = made()
    for text in (printed(shown), shown.to_markdown(), shown._repr_html_(), shown.to_latex(), render_page(shown)):
        assert WORDS in text
    assert PageView.from_certificate(shown).for_script()["mean_of"] == ["", "", WORDS]
    assert ">10</data>" in to_graphml(shown)
    frame = shown.leaderboard.to_frame()
    assert frame["mean_items"].to_list() == [ITEMS, ITEMS, EASY]
    pairs = shown.leaderboard.pairs_frame()
    assert all((row["difference"] is None) == ("short" in (row["model"], row["other"])) for row in pairs.to_dicts())
    assert "dot" not in rank_figure(shown).axes[0].get_title()
    whole = made(short=())
    assert "mean_items" not in whole.leaderboard.to_frame().columns
    assert " of 60 items" not in printed(whole)


def test_no_sentence_chooses_a_leader_by_such_a_mean():
    said = answer(made()).contenders
    assert answer(made()).first == "On these 60 items, all 3 models could be best."
    assert "full a is ahead of full b" in said or "full b is ahead of full a" in said
    assert f"the mean of short is over {WORDS}, so it is not compared" in said
    none = answer(made(short=("full b", "short"))).contenders
    assert "the means cannot be compared, because they are over different items." in none
    assert "ahead" not in none
    assert (
        "2 means over some of the items are not compared"
        in answer(made(names=("a", "b", "c", "d"), shares=(0.6, 0.5, 0.4, 0.3), short=("c", "d"))).contenders
    )


def test_a_model_that_may_be_best_on_other_items_leaves_no_leader():
    shown = made(names=("a", "b", "low", "short"), shares=(0.95, 0.94, 0.0, 0.9), runs=6)
    assert shown.ranks.n_resolved
    said = answer(shown).first
    assert said == "On these 60 items, 3 of 4 models could be best."
    whole = made(names=("a", "b", "low", "short"), shares=(0.95, 0.94, 0.0, 0.9), runs=6, short=())
    assert "a has the highest mean" in answer(whole).first


def test_differences_to_such_a_mean_are_not_shown():
    (row,) = re.findall(rf"short +1\.0000 +{WORDS} .*", printed(made()))
    assert re.search(rf"{WORDS} +- ", row)
    info = ModelInfo.from_rows(["price"], {"full a": ["1"], "full b": ["2"], "short": ["3"]})
    (plot,) = cost_plots(made(), info.columns)
    assert (len(plot.points), plot.partial, plot.unknown) == (2, 1, 0)
    assert "1 model with a mean over some of the items is not drawn." in render_page(made(), model_info=info)
    assert not cost_plots(made(short=("full a", "full b", "short")), info.columns)


def test_views_count_their_own_items():
    scores = scored()
    leaderboard = certify(
        scores, views={"easy": [i < EASY for i in range(ITEMS)], "hard": [i >= EASY for i in range(ITEMS)]}
    )
    shown = Certificate.of(Certificate.made(leaderboard).document)
    assert mean_items(shown.view("easy")) == (EASY,) * 3
    assert dict(zip(shown.view("hard").names, shown.view("hard").means, strict=True))["short"] is None
    leaders = {name: leader for name, *_, leader in view_rows(shown)}
    assert leaders["easy"] != "means over different items"


def test_a_board_counts_the_items_of_all_its_replicates(tmp_path):
    scores = scored()
    design = BoardDesign(incomplete="worst-case")
    board = Board.create(tmp_path / "b.db", design, models=scores.models, items=scores.items)
    board.add(scores)
    assert board.leaderboard().mean_items == (ITEMS, ITEMS, EASY)
    shown = board.certificate()
    assert mean_items(shown) == (ITEMS, ITEMS, EASY)
    assert shown.names[-1] == "short"
    assert all(a >= b for a, b in pairwise(mean for mean in shown.means[:2]))
    # What is said of pairs is in the order of the models.
    read = Certificate.of(json.loads(shown.to_json()))
    assert np.array_equal(read.margins, shown.margins, equal_nan=True)
    assert isinstance(shown.content, Document)
