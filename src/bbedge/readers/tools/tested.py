"""Answers that are tested: test cases of DeepEval, solutions of EvalPlus."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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
    Records,
    ToolReader,
    Value,
    array,
    at,
    compared_mean,
    digest,
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


def _open_deepeval(path: str) -> Log:
    """Open a test run; it is read once, because what describes it follows the test cases."""
    cases = Records(path=path, expected="a test case of DeepEval", under=_CASES, inside="testRunData", keep=_OF_RUN)
    seen = _SeenCases()
    for record in cases:
        seen.add(record.row, _case_metrics(record))
    if not seen.cases:
        raise cases.lack("test cases in the file")
    seen.compare(cases.head.get("metricsScores"), path)
    run = _case_run(cases.head, seen)

    def samples() -> Iterator[LogSample]:
        for record in cases:
            metadata = mapping(record.row.get("metadata")) or mapping(record.row.get("additionalMetadata"))
            yield LogSample(
                run=run,
                item=_case_item(record),
                # A metric with an error has no score, and the others of the test case have theirs.
                scores={name: _case_score(metric) for name, metric in _case_metrics(record).items()},
                place=record.place,
                fields={"metadata": metadata},
            )

    return Log(runs=(run,), samples=samples)


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
    open=_open_deepeval,
)
"""Reads test runs of DeepEval: ``.deepeval/.latest_test_run.json``, or files of ``DEEPEVAL_RESULTS_FOLDER``.

The file names its model only if the run logged it as the hyperparameter ``model``. Whether more is better for a metric
follows from its threshold: versions before 4 call a low bias a success.
"""


def _case_run(header: Mapping[str, Any], seen: _SeenCases) -> LogRun:
    # Before version 1 they were called configurations.
    used = mapping(header.get("hyperparameters")) or mapping(header.get("configurations"))
    lower = seen.lower_is_better()
    return LogRun(
        model=text(used.get("model")) or None,
        identity=digest(header["runDuration"], sorted(seen.cases)) if header.get("runDuration") else "",
        protocol=settings({"metrics for which less is better": ", ".join(sorted(lower)) or None}),
        sampling=settings({str(name): value for name, value in used.items() if name != "model"}),
        lower_is_better=lower,
        fields={"hyperparameters": used},
    )


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


def _case_metrics(record: LogRecord) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for metric in array(next((record.row[key] for key in _METRICS if record.row.get(key) is not None), None)):
        name = text(mapping(metric).get("name")) or text(mapping(metric).get("metric"))
        if name is None:
            raise FormatError(f"{record.at}: a metric without a name; expected {record.source.expected}")
        if name in found:
            raise FormatError(f"{record.at}: two metrics are named {quoted(name)}; expected one of each per test case")
        found[name] = metric
    return found


def _case_score(metric: Mapping[str, Any]) -> Value:
    failed = metric.get("error") is not None or metric.get("skipped") is True
    return None if failed else number(metric.get("score"))


@dataclass(slots=True)
class _SeenCases:
    """What the test cases of a run say together."""

    cases: list[str] = field(default_factory=list)
    _scores: dict[str, list[float]] = field(default_factory=dict)
    _directions: dict[str, set[bool]] = field(default_factory=dict)
    _traced: bool = False

    def add(self, case: Mapping[str, Any], metrics: Mapping[str, Mapping[str, Any]]) -> None:
        """Remember one test case."""
        scores = {name: metric.get("score") for name, metric in metrics.items()}
        self.cases.append(digest(case.get("input"), case.get("actualOutput"), case.get("runDuration"), scores))
        self._traced |= case.get("trace") is not None
        for name, metric in metrics.items():
            score, threshold, success = _case_score(metric), number(metric.get("threshold")), metric.get("success")
            directions = self._directions.setdefault(name, set())
            stated = number(metric.get("score"))
            # As DeepEval counts them: without a threshold there is no success, and expectations are no metrics.
            if stated is not None and success is not None and metric.get("expectationsData") is None:
                self._scores.setdefault(name, []).append(float(stated))
            if score is not None and threshold is not None and isinstance(success, bool) and score != threshold:
                directions.add((score > threshold) == success)

    def lower_is_better(self) -> frozenset[str]:
        """The metrics for which a score below the threshold is a success, or for which nothing shows that it is not."""
        return frozenset(
            name
            for name, upwards in self._directions.items()
            if upwards == {False} or (name in _DOUBTFUL and upwards != {True})
        )

    def compare(self, stated: object, path: str) -> None:
        """Refuse test cases that are not those of the summary. That of traces also has scores of their parts."""
        if not isinstance(stated, list) or self._traced:
            return
        for entry in stated:
            name, scores = text(mapping(entry).get("metric")), mapping(entry).get("scores")
            if name is None or not isinstance(scores, list):
                continue
            theirs = sorted(float(score) for score in map(number, scores) if score is not None)
            ours = sorted(self._scores.get(name, ()))
            if len(ours) != len(theirs) or any(abs(a - b) > _CLOSE for a, b in zip(ours, theirs, strict=True)):
                raise FormatError(
                    f"{shown_path(path)}: the test cases have {len(ours)} scores of {quoted(name)} with the sum "
                    f"{sum(ours):.6g}, but the summary in the same file has {len(theirs)} with the sum "
                    f"{sum(theirs):.6g}; the file was changed or cut: repeat the run"
                )


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
    compared = _compared_solutions(path, run, mapping(head.get("pass_at_k")))
    return Log(
        runs=(run,), samples=lambda: _solution_samples(path, run), notes=(*(drawn if most > 1 else ()), *compared)
    )


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


def _old_solutions(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
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


def _compared_solutions(path: str, run: LogRun, stated: Mapping[str, Any]) -> Iterator[str]:
    """Compare with pass@1, which is the mean over all solutions if every task has as many."""
    for metric, tally in tallied(
        _solution_samples(path, run), *(name for name in ("base", "plus") if name in stated)
    ).items():
        mean = mapping(stated[metric]).get("pass@1")
        yield from compared_mean(tally.mean, mean, place=shown_path(path), what=f"of {metric}")


def _solution_samples(path: str, run: LogRun) -> Iterator[LogSample]:
    place = 0
    for task, solutions in _solved_tasks(path, {}):
        for index, solution in enumerate(solutions, start=1):
            place += 1
            where = f"{shown_path(path)}: sample {place}"
            yield LogSample(
                run=run,
                item=_solution_item(task, run.task, where),
                scores=_solution_scores(mapping(solution), where),
                place=place,
                repeat=str(index),
            )


def _solution_item(task: str, benchmark: str, where: str) -> str:
    if not task.strip():
        raise FormatError(f"{where}: a task without a name; expected results of EvalPlus")
    if task.rpartition("/")[0] != benchmark:
        raise FormatError(
            f"{where}: task {quoted(task)} is not of {quoted(benchmark)}, as the first one is; expected one benchmark "
            "per file"
        )
    return task


def _solution_scores(solution: Mapping[str, Any], where: str) -> dict[str, Value]:
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
