"""A model whose answers are known, the benchmarks run on it, and the items that come out."""

import gc
import json
import os
import warnings
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai.model import ChatMessage, ModelAPI, ModelOutput, modelapi
from inspect_ai.scorer import value_to_float

Script = Callable[[list[ChatMessage]], str]
_NUMBERS = count(1)
_SCRIPTS: dict[str, Script] = {}
_TEMPERATURES: dict[str, list[float | None]] = {}
_TO_FLOAT = value_to_float()


@modelapi(name="scripted")
class Scripted(ModelAPI):
    """Answers with what a function of the test says; needs no tokenizer, no key and no network."""

    async def generate(self, input, tools, tool_choice, config):  # noqa: A002
        _TEMPERATURES.setdefault(f"scripted/{self.model_name}", []).append(config.temperature)
        return ModelOutput.from_content(self.model_name, _SCRIPTS[self.model_name](list(input)))


class Run:
    """What a run of a task gave."""

    def __init__(self, log):
        self.log = log

    @property
    def errors(self) -> dict[str, str]:
        return {str(sample.id): sample.error.message for sample in self.log.samples or [] if sample.error}

    @property
    def items(self) -> dict[str, float]:
        """Item and score, as the runner takes them from samples."""
        found: dict[str, float] = {}
        for sample in self.log.samples or []:
            (score,) = (sample.scores or {}).values()
            keys = sample.metadata.get("items")
            if keys is None:
                found[str(sample.id)] = _TO_FLOAT(score.value)
            else:
                assert list(score.value) == keys
                found |= {f"{sample.id}/{key}": float(score.value[key]) for key in keys}
        return found

    @property
    def blocks(self) -> dict[str, list[str]]:
        """The items of each block."""
        found: dict[str, list[str]] = {}
        for item in self.items:
            found.setdefault(item.partition("/")[0], []).append(item)
        return found

    @property
    def reported(self) -> float:
        """The mean that Inspect reports."""
        (score,) = self.log.results.scores
        return next(iter(score.metrics.values())).value


@pytest.fixture
def scripted() -> Callable[[Script], str]:
    """Makes a model of a function from messages to text and gives its name."""

    def make(script: Script) -> str:
        name = f"model-{next(_NUMBERS)}"
        _SCRIPTS[name] = script
        return f"scripted/{name}"

    return make


@pytest.fixture
def temperatures() -> dict[str, list[float | None]]:
    """The temperature of every request, by model."""
    return _TEMPERATURES


@pytest.fixture
def run(tmp_path, scripted):
    """Runs a task on a scripted model."""

    def go(task, script: Script, **options) -> Run:
        with warnings.catch_warnings():
            # Inspect leaves streams open; collected here, their warnings do not fall into a test that is not to blame.
            warnings.simplefilter("ignore", ResourceWarning)
            (log,) = inspect_eval(
                task,
                model=scripted(script),
                display="none",
                log_dir=str(tmp_path / "logs"),
                log_level="error",
                log_realtime=False,
                score_display=False,
                fail_on_error=False,
                max_connections=100,
                **options,
            )
            gc.collect()
        return Run(log)

    return go


@pytest.fixture
def questions() -> Path:
    """The folder with the published question files."""
    folder = os.environ.get("BBEDGE_QUESTIONS")
    if not folder:
        pytest.skip("BBEDGE_QUESTIONS does not name a folder with the published question files")
    return Path(folder)


@pytest.fixture
def jsonl(tmp_path):
    """Writes objects as JSON lines and gives the path."""

    def write(name: str, rows) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return str(path)

    return write
