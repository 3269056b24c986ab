"""The GitHub Action: its steps, run as the runner would, and what they leave behind."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml

from bbedge.gate import read_ledger
from e2e.action_runner import COMMIT, run_action, scripts
from e2e.gate_scores import POLICY, write_scores, write_swapped

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "action.yml"


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH with the command of these tests and a Python whose pip installs it and records what it was asked for."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "bbedge"
    start = f"import sys; sys.path[:0] = {[str(ROOT / 'src'), *sys.path]!r}; from bbedge.cli import main; main()"
    command.write_text(f"#!{sys.executable}\n{start}\n", encoding="utf-8")
    command.chmod(0o755)
    python = folder / "python"
    python.write_text(
        '#!/bin/bash\nset -e\nif [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; exit; fi\n'
        f'printf "%s\\n" "$@" > "{folder}/pip"; cp "$(command -v bbedge)" "$(dirname "$0")/bbedge"\n',
        encoding="utf-8",
    )
    python.chmod(0o755)
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
        "comment-file": "comment body.md",
    }
    job = run_action(ACTION, tmp_path, inputs, path=path)
    assert (job.code, job.outputs) == (code, {"release": release, "exit-code": str(code)}), job.log
    assert mark in job.summary
    assert (tmp_path / "comment body.md").read_text(encoding="utf-8") == job.summary
    assert (tmp_path / "out of it.xml").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize(
    ("label", "arguments", "known"),
    [("", "", COMMIT), ("merge 7", "", "merge 7"), ("", "--label\nmine\n", "mine")],
)
def test_a_use_in_a_ledger_is_known_by_its_commit(tmp_path, path, label, arguments, known):
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    write_scores(tmp_path / "scores.csv", 0.9, 0.5, items=200)
    given = {"policy": "policy.toml", "scores": "scores.csv", "label": label}
    job = run_action(ACTION, tmp_path, given | {"arguments": f"--ledger\ngate.bbedge\n{arguments}"}, path=path)
    assert job.code == 0, job.log
    assert [use.label for use in read_ledger(tmp_path / "gate.bbedge").uses] == [known]


@pytest.mark.nightly
def test_a_contradiction_is_a_release_of_its_own(tmp_path, path):
    (tmp_path / "policy.toml").write_text(POLICY.replace("error", "pass"), encoding="utf-8")
    write_swapped(tmp_path / "scores.csv")
    given = {"policy": "policy.toml", "scores": "scores.csv"}
    job = run_action(ACTION, tmp_path, given, path=path)
    assert (job.code, job.outputs) == (5, {"release": "contradiction", "exit-code": "5"}), job.log
    assert "**CONTRADICTION: no verdict" in job.summary
    assert (tmp_path / "bbedge-gate.md").read_text(encoding="utf-8") == job.summary


@pytest.mark.nightly
def test_an_open_claim_of_a_policy_that_says_nothing_of_it_is_undecided(tmp_path, path):
    (tmp_path / "policy.toml").write_text(POLICY.replace('open = "error"\n', ""), encoding="utf-8")
    write_scores(tmp_path / "scores.csv", 0.6, 0.6, items=20)
    given = {"policy": "policy.toml", "scores": "scores.csv"}
    job = run_action(ACTION, tmp_path, given, path=path)
    assert (job.code, job.outputs) == (3, {"release": "undecided", "exit-code": "3"}), job.log
    assert "**Undecided: " in job.summary


@pytest.mark.nightly
@pytest.mark.parametrize("code", [0, 1, 3, 5])
def test_an_exit_code_without_a_report_is_no_verdict(tmp_path, path, code):
    fake = tmp_path / "bin" / "bbedge"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/bash\nexit {code}\n", encoding="utf-8")
    fake.chmod(0o755)
    given = {"policy": "policy.toml", "scores": "scores.csv"}
    job = run_action(ACTION, tmp_path, given, path=f"{fake.parent}:{path}")
    assert (job.code, job.outputs) == (2, {"release": "error", "exit-code": "2"})


@pytest.mark.nightly
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
    given = {"policy": "policy.toml", "scores": "scores.csv"} | inputs
    job = run_action(ACTION, tmp_path, given, path=path)
    assert (job.code, job.outputs) == (2, {"release": "error", "exit-code": "2"}), job.log
    assert "No verdict" in job.summary
    assert (tmp_path / "bbedge-gate.md").read_text(encoding="utf-8") == job.summary


@pytest.mark.nightly
def test_a_crash_is_no_verdict(tmp_path, path):
    """Python exits with 1 after a traceback, which must not read as stop."""
    broken = tmp_path / "bin" / "bbedge"
    broken.parent.mkdir()
    broken.write_text(f"#!{sys.executable}\nraise RuntimeError('a bug')\n", encoding="utf-8")
    broken.chmod(0o755)
    given = {"policy": "policy.toml", "scores": "scores.csv"}
    job = run_action(ACTION, tmp_path, given, path=f"{broken.parent}:{path}")
    assert "a bug" in job.log
    assert (job.code, job.outputs["release"]) == (2, "error")


@pytest.mark.parametrize("name", ["policy", "scores", "arguments", "comment-file"])
def test_inputs_are_never_code(tmp_path, path, name):
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    write_scores(tmp_path / "scores.csv", 0.9, 0.5, items=20)
    attack = "x\"; touch hacked; '`touch hacked`$(touch hacked)"
    given = {"policy": "policy.toml", "scores": "scores.csv"} | {name: attack}
    run_action(ACTION, tmp_path, given, path=path)
    assert not list(tmp_path.rglob("hacked"))


def test_paths_are_not_read_as_options(tmp_path, path):
    (tmp_path / "--help").write_text(POLICY, encoding="utf-8")
    write_scores(tmp_path / "-v.csv", 0.9, 0.5)
    job = run_action(ACTION, tmp_path, {"policy": "--help", "scores": "-v.csv"}, path=path)
    assert job.outputs["release"] == "ship", job.log


@pytest.mark.nightly
def test_names_in_the_output_are_not_read_as_commands_of_the_runner(tmp_path, path):
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    write_scores(tmp_path / "scores.csv", 0.9, 0.5, items=20)
    given = {"policy": "policy.toml", "scores": "scores.csv"}
    lines = run_action(ACTION, tmp_path, given, path=path).log.splitlines()
    (start,) = (line for line in lines if line.startswith("::stop-commands::"))
    token = start.removeprefix("::stop-commands::")
    assert len(token) == 32
    assert lines.index(start) == 0
    assert lines.index(f"::{token}::") > max(place for place, line in enumerate(lines) if "new" in line)


@pytest.mark.nightly
def test_the_commit_of_the_action_is_what_is_installed(tmp_path, path):
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    write_scores(tmp_path / "scores.csv", 0.9, 0.5)
    job = run_action(ACTION, tmp_path, {"policy": "policy.toml", "scores": "scores.csv"}, path=path)
    assert job.outputs["release"] == "ship", job.log
    arguments = (Path(path.partition(":")[0]) / "pip").read_text(encoding="utf-8").splitlines()
    assert arguments == ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(ROOT)]
    assert "version" not in yaml.safe_load(ACTION.read_text(encoding="utf-8"))["inputs"]


@pytest.mark.nightly
@pytest.mark.parametrize("way", ["file", "nowhere", "folder", "on the way", "above"])
def test_a_link_in_the_checkout_does_not_send_the_summary_elsewhere(tmp_path, path, way):
    outside, checkout = tmp_path / "outside", tmp_path / "checkout"
    (checkout / "out").mkdir(parents=True)
    outside.mkdir()
    (outside / "profile").write_text("mine", encoding="utf-8")
    (checkout / "policy.toml").write_text(POLICY, encoding="utf-8")
    write_scores(checkout / "scores.csv", 0.9, 0.5, items=20)
    target = {"file": outside / "profile", "nowhere": outside / "new", "folder": outside}.get(way)
    if target is not None:
        place = "out/comment.md"
        (checkout / place).symlink_to(target)
    else:
        (checkout / "sub").symlink_to(outside)
        place = "sub/profile" if way == "on the way" else "./sub/../sub/profile"
    given = {"policy": "policy.toml", "scores": "scores.csv", "comment-file": place}
    job = run_action(ACTION, checkout, given, path=path)
    assert (job.code, job.outputs) == (2, {"release": "error", "exit-code": "2"}), job.log
    assert "is a link; give a path without links" in job.log
    assert {each.name: each.read_text(encoding="utf-8") for each in outside.iterdir()} == {"profile": "mine"}


def test_the_action_is_pinned_and_interpolates_nothing():
    for step in scripts(ACTION):
        assert "${{" not in step["run"]
    for step in yaml.safe_load(ACTION.read_text(encoding="utf-8"))["runs"]["steps"]:
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])
