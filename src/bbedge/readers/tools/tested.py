"""Answers that are tested: test cases of DeepEval, solutions of EvalPlus."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.json_files import json_stream
from bbedge.readers.logs import (
    Glimpse,
    Log,
    LogRecord,
    LogRun,
    LogSample,
    RecordLog,
    Records,
    Row,
    SeenLog,
    ToolReader,
    Value,
    array,
    at,
    compared_mean,
    digest,
    first_value,
    mapping,
    number,
    settings,
    tallied,
    text,
)
from bbedge.text import quoted, shown_path

_CASES = ("testCases", "conversationalTestCases")
_OF_RUN = ("hyperparameters", "configurations", "metricsScores", "runDuration")
_METRICS = ("metricsData", "metricsMetadata")
_OF_QUESTION = ("input", "expectedOutput", "context", "expectedTools")
_OF_CONVERSATION = ("scenario", "expectedOutcome", "userDescription", "context")
# Less was better for these, until version 4 turned them round.
_DOUBTFUL = frozenset(["Bias", "Hallucination", "Toxicity"])
_CLOSE = 1e-9


def _is_link(glimpse: Glimpse) -> bool:
    """What an upload leaves."""
    return glimpse.has("testRunLink") and not glimpse.has("testRunData")


def _case_metrics(record: LogRecord) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for metric in array(first_value(record.row, *_METRICS)):
        name = text(at(metric, "name")) or text(at(metric, "metric"))
        if name is None:
            raise FormatError(f"{record.at}: a metric without a name; expected {record.source.expected}")
        if name in found:
            raise FormatError(f"{record.at}: two metrics are named {quoted(name)}; expected one of each per test case")
        found[name] = metric
    return found


def _case_score(metric: Row) -> Value:
    """The score of a metric; one with an error has none, and the others of the test case have theirs."""
    failed = metric.get("error") is not None or metric.get("skipped") is True
    return None if failed else number(metric.get("score"))


def _case_item(record: LogRecord) -> str:
    """By what was asked: the names of test cases are their positions unless pytest ran them."""
    case = record.row
    asked = _OF_QUESTION if case.get("input") is not None else _OF_CONVERSATION
    if case.get(asked[0]) is None:
        raise FormatError(
            f"{record.at}: neither an input nor a scenario, so that its item has no name; give the conversation a "
            "scenario"
        )
    return digest([case.get(key) for key in asked])


def _case_run(seen: SeenLog) -> LogRun:
    """The run; what describes it follows the test cases, which show for which metrics less is better."""
    cases: list[str] = []
    counted: dict[str, list[float]] = {}
    directions: dict[str, set[bool]] = {}
    traced = False
    for record in seen.records:
        case, metrics = record.row, _case_metrics(record)
        scores = {name: metric.get("score") for name, metric in metrics.items()}
        cases.append(digest(case.get("input"), case.get("actualOutput"), case.get("runDuration"), scores))
        traced = traced or case.get("trace") is not None
        for name, metric in metrics.items():
            score, threshold, success = _case_score(metric), number(metric.get("threshold")), metric.get("success")
            stated, upwards = number(metric.get("score")), directions.setdefault(name, set())
            # As DeepEval counts them: without a threshold there is no success, and expectations are no metrics.
            if stated is not None and success is not None and metric.get("expectationsData") is None:
                counted.setdefault(name, []).append(float(stated))
            if score is not None and threshold is not None and isinstance(success, bool) and score != threshold:
                upwards.add((score > threshold) == success)
    if not cases:
        raise seen.records.lack("test cases in the file")
    header = seen.records.head
    # The summary of traces also has scores of their parts.
    for entry in () if traced else array(header.get("metricsScores")):
        _check_summary(entry, counted, seen.records.place)
    # Before version 1 they were called configurations.
    used = mapping(header.get("hyperparameters")) or mapping(header.get("configurations"))
    lower = frozenset(
        name for name, upwards in directions.items() if upwards == {False} or (name in _DOUBTFUL and upwards != {True})
    )
    return LogRun(
        model=text(used.get("model")) or None,
        identity=digest(header["runDuration"], sorted(cases)) if header.get("runDuration") else "",
        protocol=settings({"metrics for which less is better": ", ".join(sorted(lower)) or None}),
        sampling=settings({str(name): value for name, value in used.items() if name != "model"}),
        lower_is_better=lower,
        higher_is_better=frozenset(name for name, upwards in directions.items() if upwards == {True}),
        fields={"hyperparameters": used},
    )


def _check_summary(entry: object, counted: Mapping[str, list[float]], place: str) -> None:
    """Refuse test cases that are not those of the summary."""
    name, scores = text(at(entry, "metric")), at(entry, "scores")
    if name is None or not isinstance(scores, list):
        return
    theirs = sorted(float(score) for score in map(number, scores) if score is not None)
    ours = sorted(counted.get(name, ()))
    if len(ours) != len(theirs) or any(abs(a - b) > _CLOSE for a, b in zip(ours, theirs, strict=True)):
        raise FormatError(
            f"{place}: the test cases have {len(ours)} scores of {quoted(name)} with the sum "
            f"{sum(ours):.6g}, but the summary in the same file has {len(theirs)} with the sum "
            f"{sum(theirs):.6g}; the file was changed or cut: repeat the run"
        )


DEEPEVAL = ToolReader(
    name="deepeval",
    title="DeepEval",
    # By the list of test cases, with what their metrics are called.
    has_samples=lambda glimpse: (
        (glimpse.has("testCases") or (glimpse.has("testRunData") and b'"testCases"' in glimpse.head))
        and any(f'"{key}"'.encode() in glimpse.head for key in _METRICS)
        and not _is_link(glimpse)
    ),
    stands_beside=_is_link,
    open=RecordLog(
        records=lambda path: Records(
            path=path, expected="a test case of DeepEval", under=_CASES, inside="testRunData", keep=_OF_RUN
        ),
        runs=_case_run,
        item=lambda record, _: _case_item(record),
        scores=lambda record: {name: _case_score(metric) for name, metric in _case_metrics(record).items()},
        fields=lambda record: {
            "metadata": mapping(record.row.get("metadata")) or mapping(record.row.get("additionalMetadata"))
        },
    ).open,
)
"""Reads test runs of DeepEval: ``.deepeval/.latest_test_run.json``, or files of ``DEEPEVAL_RESULTS_FOLDER``.

The file names its model only if the run logged it as the hyperparameter ``model``. Whether more is better for a metric
follows from its threshold: versions before 4 call a low bias a success.
"""


# EvalPlus names its files after the model, the backend and the temperature.
_NAME = re.compile(
    r"(?P<model>.+)_(?P<backend>[a-z0-9-]+)_temp_(?P<temperature>\d+(?:\.\d+)?)"
    r"(?:[-_.]sanitized|\.raw)?[_.]eval_results\.json(?:\.gz)?"
)
_STATUSES = ("pass", "fail", "timeout")


def _has_results(glimpse: Glimpse) -> bool:
    """Whether a file is the results of tasks, of this form or of the one before."""
    if glimpse.has("task_id", "solution") or not glimpse.has("eval") or glimpse.has("version", "status"):
        return False
    first = next(iter(mapping(glimpse.first.get("eval")).values()), None)
    old = isinstance(at(first, "base"), list) and "nfiles" in mapping(first)
    return b'"base_status"' in glimpse.head or old


def _open_evalplus(path: str) -> Log:
    """Open results; they are read once to see which benchmark it is, and how many solutions tasks have."""
    head: dict[str, Any] = {}
    counts = {task: len(solutions) for task, solutions in _solved_tasks(path, head)}
    benchmark = next(filter(None, (task.rpartition("/")[0] for task in counts)), "")
    most = max(counts.values(), default=0)
    named = _NAME.fullmatch(PurePath(path).name)
    run = LogRun(
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
    # The mean over all solutions, if every task has as many.
    stated: dict[str, object] = {
        name: at(head, "pass_at_k", name, "pass@1")
        for name in ("base", "plus")
        if name in mapping(head.get("pass_at_k"))
    }
    notes = [
        note
        for metric, tally in tallied(_solution_samples(path, run), *stated).items()
        for note in compared_mean(tally.mean, stated[metric], place=shown_path(path), what=f"of {metric}")
    ]
    return Log(runs=(run,), samples=lambda: _solution_samples(path, run), notes=(*(drawn if most > 1 else ()), *notes))


EVALPLUS = ToolReader(
    name="evalplus",
    title="EvalPlus",
    has_samples=_has_results,
    # The solutions that were tested.
    stands_beside=lambda glimpse: (
        glimpse.has("task_id", "solution")
        and Path(glimpse.path).with_name(f"{Path(glimpse.path).stem}_eval_results.json").is_file()
    ),
    open=_open_evalplus,
)
"""Reads results of EvalPlus 0.2 and 0.3: ``*_eval_results.json`` with the solutions of every task.

Each solution has the status of two sets of tests, and counts for ``plus`` if it passes both, as EvalPlus counts it. The
solutions of a task are repetitions in the order of their generation, which is right only if they were drawn
independently, as EvalPlus does with a temperature above 0.
"""


def _solved_tasks(path: str, head: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
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


def _old_solutions(found: Row) -> Iterator[dict[str, Any]]:
    """The solutions of a task in the older form, as an object each, like the others."""
    base, plus = found.get("base"), array(found.get("plus"))
    for index, status in enumerate(base if isinstance(base, list) else [None]):
        yield {
            "base_status": _plain_status(status),
            "plus_status": _plain_status(plus[index] if index < len(plus) else None),
        }


def _plain_status(status: object) -> object:
    """The older form has the status with the result of every test."""
    return status[0] if isinstance(status, list) and status else status


def _solution_samples(path: str, run: LogRun) -> Iterator[LogSample]:
    of_tasks = ((task, repeat, each) for task, every in _solved_tasks(path, {}) for repeat, each in enumerate(every, 1))
    for place, (task, repeat, solution) in enumerate(of_tasks, start=1):
        where = f"{shown_path(path)}: sample {place}"
        if not task.strip():
            raise FormatError(f"{where}: a task without a name; expected results of EvalPlus")
        if task.rpartition("/")[0] != run.task:
            raise FormatError(
                f"{where}: task {quoted(task)} is not of {quoted(run.task)}, as the first one is; expected one "
                "benchmark per file"
            )
        scores = _solution_scores(mapping(solution), where)
        yield LogSample(run=run, item=task, scores=scores, place=place, repeat=str(repeat))


def _solution_scores(solution: Row, where: str) -> dict[str, Value]:
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
