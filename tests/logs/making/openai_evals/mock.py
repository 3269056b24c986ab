"""A completion function of OpenAI evals that knows a share of the answers; SEED comes from the environment."""

import os
import random

ANSWERS = dict(
    zip(
        ["France", "Norway", "Greece", "Japan", "India", "Kenya", "Peru", "Chile"],
        ["Paris", "Oslo", "Athens", "Tokyo", "Delhi", "Nairobi", "Lima", "Santiago"],
        strict=True,
    )
)
RNG = random.Random(int(os.environ["SEED"]))


class Result:
    def __init__(self, answer):
        self.answer = answer

    def get_completions(self):
        return [self.answer]


class Mock:
    def __init__(self, skill, **_):
        self.skill = skill

    def __call__(self, prompt, **_):
        from evals.record import record_sampling

        known = next(answer for country, answer in ANSWERS.items() if country in str(prompt))
        answer = known if RNG.random() < self.skill else "Atlantis"
        record_sampling(prompt=prompt, sampled=[answer])
        return Result(answer)
