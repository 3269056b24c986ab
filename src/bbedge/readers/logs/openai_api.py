"""OpenAI Evals API: output items of runs, exported as JSON lines or listed by the API.

An export has ``grades`` and ``passes`` by grader; the API has a list of ``results`` and wraps a page of items in an
object. A run asks every question once, so that the runs of a model are its replicates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.incomplete import ErrorKind
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample, Value
from bbedge.readers.logs.failures import kind_of_error
from bbedge.readers.logs.fields import digest, mapping, number, settings, text
from bbedge.readers.logs.files import JsonStream
from bbedge.readers.logs.records import Records
from bbedge.readers.opening import opened
from bbedge.text import listed, quoted, shown_path

_ITEM = ("item", "datasource_item")
_INDEX = ("data_source_idx", "datasource_item_id")
_MODEL = ("sampled_model_name", "model")
_OBJECT = "eval.run.output_item"
_PASSED = ".passed"
_Copies = dict[tuple[str, str], dict[str, int]]


class OpenAiApi:
    """Reads output items of the OpenAI Evals API."""

    name = "openai-api"
    title = "OpenAI Evals API"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the keys of an item, or by what the API calls it."""
        if glimpse.has("run_id", "item", "sample", "grades", "passes"):
            return "samples"
        if glimpse.has("run_id", "datasource_item", "results"):
            return "samples"
        page = glimpse.first.get("object") == "list" and glimpse.has("data")
        return "samples" if page and f'"{_OBJECT}"'.encode() in glimpse.head else "no"

    def open(self, path: str) -> Log:
        """Open output items; they are read once to see which runs there are."""
        page = Glimpse.of(path).first.get("object") == "list"
        records = Records.of(path, expected="an output item of the OpenAI Evals API", page=page)
        if page and _has_more(path):
            raise FormatError(
                f"{shown_path(path)}: has_more says that the page ends before the run does; put all items of the run "
                "into one file, one per line"
            )
        book = _Book(records)
        for place, row in records:
            book.add(row, place)
        if not book.models:
            raise records.none()
        book.number_copies()
        runs = {name: book.run(name) for name in book.models}
        return Log(
            runs=tuple(runs.values()),
            samples=lambda: _samples(records, runs, book.copies),
            counts=records.counts,
            usual_metric=next(iter(book.graders)) if len(book.graders) == 1 else None,
        )


def _has_more(path: str) -> bool:
    more = False
    with opened(path) as file:
        stream = JsonStream(file, shown_path(path))
        for key in stream.entries():
            if key == "has_more":
                more = stream.value() is True
    return more


class _Book:
    """The runs in a file, and which of their items have the same content."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self.models: dict[str, set[str]] = {}
        self.graders: dict[str, None] = {}
        self.copies: _Copies = {}
        self._of_run: dict[str, Mapping[str, Any]] = {}

    def add(self, row: Mapping[str, Any], place: int) -> None:
        """Remember one item."""
        name = self._records.name(row, place, "run_id")
        sample = mapping(row.get("sample"))
        model = next((text(sample[key]) for key in _MODEL if sample.get(key)), None)
        models = self.models.setdefault(name, set())
        if model is not None:
            models.add(model)
        if len(models) > 1:
            raise FormatError(
                f"{self._records.at(place)}: run {quoted(name)} has answers of {listed(sorted(models))}; expected one "
                "model per run: separate their items"
            )
        # A sample that failed may say nothing about its settings.
        if model is not None or name not in self._of_run:
            self._of_run[name] = row
        self.graders.update(dict.fromkeys(each for each in _scores(row) if not each.endswith(_PASSED)))
        if not _item(row):
            raise FormatError(f"{self._records.at(place)}: no item; expected {self._records.expected}")
        self.copies.setdefault((name, _content(row)), {})[_index(row)] = 1

    def number_copies(self) -> None:
        """Number the items with the same content by their positions in the data, not in the file."""
        for known in self.copies.values():
            for copy, index in enumerate(sorted(known, key=_by_number), start=1):
                known[index] = copy

    def run(self, name: str) -> Run:
        """A run, as its items describe it."""
        row = self._of_run[name]
        sample = mapping(row.get("sample"))
        used = mapping(sample.get("sampled_model_params")) or sample
        created = number(row.get("created_at"))
        return Run(
            model=next(iter(self.models[name]), None),
            task=text(row.get("eval_id")) or "",
            identity=name,
            when="" if created is None else f"{float(created):020.6f}",
            seed=text(used.get("seed")),
            sampling=settings(
                {
                    key.replace("_", " "): used.get(key)
                    for key in ("temperature", "top_p", "max_tokens", "max_completion_tokens", "reasoning_effort")
                }
            ),
        )


def _samples(records: Records, runs: Mapping[str, Run], copies: _Copies) -> Iterator[Sample]:
    for place, row in records:
        name = records.name(row, place, "run_id")
        run, content, sample = runs[name], _content(row), mapping(row.get("sample"))
        copy = copies[name, content][_index(row)]
        prefix = f"{run.task}/" if run.task else ""
        error = _error(row)
        asked = sample.get("trajectory") or sample.get("input")
        yield Sample(
            run=run,
            item=f"{prefix}{content}" + (f"#{copy}" if copy > 1 else ""),
            scores=_scores(row),
            place=place,
            error=error,
            failure=_failure(sample, error),
            fields={"item": _item(row)},
            prompt=None if asked is None else digest(asked),
        )


def _item(row: Mapping[str, Any]) -> dict[str, Any]:
    return next((mapping(row[key]) for key in _ITEM if row.get(key) is not None), {})


def _content(row: Mapping[str, Any]) -> str:
    return digest(_item(row))


def _index(row: Mapping[str, Any]) -> str:
    return next((text(row[key]) or "" for key in _INDEX if row.get(key) is not None), "")


def _by_number(index: str) -> tuple[int, str]:
    return len(index), index


def _scores(row: Mapping[str, Any]) -> dict[str, Value]:
    """The grade of every grader, and whether it is a pass."""
    scores: dict[str, Value] = {str(name): number(value) for name, value in mapping(row.get("grades")).items()}
    passes = mapping(row.get("passes"))
    results = row.get("results")
    for result in map(mapping, results if isinstance(results, list) else []):
        name = text(result.get("name"))
        if name is None:
            continue
        # A grader that is a model may fail like one; what stands in its place is no grade.
        failed = _message(mapping(result.get("sample")).get("error")) is not None
        scores[name] = None if failed else number(result.get("score"))
        passes = {**passes, name: None if failed else result.get("passed")}
    return scores | {f"{name}{_PASSED}": number(passed) for name, passed in passes.items()}


def _error(row: Mapping[str, Any]) -> str | None:
    message = _message(mapping(row.get("sample")).get("error"))
    return "error" if message is None and row.get("status") == "error" else message


def _message(error: object) -> str | None:
    """What an error says; the API also writes an object whose texts are empty."""
    if isinstance(error, dict):
        parts = [found for found in (text(error.get("code")), text(error.get("message"))) if found]
        return ": ".join(parts) or None
    return text(error) or None


def _failure(sample: Mapping[str, Any], error: str | None) -> ErrorKind | None:
    if sample.get("finish_reason") == "content_filter":
        return "refusal"
    return None if error is None else kind_of_error(error)
