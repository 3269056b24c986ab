"""OpenAI evals, the program, and the Evals API of OpenAI."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.json_files import objects
from bbedge.readers.logs import (
    Glimpse,
    Log,
    LogRecord,
    LogRun,
    LogSample,
    Numbering,
    Records,
    Row,
    ToolReader,
    Value,
    array,
    at,
    digest,
    first_value,
    kind_of_error,
    mapping,
    number,
    numbered,
    numbers,
    optional_digest,
    settings,
    stated_means,
    text,
)
from bbedge.text import listed, quoted, shown_path


def _open_openai_evals(path: str) -> Log:
    """Open a log and read its specification."""
    spec = next((row["spec"] for _, row in objects(path) if isinstance(row.get("spec"), dict)), None)
    if spec is None:
        raise FormatError(
            f"{shown_path(path)}:1: no spec in the first line, so that model and run are not known; expected a log "
            "of oaieval"
        )
    run = _run(spec)
    report: dict[str, Any] = {}
    return Log(
        runs=(run,),
        samples=lambda: _samples(path, run, report),
        counts="line",
        # Other numbers of the report need not be means.
        stated=lambda: stated_means(
            ((metric, report.get("accuracy")) for metric in ("match", "accuracy")), where=path, run=run
        ),
    )


OPENAI_EVALS = ToolReader(
    name="openai-evals",
    title="OpenAI evals",
    # By the specification in the first line, or by the keys of an event.
    has_samples=lambda glimpse: (
        "run_id" in mapping(glimpse.first.get("spec")) or glimpse.has("run_id", "event_id", "sample_id", "type")
    ),
    open=_open_openai_evals,
)
"""Reads event logs of OpenAI evals since its first release: JSON lines that begin with the run's specification.

A sample's scores are spread over events of type ``match`` and ``metrics``; they are put together per ``sample_id``.
"""


def _run(spec: Row) -> LogRun:
    # Until April 2023 an eval names models, not functions that complete a prompt.
    lists = (spec.get("completion_fns"), at(spec, "model_names", "completions"))
    return LogRun(
        model=",".join(next(filter(None, ([name for name in map(text, array(found)) if name] for found in lists)), []))
        or text(spec.get("model_name"))
        or text(at(spec, "model", "model"))
        or text(spec.get("model"))
        or None,
        task=text(spec.get("base_eval")) or text(spec.get("eval_name")) or "",
        identity=text(spec.get("run_id")) or "",
        when=text(spec.get("created_at")) or "",
        # The seed of the configuration shuffles the samples and is not sent to the model.
        protocol=settings(
            {
                "eval": spec.get("eval_name"),
                "split": spec.get("split"),
                "most samples": at(spec, "run_config", "max_samples"),
            }
        ),
        fields={"spec": spec},
    )


def _samples(path: str, run: LogRun, report: dict[str, Any]) -> Iterator[LogSample]:
    # Kept until the end, because a sample's events need not follow each other; prompts and answers are not kept.
    samples: dict[str, LogSample] = {}
    sent: dict[str, tuple[float, str]] = {}
    for record in Records(path=path, expected="an event of OpenAI evals"):
        row, data, kind = record.row, mapping(record.row.get("data")), record.row.get("type")
        if text(row.get("sample_id")) is None:
            report.update(mapping(row.get("final_report")))
            continue
        name = record.item("sample_id", what="sample_id")
        # A sample without a score is one whose events are not all there.
        new = LogSample(run=run, item=name, scores={}, place=record.place, failure="unknown", as_sent=True)
        sample = samples.setdefault(name, new)
        if kind == "raw_sample":
            samples[name] = replace(sample, content=digest(data), as_sent=False)
        elif kind == "sampling":
            first = (float(number(row.get("event_id")) or 0), digest(data.get("prompt")))
            sent[name] = min(first, sent.get(name, first))
            samples[name] = replace(sample, content=sent[name][1]) if sample.as_sent else sample
        elif kind == "error":
            error = text(data.get("message")) or text(data.get("type")) or "error"
            samples[name] = replace(sample, error=error, failure=kind_of_error(error))
        elif kind in ("match", "metrics"):
            found = {"match": number(data.get("correct"))} if kind == "match" else numbers(data)
            twice = next((metric for metric in found if metric in sample.scores), None)
            if twice is not None:
                raise FormatError(
                    f"{record.at}: a second {quoted(twice)} for sample {quoted(name)}, first scored at line "
                    f"{sample.place}; one log is one run: keep runs in separate logs"
                )
            samples[name] = replace(sample, scores={**sample.scores, **found}, place=record.place)
    yield from samples.values()


_ITEM = ("item", "datasource_item")
_INDEX = ("data_source_idx", "datasource_item_id")
_MODEL = ("sampled_model_name", "model")
_SETTINGS = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "reasoning_effort")
_PASSED = ".passed"


def _is_page(glimpse: Glimpse) -> bool:
    return bool(glimpse.first.get("object") == "list")


def _open_openai_api(path: str) -> Log:
    """Open output items; they are read once to see which runs there are."""
    under = ("data",) if _is_page(Glimpse.of(path)) else None
    expected = "an output item of the OpenAI Evals API"
    records = Records(path=path, expected=expected, under=under, keep=("has_more",)).or_array()
    described: dict[str, tuple[str | None, Row]] = {}
    graders: dict[str, None] = {}
    copies = Numbering(unique=True)
    for record in records:
        row, name = record.row, record.name("run_id")
        model = _model(row)
        known = described.get(name, (None, row))[0]
        if model is not None and known not in (None, model):
            raise FormatError(
                f"{record.at}: run {quoted(name)} has answers of {listed(sorted([known or '', model]))}; expected "
                "one model per run: separate their items"
            )
        # A sample that failed may say nothing about its settings.
        if model is not None or name not in described:
            described[name] = (model, row)
        graders.update(dict.fromkeys(each for each in _scores(row) if not each.endswith(_PASSED)))
        if not _item(row):
            raise record.lacks("item")
        content, index = _place_in_data(row)
        copies.add((name, content), index)
    if records.head.get("has_more") is True:
        raise FormatError(
            f"{shown_path(path)}: has_more says that the page ends before the run does; put all items of the run "
            "into one file, one per line"
        )
    if not described:
        raise records.lack("records in the file")
    runs = {name: _described_run(name, model, row) for name, (model, row) in described.items()}
    return Log(
        runs=tuple(runs.values()),
        samples=lambda: (_output_item(record, runs[record.name("run_id")], copies) for record in records),
        counts=records.counts,
        usual_metric=next(iter(graders)) if len(graders) == 1 else None,
    )


OPENAI_API = ToolReader(
    name="openai-api",
    title="OpenAI Evals API",
    # By the keys of an item, or by what the API calls it.
    has_samples=lambda glimpse: (
        glimpse.has("run_id", "item", "sample", "grades", "passes")
        or glimpse.has("run_id", "datasource_item", "results")
        or (_is_page(glimpse) and glimpse.has("data") and b'"eval.run.output_item"' in glimpse.head)
    ),
    open=_open_openai_api,
)
"""Reads output items of the OpenAI Evals API, exported as JSON lines or listed by the API.

An export has ``grades`` and ``passes`` by grader; the API has a list of ``results`` and wraps a page of items in an
object. A run asks every question once, so that the runs of a model are its replicates.
"""


def _model(row: Row) -> str | None:
    return next((text(found) for key in _MODEL if (found := at(row, "sample", key))), None)


def _described_run(name: str, model: str | None, row: Row) -> LogRun:
    """A run, as one of its items describes it."""
    used = mapping(at(row, "sample", "sampled_model_params")) or mapping(row.get("sample"))
    created = number(row.get("created_at"))
    return LogRun(
        model=model,
        task=text(row.get("eval_id")) or "",
        identity=name,
        when="" if created is None else f"{float(created):020.6f}",
        seed=text(used.get("seed")),
        sampling=settings({key.replace("_", " "): used.get(key) for key in _SETTINGS}),
    )


def _place_in_data(row: Row) -> tuple[str, tuple[int, str]]:
    """The content of an item, and its position in the data as something that sorts by number."""
    index = text(first_value(row, *_INDEX)) or ""
    return digest(_item(row)), (len(index), index)


def _item(row: Row) -> dict[str, Any]:
    return mapping(first_value(row, *_ITEM))


def _output_item(record: LogRecord, run: LogRun, copies: Numbering) -> LogSample:
    row = record.row
    content, index = _place_in_data(row)
    message = _message(at(row, "sample", "error"))
    error = "error" if message is None and row.get("status") == "error" else message
    return LogSample(
        run=run,
        # Items with the same content are numbered by their positions in the data, not in the file.
        item=run.item(numbered(content, copies.number((run.identity, content), index))),
        scores=_scores(row),
        place=record.place,
        error=error,
        failure="refusal" if at(row, "sample", "finish_reason") == "content_filter" else kind_of_error(error),
        fields={"item": _item(row)},
        prompt=optional_digest(at(row, "sample", "trajectory") or at(row, "sample", "input")),
    )


def _scores(row: Row) -> dict[str, Value]:
    """The grade of every grader, and whether it is a pass."""
    scores: dict[str, Value] = {str(name): number(value) for name, value in mapping(row.get("grades")).items()}
    passes = mapping(row.get("passes"))
    for result in map(mapping, array(row.get("results"))):
        name = text(result.get("name"))
        # A grader that is a model may fail like one; what stands in its place is no grade.
        failed = _message(at(result, "sample", "error")) is not None
        if name is not None:
            scores[name] = None if failed else number(result.get("score"))
            passes = {**passes, name: None if failed else result.get("passed")}
    return scores | {f"{name}{_PASSED}": number(passed) for name, passed in passes.items()}


def _message(error: object) -> str | None:
    """What an error says; the API also writes an object whose texts are empty."""
    if isinstance(error, dict):
        return ": ".join(filter(None, (text(error.get("code")), text(error.get("message"))))) or None
    return text(error) or None
