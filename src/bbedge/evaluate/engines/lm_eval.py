"""lm-evaluation-harness as the engine: one run of it for every model and replicate, read by our reader of its logs.

A run is the unit: it is scored completely or repeated completely. Which documents there are is found by running the
tasks once with the tool's own dummy model, which answers without a server; so items have the names that the reader
gives them, and a task that cannot be loaded is found before anything is frozen.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bbedge.core.scores import Scores
from bbedge.credentials import redacted, secret_values
from bbedge.errors import BbedgeError, EvaluationError
from bbedge.evaluate.engine import Benchmark, Done, Failed, Job, Report, Sample
from bbedge.evaluate.engines import lm_eval_driver
from bbedge.evaluate.engines.calls import new_attempt, side_by_side
from bbedge.evaluate.engines.lm_eval_settings import LmEvalSettings
from bbedge.evaluate.engines.process import Stopped, call, end_leftovers
from bbedge.evaluate.problem import Problem
from bbedge.evaluate.spec import EvaluationSpec, StudyModel
from bbedge.evaluate.usage import Usage
from bbedge.readers import Choices, read_scores
from bbedge.text import listed, quoted, shown, shown_path

_WHOLE = "all items"
_DRIVER = Path(lm_eval_driver.__file__)
_TAIL = 4000  # bytes at the end of a log among which its last line is
# Of a task's configuration, what decides questions and scores.
_OF_TASK = (
    *("task", "dataset_path", "dataset_name", "test_split", "validation_split", "fewshot_split", "output_type"),
    *("doc_to_text", "doc_to_target", "doc_to_choice", "process_results", "description", "num_fewshot", "repeats"),
    *("metric_list", "filter_list", "generation_kwargs", "target_delimiter", "fewshot_delimiter"),
)
_NAMES = ("model", "pretrained", "path", "engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelType:
    """What the tool can do about the seeds of one of its types of models."""

    requests: bool
    """Whether every request has a seed of its own."""
    seed: bool
    """Whether the model takes a seed at all."""


class LmEvalEngine:
    """Runs tasks of lm-evaluation-harness."""

    def __init__(self, study: EvaluationSpec) -> None:
        if study.lm_eval is None:
            raise EvaluationError(f"{shown_path(study.path)}: [benchmark] task is missing")
        self._study, self._settings = study, study.lm_eval
        self._home = study.path.resolve().parent
        self._python = _python(self._settings, self._home, shown_path(study.path))
        self._types: dict[str, ModelType] = {}
        self._cleaned = False
        self._stop = threading.Event()
        for model in study.models:
            _check_model(model, f"{shown_path(study.path)}: model {quoted(model.name)}")

    def benchmark(self) -> Benchmark:
        """The documents of the tasks, as one sample: a run scores them all."""
        parent = self._study.folder / "lm_eval"
        try:
            parent.mkdir(parents=True, exist_ok=True)
            # No lock is held yet: another command may be listing, too.
            folder = Path(tempfile.mkdtemp(prefix="list-", dir=parent))
        except OSError as error:
            raise EvaluationError(f"{shown_path(parent)}: cannot be written ({error.strerror})") from error
        types = sorted({model.model for model in self._study.models})
        words = [*self._settings.words(home=self._home, out=folder / "out", seed=0), "--model", "dummy"]
        problem = self._drive(folder, {"words": words, "types": types})
        if problem is not None:
            raise EvaluationError(f"{shown_path(self._study.path)}: lm_eval cannot list the tasks: {problem}")
        found = _report(folder)["types"]
        self._types = {name: ModelType(requests=kind["requests"], seed=kind["seed"]) for name, kind in found.items()}
        read = self._read(folder / "out", blocks=self._settings.block or "item")
        sample = Sample(name=_WHOLE, items=read.items, blocks=read.blocks, columns=read.columns)
        benchmark = Benchmark(samples=(sample,), fingerprint=_fingerprint(folder / "out"))
        shutil.rmtree(folder, ignore_errors=True)
        return benchmark

    def caveats(self) -> Sequence[str]:
        """Where the tool gives a run one seed, and not every request its own."""
        notes = []
        for model in self._study.models:
            kind = self._types.get(model.model)
            if kind is None or not kind.requests:
                notes.append(
                    f"lm_eval gives {shown(model.name)} one seed per run and none to its requests: that answers to "
                    "items of different blocks do not share random numbers rests on how this type of model uses the "
                    "seed."
                )
            elif str(model.args.get("batch_size", self._settings.args.get("batch_size", 1))) != "1":
                notes.append(
                    f"lm_eval sends several items to {shown(model.name)} in one request with one seed: that they do "
                    "not share random numbers rests on the server."
                )
        return notes

    def run(self, replicate: int, jobs: Sequence[Job], seeds: Callable[[Job, int], int], report: Report) -> None:
        """Run the tool for every job, a few at a time."""
        if not self._cleaned:  # no other runner uses the folder now, so what runs in it is left from a killed one
            end_leftovers(self._study.folder)
            self._cleaned = True
        self._stop.clear()
        side_by_side(
            jobs,
            lambda job: self._call(replicate, job, seeds(job, 0)),
            report,
            workers=self._study.running.workers,
            stop=self._stop,
        )

    def _call(self, replicate: int, job: Job, seed: int) -> Done | Failed:
        model = job.model
        number = self._study.names.index(model.name) + 1
        parent = self._study.folder / f"replicate-{replicate:05d}" / f"model-{number:03d}"
        try:
            folder = new_attempt(parent)
        except OSError as error:
            raise EvaluationError(f"{shown_path(parent)}: cannot be written ({error.strerror})") from error
        began = time.monotonic()
        problem = self._drive(folder, self._order(model, seed, folder / "out"))
        sent = _report(folder)
        usage = Usage(
            calls=sent["requests"] or len(job.sample.items),
            tokens={_priced(model): (sent["tokens"][0], sent["tokens"][1])} if any(sent["tokens"]) else {},
            seconds=time.monotonic() - began,
        )
        if problem is None:
            try:
                scores = self._scores(folder / "out", job.sample)
            except BbedgeError as error:
                problem = str(error)
            else:
                trace, length = _answers(folder / "out")
                without = sent["requests"] > sent["seeded"]
                return Done(
                    model=model.name,
                    sample=job.sample.name,
                    scores=scores,
                    usage=usage,
                    trace=trace,
                    length=length,
                    unseeded=(model.name,) if without else (),
                )
        return Failed(
            model=model.name,
            sample=job.sample.name,
            error=problem,
            usage=usage,
            problem=Problem(kind="program", model=model.name, message=problem, endpoint=model.base_url),
        )

    def _order(self, model: StudyModel, seed: int, out: Path) -> dict[str, Any]:
        """What the driver is asked to run."""
        settings, running = self._settings, self._study.running
        generation = settings.generation(model.config)
        words = [*settings.words(home=self._home, out=out, seed=seed), *settings.prompt_words(model.model)]
        if generation:
            words += ["--gen_kwargs", json.dumps(generation)]
        requests = {
            "num_concurrent": running.connections,
            "timeout": running.timeout and max(1, round(running.timeout)),
        }
        return {
            "words": words,
            "model": model.model,
            "model_args": {**({"base_url": model.base_url} if model.base_url else {}), **model.args},
            "seed": seed,
            # The tool counts attempts, the first included.
            "requests": {"max_retries": running.request_retries + 1}
            | {key: value for key, value in requests.items() if value is not None},
        }

    def _drive(self, folder: Path, order: Mapping[str, Any]) -> str | None:
        """Run the driver; what went wrong, or nothing. The order is a file: nothing of it is on the command line."""
        log, file, driver = folder / "log.txt", folder / "order.json", folder / "driver.py"
        # A copy: Python looks for modules beside the file it runs, and beside ours is one called inspect.
        driver.write_bytes(_DRIVER.read_bytes())
        file.write_text(json.dumps({**order, "report": str(folder / "report.json")}), encoding="utf-8")
        words = [self._python, str(driver), str(file)]
        with log.open("wb") as output:
            try:
                code = call(words, home=self._home, folder=folder, log=output, timeout=None, stop=self._stop)
            except OSError as error:
                return f"{shown(words[0], None)} cannot be run ({error.strerror})"
            except Stopped:
                return "lm_eval was stopped with the study"
        if code == 0:
            return None
        if not _report(folder).get("installed", True):
            return (
                f"{shown_path(self._python)} has no lm_eval; install it there with pip install 'lm_eval[api]'; or name "
                "the Python that has it with python under [benchmark]"
            )
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return f"lm_eval {how}: {_reason(_report(folder).get('error'), log)}; its output is in {shown_path(log)}"

    def _scores(self, out: Path, sample: Sample) -> dict[str, float]:
        read = self._read(out, blocks="item")
        scores = {item: float(score) for item, score in zip(read.items, read.values[0, 0], strict=True)}
        missing = [item for item in sample.items if item not in scores]
        if missing and self._rule == "refuse":
            raise EvaluationError(f"{shown_path(out)} lacks {len(missing)} items: {listed(missing)}")
        extra = sorted(set(scores) - set(sample.items))
        if extra:
            raise EvaluationError(f"{shown_path(out)} has {len(extra)} items that were not listed: {listed(extra)}")
        if all(map(math.isnan, scores.values())):
            raise EvaluationError(f"{shown_path(out)} has no score at all")
        return {item: scores.get(item, math.nan) for item in sample.items}

    @property
    def _rule(self) -> str:
        return "worst-case" if self._study.on_error == "worst-case" else "refuse"

    def _read(self, out: Path, *, blocks: str) -> Scores:
        """The samples of one run."""
        if not any(out.rglob("samples_*.json*")):
            raise EvaluationError(f"lm_eval wrote no samples to {shown_path(out)}")
        read = read_scores(
            out,
            blocks=blocks,
            score_range=self._study.design.score_range,
            least_models=1,
            incomplete=self._rule,
            choices=Choices(
                format="lm-eval",
                model_names=("model",),
                metrics=(self._settings.metric,) if self._settings.metric else (),
                filters=(self._settings.filter,) if self._settings.filter else (),
            ),
            item_columns=self._study.design.columns,
        )
        if len(read.replicates) != 1:
            raise EvaluationError(f"{shown_path(out)} has {len(read.replicates)} runs; a call is for one")
        return read


def _python(settings: LmEvalSettings, home: Path, source: str) -> str:
    """The Python that runs the tool: a path from the study's folder, or the name of an installed program."""
    given = settings.python
    if given is None:
        return sys.executable
    found = str(home / given) if os.sep in given else shutil.which(given)
    if found is None or not Path(found).is_file():
        raise EvaluationError(
            f"{source}: [benchmark] python: there is no program {shown(given, None)}; give the Python of the "
            "environment in which lm_eval is installed"
        )
    return found


def _check_model(model: StudyModel, where: str) -> None:
    for key, given in (("config", model.config), ("args", model.args)):
        if "seed" in given:
            raise EvaluationError(f"{where}: {key} may not set seed; every run has a seed of its own")


def _priced(model: StudyModel) -> str:
    """The name under which prices are looked up: what the server calls the model, since all share a type."""
    return next((str(model.args[name]) for name in _NAMES if name in model.args), model.name)


def _report(folder: Path) -> dict[str, Any]:
    """What the driver counted; zeros where it did not get that far."""
    nothing: dict[str, Any] = {"requests": 0, "seeded": 0, "tokens": [0, 0], "types": {}}
    try:
        written = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return nothing
    return {**nothing, **written}


def _reason(error: object, log: Path) -> str:
    """The error that ended the tool, or the last line of its log if it did not get as far as the driver."""
    last = str(error) if error else "it printed nothing"
    if not error:
        with contextlib.suppress(OSError), log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
            last = next((line for line in reversed(lines) if line.strip()), last)
    return shown(redacted(" ".join(last.split()), secret_values(os.environ)), 400)


def _answers(out: Path) -> tuple[str, int]:
    """A hash of all answers of a run, and their length in characters."""
    digest, length = hashlib.sha256(), 0
    for file in sorted(out.rglob("samples_*.json*"), key=lambda each: each.name.rpartition("_")[0]):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            text = json.dumps(row.get("resps"))
            digest.update(json.dumps([row.get("doc_id"), row.get("filter"), text]).encode())
            length += len(text)
    return digest.hexdigest()[:32], length


def _fingerprint(out: Path) -> str:
    """A hash of what is asked and how it is scored: prompts, targets, and the configuration of the tasks."""
    asked = []
    for file in out.rglob("samples_*.json*"):
        task = file.name.rpartition("_")[0]
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            asked.append([task, row.get("doc_hash"), row.get("prompt_hash"), row.get("target_hash"), row.get("filter")])
    configs: dict[str, Any] = {}
    for file in out.rglob("results_*.json"):
        results = json.loads(file.read_text(encoding="utf-8"))
        configs["version"] = results.get("lm_eval_version")
        for task, config in results.get("configs", {}).items():
            configs[task] = {key: config.get(key) for key in _OF_TASK}
    # Where a function is not written as its source, its address in memory is in the text.
    text = re.sub(r"0x[0-9a-f]+", "", json.dumps([sorted(asked, key=str), configs], sort_keys=True))
    return hashlib.sha256(text.encode()).hexdigest()
