"""tau2-bench: ``results.json`` with ``info``, ``tasks`` and ``simulations``, or with an index of simulations in files.

tau2 scores every conversation that ended early as 0. What the agent did is kept as such a 0: too many steps, too many
wrong calls, a broken protocol, a full context. What the agent did not do leaves no score: an infrastructure error, a
timeout, a failure of the simulated user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample
from bbedge.readers.logs.fields import digest, mapping, number, settings, text
from bbedge.readers.logs.files import JsonStream
from bbedge.readers.logs.stated import check_count, whole, without_empty
from bbedge.readers.opening import opened
from bbedge.text import quoted, shown_path

_NOT_THE_AGENT = frozenset(["infrastructure_error", "unexpected_error", "timeout", "user_error"])
_USUAL_AGENT = "llm_agent"
_OF_TASK = ("user_scenario", "initial_state", "evaluation_criteria")


class Tau2Bench:
    """Reads results of tau2-bench."""

    name = "tau2-bench"
    title = "tau2-bench"

    def recognises(self, glimpse: Glimpse) -> Recognition:
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

    def open(self, path: str) -> Log:
        """Open results; they are read once for what describes the run, which may come last."""
        head, contents, found = _head(path)
        info = mapping(head.get("info"))
        if not info:
            raise FormatError(f"{shown_path(path)}: no info about the run; expected results of tau2-bench")
        trials = whole(info.get("num_trials"))
        if trials is not None and contents:
            check_count(
                found,
                trials * len(contents),
                place=shown_path(path),
                what=f"simulations of {len(contents):,} tasks and {trials:,} trials",
            )
        run = _run(info, head, path, several=trials != 1)
        return Log(runs=(run,), samples=lambda: _samples(path, run, contents), usual_metric="reward")


def _head(path: str) -> tuple[dict[str, Any], dict[str, str], int]:
    """What describes the run; a hash of every task; the number of simulations."""
    head: dict[str, Any] = {}
    contents: dict[str, str] = {}
    counts = {"simulations": 0, "simulation_index": 0}
    with opened(path) as file:
        stream = JsonStream(file, shown_path(path))
        for key in stream.entries():
            if key in ("info", "timestamp"):
                head[key] = stream.value()
            elif key == "tasks" and stream.opens() == "[":
                contents.update(_content(task) for task in stream.elements())
            elif key in counts and stream.opens() == "[":
                counts[key] = sum(1 for _ in stream.elements())
        stream.end()
    return head, contents, counts["simulations"] or counts["simulation_index"]


def _content(task: object) -> tuple[str, str]:
    said = mapping(task)
    return text(said.get("id")) or "", digest(without_empty({key: said.get(key) for key in _OF_TASK}))


def _run(info: Mapping[str, Any], head: Mapping[str, Any], path: str, *, several: bool) -> Run:
    agent, user = mapping(info.get("agent_info")), mapping(info.get("user_info"))
    kind = text(agent.get("implementation"))
    voice = mapping(info.get("audio_native_config"))
    model = text(agent.get("llm")) or text(voice.get("model"))
    if not model and not kind:
        raise FormatError(f"{shown_path(path)}: the info names no agent; expected results of tau2-bench")
    named = kind if not model else model if kind in (None, _USUAL_AGENT) else f"{kind} | {model}"
    domain = text(mapping(info.get("environment_info")).get("domain_name")) or ""
    when = text(head.get("timestamp")) or ""
    return Run(
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


def _simulations(path: str) -> Iterator[Any]:
    """The simulations, or the index of them if they are in files of their own."""
    found = False
    with opened(path) as file:
        stream = JsonStream(file, shown_path(path))
        for key in stream.entries():
            if key == "simulations" and stream.opens() == "[":
                for row in stream.elements():
                    found = True
                    yield row
        stream.end()
    if found:
        return
    with opened(path) as file:
        stream = JsonStream(file, shown_path(path))
        for key in stream.entries():
            if key == "simulation_index" and stream.opens() == "[":
                yield from stream.elements()


def _samples(path: str, run: Run, contents: Mapping[str, str]) -> Iterator[Sample]:
    prefix = f"{run.task}/" if run.task else ""
    for place, row in enumerate(_simulations(path), start=1):
        name = text(row.get("task_id")) if isinstance(row, dict) else None
        if not name:
            raise FormatError(f"{shown_path(path)}: sample {place}: no task_id; expected a simulation of tau2-bench")
        reason = text(row.get("termination_reason"))
        error = f"the simulation ended with {quoted(reason)}" if reason in _NOT_THE_AGENT and reason else None
        rewarded = row.get("reward_info")
        reward = mapping(rewarded).get("reward") if "reward_info" in row else row.get("reward")
        yield Sample(
            run=run,
            item=f"{prefix}{name}",
            scores={"reward": number(reward)},
            place=place,
            repeat=text(row.get("trial")),
            error=error,
            failure=None if error is None else "infrastructure",
            content=contents.get(name),
        )
