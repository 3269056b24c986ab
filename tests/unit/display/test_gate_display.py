"""The report of a gate as a sentence, a terminal's table, Markdown and JUnit XML."""

import io
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from bbedge.core.scores import Scores
from bbedge.display.gate import advice, contradiction, fixed_amounts, interval, junit, markdown, render, sentence
from bbedge.gate import Claim, ClaimResult, GateReport, Policy, gate
from bbedge.records.gate import ClaimOutlook, LookResult

BAR = {"not_worse_by": -1.0, "better_by": 1.0, "at_least": 0.0, "cheaper_by": 0.0, "equal_within": -1.0}


OUTLOOK = ClaimOutlook(more_runs=4, items=1100, amount=0.05)


def result(verdict="PASS", *, candidate="new", difference=0.01, bounds=(-0.01, 0.03), outlook=None, **claim):
    claim = Claim(**({"kind": "not_worse_by", "amount": 0.02} | claim))
    return ClaimResult(
        claim=claim,
        candidate=candidate,
        verdict=verdict,
        since=None if verdict == "OPEN" else 1,
        difference=difference,
        lower=bounds[0],
        upper=bounds[1],
        bar=BAR[claim.kind] * claim.amount,
        log_e=5.0,
        log_e_against=-1.0,
        log_threshold=3.7,
        looks=(
            LookResult(replicate=1, fraction=0.5, verdict="OPEN", lower=-1.0, upper=1.0, difference=None),
            LookResult(replicate=1, verdict="PASS", lower=-0.01, upper=1.0, difference=0.31),
            LookResult(replicate=2, verdict="FAIL", lower=-1.0, upper=0.03, difference=-0.29),
        ),
        outlook=outlook or (OUTLOOK if verdict == "OPEN" else None),
    )


def report(*results, replicates=4, notes=(), **options):
    """Every claim's own policy does not matter here: only what is open and which names there are."""
    policy = Policy(
        **(
            {
                "candidates": ("new",),
                "baseline": "main",
                "claims": (Claim(kind="not_worse_by", amount=0.02),),
                "views": "topic",
            }
            | options
        )
    )
    return GateReport(policy=policy, replicates=replicates, items=100, results=results, notes=notes)


def words(text):
    return " ".join(text.split())


def printed(given):
    console = Console(file=io.StringIO(), width=200, color_system=None)
    console.print(render(given))
    return console.file.getvalue()


# The sentence ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            report(result()),
            "Ship: new is not worse than main by more than 0.02; at most 5 % risk on these items; 4 runs.",
        ),
        (
            report(result(amount=0.0), replicates=1),
            "Ship: new is not worse than main; at most 5 % risk on these items; 1 run.",
        ),
        (
            report(result(view="math"), result(view="code"), alpha=0.01),
            "Ship: new is not worse than main by more than 0.02 in each of 2 views; "
            "at most 1 % risk on these items; 4 runs.",
        ),
        (
            report(result(), result(view="math")),
            "Ship: new is not worse than main by more than 0.02 overall and in math; "
            "at most 5 % risk on these items; 4 runs.",
        ),
        (
            report(result(kind="better_by", amount=0.01), result(kind="at_least", amount=0.9)),
            "Ship: new is better than main by more than 0.01; new scores at least 0.9; "
            "at most 5 % risk on these items; 4 runs.",
        ),
        (
            report(result(kind="cheaper_by", amount=0.1)),
            "Ship: new is at least 10 % cheaper than main; at most 5 % risk on these items; 4 runs.",
        ),
        (
            report(result("FAIL")),
            "Stop: new is worse than main by at least 0.02; at most 5 % risk on these items; 4 runs.",
        ),
        (
            report(result("FAIL", view="math"), result("FAIL", kind="at_least", amount=0.9), result()),
            "Stop: new is worse than main by at least 0.02 in math; new scores at most 0.9; "
            "at most 5 % risk on these items; 4 runs.",
        ),
        (
            report(*(result("FAIL", view=f"v{i}", amount=0.0) for i in range(5))),
            "Stop: new is not better than main in v0; new is not better than main in v1; new is not better than main "
            "in v2, and 2 more; at most 5 % risk on these items; 4 runs.",
        ),
        (
            report(result("OPEN"), result(view="math")),
            "Undecided: 1 blocking claim is not decided yet, 1 passed; at most 5 % risk on these items; 4 runs.",
        ),
        (
            report(result("OPEN"), result(view="math"), when_open="pass"),
            'Undecided, shipped by the policy (open = "pass"): 1 blocking claim is not decided yet, 1 passed; at most '
            "5 % risk on these items; 4 runs.",
        ),
        (
            report(result("OPEN"), result("OPEN", view="math"), when_open="fail"),
            'Undecided, stopped by the policy (open = "fail"): 2 blocking claims are not decided yet, 0 passed; at '
            "most 5 % risk on these items; 4 runs.",
        ),
        (
            report(result("OPEN"), when_open="error"),
            "Undecided: 1 blocking claim is not decided yet, 0 passed; at most 5 % risk on these items; 4 runs.",
        ),
        (
            report(result("OPEN"), result("FAIL", view="math"), when_open="pass"),
            "Stop: new is worse than main by at least 0.02 in math; at most 5 % risk on these items; 4 runs.",
        ),
        (
            report(result("CONTRADICTION"), result("FAIL", view="math"), result("OPEN", view="code"), when_open="pass"),
            "CONTRADICTION: no verdict, because the runs contradict each other (new, not worse by more than 0.02); "
            "4 runs.",
        ),
        (
            report(result(), result("CONTRADICTION", view="math", tier="info")),
            "CONTRADICTION: no verdict, because the runs contradict each other (new, not worse by more than 0.02 in "
            "math); 4 runs.",
        ),
        (
            report(result(kind="equal_within")),
            "Ship: new and main are equal within 0.02; at most 5 % risk on these items; 4 runs.",
        ),
        (
            report(result("FAIL", kind="equal_within", view="math")),
            "Stop: new differs from main by at least 0.02 in math; at most 5 % risk on these items; 4 runs.",
        ),
        (report(result("FAIL", tier="warn")), "Ship: no claim blocks; at most 5 % risk on these items; 4 runs."),
    ],
)
def test_one_sentence(given, words):
    assert sentence(given) == words


def test_new_items_are_named_in_every_form_with_the_next_look():
    given = report(result(), result("OPEN", view="math"), replicates=3, target="new-items", budget=5)
    assert "at most 5 % risk on new items of the same kind; 3 runs." in sentence(given)
    for text in (words(printed(given)), markdown(given)):
        assert "Verdicts and intervals are about new items of the same kind" in text
        assert "The next look is after 4 runs; until then verdicts and intervals stay." in text
    assert "PASS and FAIL are certified on new items of the same kind and hold" in markdown(given)
    values = given.to_values()
    assert (values["target"], values["of_runs"], values["next_look"]) == ("new-items", None, 4)
    last = report(result(), replicates=5, target="new-items", budget=5)
    assert "No look is left: further runs change no verdict." in words(printed(last))
    assert last.to_values()["next_look"] is None


def test_scores_that_several_runs_make_are_named():
    given = report(result(), replicates=4, of_runs="all:3")
    assert "A score is the smallest of 3 runs (all:3). The next look is after 6 runs" in words(printed(given))
    assert "A score is the largest of 3 runs (any:3)." in markdown(report(result(), of_runs="any:3"))
    assert given.to_values()["target"] == "benchmark"


def test_a_report_about_these_items_says_so_and_has_no_schedule():
    given = report(result())
    assert "PASS and FAIL are certified on these items and hold" in markdown(given)
    assert "look is" not in printed(given)
    assert not given.to_values().keys() & {"target", "of_runs", "next_look"}


# Terminal --------------------------------------------------------------------------------------------------------


def test_the_terminal_starts_with_the_sentence_and_has_a_row_for_each_claim():
    given = report(result(), result("OPEN", view="math", tier="warn"), notes=("a note of the reader",))
    text = printed(given)
    assert text.startswith(sentence(given))
    assert "math" in text
    assert "-0.0100 to +0.0300" in text
    assert (
        "Open: new, not worse by more than 0.02 in math: about 4 more runs, or 1,100 items instead of 100 in 4 runs, "
        "or a margin of 0.05 instead of 0.02 would likely decide it" in words(text)
    )
    assert "a note of the reader" in text


MEANING = "Either an assumption does not hold, or the labels of the systems were swapped between runs"
CHECK = "Check which system each run belongs to"


def contradicted(**options):
    """A contradiction beside a claim that is still open, and one that has passed."""
    swapped = result("CONTRADICTION", view="math", bounds=(0.2, -0.2), **options)
    return report(result(), swapped, result("OPEN", view="code"), when_open="pass")


def test_a_contradiction_is_the_first_word_in_every_form_and_says_what_to_check():
    given = contradicted(tier="info")
    assert (given.release, given.exit_code) == ("contradiction", 5)
    text = words(printed(given))
    assert text.startswith("CONTRADICTION: no verdict")
    assert MEANING in text
    assert CHECK in text
    assert "Contradiction: new, not worse by more than 0.02 in math: difference above +0.2000 and below -0.2000" in text
    assert "run by run: +0.3100, -0.2900" in text
    page = markdown(given)
    assert page.splitlines()[2].startswith("**CONTRADICTION: no verdict")
    assert MEANING in page
    assert CHECK in page
    assert "| ⚠️ CONTRADICTION | info | new | not worse by more than 0.02 in math | +0.0100 | none | 1 |" in page
    assert "run by run: +0.3100, -0.2900" in page
    (error,) = parsed(given).findall("testcase/error")
    assert error.get("message").startswith("CONTRADICTION: difference above +0.2000 and below -0.2000")
    assert MEANING in error.get("message")
    assert CHECK in error.get("message")
    assert parsed(given).get("errors") == "1"


def test_beside_a_contradiction_there_is_no_verdict_and_no_advice_to_go_on():
    given = contradicted()
    for text in (sentence(given), words(printed(given)), markdown(given)):
        assert "Ship" not in text
        assert "would likely decide" not in text
    assert advice(given, given.results[-1]) == ""


def test_the_interval_of_a_contradiction_is_none_even_if_its_ends_are_equal():
    assert interval(result("CONTRADICTION", bounds=(0.1, 0.1))) == "none"
    assert interval(result("CONTRADICTION", bounds=(0.2, 0.1))) == "none"
    assert contradiction(result("CONTRADICTION", bounds=(0.1, 0.1))).startswith("difference above +0.1000 and below")


def open_result(**outlook):
    return result("OPEN", outlook=ClaimOutlook(**({"more_runs": None, "items": None, "amount": None} | outlook)))


@pytest.mark.parametrize(
    ("each", "said"),
    [
        (result(), ""),
        (open_result(), "at this difference no number of runs or items is likely to decide it (a forecast)"),
        (open_result(more_runs=1), "about 1 more run would likely decide it (a forecast)"),
        (open_result(items=12_000), "12,000 items instead of 100 in 4 runs would likely decide it (a forecast)"),
        (
            open_result(more_runs=7, items=1100, amount=0.05),
            "about 7 more runs, or 1,100 items instead of 100 in 4 runs, or a margin of 0.05 instead of 0.02 would "
            "likely decide it (a forecast)",
        ),
    ],
)
def test_advice_says_what_would_decide_an_open_claim(each, said):
    assert advice(report(each), each) == said
    assert interval(result()) == "-0.0100 to +0.0300"


def test_a_floor_is_called_a_floor():
    each = result("OPEN", kind="at_least", amount=0.9, outlook=ClaimOutlook(more_runs=None, items=None, amount=0.85))
    assert advice(report(each), each) == "a floor of 0.85 instead of 0.9 would likely decide it (a forecast)"
    assert fixed_amounts(report(each)) == ["For these runs, every floor is fixed: choose another only for new ones."]


def test_that_amounts_are_fixed_is_said_once():
    open_ = [open_result(amount=amount) for amount in (0.05, 0.06)]
    for text in (printed(report(*open_)), markdown(report(*open_))):
        assert words(text).count("For these runs, every margin is fixed") == 1
    for given in (report(result()), report(open_result(more_runs=1)), report(*open_, result("CONTRADICTION"))):
        assert fixed_amounts(given) == []


def test_an_unknown_difference_is_not_a_number():
    given = report(result("OPEN", difference=None))
    for text in (printed(given), markdown(given), junit(given)):
        assert "unknown" in text
        assert "nan" not in text


# Names that try to be more than names ----------------------------------------------------------------------------

EVIL = (
    "a|b\n| ✅ PASS | `x` **bold** <img src=x onerror=alert(1)> [l](http://e.example) @maintainer #12 $x$ \x1b[31m\x00"
)


def evil_report():
    return report(
        result(candidate=EVIL, view=EVIL),
        result("FAIL", candidate=EVIL, view=EVIL, tier="warn"),
        baseline=EVIL,
        notes=(EVIL,),
    )


def test_a_name_cannot_add_rows_or_lines():
    text = markdown(evil_report())
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    for row in rows[2:]:
        assert row.replace("\\|", "").count("|") == 8
    assert len([line for line in text.splitlines() if line.startswith("- ")]) == 1
    shown = printed(evil_report())
    assert "\x1b[31m" not in shown
    assert "\x00" not in shown


@pytest.mark.parametrize("mark", ["`", "*", "_", "[", "]", "|", "#", "!", "~", "$", "\\"])
def test_markdown_marks_in_names_are_escaped(mark):
    text = markdown(report(result(candidate=f"a{mark}b", view="math")))
    row = next(line for line in text.splitlines() if line.startswith("| ✅"))
    assert f"a\\{mark}" in row


def test_markdown_has_no_tags_and_mentions_no_one():
    text = markdown(evil_report())
    assert "<img" not in text
    assert "&lt;img" in text
    assert "@maintainer" not in text
    assert "#12" not in text.replace("## Evaluation", "")


def test_a_title_is_text_too():
    assert markdown(report(result()), title="a\n# b").startswith("## a\\\\x0a\\#")


# JUnit -----------------------------------------------------------------------------------------------------------


def parsed(given):
    return ElementTree.fromstring(junit(given).encode("utf-8"))


@pytest.mark.parametrize("when_open", ["pass", "fail", "error"])
def test_junit_counts_what_it_has(when_open):
    given = report(
        result(),
        result("FAIL", view="a"),
        result("FAIL", view="b", tier="warn"),
        result("OPEN", view="c"),
        result("OPEN", view="d", tier="info"),
        when_open=when_open,
    )
    suite = parsed(given)
    found = {tag: len(suite.findall(f"testcase/{tag}")) for tag in ("failure", "skipped", "error", "system-out")}
    assert found == {
        "failure": 1 + (when_open == "fail"),
        "error": int(when_open == "error"),
        "skipped": 2 + (when_open == "pass"),
        "system-out": 1,
    }
    assert suite.attrib == {
        "name": "bbedge gate",
        "tests": "5",
        "failures": str(found["failure"]),
        "errors": str(found["error"]),
        "skipped": str(found["skipped"]),
    }
    first = suite[0]
    assert (first.get("classname"), first.get("name")) == ("bbedge gate.new", "not worse by more than 0.02")


NAMES = [
    "".join(map(chr, range(32))) + "\x7f\x85",
    "\ud800 alone",
    "\ufffe\uffff",
    "\U0001ffff",
    "<a b='c'>&amp;]]>",
    EVIL,
]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_junit_is_valid_xml_whatever_the_names(name):
    suite = parsed(report(result(candidate=name, view=name), result("FAIL", candidate=name, view="x")))
    assert len(suite.findall("testcase")) == 2
    assert suite[1].find("failure") is not None


def test_real_reports_are_shown_in_every_form():
    rng = np.random.default_rng(1)
    values = (rng.random((3, 2, 50)) < 0.5).astype(float)
    scores = Scores.of(values, models=["new", "main"], items=[f"q{i}" for i in range(50)])
    policy = Policy(candidates=("new",), baseline="main", claims=(Claim(kind="not_worse_by", amount=0.02),))
    given = gate(policy, scores)
    assert sentence(given) in printed(given)
    assert "⏳ OPEN" in markdown(given)
    assert parsed(given).get("errors") == "1", "nothing was said of open claims, so this one leaves it undecided"
