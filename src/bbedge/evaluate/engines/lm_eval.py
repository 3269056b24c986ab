"""lm-evaluation-harness as the engine: a run of it for every model and replicate, read by our reader of its logs.

A run is the unit: it is scored completely or repeated completely. It has all documents, or those of a part of the first
run. Which documents there are is found by running the tasks once with the tool's own dummy model, which answers
without a server; so items have the names that the reader gives them, and a task that cannot be loaded is found before
anything is frozen.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, cast

from msgspec import structs

from bbedge.core.scores import Scores
from bbedge.errors import BbedgeError, EvaluationError
from bbedge.evaluate.engine import Answered, Benchmark, CheckReport, Job, Report, Sample, Trouble
from bbedge.evaluate.engines.command import Calls, checked_scores, last_lines, scores_by_item
from bbedge.evaluate.engines.lm_eval_process import (
    REQUESTS,
    QuestionBegun,
    Tell,
    ToolDocument,
    ask_in_threads,
    command_words,
    document_numbers,
    documents_of,
    fingerprint_of_tasks,
    hash_of_answers,
    parse_report,
    problem_of,
    prompt_words,
    python_of,
    report_of,
    run_tool,
    sample_files,
    scores_by_listed_name,
)
from bbedge.evaluate.engines.process import redact_files
from bbedge.evaluate.failures import Problem
from bbedge.evaluate.servers import variables
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.files import system_errors
from bbedge.readers import read_scores
from bbedge.records.journal import Done, Failed, Usage
from bbedge.records.study import LmEvalBenchmark, StudyModel
from bbedge.text import quoted, shown, shown_path

_WHOLE = "all items"
_PATIENCE = 60.0  # seconds for the answer to the short question, where the study has no limit
_NAMES = ("model", "pretrained", "path", "engine")


class LmEvalEngine:
    """Runs tasks of lm-evaluation-harness."""

    def __init__(self, study: EvaluationSpec) -> None:
        self._study, self._settings = study, cast("LmEvalBenchmark", study.benchmark)
        self._home = study.path.resolve().parent
        self._calls = Calls(study)
        python = python_of(self._settings.python, self._home, shown_path(study.path))
        self._run_tool = partial(run_tool, python=python, home=self._home, stop=self._calls.stop)
        self._types: dict[str, dict[str, Any]] = {}
        """Of each type of models, whether every ``requests`` has a seed of its own, and the usual ``address``."""
        self._documents: dict[str, ToolDocument] = {}
        self._whole: Sample | None = None
        for model, key in product(study.models, ("config", "args")):
            if "seed" in getattr(model, key):
                raise EvaluationError(
                    f"{shown_path(study.path)}: model {quoted(model.name)}: {key} may not set seed; every run has a "
                    "seed of its own"
                )

    def benchmark(self) -> Benchmark:
        """The documents of the tasks, as one sample: a run scores them all, or those that it is asked for."""
        folder = self._temporary("list")
        called = [*command_words(self._settings, home=self._home, out=folder / "out", seed=0), "--model", "dummy"]
        order = {"words": called, "types": sorted({model.model for model in self._study.models})}
        problem = self._run_tool(folder, order)
        if problem is not None:
            redact_files(folder)
            raise EvaluationError(f"{shown_path(self._study.path)}: lm_eval cannot list the tasks: {problem}")
        found = report_of(folder)
        read = self._read(folder / "out", blocks=self._settings.block or "item")
        self._types, self._documents = found["types"], documents_of(folder / "out")
        self._whole = Sample(
            name=_WHOLE,
            items=read.items,
            blocks=read.blocks,
            columns=read.columns,
            is_divisible=found["chooses"] and set(read.items) <= set(self._documents),
        )
        asked = fingerprint_of_tasks(folder / "out")
        shutil.rmtree(folder, ignore_errors=True)
        return Benchmark(samples=(self._whole,), fingerprint=asked)

    def _temporary(self, purpose: str) -> Path:
        """A folder for a run that is none of the study."""
        parent = self._study.folder / "lm_eval"
        with system_errors(parent, "written", kind=EvaluationError):
            parent.mkdir(parents=True, exist_ok=True)
            # No lock is held yet: another command may be doing the same.
            return Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=parent))

    def addresses(self) -> Mapping[str, str]:
        """Those of the study, or of the types of models; others may read the environment."""
        known = {
            model.name: str(address)
            for model in self._study.models
            if (address := model.args.get("base_url", model.base_url) or self._types[model.model]["address"])
        }
        return known if all(map(self._seeds_requests, self._study.models)) else known | variables()

    def caveats(self) -> Sequence[str]:
        """Where the tool gives a run one seed, and not every request its own."""
        notes = []
        for model in self._study.models:
            if not self._seeds_requests(model):
                notes.append(
                    f"lm_eval gives {shown(model.name)} one seed per run and none to its requests: that answers to "
                    "items of different blocks do not share random numbers rests on how this type of model uses the "
                    "seed."
                )
            elif str(model.args.get("batch_size", self._settings.args.batch_size or 1)) != "1":
                notes.append(
                    f"lm_eval sends several items to {shown(model.name)} in one request with one seed: that they do "
                    "not share random numbers rests on the server."
                )
        return notes

    def check(self, models: Sequence[StudyModel], seeds: Callable[[str], int], report: CheckReport) -> None:
        """Ask the models of APIs a question, in one process without retries; others answer one document."""
        if not self._types:
            self.benchmark()
        asked = [model for model in models if self._seeds_requests(model)]
        questions = [partial(self._try, model, seeds(model.name)) for model in models if model not in asked]
        if asked:
            questions.insert(0, partial(self._ask, asked, seeds))
        ask_in_threads(questions, report, workers=self._study.file.run.workers, stop=self._calls.stop)

    def _ask(self, models: Sequence[StudyModel], seeds: Callable[[str], int], tell: Tell) -> None:
        """Ask the question itself."""
        folder, answered = self._temporary("check"), set[str]()
        priced = {model.name: _priced(model) for model in models}
        questions = [
            {
                "name": model.name,
                "model": model.model,
                "model_args": {**made_from["requests"], **made_from["model_args"]},
                "generation": self._generation(model),
                "seed": seeds(model.name),
                "timeout": self._study.file.run.timeout or _PATIENCE,
            }
            for model, made_from in zip(models, map(self._of_model, models), strict=True)
        ]

        def heard(line: Mapping[str, Any]) -> None:
            what = parse_report(line, priced=priced[line["name"]])
            if not isinstance(what, QuestionBegun):
                answered.add(what.model)
            tell(what)

        why = self._run_tool(folder, {"questions": questions}, file=REQUESTS, heard=heard)
        for model in models:
            if model.name not in answered:
                tell(self._problem(model, why or "lm_eval has not asked the model", folder))
        if why is None:
            shutil.rmtree(folder, ignore_errors=True)

    def _try(self, model: StudyModel, seed: int, tell: Tell) -> None:
        """Run one document: a model that runs inside the tool has no server that could be asked."""
        folder, began = self._temporary("check"), time.monotonic()
        tell(QuestionBegun(model=model.name, endpoint=model.base_url))
        items = self._whole.items[:1] if self._whole is not None and self._whole.is_divisible else ()
        settings = self._settings if items else structs.replace(self._settings, limit=1)
        why = self._run_tool(folder, self._order(model, seed, folder / "out", items, settings))
        if why is not None:
            tell(self._problem(model, why, folder))
            return
        _, usage = _sent(folder, model, 1, time.monotonic() - began)
        tell(Answered(model=model.name, usage=usage))
        shutil.rmtree(folder, ignore_errors=True)

    def _problem(self, model: StudyModel, why: str, folder: Path) -> Problem:
        """A run that failed; its folder stays."""
        output = last_lines(folder / "log.txt")
        redact_files(folder)
        return Problem(kind="program", model=model.name, message=why, endpoint=model.base_url, output=output)

    def _seeds_requests(self, model: StudyModel) -> bool:
        return model.model in self._types and bool(self._types[model.model]["requests"])

    def run(self, replicate: int, jobs: Sequence[Job], seeds: Callable[[Job, int], int], report: Report) -> None:
        """Run the tool for every job, a few at a time.

        Seeds of requests are hashed from that of the run, and should be the same whatever part a document is in. A
        model that draws with one seed for its run needs another one in every part, or parts would share random numbers.
        """

        def called(folder: Path, job: Job, tell: Callable[[Trouble], None]) -> Done | Failed:
            seeded = self._whole if self._seeds_requests(job.model) else None
            return self._call(folder, job, seeds(dataclasses.replace(job, sample=seeded or job.sample), 0), tell)

        self._calls.run(replicate, jobs, called, report)

    def _call(self, folder: Path, job: Job, seed: int, tell: Callable[[Trouble], None]) -> Done | Failed:
        model, sample = job.model, job.sample
        began, is_whole = time.monotonic(), self._whole is None or len(sample.items) == len(self._whole.items)
        order = self._order(model, seed, folder / "out", () if is_whole else sample.items, self._settings)

        def heard(line: Mapping[str, Any]) -> None:
            tell(Trouble(model=model.name, sample=sample.name, problem=problem_of(line, model=model.name)))

        problem = self._run_tool(folder, order, heard=heard)
        sent, usage = _sent(folder, model, len(sample.items), time.monotonic() - began)
        try:
            if problem is None:
                scores = self._scores(folder / "out", sample)
                trace, length = hash_of_answers(folder / "out")
                return Done(
                    model=model.name,
                    sample=sample.name,
                    scores=scores,
                    usage=usage,
                    # Answers of a part are not comparable with those of a run of all documents.
                    trace=trace if is_whole else None,
                    length=length,
                    unseeded=(model.name,) if sent["requests"] > sent["seeded"] else (),
                    served=tuple(map(str, sent["served"])),
                )
        except BbedgeError as error:
            problem = str(error)
        if not sent["heard"]:  # where a request that failed has ended the run, the cause was heard
            tell(Trouble(model=model.name, sample=sample.name, problem=self._problem(model, problem, folder)))
        return Failed(model=model.name, sample=sample.name, error=problem, usage=usage)

    def _order(
        self, model: StudyModel, seed: int, out: Path, items: Sequence[str], settings: LmEvalBenchmark
    ) -> dict[str, Any]:
        """What the driver is asked to run: the documents of some items, or all."""
        called = [
            *command_words(settings, home=self._home, out=out, seed=seed),
            *prompt_words(settings.args, model.model),
        ]
        if generation := self._generation(model):
            called += ["--gen_kwargs", json.dumps(generation)]
        documents = {"documents": document_numbers(items, self._documents)} if items else {}
        return {"words": called, "seed": seed, **self._of_model(model), **documents}

    def _generation(self, model: StudyModel) -> dict[str, Any]:
        """The generation arguments of a model: those of the benchmark, replaced by its own."""
        return {**(self._settings.args.gen_kwargs or {}), **model.config}

    def _of_model(self, model: StudyModel) -> dict[str, Any]:
        """What the tool makes a model from."""
        run = self._study.file.run
        requests = {
            "max_retries": run.request_retries + 1,  # the tool counts attempts, the first included
            "num_concurrent": run.connections,
            "timeout": run.timeout and max(1, round(run.timeout)),
        }
        return {
            "model": model.model,
            "model_args": {**({"base_url": model.base_url} if model.base_url else {}), **model.args},
            "requests": {key: value for key, value in requests.items() if value is not None},
        }

    def _scores(self, out: Path, sample: Sample) -> dict[str, float | None]:
        scores = scores_by_listed_name(
            scores_by_item(self._read(out, blocks="item")), documents_of(out), self._documents
        )
        return checked_scores(scores, sample, out, may_be_missing=self._study.file.gaps == "worst-case")

    def _read(self, out: Path, *, blocks: str) -> Scores:
        """The samples of one run."""
        if not sample_files(out):
            raise EvaluationError(f"lm_eval wrote no samples to {shown_path(out)}")
        read = read_scores(
            out,
            blocks=blocks,
            least_models=1,
            format="lm-eval",
            model_name="model",
            metric=self._settings.metric or (),
            filter=self._settings.filter or (),
            item_column=self._study.design.columns,
            **self._study.reading,
        )
        if len(read.replicates) != 1:
            raise EvaluationError(f"{shown_path(out)} has {len(read.replicates)} runs; a call is for one")
        return read


def _priced(model: StudyModel) -> str:
    """The name under which prices are looked up: what the server calls the model, since all share a type."""
    return next((str(model.args[name]) for name in _NAMES if name in model.args), model.name)


def _sent(folder: Path, model: StudyModel, items: int, seconds: float) -> tuple[dict[str, Any], Usage]:
    """What the driver counted, and what that cost."""
    sent = report_of(folder)
    tokens = {_priced(model): (sent["tokens"][0], sent["tokens"][1])} if any(sent["tokens"]) else {}
    return sent, Usage(calls=sent["requests"] or items, tokens=tokens, seconds=seconds)
