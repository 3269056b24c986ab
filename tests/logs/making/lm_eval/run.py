"""Runs of lm-evaluation-harness with a mock model: python run.py OUT NAME SKILL SEED [further arguments of lm_eval]."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from lm_eval.__main__ import cli_evaluate
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

HERE = Path(__file__).parent
ANSWERS = {row["question"]: row["answer"] for row in map(json.loads, (HERE / "questions.jsonl").open())}


@register_model("mock")
class Mock(LM):
    """Knows a share of the answers."""

    def __init__(self, pretrained="", skill="0.5", seed="1", **_):
        super().__init__()
        self.rng, self.skill = random.Random(int(seed)), float(skill)

    def generate_until(self, requests, disable_tqdm=False):
        known = [next(a for q, a in ANSWERS.items() if q in request.args[0]) for request in requests]
        return [answer if self.rng.random() < self.skill else "Atlantis" for answer in known]

    def loglikelihood(self, requests, disable_tqdm=False):
        return [(-self.rng.random(), False) for _ in requests]

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        raise NotImplementedError


out, name, skill, seed, *more = sys.argv[1:]
sys.argv = ["lm_eval", "run", "--model", "mock", "--model_args", f"pretrained={name},skill={skill},seed={seed}"]
sys.argv += ["--include_path", str(HERE), "--log_samples", "--output_path", out, *more]
cli_evaluate()
