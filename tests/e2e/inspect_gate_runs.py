"""Evaluations of Inspect with its mock model, for the tests of gates: python inspect_gate_runs.py OUT. No network.

A process of its own: Inspect leaves streams open, which the tests would report as errors.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import sys
from pathlib import Path

import inspect_ai
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate, solver

from bbedge.integrations.inspect_gate import POLICY_VARIABLE, GateStopping, verdict

POLICY = 'candidate = "mockllm/new"\nbaseline = "mockllm/old"\n[[claims]]\nnot_worse_by = 0.05\n'
FLOOR = 'candidate = "mockllm/new"\n[[claims]]\nat_least = 0.5\n'
BOTH = POLICY.replace("0.05", "0") + '[[claims]]\nat_least = 0.5\ntier = "info"\n'
ITEMS, EPOCHS, MORE = 40, 3, 6
QUIET = {"display": "none", "log_model_api": False, "max_connections": 1}


@solver
def failing():
    async def solve(state, generate):
        if state.sample_id == "q3" and state.epoch == 1:
            raise RuntimeError("the tool broke")
        return await generate(state)

    return solve


@solver
def changing(**shares):
    """Systems that know another share of the answers in the second half of the epochs."""
    rng = random.Random("changing")

    async def solve(state, generate):
        early, late = shares[state.model.name]
        share = early if state.epoch <= MORE // 2 else late
        state.output = ModelOutput.from_content(state.model.name, "yes" if rng.random() < share else "no")
        return state

    return solve


def mock(name, share):
    """A model that knows a share of the answers. Usage is given, because counting needs a download."""
    rng = random.Random(name)

    def answer(messages, tools, tool_choice, config):
        output = ModelOutput.from_content(name, "yes" if rng.random() < share else "no")
        output.usage = ModelUsage(input_tokens=9, output_tokens=1, total_tokens=10)
        return output

    return get_model(f"mockllm/{name}", custom_outputs=answer, memoize=False)


def task(items=ITEMS, **options):
    samples = [Sample(id=f"q{n}", input="Is it?", target="yes") for n in range(items)]
    return Task(**({"name": "quiz", "dataset": samples, "solver": generate(), "scorer": match()} | options))


def run(folder, made, share, *, name="new", **options):
    """Evaluate, and say what is in the log."""
    given = {"epochs": EPOCHS, "max_samples": 1, "log_dir": str(folder)} | QUIET | options
    (log,) = inspect_ai.eval(made, model=mock(name, share), **given)
    log = read_eval_log(log.location)
    epochs = range(1, options.get("epochs", EPOCHS) + 1)
    samples = [sum(sample.epoch == epoch for sample in log.samples or []) for epoch in epochs]
    stopping = log.results and log.results.early_stopping
    return {
        "status": log.status,
        "error": log.error and log.error.message,
        "samples": samples,
        "stopped": stopping and len(stopping.early_stops),
        "reasons": sorted({stop.reason for stop in stopping.early_stops}) if stopping else None,
        "metadata": stopping and stopping.metadata,
    }


def eval_set(folder, models, *, policy=None, epochs=2, **options):
    """Run an eval set, and give back what it prints."""
    os.environ.pop(POLICY_VARIABLE, None)
    if policy is not None:
        os.environ[POLICY_VARIABLE] = str(policy)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        done, _ = inspect_ai.eval_set(
            task(**options),
            model=[mock(name, share) for name, share in models.items()],
            log_dir=str(folder),
            epochs=epochs,
            **QUIET,
        )
    os.environ.pop(POLICY_VARIABLE, None)
    assert done
    return " ".join(printed.getvalue().split())


def main(out):
    policy, floor, both, old = out / "policy.toml", out / "floor.toml", out / "both.toml", out / "old"
    for path, text in ((policy, POLICY), (floor, FLOOR), (both, BOTH)):
        path.write_text(text, encoding="utf-8")
    swapped = changing(new=(0.95, 0.05), old=(0.05, 0.95))
    broken = {"solver": changing(new=(0.95, 0.05), old=(0.95, 0.05))}  # a server on which everything becomes worse
    found = {
        "set ship": eval_set(out / "ship", {"new": 0.95, "old": 0.5}, policy=policy),
        "set stop": eval_set(out / "stop", {"new": 0.05, "old": 0.5}, policy=policy),
        "set swapped": eval_set(out / "swapped", {"new": 0.5, "old": 0.5}, policy=policy, epochs=MORE, solver=swapped),
        "set alone": eval_set(out / "alone", {"new": 0.5}, policy=policy),
        "set silent": eval_set(out / "silent", {"new": 0.5, "old": 0.5}),
        "old": run(old, task(), 0.5, name="old"),
    }

    def gated(folder, share, **options):
        about = {key: options.pop(key) for key in ("items", "solver") if key in options}
        return run(out / folder, task(early_stopping=GateStopping(policy, old), **about), share, **options)

    halves = [Sample(id=f"q{n}", input="Is it?", target="yes" if n % 2 else "no") for n in range(ITEMS)]
    found |= {
        "better": gated("better", 0.95),
        "worse": gated("worse", 0.05),
        "equal": gated("equal", 0.5),
        "parallel": gated("parallel", 0.95, max_samples=ITEMS // 2, max_connections=ITEMS),
        "failing": gated("failing", 0.95, solver=failing(), fail_on_error=False),
        "floor": run(out / "floor", task(early_stopping=GateStopping(floor)), 0.99),
        "cached": run(out / "cached", task(early_stopping=GateStopping(floor), dataset=halves), 1.0),
        "old broken": run(out / "old broken", task(**broken), 0.5, name="old", epochs=MORE),
        "broken": run(
            out / "broken", task(early_stopping=GateStopping(both, out / "old broken"), **broken), 0.5, epochs=MORE
        ),
        "other items": gated("refused", 0.9, items=ITEMS - 1),
        "other model": gated("refused", 0.9, name="other"),
        "more epochs": gated("refused", 0.9, epochs=EPOCHS + 1),
    }
    (log,) = old.glob("*.eval")
    (out / "equal" / "old.eval").write_bytes(log.read_bytes())
    found["equal again"] = verdict(policy, out / "equal").to_values()
    (out / "found.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
