"""Several trials of each task: conversations of tau-bench and tau2-bench, rollouts of verifiers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.json_files import document_beside, parts_under
from bbedge.readers.logs.contract import Glimpse, Log, LogRun, LogSample, Recognition, ToolReader
from bbedge.readers.logs.fields import digest, error_text, kind_of_error, mapping, number, numbers, settings, text
from bbedge.readers.logs.record_log import LogRecord, Numbering, Records
from bbedge.readers.logs.stated import check_count, compared_mean, stated_count, tallied, without_empty
from bbedge.text import quoted, shown_path

_TAU_NAME = re.compile(
    r"(?P<strategy>tool-calling|act|react|few-shot)-(?P<model>.+)-(?P<temperature>\d+(?:\.\d+)?)"
    r"_range_(?P<range>-?\d+--?\d+)_user-(?P<user>.+)-(?P<user_strategy>[a-z]+)_\d{10}\.json(?:\.gz)?"
)
_USUAL_STRATEGY = "tool-calling"
_TAU_KEYS = ("task_id", "reward", "info", "traj")
_DOMAINS = ("airline", "retail")


def _is_tau_bench(glimpse: Glimpse) -> Recognition:
    """By the keys of the first record of an array."""
    if not glimpse.head.lstrip().startswith(b"["):
        return "no"
    # A conversation may be too long for what shows of the file, and then the keys after it are not known.
    cut = any(key in glimpse.first for key in _TAU_KEYS) and all(
        f'"{key}"'.encode() in glimpse.head for key in _TAU_KEYS
    )
    return "samples" if glimpse.has(*_TAU_KEYS) or cut else "no"


def _open_tau_bench(path: str) -> Log:
    """Open results; what describes the run is in the name of the file."""
    records = Records(path=path, expected="a record of tau-bench", under=())
    named = _TAU_NAME.fullmatch(PurePath(path).name)
    said: Mapping[str, str] = named.groupdict() if named else {}
    model = said.get("model")
    run = LogRun(
        model=f"{said['strategy']} | {model}" if model and said["strategy"] != _USUAL_STRATEGY else model,
        task=_domain(path),
        protocol=settings({"user simulator": said.get("user"), "user strategy": said.get("user_strategy")}),
        sampling=settings({"temperature": said.get("temperature")}),
    )
    return Log(runs=(run,), samples=lambda: (_tau_sample(each, run) for each in records.loose()), usual_metric="reward")


TAU_BENCH = ToolReader(name="tau-bench", title="tau-bench", recognises=_is_tau_bench, open=_open_tau_bench)
"""Reads results of tau-bench, a JSON array with one record per task and trial.

The records name neither the model nor the domain. Both are read from the name that tau-bench gives the file; the
domain also from a file name or folder that has it as a word.
"""


def _domain(path: str) -> str:
    """The domain that is a word of the file name, or of the folder's; empty if none or several are."""
    file = PurePath(path)
    for name in (file.name, file.parent.name):
        found = [domain for domain in _DOMAINS if domain in re.split(r"[^a-z]+", name.lower())]
        if len(found) == 1:
            return found[0]
    return ""


def _tau_sample(record: LogRecord, run: LogRun) -> LogSample:
    row = record.row
    name = text(row.get("task_id"))
    if not name or "reward" not in row:
        raise record.lacks("task_id and reward")
    info = mapping(row.get("info"))
    task = mapping(info.get("task"))
    # A task that raised an exception is written with a reward of 0.
    error = error_text(info.get("error"))
    return LogSample(
        run=run,
        item=run.item(name),
        scores={"reward": number(row["reward"])},
        place=record.place,
        repeat=text(row.get("trial")),
        error=error,
        failure=kind_of_error(error),
        fields={"task": {"user_id": task["user_id"]}} if "user_id" in task else {},
        content=digest(task) if task else None,
    )


_NOT_THE_AGENT = frozenset(["infrastructure_error", "unexpected_error", "timeout", "user_error"])
_USUAL_AGENT = "llm_agent"
_OF_TASK = ("user_scenario", "initial_state", "evaluation_criteria")


def _is_tau2_bench(glimpse: Glimpse) -> Recognition:
    """By the description of the agent, or by the keys of a simulation."""
    info = mapping(glimpse.first.get("info"))
    listed = glimpse.has("tasks") or glimpse.has("simulations") or glimpse.has("simulation_index")
    if listed and "agent_info" in info and "environment_info" in info:
        return "samples"
    if glimpse.has("simulations") and not info and b'"termination_reason"' in glimpse.head:
        return "samples"
    is_simulation = glimpse.has("id", "task_id", "termination_reason")
    of_index = Path(glimpse.path).parent.name == "simulations"
    return "beside" if is_simulation and of_index else "no"


def _open_tau2_bench(path: str) -> Log:
    """Open results; they are read for what describes the run, which may come last."""
    head: dict[str, Any] = {}
    contents: dict[str, str] = {}
    # Where simulations are in files of their own, the results have an index of them.
    counts = {"simulations": 0, "simulation_index": 0}
    for key, row in parts_under(path, "tasks", *counts, keep=("info", "timestamp"), head=head):
        if key == "tasks":
            content = digest(without_empty({each: mapping(row).get(each) for each in _OF_TASK}))
            contents[text(mapping(row).get("id")) or ""] = content
        else:
            counts[key] += 1
    under = "simulations" if counts["simulations"] else "simulation_index"
    info = mapping(head.get("info"))
    if not info:
        raise FormatError(f"{shown_path(path)}: no info about the run; expected results of tau2-bench")
    trials = stated_count(info.get("num_trials"))
    if trials is not None and contents:
        check_count(
            counts[under],
            trials * len(contents),
            place=shown_path(path),
            what=f"simulations of {len(contents):,} tasks and {trials:,} trials",
        )
    run = _tau_run(info, text(head.get("timestamp")) or "", path, several=trials != 1)
    simulations = Records(path=path, expected="a simulation of tau2-bench", under=(under,))
    return Log(runs=(run,), samples=lambda: _simulated(simulations, run, contents), usual_metric="reward")


TAU2_BENCH = ToolReader(name="tau2-bench", title="tau2-bench", recognises=_is_tau2_bench, open=_open_tau2_bench)
"""Reads ``results.json`` of tau2-bench: ``info``, ``tasks`` and ``simulations``, or an index of these in files.

tau2 scores every conversation that ended early as 0. What the agent did is kept as such a 0: too many steps, too
many wrong calls, a broken protocol, a full context. What the agent did not do leaves no score: an infrastructure
error, a timeout, a failure of the simulated user.
"""


def _tau_run(info: Mapping[str, Any], when: str, path: str, *, several: bool) -> LogRun:
    agent, user = mapping(info.get("agent_info")), mapping(info.get("user_info"))
    kind = text(agent.get("implementation"))
    model = text(agent.get("llm")) or text(mapping(info.get("audio_native_config")).get("model"))
    if not model and not kind:
        raise FormatError(f"{shown_path(path)}: the info names no agent; expected results of tau2-bench")
    named = kind if not model else model if kind in (None, _USUAL_AGENT) else f"{kind} | {model}"
    domain = text(mapping(info.get("environment_info")).get("domain_name")) or ""
    return LogRun(
        model=named,
        task=domain,
        identity=f"{named} {domain} {when}" if when else "",
        when=when,
        # Trials of one file have seeds of their own, drawn from this one.
        seed=None if several else text(info.get("seed")),
        protocol=settings(
            {
                "tau2 version": info.get("git_commit"),
                "user simulator": user.get("llm"),
                "user implementation": user.get("implementation"),
                "most steps": info.get("max_steps"),
                "most errors": info.get("max_errors"),
                "retrieval": info.get("retrieval_config"),
                "speech complexity": info.get("speech_complexity"),
            }
        ),
        sampling=settings({"model arguments": agent.get("llm_args")}),
        fields={"info": info},
    )


def _simulated(simulations: Records, run: LogRun, contents: Mapping[str, str]) -> Iterator[LogSample]:
    for record in simulations.loose():
        row = record.row
        name = text(row.get("task_id"))
        if not name:
            raise record.lacks("task_id")
        reason = text(row.get("termination_reason"))
        error = f"the simulation ended with {quoted(reason)}" if reason in _NOT_THE_AGENT and reason else None
        reward = mapping(row["reward_info"]).get("reward") if "reward_info" in row else row.get("reward")
        yield LogSample(
            run=run,
            item=run.item(name),
            scores={"reward": number(reward)},
            place=record.place,
            repeat=text(row.get("trial")),
            error=error,
            failure=None if error is None else "infrastructure",
            content=contents.get(name),
        )


_METADATA = "metadata.json"
# The start of a rollout, and a hash of its text.
_RolloutOrder = tuple[float, str]


def _is_verifiers(glimpse: Glimpse) -> Recognition:
    """By the keys of the first rollout, or of the metadata."""
    if glimpse.has("env", "task", "traces") or glimpse.has("task", "nodes", "rewards"):
        # Of later versions: refused by name when it is opened.
        return "samples"
    if glimpse.has("prompt", "completion", "reward"):
        # The first versions call the example id, as other tables do too.
        beside = Path(glimpse.path).parent / _METADATA
        described = glimpse.has("id") and beside.is_file() and _is_metadata(Glimpse.of(str(beside)))
        return "samples" if glimpse.has("example_id") or described else "no"
    return "beside" if _is_metadata(glimpse) else "no"


def _open_verifiers(path: str) -> Log:
    """Open rollouts and the metadata; the rollouts are read once to number those of an example."""
    place = shown_path(path)
    said, beside = document_beside(Path(path).parent / _METADATA)
    run, metrics = _rollout_run(said), _old_metrics(said)
    records = Records(path=path, expected="a rollout of verifiers")
    rollouts = Numbering()
    for record in records:
        rollouts.add(_example(record), _rollout_order(record.row))
    _check_counts(dict(rollouts.groups()), said, place)

    def samples() -> Iterator[LogSample]:
        return _rollout_samples(records, run, rollouts, metrics)

    missing = f"{place} has no {_METADATA} beside it, which would name the model and the environment."
    return Log(
        runs=(run,),
        samples=samples,
        counts="line",
        usual_metric="reward",
        beside=beside,
        notes=(*(() if beside else (missing,)), *_compared_rollouts(samples(), said, place)),
    )


VERIFIERS = ToolReader(name="verifiers", title="verifiers", recognises=_is_verifiers, open=_open_verifiers)
"""Reads results of verifiers 0.1, as prime-rl writes them too: ``results.jsonl`` with ``metadata.json`` beside it.

A row is a rollout. Rollouts have no number: those of one example are repetitions in the order of their start, and where
the log gives no times in the order of a hash of what the model wrote, which no order of rows can change.
"""


def _is_metadata(glimpse: Glimpse) -> bool:
    return glimpse.has("model", "rollouts_per_example") and _environment(glimpse.first) != ""


def _environment(said: Mapping[str, Any]) -> str:
    return text(said.get("env_id")) or text(said.get("env")) or ""


def _old_metrics(said: Mapping[str, Any]) -> tuple[str, ...]:
    """The metrics that older versions write beside the reward, by the means that the metadata state."""
    stated = {key.removeprefix("avg_"): mean for key, mean in said.items() if key.startswith("avg_")}
    return tuple(
        name for name, mean in {**stated, **mapping(said.get("avg_metrics"))}.items() if number(mean) is not None
    )


def _rollout_run(said: Mapping[str, Any]) -> LogRun:
    model, environment, date = text(said.get("model")), _environment(said), text(said.get("date"))
    return LogRun(
        model=model,
        task=environment,
        identity=f"{model} {environment} {date}" if date else "",
        when=date or "",
        protocol=settings(
            {"environment arguments": said.get("env_args"), "number of examples": said.get("num_examples")}
        ),
        sampling=settings({"sampling arguments": said.get("sampling_args")}),
        fields={"metadata": {key: said[key] for key in ("env_id", "env_args") if key in said}},
    )


def _example(record: LogRecord) -> str:
    row = record.row
    if "traces" in row or "nodes" in row:
        raise FormatError(
            f"{record.at}: a trace or an episode of a later version of verifiers, which has several rewards with "
            "weights; write a table with a row for each score, or leave the file out"
        )
    name = text(row.get("example_id", row.get("id")))
    if not name or "reward" not in row:
        raise record.lacks("example_id and reward in this row")
    return name


def _rollout_order(row: Mapping[str, Any]) -> _RolloutOrder:
    start = number(mapping(row.get("timing")).get("start_time"))
    return float(start or 0.0), digest(row.get("completion"))


def _check_counts(rollouts: Mapping[str, int], said: Mapping[str, Any], place: str) -> None:
    """Compare the rollouts with the numbers in the metadata; a rollout too many may be one that is there twice."""
    check_count(len(rollouts), said.get("num_examples"), place=place, what="examples")
    for name, count in rollouts.items():
        check_count(count, said.get("rollouts_per_example"), place=place, what=f"rollouts of example {quoted(name)}")


def _rollout_samples(records: Records, run: LogRun, rollouts: Numbering, metrics: Sequence[str]) -> Iterator[LogSample]:
    # Rollouts with the same text at the same time take the numbers after each other.
    taken: Counter[tuple[str, _RolloutOrder]] = Counter()
    for record in records:
        row, name = record.row, _example(record)
        order = _rollout_order(row)
        found = mapping(row.get("metrics")) or {metric: row[metric] for metric in metrics if metric in row}
        failed = mapping(row.get("error"))
        said = text(failed.get("error_chain_repr")) or text(failed.get("error")) or "error"
        error = error_text(row.get("error"), said)
        yield LogSample(
            run=run,
            item=run.item(name),
            scores={"reward": number(row["reward"]), **numbers(found)},
            place=record.place,
            repeat=str(rollouts.number(name, order) + taken[name, order]),
            error=error,
            failure=kind_of_error(error),
            fields={"info": mapping(row.get("info"))},
            content=digest(row.get("answer") or _asked_by_user(row.get("prompt"))),
            prompt=digest(row.get("prompt")),
        )
        taken[name, order] += 1


def _asked_by_user(prompt: object) -> object:
    """What the user says; the instructions of the system may be what is compared."""
    if not isinstance(prompt, list):
        return prompt
    return [mapping(each).get("content") for each in prompt if mapping(each).get("role") == "user"]


def _compared_rollouts(samples: Iterator[LogSample], said: Mapping[str, Any], place: str) -> tuple[str, ...]:
    """The mean reward that is stated covers rollouts that ended with an error too."""
    if number(said.get("avg_reward")) is None:
        return ()
    tally = tallied(samples, "reward")["reward"]
    return () if tally.failed else compared_mean(tally.mean, said.get("avg_reward"), place=place, what="reward")
