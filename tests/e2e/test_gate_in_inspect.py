"""Gates in Inspect, with its mock model: the verdict after an eval set, and tasks that end when it is known."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from inspect_ai.scorer import Score

from bbedge.errors import BbedgeError
from bbedge.integrations.inspect_gate import POLICY_VARIABLE, GateStopping
from e2e import inspect_gate_runs
from e2e.inspect_gate_runs import EPOCHS, ITEMS, MORE, POLICY

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("inspect")
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    script = inspect_gate_runs.__file__
    done = subprocess.run([sys.executable, script, out], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return out


@pytest.fixture(scope="module")
def found(folder: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    return result


def test_the_verdict_is_printed_after_an_eval_set(found):
    assert "Ship: mockllm/new is not worse than mockllm/old by more than 0.05" in found["set ship"]
    assert "Stop: mockllm/new is worse than mockllm/old by at least 0.05" in found["set stop"]


def test_a_contradiction_is_printed_after_an_eval_set(found):
    assert found["set swapped"].startswith("CONTRADICTION: no verdict, because the runs contradict each other")
    assert "Check which system each run belongs to" in found["set swapped"]


def test_a_task_whose_runs_contradict_each_other_ends_without_a_verdict(found):
    """Both systems become worse half-way: their comparison stays open, and what was found of the floor is reversed."""
    run = found["broken"]
    ended = run["metadata"]["epochs"]
    assert MORE // 2 < ended < MORE
    assert run["samples"] == [ITEMS] * ended + [0] * (MORE - ended)
    assert run["reasons"] == [f"the runs contradict each other after epoch {ended}"]
    assert run["metadata"]["release"] == "contradiction"
    assert run["metadata"]["verdict"].startswith("CONTRADICTION: no verdict")
    claims = run["metadata"]["report"]["claims"]
    assert [claim["verdict"] for claim in claims] == ["OPEN", "CONTRADICTION"]
    assert [claim["contradicted"] for claim in claims] == [False, True]


def test_inspect_finds_the_hook_by_an_entry_point(monkeypatch):
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    hook = import_module(entries["inspect_ai"]["bbedge_gate"]).GateHook()
    monkeypatch.delenv(POLICY_VARIABLE, raising=False)
    assert not hook.enabled()
    monkeypatch.setenv(POLICY_VARIABLE, "policy.toml")
    assert hook.enabled()


def test_no_verdict_is_explained(found):
    assert "bbedge gate: no verdict: " in found["set alone"]
    assert "'mockllm/old' is not a model of the scores" in found["set alone"]


def test_nothing_is_printed_unless_asked_for(found):
    assert "mockllm" not in found["set silent"]


@pytest.mark.parametrize(("run", "release"), [("better", "ship"), ("worse", "stop")])
def test_a_task_ends_at_the_epoch_that_decides(found, run, release):
    run = found[run]
    ended = run["metadata"]["epochs"]
    assert (run["status"], run["metadata"]["release"]) == ("success", release)
    assert ended < EPOCHS
    assert run["samples"] == [ITEMS] * ended + [0] * (EPOCHS - ended)
    assert run["stopped"] == ITEMS * (EPOCHS - ended)
    (claim,) = run["metadata"]["report"]["claims"]
    assert [look["verdict"] for look in claim["looks"]] == ["OPEN"] * (ended - 1) + [claim["verdict"]]
    assert claim["since"] == ended


def test_an_open_claim_ends_nothing_and_the_command_says_the_same(found):
    run = found["equal"]
    assert run["samples"] == [ITEMS] * EPOCHS
    (claim,) = run["metadata"]["report"]["claims"]
    assert claim["verdict"] == "OPEN"
    assert claim["looks"] == found["equal again"]["claims"][0]["looks"]


def test_epochs_run_whole_whatever_runs_at_the_same_time(found):
    run = found["parallel"]
    assert run["metadata"]["release"] == "ship"
    ended = sum(count > 0 for count in run["samples"])
    assert run["samples"] == [ITEMS] * ended + [0] * (EPOCHS - ended)
    assert ended <= run["metadata"]["report"]["claims"][0]["since"] + 1


def test_a_sample_without_a_score_means_that_all_epochs_run(found):
    run = found["failing"]
    assert run["samples"] == [ITEMS] * EPOCHS
    assert run["metadata"] == {"epochs": 0}


def test_epochs_that_repeat_each_other_give_no_verdict(found):
    run = found["cached"]
    assert run["samples"] == [ITEMS] * EPOCHS
    assert set(run["metadata"]) == {"epochs", "off"}
    assert "same score for every model on every item" in run["metadata"]["off"]


def test_a_floor_needs_no_baseline(found):
    assert found["floor"]["metadata"]["release"] == "ship"
    assert found["floor"]["samples"][-1] == 0


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ("other items", f"only one of the task and the baseline has 'quiz/q{ITEMS - 1}'"),
        ("other model", "the candidate is 'mockllm/new'; this task is about 'mockllm/other'"),
        ("more epochs", f"{EPOCHS + 1} epochs cannot be compared with {EPOCHS} runs of the baseline"),
    ],
)
def test_what_cannot_be_compared_does_not_run(found, run, message):
    assert found[run]["status"] == "error"
    assert message in found[run]["error"]
    assert not any(found[run]["samples"])


def test_a_policy_that_does_not_fit_the_baseline_is_refused(folder, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.replace("/old", "/older"), encoding="utf-8")
    with pytest.raises(BbedgeError, match="give the logs of the baseline"):
        GateStopping(policy)
    with pytest.raises(BbedgeError, match="the logs have no 'mockllm/older', only 'mockllm/old'"):
        GateStopping(policy, folder / "old")


def test_a_task_about_new_items_ends_after_the_last_look(tmp_path):
    policy, epochs = tmp_path / "policy.toml", 4
    rules = 'target = "new-items"\nlooks = [1, 2]\n[[claims]]\nat_least = 0.5\n'
    policy.write_text(f'candidate = "m"\n{rules}', encoding="utf-8")
    rule, items = GateStopping(policy), [f"q{i}" for i in range(20)]

    async def run() -> list[str | None]:
        task = SimpleNamespace(model="m", task="quiz")
        await rule.start_task(task, [SimpleNamespace(id=item) for item in items], epochs)
        stopped = []
        for epoch in range(1, epochs + 1):
            found = [await rule.schedule_sample(item, epoch) for item in items]
            stopped.append(None if found[0] is None else found[0].reason)
            for place, item in enumerate(items):
                if found[0] is None:  # every epoch repeats the one before: harmless here
                    await rule.complete_sample(item, epoch, {"s": SimpleNamespace(score=Score(value=float(place % 2)))})
        return stopped

    reason = "no look at new items is left after epoch 2"
    assert asyncio.run(run()) == [None, None, reason, reason]
    kept = asyncio.run(rule.complete_task())
    assert (kept["epochs"], kept["release"], kept["report"]["next_look"]) == (2, "undecided", None)
