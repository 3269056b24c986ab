"""What lm-evaluation-harness is called with, and what a run of it wrote about its documents."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.tools.lm_eval import LM_EVAL, results_of
from bbedge.records.study import LmEvalArguments, LmEvalBenchmark

# Of Python's and NumPy's random numbers, the tool's own defaults. Tasks make documents and order choices with them, so
# they belong to the benchmark like the examples; models in the same process draw with torch, which has the run's seed.
_TASK_SEEDS = "0,1234"
_OURS = {
    "seed": "every run has a seed of its own",
    "use_cache": "caches are off, or replicates would not be fresh",
    "cache_requests": "caches are off, or replicates would not be fresh",
    "predict_only": "without scores there is nothing to compare",
    "output_path": "the runner chooses it",
    "log_samples": "samples are always written",
}
_FLAGS = ("trust_remote_code", "confirm_run_unsafe_code")
_VALUES = ("system_instruction", "batch_size", "max_batch_size", "device")
# Of a task's configuration, what decides questions and scores.
_OF_TASK = (
    *("task", "dataset_path", "dataset_name", "test_split", "validation_split", "fewshot_split", "output_type"),
    *("doc_to_text", "doc_to_target", "doc_to_choice", "process_results", "description", "num_fewshot", "repeats"),
    *("metric_list", "filter_list", "generation_kwargs", "target_delimiter", "fewshot_delimiter"),
)


def refuse_own_settings(benchmark: Mapping[str, Any], *, source: str) -> None:
    """Refuse settings of the tool in ``[benchmark]`` that are not for a study to choose."""
    args = benchmark.get("args")
    if not isinstance(args, Mapping):
        return
    for key, why in _OURS.items():
        if key in args:
            raise FormatError(f"{source}: args: {key} may not be set; {why}")
    for name in ("gen_kwargs", "metadata"):
        inner = args.get(name)
        if isinstance(inner, Mapping) and "seed" in inner:
            raise FormatError(f"{source}: args: {name}: seed may not be set; {_OURS['seed']}")


def words(settings: LmEvalBenchmark, *, home: Path, out: Path, seed: int) -> list[str]:
    """The words of the command line that list and run have in common."""
    words = ["--tasks", ",".join(settings.tasks), "--output_path", str(out), "--log_samples"]
    words += ["--seed", f"{_TASK_SEEDS},{seed},{settings.fewshot_seed}"]
    folder = None if settings.include_path is None else home / settings.include_path
    options = {"include_path": folder, "num_fewshot": settings.num_fewshot, "limit": settings.limit}
    for name, value in options.items():
        words += [] if value is None else [f"--{name}", str(value)]
    words += [f"--{flag}" for flag in _FLAGS if getattr(settings.args, flag)]
    if settings.args.metadata is not None:
        words += ["--metadata", json.dumps(settings.args.metadata)]
    return words


def prompt_words(args: LmEvalArguments, model: str) -> list[str]:
    """The words about prompts and batches, which depend on the type of the model."""
    given = {name: getattr(args, name) for name in _VALUES}
    words = [word for name, value in given.items() if value is not None for word in (f"--{name}", str(value))]
    template = args.apply_chat_template
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
    """Its task."""
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


def renamed(
    scores: Mapping[str, float], found: Mapping[str, ToolDocument], listed: Mapping[str, ToolDocument]
) -> dict[str, float]:
    """Scores of a run by the names that its documents were listed under.

    The second of two equal documents is named as such only where both are there, so that it has another name in a part.
    """
    names = {document: item for item, document in listed.items()}
    return {names.get(found[item], item) if item in found else item: score for item, score in scores.items()}


def chosen(items: Iterable[str], listed: Mapping[str, ToolDocument]) -> dict[str, list[int]]:
    """The numbers of the documents of these items, by task."""
    numbers: dict[str, list[int]] = {}
    for document in (listed[item] for item in items):
        numbers.setdefault(document.task, []).append(document.number)
    return {task: sorted(each) for task, each in numbers.items()}


def sample_files(out: Path) -> list[Path]:
    """The files of samples that a run wrote."""
    return sorted(out.rglob("samples_*.json*"), key=lambda each: each.name.rpartition("_")[0])


def answers(out: Path) -> tuple[str, int]:
    """A hash of all answers of a run, and their length in characters."""
    digest, length = hashlib.sha256(), 0
    for file in sample_files(out):
        for row in _rows(file):
            text = json.dumps(row.get("resps"))
            digest.update(json.dumps([row.get("doc_id"), row.get("filter"), text]).encode())
            length += len(text)
    return digest.hexdigest()[:32], length


def fingerprint(out: Path) -> str:
    """A hash of what is asked and how it is scored: prompts, targets, and the configuration of the tasks."""
    asked = []
    for file in sample_files(out):
        task = file.name.rpartition("_")[0]
        keys = ("doc_hash", "prompt_hash", "target_hash", "filter")
        asked += [[task, *(row.get(key) for key in keys)] for row in _rows(file)]
    configs: dict[str, Any] = {}
    for file in out.rglob("results_*.json"):
        results = json.loads(file.read_text(encoding="utf-8"))
        configs["version"] = results.get("lm_eval_version")
        for task, config in results.get("configs", {}).items():
            configs[task] = {key: config.get(key) for key in _OF_TASK}
    # Where a function is not written as its source, its address in memory is in the text.
    text = re.sub(r"0x[0-9a-f]+", "", json.dumps([sorted(asked, key=str), configs], sort_keys=True))
    return hashlib.sha256(text.encode()).hexdigest()


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    # Not splitlines: the tool does not escape the other characters that end a line for it.
    return (json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line.strip())
