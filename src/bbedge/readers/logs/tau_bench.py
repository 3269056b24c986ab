"""tau-bench: a JSON array with one record per task and trial.

The records name neither the model nor the domain. Both are read from the name that tau-bench gives the file; the domain
also from a file name or folder that has it as a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample
from bbedge.readers.logs.failures import kind_of_error
from bbedge.readers.logs.fields import digest, mapping, number, settings, text
from bbedge.readers.logs.files import JsonStream
from bbedge.readers.opening import opened
from bbedge.text import shown_path

_NAME = re.compile(
    r"(?P<strategy>tool-calling|act|react|few-shot)-(?P<model>.+)-(?P<temperature>\d+(?:\.\d+)?)"
    r"_range_(?P<range>-?\d+--?\d+)_user-(?P<user>.+)-(?P<user_strategy>[a-z]+)_\d{10}\.json(?:\.gz)?"
)
_USUAL_STRATEGY = "tool-calling"
_KEYS = ("task_id", "reward", "info", "traj")
_DOMAINS = ("airline", "retail")


class TauBench:
    """Reads results of tau-bench."""

    name = "tau-bench"
    title = "tau-bench"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the keys of the first record of an array."""
        if not glimpse.head.lstrip().startswith(b"["):
            return "no"
        # A conversation may be too long for what shows of the file, and then the keys after it are not known.
        cut = any(key in glimpse.first for key in _KEYS) and all(f'"{key}"'.encode() in glimpse.head for key in _KEYS)
        return "samples" if glimpse.has(*_KEYS) or cut else "no"

    def open(self, path: str) -> Log:
        """Open results; what describes the run is in the name of the file."""
        run = _run(path)
        return Log(runs=(run,), samples=lambda: _samples(path, run), usual_metric="reward")


def _run(path: str) -> Run:
    named = _NAME.fullmatch(PurePath(path).name)
    said: Mapping[str, str] = named.groupdict() if named else {}
    model = said.get("model")
    if model and said["strategy"] != _USUAL_STRATEGY:
        model = f"{said['strategy']} | {model}"
    return Run(
        model=model,
        task=_domain(path),
        protocol=settings({"user simulator": said.get("user"), "user strategy": said.get("user_strategy")}),
        sampling=settings({"temperature": said.get("temperature")}),
    )


def _domain(path: str) -> str:
    """The domain that is a word of the file name, or of the folder's; empty if none or several are."""
    file = PurePath(path)
    for name in (file.name, file.parent.name):
        found = [domain for domain in _DOMAINS if domain in re.split(r"[^a-z]+", name.lower())]
        if len(found) == 1:
            return found[0]
    return ""


def _samples(path: str, run: Run) -> Iterator[Sample]:
    prefix = f"{run.task}/" if run.task else ""
    with opened(path) as file:
        stream = JsonStream(file, shown_path(path))
        for place, row in enumerate(stream.elements(), start=1):
            name = text(row.get("task_id")) if isinstance(row, dict) else None
            if not name or "reward" not in row:
                raise FormatError(
                    f"{shown_path(path)}: sample {place}: no task_id and reward; expected a record of tau-bench"
                )
            yield _sample(row, f"{prefix}{name}", run, place)
        stream.end()


def _sample(row: Mapping[str, Any], item: str, run: Run, place: int) -> Sample:
    info = mapping(row.get("info"))
    task = mapping(info.get("task"))
    # A task that raised an exception is written with a reward of 0.
    failed = info.get("error")
    error = None if failed is None else text(failed) or "error"
    return Sample(
        run=run,
        item=item,
        scores={"reward": number(row["reward"])},
        place=place,
        repeat=text(row.get("trial")),
        error=error,
        failure=None if error is None else kind_of_error(error),
        fields={"task": {"user_id": task["user_id"]}} if "user_id" in task else {},
        content=digest(task) if task else None,
    )
