"""DeepEval: ``.deepeval/.latest_test_run.json``, or the files that ``DEEPEVAL_RESULTS_FOLDER`` asks for.

The file names its model only if the run logged it as the hyperparameter ``model``. Whether more is better for a metric
follows from its threshold: versions before 4 call a low bias a success.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample, Tool, Value
from bbedge.readers.logs.fields import array, digest, mapping, number, settings, text
from bbedge.readers.logs.record_log import LogRecord, Records
from bbedge.text import quoted, shown_path

_LISTS = ("testCases", "conversationalTestCases")
_OF_RUN = ("hyperparameters", "configurations", "metricsScores", "runDuration")
_METRICS = ("metricsData", "metricsMetadata")
_OF_QUESTION = ("input", "expectedOutput", "context", "expectedTools")
_OF_CONVERSATION = ("scenario", "expectedOutcome", "userDescription", "context")
# Less was better for these, until version 4 turned them round.
_DOUBTFUL = frozenset(["Bias", "Hallucination", "Toxicity"])
_CLOSE = 1e-9


def _is_deepeval(glimpse: Glimpse) -> Recognition:
    """By the list of test cases, with what their metrics are called; an upload leaves only a link."""
    if glimpse.has("testRunLink") and not glimpse.has("testRunData"):
        return "beside"
    cases = glimpse.has("testCases") or (glimpse.has("testRunData") and b'"testCases"' in glimpse.head)
    return "samples" if cases and any(f'"{key}"'.encode() in glimpse.head for key in _METRICS) else "no"


def _open_deepeval(path: str) -> Log:
    """Open a test run; it is read once, because what describes it follows the test cases."""
    cases = Records(path=path, expected="a test case of DeepEval", under=_LISTS, inside="testRunData", keep=_OF_RUN)
    seen = _Seen()
    for record in cases:
        seen.add(record.row, _metrics(record))
    if not seen.cases:
        raise cases.lack("test cases in the file")
    seen.compare(cases.head.get("metricsScores"), path)
    run = _run(cases.head, seen)
    return Log(runs=(run,), samples=lambda: (_sample(record, run) for record in cases))


DEEPEVAL = Tool(name="deepeval", title="DeepEval", recognises=_is_deepeval, open=_open_deepeval)
"""Reads test runs of DeepEval."""


def _run(header: Mapping[str, Any], seen: _Seen) -> Run:
    # Before version 1 they were called configurations.
    used = mapping(header.get("hyperparameters")) or mapping(header.get("configurations"))
    lower = seen.lower_is_better()
    return Run(
        model=text(used.get("model")) or None,
        identity=digest(header["runDuration"], sorted(seen.cases)) if header.get("runDuration") else "",
        protocol=settings({"metrics for which less is better": ", ".join(sorted(lower)) or None}),
        sampling=settings({str(name): value for name, value in used.items() if name != "model"}),
        lower_is_better=lower,
        fields={"hyperparameters": used},
    )


def _sample(record: LogRecord, run: Run) -> Sample:
    return Sample(
        run=run,
        item=_item(record),
        # A metric with an error has no score, and the others of the test case have theirs.
        scores={name: _score(metric) for name, metric in _metrics(record).items()},
        place=record.place,
        fields={"metadata": mapping(record.row.get("metadata")) or mapping(record.row.get("additionalMetadata"))},
    )


def _item(record: LogRecord) -> str:
    """By what was asked: the names of test cases are their positions unless pytest ran them."""
    case = record.row
    asked = _OF_QUESTION if case.get("input") is not None else _OF_CONVERSATION
    if case.get(asked[0]) is None:
        raise FormatError(
            f"{record.at}: neither an input nor a scenario, so that its item has no name; give the conversation a "
            "scenario"
        )
    return digest([case.get(key) for key in asked])


def _metrics(record: LogRecord) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for metric in array(next((record.row[key] for key in _METRICS if record.row.get(key) is not None), None)):
        name = text(mapping(metric).get("name")) or text(mapping(metric).get("metric"))
        if name is None:
            raise FormatError(f"{record.at}: a metric without a name; expected {record.source.expected}")
        if name in found:
            raise FormatError(f"{record.at}: two metrics are named {quoted(name)}; expected one of each per test case")
        found[name] = metric
    return found


def _score(metric: Mapping[str, Any]) -> Value:
    failed = metric.get("error") is not None or metric.get("skipped") is True
    return None if failed else number(metric.get("score"))


@dataclass(slots=True)
class _Seen:
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
            score, threshold, success = _score(metric), number(metric.get("threshold")), metric.get("success")
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
