import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_a_plan_from_assumptions_is_a_table_and_a_document(bbedge, tmp_path):
    what = ("--models", "10", "--items", "200", "--block-size", "2", "--difference", "0.05")
    prices = ("--tokens", "100", "--price", "2")
    shown = bbedge("plan", *what, *prices, "--json", tmp_path / "plan.json", "--figure", tmp_path / "plan.png")
    assert shown.code == 0, shown.err
    document = json.loads((tmp_path / "plan.json").read_text())
    assert [way["name"] for way in document["ways"]] == ["bb-edge-x", "if items were blocks", "one block", "bb-edge"]
    assert (document["models"], document["items"], document["blocks"]) == (10, 200, 100)
    extended = document["ways"][0]
    for entry in extended["smallest_difference"]:
        assert f"{entry['difference']:.4f}" in shown.out
    replicates = extended["replicates_needed"][0]["replicates"]
    queries = replicates * 10 * 200
    assert f"{queries:,}" in shown.out
    assert f"{queries * 100:,}" in shown.out
    assert f"{queries * 100 / 1e6 * 2:,.2f}" in shown.out
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--replicates", "0"), "--replicates '0' has a number that is not a whole number of at least 1"),
        (("--replicates", "1,2.5"), "not a whole number"),
        (("--replicates", "nan"), "--replicates 'nan' is not a list of numbers"),
        (("--difference", "2"), "--difference '2' has a number that is not above 0 and at most 1"),
        (("--difference", "0.1,-0.1"), "not above 0"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(bbedge, options, said):
    done = bbedge("plan", "--items", "100", *options)
    assert (done.code, done.out) == (2, "")
    assert said in " ".join(done.err.split())


def test_a_pilot_brings_its_own_models_and_items(bbedge):
    shown = bbedge("plan", ROOT / "demo" / "scores.csv")
    assert shown.code == 0, shown.err
    assert "6 models · 72 items in 24 blocks" in shown.out
    assert "From the pilot's" in shown.out


def test_a_list_of_items_with_blocks_can_be_planned_for(bbedge, tmp_path):
    (tmp_path / "items.csv").write_text("item,block\n" + "".join(f"q{i},d{i // 3}\n" for i in range(30)))
    shown = bbedge("plan", "--items", tmp_path / "items.csv", "--json", "-")
    assert shown.code == 0, shown.err
    assert json.loads(shown.out)["blocks"] == 10


def test_new_items_are_planned_by_items_and_runs(bbedge, tmp_path):
    what = ("--models", "4", "--items", "500", "--target", "new-items", "--difference", "0.05,0.2")
    shown = bbedge("plan", *what, "--json", tmp_path / "plan.json")
    assert shown.code == 0, shown.err
    document = json.loads((tmp_path / "plan.json").read_text())
    assert (document["target"], document["between_share"]) == ("new-items", 0.5)
    assert [way["name"] for way in document["ways"]] == ["new items"]
    gaps = {
        (each["items"], each["replicates"]): each["difference"] for each in document["smallest_difference_of_items"]
    }
    least = gaps[500, None]
    assert gaps[500, 1] > gaps[500, 20] > least > gaps[2000, 1]
    assert " ".join(shown.out.split()).startswith(
        f"500 items certify differences on new items of at least {gaps[500, 1]:.3f} with 1 run and of at least "
        f"{least:.3f} with any number of runs, with 80 % power. Below that only more items help: 2,000 certify "
        f"{gaps[2000, 1]:.3f} with 1 run."
    )
    assert "50 % of the variance of a difference in one run lies" in " ".join(shown.out.split())
    needed = {(each["difference"], each["replicates"]): each["items"] for each in document["items_needed"]}
    assert needed[0.2, 1] == 500, "those that there are"
    assert needed[0.05, 1] > needed[0.05, 20] > needed[0.05, None] > 500
    assert f"{needed[0.05, None]:,}" in shown.out
    less = bbedge("plan", *what, "--between-share", "0.1", "--json", "-")
    assert json.loads(less.out)["smallest_difference_of_items"][5]["difference"] < least


def test_both_targets_are_planned_side_by_side(bbedge):
    shown = bbedge("plan", ROOT / "demo" / "scores.csv", "--target", "both", "--json", "-")
    assert shown.code == 0, shown.err
    document = json.loads(shown.out)
    assert (document["target"], document["alpha"]) == ("both", 0.025)
    new, these = (each["smallest_difference"][-1]["difference"] for each in document["ways"])
    assert new > these
    assert "of the variance of a difference in one run lies between items" in " ".join(shown.err.split())


def test_the_share_of_items_is_assumed_only_where_runs_do_not_show_it(bbedge, tmp_path):
    rows = [f"{model},q{item},{(item * 7 + len(model)) % 3 % 2}" for model in ("a", "bb") for item in range(40)]
    (tmp_path / "once.csv").write_text("\n".join(["model,item,score", *rows]) + "\n")
    shown = bbedge("plan", tmp_path / "once.csv", "--target", "new-items", "--between-share", "0.25")
    assert shown.code == 0, shown.err
    said = " ".join(shown.out.split())
    assert "One replicate cannot separate the two; their shares are assumed. 25 % of the variance" in said
    for arguments, told in (
        (
            (ROOT / "demo" / "scores.csv", "--target", "new-items", "--between-share", "0.25"),
            "the pilot has several replicates",
        ),
        (("--items", "100", "--between-share", "0.25"), "add --target new-items"),
        ((ROOT / "demo" / "scores.csv", "--target", "both", "--blocks", "one"), "one block is a single draw of items"),
    ):
        done = bbedge("plan", *arguments)
        assert done.code == 2
        assert told in " ".join(done.err.split())


POLICY = 'candidate = "{}"\nbaseline = "{}"\n[[claims]]\nnot_worse_by = 0.05\n'


@pytest.fixture
def policy(tmp_path):
    def write(text="", *, candidate="new", baseline="old"):
        path = tmp_path / "policy.toml"
        path.write_text(text + POLICY.format(candidate, baseline), encoding="utf-8")
        return path

    return write


def test_a_gate_is_planned_before_the_first_run(bbedge, policy, tmp_path):
    shown = bbedge("plan", "--policy", policy(), "--items", "500", "--json", tmp_path / "plan.json")
    assert shown.code == 0, shown.err
    document = json.loads((tmp_path / "plan.json").read_text())
    good, bad = document["claims"]
    assert (document["items"], good["verdict"], bad["verdict"]) == (500, "PASS", "FAIL")
    runs = {each["power"]: each["runs"] for each in good["runs"]}
    assert 1 < runs[0.5] < runs[0.8] < runs[0.9]
    assert shown.out.startswith(f"Plan for {runs[0.8]} runs of 500 items: then each blocking claim passes with 80 %")
    assert "Assumed: right-or-wrong items with mean 0.5" in shown.out
    smaller = bbedge("plan", "--policy", policy(), "--items", "500", "--mean", "0.95", "--json", "-")
    assert json.loads(smaller.out)["claims"][0]["runs"][1]["runs"] < runs[0.8], "scores near 1 have less noise"


def test_the_true_differences_to_assume_can_be_given(bbedge, policy):
    given = ("--difference", "0.02,-0.02,-0.2", "--replicates", "3,6")
    shown = bbedge("plan", "--policy", policy(), "--items", "500", *given, "--json", "-")
    assert shown.code == 0, shown.err
    claims = json.loads(shown.out)["claims"]
    assert [(each["difference"], each["verdict"]) for each in claims] == [
        (0.02, "PASS"),
        (-0.02, "PASS"),
        (-0.2, "FAIL"),
    ]
    assert [each["runs"] for each in claims[0]["amounts"]] == [3, 6]


def test_a_gate_is_planned_from_a_pilot(bbedge, policy, tmp_path):
    rules = policy(candidate="three-shot", baseline="plain")
    shown = bbedge("plan", ROOT / "demo" / "scores.csv", "--policy", rules, "--json", tmp_path / "plan.json")
    assert shown.code == 0, shown.err
    assert re.match(r"Plan for \d+ runs of 72 items", shown.out)
    assert "Noise from 3 runs of the pilot." in shown.out
    assert 0.0 < json.loads((tmp_path / "plan.json").read_text())["claims"][0]["noise"] < 0.125


@pytest.mark.nightly
def test_views_are_planned_from_a_pilot_only(bbedge, policy, tmp_path):
    rows = [
        f"{model},q{item},{run},{'math' if item % 2 else 'code'},{(7 * item + run * len(model)) % 3 % 2}"
        for model in ("new", "old!")
        for run in (1, 2, 3)
        for item in range(40)
    ]
    (tmp_path / "pilot.csv").write_text("\n".join(["model,item,replicate,topic,score", *rows]) + "\n")
    rules = policy('views = "topic"\n', baseline="old!")
    rules.write_text(rules.read_text() + 'view = "*"\n')
    shown = bbedge("plan", tmp_path / "pilot.csv", "--policy", rules, "--json", "-")
    assert shown.code == 0, shown.err
    assert {each["claim"] for each in json.loads(shown.out)["claims"]} == {
        "not worse by more than 0.05 in code",
        "not worse by more than 0.05 in math",
    }
    refused = bbedge("plan", "--policy", rules, "--items", "500")
    assert refused.code == 2
    assert "pass the scores of a pilot" in refused.err


def test_a_policy_in_other_units_is_planned_with_its_score_range(bbedge, policy):
    rules = policy()
    rules.write_text(rules.read_text().replace("0.05", "5"))
    assert bbedge("plan", "--policy", rules, "--items", "500").code == 2
    shown = bbedge("plan", "--policy", rules, "--items", "500", "--score-range", "0", "100", "--json", "-")
    assert shown.code == 0, shown.err
    plain = bbedge("plan", "--policy", policy(), "--items", "500", "--json", "-")
    assert json.loads(shown.out)["claims"][0]["runs"] == json.loads(plain.out)["claims"][0]["runs"]


@pytest.mark.nightly
def test_a_ledger_is_planned_at_the_level_of_its_first_use(bbedge, policy):
    alone = json.loads(bbedge("plan", "--policy", policy(), "--items", "500", "--json", "-").out)
    shared = bbedge("plan", "--policy", policy('spending = "ledger"\n'), "--items", "500", "--json", "-")
    assert shared.code == 0, shared.err
    assert "At 3.04 %, the level of the first use" in " ".join(shared.err.split())
    assert json.loads(shared.out)["claims"][0]["runs"][1]["runs"] > alone["claims"][0]["runs"][1]["runs"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "pass the number of items with --items, or the scores of a pilot"),
        (("--items", "500", "--tokens", "5"), "leave them out"),
        (("--items", "500", "--price", "5"), "leave them out"),
        (("--items", "500", "--power", "0.9"), "leave them out"),
        (("--items", "500", "--figure", "plan.png"), "leave them out"),
        (("--items", "500", "--alpha", "0.2"), "leave out --alpha"),
        (("--items", "500", "--tau", "0.2"), "leave out --alpha"),
        (("--items", "500", "--models", "3"), "leave out --alpha, --tau and --models"),
        (("--items", "500", "--difference", "much"), "not a list of numbers"),
        ((str(ROOT / "demo" / "scores.csv"), "--items", "500"), "the pilot defines the items"),
        ((str(ROOT / "demo" / "scores.csv"),), "'new' is not a model of the scores"),
    ],
)
def test_what_does_not_fit_the_plan_of_a_gate_is_refused(bbedge, policy, arguments, told):
    done = bbedge("plan", "--policy", policy(), *arguments)
    assert done.code == 2
    assert told in " ".join(done.err.split())


def test_every_candidate_needs_a_pilot(bbedge, policy):
    done = bbedge("plan", "--policy", policy(candidate="*"), "--items", "500")
    assert done.code == 2
    assert "only scores can name" in done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "--items"),
        (("--items", "10", "--difference", "much"), "not a list of numbers"),
        (("--items", "10", "--power", "1"), "power"),
        (("--items", "10", "--price", "1"), "--tokens"),
        (("--items", "10", "--mean", "1.5"), "not possible"),
        (("--items", "absent.csv"), "absent.csv"),
        ((str(ROOT / "demo" / "scores.csv"), "--models", "4"), "leave out --models"),
    ],
)
def test_mistakes_are_told_with_exit_code_2(bbedge, arguments, told):
    done = bbedge("plan", *arguments)
    assert done.code == 2
    assert told in done.err
