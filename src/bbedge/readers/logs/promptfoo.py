"""promptfoo: results as one JSON document or as JSON lines.

There is no index of repetitions: rows of one provider and prompt with the same variables and assertions are repetitions
of one item, in the order of ``testIdx``. Every pair of a provider and a prompt is a contestant of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.incomplete import ErrorKind
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample, Value
from bbedge.readers.logs.failures import kind_of_error
from bbedge.readers.logs.fields import digest, mapping, number, settings, text
from bbedge.readers.logs.files import JsonStream, objects
from bbedge.readers.logs.usage import amounts
from bbedge.readers.opening import opened
from bbedge.text import shown_path

# The kinds of failure that promptfoo writes: 1 is a wrong answer, 2 an error on the way to one.
_ERROR = 2
_Rows = Callable[[], Iterator[tuple[int, Any]]]
_Key = tuple[str, str]
_Indices = dict[tuple[_Key, str], list[int]]


class Promptfoo:
    """Reads results of promptfoo 0.12x."""

    name = "promptfoo"
    title = "promptfoo"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the keys of the document or of the first row."""
        if glimpse.has("testCase", "provider") and (glimpse.has("testIdx") or glimpse.has("promptIdx")):
            return "samples"
        named = b'"promptIdx"' in glimpse.head or b'"shareableUrl"' in glimpse.head
        return "samples" if glimpse.has("results") and (glimpse.has("evalId") or named) else "no"

    def open(self, path: str) -> Log:
        """Open results; they are read once to see which providers and prompts there are, and which repetitions."""
        with opened(path) as file:
            of_lines = _is_lines(file.read(1 << 16))
        head: dict[str, Any] = {}
        rows: _Rows = (lambda: iter(objects(path))) if of_lines else (lambda: _document(path, head))
        contestants, indices = _contestants(rows, path)
        several = len({prompt for _, prompt in contestants}) > 1
        runs = {
            key: Run(
                model=f"{key[0]} | {prompt}" if several else key[0],
                # The first row's own name is the same in both forms of one output.
                identity=first,
                when=text(head.get("timestamp")) or "",
                protocol=settings({"promptfoo version": mapping(head.get("metadata")).get("promptfooVersion")}),
            )
            for key, (prompt, first) in contestants.items()
        }
        return Log(
            runs=tuple(runs.values()),
            samples=lambda: _samples(rows, runs, indices, path),
            counts="line" if of_lines else "sample",
            usual_metric="score",
        )


def _is_lines(head: bytes) -> bool:
    # A document begins with evalId or results, a row of JSON lines with what it scored.
    start = head.lstrip()[:4096]
    return b'"evalId"' not in start and b'"results"' not in start.partition(b":")[0]


def _document(path: str, head: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    """The rows of a document; what describes the document goes into ``head`` on the way."""
    with opened(path) as file:
        stream = JsonStream(file, shown_path(path))
        for key in stream.entries():
            if key == "metadata":
                head[key] = stream.value()
            elif key == "results" and stream.opens() == "{":
                for inner in stream.entries():
                    if inner == "timestamp":
                        head[inner] = stream.value()
                    elif inner == "results" and stream.opens() == "[":
                        yield from enumerate(stream.elements(), start=1)
        stream.end()


def _contestants(rows: _Rows, path: str) -> tuple[dict[_Key, tuple[str, str]], _Indices]:
    """The pairs of a provider and a prompt, each with the prompt's label and its first row's name; all repetitions."""
    contestants: dict[_Key, tuple[str, str]] = {}
    indices: _Indices = {}
    for place, row in rows():
        key = _key(row, place, path)
        if key not in contestants:
            prompt = mapping(row.get("prompt"))
            contestants[key] = (
                text(prompt.get("label")) or text(prompt.get("raw")) or key[1],
                text(row.get("id")) or "",
            )
        indices.setdefault((key, _item(row)), []).append(_index(row, place))
    if not contestants:
        raise FormatError(f"{shown_path(path)}: no results in the file; expected the output of promptfoo eval")
    for of_item in indices.values():
        of_item.sort()
    return contestants, indices


def _key(row: object, place: int, path: str) -> _Key:
    provider = row.get("provider") if isinstance(row, dict) else None
    label = text(provider) or text(mapping(provider).get("label")) or text(mapping(provider).get("id"))
    if not isinstance(row, dict) or not label:
        raise FormatError(f"{shown_path(path)}: result {place}: no provider; expected a result of promptfoo")
    return label, text(row.get("promptId")) or digest(mapping(row.get("prompt")).get("label"))


def _samples(rows: _Rows, runs: Mapping[_Key, Run], indices: _Indices, path: str) -> Iterator[Sample]:
    for place, row in rows():
        key = _key(row, place, path)
        item = _item(row)
        of_item = indices[key, item]
        error = _error(row)
        yield Sample(
            run=runs[key],
            item=item,
            scores=_scores(row),
            place=place,
            repeat=str(of_item.index(_index(row, place)) + 1),
            error=error,
            failure=None if error is None else _failure(row, error),
            cached=mapping(row.get("response")).get("cached") is True,
            usage=_usage(row),
            fields={"vars": _variables(row), "metadata": mapping(mapping(row.get("testCase")).get("metadata"))},
        )


def _usage(row: Mapping[str, Any]) -> dict[str, float]:
    """Tokens, seconds and cost; of an answer from a cache nothing is known, because it was not made."""
    response = mapping(row.get("response"))
    if response.get("cached") is True:
        return {}
    tokens = mapping(response.get("tokenUsage")) or mapping(row.get("tokenUsage"))
    took = amounts({"tokens": tokens.get("total"), "seconds": row.get("latencyMs"), "cost": row.get("cost")})
    return {name: value / 1000.0 if name == "seconds" else value for name, value in took.items()}


def _error(row: Mapping[str, Any]) -> str | None:
    """The error on the way to a score. A wrong answer also carries a text under "error", and is none."""
    if row.get("failureReason") == _ERROR or _grader_failed(row):
        return text(row.get("error")) or "error"
    return None


def _grader_failed(row: Mapping[str, Any]) -> bool:
    """Whether an assertion could not be judged, which promptfoo scores as zero."""
    graded = mapping(row.get("gradingResult"))
    parts = graded.get("componentResults")
    results = [graded, *(parts if isinstance(parts, list) else [])]
    return any(mapping(mapping(result).get("metadata")).get("graderError") is True for result in results)


def _failure(row: Mapping[str, Any], error: str) -> ErrorKind:
    response = mapping(row.get("response"))
    flagged = mapping(response.get("guardrails")).get("flagged") is True
    if response.get("isRefusal") is True or flagged or response.get("finishReason") == "content_filter":
        return "refusal"
    # With an answer in hand, what failed came after it.
    answered = response.get("output") is not None and not response.get("error")
    return "judge" if answered or _grader_failed(row) else kind_of_error(error)


def _index(row: Mapping[str, Any], place: int) -> int:
    index = row.get("testIdx")
    return index if isinstance(index, int) else place


def _item(row: Mapping[str, Any]) -> str:
    case = mapping(row.get("testCase"))
    return digest(_variables(row), case.get("assert"))


def _variables(row: Mapping[str, Any]) -> dict[str, Any]:
    # Those of the test: a provider may add its own to the row, different in every call.
    case = mapping(row.get("testCase"))
    return mapping(case.get("vars")) or mapping(row.get("vars"))


def _scores(row: Mapping[str, Any]) -> dict[str, Value]:
    scores = {"score": number(row.get("score")), "success": number(row.get("success"))}
    for name, value in mapping(row.get("namedScores")).items():
        scores[f"namedScores.{name}"] = number(value)
    return scores
