"""A study whose answers are judged twice: seeds, journal, table and diagnosis."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

from bbedge.board import Board
from bbedge.board.stored_scores import stored_scores

TESTS = Path(__file__).parents[1]
SERVERS = TESTS / "servers"
MEMORY = Path("/dev/shm")
MODELS = ("m90", "m60")


@pytest.fixture
def port(monkeypatch):
    server = subprocess.Popen([sys.executable, SERVERS / "scripted_openai.py"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    port = int(server.stdout.readline())
    monkeypatch.setenv("SCRIPTED_BASE_URL", f"http://127.0.0.1:{port}/v1")
    monkeypatch.setenv("SCRIPTED_API_KEY", "none")
    yield port
    server.kill()
    server.wait()
    server.stdout.close()


def study(folder: Path, repeats: str) -> Path:
    models = ", ".join(f'"openai-api/scripted/{model}"' for model in MODELS)
    (folder / "study.toml").write_text(
        f'budget = 3\nmodels = [{models}]\ndrop = "never"\n[design]\nalpha = 0.001\n'
        f'[benchmark]\ntask = "{SERVERS / "quiz.py"}@dialogues"\nargs = {{ n = 6 }}\n'
        f'roles = {{ grader = "openai-api/scripted/m70" }}\n{repeats}\n[run]\npause = 0.01\n'
    )
    return folder / "study.toml"


def evaluate(study: Path, *options: object) -> subprocess.CompletedProcess[str]:
    """As a process: Inspect leaves streams open, which are errors in this one."""
    words = [sys.executable, "-m", "bbedge", "evaluate", str(study), "--quiet", *map(str, options)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.nightly
def test_every_answer_is_judged_twice_by_requests_that_differ_in_their_seed_only(bbedge, tmp_path, port):
    ended = evaluate(study(tmp_path, "judge_repeats = 2"))
    assert ended.returncode == 3, ended.stderr  # the budget is spent
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
        asked = json.load(answer)["answered"]
    assert set(asked.values()) == {1}  # no two requests are the same
    replicates, answers = 3, 3 * 6 * 2 * len(MODELS)
    judged = [request.split("|", 2) for request in asked if request.startswith("m70|") and "Is " in request]
    assert len(judged) == 2 * answers
    assert len({seed for _, seed, _ in judged}) == len(judged)
    # An answer that is judged in one request is judged in another one: prompts come in pairs.
    assert all(count % 2 == 0 for count in Counter(prompt for _, _, prompt in judged).values())

    tables = sorted((tmp_path / "study.run" / "judgements").glob("*.csv"))
    assert len(tables) == replicates
    rows = [row for table in tables for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines())]
    assert len(rows) == 2 * answers
    means: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        means.setdefault((row["model"], row["item"], row["replicate"]), []).append(float(row["score"]))
    assert any(len(set(both)) == 2 for both in means.values())  # the judge has noise
    with Board.open(str(tmp_path / "study.bbedge")) as board:
        scores = stored_scores(board, board.state.epoch.models)
    for (model, item, replicate), both in means.items():
        place = scores.replicates.index(replicate), scores.models.index(model), scores.items.index(item)
        assert scores.values[place] == pytest.approx(sum(both) / 2)

    outcome = bbedge("diagnose", tables[0].parent, "--judgement", "judgement", "--json", tmp_path / "d.json")
    assert outcome.code == 0, outcome.err
    found = json.loads((tmp_path / "d.json").read_text())
    assert (found["judge_noise"]["replicates"], found["judge_noise"]["judgements"]) == (3, 2)
    assert found["findings"][-1]["kind"] == "judge-noise"


@pytest.mark.nightly
def test_a_study_that_judges_once_keeps_no_table(tmp_path, port):
    once = evaluate(study(tmp_path, ""), "--replicates", 1)
    assert once.returncode == 0, once.stderr
    assert not (tmp_path / "study.run" / "judgements").exists()
    changed = evaluate(study(tmp_path, "judge_repeats = 2"))
    assert changed.returncode == 2
    assert "judge_repeats" in changed.stderr


@pytest.mark.nightly
def test_a_kill_between_judgements_changes_nothing_and_asks_for_none_again():
    """In memory if possible, as every judgement is flushed to the disk."""
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    paths = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, TESTS / "e2e" / "judged_kills.py", folder],
        env={**os.environ, "PYTHONPATH": paths},
        check=False,
        capture_output=True,
        text=True,
    )
    shutil.rmtree(folder)
    assert done.returncode == 0, done.stderr
    again = json.loads(done.stdout)
    assert again["before 2"]["judge"] >= 1  # it was asked, and not yet in the journal
    assert sum(again["after 3"].values()) >= 1  # the kill came in the middle of a sample
