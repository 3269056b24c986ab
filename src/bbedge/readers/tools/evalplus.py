"""EvalPlus: ``*_eval_results.json`` with the solutions of every task, each with the status of two sets of tests.

A solution counts for ``plus`` if it passes both sets, as EvalPlus counts it. The solutions of a task are repetitions in
the order of their generation, which is right only if they were drawn independently, as EvalPlus does with a temperature
above 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.json_files import json_stream
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample, Tool, Value
from bbedge.readers.logs.fields import array, mapping, settings, text
from bbedge.readers.logs.stated import compared_mean, tallied
from bbedge.text import quoted, shown_path

# EvalPlus names its files after the model, the backend and the temperature.
_NAME = re.compile(
    r"(?P<model>.+)_(?P<backend>[a-z0-9-]+)_temp_(?P<temperature>\d+(?:\.\d+)?)"
    r"(?:[-_.]sanitized|\.raw)?[_.]eval_results\.json(?:\.gz)?"
)
_STATUSES = ("pass", "fail", "timeout")


def _is_evalplus(glimpse: Glimpse) -> Recognition:
    """By the results of tasks, of this form or of the one before; the solutions stand beside them."""
    if glimpse.has("task_id", "solution"):
        results = Path(glimpse.path).with_name(f"{Path(glimpse.path).stem}_eval_results.json")
        return "beside" if results.is_file() else "no"
    if not glimpse.has("eval") or glimpse.has("version", "status"):
        return "no"
    return "samples" if b'"base_status"' in glimpse.head or _is_old(glimpse.first.get("eval")) else "no"


def _open_evalplus(path: str) -> Log:
    """Open results; they are read once to see which benchmark it is, and how many solutions tasks have."""
    head: dict[str, Any] = {}
    counts = {task: len(solutions) for task, solutions in _tasks(path, head)}
    benchmark = next(filter(None, (task.rpartition("/")[0] for task in counts)), "")
    most = max(counts.values(), default=0)
    named = _NAME.fullmatch(PurePath(path).name)
    run = Run(
        model=named["model"].replace("--", "/") if named else None,
        task=benchmark,
        when=text(head.get("date")) or "",
        protocol=settings({"hash of the benchmark": head.get("hash")}),
        sampling=settings({"backend": named["backend"], "temperature": named["temperature"]} if named else {}),
    )
    drawn = (
        f"{shown_path(path)}: {most:,} solutions of a task are {most:,} replicates, which is right only if they "
        "were drawn independently of each other.",
    )
    compared = _compared(path, run, mapping(head.get("pass_at_k")))
    return Log(runs=(run,), samples=lambda: _samples(path, run), notes=(*(drawn if most > 1 else ()), *compared))


EVALPLUS = Tool(name="evalplus", title="EvalPlus", recognises=_is_evalplus, open=_open_evalplus)
"""Reads results of EvalPlus 0.2 and 0.3."""


def _is_old(results: object) -> bool:
    first = next(iter(mapping(results).values()), None)
    return isinstance(first, dict) and isinstance(first.get("base"), list) and "nfiles" in first


def _tasks(path: str, head: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """The tasks with their solutions; what stands beside the results goes into ``head`` on the way."""
    with json_stream(path) as stream:
        for key in stream.entries():
            if key in ("date", "hash", "pass_at_k"):
                head[key] = stream.value()
            elif key == "eval" and stream.opens() == "{":
                for task in stream.entries():
                    # Element by element: a key that comes twice is then named with its line.
                    listed = stream.opens() == "["
                    yield task, list(stream.elements() if listed else _old_solutions(mapping(stream.value())))


def _old_solutions(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The solutions of a task in the older form, as an object each, like the others."""
    base, plus = found.get("base"), array(found.get("plus"))
    for index, status in enumerate(base if isinstance(base, list) else [None]):
        yield {"base_status": _first(status), "plus_status": _first(plus[index] if index < len(plus) else None)}


def _first(status: object) -> object:
    """The older form has the status with the result of every test."""
    return status[0] if isinstance(status, list) and status else status


def _compared(path: str, run: Run, stated: Mapping[str, Any]) -> Iterator[str]:
    """Compare with pass@1, which is the mean over all solutions if every task has as many."""
    for metric, tally in tallied(_samples(path, run), *(name for name in ("base", "plus") if name in stated)).items():
        mean = mapping(stated[metric]).get("pass@1")
        yield from compared_mean(tally.mean, mean, place=shown_path(path), what=f"of {metric}")


def _samples(path: str, run: Run) -> Iterator[Sample]:
    place = 0
    for task, solutions in _tasks(path, {}):
        for index, solution in enumerate(solutions, start=1):
            place += 1
            where = f"{shown_path(path)}: sample {place}"
            yield Sample(
                run=run,
                item=_item(task, run.task, where),
                scores=_scores(mapping(solution), where),
                place=place,
                repeat=str(index),
            )


def _item(task: str, benchmark: str, where: str) -> str:
    if not task.strip():
        raise FormatError(f"{where}: a task without a name; expected results of EvalPlus")
    if task.rpartition("/")[0] != benchmark:
        raise FormatError(
            f"{where}: task {quoted(task)} is not of {quoted(benchmark)}, as the first one is; expected one benchmark "
            "per file"
        )
    return task


def _scores(solution: Mapping[str, Any], where: str) -> dict[str, Value]:
    base = _passed(solution.get("base_status"), where)
    if base is None:
        raise FormatError(f"{where}: no base_status; expected a solution of EvalPlus")
    plus = _passed(solution.get("plus_status"), where)
    return {"base": base} if plus is None else {"base": base, "plus": base and plus}


def _passed(status: object, where: str) -> bool | None:
    if status is None:
        return None
    if status not in _STATUSES:
        raise FormatError(
            f"{where}: status {quoted(str(status))}; expected one of {', '.join(_STATUSES)}, as EvalPlus writes them"
        )
    # A solution that is too slow for the tests has not passed them.
    return status == "pass"
