"""``bbedge gate``: policies and score files in, exit codes, sentences and files out."""

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from e2e.gate_scores import write_swapped
from log_makers import lm_eval_row, lm_eval_run

DEMO = Path(__file__).parents[2] / "demo" / "scores.csv"
CLAIM = "[[claims]]\nnot_worse_by = 0.02\n"


@pytest.fixture
def policy(tmp_path):
    def write(text, *, candidate="new", baseline="old"):
        path = tmp_path / "policy.toml"
        path.write_text(f'candidate = "{candidate}"\nbaseline = "{baseline}"\n{text}', encoding="utf-8")
        return path

    return write


def scores(folder, new=0.9, old=0.1, *, runs=5, items=30, score=lambda s: s, name="scores.csv"):
    rng = np.random.default_rng(1)
    lines = ["model,item,replicate,topic,score"]
    for model, chance in (("new", new), ("old", old)):
        for run in range(1, runs + 1):
            for item in range(items):
                topic = "safety" if item % 3 else "math"
                lines.append(f"{model},q{item},{run},{topic},{score(int(rng.random() < chance))}")
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("new", "old", "rule", "code", "start"),
    [
        (
            0.9,
            0.1,
            "pass",
            0,
            "Ship: new is not worse than old by more than 0.02; at most 5 % risk on these items; 5 runs.",
        ),
        (0.1, 0.9, "pass", 1, "Stop: new is worse than old by at least 0.02; at most 5 % risk on these items; 5 runs."),
        (0.5, 0.5, "pass", 0, 'Undecided, shipped by the policy (open = "pass"): 1 blocking claim is not decided yet'),
        (0.5, 0.5, "fail", 1, 'Undecided, stopped by the policy (open = "fail"): 1 blocking claim is not decided yet'),
        (0.5, 0.5, "error", 3, "Undecided: 1 blocking claim is not decided yet"),
        (0.5, 0.5, None, 3, "Undecided: 1 blocking claim is not decided yet"),
    ],
)
def test_exit_codes(bbedge, policy, tmp_path, new, old, rule, code, start):
    given = CLAIM if rule is None else f'open = "{rule}"\n' + CLAIM
    done = bbedge("gate", policy(given), scores(tmp_path, new, old))
    assert done.code == code, done.err
    assert words(done.out).startswith(start)


def test_a_gate_about_new_items_says_when_it_looks_and_what_it_is_about(bbedge, policy, tmp_path):
    rules = policy('target = "new-items"\nlooks = [2, 6]\n' + CLAIM + "[[claims]]\nequal_within = 0.02\n")
    table, out = scores(tmp_path, 0.6, 0.4), tmp_path / "gate.json"
    done = bbedge("gate", rules, table, "--json", out, "--markdown", tmp_path / "gate.md")
    assert done.code == 3, done.err
    assert "at most 5 % risk on new items of the same kind; 5 runs." in words(done.out)
    assert "The next look is after 6 runs; until then verdicts and intervals stay." in words(done.out)
    assert "To plan what would decide it: bbedge plan" in words(done.out)
    report = json.loads(out.read_text())
    assert (report["target"], report["of_runs"], report["next_look"]) == ("new-items", None, 6)
    assert [[look["replicate"] for look in claim["looks"]] for claim in report["claims"]] == [[2], [2]]
    planned = bbedge("plan", table, "--policy", rules)
    assert planned.code == 0, planned.err
    assert "You may look after 2, 6 runs" in words(planned.out)
    assumed = bbedge("plan", "--policy", rules, "--items", "200").out
    assert "50 % of the variance of a difference in one run lies between items." in words(assumed)
    both = bbedge("gate", policy('target = "both"\n' + CLAIM), table)
    assert both.code == 2
    assert "'both' asks two questions, and a gate answers one; choose 'benchmark' or 'new-items'" in both.err


def test_a_gate_of_several_runs_as_one_score(bbedge, policy, tmp_path):
    rules, table = policy('of_runs = "all:2"\n' + CLAIM), scores(tmp_path, 0.6, 0.5)
    done = bbedge("gate", rules, table)
    assert done.code == 3, done.err
    assert "A score is the smallest of 2 runs (all:2). The next look is after 6 runs" in words(done.out)
    assert "bbedge plan" not in done.out
    assert "leave out of_runs to plan" in bbedge("plan", table, "--policy", rules).err


@pytest.mark.parametrize("rule", ["", 'open = "pass"\n'])
@pytest.mark.parametrize("tier", ["block", "info"])
def test_labels_that_were_swapped_between_runs_are_a_contradiction_in_every_form(bbedge, policy, tmp_path, rule, tier):
    table = write_swapped(tmp_path / "scores.csv")
    out = [tmp_path / name for name in ("gate.json", "gate.md", "gate.xml")]
    files = ("--json", out[0], "--markdown", out[1], "--junit", out[2])
    done = bbedge("gate", policy(f'{rule}{CLAIM}tier = "{tier}"\n'), table, *files)
    assert done.code == 5, done.err
    assert words(done.out).startswith("CONTRADICTION: no verdict, because the runs contradict each other")
    assert "labels of the systems were swapped between runs" in words(done.out)
    assert "Check which system each run belongs to" in words(done.out)
    assert "Ship" not in done.out
    assert "PASS" not in done.out
    assert "To plan what would decide it" not in done.out
    found = json.loads(out[0].read_text())
    (claim,) = found["claims"]
    assert (found["release"], found["candidates"]) == ("contradiction", {"new": "contradiction"})
    assert (claim["verdict"], claim["contradicted"]) == ("CONTRADICTION", True)
    assert [look["difference"] > 0 for look in claim["looks"]] == [True] * 3 + [False] * 3
    summary = out[1].read_text(encoding="utf-8")
    assert "**CONTRADICTION: no verdict" in summary
    assert "⚠️ CONTRADICTION" in summary
    suite = ElementTree.parse(out[2]).getroot()
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")
    assert suite.find("testcase/error").get("message").startswith("CONTRADICTION: ")


def test_an_open_claim_says_what_would_decide_it_and_the_proposed_command_runs(bbedge, policy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores(tmp_path, 0.5, 0.5, runs=3, name="a table.csv")
    policy(CLAIM)
    done = bbedge("gate", "policy.toml", "a table.csv")
    assert done.code == 3
    said = r"Open: new, not worse by more than 0.02: about [\d,]+ more runs, or [\d,]+ items instead of [\d,]+ in 3 run"
    assert re.search(said, words(done.out))
    (proposed,) = re.findall(r"To plan what would decide it: bbedge (.*)", done.out)
    assert proposed == "plan 'a table.csv' --policy policy.toml"
    planned = bbedge(*shlex.split(proposed))
    assert planned.code == 0, planned.err
    assert "Runs until a claim is decided" in planned.out


def test_every_file_that_it_writes(bbedge, policy, tmp_path):
    table = scores(tmp_path, 0.1, 0.9)
    out = [tmp_path / name for name in ("gate.json", "gate.md", "gate.xml", "gate.html")]
    forms = ("--json", out[0], "--markdown", out[1], "--junit", out[2], "--html", out[3])
    done = bbedge("gate", policy(CLAIM), table, *forms)
    assert done.code == 1
    assert json.loads(out[0].read_text())["claims"][0]["verdict"] == "FAIL"
    assert "❌ FAIL" in out[1].read_text(encoding="utf-8")
    assert ElementTree.parse(out[2]).getroot().get("failures") == "1"
    assert "<strong>Stop</strong>" in out[3].read_text(encoding="ascii")
    assert all(str(path) in done.out.replace("\n", "") for path in out)


def test_json_on_standard_output_is_all_there(bbedge, policy, tmp_path):
    done = bbedge("gate", policy(CLAIM), scores(tmp_path), "--json", "-")
    assert done.code == 0
    assert json.loads(done.out)["release"] == "ship"
    assert "Ship:" in done.err


def test_views_and_tiers(bbedge, policy, tmp_path):
    text = 'views = "topic"\n[[claims]]\nnot_worse_by = 0.02\nview = "*"\n[[claims]]\nat_least = 0.99\ntier = "warn"\n'
    done = bbedge("gate", policy(text), scores(tmp_path))
    assert done.code == 0
    assert "in each of 2 views" in words(done.out)
    assert "FAIL" in done.out  # a warning


def test_score_ranges_and_missing_scores(bbedge, policy, tmp_path):
    table = scores(tmp_path, score=lambda s: 10 * s)
    lines = table.read_text().splitlines()
    table.write_text("\n".join(lines[:1] + lines[3:]) + "\n")  # the first two scores of the new system
    given = policy("[[claims]]\nnot_worse_by = 0.2\n")
    refused = bbedge("gate", given, table, "--score-range", "0", "10")
    assert refused.code == 2
    assert "--incomplete" in refused.err
    found = tmp_path / "gate.json"
    done = bbedge("gate", given, table, "--score-range", "0", "10", "--incomplete", "worst-case", "--json", found)
    assert done.code == 0
    assert json.loads(found.read_text())["claims"][0]["difference"] > 5.0
    too_large = policy("[[claims]]\nnot_worse_by = 10\n")
    assert bbedge("gate", too_large, table, "--score-range", "0", "10", "--incomplete", "worst-case").code == 2


def cost_logs(folder, *, metrics=("acc", "cost")):
    rng = np.random.default_rng(1)
    for model, chance, cost in (("new", 0.6, 1.0), ("old", 0.6, 4.0)):
        for run in range(1, 7):
            rows = []
            for item in range(40):
                found = {"acc": float(rng.random() < chance), "cost": cost * rng.uniform(0.8, 1.2)}
                row = lm_eval_row(item) | {"metrics": list(metrics)}
                rows.append(row | {name: found[name] for name in metrics})
            time = f"2026-01-0{run}T00-00-00.000001"
            lm_eval_run(folder / model, model=model, time=time, rows=rows, higher_is_better={"t": {"cost": False}})
    return folder


COST = 'views = "metric"\nmetric = "acc"\n[[claims]]\nnot_worse_by = 0.5\n[[claims]]\ncheaper_by = 0.1\nview = "cost"\n'


def test_not_worse_and_cheaper(bbedge, policy, tmp_path):
    logs = cost_logs(tmp_path / "logs")
    done = bbedge("gate", policy(COST), logs, "--metric-range", "cost=10:0")
    assert done.code == 0, done.err
    assert "new is at least 10 % cheaper than old in cost" in words(done.out)
    without = policy(COST.replace('metric = "acc"\n', ""))
    chosen = bbedge("gate", without, logs, "--metric-range", "cost=10:0", "--metric", "acc")
    assert chosen.out == done.out
    other = bbedge("gate", policy(COST), logs, "--metric-range", "cost=10:0", "--metric", "cost")
    assert other.code == 2
    assert "metric = 'acc' is not --metric cost" in words(other.err)


def test_logs_without_the_metric(bbedge, policy, tmp_path):
    logs = cost_logs(tmp_path / "logs")
    missing = COST.replace('view = "cost"', 'view = "costs"')
    done = bbedge("gate", policy(missing), logs, "--metric-range", "cost=10:0")
    assert done.code == 2
    assert "policy.toml, claim 2: 'costs' is not a view of the scores; did you mean 'cost'?" in words(done.err)
    without = cost_logs(tmp_path / "plain", metrics=("acc",))
    assert bbedge("gate", policy(COST), without).code == 2
    unknown = bbedge("gate", policy('metric = "latency"\n' + CLAIM), without)
    assert unknown.code == 2
    assert "latency" in unknown.err
    assert "Traceback" not in unknown.err


def test_one_metric_of_several_as_the_only_score(bbedge, policy, tmp_path):
    logs = cost_logs(tmp_path / "logs")
    done = bbedge("gate", policy('metric = "acc"\n[[claims]]\nnot_worse_by = 0.5\n'), logs)
    assert done.code == 0, done.err


def test_copied_runs_are_refused_unless_they_are_allowed(bbedge, policy, tmp_path):
    table = scores(tmp_path, runs=1)
    lines = table.read_text().splitlines()
    table.write_text("\n".join([*lines, *(line.replace(",1,", ",2,", 1) for line in lines[1:])]) + "\n")
    done = bbedge("gate", policy(CLAIM), table)
    assert done.code == 2
    assert "--copies allow" in words(done.err)
    assert bbedge("gate", policy(CLAIM), table, "--copies", "allow").code == 0
    allowed = bbedge("gate", policy('copies = "allow"\n' + CLAIM), table)
    assert allowed.code == 0
    assert "were counted" in allowed.out


@pytest.mark.parametrize(
    ("text", "names", "said"),
    [
        ("aplha = 0.1\n" + CLAIM, {}, "policy.toml: unknown key 'aplha'; did you mean 'alpha'?"),
        (CLAIM, {"candidate": "nwe"}, "policy.toml: 'nwe' is not a model of the scores; did you mean 'new'?"),
        (CLAIM, {"candidate": "old"}, "policy.toml: 'old' is candidate and baseline"),
        ("alpha = 0\n" + CLAIM, {}, "policy.toml: 'alpha' = 0"),
        ("[[claims]]\nnot_worse_by = 1.5\n", {}, "policy.toml: not_worse_by = 1.5"),
        ("[[claims]]\nnot_worse_by = 2 %\n", {}, "policy.toml: not a TOML file"),
        ('views = "topic"\n[[claims]]\nbetter_by = 0\nview = "mathe"\n', {}, "did you mean 'math'?"),
        ('views = "subject"\n' + CLAIM, {}, "subject"),
        ("", {}, "policy.toml: no claims"),
    ],
)
def test_bad_policies_are_exit_code_2(bbedge, policy, tmp_path, text, names, said):
    done = bbedge("gate", policy(text, **names), scores(tmp_path))
    assert done.code == 2
    assert said in words(done.err)
    assert "Traceback" not in done.err
    assert done.out == ""


def test_a_policy_that_is_not_there_or_not_text(bbedge, tmp_path):
    absent = bbedge("gate", tmp_path / "absent.toml", DEMO)
    assert absent.code == 2
    assert "absent.toml: cannot be read" in words(absent.err)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    assert bbedge("gate", tmp_path / "bytes.toml", DEMO).code == 2


def test_scores_that_are_not_numbers(bbedge, policy, tmp_path):
    done = bbedge("gate", policy(CLAIM), scores(tmp_path, score=lambda s: "nan" if s else 0))
    assert done.code == 2
    assert "scores.csv" in done.err


def test_no_file_is_written_if_the_input_is_bad(bbedge, policy, tmp_path):
    out = tmp_path / "gate.md"
    assert bbedge("gate", policy(CLAIM, candidate="nwe"), scores(tmp_path), "--markdown", out).code == 2
    assert not out.exists()


def test_the_demo_ships(bbedge, policy):
    done = bbedge("gate", policy(CLAIM, candidate="three-shot", baseline="plain"), DEMO)
    assert done.code == 0
    assert words(done.out).startswith("Ship: three-shot is not worse than plain by more than 0.02; at most 5 % risk")
