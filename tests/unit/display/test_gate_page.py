"""The page of a gate: the verdict, the forest of the claims, and what would decide them, in one safe file."""

import html
import re

import pytest

from bbedge.display.gate import advice, interval, sentence
from bbedge.display.page.gate import claim_forests, history_page, report_page
from bbedge.gate import Policy
from bbedge.records.gate import GateHistory, GateUse
from unit.display.test_gate_display import report, result

HOSTILE = '<script>window.hit=1</script> & "b"'


def text_of(page: str) -> str:
    return " ".join(
        html.unescape(
            re.sub("</?bdi>", "", re.sub("<(?!/?bdi).*?>", " ", page.split("</style>")[1], flags=re.DOTALL))
        ).split()
    )


def of_policy(**options) -> Policy:
    return report(**options).policy


def history(*uses: GateUse, **options) -> GateHistory:
    policy = of_policy(spending="ledger", **options)
    return GateHistory(policy=policy, uses=uses, next_level=0.01, head="f" * 64)


def test_the_answer_comes_first_and_is_what_a_link_shows():
    given = report(result(), result(view="safety", verdict="OPEN", bounds=(-0.2, 0.2)))
    page, said = report_page(given), sentence(given)
    assert f'<meta name="description" content="{said}">' in page
    assert f'<meta property="og:description" content="{said}">' in page
    assert "<title>Gate: new against main</title>" in page
    assert '<link rel="icon" href="data:image/svg+xml,' in page
    shown = text_of(page)
    start = "Gate: new against main Undecided 1 blocking claim is not decided yet, 1 passed. A pipeline that runs"
    assert shown.startswith(start)
    assert "100 items · 1 PASS, 1 OPEN" in shown
    words = advice(given, given.results[1])
    assert words
    assert f"What would decide the open claim new, not worse by more than 0.02 in safety: {words}." in shown


@pytest.mark.parametrize(
    ("verdict", "tier", "said"),
    [
        ("PASS", "block", "goes on (exit code 0). "),
        ("FAIL", "warn", "goes on (exit code 0). Claims of tier warn change nothing about that."),
        ("FAIL", "block", "stops (exit code 1). "),
        ("OPEN", "block", "stops without a verdict (exit code 3). "),
        ("CONTRADICTION", "block", "stops without a verdict (exit code 5). "),
    ],
)
def test_it_says_what_follows_from_the_verdict(verdict, tier, said):
    given = report(result(), result(verdict, view="math", tier=tier))
    assert f"A pipeline that runs this gate {said}" in text_of(report_page(given))
    assert f"(exit code {given.exit_code})" in said


def test_it_says_which_scores_and_what_is_assumed():
    given = report(result())
    page = text_of(report_page(given, sources={"runs/a.csv": "a" * 64, HOSTILE: "b" * 64}))
    assert f"runs/a.csv {'a' * 64} {HOSTILE} {'b' * 64} Policy {given.policy.hash}" in page
    assert "Runs are independent of each other: no shared cache, seed or judge state." in page
    assert "none was left out because of its scores" not in page
    shared = report_page(report(result(), spending="ledger"))
    assert "Every use of the gate is in its ledger, and none was left out because of its scores." in text_of(shared)


def test_it_is_one_file_that_asks_nobody_and_runs_nothing():
    policy = html.unescape(re.search('Content-Security-Policy" content="(.*?)"', report_page(report(result())))[1])
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "script-src" not in policy
    for page in (report_page(report(result())), history_page(history())):
        assert not re.search(r"<script|https?://(?!www\.w3\.org)|url\(|@import", page)
        assert page.isascii()


def test_hostile_names_stay_text():
    given = report(
        result(candidate=HOSTILE, view=HOSTILE, verdict="OPEN"),
        notes=(HOSTILE,),
        candidates=(HOSTILE,),
        baseline=f"{HOSTILE}-",
    )
    use = GateUse(number=1, level=0.01, at="2026-11-01T10:00:00+00:00", label=HOSTILE, report=given)
    for page in (report_page(given, meaning=[HOSTILE]), history_page(history(use))):
        assert "<script" not in page
        assert HOSTILE in text_of(page)


@pytest.mark.parametrize(
    ("given", "kind", "bars"),
    [
        (result(), "better", (-0.02,)),
        (result("FAIL", bounds=(-0.3, -0.1)), "worse", (-0.02,)),
        (result("OPEN", kind="better_by", amount=0.05), "open", (0.05,)),
        (result("CONTRADICTION", bounds=(0.1, -0.1)), "none", (-0.02,)),
        (result(kind="equal_within", amount=0.05), "equal", (-0.05, 0.05)),
        (result("FAIL", kind="equal_within", amount=0.05), "worse", (-0.05, 0.05)),
        (result(kind="at_least", amount=0.7), "better", ()),
    ],
)
def test_a_row_is_drawn_as_its_verdict_says(given, kind, bars):
    (forest,) = claim_forests(report(given))
    (row,) = forest.rows
    assert row.spans == ((given.lower, given.upper, kind),)
    assert row.bars == bars
    assert row.point == given.difference
    assert row.cells == (given.verdict, "+0.0100", interval(given))
    assert ("Dashed" in forest.notes[0]) is bool(bars)


def test_costs_have_a_scale_of_their_own_and_candidates_are_named_where_there_are_several():
    claims = (result(), result(candidate="other", tier="warn"), result(kind="cheaper_by", amount=0.1, view="cost"))
    scores, costs = claim_forests(report(*claims, candidates=("new", "other")))
    assert [row.label for row in scores.rows] == [
        "new, not worse by more than 0.02",
        "other, not worse by more than 0.02 (warn)",
    ]
    assert [row.label for row in costs.rows] == ["new, cheaper by at least 10 % in cost"]
    assert "Claims about costs" in report_page(report(*claims, candidates=("new", "other")))


def test_a_contradiction_is_shouted():
    page = text_of(report_page(report(result("CONTRADICTION", bounds=(0.1, -0.1)))))
    assert page.startswith("Gate: new against main CONTRADICTION no verdict, because the runs contradict each other")
    assert "Check which system each run belongs to" in page
    assert "run by run: +0.3100, -0.2900" in page


def test_uses_are_listed_latest_first_with_what_is_left():
    uses = [
        GateUse(number=1, level=0.02, at="2026-10-01T10:00:00+00:00", label="a1", report=report(result())),
        GateUse(number=2, level=0.01, at="2026-10-05T10:00:00+00:00", label="b2", report=report(result("FAIL"))),
        GateUse(number=3, level=0.005, at="2026-10-06T10:00:00+00:00", label="c3"),
    ]
    page = history_page(history(*uses))
    rows = [
        [html.unescape(re.sub("<.*?>", "", cell)) for cell in re.findall("<td.*?</td>", row)]
        for row in re.findall("<tr>.*?</tr>", page.split("<tbody>")[1])
    ]
    assert rows == [
        ["3", "2026-10-06", "c3", "running", "", "", "0.5 %"],
        ["2", "2026-10-05", "b2", "stop", "1 FAIL", "4", "1 %"],
        ["1", "2026-10-01", "a1", "ship", "1 PASS", "4", "2 %"],
    ]
    assert "3 uses of the gate, 3.5 % of 5 % spent; the next use has 1 %." in text_of(page)
    assert f"Head {'f' * 64}" in text_of(page)
