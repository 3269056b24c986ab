"""Inspect AI as the engine: its providers, concurrency, retries and logs; our seeds, order and memory.

Inspect calls a hook on everything that happens. Ours gives every request of a sample its seed before it is sent, by
the task, a judge or a simulated user, and hands over every sample the moment it has ended. Scorers are wrapped, so that
the requests of a judge have seeds of their own and every judgement is handed over the moment it is finished.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import importlib.util
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, cast

import inspect_ai
from inspect_ai._util._async import run_coroutine
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.model import GenerateConfig, Model
from inspect_ai.util import registry_create
from pydantic import ValidationError

from bbedge.credentials import redacted, secret_values
from bbedge.errors import EvaluationError
from bbedge.evaluate.engine import Benchmark, CallSeeds, CheckReport, Job, Report, Sample
from bbedge.evaluate.engines.inspect_hook import hear_jobs, trouble
from bbedge.evaluate.engines.inspect_judging import judging_scorers
from bbedge.evaluate.engines.inspect_models import (
    address_variable,
    ask_all,
    endpoint_of,
    listen,
    made_model,
)
from bbedge.evaluate.engines.process import redact_files
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.records.journal import Failed, Usage
from bbedge.records.study import InspectBenchmark, StudyModel
from bbedge.records.values import grouped
from bbedge.text import listed, quoted, shown, shown_path

_CHECK_TIMEOUT = 60.0  # seconds for the short question, where the study sets no limit
_OURS = {"seed": "every request has a seed of its own", "cache": "caches are off, or replicates would not be fresh"}


class InspectEngine:
    """Runs an Inspect task."""

    def __init__(self, study: EvaluationSpec) -> None:
        self._study, self._settings = study, cast("InspectBenchmark", study.benchmark)

    def benchmark(self) -> Benchmark:
        """The samples of the task. The models are made once, to find out now what would stop them later."""
        for model in self._study.models:
            self._model(model)
        for role, name in self._settings.roles.items():
            self._role(role, name)
        samples = self._samples()
        return Benchmark(
            samples=tuple(_sample(name, sample, self._study.design.columns) for name, sample in samples.items()),
            fingerprint=hashlib.sha256(
                json.dumps(sorted((name, _question_text(sample)) for name, sample in samples.items())).encode()
            ).hexdigest(),
        )

    def addresses(self) -> Mapping[str, str]:
        """Those of models and roles, as their providers know them, and of models that arguments of the task name."""
        asked = {model.name: (model.model, self._model(model)) for model in self._study.models}
        asked |= {f"role {role}": (name, self._role(role, name)) for role, name in self._settings.roles.items()}
        found = {
            name: endpoint_of(made) or os.environ.get(address_variable(model)) for name, (model, made) in asked.items()
        }
        named = [value for value in self._settings.args.values() if isinstance(value, str) and "/" in value]
        found |= {variable: os.environ.get(variable) for variable in map(address_variable, named)}
        return {name: address for name, address in found.items() if address}

    def caveats(self) -> Sequence[str]:
        """Nothing is known beforehand: which requests went without their seed is seen when they are sent."""
        return ()

    def check(self, models: Sequence[StudyModel], seeds: Callable[[str], int], report: CheckReport) -> None:
        """Ask every model, and every judge, one short question with the settings that it has in the study."""
        asked = {model.name: self._model(model) for model in models}
        asked |= {name: self._role(role, name) for role, name in self._settings.roles.items()}
        with contextlib.redirect_stdout(io.StringIO()):
            timeout = self._study.file.run.timeout or _CHECK_TIMEOUT
            run_coroutine(ask_all(asked, seeds, timeout=timeout, report=report))

    def run(self, replicate: int, jobs: Sequence[Job], seeds: CallSeeds, report: Report) -> None:
        """Run all jobs in one evaluation, a task per model."""
        by_model = grouped((job.model.name, job) for job in jobs)
        log, log_dir = self._study.folder / "inspect.log", self._study.folder / "logs" / f"replicate-{replicate:05d}"
        # What Inspect and the task print goes to a log, so that results and progress stay clean.
        with _redacting(log, log_dir), log.open("a", encoding="utf-8") as file, contextlib.redirect_stdout(file):
            tasks, samples = [], self._samples()
            for name, its_jobs in by_model.items():
                task = copy.copy(self._task)
                chosen = [samples[job.sample.name].model_copy(deep=True) for job in its_jobs]
                metadata = {**(task.metadata or {}), "bbedge_model": name}
                model = listen(self._model(its_jobs[0].model), name, trouble)
                tasks.append(inspect_ai.task_with(task, dataset=chosen, model=model, metadata=metadata, epochs=1))
            roles = {role: listen(self._role(role, name), name, trouble) for role, name in self._settings.roles.items()}
            with hear_jobs(jobs, seeds, report, scorer=self._settings.scorer) as heard:
                try:
                    logs = inspect_ai.eval(
                        tasks,
                        model_roles=dict(roles) or None,
                        log_dir=str(log_dir),
                        display="none",
                        log_level="error",
                        log_realtime=False,
                        score_display=False,
                        ctl_server=False,
                        epochs=1,
                        fail_on_error=False,
                        max_tasks=len(tasks),
                        max_samples=self._study.file.run.connections,
                    )
                except PrerequisiteError as error:
                    raise EvaluationError(f"Inspect AI cannot run the task: {_one_line(error)}") from error
        if heard.failure is not None:
            raise heard.failure
        if heard.cancelled or len(logs) < len(tasks) or any(log.status == "cancelled" for log in logs):
            raise KeyboardInterrupt
        errors = {
            (each.eval.metadata or {}).get("bbedge_model"): each.error.message
            for each in logs
            if each.status == "error" and each.error is not None
        }
        for job in jobs:
            if job.model.name in errors and job.key not in heard.reported:
                name, sample = job.key
                report(Failed(model=name, sample=sample, error=errors[name], usage=Usage()))

    def _config(self, given: Mapping[str, Any], where: str) -> GenerateConfig:
        for key, why in _OURS.items():
            if key in given:
                raise EvaluationError(f"{where}: config may not set {key}; {why}")
        run = self._study.file.run
        ours = {
            "max_retries": run.request_retries,
            "max_connections": run.connections,
            "attempt_timeout": None if run.timeout is None else max(1, round(run.timeout)),
        }
        try:
            return GenerateConfig(**{key: value for key, value in {**ours, **given}.items() if value is not None})
        except ValidationError as error:
            raise EvaluationError(f"{where}: config: {_one_line(error.errors()[0]['msg'])}") from error

    def _role(self, role: str, name: str) -> Model:
        return self._model(StudyModel(model=name), f"role {quoted(role)}")

    def _model(self, model: StudyModel, what: str = "") -> Model:
        where = f"{shown_path(self._study.path)}: {what or f'model {quoted(model.name)}'}"
        try:
            return made_model(model.model, self._config(model.config, where), model.base_url, model.args)
        except (PrerequisiteError, ValueError, TypeError, ImportError) as error:
            raise EvaluationError(f"{where}: {_one_line(error)}") from error

    @cached_property
    def _task(self) -> inspect_ai.Task:
        """The task, made once: a benchmark may come from the network."""
        spec = self._settings.task
        where = f"{shown_path(self._study.path)}: [benchmark] task {quoted(spec, None)}"
        file, _, name = spec.rpartition("@")
        try:
            if file.endswith(".py"):
                task = _task_from_file(self._study.path.resolve().parent / file, name, where, self._settings.args)
            else:
                task = _installed_task(spec, self._settings.args)
                if callable(task):  # what Inspect gives back where the function does not say that it returns a task
                    task = task(**self._settings.args)
        except (LookupError, TypeError, ValueError) as error:
            raise EvaluationError(
                f"{where}: cannot be made ({_one_line(error)}); give the name of an installed task or FILE.py@TASK, "
                "and its arguments under [benchmark] args"
            ) from error
        if not isinstance(task, inspect_ai.Task):
            raise EvaluationError(f"{where}: is not an Inspect task")
        if task.scorer:
            task.scorer = judging_scorers(task.scorer, self._settings.judge_repeats)
        return task

    def _samples(self) -> dict[str, InspectSample]:
        """The first samples of the task, or all, by name."""
        samples: dict[str, InspectSample] = {}
        for place, sample in enumerate(islice(self._task.dataset, self._settings.limit), start=1):
            if sample.id is None:
                sample.id = place
            name = str(sample.id)
            if name in samples:
                raise EvaluationError(f"sample {quoted(name)} appears twice in the task; every sample needs its own id")
            samples[name] = sample
        return samples


@contextlib.contextmanager
def _redacting(*places: Path) -> Iterator[None]:
    """Remove credentials from logs before, in case a killed run has left some, and after they are written."""
    redact_files(*places)
    try:
        yield
    finally:
        redact_files(*places)


def _sample(name: str, sample: InspectSample, columns: Sequence[str]) -> Sample:
    """A sample's items, blocks and columns, from its metadata.

    ``items`` names the parts, ``block`` what depends on what; a column is a key, of one value or of one for each part.
    """
    metadata = sample.metadata or {}
    parts, block = metadata.get("items"), str(metadata.get("block", name))
    if parts is not None and (not isinstance(parts, list) or not parts or not all(isinstance(p, str) for p in parts)):
        raise EvaluationError(f"sample {quoted(name)}: metadata items is not a list of strings")
    items = (name,) if parts is None else tuple(f"{name}/{part}" for part in parts)
    return Sample(
        name=name,
        items=items,
        blocks=(block,) * len(items),
        columns={column: _column_texts(name, column, metadata, parts) for column in columns},
    )


def _column_texts(name: str, column: str, metadata: Mapping[str, Any], parts: Sequence[str] | None) -> tuple[str, ...]:
    """The texts of a column, one for each item of a sample."""
    key = column.removeprefix("metadata.")
    value = metadata.get(key)
    table = value if parts is not None and isinstance(value, dict) else None
    values = [value if table is None else table.get(part) for part in parts or (name,)]
    if not all(isinstance(each, str | int | float) and str(each) not in ("", "nan") for each in values):
        raise EvaluationError(
            f"sample {quoted(name)}: metadata has no text or number {quoted(key)}, which the design uses"
            + (", for each of its items" if parts is not None else "")
        )
    return tuple(map(str, values))


def _question_text(sample: InspectSample) -> str:
    """What a sample asks and expects, as text."""
    values = sample.model_dump(mode="json", include={"input", "choices", "target", "metadata"}, fallback=repr)
    if not isinstance(sample.input, str):
        # Inspect gives every message an id of its own at random.
        values["input"] = [[message.role, message.text] for message in sample.input]
    return json.dumps(values, sort_keys=True, default=repr)


def _task_from_file(file: Path, name: str, where: str, args: Mapping[str, Any]) -> object:
    """A task of a file, which is loaded and called in its own folder."""
    if not file.is_file():
        raise EvaluationError(f"{where}: there is no such file")
    spec = importlib.util.spec_from_file_location(f"bbedge_task_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise EvaluationError(f"{where}: cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent))
    try:
        with contextlib.chdir(file.parent):
            spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    task = getattr(module, name, None)
    if not callable(task):
        names = [key for key, value in vars(module).items() if hasattr(value, "__registry_info__")]
        raise EvaluationError(f"{where}: the file has no task {quoted(name)}; it has {listed(names) or 'none'}")
    with contextlib.chdir(file.parent):
        return task(**args)


def _installed_task(spec: str, args: Mapping[str, Any]) -> object:
    """An installed task; Inspect leaves out the package's name where it does not see how the package is installed."""
    try:
        return registry_create("task", spec, **args)
    except LookupError:
        package, _, name = spec.rpartition("/")
        if not package:
            raise
        return registry_create("task", name, **args)


def _one_line(error: BaseException | str) -> str:
    plain = re.sub(r"\[/?[a-z ]+\]", "", str(error))
    return shown(redacted(" ".join(plain.split()), secret_values(os.environ)), 400)
