"""What docs/evaluate.md shows is what happens."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

from bbedge.cli.app import make_app
from bbedge.evaluate.spec import EvaluationSpec

PAGE = (Path(__file__).parents[2] / "docs" / "evaluate.md").read_text(encoding="utf-8")
LM_EVAL = """#!{python}
import json, pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--output_path") + 1]) / "model"
folder.mkdir(parents=True)
assert "seed=77" in sys.argv[sys.argv.index("--model_args") + 1]
with (folder / "samples_gsm8k_2026.jsonl").open("w") as file:
    for item in range(3):
        for name, score in (("strict-match", 0.0), ("flexible-extract", 1.0)):
            file.write(json.dumps({{"doc_id": item, "filter": name, "exact_match": score}}) + chr(10))
"""


def test_the_studies_are_read(tmp_path):
    shown = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert len(shown) == 2
    for number, text in enumerate(shown):
        path = tmp_path / f"study{number}.toml"
        path.write_text(text, encoding="utf-8")
        study = EvaluationSpec.read(path)
        assert study.budget == 20


def test_the_options_are_told():
    names = {
        option
        for command in make_app().registered_commands
        if command.callback.__name__ == "evaluate"
        for option in ("--replicates", "--no-drop", "--engine", "--dry-run", "--pilot", "--quiet", "--json")
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


def test_lm_eval_is_driven_as_shown(tmp_path):
    (script,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "lm_eval_replicate.py").write_text(script, encoding="utf-8")
    fake = tmp_path / "bin" / "lm_eval"
    fake.parent.mkdir()
    fake.write_text(LM_EVAL.format(python=sys.executable), encoding="utf-8")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    out = tmp_path / "scores.csv"
    subprocess.run(
        [sys.executable, tmp_path / "lm_eval_replicate.py", "m", "77", out],
        env=os.environ | {"PATH": f"{fake.parent}:{os.environ['PATH']}"},
        check=True,
    )
    assert out.read_text().split() == ["model,item,score", "m,0,1.0", "m,1,1.0", "m,2,1.0"]
