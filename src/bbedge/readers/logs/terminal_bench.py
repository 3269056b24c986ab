"""Terminal-Bench: ``results.json`` of a run, with ``run_metadata.json`` beside it.

An agent with a model is a contestant. A trial that the harness failed in has no score, although Terminal-Bench counts
it as unresolved; a trial in which the agent ran out of time is scored by its tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.incomplete import ErrorKind
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample
from bbedge.readers.logs.fields import mapping, number, settings, text
from bbedge.readers.logs.files import JsonStream, document
from bbedge.readers.logs.stated import Tally, check_count, compared_mean, counted_as_failures, whole
from bbedge.readers.opening import opened
from bbedge.text import quoted, shown_path

_METADATA = "run_metadata.json"
_STATED = ("n_resolved", "n_unresolved", "accuracy")
_ATTEMPT = re.compile(r"\.(?P<index>\d+)-of-(?P<count>\d+)(?=\.|$)")
# What failed beside the agent, whatever the tests said afterwards.
_HARNESS: Mapping[str, ErrorKind] = {
    "unknown_agent_error": "infrastructure",
    "agent_installation_failed": "infrastructure",
    "unknown": "infrastructure",
    "test_timeout": "judge",
    "parse_error": "judge",
}
# What failed where there is no result of the tests.
_WITHOUT_TESTS: Mapping[str, ErrorKind] = {"agent_timeout": "infrastructure"}


class TerminalBench:
    """Reads results of Terminal-Bench."""

    name = "terminal-bench"
    title = "Terminal-Bench"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the keys of a trial, or by those of the description of the run."""
        if glimpse.has("trial_name", "task_id", "is_resolved"):
            # The result of one trial, which the results of the run repeat.
            whole_run = [parent / "results.json" for parent in Path(glimpse.path).parents[1:4]]
            return "beside" if any(path.is_file() for path in whole_run) else "samples"
        if glimpse.has("results") and b'"is_resolved"' in glimpse.head and b'"trial_name"' in glimpse.head:
            return "samples"
        return "beside" if glimpse.has("run_id", "agent_name", "n_attempts") else "no"

    def open(self, path: str) -> Log:
        """Open results; they are read once for what the run states about itself."""
        place = shown_path(path)
        beside = Path(path).parent / _METADATA
        found = beside.is_file()
        run = _run(document(str(beside)) if found else {})
        stated: dict[str, Any] = {}
        tally, attempts = Tally(), _Attempts()
        for sample, attempt in _trials(path, run, stated):
            tally.add(sample, "is_resolved")
            attempts.add(attempt)
        attempts.check(place)
        resolved, unresolved = whole(stated.get("n_resolved")), whole(stated.get("n_unresolved"))
        if resolved is not None and unresolved is not None:
            check_count(tally.samples, resolved + unresolved, place=place, what="trials")
        mean = tally.total / tally.samples if tally.samples else None
        notes = (
            *(() if found else (f"{place} has no {_METADATA} beside it, which would name the agent and the model.",)),
            *compared_mean(mean, stated.get("accuracy"), place=place, what="number of resolved trials"),
            *counted_as_failures(tally, place=place, tool="Terminal-Bench"),
        )
        return Log(
            runs=(run,),
            samples=lambda: (sample for sample, _ in _trials(path, run, {})),
            usual_metric="is_resolved",
            beside=(str(beside),) if found else (),
            notes=notes,
        )


class _Attempts:
    """Which attempts there are, of how many: the name of a trial states both."""

    def __init__(self) -> None:
        self._found: set[int] = set()
        self._count: int | None = None

    def add(self, attempt: tuple[int, int] | None) -> None:
        if attempt is not None:
            self._found.add(attempt[0])
            self._count = max(self._count or 0, attempt[1])

    def check(self, place: str) -> None:
        if self._count is not None:
            check_count(len(self._found), self._count, place=place, what="attempts at the tasks")


def _run(metadata: Mapping[str, Any]) -> Run:
    agent, model = text(metadata.get("agent_name")), text(metadata.get("model_name"))
    return Run(
        model=f"{agent} | {model}" if agent and model else model or agent,
        task=text(metadata.get("dataset_name")) or "",
        identity=text(metadata.get("uuid")) or "",
        when=text(metadata.get("start_time")) or "",
        protocol=settings({"version of the tasks": metadata.get("dataset_version")}),
        sampling=settings({"agent arguments": metadata.get("agent_kwargs")}),
        fields={"run_metadata": metadata} if metadata else {},
    )


def _trials(path: str, run: Run, stated: dict[str, Any]) -> Iterator[tuple[Sample, tuple[int, int] | None]]:
    """The trials, each with its attempt and the number of attempts; what the run states goes into ``stated``."""
    place = 0
    with opened(path) as file:
        stream = JsonStream(file, shown_path(path))
        for key in stream.entries():
            if key in _STATED:
                stated[key] = stream.value()
            elif key == "is_resolved":
                raise FormatError(
                    f"{shown_path(path)}: the result of one trial; Terminal-Bench writes the results.json of the run "
                    "into a folder above when the run ends: resume the run, or name that file"
                )
            elif key == "results" and stream.opens() == "[":
                for place, row in enumerate(stream.elements(), start=1):
                    yield _trial(row, run, f"{shown_path(path)}: sample {place}", place)
        stream.end()
    if not place:
        raise FormatError(f"{shown_path(path)}: no results in the file; expected the results.json of a run")


def _trial(row: object, run: Run, where: str, place: int) -> tuple[Sample, tuple[int, int] | None]:
    said = mapping(row)
    name, trial = text(said.get("task_id")), text(said.get("trial_name"))
    if not name or not trial or "is_resolved" not in said:
        raise FormatError(f"{where}: no task_id, trial_name and is_resolved; expected a trial of Terminal-Bench")
    attempt = _ATTEMPT.match(trial, len(name)) if trial.startswith(name) else _ATTEMPT.search(trial)
    if attempt is None:
        raise FormatError(
            f"{where}: the name of the trial, {quoted(trial)}, does not say which attempt it is; expected a name such "
            "as task.1-of-5.run"
        )
    resolved = number(said["is_resolved"])
    mode = text(said.get("failure_mode"))
    failure = _failure(mode, resolved is None)
    sample = Sample(
        run=run,
        # Without the dataset, which only the metadata name: published results often lack them.
        item=name,
        scores={"is_resolved": resolved},
        place=place,
        repeat=str(int(attempt["index"])),
        error=None if failure is None else f"the trial failed with {quoted(mode or 'unset')}",
        failure=failure,
    )
    return sample, (int(attempt["index"]), int(attempt["count"]))


def _failure(mode: str | None, untested: bool) -> ErrorKind | None:
    if mode in _HARNESS:
        return _HARNESS[mode or ""]
    return _WITHOUT_TESTS.get(mode or "", "unknown") if untested else None
