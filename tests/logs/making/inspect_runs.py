"""Runs of Inspect AI with its mock model: python inspect_runs.py OUT. No network is used."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import inspect_ai
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, includes, match, mean, scorer
from inspect_ai.solver import generate, solver

QUESTIONS = [
    ("France", "Paris", "europe"),
    ("Norway", "Oslo", "europe"),
    ("Greece", "Athens", "europe"),
    ("Japan", "Tokyo", "asia"),
    ("India", "Delhi", "asia"),
    ("Kenya", "Nairobi", "africa"),
    ("Peru", "Lima", "america"),
    ("Chile", "Santiago", "america"),
]
MODELS = {"aster": 0.9, "birch": 0.4}


@scorer(metrics={"right": [mean()], "short": [mean()]})
def graded():
    """A scorer whose value is a dictionary."""

    async def score(state, target):
        answer = state.output.completion
        return Score(value={"right": float(target.text in answer), "short": len(answer) < 8})

    return score


@solver
def failing():
    """A solver that fails on one question."""

    async def solve(state, generate):
        if "Peru" in state.input_text:
            raise RuntimeError("the tool broke")
        return await generate(state)

    return solve


def data():
    return [
        Sample(id=f"q{n}", input=f"What is the capital of {country}?", target=city, metadata={"dialogue_id": part})
        for n, (country, city, part) in enumerate(QUESTIONS, start=1)
    ]


def mock(name, *, seed):
    """A mock model that knows a share of the answers. Usage is given, because counting needs a download."""
    rng = random.Random(seed)

    def answer(messages, tools, tool_choice, config):
        question = messages[-1].text
        city = next(city for country, city, _ in QUESTIONS if country in question)
        output = ModelOutput.from_content(name, city if rng.random() < MODELS[name] else "Atlantis")
        output.usage = ModelUsage(input_tokens=9, output_tokens=1, total_tokens=10)
        return output

    return get_model(f"mockllm/{name}", custom_outputs=answer, memoize=False)


def run(folder, name, *, seed, epochs, scorers, log_format="eval", steps=None):
    task = Task(name="capitals", dataset=data(), solver=steps or generate(), scorer=scorers)
    (log,) = inspect_ai.eval(
        task,
        model=mock(name, seed=seed),
        epochs=epochs,
        log_dir=str(folder),
        log_format=log_format,
        display="none",
        log_model_api=False,
        fail_on_error=False,
        seed=seed,
        max_connections=1,
        max_samples=1,
        metadata={"suite": "samples"},
    )
    assert log.status == "success", log.error


def main(out):
    for seed, name in enumerate(MODELS, start=1):
        run(out / "epochs", name, seed=seed, epochs=3, scorers=match())
        run(out / "two_scorers", name, seed=seed, epochs=1, scorers=[includes(), graded()])
        run(out / "json", name, seed=seed, epochs=2, scorers=match(), log_format="json")
        for again in (1, 2):
            run(out / "runs", name, seed=10 * again + seed, epochs=1, scorers=match())
    run(out / "failed", "aster", seed=1, epochs=1, scorers=match(), steps=failing())
    run(out / "failed", "birch", seed=2, epochs=1, scorers=match())


main(Path(sys.argv[1]))
