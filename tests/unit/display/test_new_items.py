"""What displays say of claims about new items: promise, looks by schedule, both answers, runs that make a score."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from rich.console import Console

import bbedge
from bbedge.certificate.certificate import Certificate
from bbedge.display.answer import answer
from bbedge.display.compact import badge, leaderboard_html, to_latex, to_markdown
from bbedge.display.figures import forest_figure, rank_figure, views_figure
from bbedge.display.forest import certificate_forest
from bbedge.display.hero import hero_figure
from bbedge.display.page import render_page
from bbedge.display.ranking import model_rows
from bbedge.display.scope import (
    alpha_shares,
    error_risk,
    looks_at_new_items,
    needs_of_new_items,
    promise,
    score_of_runs,
    title_with_view,
    view_rows,
    view_share,
)
from bbedge.display.terminal import show_leaderboard
from unit.certificate.documents import suite

BOTH, NEW = {"target": "both"}, {"target": "new-items"}
KIND = "new items of the same kind"
SHOWN = "the probability that anything shown is ever wrong"


def opposing(runs: int, **options) -> Certificate:
    """Each of two models answers items of its own the same in every run: a wins on 35 of 60, b on the other 25."""
    of_a = np.arange(60) < 35
    values = np.stack([of_a, ~of_a]).astype(float)
    # Another item of a third of its kind is a draw: no run is a copy of another.
    panels = np.stack([np.concatenate([values, np.eye(runs)[[r, r]]], axis=1) for r in range(runs)])
    scores = bbedge.Scores.of(panels, models=["a", "b"], items=[f"q{i}" for i in range(60 + runs)])
    return Certificate.made(bbedge.certify(scores, **options))


def drawn(means, *, items=120, runs=3, seed=1, **options) -> Certificate:
    rng = np.random.default_rng(seed)
    values = (rng.random((runs, len(means), items)) < np.array(means)[None, :, None]).astype(float)
    scores = bbedge.Scores.of(
        values, models=[f"m{i}" for i in range(len(means))], items=[f"q{i}" for i in range(items)]
    )
    return Certificate.made(bbedge.certify(scores, **options))


def printed(certificate: Certificate, *, width: int = 120, **options) -> str:
    console = Console(file=io.StringIO(), width=width, no_color=True)
    show_leaderboard(console, certificate, **options)
    return console.file.getvalue()


def everywhere(certificate: Certificate) -> dict[str, str]:
    """What each display says, without markup."""
    page = render_page(certificate)
    return {
        "terminal": " ".join(printed(certificate, width=400).split()),
        "markdown": to_markdown(certificate).replace("<!-- -->", ""),  # which keeps pass@2 from being a mention
        "notebook": re.sub("<[^>]*>", "", leaderboard_html(certificate)),
        "page": re.sub("<[^>]*>", "", re.sub("(?s)<(script|style).*?</", "</", page)),
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, f"For these 120 items, {SHOWN} is at most 5 %, however often you look."),
        (NEW, f"For {KIND}, {SHOWN} is at most 5 %, however often you look."),
        (BOTH, f"For these 120 items and, where new items are named, for {KIND}, both together, {SHOWN} is"),
    ],
)
def test_the_promise_says_which_items_it_is_about(options, words):
    certificate = drawn([0.9, 0.5], **options)
    assert promise(certificate).startswith(words)
    for name, text in everywhere(certificate).items():
        assert words in text or name == "notebook", name
    if options == BOTH:  # a view of it is a part of the same promise, and not of half of it
        assert promise(certificate.view("new items")) == promise(certificate)
        assert error_risk(certificate.view("new items")) == error_risk(certificate)
        assert (view_share(certificate), view_share(certificate.view("new items"))) == ("50 %", "50 %")
        assert alpha_shares(certificate).endswith("half of that, and claims about new items the other half.")


def test_both_answers_are_said_one_after_the_other():
    certificate = opposing(9, **BOTH, planned=9)
    said = answer(certificate)
    assert said.first.startswith("On these 69 items, a beats b; the means differ by 0.")
    assert said.new_items.startswith(f"On {KIND}, either model could be best; a is ahead of b by 0.1449 after 9 runs, ")
    assert said.new_items.endswith(". There is no further look.")
    for name, text in everywhere(certificate).items():
        flat = " ".join(text.replace("\\", "").split())
        assert flat.index("On these 69 items, a beats b") < flat.index(f"On {KIND}, either model"), name
    alone = answer(certificate.view("new items"))
    assert f"{alone.first} {alone.contenders}" == said.new_items
    assert alone.new_items == ""
    assert answer(opposing(9, **NEW, planned=9)).first.startswith(f"On {KIND}, either model could be best; ")
    assert "these 69 items: a" not in str(answer(opposing(9)))


def test_the_same_answer_is_not_said_twice():
    certificate = drawn([0.95, 0.5, 0.05], **BOTH)
    assert answer(certificate).first.endswith("m0 is best: it beats both others.")
    assert answer(certificate).new_items == f"On {KIND}, the answer is the same."
    # The view of new items says it for itself.
    assert answer(certificate.view("new items")).first == f"On {KIND}, m0 is best: it beats both others."


def test_the_ranks_of_both_stand_side_by_side():
    certificate = opposing(9, **BOTH, planned=9)
    assert [(row.rank, row.rank_on_new_items) for row in model_rows(certificate)] == [("1", "1-2"), ("2", "1-2")]
    for width in (80, 120):
        lines = printed(certificate, width=width).splitlines()
        head = next(line for line in lines if "new items" in line and "rank" in line)
        row = next(line for line in lines if re.search(r"\ba\b +0\.5", line))
        assert row[head.index("new items") :].split()[0] == "1-2"
        assert max(map(len, lines)) <= width
    markdown = next(line for line in to_markdown(certificate).splitlines() if line.startswith("| could be"))
    assert [cell.strip() for cell in markdown.split("|")][2:4] == ["rank", "new items"]
    assert r"1 & 1--2 & a &" in to_latex(certificate)
    assert r"Rank & New items & Model" in to_latex(certificate)
    assert {row.rank_on_new_items for row in model_rows(certificate.view("new items"))} == {""}
    assert "New items" not in to_latex(drawn([0.9, 0.5]))
    cells = re.findall('<td role="cell" class="also">([^<]*)</td>', render_page(certificate))
    assert cells == ["1-2", "1-2"]
    assert 'class="also"' not in render_page(opposing(9, **NEW, planned=9)).partition("<body")[2]


def test_two_models_that_are_equal_on_new_items_are_called_so_once():
    certificate = drawn([0.7, 0.7], items=600, runs=6, equal_within=0.2, **BOTH)
    said = str(answer(certificate))
    assert said.count("equal within 0.2") == 2  # on these items, and on new ones
    assert "1 of 1 pair" not in said


def test_the_same_models_are_compared_where_the_order_differs():
    """The headline may have models in another order than its view of new items."""
    certificate = drawn([0.8, 0.75, 0.7, 0.2], **BOTH, looks=[1])
    other = certificate.on_new_items
    assert other is not None
    known = dict(zip(other.names, other.ranks.rank_intervals, strict=True))
    for row, name in zip(model_rows(certificate), certificate.names, strict=True):
        low, high = known[name]
        assert row.rank_on_new_items == (f"{low}-{high}" if low < high else f"{low}")


@pytest.mark.parametrize("options", [BOTH, NEW])
def test_before_the_first_look_nothing_is_shown_as_if_it_were_known(options):
    certificate = drawn([0.9, 0.5, 0.1], **options, looks=[5, 8])
    for each in (certificate, *certificate.views):
        for name, text in everywhere(each).items():
            flat = " ".join(text.split())
            assert "the first look is after 5 runs, and there are 3" in flat or each is not certificate, name
            assert not re.search(r"1e\+?300|-1\.0000|\+1\.0000", flat), name
    about = certificate.on_new_items or certificate
    assert looks_at_new_items(about) == "New items were not looked at yet. The first look is after 5 runs."
    assert f"Open pairs 3 pairs are open; {'the first look is after 5 runs'}" in " ".join(
        everywhere(about)["page"].split()
    )


def test_between_looks_the_next_one_is_named_and_what_the_last_one_certified():
    certificate = drawn([0.95, 0.5, 0.1], **BOTH, looks=[1, 2, 5])
    words = "New items were looked at after 1 and 2 runs: 3 of 3 pairs certified. The next look is after 5 runs."
    assert looks_at_new_items(certificate.view("new items")) == words
    assert looks_at_new_items(certificate) == ""
    for name, text in everywhere(certificate).items():
        assert words in " ".join(text.split()), name
    last = drawn([0.95, 0.5, 0.1], **NEW, looks=[1])
    assert (
        looks_at_new_items(last)
        == "New items were looked at after 1 run: 3 of 3 pairs certified. There is no further look."
    )
    assert printed(last).splitlines()[1] == "bb-edge-x · on new items · 3 models · 120 items · 3 runs"
    assert title_with_view(last, "Ranks") == "New items: Ranks"


def test_what_it_needs_is_said():
    certificate = drawn([0.9, 0.5], **BOTH)
    words = needs_of_new_items(certificate)
    assert words[0] == "Items are independent draws from all those of their kind."
    texts = everywhere(certificate)
    for each in words:
        assert each in texts["page"]
        assert each in texts["markdown"]
        assert each in " ".join(printed(certificate, width=1000, verbose=True).split())
    assert "items are independent draws of their kind, nothing passes between them" in texts["terminal"]
    assert needs_of_new_items(drawn([0.9, 0.5])) == ()
    several = drawn([0.9, 0.5], **NEW, of_runs="all:2")
    assert needs_of_new_items(several)[-1] == "Runs are independent of each other given the item, and made alike."
    assert "runs are independent given the item, and no model" in everywhere(several)["terminal"]
    assert "given the item" not in texts["terminal"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"of_runs": "all:2"}, "A score is 2 runs that all succeed (pass^2). 1 run waits until the next score"),
        ({"of_runs": "any:2"}, "A score is 2 runs of which one succeeds (pass@2). 1 run waits until the next score"),
        ({"of_runs": "all:3"}, "A score is 3 runs that all succeed (pass^3)."),
        ({"of_runs": "all:2", **NEW}, "A score is 2 runs that all succeed (pass^2)."),
    ],
)
def test_how_many_runs_make_a_score_and_which_wait(options, words):
    certificate = drawn([0.9, 0.5], **options)
    assert score_of_runs(certificate).startswith(words)
    assert ("wait" in score_of_runs(certificate)) == ("wait" in words)
    for name, text in everywhere(certificate).items():
        assert words in text, name


def test_runs_that_make_no_score_yet_certify_nothing():
    certificate = drawn([0.9, 0.5], of_runs="all:5")
    assert (
        str(answer(certificate))
        == "On these 120 items, nothing is certified yet: a score is made of 5 runs, and there are 3."
    )
    assert "0.9" not in printed(certificate)


def test_figures_have_both():
    certificate = opposing(9, **BOTH, planned=9)
    ranks = rank_figure(certificate)
    bars = [line.get_segments() for line in ranks.axes[0].collections]
    ends = {round(segment[1][0] - segment[0][0] + 0.3) for segments in bars for segment in segments}
    assert ends == {1, 2}  # a certified rank on these items, both ranks on new ones
    assert "thin: on new items" in ranks.axes[0].get_title(loc="left")
    heads = [text.get_text() for text in views_figure(certificate).axes[0].get_xticklabels()]
    assert heads == ["these items", "new items"]
    assert "new items" not in rank_figure(drawn([0.9, 0.5])).axes[0].get_title(loc="left")
    for each, is_there in ((certificate, True), (certificate.view("new items"), False)):
        forest = certificate_forest(each)
        assert forest is not None
        assert ("thin: on new items" in forest_figure(forest).axes[0].get_xlabel()) == is_there


def test_the_picture_for_a_link_has_both_answers():
    words = " ".join(text.get_text() for text in hero_figure(opposing(9, **BOTH, planned=9)).axes[0].texts)
    assert words.index("On these 69 items, a beats b.") < words.index(f"On {KIND}, either model could be best.")


def test_the_badge_of_a_claim_about_new_items_says_so():
    for each in (drawn([0.95, 0.5, 0.1], **NEW), drawn([0.95, 0.5, 0.1], **BOTH).view("new items")):
        assert "certified #1 of 3 on new items<" in badge(each, "m0")
    assert "certified #1 of 3<" in badge(drawn([0.95, 0.5, 0.1], **BOTH), "m0")


def test_views_of_both_targets_share_what_their_target_has():
    certificate = Certificate.made(suite(("code", "math"), **BOTH))
    assert [name for name, *_ in view_rows(certificate)] == [
        "code",
        "math",
        "new items",
        "code (new items)",
        "math (new items)",
    ]
    assert sum(float(share.split()[0]) for _, share, *_ in view_rows(certificate)) == 75.0  # the headline has the rest
    assert alpha_shares(certificate).endswith("The headline has 50 % of that, and the other views have the rest.")
    assert "in the headline and all 2 other views together" in promise(certificate)
    math = certificate.view("math")
    assert math.on_new_items is certificate.view("math (new items)")
    assert answer(math).first.startswith("On these 40 items, 3 of 5 models could be best; ")
    assert answer(math).new_items.startswith(f"On {KIND}, ")
