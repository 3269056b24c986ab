"""``bbedge gate --ledger``: uses of a gate over months, as a user meets them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bbedge.gate.ledger import read_ledger
from e2e.gate_scores import write_swapped
from gate_ledgers import Taken

SERVERS = Path(__file__).parents[1] / "servers"
POLICY = """
candidate = "new"
baseline = "old"
spending = "ledger"
[[claims]]
not_worse_by = 0.1
"""


def write_scores(path: Path, seed: int, runs: int = 3, worse: float = 0.0) -> Path:
    rng = np.random.default_rng(seed)
    rows = ["model,item,replicate,score"]
    for run in range(runs):
        for model, less in (("new", worse), ("old", 0.0)):
            draws = rng.random(80) < np.where(np.arange(80) < 60, 0.97 - less, 0.03)
            rows += [f"{model},q{i},{run + 1},{int(draw)}" for i, draw in enumerate(draws)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(POLICY, encoding="utf-8")
    return path


def test_uses_are_recorded_and_shown(bbedge, policy, tmp_path):
    ledger, out = tmp_path / "gate.bbedge", tmp_path / "out.json"
    good, bad = write_scores(tmp_path / "a.csv", 1), write_scores(tmp_path / "b.csv", 2, worse=0.8)
    first = bbedge("gate", policy, good, "--ledger", ledger, "--label", "abc", "--json", out)
    assert first.code == 0, first.err
    assert "Recorded as use 1 (abc). Head " in first.out
    assert "the risk that any of them has a wrong verdict is at most 5 %" in first.out
    values = json.loads(out.read_text())
    assert values["ledger"]["level"] == values["alpha"] < 0.05 == values["ledger"]["alpha"]
    markdown = tmp_path / "summary.md"
    second = bbedge("gate", policy, bad, "--ledger", ledger, "--label", "def", "--markdown", markdown)
    assert second.code == 1
    assert "Recorded as use 2 (def)." in markdown.read_text()
    before = read_ledger(ledger).head
    again = bbedge("gate", policy, bad, "--ledger", ledger, "--label", "def")
    assert again.code == 1, "what is recorded has its exit code"
    assert f"nothing was spent. Head {before}" in again.out
    assert "Recorded before, as use 2 (def)" in again.out
    assert again.out.splitlines()[0] == second.out.splitlines()[0]
    for command in (("gate", "--ledger", ledger), ("gate", policy, "--ledger", ledger)):
        history = bbedge(*command)
        assert history.code == 0
        for words in ("2 uses of the gate", "abc", "def", "ship", "stop", "1 PASS", "1 FAIL"):
            assert words in history.out
    assert bbedge("gate", "--ledger", ledger, "--json", out).code == 0
    history = json.loads(out.read_text())
    assert [use["release"] for use in history["uses"]] == ["ship", "stop"]
    assert history["head"] == read_ledger(ledger).head == before


def test_the_commands_of_boards_work_on_a_ledger(bbedge, policy, tmp_path):
    ledger, archive = tmp_path / "gate.bbedge", tmp_path / "gate.jsonl"
    scores = write_scores(tmp_path / "a.csv", 1)
    assert bbedge("gate", policy, scores, "--ledger", ledger, "--label", "abc").code == 0
    head = read_ledger(ledger).head
    verified = bbedge("board", "verify", ledger, "--head", head)
    assert (verified.code, f"Head {head}" in verified.out) == (0, True), verified.err
    assert "4 events, 6 score vectors, 1 use" in verified.out
    log = bbedge("board", "log", ledger)
    for words in ("policy", "use 1 (abc) at level 0.0304", "use 1: 3 runs came", "use 1, after 3 runs: 1 PASS"):
        assert words in log.out
    assert bbedge("board", "export", ledger, archive).code == 0
    imported = bbedge("board", "import", archive, tmp_path / "new.bbedge")
    assert (imported.code, head in imported.out) == (0, True), imported.err
    assert read_ledger(tmp_path / "new.bbedge") == read_ledger(ledger)
    for command in ("show", "next"):
        refused = bbedge("board", command, ledger)
        assert (refused.code, "this is the ledger of a gate" in refused.err) == (2, True)


def test_a_published_head_finds_what_was_lost(bbedge, policy, tmp_path):
    ledger = tmp_path / "gate.bbedge"
    scores = [write_scores(tmp_path / f"{seed}.csv", seed) for seed in range(3)]
    assert bbedge("gate", policy, scores[0], "--ledger", ledger, "--label", "0").code == 0
    old = ledger.read_bytes()
    said = bbedge("gate", policy, scores[1], "--ledger", ledger, "--label", "1").out
    head = re.search(r"Head ([0-9a-f]{64})", said)[1]
    whole = ledger.read_bytes()
    for left in (whole[:-5], old, None):
        ledger.write_bytes(left) if left is not None else ledger.unlink()
        for command in (
            ("board", "verify", ledger, "--head", head),
            ("gate", "--ledger", ledger, "--head", head),
            ("gate", policy, scores[2], "--ledger", ledger, "--label", "2", "--head", head),
        ):
            found = bbedge(*command)
            assert (found.code, "Traceback" in found.err) == (2, False), found.out


def test_a_contradicted_use_is_recorded_and_shown(bbedge, policy, tmp_path):
    ledger, out = tmp_path / "gate.bbedge", tmp_path / "out.json"
    scores = write_swapped(tmp_path / "swapped.csv")
    first = bbedge("gate", policy, scores, "--ledger", ledger, "--label", "abc")
    assert first.code == 5, first.err
    assert first.out.startswith("CONTRADICTION: no verdict")
    assert "Recorded as use 1 (abc)." in first.out
    before = read_ledger(ledger)
    again = bbedge("gate", policy, scores, "--ledger", ledger, "--label", "abc")
    assert (again.code, again.out.splitlines()[0]) == (5, first.out.splitlines()[0])
    assert "Recorded before, as use 1 (abc)" in again.out
    assert read_ledger(ledger) == before
    history = bbedge("gate", "--ledger", ledger, "--json", out)
    assert history.code == 0
    for words in ("1 use of the gate", "abc", "contradiction", "1 CONTRADICTION"):
        assert words in history.out
    (use,) = json.loads(out.read_text())["uses"]
    assert (use["release"], use["report"]["claims"][0]["contradicted"]) == ("contradiction", True)


def test_runs_that_contradict_a_recorded_verdict_replace_it(bbedge, policy, tmp_path):
    """The first half of the runs ships; with the other half they are the same use, and contradict each other."""
    ledger, whole = tmp_path / "gate.bbedge", write_swapped(tmp_path / "swapped.csv")
    rows = whole.read_text().splitlines()
    half = tmp_path / "half.csv"
    half.write_text("\n".join([row for row in rows if row.split(",")[2] in ("replicate", "1", "2", "3")]) + "\n")
    assert bbedge("gate", policy, half, "--ledger", ledger, "--label", "abc").code == 0
    done = bbedge("gate", policy, whole, "--ledger", ledger, "--label", "abc")
    assert done.code == 5, done.err
    (use,) = read_ledger(ledger).uses
    assert (use.number, use.report.release) == (1, "contradiction")


def test_without_a_shared_budget_the_output_says_what_a_year_means(bbedge, policy, tmp_path):
    policy.write_text(POLICY.replace('spending = "ledger"\n', ""))
    scores = write_scores(tmp_path / "a.csv", 1)
    outcome = bbedge("gate", policy, scores)
    assert (
        "Each use of this gate has its own 5 %: of 100 merges in a year, up to 5 may have a wrong verdict"
        in outcome.out
    )
    kept = bbedge("gate", policy, scores, "--ledger", tmp_path / "gate.bbedge", "--label", "abc")
    assert "Recorded as use 1 (abc)." in kept.out
    assert read_ledger(tmp_path / "gate.bbedge").uses[0].level == 0.05


def test_bad_calls_are_refused(bbedge, policy, tmp_path):
    scores, ledger = write_scores(tmp_path / "a.csv", 1), tmp_path / "gate.bbedge"
    for command, words in (
        (("gate", policy, scores), "add --ledger FILE"),
        (("gate", policy, scores, "--label", "x"), "--label is about a ledger; add --ledger FILE"),
        (("gate", policy, scores, "--head", "0" * 64), "--head is about a ledger"),
        (("gate", policy, scores, "--ledger", ledger), "add --label TEXT"),
        (("gate", "--ledger", ledger), "no ledger here yet"),
        (("gate",), "give POLICY.toml"),
    ):
        outcome = bbedge(*command)
        assert outcome.code == 2
        assert words in outcome.err
    assert not ledger.exists()
    assert bbedge("gate", policy, scores, "--ledger", ledger, "--label", "abc").code == 0
    policy.write_text(POLICY.replace("0.1", "0.2"))
    for command in (
        ("gate", policy, scores, "--ledger", ledger, "--label", "abc"),
        ("gate", policy, "--ledger", ledger),
    ):
        outcome = bbedge(*command)
        assert outcome.code == 2
        assert "not worse by more than 0.1" in outcome.err


def command_study(folder: Path, items: int = 30, baseline: str = "h50") -> Path:
    (folder / "items.csv").write_text("item,block\n" + "".join(f"q{i},b{i}\n" for i in range(items)))
    (folder / "policy.toml").write_text(
        f'candidate = "h85"\nbaseline = "{baseline}"\nspending = "ledger"\n[[claims]]\nbetter_by = 0.15\n'
    )
    path = folder / "study.toml"
    path.write_text(
        f'engine = "command"\nbudget = 25\nmodels = ["h85", "{baseline}"]\n'
        f'command = ["{sys.executable}", "{SERVERS / "harness.py"}", "{{model}}", "{{seed}}", "{{items}}", "{{out}}"]\n'
        '[benchmark]\nitems = "items.csv"\n[run]\npause = 0.1\nworkers = 2\n',
        encoding="utf-8",
    )
    return path


@pytest.mark.nightly
def test_a_study_that_is_killed_continues_under_the_level_that_it_reserved(bbedge, tmp_path):
    study, ledger, rules = command_study(tmp_path), tmp_path / "gate.bbedge", tmp_path / "policy.toml"
    words = ["gate", str(rules), "--until-decided", str(study), "--ledger", str(ledger), "--label", "first"]
    process = subprocess.Popen(
        [sys.executable, "-m", "bbedge", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    while process.poll() is None and not (tmp_path / "study.run").exists():
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (use,) = read_ledger(ledger).uses
    assert use.report is None
    done = bbedge(*words)
    assert done.code in (0, 1), done.err
    assert "Recorded as use 1 (first)." in done.out
    (use,) = read_ledger(ledger).uses
    assert use.report is not None
    again = bbedge(*words)
    assert (again.code, again.out.splitlines()[0]) == (done.code, done.out.splitlines()[0])
    assert "Recorded before, as use 1" in again.out


def kinds(ledger: Path) -> list[str]:
    """The kinds of events that are on the disk."""
    return [kind for kind, *_ in Taken.apart(ledger).events] if ledger.exists() else []


@pytest.mark.nightly
def test_a_study_that_is_killed_inside_its_first_run_continues_its_use(bbedge, tmp_path):
    study, ledger, rules = command_study(tmp_path, 260, "h05"), tmp_path / "gate.bbedge", tmp_path / "policy.toml"
    words = ["gate", str(rules), "--until-decided", str(study), "--ledger", str(ledger), "--label", "first"]
    process = subprocess.Popen(
        [sys.executable, "-m", "bbedge", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    while process.poll() is None and "looked" not in kinds(ledger):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    seen = kinds(ledger)
    (use,) = read_ledger(ledger).uses
    assert use.report is None
    assert "running" in bbedge("gate", "--ledger", ledger).out
    done = bbedge(*words)
    assert done.code in (0, 1), done.err
    assert "of the first run." in done.out.splitlines()[0]
    assert "Recorded as use 1 (first)." in done.out
    before = kinds(ledger)
    assert before[: len(seen)] == seen
    (use,) = read_ledger(ledger).uses
    assert (use.report.replicates, before.count("looked")) == (0, len(use.report.results[0].looks))
    again = bbedge(*words)
    assert (again.code, again.out.splitlines()[0]) == (done.code, done.out.splitlines()[0])
    assert "Recorded before, as use 1" in again.out
    assert kinds(ledger) == before
    for place in (tmp_path / "study.bbedge", ledger):
        verified = bbedge("board", "verify", place)
        assert verified.code == 0, verified.err


@pytest.mark.nightly
def test_a_verdict_that_was_printed_survives_a_kill_at_any_moment(tmp_path, policy):
    """Each command is killed as soon as it has printed its first line; the verdict is in the ledger then."""
    ledger = tmp_path / "gate.bbedge"
    for seed in range(3):
        scores = write_scores(tmp_path / f"{seed}.csv", seed, runs=2)
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "bbedge", "gate", policy, scores, "--ledger", ledger, "--label", str(seed)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        said = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert said
        assert len(read_ledger(ledger).uses) == seed + 1
