"""lm-evaluation-harness: a file of samples for every task, with the results of the run beside it.

One row is one document scored under one filter. ``repeats`` leaves one score per document, so one output is one run.

Names by version: ``results.json`` with ``ARGUMENTS_TASK.jsonl`` up to 0.4.2; ``results_TIME.json`` with
``samples_TASK_TIME.jsonl`` (for a while ``.json``) since 0.4.3; ``NAME_TIME.json`` where the output path was
``NAME.json``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.json_files import document
from bbedge.readers.limits import LimitError
from bbedge.readers.logs import (
    TIME_IN_NAME,
    Glimpse,
    Log,
    LogRun,
    LogSample,
    Records,
    Row,
    StatedAggregate,
    ToolReader,
    array,
    at,
    digest,
    first_value,
    mapping,
    numbered,
    numbers,
    settings,
    stated_means,
    text,
    whole,
)
from bbedge.text import counted, listed, shown_path

_SAMPLES = re.compile(rf"samples_(?P<task>.+)_(?P<time>{TIME_IN_NAME})\.jsonl?(?:\.gz)?")
_RESULTS = re.compile(rf"(?:.*_)?(?P<time>{TIME_IN_NAME})\.json")
_ENDING = re.compile(r"\.jsonl?(?:\.gz)?$")
# In the order in which the tool itself looks for a name of the model since 0.4.3.
_NAMING = ("peft", "delta", "pretrained", "model", "path", "engine")
# Metrics whose usual aggregation is the mean, where the configuration of a task names none.
_MEANS = frozenset(["acc", "acc_norm", "exact_match"])
_OF_DOCUMENT = ("doc_id", "doc", "target", "doc_hash", "prompt_hash", "target_hash")
_OF_ANSWER = ("arguments", "resps", "filtered_resps", "filter", "metrics")
_OF_RUN = ("system_instruction", "chat_template_sha", "lm_eval_version", "git_hash")
_NOT_METRICS = frozenset((*_OF_DOCUMENT, *_OF_ANSWER))


def _open_lm_eval(path: str) -> Log:
    """Open a file of samples and read the results beside it."""
    glimpse = Glimpse.of(path)
    if not _is_samples(glimpse) and _is_results(glimpse):
        # Broken results say so themselves.
        document(path)
        raise FormatError(
            f"{shown_path(path)}: results of lm-evaluation-harness without samples; run lm_eval again with "
            "--log_samples, or leave the file out"
        )
    found = results_of(path)
    run = _run(found)
    filters: set[str | None] = set()
    records = Records(path=path, expected="a sample of lm_eval").or_array()
    lost = (
        f"{records.place} has no results_<time>.json (or results.json) of the same run beside it, which would "
        "name the model, seeds and settings."
        if found.path is None
        else _lost_tasks(found, found.path)
    )
    return Log(
        runs=(run,),
        samples=lambda: _samples(records, run, filters),
        counts=records.counts,
        beside=() if found.path is None else (found.path,),
        notes=(lost,) if lost else (),
        stated=lambda: _stated_by(found, run, frozenset(filters)),
    )


def _is_samples(glimpse: Glimpse) -> bool:
    return glimpse.has("doc_id", "doc") and (glimpse.has("resps") or glimpse.has("filtered_resps"))


def _run(found: ToolResults) -> LogRun:
    results, task = found.content, found.task
    config, of_task = mapping(results.get("config")), mapping(at(results, "configs", task))
    model, date = _model_of(results), text(results.get("date"))
    better = mapping(at(results, "higher_is_better", task))
    seeds = [text(config.get(name)) for name in ("random_seed", "numpy_seed", "torch_seed")]
    return LogRun(
        model=model,
        task=task,
        identity=f"{model} {task} {date}" if date else "",
        when=found.time,
        seed="/".join(seed or "none" for seed in seeds) if any(seeds) else None,
        protocol=settings(
            {
                "lm_eval version": results.get("lm_eval_version"),
                "task version": at(results, "versions", task),
                "number of few-shot examples": at(results, "n-shot", task),
                "few-shot seed": config.get("fewshot_seed"),
                "limit": config.get("limit"),
                "repeats": of_task.get("repeats"),
            }
        ),
        sampling=settings(
            {
                "model arguments": config.get("model_args"),
                "generation arguments": config.get("gen_kwargs"),
                "sampling": at(of_task, "generation_kwargs", "do_sample"),
                "temperature": at(of_task, "generation_kwargs", "temperature"),
                "system instruction": results.get("system_instruction_sha"),
                "chat template": results.get("chat_template_sha"),
            }
        ),
        lower_is_better=frozenset(metric for metric, higher in better.items() if higher is False),
        higher_is_better=frozenset(metric for metric, higher in better.items() if higher is True),
        fields={"config": of_task, "run": {**config, **{name: results.get(name) for name in _OF_RUN}}},
    )


def _samples(records: Records, run: LogRun, filters: set[str | None]) -> Iterator[LogSample]:
    seen: Counter[tuple[str | None, str]] = Counter()
    for record in records:
        row = record.row
        if "doc_id" not in row or "doc" not in row:
            raise record.lacks("doc_id and doc in this row")
        hashed, chosen = text(row.get("doc_hash")), text(row.get("filter"))
        content = hashed or digest(row["doc"])
        filters.add(chosen)
        # Two documents with the same content are two items.
        seen[chosen, content] += 1
        names = row.get("metrics")
        metrics = names if isinstance(names, list) else [name for name in row if name not in _NOT_METRICS]
        yield LogSample(
            run=run,
            item=run.item(numbered(content[:16], seen[chosen, content])),
            scores=numbers({str(name): row[name] for name in metrics if isinstance(name, str) and name in row}),
            place=record.place,
            filter=chosen,
            failure=None if _answered(row.get("resps")) else "unknown",
            fields={"doc": row["doc"]},
            # Hashes of the tool and of this reader are not compared with each other.
            label=run.item(f"{'' if hashed else 'document '}{text(row['doc_id'])}"),
            content=content,
            prompt=text(row.get("prompt_hash")),
            question=text(first_value(mapping(row["doc"]), *_QUESTIONS)),
            answer=_first_text(row.get("resps")),
        )


_QUESTIONS = ("question", "query", "problem", "prompt", "input", "text", "goal", "sentence")
"""What documents call the text of the question, the usual name first."""


def _first_text(responses: object) -> str | None:
    """The first answer that is a text; of choices there are only numbers."""
    if isinstance(responses, list):
        return next((found for each in responses if (found := _first_text(each)) is not None), None)
    return responses if isinstance(responses, str) else None


def _answered(responses: object) -> bool:
    """Whether there is a response that could be scored; without any, why is not in the log."""
    return any(map(_answered, responses)) if isinstance(responses, list) else responses is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResults:
    """The results of one run."""

    task: str
    """The task of the samples that they were looked up for."""
    time: str
    """The time in the names of the files; empty up to version 0.4.2."""
    path: str | None
    """The file; None if there is none."""
    content: Row
    """What it says; empty if there is none."""


def _is_results(glimpse: Glimpse) -> bool:
    """Whether a file looks like results."""
    if glimpse.has("evalId") or glimpse.has("config_general"):
        return False
    named = glimpse.name.startswith("results_") and glimpse.name.endswith(".json")
    return glimpse.has("results", "configs") or (named and glimpse.has("results"))


def results_of(path: str) -> ToolResults:
    """The results of a file of samples."""
    file = Path(path)
    named = _SAMPLES.fullmatch(file.name)
    if named:
        task, time = named["task"], named["time"]
        usual = file.parent / f"results_{time}.json"
        timed = (each for each in sorted(_files(file.parent)) if not _SAMPLES.fullmatch(each.name))
        of_time = (each for each in timed if (match := _RESULTS.fullmatch(each.name)) and match["time"] == time)
        found = next((each for each in (usual, *of_time) if each.is_file()), None)
        content = document(str(found)) if found is not None else {}
        return ToolResults(task=task, time=time, path=None if found is None else str(found), content=content)
    stem = _ENDING.sub("", file.name)
    for candidate in _untimed(file.parent):
        content = _content(candidate)
        task = _tasks_by_stem(content).get(_plain(stem))
        if task is not None:
            return ToolResults(task=task, time="", path=str(candidate), content=content)
    return ToolResults(task="", time="", path=None, content={})


def _has_samples(path: str) -> bool:
    """Whether a file of results has samples beside it."""
    file = Path(path)
    named = _RESULTS.fullmatch(file.name)
    return bool(_logged_tasks(file.parent, named["time"] if named else "", {} if named else _content(file)))


def _logged_tasks(folder: Path, time: str, results: Row) -> set[str]:
    """The tasks of a run that have samples in a folder."""
    if time:
        named = (_SAMPLES.fullmatch(each.name) for each in _files(folder))
        return {match["task"] for match in named if match and match["time"] == time}
    stems = {_plain(_ENDING.sub("", each.name)) for each in _files(folder) if _ENDING.search(each.name)}
    return {task for stem, task in _tasks_by_stem(results).items() if stem in stems}


def _model_of(results: Row) -> str | None:
    """The name of the model: what the results call it, or the one in the arguments, as later versions name it."""
    arguments = at(results, "config", "model_args")
    if isinstance(arguments, str):
        pairs = (part.partition("=") for part in arguments.split(","))
        arguments = {key.strip(): value.strip() for key, _, value in pairs}
    names = (results.get("model_name"), *(at(arguments, name) for name in _NAMING))
    return next(filter(None, map(text, names)), None)


def _stated_by(found: ToolResults, run: LogRun, filters: frozenset[str | None]) -> Iterator[StatedAggregate]:
    """The number of samples and the means that the results state for the task."""
    if found.path is None:
        return
    count = whole(at(found.content, "n-samples", found.task, "effective"))
    if count is not None:
        yield StatedAggregate(where=found.path, run=run, count=count, published=True)
    means = {
        name
        for each in map(mapping, array(at(found.content, "configs", found.task, "metric_list")))
        if (name := text(each.get("metric"))) is not None
        and (each.get("aggregation") == "mean" or (each.get("aggregation") is None and name in _MEANS))
    }
    for key, value in mapping(at(found.content, "results", found.task)).items():
        metric, _, chosen = key.partition(",")
        # Up to 0.4.2 samples do not say under which filter they were scored.
        named = chosen if chosen in filters else None
        if metric in means and (named is not None or filters == {None}):
            yield from stated_means([(metric, value)], where=found.path, run=run, under=named)


def _lost_tasks(found: ToolResults, path: str) -> str | None:
    """A note about tasks of the run that have no samples here, made for the first of its files only."""
    tasks = [task for task in mapping(found.content.get("configs")) if task in mapping(found.content.get("results"))]
    logged = _logged_tasks(Path(path).parent, found.time, found.content)
    lost = sorted(set(tasks) - logged)
    if not lost or found.task != min(logged, default=found.task):
        return None
    return (
        f"{shown_path(path)} has results of {counted(len(tasks), 'task')}, but there are no samples of "
        f"{listed(lost, limit=3)} beside it, so that these are not read."
    )


def _untimed(folder: Path) -> list[Path]:
    """Files that may be results without a time in their name; the usual name first."""
    names = (each for each in _files(folder) if each.suffix == ".json" and not _RESULTS.fullmatch(each.name))
    return sorted(names, key=lambda each: (each.name != "results.json", each.name))


def _content(path: Path) -> dict[str, Any]:
    glimpse = Glimpse.of(str(path))
    try:
        return document(str(path)) if _is_results(glimpse) else {}
    except (FormatError, LimitError):
        # Broken results are refused by name when they are read for their own sake.
        return {}


def _tasks_by_stem(results: Row) -> dict[str, str]:
    arguments = at(results, "config", "model_args")
    if not isinstance(arguments, str):
        return {}
    return {_plain(f"{arguments}_{task}"): str(task) for task in mapping(results.get("configs"))}


def _plain(name: str) -> str:
    """A name without what the tool replaces in names of files, which differs between its versions."""
    return re.sub(r"[^0-9A-Za-z]+", "_", name)


def _files(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        # A folder that cannot be listed is reported by whoever searches it.
        return []


LM_EVAL = ToolReader(
    name="lm-eval",
    title="lm-evaluation-harness",
    # Results without samples are refused when they are opened, so that no model is lost.
    has_samples=lambda glimpse: _is_samples(glimpse) or (_is_results(glimpse) and not _has_samples(glimpse.path)),
    stands_beside=_is_results,
    open=_open_lm_eval,
)
"""Reads samples of lm-evaluation-harness since 0.4.0."""
