"""lighteval: ``details_<task>_<time>.parquet``, with ``results_<time>.json`` in another branch of the output folder.

Samples of one question are reduced to one score before they are written, so one output is one run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample
from bbedge.readers.logs.fields import digest, mapping, numbers, settings, text
from bbedge.readers.logs.files import document
from bbedge.text import shown_path

_DETAILS = re.compile(r"details_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d+)\.parquet")
_ROWS = 4096


class Lighteval:
    """Reads details of lighteval 0.13."""

    name = "lighteval"
    title = "lighteval"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the columns of the details, or by the keys of the results."""
        if {"doc", "metric", "model_response"} <= glimpse.columns:
            return "samples"
        return "beside" if glimpse.has("config_general", "results") else "no"

    def open(self, path: str) -> Log:
        """Open details and look for the results of the same time."""
        named = _DETAILS.fullmatch(Path(path).name)
        time = named["time"] if named else ""
        task = _task(path) or (named["task"] if named else "")
        results = _results(Path(path), time) if named else None
        described = document(str(results)) if results is not None else {}
        run = _run(described, task, time)
        notes: tuple[str, ...] = ()
        if results is None:
            notes = (f"{shown_path(path)}: no results_<time>.json of the same time was found, which names the model.",)
        return Log(
            runs=(run,),
            samples=lambda: _samples(path, run),
            beside=(str(results),) if results is not None else (),
            notes=notes,
        )


def _results(path: Path, time: str) -> Path | None:
    """The results of the same time: details/MODEL/TIME/x.parquet belongs to results/MODEL/results_TIME.json."""
    for folder in (path.parent, *path.parents[:6]):
        if folder.name == "details":
            model = path.parent.relative_to(folder).parent
            found = folder.parent / "results" / model / f"results_{time}.json"
            return found if found.is_file() else None
    beside = path.parent / f"results_{time}.json"
    return beside if beside.is_file() else None


def _task(path: str) -> str | None:
    """The task of the first sample; its name in the file's name may have lost characters."""
    return next((text(doc.get("task_name")) for _, doc, _ in _rows(path)), None)


def _run(results: Mapping[str, Any], task: str, time: str) -> Run:
    general = mapping(results.get("config_general"))
    of_model = mapping(general.get("model_config"))
    generation = mapping(of_model.get("generation_parameters"))
    of_task = mapping(mapping(results.get("config_tasks")).get(task))
    metrics = of_task.get("metrics")
    model = text(general.get("model_name"))
    return Run(
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
        lower_is_better=frozenset(
            str(mapping(metric).get("metric_name"))
            for metric in (metrics if isinstance(metrics, list) else [])
            if mapping(metric).get("higher_is_better") is False
        ),
        fields={"config": of_task},
    )


def _samples(path: str, run: Run) -> Iterator[Sample]:
    prefix = f"{run.task}/" if run.task else ""
    for place, doc, metric in _rows(path):
        name = text(doc.get("id"))
        if name is None:
            raise FormatError(f"{shown_path(path)}: sample {place}: no doc.id; expected details of lighteval")
        yield Sample(
            run=run,
            item=f"{prefix}{name}",
            scores=numbers(metric),
            place=place,
            fields={"doc": doc},
            content=digest(doc.get("query"), doc.get("choices"), doc.get("gold_index")),
            prompt=digest(doc.get("instruction"), doc.get("query"), doc.get("fewshot_samples")),
        )


def _rows(path: str) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    """The position, document and metrics of every row."""
    from bbedge.readers.tables.frames import ParquetFile

    place = 0
    for rows in ParquetFile(path=path).slices(("doc", "metric"), _ROWS):
        for row in rows.iter_rows(named=True):
            place += 1
            yield place, mapping(row["doc"]), mapping(row["metric"])
