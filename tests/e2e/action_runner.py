"""Runs the steps of a composite action as the runner of GitHub does, as far as ``action.yml`` needs it; no network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_PLACE = re.compile(r"(inputs)\.([\w-]+)|steps\.([\w-]+)\.outputs\.([\w-]+)")

COMMIT = "1f3a2c9" + "0" * 33
"""The commit that the workflow runs on."""


@dataclass
class Job:
    """What the steps of one use of the action leave behind."""

    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    code: int = 0
    log: str = ""


def run_action(
    action: Path,
    folder: Path,
    inputs: Mapping[str, str],
    *,
    path: str,
) -> Job:
    """Run the action in a folder; the one that sets up Python does not run, and gives the ``python`` on the path."""
    document = yaml.safe_load(action.read_text(encoding="utf-8"))
    given = {name: about.get("default", "") for name, about in document["inputs"].items()} | dict(inputs)
    assert set(given) == set(document["inputs"])
    temp = folder / "runner temp"
    temp.mkdir()
    summary = temp / "step_summary"
    summary.touch()
    outputs: dict[str, Mapping[str, str]] = {}
    job = Job()

    def filled(text: object) -> str:
        return _EXPRESSION.sub(lambda found: _value(found[1], given, outputs), str(text))

    for step in document["runs"]["steps"]:
        assert "if" not in step, "the runner of the tests knows no conditions"
        if "uses" in step:
            assert step["uses"].startswith("actions/setup-python@")
            outputs[step["id"]] = {"python-path": str(shutil.which("python", path=path))}
            continue
        assert step["shell"] == "bash"
        written = temp / f"output_{step['id']}"
        written.touch()
        script = temp / f"{step['id']}.sh"
        script.write_text(filled(step["run"]), encoding="utf-8")
        env = {
            "PATH": path,
            "HOME": os.environ.get("HOME", "/"),
            "GITHUB_SHA": COMMIT,
            "GITHUB_OUTPUT": str(written),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_ACTION_PATH": str(action.parent),
            "RUNNER_TEMP": str(temp),
        } | {name: filled(value) for name, value in step.get("env", {}).items()}
        # The command line that GitHub documents for `shell: bash`.
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        job.log += done.stdout + done.stderr
        outputs[step["id"]] = dict(line.split("=", 1) for line in written.read_text(encoding="utf-8").splitlines())
        if done.returncode:
            job.code = done.returncode
            break
    job.outputs = {name: filled(about["value"]) for name, about in document["outputs"].items()}
    job.summary = summary.read_text(encoding="utf-8")
    return job


def scripts(action: Path) -> list[dict[str, Any]]:
    """The steps that run a script."""
    document = yaml.safe_load(action.read_text(encoding="utf-8"))
    return [step for step in document["runs"]["steps"] if "run" in step]


def _value(expression: str, inputs: Mapping[str, str], outputs: Mapping[str, Mapping[str, str]]) -> str:
    found = _PLACE.fullmatch(expression)
    assert found, f"the runner of the tests does not know {expression!r}"
    if found[1]:
        return inputs[found[2]]
    return outputs.get(found[3], {}).get(found[4], "")
