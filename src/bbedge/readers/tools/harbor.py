"""Harbor and Terminal-Bench: trials of agents, each with a folder of its own.

An agent with a model is a contestant. A trial that the harness failed in has no score, although the tools count it as
one that was not resolved; a trial in which the agent ran into a limit is scored by its tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.choices import ErrorKind
from bbedge.readers.json_files import document, document_beside
from bbedge.readers.logs.contract import Glimpse, Log, LogRun, LogSample, Recognition, ToolReader, Value
from bbedge.readers.logs.fields import array, kind_of_error, mapping, number, numbers, settings, text
from bbedge.readers.logs.record_log import LogRecord, Numbering, Records
from bbedge.readers.logs.stated import (
    SampleTally,
    check_count,
    compared_mean,
    counted_as_failures,
    stated_count,
    tallied,
)
from bbedge.text import quoted, shown_path

_RESULT = "result.json"
_OF_TRIAL = ("agent", "verifier")
_BESIDE = frozenset(["config.json", "lock.json"])
# The agent used up its time, its context or its output; the tests were run on what it left.
_LIMITS = frozenset(["AgentTimeoutError", "ContextLengthExceededError", "OutputLengthExceededError"])
_OF_VERIFIER = ("Verifier", "Reward")
_Key = tuple[str, str]


def _contestant(agent: str | None, model: str | None) -> str | None:
    return f"{agent} | {model}" if agent and model else model or agent


def _is_harbor(glimpse: Glimpse) -> Recognition:
    """By the keys of the job or of a trial."""
    if glimpse.has("n_total_trials", "stats"):
        return "samples"
    folder = Path(glimpse.path).parent
    if glimpse.has("trial_name", "task_name") and (glimpse.has("agent_info") or glimpse.has("verifier_result")):
        return "beside" if (folder.parent / _RESULT).is_file() else "samples"
    described = glimpse.name in _BESIDE and (glimpse.has("agent") or glimpse.has("agents"))
    if described and (folder / _RESULT).is_file():
        return "beside"
    in_trial = folder.name in _OF_TRIAL and all((above / _RESULT).is_file() for above in folder.parents[:2])
    return "beside" if in_trial else "no"


def _open_harbor(path: str) -> Log:
    """Open a job and the results of its trials."""
    place = shown_path(path)
    job = document(path)
    if "n_total_trials" not in job:
        raise FormatError(
            f"{place}: the result of one trial; expected the result.json of the job in the folder above: resume "
            "the job, or name that file"
        )
    files = sorted(str(each) for each in Path(path).parent.glob(f"*/{_RESULT}"))
    check_count(len(files), job.get("n_total_trials"), place=place, what="folders of trials with a result.json")
    runs: dict[_Key, LogRun] = {}
    starts = Numbering()
    for trial in map(_trial, files):
        key = _key(trial)
        if key not in runs:
            runs[key] = _run(key, trial, job)
        starts.add((key, trial["task_name"]), _start(trial))
    if not runs:
        raise FormatError(f"{place}: a job without trials; let the job run")

    def samples() -> Iterator[LogSample]:
        for position, trial in enumerate(map(_trial, files), start=1):
            key = _key(trial)
            repeat = starts.number((key, trial["task_name"]), _start(trial))
            yield _sample(trial, runs[key], str(repeat), position)

    tally = tallied(samples(), "reward")["reward"]
    # The mean is that of a contestant on a dataset, and comparable if there is one.
    evals = list(mapping(mapping(job.get("stats")).get("evals")).values())
    metrics = array(mapping(evals[0]).get("metrics")) if len(evals) == 1 else []
    stated = mapping(metrics[0]).get("mean") if metrics else None
    return Log(
        runs=tuple(runs.values()),
        samples=samples,
        usual_metric="reward",
        beside=tuple(files),
        notes=tuple(_notes(tally, stated, place=place, what="reward", tool="Harbor")),
    )


HARBOR = ToolReader(name="harbor", title="Harbor", recognises=_is_harbor, open=_open_harbor)
"""Reads the folder of a Harbor job: ``result.json`` and a folder with another ``result.json`` for every trial.

Trials have no number: those of one task are repetitions in the order of their start.
"""


def _notes(tally: SampleTally, stated: object, *, place: str, what: str, tool: str) -> Iterator[str]:
    yield from compared_mean(tally.mean_with_failures, stated, place=place, what=what)
    yield from counted_as_failures(tally, place=place, tool=tool)


def _trial(path: str) -> dict[str, Any]:
    """A trial, with its names as text."""
    trial = document(path)
    names = {key: text(trial.get(key)) for key in ("task_name", "trial_name")}
    if not all(names.values()):
        raise FormatError(f"{shown_path(path)}: no task_name and trial_name; expected the result of a trial of Harbor")
    return {**trial, **names}


def _start(trial: Mapping[str, Any]) -> tuple[str, str]:
    return text(trial.get("started_at")) or "", trial["trial_name"]


def _key(trial: Mapping[str, Any]) -> _Key:
    """The contestant, and the dataset."""
    agent = mapping(trial.get("agent_info"))
    model = mapping(agent.get("model_info"))
    named = "/".join(filter(None, [text(model.get("provider")), text(model.get("name"))]))
    return _contestant(text(agent.get("name")), named) or "", text(trial.get("source")) or ""


def _run(key: _Key, trial: Mapping[str, Any], job: Mapping[str, Any]) -> LogRun:
    identity = text(job.get("id"))
    return LogRun(
        model=key[0] or None,
        task=key[1],
        identity=f"{identity} {key[0]} {key[1]}" if identity else "",
        when=text(job.get("started_at")) or "",
        sampling=settings(
            {
                "agent version": mapping(trial.get("agent_info")).get("version"),
                "agent arguments": mapping(mapping(trial.get("config")).get("agent")).get("kwargs"),
            }
        ),
    )


def _sample(trial: Mapping[str, Any], run: LogRun, repeat: str, place: int) -> LogSample:
    failed = mapping(trial.get("exception_info"))
    kind = text(failed.get("exception_type")) or ("exception" if failed else "")
    scores = _scores(mapping(trial.get("verifier_result")))
    error = None
    if kind and (kind not in _LIMITS or not scores):
        error = f"{kind}: {text(failed.get('exception_message')) or 'no message'}"
    return LogSample(
        run=run,
        item=run.item(trial["task_name"]),
        scores=scores,
        place=place,
        repeat=repeat,
        error=error,
        failure="judge" if error is not None and kind.startswith(_OF_VERIFIER) else kind_of_error(error),
        content=text(trial.get("task_checksum")),
    )


def _scores(verified: Mapping[str, Any]) -> dict[str, Value]:
    rewards = numbers(mapping(verified.get("rewards")))
    if not rewards and verified.get("reward") is not None:
        return {"reward": number(verified["reward"])}
    return rewards


_METADATA = "run_metadata.json"
_STATED = ("n_resolved", "n_unresolved", "accuracy", "is_resolved")
_ATTEMPT = re.compile(r"\.(?P<index>\d+)-of-(?P<count>\d+)(?=\.|$)")
# What failed beside the agent, whatever the tests said afterwards.
_HARNESS: Mapping[str | None, ErrorKind] = {
    "unknown_agent_error": "infrastructure",
    "agent_installation_failed": "infrastructure",
    "unknown": "infrastructure",
    "test_timeout": "judge",
    "parse_error": "judge",
}
# What failed where there is no result of the tests.
_WITHOUT_TESTS: Mapping[str | None, ErrorKind] = {"agent_timeout": "infrastructure"}


def _is_terminal_bench(glimpse: Glimpse) -> Recognition:
    """By the keys of a trial, or by those of the description of the run."""
    if glimpse.has("trial_name", "task_id", "is_resolved"):
        # The result of one trial, which the results of the run repeat.
        whole_run = [parent / "results.json" for parent in Path(glimpse.path).parents[1:4]]
        return "beside" if any(path.is_file() for path in whole_run) else "samples"
    if glimpse.has("results") and b'"is_resolved"' in glimpse.head and b'"trial_name"' in glimpse.head:
        return "samples"
    return "beside" if glimpse.has("run_id", "agent_name", "n_attempts") else "no"


def _open_terminal_bench(path: str) -> Log:
    """Open results; they are read once for what the run states about itself."""
    place = shown_path(path)
    metadata, beside = document_beside(Path(path).parent / _METADATA)
    run = LogRun(
        model=_contestant(text(metadata.get("agent_name")), text(metadata.get("model_name"))),
        task=text(metadata.get("dataset_name")) or "",
        identity=text(metadata.get("uuid")) or "",
        when=text(metadata.get("start_time")) or "",
        protocol=settings({"version of the tasks": metadata.get("dataset_version")}),
        sampling=settings({"agent arguments": metadata.get("agent_kwargs")}),
        fields={"run_metadata": metadata} if metadata else {},
    )
    records = Records(path=path, expected="a trial of Terminal-Bench", under=("results",), keep=_STATED)
    stated, attempts = records.head, dict[int, int]()
    tally = tallied((_resolved(record, run, attempts) for record in records.loose()), "is_resolved")["is_resolved"]
    if "is_resolved" in stated:
        raise FormatError(
            f"{place}: the result of one trial; Terminal-Bench writes the results.json of the run into a folder above "
            "when the run ends: resume the run, or name that file"
        )
    if not tally.samples:
        raise records.lack("results in the file")
    # The name of a trial states which attempt it is, of how many.
    check_count(len(attempts), max(attempts.values()), place=place, what="attempts at the tasks")
    resolved, unresolved = stated_count(stated.get("n_resolved")), stated_count(stated.get("n_unresolved"))
    if resolved is not None and unresolved is not None:
        check_count(tally.samples, resolved + unresolved, place=place, what="trials")
    missing = f"{place} has no {_METADATA} beside it, which would name the agent and the model."
    what = "number of resolved trials"
    return Log(
        runs=(run,),
        samples=lambda: (_resolved(record, run, {}) for record in records.loose()),
        usual_metric="is_resolved",
        beside=beside,
        notes=(
            *(() if beside else (missing,)),
            *_notes(tally, stated.get("accuracy"), place=place, what=what, tool="Terminal-Bench"),
        ),
    )


TERMINAL_BENCH = ToolReader(
    name="terminal-bench", title="Terminal-Bench", recognises=_is_terminal_bench, open=_open_terminal_bench
)
"""Reads ``results.json`` of a run of Terminal-Bench, with ``run_metadata.json`` beside it."""


def _resolved(record: LogRecord, run: LogRun, attempts: dict[int, int]) -> LogSample:
    said = record.row
    name, trial = text(said.get("task_id")), text(said.get("trial_name"))
    if not name or not trial or "is_resolved" not in said:
        raise record.lacks("task_id, trial_name and is_resolved")
    attempt = _ATTEMPT.match(trial, len(name)) if trial.startswith(name) else _ATTEMPT.search(trial)
    if attempt is None:
        raise FormatError(
            f"{record.at}: the name of the trial, {quoted(trial)}, does not say which attempt it is; expected a name "
            "such as task.1-of-5.run"
        )
    index, count = int(attempt["index"]), int(attempt["count"])
    attempts[index] = max(count, attempts.get(index, 0))
    resolved = number(said["is_resolved"])
    mode = text(said.get("failure_mode"))
    failure = _HARNESS.get(mode, _WITHOUT_TESTS.get(mode, "unknown") if resolved is None else None)
    return LogSample(
        run=run,
        # Without the dataset, which only the metadata name: published results often lack them.
        item=name,
        scores={"is_resolved": resolved},
        place=record.place,
        repeat=str(index),
        error=None if failure is None else f"the trial failed with {quoted(mode or 'unset')}",
        failure=failure,
    )
