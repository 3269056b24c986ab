"""The first sentences of every display, and the rows below them."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO

import msgspec
import numpy as np
import pytest
from rich.console import Console

import bbedge
from bbedge.certificate.certificate import Certificate
from bbedge.core.leaderboard import certify_design, pilot_design
from bbedge.display.answer import answer
from bbedge.display.compact import leaderboard_html
from bbedge.display.page import render_page
from bbedge.display.ranking import difference_interval, model_rows
from bbedge.display.terminal import show_leaderboard


def drawn(means, *, items=200, replicates=3, seed=1, **options) -> Certificate:
    rng = np.random.default_rng(seed)
    values = (rng.random((replicates, len(means), items)) < np.array(means)[None, :, None]).astype(float)
    return Certificate.made(bbedge.certify(named(values), **options))


def named(values) -> bbedge.Scores:
    return bbedge.Scores.of(
        values, models=[f"m{i}" for i in range(values.shape[1])], items=[f"q{i}" for i in range(values.shape[2])]
    )


def test_the_best_model_is_named_and_called_best():
    said = answer(drawn([0.9, 0.5, 0.2]))
    assert said.first == "On these 200 items, m0 is best: it beats both others."
    assert said.contenders == ""
    assert said.risk == "At most 5 % risk that anything here is wrong."


def test_how_many_could_be_best_comes_before_who_has_the_highest_mean():
    certificate = drawn([0.9, 0.88, 0.3, 0.28])
    means = dict(zip(certificate.labels, certificate.means, strict=True))
    assert str(answer(certificate)) == (
        f"On these 200 items, 2 of 4 models could be best; {max(means, key=means.get)} has the highest mean. "
        "Could be best: "
        f"{', '.join(certificate.labels[:2])}. At most 5 % risk that anything here is wrong."
    )


def with_means(certificate: Certificate, **means: float) -> Certificate:
    """The same certificate with other means, by label."""
    found = (means.get(label, mean) for label, mean in zip(certificate.labels, certificate.means, strict=True))
    return replace(certificate, means=tuple(found))


def test_equal_highest_means_are_named_together():
    certificate = drawn([0.9, 0.88, 0.86, 0.3])
    assert answer(certificate).first == "On these 200 items, 3 of 4 models could be best; m0 has the highest mean."
    two = with_means(certificate, m0=0.9, m1=0.9, m2=0.8)
    assert answer(two).first == "On these 200 items, 3 of 4 models could be best; m0 and m1 have the highest mean."
    three = with_means(certificate, m0=0.9, m1=0.9, m2=0.9)
    assert (
        answer(three).first == "On these 200 items, 3 of 4 models could be best; m0 and 2 more have the highest mean."
    )


def test_a_higher_mean_of_a_model_that_cannot_be_best_is_not_passed_over():
    certificate = with_means(drawn([0.9, 0.88, 0.3, 0.28]), m2=0.99)
    assert (
        answer(certificate).first
        == "On these 200 items, 2 of 4 models could be best; of these, m0 has the highest mean."
    )


def test_a_long_list_of_contenders_is_cut():
    said = answer(drawn([0.6] * 12 + [0.05]))
    assert said.first.startswith("On these 200 items, 12 of 13 models could be best; ")
    assert said.contenders.startswith("Could be best: m")
    assert said.contenders.endswith(" and 4 more.")


def test_two_models_with_the_difference_that_is_certain():
    certificate = drawn([0.9, 0.3])
    found = re.fullmatch(
        r"On these 200 items, m0 beats m1; the means differ by (.*), "
        r"and the true difference lies between (.*) and (.*)\.",
        answer(certificate).first,
    )
    seen, low, high = map(float, found.groups())
    assert seen == pytest.approx(certificate.means[0] - certificate.means[1], abs=5e-5)
    assert 0.0 <= certificate.margins[0, 1] - low < 1e-4
    assert 0.0 <= high + certificate.margins[1, 0] < 1e-4


def test_nothing_certified_says_what_was_seen_and_what_is_needed():
    certificate = drawn([0.55, 0.5], items=60)
    said = answer(certificate)
    assert said.first.startswith(f"On these 60 items, either model could be best; {certificate.labels[0]} is ahead of ")
    assert ", and the true difference lies between -" in said.first
    assert "more runs are" in said.contenders.lower()


@pytest.mark.parametrize(
    ("forecast", "words"),
    [
        ((1, 1), "About one more run is likely needed."),
        ((3, 20), "About 3 to 20 more runs are likely needed."),
        ((2000, 9000), "Thousands more runs are likely needed."),
        (None, "More runs are needed; there is no trend yet that says how many."),
    ],
)
def test_a_forecast_in_words(forecast, words):
    certificate = drawn([0.55, 0.5], items=60)
    first = msgspec.structs.replace(certificate.content.outlook[0], more_replicates=forecast)
    content = msgspec.structs.replace(certificate.content, outlook=(first,))
    assert answer(replace(certificate, content=content)).contenders == words


def test_the_forecast_is_that_of_the_comparison_that_may_be_decided_first_in_whatever_order_they_are_listed():
    certificate = drawn([0.55, 0.5, 0.45], items=60)
    listed = [
        msgspec.structs.replace(each, more_replicates=forecast)
        for each, forecast in zip(certificate.content.outlook, [(9, 40), (2, 7), None], strict=True)
    ]
    for order in (listed, listed[::-1]):
        content = msgspec.structs.replace(certificate.content, outlook=tuple(order))
        said = answer(replace(certificate, content=content)).contenders
        assert "About 2 to 7 more runs are likely needed" in said
    assert (
        answer(certificate).first
        == f"On these 60 items, all 3 models could be best; {certificate.labels[0]} has the highest mean."
    )
    assert answer(certificate).contenders.startswith(f"Nothing is certified yet; {certificate.labels[0]} is ahead of ")


def test_no_run_at_all():
    assert str(answer(Certificate.made(bbedge.Certifier(named(np.zeros((1, 2, 3))).design()).leaderboard()))) == (
        "On these 3 items, nothing is certified yet: there is no complete run."
    )


def test_the_published_method_makes_two_promises():
    assert answer(drawn([0.9, 0.2], method="bb-edge")).risk == (
        "At most 5 % risk that any certified comparison is wrong, and 5 % that any margin is."
    )


def test_tau_is_part_of_the_answer():
    assert "it beats both others by more than 0.02" in str(answer(drawn([0.9, 0.5, 0.1], tau=0.02)))


def test_groups_are_contiguous_and_unordered_inside():
    certificate = drawn([0.9, 0.85, 0.6, 0.58, 0.56, 0.2], seed=3)
    above = certificate.graph.above
    found: dict[int, list[int]] = {}
    for row in model_rows(certificate):
        found.setdefault(row.ranks[0], []).append(row.index)
    assert [index for members in found.values() for index in members] == list(range(6))
    assert list(found) == sorted(found)
    for best, members in found.items():
        assert not above[np.ix_(members, members)].any()
        assert all(int(certificate.ranks.n_better[i]) == best - 1 for i in members)


def test_a_cut_is_a_line_that_separates_everything():
    certificate = drawn([0.9, 0.88, 0.3, 0.28])
    above = certificate.graph.above
    for row in model_rows(certificate)[1:]:
        assert row.cut_above == bool(above[: row.index, row.index :].all())


def test_the_difference_to_the_leader_is_within_the_margins():
    certificate = drawn([0.9, 0.8, 0.5, 0.2])
    leader, *others = model_rows(certificate)
    assert leader.behind == leader.behind_interval == ""
    for row in others:
        low, high = map(float, row.behind_interval.split(" to "))
        assert low <= certificate.margins[row.index, 0] <= low + 1e-4
        assert high - 1e-4 <= -certificate.margins[0, row.index] <= high or high == 0.0
        assert low <= float(row.behind) <= high


def test_a_certified_comparison_is_never_shown_with_the_other_sign():
    certificate = drawn([0.62, 0.5, 0.4], items=120, replicates=4, seed=8)
    above = certificate.graph.above
    assert above.any()
    for a, b in np.argwhere(above).tolist():
        assert not difference_interval(certificate, a, b).startswith("-")


def test_what_was_not_tested_is_not_given_bounds():
    scores = named(np.random.default_rng(0).random((4, 4, 30)))
    design = pilot_design(scores, k=2, pilot=1)
    certificate = Certificate.made(certify_design(scores, design, pilot=1))
    inside = [certificate.names.index(name) for name in certificate.candidate]
    outside = [i for i in range(4) if i not in inside]
    assert difference_interval(certificate, *inside) == "not tested"
    assert difference_interval(certificate, inside[0], outside[0]).startswith("at least ")
    assert difference_interval(certificate, outside[0], inside[0]).startswith("at most ")


def overturned(**options) -> Certificate:
    """The first run certifies m0 over m1, the others the opposite: either comparison stands."""
    rng = np.random.default_rng(5)
    means = np.array([[0.9, 0.4, 0.3]] + 7 * [[0.3, 0.9, 0.3]])
    return Certificate.made(
        bbedge.certify(named((rng.random((8, 3, 200)) < means[:, :, None]).astype(float)), **options)
    )


def test_an_interval_that_contradicts_itself_is_called_that():
    certificate = overturned()
    assert certificate.content.contradictions == (("m0", "m1"),)
    assert difference_interval(certificate, *map(certificate.names.index, ("m0", "m1"))) == "contradiction"
    assert [row.behind_interval for row in model_rows(certificate)[:2]] == ["", "contradiction"]
    out = StringIO()
    show_leaderboard(Console(file=out, width=120), certificate)
    assert "of threshold" not in out.getvalue()
    assert "For these" not in out.getvalue()
    assert "remains valid" not in render_page(certificate)


def near(difference: float, **options) -> Certificate:
    """Scores that vary little: an upper bound of the difference is close to it."""
    rng = np.random.default_rng(2)
    values = np.array([0.6 + difference, 0.6])[None, :, None] + rng.normal(0.0, 0.05, (4, 2, 1000))
    return Certificate.made(bbedge.certify(named(values.clip(0.0, 1.0)), **options))


def test_more_runs_are_not_called_for_where_the_difference_is_below_tau():
    said = answer(near(0.05, tau=0.1))
    assert said.first.startswith(
        "On these 1,000 items, no difference above 0.1 is certified yet; m0 is ahead of m1 by 0.0"
    )
    assert said.contenders == "The intervals show that no difference is above 0.1, so more runs will not certify one."
    assert "will not certify" not in answer(near(0.1, tau=0.1)).contenders


def test_a_model_that_is_worse_by_less_than_tau_is_not_said_to_be_possibly_best():
    rng = np.random.default_rng(2)
    values = np.array([0.65, 0.6, 0.2])[None, :, None] + rng.normal(0.0, 0.05, (4, 3, 1000))
    certificate = Certificate.made(bbedge.certify(named(values.clip(0.0, 1.0)), tau=0.1))
    assert difference_interval(certificate, 1, 0).count("-") == 2  # certified worse
    assert str(answer(certificate)).startswith(
        "On these 1,000 items, 2 of 3 models could be best or within 0.1 of the best; m0 has the highest mean. "
        "Could be best: m0, m1."
    )
    assert "could be 1st may be worse than the best by 0.1 or less." in render_page(certificate)
    assert "may be worse than the best" not in render_page(drawn([0.9, 0.3]))


def test_a_notebook_counts_in_good_english():
    said = leaderboard_html(drawn([0.9, 0.3], replicates=1))
    assert "1 of 1 pair certified after 1 run, bb-edge-x" in said
    assert "1 more model<" in leaderboard_html(drawn([0.5] * 51, items=10))
    assert "<p><b>CONTRADICTION: m0 and m1 are each certified better" in leaderboard_html(overturned())
