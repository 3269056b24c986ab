"""A survey of score files as text and rows, and the next command to run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bbedge.text import counted, shown

if TYPE_CHECKING:
    from bbedge.readers.survey import MetricFacts, Survey

_MOST_FILES, _MOST_METRICS = 20, 40
_WIDTH = 72


def found_words(found: Survey) -> str:
    """How many files of which kinds."""
    kinds: dict[str, int] = {}
    for file in found.files:
        kinds[file.kind] = kinds.get(file.kind, 0) + 1
    words = ", ".join(counted(count, kind) if "table" in kind else f"{count} {kind}" for kind, count in kinds.items())
    root = _root([file.path for file in found.files])
    place = f" in {shown(root, None)}" if len(found.files) > 1 and root else ""
    beside = f", and {found.beside} accompanying" if found.beside else ""
    return f"{len(found.files):,} file{'' if len(found.files) == 1 else 's'}: {words}{beside}{place}"


def file_rows(found: Survey) -> list[tuple[str, ...]]:
    """A row per file: path, kind, model, task, samples, errors."""
    root = _root([file.path for file in found.files])
    rows: list[tuple[str, ...]] = []
    for file in found.files[:_MOST_FILES]:
        samples = "" if file.samples is None else f"{file.samples:,}"
        if file.repeats > 1:
            samples += f" ({file.repeats} each)"
        models = ", ".join(shown(model, 30) for model in file.models[:2])
        more = f" and {len(file.models) - 2} more" if len(file.models) > 2 else ""
        rows.append(
            (
                shown(file.path[len(root) :], _WIDTH),
                file.kind,
                models + more or ("see its rows" if file.samples is None else "no name"),
                ", ".join(shown(task, 24) for task in file.tasks),
                samples,
                f"{file.errors:,}" if file.errors else "",
            )
        )
    if len(found.files) > _MOST_FILES:
        rows.append((f"and {len(found.files) - _MOST_FILES:,} more", "", "", "", "", ""))
    return rows


def metric_rows(found: Survey) -> list[tuple[str, ...]]:
    """A row per metric: those on the scale from 0 to 1 first."""
    rows: list[tuple[str, ...]] = []
    for metric in _ranked(found)[:_MOST_METRICS]:
        scale = f"{metric.low:g} to {metric.high:g}" if metric.samples else "no number"
        remark = "lower is better" if metric.lower_is_better else ""
        rows.append((shown(metric.name), _tasks(metric.tasks), f"{metric.samples:,}", scale, remark))
    return rows


def filter_rows(found: Survey) -> list[tuple[str, ...]]:
    """A row per filter and task."""
    return [
        (shown(name), shown(task), f"{samples:,}")
        for task, of_task in found.filters.items()
        for name, samples in of_task.items()
    ]


def suspicions(found: Survey) -> list[str]:
    """Everything that the user should check."""
    notes = []
    if found.errors:
        have = "has" if found.errors == 1 else "have"
        notes.append(f"{counted(found.errors, 'sample')} ended with an error and {have} no score: {found.first_error}")
    if found.cached:
        notes.append(f"{counted(found.cached, 'answer')} came from a cache; a repeated answer is not a replicate.")
    constant = [name for name, values in found.fields.items() if values == 1 and name.endswith("_id")]
    if constant:
        notes.append(f"The field {shown(constant[0])} is the same in every sample.")
    if found.scores is not None:
        notes += [note.text for note in found.scores.notes]
    return notes


def suggestion(found: Survey, sources: Sequence[str], given: Sequence[str]) -> str:
    """The next command: certify if the scores can be read, else inspect-scores with the missing choices."""
    options = list(given)
    command = "inspect-scores"
    if found.scores is not None:
        command = "certify" if len(found.scores.models) > 1 else "diagnose"
    elif found.remedy is not None:
        command = "certify"
        options += ["--incomplete", found.remedy]
    elif found.to_choose:
        if "--metric" not in options:
            options += [part for name in _metrics(found) for part in ("--metric", name)]
        if "--filter" not in options:
            options += [part for name in _filters(found) for part in ("--filter", name)]
    return " ".join(["bbedge", command, *map(shlex.quote, sources), *map(shlex.quote, options)])


def _metrics(found: Survey) -> list[str]:
    """The fewest metrics that give every task exactly one, as far as that can be done."""
    if len(found.metrics) < 2:
        return []
    chosen: list[MetricFacts] = []
    open_tasks = {task for metric in found.metrics for task in metric.tasks}
    for metric in sorted(_ranked(found), key=lambda each: -len(each.tasks)):
        if metric.on_unit_scale and not metric.lower_is_better and open_tasks.issuperset(metric.tasks):
            chosen.append(metric)
            open_tasks.difference_update(metric.tasks)
    return [metric.name for metric in chosen]


def _filters(found: Survey) -> list[str]:
    if all(len(of_task) < 2 for of_task in found.filters.values()):
        return []
    return list(dict.fromkeys(next(iter(of_task)) for of_task in found.filters.values()))


def _ranked(found: Survey) -> list[MetricFacts]:
    # Names such as num_prompt_tokens are on the unit scale only by accident.
    def key(metric: MetricFacts) -> tuple[bool, bool, bool]:
        varied = metric.low < metric.high
        return metric.lower_is_better, not metric.on_unit_scale, not varied

    return sorted(found.metrics, key=key)


def _tasks(tasks: Sequence[str]) -> str:
    named = [shown(task, 24) for task in tasks if task]
    return ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")


def _root(paths: Sequence[str]) -> str:
    """The folder that all paths have in common."""
    folders = [path[: path.rfind(os.sep) + 1] for path in paths]
    shortest = min(folders, key=len)
    while not all(folder.startswith(shortest) for folder in folders):
        shortest = shortest[: shortest.rfind(os.sep, 0, -1) + 1]
    return shortest
