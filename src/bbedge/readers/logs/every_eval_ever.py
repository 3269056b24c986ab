"""Every Eval Ever: ``<id>_samples.jsonl`` with a row per scored answer, and ``<id>.json`` with aggregates beside it.

One ``evaluation_id`` is one run. An answer that was scored in several ways has a row for each, distinguished by
``evaluation_result_id``: such ways are filters, of which one is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample
from bbedge.readers.logs.failures import kind_of_error
from bbedge.readers.logs.fields import digest, mapping, number, settings, text
from bbedge.readers.logs.files import document, objects
from bbedge.readers.logs.stated import Tally, check_count, compared_mean
from bbedge.text import shown_path

_SUFFIX = "_samples"
# The evaluation, the model and the name of the benchmark.
_Key = tuple[str, str, str]


class EveryEvalEver:
    """Reads rows of the instance-level schema of Every Eval Ever 0.2 and 0.3."""

    name = "every-eval-ever"
    title = "Every Eval Ever"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the keys of the first row, or of the aggregates."""
        if glimpse.has("evaluation_id", "model_id", "sample_id", "evaluation"):
            return "samples"
        return "beside" if glimpse.has("evaluation_id", "evaluation_results", "model_info") else "no"

    def open(self, path: str) -> Log:
        """Open rows and read the aggregates beside them; the rows are read once to see which runs there are."""
        place = shown_path(path)
        beside = _aggregates(path)
        said = document(beside) if beside else {}
        ways: dict[_Key, dict[str, None]] = {}
        rows = 0
        for line, row in objects(path):
            rows += 1
            ways.setdefault(_key(row, f"{place}:{line}"), {})[text(row.get("evaluation_result_id")) or ""] = None
        check_count(rows, mapping(said.get("detailed_evaluation_results")).get("total_rows"), place=place, what="rows")
        runs = {key: _run(key, said, of_key) for key, of_key in ways.items()}
        several = {key for key, of_key in ways.items() if len(of_key) > 1}

        def samples() -> Iterator[Sample]:
            return _samples(path, runs, several)

        missing = f"{place} has no file with the aggregates beside it, which would say whether less is better."
        return Log(
            runs=tuple(runs.values()),
            samples=samples,
            counts="line",
            usual_metric="score",
            beside=(beside,) if beside else (),
            notes=(*(() if beside else (missing,)), *_compared(samples(), said, place)),
        )


def _aggregates(path: str) -> str | None:
    name = Path(path).name.removesuffix(".gz").removesuffix(".jsonl")
    beside = Path(path).parent / f"{name.removesuffix(_SUFFIX)}.json"
    return str(beside) if beside.is_file() else None


def _key(row: Mapping[str, Any], where: str) -> _Key:
    evaluation, model = text(row.get("evaluation_id")), text(row.get("model_id"))
    if not evaluation or not model or not isinstance(row.get("evaluation"), dict):
        raise FormatError(
            f"{where}: no evaluation_id, model_id and evaluation in this row; expected a row of Every Eval Ever"
        )
    return evaluation, model, text(row.get("evaluation_name")) or ""


def _results(said: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = said.get("evaluation_results")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _run(key: _Key, said: Mapping[str, Any], ways: Mapping[str, None]) -> Run:
    evaluation, model, name = key
    of_run = [
        each
        for each in _results(said)
        if text(each.get("evaluation_result_id")) in ways or text(each.get("evaluation_name")) == name
    ]
    library = mapping(said.get("eval_library"))
    first: Mapping[str, Any] = of_run[0] if of_run else {}
    return Run(
        model=model,
        task=name,
        identity=f"{evaluation} {name}",
        when=text(said.get("evaluation_timestamp")) or "",
        protocol=settings({"evaluated with": library.get("name"), "in version": library.get("version")}),
        sampling=settings({"generation arguments": mapping(first.get("generation_config")).get("generation_args")}),
        lower_is_better=frozenset(["score"]) if any(map(_is_lower, of_run)) else frozenset(),
        fields={"source_data": mapping(first.get("source_data"))},
    )


def _is_lower(result: Mapping[str, Any]) -> bool:
    return mapping(result.get("metric_config")).get("lower_is_better") is True


def _samples(path: str, runs: Mapping[_Key, Run], several: set[_Key]) -> Iterator[Sample]:
    for line, row in objects(path):
        where = f"{shown_path(path)}:{line}"
        key = _key(row, where)
        name = text(row.get("sample_id"))
        if not name:
            raise FormatError(f"{where}: no sample_id; expected a row of Every Eval Ever")
        failed = row.get("error")
        error = None if failed is None else text(failed) or "error"
        evaluation, asked = mapping(row["evaluation"]), mapping(row.get("input"))
        yield Sample(
            run=runs[key],
            item=f"{key[2]}/{name}" if key[2] else name,
            scores={metric: number(evaluation[metric]) for metric in ("score", "is_correct") if metric in evaluation},
            place=line,
            filter=(text(row.get("evaluation_result_id")) or "unnamed") if key in several else None,
            error=error,
            failure=None if error is None else kind_of_error(error),
            fields={"metadata": mapping(row.get("metadata"))},
            content=text(row.get("sample_hash"))
            or (digest(asked.get("raw"), asked.get("reference")) if asked else None),
        )


def _compared(samples: Iterator[Sample], said: Mapping[str, Any], place: str) -> Iterator[str]:
    """Notes about means that are not the ones stated, where a run has one aggregate that is a mean of its rows."""
    tallies: dict[int, tuple[Run, Tally]] = {}
    for sample in samples:
        if sample.filter is None:
            tallies.setdefault(id(sample.run), (sample.run, Tally()))[1].add(sample, "score")
    for run, tally in tallies.values():
        stated = [
            mapping(each.get("score_details")).get("score")
            for each in _results(said)
            if text(each.get("evaluation_name")) == run.task
        ]
        if len(stated) == 1:
            yield from compared_mean(tally.mean, stated[0], place=place, what=f"score of {run.task}")
