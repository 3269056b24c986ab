"""The results of lm-evaluation-harness: which file belongs to which samples, and what it states about them.

Names by version: ``results.json`` with ``ARGUMENTS_TASK.jsonl`` up to 0.4.2; ``results_TIME.json`` with
``samples_TASK_TIME.jsonl`` (for a while ``.json``) since 0.4.3; ``NAME_TIME.json`` where the output path was
``NAME.json``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.limits import LimitError
from bbedge.readers.logs.contract import Glimpse, Run, Stated
from bbedge.readers.logs.fields import mapping, number, text, whole
from bbedge.readers.logs.files import document
from bbedge.text import counted, listed, shown_path

_TIME = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
_SAMPLES = re.compile(rf"samples_(?P<task>.+)_(?P<time>{_TIME})\.jsonl?(?:\.gz)?")
_RESULTS = re.compile(rf"(?:.*_)?(?P<time>{_TIME})\.json")
_ENDING = re.compile(r"\.jsonl?(?:\.gz)?$")
# In the order in which the tool itself looks for a name of the model since 0.4.3.
_NAMING = ("peft", "delta", "pretrained", "model", "path", "engine")
# Metrics whose usual aggregation is the mean, where the configuration of a task names none.
_MEANS = frozenset(["acc", "acc_norm", "exact_match"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The results of one run."""

    task: str
    """The task of the samples that they were looked up for."""
    time: str
    """The time in the names of the files; empty up to version 0.4.2."""
    path: str | None
    """The file; None if there is none."""
    content: Mapping[str, Any]
    """What it says; empty if there is none."""


def is_results(glimpse: Glimpse) -> bool:
    """Whether a file looks like results."""
    if glimpse.has("evalId") or glimpse.has("config_general"):
        return False
    named = glimpse.name.startswith("results_") and glimpse.name.endswith(".json")
    return glimpse.has("results", "configs") or (named and glimpse.has("results"))


def results_of(path: str) -> Results:
    """The results of a file of samples."""
    file = Path(path)
    named = _SAMPLES.fullmatch(file.name)
    if named:
        task, time = named["task"], named["time"]
        usual = file.parent / f"results_{time}.json"
        found = next((each for each in (usual, *_of_time(file.parent, time)) if each.is_file()), None)
        content = document(str(found)) if found is not None else {}
        return Results(task=task, time=time, path=None if found is None else str(found), content=content)
    stem = _ENDING.sub("", file.name)
    for candidate in _untimed(file.parent):
        content = _content(candidate)
        task = _task_of(stem, content)
        if task is not None:
            return Results(task=task, time="", path=str(candidate), content=content)
    return Results(task="", time="", path=None, content={})


def has_samples(path: str) -> bool:
    """Whether a file of results has samples beside it."""
    file = Path(path)
    named = _RESULTS.fullmatch(file.name)
    if named:
        return any(match["time"] == named["time"] for match in _sample_names(file.parent))
    tasks = _tasks_by_stem(_content(file))
    return any(stem in tasks for stem in _stems(file.parent))


def model_of(results: Mapping[str, Any]) -> str | None:
    """The name of the model: what the results call it, or the one in the arguments, as later versions name it."""
    named = text(results.get("model_name"))
    if named:
        return named
    arguments = mapping(results.get("config")).get("model_args")
    if isinstance(arguments, str):
        pairs = (part.partition("=") for part in arguments.split(","))
        arguments = {key.strip(): value.strip() for key, _, value in pairs}
    return next((found for name in _NAMING if (found := text(mapping(arguments).get(name)))), None)


def stated_by(found: Results, run: Run, filters: frozenset[str | None]) -> Iterator[Stated]:
    """The number of samples and the means that the results state for the task."""
    if found.path is None:
        return
    count = whole(mapping(mapping(found.content.get("n-samples")).get(found.task)).get("effective"))
    if count is not None:
        yield Stated(where=found.path, run=run, count=count)
    means = _plain_means(mapping(mapping(found.content.get("configs")).get(found.task)))
    for key, value in mapping(mapping(found.content.get("results")).get(found.task)).items():
        metric, _, chosen = key.partition(",")
        mean = number(value)
        if metric in means and mean is not None:
            # Up to 0.4.2 samples do not say under which filter they were scored.
            named = chosen if chosen in filters else None
            if named is not None or filters == {None}:
                yield Stated(where=found.path, run=run, metric=metric, mean=float(mean), filter=named)


def lost_tasks(found: Results) -> str | None:
    """A note about tasks of the run that have no samples here, made for the first of its files only."""
    if found.path is None:
        return None
    tasks = [task for task in mapping(found.content.get("configs")) if task in mapping(found.content.get("results"))]
    folder = Path(found.path).parent
    if found.time:
        logged = {match["task"] for match in _sample_names(folder) if match["time"] == found.time}
    else:
        by_stem = _tasks_by_stem(found.content)
        logged = {by_stem[stem] for stem in _stems(folder) if stem in by_stem}
    lost = sorted(set(tasks) - logged)
    if not lost or found.task != min(logged, default=found.task):
        return None
    return (
        f"{shown_path(found.path)} has results of {counted(len(tasks), 'task')}, but there are no samples of "
        f"{listed(lost, limit=3)} beside it, so that these are not read."
    )


def _plain_means(config: Mapping[str, Any]) -> set[str]:
    metrics = config.get("metric_list")
    found = set()
    for each in metrics if isinstance(metrics, list) else []:
        name, how = text(mapping(each).get("metric")), mapping(each).get("aggregation")
        if name is not None and (how == "mean" or (how is None and name in _MEANS)):
            found.add(name)
    return found


def _sample_names(folder: Path) -> Iterator[re.Match[str]]:
    return (match for each in _files(folder) if (match := _SAMPLES.fullmatch(each.name)))


def _of_time(folder: Path, time: str) -> list[Path]:
    return sorted(
        each
        for each in _files(folder)
        if (match := _RESULTS.fullmatch(each.name)) and match["time"] == time and not _SAMPLES.fullmatch(each.name)
    )


def _untimed(folder: Path) -> list[Path]:
    """Files that may be results without a time in their name; the usual name first."""
    names = (each for each in _files(folder) if each.suffix == ".json" and not _RESULTS.fullmatch(each.name))
    return sorted(names, key=lambda each: (each.name != "results.json", each.name))


def _content(path: Path) -> dict[str, Any]:
    glimpse = Glimpse.of(str(path))
    if not is_results(glimpse):
        return {}
    try:
        return document(str(path))
    except (FormatError, LimitError):
        # Broken results are refused by name when they are read for their own sake.
        return {}


def _task_of(stem: str, results: Mapping[str, Any]) -> str | None:
    """The task of samples named ARGUMENTS_TASK, if the arguments are those of the results."""
    return _tasks_by_stem(results).get(_plain(stem))


def _tasks_by_stem(results: Mapping[str, Any]) -> dict[str, str]:
    arguments = mapping(results.get("config")).get("model_args")
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


def _stems(folder: Path) -> Iterator[str]:
    """The names of files that may be samples, without their endings, as they are compared."""
    return (_plain(_ENDING.sub("", each.name)) for each in _files(folder) if _ENDING.search(each.name))
