"""Several trials of each task: specs of conversations of tau-bench and tau2-bench, and of rollouts of verifiers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.json_files import parts_under
from bbedge.readers.logs import (
    Failed,
    Glimpse,
    LogRecord,
    LogRun,
    LogSample,
    RecordLog,
    Records,
    Row,
    SeenLog,
    ToolReader,
    Value,
    at,
    check_count,
    compared_mean,
    digest,
    failed_with,
    mapping,
    number,
    numbers,
    settings,
    stated_count,
    tallied,
    text,
    without_empty,
)
from bbedge.text import quoted, shown_path

_TAU_NAME = re.compile(
    r"(?P<strategy>tool-calling|act|react|few-shot)-(?P<model>.+)-(?P<temperature>\d+(?:\.\d+)?)"
    r"_range_(?P<range>-?\d+--?\d+)_user-(?P<user>.+)-(?P<user_strategy>[a-z]+)_\d{10}\.json(?:\.gz)?"
)
_TAU_KEYS = ("task_id", "reward", "info", "traj")
_DOMAINS = ("airline", "retail")


def _is_tau_bench(glimpse: Glimpse) -> bool:
    """By the keys of the first record of an array, whose conversation may be too long for what shows of the file."""
    if not glimpse.head.lstrip().startswith(b"["):
        return False
    begun = any(glimpse.has(key) for key in _TAU_KEYS)
    return glimpse.has(*_TAU_KEYS) or (begun and all(f'"{key}"'.encode() in glimpse.head for key in _TAU_KEYS))


def _tau_run(seen: SeenLog) -> LogRun:
    """What the names of the file and of its folder say."""
    file = PurePath(seen.records.path)
    named = _TAU_NAME.fullmatch(file.name)
    said: Mapping[str, str] = named.groupdict() if named else {}
    model = said.get("model")
    words = (re.split(r"[^a-z]+", name.lower()) for name in (file.name, file.parent.name))
    domains = ([each for each in _DOMAINS if each in of_name] for of_name in words)
    return LogRun(
        model=f"{said['strategy']} | {model}" if model and said["strategy"] != "tool-calling" else model,
        task=next((found[0] for found in domains if len(found) == 1), ""),
        protocol=settings({"user simulator": said.get("user"), "user strategy": said.get("user_strategy")}),
        sampling=settings({"temperature": said.get("temperature")}),
    )


def _tau_task(record: LogRecord) -> dict[str, Any]:
    return mapping(at(record.row, "info", "task"))


TAU_BENCH = ToolReader(
    name="tau-bench",
    title="tau-bench",
    has_samples=_is_tau_bench,
    open=RecordLog(
        records=lambda path: Records(path=path, expected="a record of tau-bench", under=(), loose=True),
        runs=_tau_run,
        item=lambda record, run: run.item(record.item("task_id", "reward", what="task_id and reward")),
        scores=lambda record: {"reward": number(record.row["reward"])},
        repeat=lambda record: text(record.row.get("trial")),
        # A task that raised an exception is written with a reward of 0.
        failed=lambda row: failed_with(at(row, "info", "error")),
        fields=lambda record: (
            {"task": {"user_id": _tau_task(record)["user_id"]}} if "user_id" in _tau_task(record) else {}
        ),
        content=lambda record: digest(_tau_task(record)) if _tau_task(record) else None,
        usual_metric="reward",
    ).open,
)
"""Reads results of tau-bench, a JSON array with one record per task and trial.

The records name neither the model nor the domain. Both are read from the name that tau-bench gives the file; the
domain also from a file name or folder that has it as a word.
"""


_NOT_THE_AGENT = frozenset(["infrastructure_error", "unexpected_error", "timeout", "user_error"])
_OF_TASK = ("user_scenario", "initial_state", "evaluation_criteria")


def _is_tau2_bench(glimpse: Glimpse) -> bool:
    """By the description of the agent, or by the keys of a simulation."""
    info = mapping(glimpse.first.get("info"))
    if "agent_info" in info and "environment_info" in info:
        return any(glimpse.has(key) for key in ("tasks", "simulations", "simulation_index"))
    return glimpse.has("simulations") and not info and b'"termination_reason"' in glimpse.head


def _simulations(path: str) -> Records:
    """The simulations; what describes the run may come last, and so may the tasks."""
    head: dict[str, Any] = {}
    contents: dict[str, str] = {}
    # Where simulations are in files of their own, the results have an index of them.
    counts = {"simulations": 0, "simulation_index": 0}
    for key, row in parts_under(path, "tasks", *counts, keep=("info", "timestamp"), head=head):
        if key == "tasks":
            contents[text(at(row, "id")) or ""] = digest(without_empty({each: at(row, each) for each in _OF_TASK}))
        else:
            counts[key] += 1
    under = "simulations" if counts["simulations"] else "simulation_index"
    if not mapping(head.get("info")):
        raise FormatError(f"{shown_path(path)}: no info about the run; expected results of tau2-bench")
    trials = stated_count(at(head, "info", "num_trials"))
    if trials is not None and contents:
        what = f"simulations of {len(contents):,} tasks and {trials:,} trials"
        check_count(counts[under], trials * len(contents), place=shown_path(path), what=what)
    head["contents"] = contents
    return Records(path=path, expected="a simulation of tau2-bench", under=(under,), loose=True, head=head)


def _tau2_run(seen: SeenLog) -> LogRun:
    info, when = seen.records.head["info"], text(seen.records.head.get("timestamp")) or ""
    kind = text(at(info, "agent_info", "implementation"))
    model = text(at(info, "agent_info", "llm")) or text(at(info, "audio_native_config", "model"))
    if not model and not kind:
        raise FormatError(f"{seen.records.place}: the info names no agent; expected results of tau2-bench")
    usual = model if kind in (None, "llm_agent") else f"{kind} | {model}"
    named = usual if model else kind
    domain = text(at(info, "environment_info", "domain_name")) or ""
    return LogRun(
        model=named,
        task=domain,
        identity=f"{named} {domain} {when}" if when else "",
        when=when,
        # Trials of one file have seeds of their own, drawn from this one.
        seed=text(info.get("seed")) if stated_count(info.get("num_trials")) == 1 else None,
        protocol=settings(
            {
                "tau2 version": info.get("git_commit"),
                "user simulator": at(info, "user_info", "llm"),
                "user implementation": at(info, "user_info", "implementation"),
                "most steps": info.get("max_steps"),
                "most errors": info.get("max_errors"),
                "retrieval": info.get("retrieval_config"),
                "speech complexity": info.get("speech_complexity"),
            }
        ),
        sampling=settings({"model arguments": at(info, "agent_info", "llm_args")}),
        fields={"info": info},
    )


def _tau2_failed(row: Row) -> Failed:
    reason = text(row.get("termination_reason"))
    ended = reason in _NOT_THE_AGENT
    return (f"the simulation ended with {quoted(reason or '')}", "infrastructure") if ended else (None, None)


TAU2_BENCH = ToolReader(
    name="tau2-bench",
    title="tau2-bench",
    has_samples=_is_tau2_bench,
    stands_beside=lambda glimpse: (
        glimpse.has("id", "task_id", "termination_reason") and Path(glimpse.path).parent.name == "simulations"
    ),
    open=RecordLog(
        records=_simulations,
        runs=_tau2_run,
        item=lambda record, run: run.item(record.item("task_id", what="task_id")),
        scores=lambda record: {
            "reward": number(
                at(record.row, "reward_info", "reward") if "reward_info" in record.row else record.row.get("reward")
            )
        },
        repeat=lambda record: text(record.row.get("trial")),
        failed=_tau2_failed,
        content=lambda record: record.source.head["contents"].get(text(record.row.get("task_id"))),
        usual_metric="reward",
    ).open,
)
"""Reads ``results.json`` of tau2-bench: ``info``, ``tasks`` and ``simulations``, or an index of these in files.

tau2 scores every conversation that ended early as 0. What the agent did is kept as such a 0: too many steps, too
many wrong calls, a broken protocol, a full context. What the agent did not do leaves no score: an infrastructure
error, a timeout, a failure of the simulated user.
"""


_METADATA = "metadata.json"


def _is_verifiers(glimpse: Glimpse) -> bool:
    """By the keys of the first rollout; what later versions write is refused by name when it is opened."""
    later = glimpse.has("env", "task", "traces") or glimpse.has("task", "nodes", "rewards")
    # The first versions call the example id, as other tables do too.
    beside = Path(glimpse.path).parent / _METADATA
    return later or (
        glimpse.has("prompt", "completion", "reward")
        and (
            glimpse.has("example_id")
            or (glimpse.has("id") and beside.is_file() and _is_metadata(Glimpse.of(str(beside))))
        )
    )


def _is_metadata(glimpse: Glimpse) -> bool:
    return glimpse.has("model", "rollouts_per_example") and _environment(glimpse.first) != ""


def _environment(said: Row) -> str:
    return text(said.get("env_id")) or text(said.get("env")) or ""


def _example(record: LogRecord) -> str:
    if "traces" in record.row or "nodes" in record.row:
        raise FormatError(
            f"{record.at}: a trace or an episode of a later version of verifiers, which has several rewards with "
            "weights; write a table with a row for each score, or leave the file out"
        )
    key = "example_id" if "example_id" in record.row else "id"
    return record.item(key, "reward", what="example_id and reward in this row")


def _rollout_order(record: LogRecord) -> tuple[float, str, int]:
    """The start of a rollout and a hash of its text; those with the same are in the order of the file."""
    start = number(at(record.row, "timing", "start_time"))
    return float(start or 0.0), digest(record.row.get("completion")), record.place


def _rollout_run(seen: SeenLog) -> LogRun:
    said = seen.records.said
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


def _rollout_scores(record: LogRecord) -> dict[str, Value]:
    """The reward and the metrics, which older versions write beside it: the metadata state their means."""
    said, row = record.source.said, record.row
    stated = {key.removeprefix("avg_"): mean for key, mean in said.items() if key.startswith("avg_")}
    means = {**stated, **mapping(said.get("avg_metrics"))}
    found = mapping(row.get("metrics")) or {
        name: row[name] for name, mean in means.items() if number(mean) is not None and name in row
    }
    return {"reward": number(row["reward"]), **numbers(found)}


def _asked_by_user(prompt: object) -> object:
    """What the user says; the instructions of the system may be what is compared."""
    if not isinstance(prompt, list):
        return prompt
    return [at(each, "content") for each in prompt if at(each, "role") == "user"]


def _rollout_notes(seen: SeenLog, samples: Callable[[], Iterator[LogSample]]) -> tuple[str, ...]:
    """Compare with the metadata. A rollout too many may be there twice; the mean covers those that failed, too."""
    said, place, rollouts = seen.records.said, seen.records.place, dict(seen.copies.groups())
    check_count(len(rollouts), said.get("num_examples"), place=place, what="examples")
    for name, count in rollouts.items():
        check_count(count, said.get("rollouts_per_example"), place=place, what=f"rollouts of example {quoted(name)}")
    if number(said.get("avg_reward")) is None:
        return ()
    tally = tallied(samples(), "reward")["reward"]
    return () if tally.failed else compared_mean(tally.mean, said.get("avg_reward"), place=place, what="reward")


VERIFIERS = ToolReader(
    name="verifiers",
    title="verifiers",
    has_samples=_is_verifiers,
    stands_beside=_is_metadata,
    open=RecordLog(
        records=lambda path: Records(path=path, expected="a rollout of verifiers"),
        described_by=lambda path: path.parent / _METADATA,
        undescribed=f"{_METADATA} beside it, which would name the model and the environment",
        group=lambda record: (_example(record), _rollout_order(record)),
        runs=_rollout_run,
        item=lambda record, run: run.item(_example(record)),
        scores=_rollout_scores,
        repeat=lambda record: str(record.copy),
        failed=lambda row: failed_with(
            row.get("error"), text(at(row, "error", "error_chain_repr")) or text(at(row, "error", "error")) or "error"
        ),
        fields=lambda record: {"info": mapping(record.row.get("info"))},
        content=lambda record: digest(record.row.get("answer") or _asked_by_user(record.row.get("prompt"))),
        prompt=lambda row: digest(row.get("prompt")),
        notes=_rollout_notes,
        usual_metric="reward",
    ).open,
)
"""Reads results of verifiers 0.1, as prime-rl writes them too: ``results.jsonl`` with ``metadata.json`` beside it.

A row is a rollout. Rollouts have no number: those of one example are repetitions in the order of their start, and where
the log gives no times in the order of a hash of what the model wrote, which no order of rows can change.
"""
