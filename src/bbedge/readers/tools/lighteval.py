"""lighteval: ``details_<task>_<time>.parquet``, with ``results_<time>.json`` in another branch of the output folder.

Samples of one question are reduced to one score before they are written, so one output is one run. Up to 0.10 the
columns are others, documents have no names, and a document has a row for every kind of metric.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.json_files import document_beside
from bbedge.readers.logs import (
    TIME_IN_NAME,
    Glimpse,
    Log,
    LogRun,
    LogSample,
    Row,
    StatedAggregate,
    ToolReader,
    Value,
    answer_text,
    array,
    at,
    digest,
    mapping,
    numbered,
    numbers,
    question_digest,
    settings,
    several,
    stated_means,
    text,
    whole,
)
from bbedge.text import shown_path

_DETAILS = re.compile(rf"details_(?P<task>.+)_(?P<time>{TIME_IN_NAME})\.parquet")
_RESULTS = re.compile(rf"results_(?P<time>{TIME_IN_NAME})\.(?:json|parquet)")
_OF_RESULTS = ("config_general", "results")
_COLUMNS = frozenset(["doc", "metric", "model_response"])
_OLD_COLUMNS = frozenset(["metrics", "predictions"])
_OLD_QUESTION = ("example", "full_prompt")
_ROWS = 4096


def _open_lighteval(path: str) -> Log:
    """Open details and look for the results of the same time."""
    glimpse = Glimpse.of(path)
    if glimpse.has(*_OF_RESULTS):
        raise FormatError(
            f"{shown_path(path)}: results of lighteval without details of the same time; run lighteval again with "
            "--save-details, or leave the file out"
        )
    old = _is_old(glimpse.columns)
    named = _DETAILS.fullmatch(Path(path).name)
    time = named["time"] if named else ""
    # The name of the task in that of the file may have lost characters.
    first = next((mapping(row["doc"]) for _, row in _table_rows(path, ("doc", "metric"))), {}) if not old else {}
    task = text(first.get("task_name")) or (named["task"] if named else "")
    described, beside = document_beside(_results(Path(path), time) if named else None)
    run = _run(described, task, time)
    missing = f"{shown_path(path)}: no results_<time>.json of the same time was found, which names the model."
    return Log(
        runs=(run,),
        samples=lambda: _old_samples(path, run) if old else _samples(path, run),
        beside=beside,
        notes=() if beside else (missing,),
        stated=lambda: _stated(described, run, "".join(beside)),
    )


LIGHTEVAL = ToolReader(
    name="lighteval",
    title="lighteval",
    # Results without details are refused when they are opened, so that no model is lost.
    has_samples=lambda glimpse: (
        glimpse.columns >= _COLUMNS
        or _is_old(glimpse.columns)
        or (glimpse.has(*_OF_RESULTS) and not _has_details(Path(glimpse.path)))
    ),
    stands_beside=lambda glimpse: glimpse.columns.issuperset(_OF_RESULTS) or glimpse.has(*_OF_RESULTS),
    open=_open_lighteval,
)
"""Reads details of lighteval since 0.6."""


def _is_old(columns: frozenset[str]) -> bool:
    return columns >= _OLD_COLUMNS and not columns.isdisjoint(_OLD_QUESTION)


def _results(path: Path, time: str) -> Path | None:
    """The results of the same time: details/MODEL/TIME/x.parquet belongs to results/MODEL/results_TIME.json.

    A template can put results anywhere below the output folder. On the Hugging Face Hub they are one folder above.
    """
    name = f"results_{time}.json"
    for folder in (path.parent, *path.parents[:6]):
        if folder.name == "details":
            found = folder.parent / "results" / path.parent.relative_to(folder).parent / name
            return found if found.is_file() else next(iter(sorted(folder.parent.rglob(name))), None)
    return next((found for found in (path.parent / name, path.parent.parent / name) if found.is_file()), None)


def _has_details(path: Path) -> bool:
    """Whether there are details of the time of the results."""
    named = _RESULTS.fullmatch(path.name)
    if named is None:
        return True
    wanted = f"details_*_{named['time']}.parquet"
    if any(path.parent.glob(wanted)) or any((path.parent / named["time"]).glob(wanted)):
        return True
    for folder in path.parents[:6]:
        if folder.name == "results" and (folder.parent / "details").is_dir():
            return any((folder.parent / "details" / path.parent.relative_to(folder) / named["time"]).glob(wanted))
    return any(any((parent / "details").glob(f"**/{wanted}")) for parent in path.parents[:6])


def _run(results: Row, task: str, time: str) -> LogRun:
    general, of_task = mapping(results.get("config_general")), _config(results, task)
    of_model = mapping(general.get("model_config"))
    generation = mapping(of_model.get("generation_parameters")) or mapping(general.get("generation_parameters"))
    model = text(general.get("model_name"))
    return LogRun(
        model=model,
        task=task,
        identity=f"{model} {task} {time}" if model and time else "",
        when=time,
        seed=text(generation.get("seed")),
        protocol=settings(
            {
                "number of few-shot examples": of_task.get("num_fewshots"),
                "task version": of_task.get("version"),
                "few-shot seeds": general.get("num_fewshot_seeds"),
                "most samples": general.get("max_samples"),
            }
        ),
        sampling=settings(
            {
                "temperature": generation.get("temperature"),
                "top_p": generation.get("top_p"),
                "system prompt": of_model.get("system_prompt"),
            }
        ),
        lower_is_better=frozenset(name for name, higher, _ in _metrics(of_task) if not higher),
        fields={"config": of_task, "general": general},
    )


def _config(results: Row, task: str) -> dict[str, Any]:
    """The configuration of a task, which up to 0.10 is found without the number of examples in its name."""
    names = (task, task.rpartition("|")[0])
    return next(filter(None, (mapping(at(results, "config_tasks", name)) for name in names)), {})


def _metrics(config: Row) -> Iterator[tuple[str, bool, str]]:
    """The name of every metric, whether more is better, and what makes one number of its scores.

    A group of metrics has a list of names, and a dictionary of everything else.
    """
    for each in map(mapping, array(config.get("metrics", config.get("metric")))):
        higher, level = each.get("higher_is_better"), each.get("corpus_level_fn")
        for name in dict.fromkeys(map(str, [*several(each.get("metric_name")), *mapping(higher), *mapping(level)])):
            better = higher.get(name) if isinstance(higher, dict) else higher
            yield name, better is not False, str(level.get(name) if isinstance(level, dict) else level)


def _stated(results: Row, run: LogRun, path: str) -> Iterator[StatedAggregate]:
    """The number of documents and the plain means that the results state."""
    config = _config(results, run.task)
    count = whole(config.get("effective_num_docs"))
    # Every document is asked once for each seed of the examples; -1 stands for a number that was not kept.
    if count and (whole(at(results, "config_general", "num_fewshot_seeds")) or 1) <= 1:
        yield StatedAggregate(where=path, run=run, count=count)
    means = ((name, at(results, "results", run.task, name)) for name, _, how in _metrics(config) if how == "mean")
    yield from stated_means(means, where=path, run=run)


def _old_samples(path: str, run: LogRun) -> Iterator[LogSample]:
    """The samples of details up to 0.10. A document has a row for every kind of metric, each with its own metrics."""
    found: dict[str, list[LogSample]] = {}
    known = Glimpse.of(path).columns
    columns = [name for name in ("example", "choices", "gold", "full_prompt", "metrics") if name in known]
    for place, row in _table_rows(path, columns):
        question = next(filter(None, (text(row.get(name)) for name in _OLD_QUESTION)), "")
        words = [text(each) for each in array(row.get("choices"))]
        item = question_digest(question, *words)
        copies = found.setdefault(item, [])
        scores = numbers(mapping(row["metrics"]))
        position = next((n for n, copy in enumerate(copies) if _are_apart(copy.scores, scores)), len(copies))
        if position < len(copies):
            before = copies[position].scores
            more = {name: value for name, value in scores.items() if before.get(name) is None}
            copies[position] = replace(copies[position], scores={**before, **more})
            continue
        copies.append(
            LogSample(
                run=run,
                # Two documents with the same content are two items.
                item=run.item(numbered(item, position + 1)),
                scores=scores,
                place=place,
                content=question_digest(question, *words, answer_text(row.get("gold"))),
                prompt=digest(row.get("full_prompt")),
            )
        )
    yield from itertools.chain.from_iterable(found.values())


def _are_apart(one: Mapping[str, Value], other: Mapping[str, Value]) -> bool:
    return not any(one.get(name) is not None and value is not None for name, value in other.items())


def _samples(path: str, run: LogRun) -> Iterator[LogSample]:
    for place, row in _table_rows(path, ("doc", "metric")):
        doc = mapping(row["doc"])
        name = text(doc.get("id"))
        if name is None:
            raise FormatError(f"{shown_path(path)}: sample {place}: no doc.id; expected details of lighteval")
        yield LogSample(
            run=run,
            item=run.item(name),
            scores=numbers(mapping(row["metric"])),
            place=place,
            fields={"doc": doc},
            content=_content(doc),
            prompt=digest(doc.get("instruction"), doc.get("query"), doc.get("fewshot_samples")),
        )


def _content(doc: Row) -> str:
    words = [text(each) for each in array(doc.get("choices"))]
    right = [words[gold] for gold in several(doc.get("gold_index")) if isinstance(gold, int) and gold < len(words)]
    return question_digest(text(doc.get("query")), *words, answer_text(right))


def _table_rows(path: str, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every row with its position from 1."""
    from bbedge.readers.tables.frames import ParquetFile

    slices = ParquetFile(path=path).slices(columns, _ROWS)
    yield from enumerate((row for rows in slices for row in rows.iter_rows(named=True)), start=1)
