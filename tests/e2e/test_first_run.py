"""Looks inside the first run, as a process: with a scripted server, a team's own harness, and kills."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from bbedge.board import Board
from bbedge.verify.ledger import verify
from e2e.test_evaluate_command import SERVERS, environment, events, run, serve

TESTS = Path(__file__).parents[1]
MEMORY = Path("/dev/shm")


@pytest.fixture
def server():
    running = serve()
    yield running
    running.process.kill()
    running.process.wait()
    running.process.stdout.close()


def command_study(folder: Path, words: str, more: str = "") -> Path:
    (folder / "items.csv").write_text("item\n" + "".join(f"q{i:03d}\n" for i in range(200)))
    (folder / "study.toml").write_text(
        f'engine = "command"\nbudget = 2\nmodels = ["h97", "h60", "h05"]\n'
        f'question = "best"\ndrop = "unneeded"\n{more}\n'
        f'command = ["{sys.executable}", {words}]\n[benchmark]\nitems = "items.csv"\n[run]\npause = 0.1\n',
        encoding="utf-8",
    )
    return folder / "study.toml"


@pytest.mark.nightly
def test_a_server_is_asked_for_a_part_of_the_run(server, tmp_path):
    (tmp_path / "study.toml").write_text(
        'budget = 3\nquestion = "best"\ndrop = "unneeded"\n'
        + "".join(
            f'[[models]]\nname = "{name}"\nmodel = "openai-api/scripted/{model}"\n'
            for name, model in {"strong": "m99", "middle": "m30", "weak": "m05"}.items()
        )
        + f'[benchmark]\ntask = "{SERVERS / "quiz.py"}@quiz"\nargs = {{ n = 400 }}\n[run]\npause = 0.01\n'
        '[prices]\n"openai-api/scripted/m99" = { input = 1, output = 1 }\n',
        encoding="utf-8",
    )
    study = tmp_path / "study.toml"
    done = run(study, server, "--json")
    assert done.returncode == 0, done.stderr
    said = events(done.stdout)
    parts = [event for event in said if event["event"] == "part-looked"]
    assert [event["checkpoint"] for event in parts] == list(range(1, len(parts) + 1))
    assert [event["blocks"] for event in parts] == [2, 4, 8, 14, 24, 40, 70, 120][: len(parts)]
    assert parts[0]["models"] == ["strong", "middle", "weak"]
    saved = said[-1]["first_pass"]
    ran = sum(event["event"] == "sample-done" for event in said)
    assert saved["item_runs"] == ran < saved["full_item_runs"] == 3 * 400
    assert (saved["queries"], saved["full_queries"]) == (ran, 1200)
    asked = [text for text in server.asked() if "Reply with the word ok." not in text]
    assert len(asked) == ran
    with Board.open(tmp_path / "study.bbedge") as board:
        verify(board.store)
        assert board.state.epoch.order_seed is not None
    shown = subprocess.run(
        [sys.executable, "-m", "bbedge", "evaluate", str(study)],
        env=environment(server),
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{ran:,} of 1,200 item runs" in shown.stdout
    assert "Answered  best: the best is strong" in shown.stdout


@pytest.mark.nightly
def test_a_harness_gets_the_items_up_to_the_next_checkpoint(bbedge, tmp_path):
    study = command_study(tmp_path, f'"{SERVERS / "harness.py"}", "{{model}}", "{{seed}}", "{{items}}", "{{out}}"')
    done = bbedge("evaluate", study, "--json")
    assert done.code == 0, done.err
    parts = [event for event in events(done.out) if event["event"] == "part-looked"]
    assert parts
    first = (tmp_path / "study.run/replicate-00001/model-001/attempt-00001/items.txt").read_text().split()
    with Board.open(tmp_path / "study.bbedge") as board:
        plan, items = board.state.epoch.plan, board.state.epoch.items
    assert sorted(first) == sorted(items[place] for place in plan.places(1))


def test_a_harness_that_runs_all_items_has_complete_runs_and_the_board_says_so(bbedge, tmp_path):
    (tmp_path / "all.txt").write_text("".join(f"q{i:03d}\n" for i in range(200)))
    words = f'"{SERVERS / "harness.py"}", "{{model}}", "{{seed}}", "{tmp_path / "all.txt"}", "{{out}}"'
    study = command_study(tmp_path, words)
    done = bbedge("evaluate", study, "--json")
    assert done.code == 0, done.err
    assert not any(event["event"] == "part-looked" for event in events(done.out))
    said = bbedge("board", "show", tmp_path / "study.bbedge").out
    assert "There are no looks inside the first run" in " ".join(said.split())
    for name in ("study.bbedge", "study.bbedge.heads.jsonl"):
        (tmp_path / name).unlink()
    shutil.rmtree(tmp_path / "study.run")
    command_study(tmp_path, words, more="checkpoints = true")
    refused = bbedge("evaluate", study)
    assert refused.code == 2
    assert "let the command read the items to run from {items}" in " ".join(refused.err.split())


@pytest.mark.nightly
@pytest.mark.parametrize("kills", [40])
def test_a_kill_inside_the_first_run_changes_nothing(kills):
    """In memory if possible: every sample is flushed to the disk, which costs more than all the rest."""
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    paths = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, TESTS / "e2e" / "first_run_kills.py", folder / "study", str(kills)],
        env={**os.environ, "PYTHONPATH": paths, **threads},
        check=False,
        capture_output=True,
        text=True,
    )
    shutil.rmtree(folder)
    assert done.returncode == 0, done.stderr
    moments = json.loads(done.stdout)
    assert len(moments) == kills
    assert any("Board.add upto" in moment for moment in moments)
    assert {"before ReplicateFile.add", "after ReplicateFile.add"} <= set(moments)
