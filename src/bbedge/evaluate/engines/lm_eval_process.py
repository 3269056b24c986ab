"""lm-evaluation-harness as a process: what it is called with, what is heard of it, why it ended, and what it wrote.

The short question to its models is reported as soon as it is answered, and silence is mentioned.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bbedge.credentials import redacted, secret_values
from bbedge.errors import EvaluationError
from bbedge.evaluate.engine import Answered, CheckReport, StillSilent
from bbedge.evaluate.engines.command import work_in_threads
from bbedge.evaluate.engines.process import Stopped, call
from bbedge.evaluate.failures import Problem, ProblemKind, answer_excerpt, kind_of_failure
from bbedge.readers.tools.lm_eval import LM_EVAL, results_of
from bbedge.records.journal import Usage
from bbedge.records.study import LmEvalArguments, LmEvalBenchmark
from bbedge.records.values import grouped
from bbedge.text import shown, shown_path

DRIVER = "lm_eval_driver.py"
"""Runs the tool."""
REQUESTS = "lm_eval_requests.py"
"""Asks models of the tool a short question."""
_TAIL = 4000  # bytes at the end of a log among which its last line is

Hear = Callable[[Mapping[str, Any]], None]
"""Takes what a process writes while it runs, line by line."""
_PATIENCE = 5.0  # seconds after which a model that has not answered is mentioned
# By the names of exceptions: requests, urllib3 and aiohttp have classes of their own.
_NO_CONNECTION = frozenset({
    "ClientConnectorError", "ConnectTimeout", "ConnectionRefusedError", "ConnectionTimeoutError", "gaierror",
    "InvalidSchema", "InvalidURL", "MissingSchema", "NameResolutionError", "NewConnectionError", "ProxyError",
    "SSLError",
})  # fmt: skip
_NO_ANSWER = frozenset({"ContentTypeError", "JSONDecodeError", "Unusable"})
_BROKEN = ("Connection", "Disconnected", "Protocol", "ChunkedEncodingError", "ClientPayloadError")
# Of Python's and NumPy's random numbers, the tool's own defaults. Tasks make documents and order choices with them, so
# they belong to the benchmark like the examples; models in the same process draw with torch, which has the run's seed.
_TASK_SEEDS = "0,1234"
_FLAGS = ("trust_remote_code", "confirm_run_unsafe_code")
_VALUES = ("system_instruction", "batch_size", "max_batch_size", "device")
# Of a task's configuration, what decides questions and scores.
_OF_TASK = (
    *("task", "dataset_path", "dataset_name", "test_split", "validation_split", "fewshot_split", "output_type"),
    *("doc_to_text", "doc_to_target", "doc_to_choice", "process_results", "description", "num_fewshot", "repeats"),
    *("metric_list", "filter_list", "generation_kwargs", "target_delimiter", "fewshot_delimiter"),
)


def run_tool(
    folder: Path,
    order: Mapping[str, Any],
    *,
    python: str,
    home: Path,
    stop: threading.Event,
    file: str = DRIVER,
    heard: Hear = lambda what: None,
) -> str | None:
    """Run one of our files in the Python that has the tool installed; what went wrong, or nothing.

    Nothing of the order is on the command line.
    """
    log = folder / "log.txt"
    # Copies: Python looks for modules beside the file it runs, and beside ours is one called inspect.
    for name in (DRIVER, REQUESTS):
        shutil.copyfile(Path(__file__).with_name(name), folder / name)
    paths = {"report": str(folder / "report.json"), "heard": str(folder / "heard.jsonl")}
    (folder / "order.json").write_text(json.dumps({**order, **paths}), encoding="utf-8")
    words = [python, str(folder / file), str(folder / "order.json")]
    with log.open("wb") as output, (folder / "heard.jsonl").open("a+b") as lines:

        def read() -> None:
            """Hand on the lines that are new and complete."""
            while (line := lines.readline()).endswith(b"\n"):
                heard(json.loads(line))
            lines.seek(-len(line), os.SEEK_CUR)

        try:
            code = call(words, home=home, folder=folder, log=output, timeout=None, stop=stop, look=read)
        except OSError as error:
            return f"{shown(words[0], None)} cannot be run ({error.strerror})"
        except Stopped:
            return "lm_eval was stopped with the study"
        read()
    if code == 0:
        return None
    found = report_of(folder)
    if not found.get("installed", True):
        return (
            f"{shown_path(python)} has no lm_eval; install it there with pip install 'lm_eval[api]'; or name "
            "the Python that has it with python under [benchmark]"
        )
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    return f"lm_eval {how}: {_reason(found.get('error'), log)}; its output is in {shown_path(log)}"


def python_of(given: str | None, home: Path, source: str) -> str:
    """The Python that runs the tool: a path from the study's folder, or the name of an installed program."""
    if given is None:
        return sys.executable
    found = str(home / given) if os.sep in given else shutil.which(given)
    if found is None or not Path(found).is_file():
        raise EvaluationError(
            f"{source}: [benchmark] python: there is no program {shown(given, None)}; give the Python of the "
            "environment in which lm_eval is installed"
        )
    return found


def report_of(folder: Path) -> dict[str, Any]:
    """What the driver counted; zeros where it did not get that far."""
    found = {"requests": 0, "seeded": 0, "tokens": [0, 0], "types": {}, "chooses": False, "heard": False, "served": []}
    with contextlib.suppress(OSError, ValueError):
        found |= json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return found


def _reason(error: object, log: Path) -> str:
    """The error that ended the tool, or the last line of its log if it did not get as far as the driver."""
    last = str(error) if error else "it printed nothing"
    if not error:
        with contextlib.suppress(OSError), log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
            last = next((line for line in reversed(lines) if line.strip()), last)
    return shown(redacted(" ".join(last.split()), secret_values(os.environ)), 400)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionBegun:
    """A model is being asked from now on."""

    model: str
    """Its name on the board."""
    endpoint: str | None
    """The address that is asked."""


Heard = QuestionBegun | Answered | Problem
Tell = Callable[[Heard], None]


def ask_in_threads(
    questions: Sequence[Callable[[Tell], None]], report: CheckReport, *, workers: int, stop: threading.Event
) -> None:
    """Ask all questions and report what they tell from this thread; an interrupt, or an error, ends them.

    Every model that has been silent for long is reported, once.
    """
    since: dict[str, tuple[QuestionBegun, float]] = {}

    def hear(what: Heard | None) -> None:  # a question itself returns nothing
        if isinstance(what, QuestionBegun):
            since[what.model] = what, time.monotonic()
        elif what is not None:
            since.pop(what.model, None)
            report(what)

    def mention() -> None:
        for model, (asked, began) in list(since.items()):
            seconds = time.monotonic() - began
            if seconds >= _PATIENCE:
                del since[model]
                report(StillSilent(model=model, endpoint=asked.endpoint, seconds=seconds))

    work_in_threads(iter(questions), hear, workers=workers, stop=stop, look=mention)


def parse_report(line: Mapping[str, Any], *, priced: str) -> Heard:
    """A line that the process wrote about the question to one model; ``priced`` is what prices call the model."""
    model = str(line["name"])
    if "asked" in line:
        return QuestionBegun(model=model, endpoint=line["asked"])
    if "failed" in line:
        return problem_of(line["failed"], model=model, stage=str(line["stage"]))
    tokens = {priced: tuple(line["tokens"])} if any(line["tokens"]) else {}
    served = line["served"] if isinstance(line["served"], str) else None
    return Answered(model=model, usage=Usage(calls=1, tokens=tokens, seconds=line["seconds"]), served=served)


def problem_of(facts: Mapping[str, Any], *, model: str, stage: str = "asking") -> Problem:
    """The problem that a failed request is, at some stage: ``making`` the model, reading its ``key``, or ``asking``."""
    names, message = frozenset(facts["names"]), " ".join(str(facts["message"]).split())
    kinds: dict[str, ProblemKind] = {"making": "program", "key": "credentials"}
    if stage in kinds:
        kind = kinds[stage]
    elif names & _NO_ANSWER and "EmptyAnswer" not in names:
        kind = "answer"
    else:
        kind = kind_of_failure(names, facts["status"], unreachable=_NO_CONNECTION, broken=_BROKEN)
    if stage == "making":
        message = f"lm_eval cannot make the model: {message}"
    known = {key: facts[key] for key in ("endpoint", "status", "variable")}
    return Problem(kind=kind, model=model, message=answer_excerpt(kind, message), **known)


def command_words(settings: LmEvalBenchmark, *, home: Path, out: Path, seed: int) -> list[str]:
    """The words of the command line that list and run have in common."""
    metadata = settings.args.metadata
    options = {
        "include_path": None if settings.include_path is None else home / settings.include_path,
        "num_fewshot": settings.num_fewshot,
        "limit": settings.limit,
        "metadata": None if metadata is None else json.dumps(metadata),
    }
    return [
        *("--tasks", ",".join(settings.tasks), "--output_path", str(out), "--log_samples"),
        *("--seed", f"{_TASK_SEEDS},{seed},{settings.fewshot_seed}"),
        *_option_words(options),
        *(f"--{flag}" for flag in _FLAGS if getattr(settings.args, flag)),
    ]


def _option_words(options: Mapping[str, object]) -> list[str]:
    return [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]


def prompt_words(args: LmEvalArguments, model: str) -> list[str]:
    """The words about prompts and batches, which depend on the type of the model."""
    words, template = _option_words({name: getattr(args, name) for name in _VALUES}), args.apply_chat_template
    if template is None:
        template = model.endswith("chat-completions")
    if template:
        words += ["--apply_chat_template", *([template] if isinstance(template, str) else [])]
    if args.fewshot_as_multiturn is not None:
        words += ["--fewshot_as_multiturn", *([] if args.fewshot_as_multiturn else ["false"])]
    return words


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDocument:
    """A document as the tool knows it."""

    task: str
    number: int
    """Its number in the task, from 0."""
    content: str
    """A hash of its content: a number alone could come to mean another document."""


def documents_of(out: Path) -> dict[str, ToolDocument]:
    """The documents of a run, by the names that the reader gives to items."""
    found = {}
    for file in sample_files(out):
        task = results_of(str(file)).task
        for sample, row in zip(LM_EVAL.open(str(file)).samples(), _rows(file), strict=True):
            found[sample.item] = ToolDocument(task=task, number=int(row["doc_id"]), content=str(sample.content))
    return found


def scores_by_listed_name(
    scores: Mapping[str, float], found: Mapping[str, ToolDocument], listed: Mapping[str, ToolDocument]
) -> dict[str, float]:
    """Scores of a run by the names that its documents were listed under.

    The second of two equal documents is named as such only where both are there, so that it has another name in a part.
    """
    names = {document: item for item, document in listed.items()}
    return {names.get(found[item], item) if item in found else item: score for item, score in scores.items()}


def document_numbers(items: Iterable[str], listed: Mapping[str, ToolDocument]) -> dict[str, list[int]]:
    """The numbers of the documents of these items, by task."""
    documents = (listed[item] for item in items)
    return {task: sorted(numbers) for task, numbers in grouped((each.task, each.number) for each in documents).items()}


def sample_files(out: Path) -> list[Path]:
    """The files of samples that a run wrote."""
    return sorted(out.rglob("samples_*.json*"), key=lambda each: each.name.rpartition("_")[0])


def hash_of_answers(out: Path) -> tuple[str, int]:
    """A hash of all answers of a run, and their length in characters."""
    digest, length = hashlib.sha256(), 0
    for file in sample_files(out):
        for row in _rows(file):
            text = json.dumps(row.get("resps"))
            digest.update(json.dumps([row.get("doc_id"), row.get("filter"), text]).encode())
            length += len(text)
    return digest.hexdigest()[:32], length


def fingerprint_of_tasks(out: Path) -> str:
    """A hash of what is asked and how it is scored: prompts, targets, and the configuration of the tasks."""
    keys = ("doc_hash", "prompt_hash", "target_hash", "filter")
    asked = [[file.name.rpartition("_")[0], *map(row.get, keys)] for file in sample_files(out) for row in _rows(file)]
    configs: dict[str, Any] = {}
    for file in out.rglob("results_*.json"):
        results = json.loads(file.read_text(encoding="utf-8"))
        configs["version"] = results.get("lm_eval_version")
        configs |= {task: {key: of.get(key) for key in _OF_TASK} for task, of in results.get("configs", {}).items()}
    # Where a function is not written as its source, its address in memory is in the text.
    text = re.sub(r"0x[0-9a-f]+", "", json.dumps([sorted(asked, key=str), configs], sort_keys=True))
    return hashlib.sha256(text.encode()).hexdigest()


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    # Not splitlines: the tool does not escape the other characters that end a line for it.
    return (json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line.strip())
