"""Harbor: the folder of a job, with ``result.json`` and a folder with another ``result.json`` for every trial.

An agent with a model is a contestant. Trials have no number: those of one task are repetitions in the order of their
start. A trial that ended with an exception has no score, unless the exception is a limit that the agent ran into.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.incomplete import ErrorKind
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample, Value
from bbedge.readers.logs.failures import kind_of_error
from bbedge.readers.logs.fields import mapping, number, numbers, settings, text
from bbedge.readers.logs.files import document
from bbedge.readers.logs.stated import Tally, check_count, compared_mean, counted_as_failures
from bbedge.text import shown_path

_RESULT = "result.json"
_OF_TRIAL = ("agent", "verifier")
_BESIDE = frozenset(["config.json", "lock.json"])
# The agent used up its time, its context or its output; the tests were run on what it left.
_LIMITS = frozenset(["AgentTimeoutError", "ContextLengthExceededError", "OutputLengthExceededError"])
_OF_VERIFIER = ("Verifier", "Reward")
_Key = tuple[str, str]


class Harbor:
    """Reads the folders of Harbor jobs."""

    name = "harbor"
    title = "Harbor"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the keys of the job or of a trial."""
        if glimpse.has("n_total_trials", "stats"):
            return "samples"
        folder = Path(glimpse.path).parent
        if glimpse.has("trial_name", "task_name") and (glimpse.has("agent_info") or glimpse.has("verifier_result")):
            return "beside" if (folder.parent / _RESULT).is_file() else "samples"
        described = glimpse.name in _BESIDE and (glimpse.has("agent") or glimpse.has("agents"))
        if described and (folder / _RESULT).is_file():
            return "beside"
        return "beside" if folder.name in _OF_TRIAL and _is_trial(folder.parent) else "no"

    def open(self, path: str) -> Log:
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
        runs: dict[_Key, Run] = {}
        starts: dict[tuple[_Key, str], list[tuple[str, str]]] = {}
        for file in files:
            trial = _trial(file)
            key = _key(trial)
            if key not in runs:
                runs[key] = _run(key, trial, job)
            starts.setdefault((key, _name(trial)), []).append(_start(trial))
        if not runs:
            raise FormatError(f"{place}: a job without trials; let the job run")
        for of_task in starts.values():
            of_task.sort()

        def samples() -> Iterator[Sample]:
            for number_of, file in enumerate(files, start=1):
                trial = _trial(file)
                key = _key(trial)
                repeat = starts[key, _name(trial)].index(_start(trial)) + 1
                yield _sample(trial, runs[key], str(repeat), number_of)

        return Log(
            runs=tuple(runs.values()),
            samples=samples,
            usual_metric="reward",
            beside=tuple(files),
            notes=_notes(samples(), job, place),
        )


def _is_trial(folder: Path) -> bool:
    return (folder / _RESULT).is_file() and (folder.parent / _RESULT).is_file()


def _trial(path: str) -> dict[str, Any]:
    trial = document(path)
    if not _name(trial) or not text(trial.get("trial_name")):
        raise FormatError(f"{shown_path(path)}: no task_name and trial_name; expected the result of a trial of Harbor")
    return trial


def _name(trial: Mapping[str, Any]) -> str:
    return text(trial.get("task_name")) or ""


def _start(trial: Mapping[str, Any]) -> tuple[str, str]:
    return text(trial.get("started_at")) or "", text(trial.get("trial_name")) or ""


def _key(trial: Mapping[str, Any]) -> _Key:
    """The contestant, and the dataset."""
    agent = mapping(trial.get("agent_info"))
    model = mapping(agent.get("model_info"))
    parts = [text(model.get("provider")), text(model.get("name"))]
    named = "/".join(part for part in parts if part)
    name = text(agent.get("name")) or ""
    return f"{name} | {named}" if name and named else name or named, text(trial.get("source")) or ""


def _run(key: _Key, trial: Mapping[str, Any], job: Mapping[str, Any]) -> Run:
    identity = text(job.get("id"))
    return Run(
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


def _sample(trial: Mapping[str, Any], run: Run, repeat: str, place: int) -> Sample:
    name = _name(trial)
    failed = mapping(trial.get("exception_info"))
    kind = text(failed.get("exception_type")) or ("exception" if failed else "")
    scores = _scores(mapping(trial.get("verifier_result")))
    error = None
    if kind and (kind not in _LIMITS or not scores):
        error = f"{kind}: {text(failed.get('exception_message')) or 'no message'}"
    return Sample(
        run=run,
        item=f"{run.task}/{name}" if run.task else name,
        scores=scores,
        place=place,
        repeat=repeat,
        error=error,
        failure=_failure(kind, error),
        content=text(trial.get("task_checksum")),
    )


def _scores(verified: Mapping[str, Any]) -> dict[str, Value]:
    rewards = numbers(mapping(verified.get("rewards")))
    if not rewards and verified.get("reward") is not None:
        return {"reward": number(verified["reward"])}
    return rewards


def _failure(kind: str, error: str | None) -> ErrorKind | None:
    if error is None:
        return None
    return "judge" if kind.startswith(_OF_VERIFIER) else kind_of_error(error)


def _notes(samples: Iterator[Sample], job: Mapping[str, Any], place: str) -> tuple[str, ...]:
    """What the job states as the mean reward, if it has one contestant on one dataset."""
    tally = Tally()
    for sample in samples:
        tally.add(sample, "reward")
    evals = list(mapping(mapping(job.get("stats")).get("evals")).values())
    metrics = mapping(evals[0]).get("metrics") if len(evals) == 1 else None
    stated = mapping(metrics[0]).get("mean") if isinstance(metrics, list) and metrics else None
    mean = tally.total / tally.samples if tally.samples else None
    return (
        *compared_mean(mean, stated, place=place, what="reward"),
        *counted_as_failures(tally, place=place, tool="Harbor"),
    )
