"""What every display says of views and of missing scores."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import pytest
from msgspec import structs
from rich.console import Console

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import rank
from bbedge.core.conclusions import GapCount
from bbedge.core.leaderboard import certify_design
from bbedge.display.compact import badge, leaderboard_html
from bbedge.display.scope import alpha_shares, item_count, missing_scores, promise, view_rows
from bbedge.display.terminal import show_leaderboard
from unit.certificate.documents import certified, drawn, suite

SUITE = suite(("code", "math", "law"))
WHOLE = Certificate.made(SUITE)


def printed(shown: Certificate, **options) -> str:
    console = Console(file=io.StringIO(), width=120, no_color=True)
    show_leaderboard(console, shown, **options)
    return console.file.getvalue()


def test_the_terminal_has_a_line_for_each_view():
    lines = printed(WHOLE).splitlines()
    for view in WHOLE.views:
        line = next(line for line in lines if line.startswith(view.name))
        assert f"{view.ranks.n_resolved} of 10 pairs" in line
        assert f"{view.labels[0]}, rank" in line
        assert "16.7 %" in line
    assert "add --view NAME" in printed(WHOLE)
    assert "2 more views; add --view NAME" in printed(WHOLE, most_rows=1)
    assert "view" not in printed(Certificate.made(certified(drawn([0.9, 0.5]))))


def test_the_terminal_shows_a_view_in_full():
    text = printed(WHOLE.view("math"))
    assert text.splitlines()[1] == "bb-edge-x · view math · 5 models · 40 of 120 items · 4 runs"
    named = re.findall(r"\d(?:-\d)? +\S+ +(m0\d) ", text.split("could be   rank")[1].split("pairs certified")[0])
    assert named == list(WHOLE.view("math").names)
    read = Certificate.of(json.loads(WHOLE.to_json()))
    assert printed(read.view("math"), verbose=True) == printed(WHOLE.view("math"), verbose=True)
    assert printed(read, verbose=True) == printed(WHOLE, verbose=True)


def test_what_intervals_of_means_use_of_alpha_is_said():
    scores = drawn([0.9, 0.5])
    asked = certify_design(scores, scores.design(mean_share=0.1)).certificate()
    words = "Comparisons use 70 % of alpha, margins 20 % and intervals of means 10 %, so all hold together."
    assert alpha_shares(asked) == words
    plain = certify_design(scores, scores.design()).certificate()
    assert alpha_shares(plain) == "Comparisons use 80 % of alpha and margins 20 %, so both hold together."


def test_the_promise_is_about_all_views_together():
    for certificate in (WHOLE, WHOLE.view("law")):
        assert "in the headline and all 3 other views together" in promise(certificate)
    assert "The headline has 50 % of that, and the other views have the rest." in alpha_shares(WHOLE)
    assert "This view has 16.67 % of that, and the other views have the rest." in alpha_shares(WHOLE.view("law"))
    alone = Certificate.made(SUITE.view("law"))
    assert "together with all other views of the design" in promise(alone)


def test_a_line_says_who_leads_and_whether_that_is_certified():
    console = Console(file=io.StringIO(), width=120, force_terminal=True, color_system="standard")
    show_leaderboard(console, WHOLE)
    green = [text.strip() for text in re.findall(r"\x1b\[32m(.*?)\x1b", console.file.getvalue())]
    for (name, _, count, _, leader), view in zip(view_rows(WHOLE), WHOLE.views, strict=True):
        assert (name, count) == (view.name, "40")
        assert leader == f"{view.labels[0]}, rank {rank(view.ranks.rank_intervals[0])}"
        assert (leader in green) == (view.ranks.rank_intervals[0] == (1, 1))


def test_weighted_items_are_said_to_be_weighted():
    scores = drawn([0.9, 0.5])
    weighted = Certificate.made(certified(scores, weights=[2.0] + [1.0] * 78 + [0.0]))
    assert item_count(weighted) == "79 of 80 items, weighted"
    assert item_count(Certificate.made(certified(scores, weights=[1.0] * 80))) == "80 items"


@pytest.mark.parametrize(
    ("of_models", "if_means", "words"),
    [
        ((0, 1, 0, 0, 0), None, "1 score is missing (m01: 1)."),
        (
            (0, 3, 0, 1, 0),
            9,
            "4 scores are missing (m01: 3, m03: 1). If the missing scores had been their models' means, 9 pairs would "
            f"be certified, not {WHOLE.ranks.n_resolved}: a hint, not a claim.",
        ),
    ],
)
def test_missing_scores_are_named_with_their_models_and_what_they_cost(of_models, if_means, words):
    shown = Certificate.made(replace(SUITE, gaps=GapCount(of_models=of_models, resolved_if_means=if_means)))
    assert missing_scores(shown) == words
    assert words in " ".join(printed(shown).split())


def test_few_models_are_named_where_many_miss_scores():
    shown = Certificate.made(replace(suite(models=8), gaps=GapCount(of_models=tuple(range(1, 9)))))
    assert missing_scores(shown) == "36 scores are missing (m07: 8, m06: 7, m05: 6, m04: 5, m03: 4, 3 more models)."
    design = structs.replace(SUITE.design, gaps="worst-case")
    strict = Certificate.made(replace(SUITE, design=design, gaps=GapCount(of_models=(2, 0, 0, 0, 0))))
    assert missing_scores(strict) == "2 scores are missing (m00: 2); each counts against whichever model it could help."
    assert missing_scores(WHOLE) == ""


def test_a_notebook_has_a_line_for_each_view_and_escapes_their_names():
    named = replace(SUITE, views=(replace(SUITE.views[0], name="<b>"),))
    html = leaderboard_html(Certificate.made(named))
    view = SUITE.views[0].certificate()
    assert f"&lt;b&gt;</bdi>: {view.ranks.n_resolved:,} of 10 pairs" in html
    assert "<b></bdi>" not in html
    assert "math" in leaderboard_html(WHOLE.view("math")).split("<table")[0]


def test_a_badge_names_its_view():
    model = WHOLE.names[0]
    assert ">certified #" in badge(WHOLE, model)
    assert "of 5 in math<" in badge(WHOLE.view("math"), model)
