"""Test cases of DeepEval, a spec."""

from __future__ import annotations

from collections.abc import Mapping

from bbedge.errors import FormatError
from bbedge.readers.logs import (
    Glimpse,
    LogRecord,
    LogRun,
    RecordLog,
    Records,
    Row,
    SeenLog,
    ToolReader,
    Value,
    array,
    at,
    digest,
    first_value,
    mapping,
    number,
    settings,
    text,
)
from bbedge.text import quoted

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
