"""promptfoo: results as one JSON document or as JSON lines.

There is no index of repetitions: rows of one provider and prompt that belong to the same test are repetitions of one
item, in the order of ``testIdx``. A test is known by its variables and assertions, and where these are not enough, by
its description, prompt and options. Every pair of a provider and a prompt is a contestant of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.choices import ErrorKind
from bbedge.readers.json_files import JsonStream, json_stream, objects
from bbedge.readers.logs import (
    Glimpse,
    Log,
    LogRun,
    LogSample,
    Numbering,
    Row,
    StatedAggregate,
    ToolReader,
    array,
    at,
    digest,
    kind_of_error,
    mapping,
    number,
    settings,
    text,
    whole,
)
from bbedge.readers.metrics import amounts
from bbedge.text import shown_path

# The kinds of failure that promptfoo writes: 1 is a wrong answer, 2 an error on the way to one.
_ERROR = 2
_SUMMARY = ("metadata", "timestamp", "stats", "prompts")
_OF_TEST = ("description", "prompt", "threshold", "options")
# What stands in its documents: one of these groups of words.
_WORDS = ((b'"promptIdx"',), (b'"shareableUrl"',), (b'"provider"', b'"latencyMs"', b'"vars"'))
_Rows = Callable[[], Iterator[tuple[int, Any]]]
_Key = tuple[str, str]


def _has_words(glimpse: Glimpse) -> bool:
    return any(all(word in glimpse.head for word in words) for words in _WORDS)


def _open_promptfoo(path: str) -> Log:
    """Open results; they are read once to see which providers and prompts there are, and which repetitions."""
    of_lines = Glimpse.of(path).has("provider")
    head: dict[str, Any] = {}
    rows: _Rows = (lambda: objects(path)) if of_lines else (lambda: _document(path, head))
    plan = _plan(rows, path)
    plan.check_repetitions(head, path)
    several = len({prompt for _, prompt in plan.contestants}) > 1
    runs = {
        key: LogRun(
            model=f"{key[0]} | {prompt}" if several else key[0],
            # The first row's own name is the same in both forms of one output.
            identity=first,
            when=text(head.get("timestamp")) or "",
            protocol=settings({"promptfoo version": at(head, "metadata", "promptfooVersion")}),
            fields={"provider": key[0], "prompt": prompt},
        )
        for key, (prompt, first) in plan.contestants.items()
    }
    return Log(
        runs=tuple(runs.values()),
        samples=lambda: _samples(rows, runs, plan, path),
        counts="line" if of_lines else "sample",
        usual_metric="score",
        stated=lambda: _stated(head, path),
    )


PROMPTFOO = ToolReader(
    name="promptfoo",
    title="promptfoo",
    # By the keys of the document or of the first row.
    has_samples=lambda glimpse: (
        (glimpse.has("testCase", "provider") and (glimpse.has("testIdx") or glimpse.has("promptIdx")))
        or (glimpse.has("results") and (glimpse.has("evalId") or _has_words(glimpse)))
    ),
    open=_open_promptfoo,
)
"""Reads results of promptfoo, of version 2 of the results and later."""


def _document(path: str, head: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    """The rows of a document; what describes the document goes into ``head`` on the way.

    The rows are a list inside ``results``, or, where a program wrote the summary itself, ``results``.
    """
    with json_stream(path) as stream:
        for key in stream.entries("results"):
            opens = stream.opens()
            if key == "results" and opens == "[":
                yield from enumerate(stream.elements(), start=1)
            elif key == "table" and opens == "{":
                head |= _table(stream, head)
            elif key in _SUMMARY:
                head[key] = stream.value()


def _table(stream: JsonStream, head: Row) -> Iterator[tuple[str, Any]]:
    """What the table of a document says of tests and prompts."""
    for key in stream.entries():
        if key == "body" and stream.opens() == "[":
            # One test a row; kept are the hashes of its variables and of all of it.
            tests = (mapping(at(row, "test")) for row in stream.elements())
            yield "tests", [(digest(test.get("vars")), digest(test)) for test in tests]
        elif key == "head" and "prompts" not in head:
            yield "prompts", at(stream.value(), "prompts")


@dataclass(slots=True)
class _Plan:
    """Which contestants and which tests there are, known after one pass over the rows."""

    contestants: dict[_Key, tuple[str, str]] = field(default_factory=dict)
    """The pairs of a provider and a prompt, each with the prompt's label and its first row's name."""
    indices: Numbering = field(default_factory=Numbering)
    """The repetitions of every test by a contestant, in order."""
    variants: dict[str, set[str]] = field(default_factory=dict)
    """The tests that share variables and assertions."""
    described: dict[str | None, set[str]] = field(default_factory=dict)
    """The tests that share a description, or have none."""
    counted: bool = True
    """Whether the rows have the number of their test, as they do since October 2024."""

    def check_repetitions(self, head: Row, path: str) -> None:
        """Refuse rows of which it cannot be known whether they are repetitions or other tests."""
        most = max(count for _, count in self.indices.groups())
        if self.counted or most == 1:
            return
        tests: list[tuple[str, str]] = head.get("tests") or []
        repetitions = max(Counter(tests).values(), default=0)
        if most != repetitions or len({variables for variables, _ in tests}) < len(set(tests)):
            raise FormatError(
                f"{shown_path(path)}: a provider has several results for the same variables, and this version of "
                "promptfoo does not write which are repetitions and which are other tests; repeat the evaluation with "
                "a newer version, or give every test a variable of its own"
            )


def _plan(rows: _Rows, path: str) -> _Plan:
    plan = _Plan()
    for place, row in rows():
        key = _key(row, place, path)
        if key not in plan.contestants:
            plan.contestants[key] = _label(row) or text(at(row, "prompt", "raw")) or key[1], text(row.get("id")) or ""
        plain, rest = _test(row)
        plan.variants.setdefault(plain, set()).add(rest)
        plan.described.setdefault(_description(row), set()).add(plain)
        plan.indices.add((key, plain, rest), _index(row, place))
        plan.counted = plan.counted and isinstance(row.get("testIdx"), int)
    if not plan.contestants:
        raise FormatError(f"{shown_path(path)}: no results in the file; expected the output of promptfoo eval")
    return plan


def _stated(head: Row, path: str) -> Iterator[StatedAggregate]:
    """The number of results, how many passed, and the sum of the scores."""
    stats = mapping(head.get("stats"))
    counts = [whole(stats.get(name, 0)) for name in ("successes", "failures", "errors")]
    if "successes" not in stats or None in counts:
        return
    passed, total = counts[0] or 0, sum(count or 0 for count in counts)
    yield StatedAggregate(where=path, count=total)
    if not total:
        return
    yield StatedAggregate(where=path, metric="success", mean=passed / total)
    sums = [number(at(each, "metrics", "score")) for each in array(head.get("prompts"))]
    if sums and None not in sums:
        yield StatedAggregate(where=path, metric="score", mean=sum(float(each or 0) for each in sums) / total)


def _label(row: Row) -> str | None:
    # Before 2024 a prompt is displayed, not labelled; its raw text holds the variables of the row.
    return text(at(row, "prompt", "label")) or text(at(row, "prompt", "display"))


def _key(row: object, place: int, path: str) -> _Key:
    provider = row.get("provider") if isinstance(row, dict) else None
    label = text(provider) or text(at(provider, "label")) or text(at(provider, "id"))
    if not isinstance(row, dict) or not label:
        raise FormatError(f"{shown_path(path)}: result {place}: no provider; expected a result of promptfoo")
    return label, text(row.get("promptId")) or digest(_label(row))


def _samples(rows: _Rows, runs: Mapping[_Key, LogRun], plan: _Plan, path: str) -> Iterator[LogSample]:
    for place, row in rows():
        key, error = _key(row, place, path), _error(row)
        plain, rest = _test(row)
        name = _description(row)
        named = {f"namedScores.{metric}": number(value) for metric, value in mapping(row.get("namedScores")).items()}
        yield LogSample(
            run=runs[key],
            # By variables and assertions, and by the rest of the test if these are shared.
            item=plain if len(plan.variants[plain]) == 1 else digest(plain, rest),
            label=name if len(plan.described[name]) == 1 else None,
            content=plain,
            scores={"score": number(row.get("score")), "success": number(row.get("success")), **named},
            place=place,
            repeat=str(plan.indices.number((key, plain, rest), _index(row, place))),
            error=error,
            failure=_failure(row, error),
            cached=at(row, "response", "cached") is True,
            usage=_usage(row),
            fields={"vars": _variables(row), "metadata": mapping(at(row, "testCase", "metadata"))},
        )


def _usage(row: Row) -> dict[str, float]:
    """Tokens, seconds and cost; of an answer from a cache nothing is known, because it was not made."""
    if at(row, "response", "cached") is True:
        return {}
    tokens = mapping(at(row, "response", "tokenUsage")) or mapping(row.get("tokenUsage"))
    took = amounts({"tokens": tokens.get("total"), "seconds": row.get("latencyMs"), "cost": row.get("cost")})
    return {name: value / 1000.0 if name == "seconds" else value for name, value in took.items()}


def _error(row: Row) -> str | None:
    """The error on the way to a score. A wrong answer also carries a text under "error", and is none."""
    # Older versions do not write the kind: an error before there was anything to grade.
    ungraded = "failureReason" not in row and row.get("error") and not row.get("gradingResult")
    if row.get("failureReason") == _ERROR or _grader_failed(row) or ungraded:
        return text(row.get("error")) or "error"
    return None


def _grader_failed(row: Row) -> bool:
    """Whether an assertion could not be judged, which promptfoo scores as zero."""
    graded = mapping(row.get("gradingResult"))
    results = [graded, *array(graded.get("componentResults"))]
    return any(at(result, "metadata", "graderError") is True for result in results)


def _failure(row: Row, error: str | None) -> ErrorKind | None:
    if error is None:
        return None
    response = mapping(row.get("response"))
    flagged = at(response, "guardrails", "flagged") is True
    if response.get("isRefusal") is True or flagged or response.get("finishReason") == "content_filter":
        return "refusal"
    # With an answer in hand, what failed came after it.
    answered = response.get("output") is not None and not response.get("error")
    return "judge" if answered or _grader_failed(row) else kind_of_error(error)


def _description(row: Row) -> str | None:
    return text(at(row, "testCase", "description")) or None


def _index(row: Row, place: int) -> int:
    index = row.get("testIdx")
    return index if isinstance(index, int) else place


def _test(row: Row) -> tuple[str, str]:
    """Hashes of the variables and assertions of a row's test, and of what else distinguishes tests."""
    case = mapping(row.get("testCase"))
    return digest(_variables(row), case.get("assert")), digest([case.get(name) for name in _OF_TEST])


def _variables(row: Row) -> dict[str, Any]:
    # Those of the test: a provider may add its own to the row, different in every call.
    return mapping(at(row, "testCase", "vars")) or mapping(row.get("vars"))
