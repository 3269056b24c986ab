"""docs/gate.md: its policies are read, its commands run, and its numbers are those of the forecast and the study."""

import json
import re
import runpy
import shlex
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from msgspec import structs

from bbedge.core.scores import Scores
from bbedge.display.gate import advice, contradiction, sentence
from bbedge.gate import Claim, Policy, gate
from bbedge.readers import read_scores
from bbedge.records.gate import EXIT_CODES, ClaimOutlook, Verdict
from bbedge.records.policy import ClaimKind
from e2e.gate_scores import write_swapped

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
POLICIES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def rows(heading):
    """The cells of the tables of a section."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|") and not re.match(r"\|-+:?\|", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("text", POLICIES, ids=range(len(POLICIES)))
def test_every_policy_is_read(text):
    if "[[claims]]" in text:
        assert Policy.from_toml(text).claims


def test_the_commands_run(bbedge, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.csv").write_bytes((ROOT / "demo" / "scores.csv").read_bytes())
    (tmp_path / "policy.toml").write_text(POLICIES[0])
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    lines = [
        line for block in blocks for line in block.splitlines() if line.startswith("bbedge gate policy.toml scores")
    ]
    lines = [line for line in lines if "--ledger" not in line and "--until-decided" not in line]
    assert len(lines) >= 2
    for line in lines:
        done = bbedge(*shlex.split(line, comments=True)[1:])
        assert done.code == 0, (line, done.err)
    assert {path.name for path in tmp_path.iterdir()} >= {"gate.json", "summary.md", "gate.xml"}
    policy = Policy.from_toml(POLICIES[0])
    assert f"`{sentence(gate(policy, read_scores(tmp_path / 'scores.csv')))}`" in PAGE


def test_every_key_of_policies_and_of_the_json_is_documented(bbedge, tmp_path):
    keys = " ".join(row[0] for row in rows("The policy"))
    for name in ("candidate", *Policy.__struct_encode_fields__, *get_args(ClaimKind), "view", "tier"):
        assert re.search(rf"`\[*{name}\b", keys), name
    values = rng_report().to_values()
    known = " ".join(row[0] for row in rows("JSON"))
    for name in (*values, *values["claims"][0]):
        assert f"`{name}`" in known, name
    assert json.dumps(values, allow_nan=False)


def rng_report(kind="better_by", amount=0.0):
    values = (np.random.default_rng(1).random((2, 2, 20)) < 0.5).astype(float)
    scores = Scores.of(values, models=["new", "old"], items=[f"q{i}" for i in range(20)])
    return gate(Policy(candidates=("new",), baseline="old", claims=(Claim(kind=kind, amount=amount),)), scores)


def test_the_numbers_are_those_of_the_forecast_and_of_the_study():
    made = runpy.run_path(str(ROOT / "docs" / "generate" / "gate_tables.py"))
    assert made["page"]() == PAGE, "run make docs-outputs"
    table = rows("How many runs it takes")
    assert [row[0] for row in table] == ["items", "200", "1,319", "5,000", "share of pipelines", "50 %", "80 %", "90 %"]
    for _, of_study, of_forecast in table[5:]:
        assert abs(float(of_study) / float(of_forecast) - 1.0) < 0.1
    assert [row[0] for row in rows("Why verdicts do not flap")[1:]] == list(made["RIVALS"])


def test_the_examples_of_words_are_what_is_printed(tmp_path):
    outlook = ClaimOutlook(more_runs=7, items=1100, amount=0.05)
    (open_one,) = rng_report(kind="not_worse_by", amount=0.02).results
    assert open_one.verdict == "OPEN"
    results = (structs.replace(open_one, outlook=outlook),)
    shown = structs.replace(rng_report(), replicates=3, items=300, results=results)
    told = advice(shown, shown.results[0])
    assert f"Open: new, not worse by more than 0.02: {told}\n" in PAGE
    policy = Policy(candidates=("new",), baseline="old", claims=(Claim(kind="not_worse_by", amount=0.02),))
    swapped = gate(policy, read_scores(write_swapped(tmp_path / "swapped.csv")))
    assert f"{sentence(swapped)}\n" in PAGE
    assert f"Contradiction: new, not worse by more than 0.02: {contradiction(swapped.results[0])}.\n" in PAGE


def test_releases_exit_codes_and_verdicts_are_all_there():
    table = rows("Releases and exit codes")
    found = {row[0].strip("`"): int(row[1]) for row in table[1:] if row[0]}
    assert found == EXIT_CODES
    assert {row[0] for row in rows("Verdicts")} >= set(get_args(Verdict))


def test_the_commands_that_plan_a_gate_run(bbedge, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pilot.csv").write_bytes((ROOT / "demo" / "scores.csv").read_bytes())
    (tmp_path / "policy.toml").write_text(POLICIES[0])
    section = PAGE.split("## Plan before the first run\n")[1].split("\n## ")[0]
    lines = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)[0].splitlines()
    assert len(lines) == 3
    for line in lines:
        done = bbedge(*shlex.split(line, comments=True)[1:])
        assert done.code == 0, (line, done.err)


@pytest.mark.parametrize("words", ["13 if it is undecided", "15 for a contradiction", "not tuned on the stored runs"])
def test_what_the_pytest_plugin_does_is_documented(words):
    assert words in PAGE.split("### pytest\n")[1].split("\n### ")[0]
