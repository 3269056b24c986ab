"""A model of Inspect in this process that answers by a hash of model, seed and prompt, and can fail as told.

``fake/NAME`` answers with a word; ``fake/judge`` with a grade. What was asked is in :data:`asked`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, modelapi

from bbedge.evaluate.specification import EvaluationSpec

TASKS = Path(__file__).parent / "servers" / "judged.py"


class Request(NamedTuple):
    model: str
    seed: int
    prompt: str


class Script:
    """What the models do, and what they were asked."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.fails: Callable[[Request], bool] = lambda request: False
        self.salt = ""
        """Another salt gives other answers, as from a server that does not heed seeds."""
        self.grade: Callable[[float], str] = lambda draw: f"{draw:.3f}"

    def of(self, model: str) -> list[Request]:
        return [request for request in self.asked if request.model == model]

    @property
    def judge(self) -> list[Request]:
        return self.of("judge")


script = Script()


@modelapi(name="fake")
class FakeApi(ModelAPI):
    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:  # noqa: A002
        request = Request(self.model_name, config.seed, "\n".join(message.text for message in input))
        script.asked.append(request)
        if script.fails(request):
            raise RuntimeError("the server is down")
        salt = "" if self.model_name == "judge" else script.salt
        draw = int(hashlib.sha256(f"{salt}{request}".encode()).hexdigest()[:8], 16) / 16**8
        text = script.grade(draw) if self.model_name == "judge" else f"word {draw:.9f} " + "and so on " * 20
        output = ModelOutput.from_content(self.model_name, text)
        output.usage = ModelUsage(input_tokens=10, output_tokens=2, total_tokens=12)
        return output


def judged_study(folder: Path, *, task: str = "once", **values: Any) -> EvaluationSpec:
    """A study of two fake models and a fake judge; ``benchmark`` and ``run`` are added to what it says there."""
    benchmark = {"task": f"{TASKS}@{task}", "roles": {"grader": "fake/judge"}} | values.pop("benchmark", {})
    run = {"pause": 0.0, "request_retries": 0, "preflight": False, "connections": 1} | values.pop("run", {})
    given = {
        "budget": 1,
        "models": [{"name": "a", "model": "fake/a"}, {"name": "b", "model": "fake/b"}],
        "prices": {f"fake/{name}": {"input": 1, "output": 2} for name in ("a", "b", "judge")},
        "benchmark": benchmark,
        "run": run,
    }
    return EvaluationSpec.from_values(given | values, path=folder / "study.toml")
