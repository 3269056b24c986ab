"""The projects in ``examples/`` run as their READMEs say, and print what these show."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bbedge.records.policy import Policy

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PROJECTS = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())


def blocks(readme: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)


def run_project(name: str, folder: Path) -> tuple[Path, str]:
    """A copy of the project after the command of its README, and what it printed; it has no way out to a network."""
    project = folder / name
    shutil.copytree(EXAMPLES / name, project, ignore=shutil.ignore_patterns("out", "__pycache__"))
    (command,) = blocks(project / "README.md", "sh")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=project,
        env={**os.environ, **nowhere, "PATH": path, "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = [line for block in blocks(project / "README.md", "text") for line in block.splitlines()]
    assert len(shown) >= 3
    printed = done.stdout.splitlines()
    assert [line for line in shown if line not in printed] == []
    return project, done.stdout


@pytest.mark.nightly
def test_a_public_leaderboard(tmp_path):
    project, printed = run_project("leaderboard", tmp_path)
    public = project / "out" / "public"
    page = (public / "index.html").read_text(encoding="utf-8")
    assert "<title>Reading comprehension" in page
    assert all(model in page for model in ("kestrel", "heron", "osprey", "plover", "wren"))
    (badge,) = (public / "models").glob("kestrel-*.svg")
    assert "certified #1 of 5" in badge.read_text(encoding="utf-8")
    # Everything was computed again from what was published.
    assert "verified: the certificate matches its digest, and everything that it concludes follows" in printed


@pytest.mark.nightly
def test_a_leaderboard_that_takes_submissions(tmp_path):
    project, _ = run_project("leaderboard-repository", tmp_path)
    published = project / "out" / "maintainers" / "docs"
    assert "kestrel" in (published / "index.html").read_text(encoding="ascii")
    assert "passes every check" in (project / "out" / "verdict.md").read_text(encoding="utf-8")


@pytest.mark.nightly
def test_a_gate_for_pull_requests(tmp_path):
    project, printed = run_project("pull-request-gate", tmp_path)
    assert re.findall(r"^exit code (\d+)$", printed, re.MULTILINE) == ["0", "3", "1"]
    assert "**Ship: " in (project / "out" / "shorter-prompt.md").read_text(encoding="utf-8")
    assert "**Stop: " in (project / "out" / "cheaper-model.md").read_text(encoding="utf-8")


def test_the_workflow_of_the_gate_uses_what_is_there():
    project = EXAMPLES / "pull-request-gate"
    workflow = yaml.safe_load((project / ".github" / "workflows" / "gate.yml").read_text(encoding="utf-8"))
    steps = workflow["jobs"]["gate"]["steps"]
    (command,) = (step["run"] for step in steps if "run" in step)
    (gate,) = (step["with"] for step in steps if step.get("uses", "").startswith("OWNER/bbedge@"))
    (base,) = (step["with"]["path"] for step in steps if "path" in step.get("with", {}) and "ref" in step["with"])
    program, script, change, _, folder = command.split()
    assert (program, folder) == ("python", gate["scores"])
    assert change in runpy.run_path(str(project / script))["SKILL"]
    assert gate["policy"] == f"{base}/policy.toml"
    known = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    assert set(gate) <= set(known)
    assert Policy.from_toml((project / "policy.toml").read_text(encoding="utf-8")).baseline == "main"


def test_two_prompts(tmp_path):
    project, _ = run_project("two-prompts", tmp_path)
    page = (project / "page.html").read_text(encoding="utf-8")
    assert all(word in page for word in ("Two prompts", "quote-first", "terse"))
    program = (project / "compare.py").read_text(encoding="utf-8")
    for block in blocks(project / "README.md", "python"):
        for line in block.splitlines():
            assert line.split("  #")[0] in program


def test_two_equal_prompts_are_run_until_the_budget_is_spent(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["compare.py"])
    names = runpy.run_path(str(EXAMPLES / "two-prompts" / "compare.py"))
    score = names["score"]
    main = names["main"]
    main.__globals__["score"] = lambda prompt, item, run: score("terse", item, run + 100 * (prompt != "terse"))
    main()
    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith("Stopped after 12 of at most 12 runs. On these ")
    assert " items, either model could be best; " in last


@pytest.mark.parametrize("name", PROJECTS)
def test_each_has_a_short_readme_whose_links_lead_somewhere(name):
    readme = EXAMPLES / name / "README.md"
    text = readme.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (readme.parent / target).exists(), target
    assert f"({name}/README.md)" in (EXAMPLES / "README.md").read_text(encoding="utf-8")
