"""Answers that are tested one by one: DeepEval, a spec, and BFCL, the Berkeley Function Calling Leaderboard.

Score files of BFCL, ``score/MODEL/.../BFCL_v3_CATEGORY_score.json``, begin with the counts and go on with a line for
every failure. What was asked is in ``result/MODEL/.../BFCL_v3_CATEGORY_result.json``. A task that is in no line has
passed only if it was asked, so that the tasks must be known: from the file of results, or from a list of items that
the user declares; and there must be as many as the file counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bbedge.errors import FormatError
from bbedge.readers.json_files import objects
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
    check_count,
    digest,
    first_value,
    kind_of_error,
    mapping,
    number,
    refused_without_items,
    settings,
    stated_count,
    text,
)
from bbedge.text import listed, quoted, shown_path

_CASES = ("testCases", "conversationalTestCases")
_OF_RUN = ("hyperparameters", "configurations", "metricsScores", "runDuration")
_METRICS = ("metricsData", "metricsMetadata")
_OF_QUESTION = ("input", "expectedOutput", "context", "expectedTools")
_OF_CONVERSATION = ("scenario", "expectedOutcome", "userDescription", "context")
# Less was better for these, until version 4 turned them round.
_DOUBTFUL = frozenset(["Bias", "Hallucination", "Toxicity"])
_CLOSE = 1e-9
_NAME = re.compile(r"(?P<begin>(?:BFCL_v\d+_)?(?P<category>[a-z_]+))_score\.json(?:\.gz)?")
_COUNTS = frozenset(["accuracy", "correct_count", "total_count"])
_ANSWERS = ("result", "model_result", "model_result_raw")
_NOT_ANSWERED = "Error during inference"


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
    return None if metric.get("error") is not None or metric.get("skipped") is True else number(metric.get("score"))


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


class _Lines(NamedTuple):
    """What the lines of failures or of results say."""

    tasks: Mapping[str, str | None]
    """The tasks, each with the error that kept it from being answered, if there was one."""
    said: Mapping[str, str]
    """What they say of all."""
    answers: Sequence[str]
    """Hashes of the answers, in no order of the file."""


def _open_bfcl(path: str) -> Log:
    """Open a score file, and the results beside it."""
    place, rows = shown_path(path), objects(path)
    _, counts = next(rows, (0, {}))
    total, correct = stated_count(counts.get("total_count")), stated_count(counts.get("correct_count"))
    if total is None or correct is None:
        raise FormatError(f"{place}:1: no correct_count and total_count; expected a score file of BFCL")
    failures, said, answers = _lines(rows, place)
    check_count(len(failures), total - correct, place=place, what="failures")
    named = _NAME.fullmatch(Path(path).name)
    folder = next((each for each in Path(path).parents if each.parent.name.startswith("score")), None)
    category = named["category"] if named else said.get("test_category", "")
    model = said.get("model_name") or (folder.name if folder else None)
    results = _results(Path(path), named, folder)
    asked = failures
    if results is not None:
        asked, _, answers = _lines(objects(str(results)), shown_path(str(results)))
    identity = f"{model} {digest(category, answers)}" if model and answers else ""
    run = LogRun(model=model, task=category, identity=identity)

    def samples(asked: Mapping[str, str | None]) -> Iterator[LogSample]:
        check_count(len(asked), total, place=place, what=f"tasks of {category} in the list")
        if unknown := sorted(failures.keys() - asked.keys()):
            raise FormatError(f"{place}: {listed(unknown)} failed, and not in the list; use files of one version")
        for position, task in enumerate(sorted(asked), start=1):
            error = failures.get(task) or asked[task]
            yield LogSample(
                run=run,
                item=task,
                scores={} if error else {"valid": task not in failures},
                place=position,
                error=error,
                failure=kind_of_error(error),
            )

    if not correct or results is not None:
        return Log(runs=(run,), samples=lambda: samples(asked), beside=(str(results),) if results else ())
    of_category = re.compile(rf"{re.escape(category)}_\d.*")
    return Log(
        runs=(run,),
        samples=lambda: refused_without_items(
            f"{place}: lists the {len(failures):,} failures of {total:,} tasks, but not the others, which have no name "
            "here; keep the folder result of the same run beside the folder score"
        ),
        of_items=lambda items: samples(dict.fromkeys(filter(of_category.fullmatch, items))),
    )


def _lines(rows: Iterator[tuple[int, Row]], place: str) -> _Lines:
    """What failures or results say, one in every line."""
    found: dict[str, str | None] = {}
    said: dict[str, str] = {}
    answers = []
    for line, row in rows:
        task = text(row.get("id"))
        if not task or task in found or row.get("valid", False) is not False:
            raise FormatError(
                f"{place}:{line}: {quoted(task)} a second time, or valid; expected each failure of BFCL once"
                if task
                else f"{place}:{line}: no id; expected a failure or a result of BFCL"
            )
        given = [row.get(key) for key in _ANSWERS]
        found[task] = next((each for each in given if isinstance(each, str) and each.startswith(_NOT_ANSWERED)), None)
        answers.append(digest(task, given))
        said |= {key: name for key in ("model_name", "test_category") if (name := text(row.get(key)))}
    return _Lines(found, said, sorted(answers))


def _results(path: Path, named: re.Match[str] | None, folder: Path | None) -> Path | None:
    """The results of the same model and category: in the folder result beside the folder score, or in the same one."""
    beside = [path.with_name(f"{named['begin']}_result.json")] if named else []
    if folder is not None:
        results = folder.parent.with_name(folder.parent.name.replace("score", "result", 1))
        beside += [results / each.relative_to(folder.parent) for each in beside]
    return next((each for each in beside if each.is_file()), None)


BFCL = ToolReader(
    name="bfcl",
    title="BFCL",
    has_samples=lambda glimpse: glimpse.first.keys() == _COUNTS,
    # The answers.
    stands_beside=lambda glimpse: glimpse.has("id", "result") and "_result.json" in glimpse.name,
    open=_open_bfcl,
)
"""Reads score files of BFCL 3 and 4."""
