"""docs/gate.md: its policies are read, its commands run, and its numbers are those of the forecast and the study."""

import csv
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from bbedge.core.growth import Forecast, Outlook
from bbedge.core.scores import Scores
from bbedge.display.gate import sentence
from bbedge.gate import Claim, Gate, Policy, gate
from bbedge.gate.policy import _KEYS, _KINDS
from bbedge.readers import read_scores
from bbedge.study.experiments.gates import chances

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
POLICIES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
RESULTS = list(csv.DictReader((ROOT / "studies" / "gates" / "results.csv").read_text("utf-8").splitlines()))


def rows(heading):
    """The cells of the tables of a section."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|") and not re.match(r"\|-+:?\|", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def curve(setting, method, metric):
    found = [
        float(row["value"])
        for row in RESULTS
        if (row["setting"], row["method"], row["metric"]) == (setting, method, metric)
    ]
    assert len(found) == 10
    return np.array(found)


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
    for name in (*_KEYS, *_KINDS, "view", "tier"):
        assert re.search(rf"`\[*{name}\b", keys), name
    values = rng_report().to_values()
    known = " ".join(row[0] for row in rows("JSON"))
    for name in (*values, *values["claims"][0]):
        assert f"`{name}`" in known, name
    assert json.dumps(values, allow_nan=False)


def rng_report():
    values = (np.random.default_rng(1).random((2, 2, 20)) < 0.5).astype(float)
    scores = Scores.of(values, models=["new", "old"], items=[f"q{i}" for i in range(20)])
    return gate(Policy(candidates=("new",), baseline="old", claims=(Claim(kind="better_by", amount=0.0),)), scores)


def forecast(n_items, margin):
    scores = Scores.of(np.zeros((1, 2, n_items)), models=["new", "old"], items=[f"q{i}" for i in range(n_items)])
    claim = Claim(kind="not_worse_by", amount=margin)
    made = Gate(Policy(candidates=("new",), baseline="old", claims=(claim,)), scores)
    both = chances(n_items, 0.0)
    noise = float((both * (1.0 - both)).sum(axis=0).mean() / 4.0)
    return Forecast(design=made._evidence[0].design, outlook=Outlook(noise=noise, unevenness=0.0))


def runs_for(shares, level):
    after = int(np.argmax(shares >= level))
    return after + (level - shares[after - 1]) / (shares[after] - shares[after - 1])


def test_the_runs_it_takes_are_those_of_the_forecast_and_of_the_study():
    table = rows("How many runs it takes")
    margins = [float(cell.removeprefix("margin ")) for cell in table[0][1:]]
    assert margins == [0.01, 0.02, 0.03, 0.05]
    for row in table[1:4]:
        n_items = int(row[0].replace(",", ""))
        for margin, cell in zip(margins, row[1:], strict=True):
            made = forecast(n_items, margin)
            assert cell == f"{made.replicates_for(margin, power=0.8)} ({made.replicates_for(margin, power=0.5)})"
    simulated = curve("identical systems", "bbedge gate", "passed")
    foreseen = np.array([forecast(1319, 0.02).power(0.02, r) for r in range(1, 11)])
    for share, of_study, of_forecast in table[5:]:
        level = float(share.removesuffix(" %")) / 100.0
        assert (of_study, of_forecast) == (f"{runs_for(simulated, level):.1f}", f"{runs_for(foreseen, level):.1f}")
        assert abs(float(of_study) / float(of_forecast) - 1.0) < 0.1
    assert len(table) == 8


def test_the_rivals_are_as_in_the_study():
    names = {
        "bbedge gate": "bbedge gate",
        "t interval against the margin": "t-test gate",
        "McNemar's test": "McNemar gate",
        "threshold on the mean of all runs": "threshold, all runs",
        "threshold on the last run": "threshold, last run",
    }
    table = rows("Why verdicts do not flap")
    assert [row[0] for row in table[1:]] == list(names)
    for name, *cells in table[1:]:
        measured = [
            curve(setting, names[name], metric)[-1]
            for setting, metric in (
                ("identical systems", "flipped"),
                ("worse by 0.01", "flipped"),
                ("worse by 0.02, the margin", "wrong"),
            )
        ]
        assert cells == [f"{100 * value:.1f} %" for value in measured]
    fifth = [round(100 * curve("identical systems", name, "passed")[4]) for name in ("bbedge gate", "t-test gate")]
    assert f"the bbedge gate passes {fifth[0]} % of identical systems, the t interval {fifth[1]} %" in PAGE
