"""``bbedge gate --until-decided``: a team's own harness, run until the policy is decided."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from bbedge.gate import read_ledger

SERVERS = Path(__file__).parents[1] / "servers"
POLICY = """
candidate = "h90"
baseline = "h40"
open = "error"
[[claims]]
better_by = 0.2
"""


@pytest.fixture
def study(tmp_path):
    (tmp_path / "items.csv").write_text("item,block\n" + "".join(f"q{i},b{i}\n" for i in range(30)))
    path = tmp_path / "study.toml"
    path.write_text(
        'engine = "command"\nbudget = 12\nmodels = ["h90", "h40"]\n'
        f'command = ["{sys.executable}", "{SERVERS / "harness.py"}", "{{model}}", "{{seed}}", "{{items}}", "{{out}}"]\n'
        '[benchmark]\nitems = "items.csv"\n[run]\npause = 0.1\nworkers = 2\n',
        encoding="utf-8",
    )
    return path


def policy(folder: Path, text: str) -> Path:
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_it_runs_both_systems_until_the_claim_is_decided(bbedge, study, tmp_path):
    rules, out = policy(tmp_path, POLICY), tmp_path / "out.json"
    outcome = bbedge("gate", rules, "--until-decided", study, "--json", out)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("Ship: h90 is better than h40 by more than 0.2")
    found = json.loads(out.read_text())
    assert 1 <= found["replicates"] < 12
    assert found["claims"][0]["since"] == found["replicates"]
    again = bbedge("gate", rules, "--until-decided", study)
    assert (again.code, again.out.splitlines()[0]) == (0, outcome.out.splitlines()[0])


def test_the_budget_of_the_policy_ends_it(bbedge, study, tmp_path):
    rules = policy(tmp_path, POLICY.replace("0.2", "0.49").replace("open =", "budget = 2\nopen ="))
    outcome = bbedge("gate", rules, "--until-decided", study)
    assert outcome.code == 3
    assert outcome.out.startswith("Undecided:")
    assert "2 runs" in outcome.out.splitlines()[0] + outcome.out.splitlines()[1]


SWAPPING = """
import hashlib, sys
from pathlib import Path

model, seed, items, out = sys.argv[1:]
count = Path(__file__).with_name(f"runs of {model}")  # a server whose names are changed while the study runs
done = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(done))
chance = {"new": 0.8, "old": 0.3, "other": 0.6}
if done > 3:
    chance["new"], chance["old"] = chance["old"], chance["new"]
rows = ["model,item,score"]
for item in Path(items).read_text(encoding="utf-8").split():
    draw = int(hashlib.sha256(f"{model}|{seed}|{item}".encode()).hexdigest()[:12], 16) / 16**12
    rows.append(f"{model},{item},{int(draw < chance[model])}")
Path(out).write_text("\\n".join(rows), encoding="utf-8")
"""


def test_systems_that_change_places_end_the_study_with_a_contradiction(bbedge, tmp_path):
    (tmp_path / "items.csv").write_text("item\n" + "".join(f"q{i}\n" for i in range(150)))
    harness, study, out = (tmp_path / name for name in ("swapping.py", "study.toml", "out.json"))
    harness.write_text(SWAPPING, encoding="utf-8")
    study.write_text(
        'engine = "command"\nbudget = 30\nmodels = ["new", "old", "other"]\n'
        f'command = ["{sys.executable}", "{harness}", "{{model}}", "{{seed}}", "{{items}}", "{{out}}"]\n'
        '[benchmark]\nitems = "items.csv"\n[run]\npause = 0.1\nworkers = 1\n',
        encoding="utf-8",
    )
    # The claim about the other candidate stays open, so that the study goes on after the first one has passed.
    rules = policy(tmp_path, 'candidates = ["new", "other"]\n[[claims]]\nat_least = 0.6\n')
    outcome = bbedge("gate", rules, "--until-decided", study, "--json", out)
    assert outcome.code == 5, outcome.err
    assert outcome.out.startswith("CONTRADICTION: no verdict")
    found = json.loads(out.read_text())
    assert (found["release"], found["claims"][0]["contradicted"]) == ("contradiction", True)
    assert 3 < found["replicates"] < 30
    again = bbedge("gate", rules, "--until-decided", study)
    assert (again.code, again.out.splitlines()[0]) == (5, outcome.out.splitlines()[0])


@pytest.mark.parametrize("given", [[], ["scores.csv", "--until-decided", "study.toml"]])
def test_it_takes_either_scores_or_a_study(bbedge, tmp_path, given):
    outcome = bbedge("gate", policy(tmp_path, POLICY), *given)
    assert outcome.code == 2
    assert "--until-decided STUDY.toml" in outcome.err


def test_it_stops_inside_the_first_run_of_a_large_benchmark(bbedge, study, tmp_path):
    (tmp_path / "items.csv").write_text("item\n" + "".join(f"q{i}\n" for i in range(300)))
    rules, out, page = policy(tmp_path, POLICY), tmp_path / "out.json", tmp_path / "gate.html"
    outcome = bbedge("gate", rules, "--until-decided", study, "--json", out, "--html", page)
    assert outcome.code == 0, outcome.err
    found = json.loads(out.read_text())
    assert (found["replicates"], found["claims"][0]["since"]) == (0, 1)
    assert found["part"] == found["claims"][0]["since_part"] < 1.0
    assert outcome.out.splitlines()[0].endswith("of the first run.")
    text = page.read_text(encoding="ascii")
    assert "<strong>Ship</strong>" in text
    assert re.search(r'class="risk">At most 5 % risk on these items; [\d.]+ % of the first run\.<', text)
    again = bbedge("gate", rules, "--until-decided", study)
    assert (again.code, again.out.splitlines()[0]) == (0, outcome.out.splitlines()[0])


def test_with_a_ledger_it_stops_inside_the_first_run_too(bbedge, study, tmp_path):
    (tmp_path / "items.csv").write_text("item\n" + "".join(f"q{i}\n" for i in range(300)))
    rules, out, ledger = policy(tmp_path, POLICY), tmp_path / "out.json", tmp_path / "gate.ledger"
    words = ["gate", rules, "--until-decided", study, "--ledger", ledger, "--label", "x", "--json", out]
    page = tmp_path / "gate.html"
    outcome = bbedge(*words, "--html", page)
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines()[0].endswith("of the first run.")
    assert "Recorded as use 1 (x)." in outcome.out
    assert "Recorded as use 1 (x)." in page.read_text(encoding="ascii")
    found = json.loads(out.read_text())
    assert (found["replicates"], found["alpha"], found["ledger"]["use"]) == (0, 0.05, 1)
    assert found["part"] == found["claims"][0]["since_part"] < 1.0
    before = read_ledger(ledger)
    again = bbedge(*words)
    assert (again.code, again.out.splitlines()[0]) == (0, outcome.out.splitlines()[0])
    assert "Recorded before, as use 1" in again.out
    assert read_ledger(ledger) == before
