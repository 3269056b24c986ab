"""The GitHub Action: its steps, run as the runner would, and what they leave behind."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml

from e2e.action_runner import run_action, scripts
from e2e.gate_scores import POLICY, write_scores, write_swapped

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "action.yml"


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH on which the command of these tests is installed."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "bbedge"
    start = f"import sys; sys.path[:0] = {[str(ROOT / 'src'), *sys.path]!r}; from bbedge.cli import main; main()"
    command.write_text(f"#!{sys.executable}\n{start}\n", encoding="utf-8")
    command.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


@pytest.mark.parametrize(
    ("new", "old", "items", "release", "code", "mark"),
    [
        (0.9, 0.5, 200, "ship", 0, "✅ PASS"),
        (0.4, 0.9, 200, "stop", 1, "❌ FAIL"),
        (0.6, 0.6, 20, "undecided", 3, "⏳ OPEN"),
    ],
)
def test_a_verdict_becomes_summary_comment_outputs_and_exit_code(tmp_path, path, new, old, items, release, code, mark):
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    write_scores(tmp_path / "scores of today.csv", new, old, items=items)
    inputs = {
        "policy": "policy.toml",
        "scores": "scores of today.csv\n",
        "arguments": "--junit\nout of it.xml\n",
        "version": "installed",
        "comment-file": "comment body.md",
    }
    job = run_action(ACTION, tmp_path, inputs, path=path)
    assert (job.code, job.outputs) == (code, {"release": release, "exit-code": str(code)}), job.log
    assert mark in job.summary
    assert (tmp_path / "comment body.md").read_text(encoding="utf-8") == job.summary
    assert (tmp_path / "out of it.xml").read_text(encoding="utf-8").startswith("<?xml")
    assert job.skipped == ["Set up Python"]


def test_a_contradiction_is_a_release_of_its_own(tmp_path, path):
    (tmp_path / "policy.toml").write_text(POLICY.replace("error", "pass"), encoding="utf-8")
    write_swapped(tmp_path / "scores.csv")
    given = {"policy": "policy.toml", "scores": "scores.csv", "version": "installed"}
    job = run_action(ACTION, tmp_path, given, path=path)
    assert (job.code, job.outputs) == (5, {"release": "contradiction", "exit-code": "5"}), job.log
    assert "**CONTRADICTION: no verdict" in job.summary
    assert (tmp_path / "bbedge-gate.md").read_text(encoding="utf-8") == job.summary


def test_an_open_claim_of_a_policy_that_says_nothing_of_it_is_undecided(tmp_path, path):
    (tmp_path / "policy.toml").write_text(POLICY.replace('open = "error"\n', ""), encoding="utf-8")
    write_scores(tmp_path / "scores.csv", 0.6, 0.6, items=20)
    given = {"policy": "policy.toml", "scores": "scores.csv", "version": "installed"}
    job = run_action(ACTION, tmp_path, given, path=path)
    assert (job.code, job.outputs) == (3, {"release": "undecided", "exit-code": "3"}), job.log
    assert "**Undecided: " in job.summary


@pytest.mark.parametrize("code", [0, 1, 3, 5])
def test_an_exit_code_without_a_report_is_no_verdict(tmp_path, path, code):
    fake = tmp_path / "bin" / "bbedge"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/bash\nexit {code}\n", encoding="utf-8")
    fake.chmod(0o755)
    given = {"policy": "policy.toml", "scores": "scores.csv", "version": "installed"}
    job = run_action(ACTION, tmp_path, given, path=f"{fake.parent}:{path}")
    assert (job.code, job.outputs) == (2, {"release": "error", "exit-code": "2"})


@pytest.mark.parametrize(
    "inputs",
    [
        {"policy": "missing.toml"},
        {"scores": "missing.csv"},
        {"scores": ""},
        {"arguments": "--no-such-option"},
        {"arguments": "--"},
    ],
)
def test_bad_input_has_no_verdict(tmp_path, path, inputs):
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    write_scores(tmp_path / "scores.csv", 0.9, 0.5, items=20)
    given = {"policy": "policy.toml", "scores": "scores.csv", "version": "installed"} | inputs
    job = run_action(ACTION, tmp_path, given, path=path)
    assert (job.code, job.outputs) == (2, {"release": "error", "exit-code": "2"}), job.log
    assert "No verdict" in job.summary
    assert (tmp_path / "bbedge-gate.md").read_text(encoding="utf-8") == job.summary


def test_a_crash_is_no_verdict(tmp_path, path):
    """Python exits with 1 after a traceback, which must not read as stop."""
    broken = tmp_path / "bin" / "bbedge"
    broken.parent.mkdir()
    broken.write_text(f"#!{sys.executable}\nraise RuntimeError('a bug')\n", encoding="utf-8")
    broken.chmod(0o755)
    given = {"policy": "policy.toml", "scores": "scores.csv", "version": "installed"}
    job = run_action(ACTION, tmp_path, given, path=f"{broken.parent}:{path}")
    assert "a bug" in job.log
    assert (job.code, job.outputs["release"]) == (2, "error")


@pytest.mark.parametrize("name", ["policy", "scores", "arguments", "comment-file", "version"])
def test_inputs_are_never_code(tmp_path, path, name):
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    write_scores(tmp_path / "scores.csv", 0.9, 0.5, items=20)
    attack = "x\"; touch hacked; '`touch hacked`$(touch hacked)"
    given = {"policy": "policy.toml", "scores": "scores.csv", "version": "installed"} | {name: attack}
    run_action(ACTION, tmp_path, given, path=path, uses={_setup_python(): {"python-path": "/bin/false"}})
    assert not list(tmp_path.rglob("hacked"))


def test_paths_are_not_read_as_options(tmp_path, path):
    (tmp_path / "--help").write_text(POLICY, encoding="utf-8")
    write_scores(tmp_path / "-v.csv", 0.9, 0.5)
    job = run_action(ACTION, tmp_path, {"policy": "--help", "scores": "-v.csv", "version": "installed"}, path=path)
    assert job.outputs["release"] == "ship", job.log


def test_names_in_the_output_are_not_read_as_commands_of_the_runner(tmp_path, path):
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    write_scores(tmp_path / "scores.csv", 0.9, 0.5, items=20)
    given = {"policy": "policy.toml", "scores": "scores.csv", "version": "installed"}
    lines = run_action(ACTION, tmp_path, given, path=path).log.splitlines()
    (start,) = (line for line in lines if line.startswith("::stop-commands::"))
    token = start.removeprefix("::stop-commands::")
    assert len(token) == 32
    assert lines.index(start) == 0
    assert lines.index(f"::{token}::") > max(place for place, line in enumerate(lines) if "new" in line)


@pytest.mark.parametrize(
    ("version", "source"), [("", str(ROOT)), ("0.1.0", "bbedge==0.1.0"), ("1.2rc1", "bbedge==1.2rc1")]
)
def test_what_is_installed(tmp_path, path, version, source):
    """pip is replaced by a recorder: there is no network here."""
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    write_scores(tmp_path / "scores.csv", 0.9, 0.5)
    made = tmp_path / "python"
    made.write_text(
        '#!/bin/bash\nset -e\nif [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; exit; fi\n'
        f'printf "%s\\n" "$@" > "{tmp_path}/pip"; cp "$(command -v bbedge)" "$(dirname "$0")/bbedge"\n',
        encoding="utf-8",
    )
    made.chmod(0o755)
    given = {"policy": "policy.toml", "scores": "scores.csv", "version": version}
    job = run_action(ACTION, tmp_path, given, path=path, uses={_setup_python(): {"python-path": str(made)}})
    assert job.outputs["release"] == "ship", job.log
    arguments = (tmp_path / "pip").read_text(encoding="utf-8").splitlines()
    assert arguments == ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", source]


@pytest.mark.parametrize("version", ["0.1 --index-url=https://example.org", "./somewhere", "latest"])
def test_what_is_no_version_is_refused(tmp_path, path, version):
    given = {"policy": "policy.toml", "scores": "scores.csv", "version": version}
    job = run_action(ACTION, tmp_path, given, path=path, uses={_setup_python(): {"python-path": "/bin/false"}})
    assert job.code == 2
    assert "not a version number" in job.log


def test_the_action_is_pinned_and_interpolates_nothing():
    for step in scripts(ACTION):
        assert "${{" not in step["run"]
    for step in yaml.safe_load(ACTION.read_text(encoding="utf-8"))["runs"]["steps"]:
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])


def _setup_python() -> str:
    steps = yaml.safe_load(ACTION.read_text(encoding="utf-8"))["runs"]["steps"]
    return next(step["uses"] for step in steps if "uses" in step)
