"""Six capitals, two metrics of our own, and answers that are written down: run.py FOLDER MODEL [QUESTION].

The second metric fails on the question that is named.
"""

import os
import shutil
import sys
from pathlib import Path

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
os.environ["DEEPEVAL_RESULTS_FOLDER"] = "results"

from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

CAPITALS = {
    "Capital of France?": ("Paris", "europe"),
    "Capital of Peru?": ("Lima", "america"),
    "Capital of Kenya?": ("Nairobi", "africa"),
    "Capital of Japan?": ("Tokyo", "asia"),
    "Capital of Chile?": ("Santiago", "america"),
    "Capital of Norway?": ("Oslo", "europe"),
}
ANSWERS = {
    "aster": ("Paris", "Lima", "Nairobi", "Kyoto", "Santiago", "Bergen"),
    "birch": ("Paris", "Cusco", "Mombasa", "It is Tokyo", "Valparaiso", "Oslo"),
}


class Rule(BaseMetric):
    """A metric that needs no model."""

    def __init__(self, name, rule):
        self.threshold, self.name, self.rule = 0.5, name, rule

    def measure(self, case, *_, **__):
        self.score = self.rule(case)
        self.reason, self.success = "by rule", self.score >= self.threshold
        return self.score

    async def a_measure(self, case, *_, **__):
        return self.measure(case)

    def is_successful(self):
        return self.success

    @property
    def __name__(self):
        return self.name


def short(case):
    if case.input in sys.argv[3:]:
        raise RuntimeError("the judge broke")
    return min(1.0, 3 / len(case.actual_output))


folder, model = Path(sys.argv[1]), sys.argv[2]
folder.mkdir(parents=True, exist_ok=True)
os.chdir(folder)
cases = [
    LLMTestCase(input=question, actual_output=answer, expected_output=right, metadata={"part": part})
    for (question, (right, part)), answer in zip(CAPITALS.items(), ANSWERS[model], strict=True)
]
evaluate(
    cases,
    [Rule("Exact", lambda case: float(case.expected_output in case.actual_output)), Rule("Short", short)],
    hyperparameters={"model": model, "temperature": 0.7},
    display_config=DisplayConfig(print_results=False, show_indicator=False),
    error_config=ErrorConfig(ignore_errors=True),
    async_config=AsyncConfig(run_async=False),
)
shutil.copy(".deepeval/.latest_test_run.json", "latest_test_run.json")
shutil.rmtree(".deepeval")
for lock in Path("results").glob(".*"):
    lock.unlink()
# Its name is the time.
next(Path("results").glob("*.json")).rename("results/test_run.json")
