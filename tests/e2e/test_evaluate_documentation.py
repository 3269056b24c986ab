"""What docs/evaluate.md shows is what happens."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from bbedge.cli import make_app
from bbedge.evaluate.engines import engine_for
from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.specification import EvaluationSpec
from servers.faulty_openai import Faulty

PAGE = (Path(__file__).parents[2] / "docs" / "evaluate.md").read_text(encoding="utf-8")
FAKE = Path(__file__).parents[1] / "servers" / "fake_lm_eval"


def test_the_studies_are_read(tmp_path):
    shown = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert len(shown) == 3
    for number, text in enumerate(shown):
        path = tmp_path / f"study{number}.toml"
        path.write_text(text, encoding="utf-8")
        study = EvaluationSpec.read(path)
        assert study.file.budget == 20


def test_the_options_are_told():
    names = {
        option
        for command in make_app().registered_commands
        if command.callback.__name__ == "evaluate"
        for option in [
            "--replicates",
            "--no-drop",
            "--engine",
            "--dry-run",
            "--pilot",
            "--quiet",
            "--json",
            "--server-changed",
        ]
    }
    help_ = subprocess.run(
        [sys.executable, "-m", "bbedge", "evaluate", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"COLUMNS": "120"},
    ).stdout
    assert set(re.findall(r"--[a-z][a-z-]+", help_)) - {"--help"} == names
    assert all(f"`{name}" in PAGE for name in names)


def test_the_study_of_lm_eval_runs_as_shown(tmp_path, monkeypatch):
    """With a package in the place of the tool, which scores gsm8k under both of its filters."""
    (text,) = re.findall(r'```toml\n(engine = "lm_eval".*?)```', PAGE, re.DOTALL)
    monkeypatch.setenv("PYTHONPATH", str(FAKE))
    here = re.sub(r'^python = "[^"]*"', f'python = "{sys.executable}"', text, flags=re.MULTILINE)
    for name, model in (("large", "m95"), ("small", "m05")):
        here = here.replace(f'model = "{name}"', f'model = "{model}"')
    path = tmp_path / "study.toml"
    with Faulty() as server:
        for port in (8000, 8001):
            here = here.replace(f"http://127.0.0.1:{port}/v1", server.url("fine"))
        path.write_text(here, encoding="utf-8")
        study = EvaluationSpec.read(path)
        ended = evaluate(study, engine_for(study))
    assert ended.answer.answered
    assert server.asked["fine"] == 2  # the short questions; documents are answered without a server
    (order,) = (study.folder / "replicate-00001" / "model-001").glob("attempt-*/order.json")
    assert json.loads(order.read_text())["requests"]["num_concurrent"] == 8
