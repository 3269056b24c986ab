"""Evaluates a mock model in an environment of our own: python run.py MODEL PORT OUTPUT."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import verifiers as vf
from datasets import Dataset

CITIES = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Norway": "Oslo"}

model, port, output = sys.argv[1:]
os.environ["OPENAI_API_KEY"] = "none"
dataset = Dataset.from_list(
    [
        {"question": f"What is the capital of {country}?", "answer": city, "info": {"continent": "Europe"}}
        for country, city in CITIES.items()
    ]
)


def exact_match(completion: list[dict[str, str]], answer: str) -> float:
    return float(completion[-1]["content"] == answer)


environment = vf.SingleTurnEnv(eval_dataset=dataset, rubric=vf.Rubric(funcs=[exact_match]), env_id="capitals")
environment.evaluate_sync(
    client=vf.ClientConfig(api_base_url=f"http://127.0.0.1:{port}/v1", api_key_var="OPENAI_API_KEY"),
    model=model,
    sampling_args={"temperature": 1.0},
    rollouts_per_example=3,
    max_concurrent=1,
    results_path=Path(output),
    save_results=True,
)
