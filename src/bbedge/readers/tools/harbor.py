"""Harbor and Terminal-Bench: trials of agents, each with a folder of its own.

An agent with a model is a contestant. A trial that the harness failed in has no score, although the tools count it as
one that was not resolved; a trial in which the agent ran into a limit is scored by its tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.choices import ErrorKind
from bbedge.readers.json_files import document
from bbedge.readers.logs import (
    Failed,
    Glimpse,
    Log,
    LogRecord,
    LogRun,
    LogSample,
    Numbering,
    RecordLog,
    Records,
    Row,
    SeenLog,
    ToolReader,
    array,
    at,
    check_count,
    compared_mean,
    counted_as_failures,
    kind_of_error,
    mapping,
    number,
    numbers,
    settings,
    stated_count,
    tallied,
    text,
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


def _is_beside_job(glimpse: Glimpse) -> bool:
    """A trial of the job in the folder above, or what describes a job or a trial, or a file of a trial's agent."""
    folder = Path(glimpse.path).parent
    described = glimpse.name in _BESIDE and (glimpse.has("agent") or glimpse.has("agents"))
    of_agent = folder.name in _OF_TRIAL and all((above / _RESULT).is_file() for above in folder.parents[:2])
    return _is_trial(glimpse) or (described and (folder / _RESULT).is_file()) or of_agent


def _is_trial(glimpse: Glimpse) -> bool:
    return glimpse.has("trial_name", "task_name") and (glimpse.has("agent_info") or glimpse.has("verifier_result"))


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
            yield _sample(trial, runs[key], starts.number((key, trial["task_name"]), _start(trial)), position)

    tally = tallied(samples(), "reward")["reward"]
    # The mean is that of a contestant on a dataset, and comparable if there is one.
    evals = list(mapping(at(job, "stats", "evals")).values())
    metrics = array(at(evals[0], "metrics")) if len(evals) == 1 else []
    stated = at(metrics[0], "mean") if metrics else None
    return Log(
        runs=tuple(runs.values()),
        samples=samples,
        usual_metric="reward",
        beside=tuple(files),
        notes=(
            *compared_mean(tally.mean_with_failures, stated, place=place, what="reward"),
            *counted_as_failures(tally, place=place, tool="Harbor"),
        ),
    )


HARBOR = ToolReader(
    name="harbor",
    title="Harbor",
    # By the keys of the job or of a trial; a trial without its job is refused by name.
    has_samples=lambda glimpse: (
        glimpse.has("n_total_trials", "stats")
        or (_is_trial(glimpse) and not (Path(glimpse.path).parent.parent / _RESULT).is_file())
    ),
    stands_beside=_is_beside_job,
    open=_open_harbor,
)
"""Reads the folder of a Harbor job: ``result.json`` and a folder with another ``result.json`` for every trial.

Trials have no number: those of one task are repetitions in the order of their start.
"""


def _trial(path: str) -> dict[str, Any]:
    """A trial, with its names as text."""
    trial = document(path)
    names = {key: text(trial.get(key)) for key in ("task_name", "trial_name")}
    if not all(names.values()):
        raise FormatError(f"{shown_path(path)}: no task_name and trial_name; expected the result of a trial of Harbor")
    return {**trial, **names}


def _start(trial: Row) -> tuple[str, str]:
    return text(trial.get("started_at")) or "", trial["trial_name"]


def _key(trial: Row) -> _Key:
    """The contestant, and the dataset."""
    model = (text(at(trial, "agent_info", "model_info", key)) for key in ("provider", "name"))
    agent = text(at(trial, "agent_info", "name"))
    return _contestant(agent, "/".join(filter(None, model))) or "", text(trial.get("source")) or ""


def _run(key: _Key, trial: Row, job: Row) -> LogRun:
    return LogRun(
        model=key[0] or None,
        task=key[1],
        identity=f"{text(job['id'])} {key[0]} {key[1]}" if text(job.get("id")) else "",
        when=text(job.get("started_at")) or "",
        sampling=settings(
            {
                "agent version": at(trial, "agent_info", "version"),
                "agent arguments": at(trial, "config", "agent", "kwargs"),
            }
        ),
    )


def _sample(trial: Row, run: LogRun, repeat: int, position: int) -> LogSample:
    failed = mapping(trial.get("exception_info"))
    kind = text(failed.get("exception_type")) or ("exception" if failed else "")
    verified = mapping(trial.get("verifier_result"))
    only = {} if verified.get("reward") is None else {"reward": number(verified["reward"])}
    scores = numbers(mapping(verified.get("rewards"))) or only
    said = f"{kind}: {text(failed.get('exception_message')) or 'no message'}"
    error = said if kind and (kind not in _LIMITS or not scores) else None
    return LogSample(
        run=run,
        item=run.item(trial["task_name"]),
        scores=scores,
        place=position,
        repeat=str(repeat),
        error=error,
        failure="judge" if error is not None and kind.startswith(_OF_VERIFIER) else kind_of_error(error),
        content=text(trial.get("task_checksum")),
    )


_METADATA = "run_metadata.json"
_STATED = ("n_resolved", "n_unresolved", "accuracy", "is_resolved")
_OF_RESULT = ("task_id", "trial_name", "is_resolved")
_NEEDED = "task_id, trial_name and is_resolved"
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


def _is_one_of_run(glimpse: Glimpse) -> bool:
    """Whether a file is the result of one trial, which the results of the run in a folder above repeat."""
    whole_run = [parent / "results.json" for parent in Path(glimpse.path).parents[1:4]]
    return glimpse.has(*_OF_RESULT) and any(path.is_file() for path in whole_run)


def _attempt(record: LogRecord) -> tuple[int, int]:
    """Which attempt at its task a trial is, and of how many, as its name states."""
    name, trial = (record.item(key, "is_resolved", what=_NEEDED) for key in ("task_id", "trial_name"))
    attempt = _ATTEMPT.match(trial, len(name)) if trial.startswith(name) else _ATTEMPT.search(trial)
    if attempt is None:
        raise FormatError(
            f"{record.at}: the name of the trial, {quoted(trial)}, does not say which attempt it is; expected a name "
            "such as task.1-of-5.run"
        )
    return int(attempt["index"]), int(attempt["count"])


def _trial_failed(row: Row) -> Failed:
    mode = text(row.get("failure_mode"))
    failure = _HARNESS.get(mode, _WITHOUT_TESTS.get(mode, "unknown") if number(row["is_resolved"]) is None else None)
    return None if failure is None else f"the trial failed with {quoted(mode or 'unset')}", failure


def _terminal_notes(seen: SeenLog, samples: Callable[[], Iterator[LogSample]]) -> Iterator[str]:
    """Compare with what the run states about itself."""
    stated, place = seen.records.head, seen.records.place
    attempts = dict(sorted(map(_attempt, seen.records)))
    if "is_resolved" in stated:
        raise FormatError(
            f"{place}: the result of one trial; Terminal-Bench writes the results.json of the run into a folder above "
            "when the run ends: resume the run, or name that file"
        )
    if not attempts:
        raise seen.records.lack("results in the file")
    check_count(len(attempts), max(attempts.values()), place=place, what="attempts at the tasks")
    tally = tallied(samples(), "is_resolved")["is_resolved"]
    resolved, unresolved = stated_count(stated.get("n_resolved")), stated_count(stated.get("n_unresolved"))
    if resolved is not None and unresolved is not None:
        check_count(tally.samples, resolved + unresolved, place=place, what="trials")
    mean = stated.get("accuracy")
    yield from compared_mean(tally.mean_with_failures, mean, place=place, what="number of resolved trials")
    yield from counted_as_failures(tally, place=place, tool="Terminal-Bench")


TERMINAL_BENCH = ToolReader(
    name="terminal-bench",
    title="Terminal-Bench",
    has_samples=lambda glimpse: (
        not _is_one_of_run(glimpse)
        and (
            glimpse.has(*_OF_RESULT)
            or (glimpse.has("results") and all(key in glimpse.head for key in (b'"is_resolved"', b'"trial_name"')))
        )
    ),
    stands_beside=lambda glimpse: _is_one_of_run(glimpse) or glimpse.has("run_id", "agent_name", "n_attempts"),
    open=RecordLog(
        records=lambda path: Records(
            path=path, expected="a trial of Terminal-Bench", under=("results",), keep=_STATED, loose=True
        ),
        described_by=lambda path: path.parent / _METADATA,
        undescribed=f"{_METADATA} beside it, which would name the agent and the model",
        runs=lambda seen: LogRun(
            model=_contestant(text(seen.records.said.get("agent_name")), text(seen.records.said.get("model_name"))),
            task=text(seen.records.said.get("dataset_name")) or "",
            identity=text(seen.records.said.get("uuid")) or "",
            when=text(seen.records.said.get("start_time")) or "",
            protocol=settings({"version of the tasks": seen.records.said.get("dataset_version")}),
            sampling=settings({"agent arguments": seen.records.said.get("agent_kwargs")}),
            fields={"run_metadata": seen.records.said} if seen.records.said else {},
        ),
        # Without the dataset, which only the metadata name: published results often lack them.
        item=lambda record, _: record.item(*_OF_RESULT, what=_NEEDED),
        scores=lambda record: {"is_resolved": number(record.row["is_resolved"])},
        repeat=lambda record: str(_attempt(record)[0]),
        failed=_trial_failed,
        notes=_terminal_notes,
        usual_metric="is_resolved",
    ).open,
)
"""Reads ``results.json`` of a run of Terminal-Bench, with ``run_metadata.json`` beside it."""
