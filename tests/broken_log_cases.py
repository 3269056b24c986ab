"""Small logs of every tool, for the contract of broken logs: what each calls a score, an item and a model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bbedge.errors import BbedgeError
from bbedge.readers import read_scores
from log_makers import LOGS, inspect_log, inspect_sample, lm_eval_run
from shape_makers import SHAPES, write_lines
from suite_makers import MAKERS, write

UNNAMED = "does not name its model"


def changed(value, change):
    """JSON in which ``change(key, value)`` gave every value of an object anew; ``...`` removes it."""
    if isinstance(value, dict):
        new = {key: change(key, changed(part, change)) for key, part in value.items()}
        return {key: part for key, part in new.items() if part is not ...}
    return [changed(part, change) for part in value] if isinstance(value, list) else value


def is_lines(path):
    # BFCL writes JSON lines into files named .json.
    return path.suffix == ".jsonl" or path.name.startswith("BFCL")


def content_of(path):
    if is_lines(path):
        return [json.loads(line) for line in path.read_text().splitlines()]
    return json.loads(path.read_text())


def rewrite(path, change):
    write_content(path, changed(content_of(path), change))


def write_content(path, content):
    (write_lines if is_lines(path) else write)(path, content)


def records_of(content):
    """The list with the most entries, which is that of the records."""
    if isinstance(content, list):
        return content
    lists = [records_of(part) for part in content.values() if isinstance(part, dict | list)]
    return max(lists, key=len, default=[])


def with_records(path, change):
    content = content_of(path)
    change(records_of(content))
    write_content(path, content)


def change_last(path, change):
    """Change the last record of a file, or all of it where it is one record."""
    content = content_of(path)
    records = records_of(content)
    if not records:
        rewrite(path, change)
        return
    records[-1] = changed(records[-1], change)
    write_content(path, content)


def put(word, *keys):
    """A change that puts a word in the place of what some keys hold."""
    return lambda key, value: word if key in keys else value


def dropped(pattern, *keys):
    """A way to lose the model: keys of a file."""
    return lambda folder: [rewrite(path, put(..., *keys)) for path in sorted(folder.rglob(pattern))]


def dropped_last(pattern, *keys):
    """A way to lose the model: keys of the last record, because the first one is how a log is recognised."""
    return lambda folder: [change_last(path, put(..., *keys)) for path in sorted(folder.rglob(pattern))]


def removed(pattern):
    """A way to lose the model: a file beside the log."""
    return lambda folder: [path.unlink() for path in sorted(folder.rglob(pattern))]


def renamed(pattern, name):
    """A way to lose the model: another name of the file or folder."""
    return lambda folder: next(iter(sorted(folder.rglob(pattern)))).rename(folder / name)


@dataclass(frozen=True, kw_only=True)
class Case:
    """The log of a tool, and how it says things."""

    make: Callable[[Path], Any]
    """Writes logs that are read into a folder."""
    score: str
    """The key of a score."""
    item: tuple[str, ...]
    """The keys that name an item, or of what it is named by."""
    nameless: Callable[[Path], Any]
    """Takes the name of the model away."""
    unnamed: str = UNNAMED
    """What is said without it."""
    by_name: bool = True
    """Whether items have the names that the log gives them, not names made from their content."""
    scored: str = "*.json*"
    """The files that hold scores."""
    choices: dict[str, Any] = field(default_factory=dict)
    reading: dict[str, Any] = field(default_factory=dict)
    no_number: str = "no score|missing|without a score"
    """What is said of a score that is no number."""
    outside: str = "outside|is infinite"
    """What is said of a number outside the range."""
    twice: str = "a second score"
    """What is said of a record that comes twice."""
    no_item: str = r"(\d|\.json): (no|neither) "
    """What is said of the last record without the keys of its item."""
    harmless: tuple[Any, ...] = ()
    """What may stand in the place of a score."""

    def path(self, folder):
        self.make(folder)
        return sorted(folder.rglob(self.scored))[0]

    def read(self, *sources, **more):
        choices = dict(**{**self.choices, **more})
        return read_scores(*sources, least_models=1, **choices, **self.reading)

    def refusal(self, *sources, **more):
        with pytest.raises(BbedgeError) as caught:
            self.read(*sources, **more)
        return str(caught.value)


def inspect_json(folder):
    header = {"version": 2, "status": "success", "eval": {"model": "m", "task": "t"}, "plan": {}, "results": {}}
    write(folder / "a.json", header | {"samples": [inspect_sample("q1", value=1), inspect_sample("q2", value=0)]})


def copy_of(*parts):
    return lambda folder: shutil.copytree(LOGS.joinpath(*parts), folder, dirs_exist_ok=True)


def shape(name, **more):
    of_tool = SHAPES[name]
    return Case(make=of_tool.files, choices=of_tool.choices, reading=of_tool.reading, **more)


def suite(name, **more):
    return Case(make=MAKERS[name], **more)


STATED = "but the (log|report) states"
RECORD = "no {} in this record; expected"
CASES = {
    "lm-eval": Case(
        make=lm_eval_run,
        score="acc",
        item=("doc_id",),
        by_name=False,
        scored="samples_*.jsonl",
        nameless=dropped("results_*.json", "model_name"),
        # Documents with one content are two items.
        twice="",
    ),
    "inspect": Case(
        make=inspect_json,
        score="value",
        item=("id",),
        nameless=dropped("*.json", "model"),
        unnamed="the header names no model",
        no_number="missing|is neither a number nor one of Inspect's letters|without a score",
        # Inspect itself takes numbers as text.
        harmless=("1.0",),
    ),
    "helm": Case(
        make=copy_of("helm", "run1", "aster"),
        score="mean",
        item=("instance_id",),
        scored="per_instance_stats.json",
        choices={"metric": ("exact_match",)},
        nameless=dropped("run_spec.json", "model", "model_deployment"),
    ),
    "promptfoo": Case(
        make=copy_of("promptfoo", "json"),
        score="score",
        item=(),
        nameless=dropped("out.json", "provider"),
        unnamed="result 1: no provider; expected",
        twice="",
    ),
    "openai-evals": Case(
        make=copy_of("openai_evals"),
        score="correct",
        item=("sample_id",),
        nameless=dropped("*.jsonl", "completion_fns"),
        twice="a second 'match' for sample",
        # An event without a sample is one about the run.
        no_item="missing",
    ),
    "tau-bench": suite(
        "tau-bench", score="reward", item=("task_id",), nameless=renamed("*.json", "airline/elsewhere.json")
    ),
    "tau2-bench": suite(
        "tau2-bench",
        score="reward",
        item=("task_id",),
        nameless=dropped("*.json", "llm", "implementation"),
        unnamed="the info names no agent; expected",
        twice=STATED,
    ),
    "terminal-bench": suite(
        "terminal-bench",
        score="is_resolved",
        item=("task_id",),
        scored="results.json",
        nameless=removed("run_metadata.json"),
        twice=STATED,
    ),
    "harbor": suite(
        "harbor",
        score="reward",
        item=("task_name",),
        scored="*/result.json",
        nameless=dropped("*/result.json", "agent_info"),
    ),
    "nemo-evaluator": suite(
        "nemo-evaluator",
        score="reward",
        item=("problem_idx",),
        scored="results.jsonl",
        nameless=removed("eval-*.json"),
        twice=STATED,
    ),
    "every-eval-ever": suite(
        "every-eval-ever",
        score="score",
        item=("sample_id",),
        scored="*_samples.jsonl",
        nameless=dropped_last("*_samples.jsonl", "model_id"),
        unnamed="no evaluation_id, model_id and evaluation in this row; expected",
        twice=STATED,
    ),
    "evalplus": suite(
        "evalplus",
        score="base_status",
        item=(),
        choices={"metric": ("plus",)},
        nameless=renamed("*.json", "elsewhere.json"),
        no_number="no base_status; expected|sample 1: status '[^']*'; expected one of",
        outside="sample 1: status '[^']*'; expected one of",
        twice="",
    ),
    "evalscope": suite(
        "evalscope",
        score="acc",
        item=("group_id", "index", "sample_id"),
        scored="*.jsonl",
        nameless=renamed("reviews", "elsewhere"),
    ),
    "verifiers": suite(
        "verifiers",
        score="reward",
        item=("example_id",),
        scored="results.jsonl",
        nameless=removed("metadata.json"),
        twice=STATED,
    ),
    "deepeval": shape(
        "deepeval",
        score="score",
        item=("input",),
        by_name=False,
        nameless=dropped("*.json", "hyperparameters"),
        no_number="missing|the summary in the same file",
        outside="outside|is infinite|the summary in the same file",
        twice="a second score|the summary in the same file",
    ),
    "mlflow": Case(
        make=SHAPES["mlflow"].files,
        # The scores of a table are values of a row, which have no key, and its questions are in a column.
        score="",
        item=(),
        choices={"model_from": "folder"},
        reading=SHAPES["mlflow"].reading,
        nameless=dropped("*.json"),
    ),
    "openai-api": shape(
        "openai-api",
        score="String check",
        item=("item",),
        by_name=False,
        nameless=dropped("*.jsonl", "sampled_model_name"),
    ),
    "openai-api pages": shape(
        "openai-api pages",
        score="score",
        item=("datasource_item",),
        by_name=False,
        nameless=dropped("*.json", "model"),
    ),
    "swe-bench": shape(
        "swe-bench",
        score="resolved",
        item=(),
        scored="results.json",
        nameless=lambda folder: [
            write(folder / "report.json", {"resolved_ids": ["a__b-1"], "unresolved_ids": [], "submitted_ids": []}),
            shutil.rmtree(folder / "verified"),
        ],
        no_number="is no list of instances|not all that were attempted|no list of the instances|missing",
        outside="is no list of instances",
        twice="more than once; an instance has one result",
    ),
    "livebench": shape(
        "livebench",
        score="score",
        item=("question_id",),
        nameless=dropped_last("*.jsonl", "model"),
        unnamed=RECORD.format("model"),
    ),
    "arena-hard": shape(
        "arena-hard",
        score="score",
        item=("question_id",),
        nameless=dropped_last("*.jsonl", "model"),
        unnamed=RECORD.format("model"),
        no_number="missing|the verdict is '[^']*'; expected one of",
        outside="the verdict is '[^']*'; expected one of",
    ),
    "mt-bench": shape(
        "mt-bench",
        score="score",
        item=("question_id",),
        nameless=dropped_last("*.jsonl", "model"),
        unnamed=RECORD.format("model"),
        # -1 says that the judge gave no rating.
        outside="outside|is infinite|missing",
    ),
    "swe-bench reports": shape(
        "swe-bench reports",
        score="resolved",
        item=(),
        scored="report.json",
        nameless=renamed("report.json", "all.json"),
        no_number="sample 1: no result for",
        outside="sample 1: no result for",
        twice="",
    ),
    "bfcl": shape(
        "bfcl",
        score="valid",
        item=("id",),
        scored="*_score.json",
        # The names in the list of all tasks are those of the failures.
        by_name=False,
        # Without the folder of the scores and a failure nothing names the model.
        nameless=lambda folder: write_lines(
            folder / "BFCL_v4_live_simple_score.json", [{"accuracy": 1.0, "correct_count": 8, "total_count": 8}]
        ),
        unnamed="lists the 0 failures of 8 tasks",
        no_number="a second time, or valid; expected each failure",
        outside="a second time, or valid; expected each failure",
        twice="a second time, or valid; expected each failure",
        harmless=(None,),
    ),
    "livecodebench": shape(
        "livecodebench",
        score="graded_list",
        item=("question_id",),
        scored="*_eval_all.json",
        nameless=lambda folder: [
            *removed("*_0.2_eval.json")(folder),
            renamed("*_eval_all.json", "elsewhere.json")(folder),
        ],
        no_number="the grades are .*; expected a list of true and false",
        outside="the grades are .*; expected a list of true and false",
    ),
    "cruxeval": shape(
        "cruxeval",
        score="sample_1",
        item=(),
        nameless=renamed("*.json", "output.json"),
        no_number="the grades are .*; expected a list of true and false",
        outside="the grades are .*; expected a list of true and false",
        twice="",
    ),
    "opencompass": shape(
        "opencompass",
        score="correct",
        item=(),
        scored="results/*/gsm8k.json",
        nameless=renamed("results/*/gsm8k.json", "elsewhere.json"),
        no_number="the grades are .*; expected a list of true and false",
        outside="the grades are .*; expected a list of true and false",
        twice="",
    ),
    "mmlu-pro": shape(
        "mmlu-pro",
        score="pred",
        item=("question_id",),
        scored="model_outputs_*.json",
        nameless=renamed("model_outputs_*.json", "elsewhere.json"),
        no_number="missing|no letter as answer and as pred in this record",
        outside="no letter as answer and as pred in this record",
    ),
    "zero-eval": shape(
        "zero-eval",
        score="matched",
        item=("id", "session_id"),
        nameless=dropped_last("*.json", "generator"),
        unnamed=RECORD.format("generator"),
        no_number="not yet compared|expected true, false or",
        outside="expected true, false or",
    ),
    "alpaca-eval": shape(
        "alpaca-eval",
        score="preference",
        item=("instruction",),
        by_name=False,
        nameless=dropped_last("*.json", "generator_2"),
        unnamed=RECORD.format("generator_2"),
        no_number="missing|preference '[^']*'; expected a number from 1 to 2, or null",
        outside="preference '[^']*'; expected a number from 1 to 2, or null",
    ),
}
OTHER_FORMS = {
    "inspect archive": lambda folder: inspect_log(folder / "a.eval", eval_id="e"),
    "lighteval": copy_of("lighteval"),
    "promptfoo lines": copy_of("promptfoo", "jsonl"),
}
"""Logs in other forms than JSON documents, or of tools that have several."""
