"""Every Eval Ever: ``<id>_samples.jsonl`` with a row per scored answer, and ``<id>.json`` with aggregates beside it.

One ``evaluation_id`` is one run. An answer that was scored in several ways has a row for each, distinguished by
``evaluation_result_id``: such ways are filters, of which one is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bbedge.readers.json_files import document_beside
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample
from bbedge.readers.logs.fields import array, digest, error_text, kind_of_error, mapping, number, settings, text
from bbedge.readers.logs.record_log import Record, Records
from bbedge.readers.logs.stated import SampleTally, check_count, compared_mean
from bbedge.text import shown_path

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
        stem = Path(path).name.removesuffix(".gz").removesuffix(".jsonl").removesuffix("_samples")
        said, beside = document_beside(Path(path).parent / f"{stem}.json")
        records = Records(path=path, expected="a row of Every Eval Ever")
        ways: dict[_Key, list[str]] = {}
        for record in records:
            ways.setdefault(_key(record), []).append(text(record.row.get("evaluation_result_id")) or "")
        stated = mapping(said.get("detailed_evaluation_results")).get("total_rows")
        check_count(sum(map(len, ways.values())), stated, place=place, what="rows")
        results = [each for each in array(said.get("evaluation_results")) if isinstance(each, dict)]
        runs = {key: _run(key, said, results, set(of_key)) for key, of_key in ways.items()}
        several = {key for key, of_key in ways.items() if len(set(of_key)) > 1}

        def samples() -> Iterator[Sample]:
            for record in records:
                key = _key(record)
                yield _sample(record, runs[key], several=key in several)

        missing = f"{place} has no file with the aggregates beside it, which would say whether less is better."
        return Log(
            runs=tuple(runs.values()),
            samples=samples,
            counts="line",
            usual_metric="score",
            beside=beside,
            notes=(*(() if beside else (missing,)), *_compared(samples(), results, place)),
        )


def _key(record: Record) -> _Key:
    row = record.row
    evaluation, model = text(row.get("evaluation_id")), text(row.get("model_id"))
    if not evaluation or not model or not isinstance(row.get("evaluation"), dict):
        raise record.lacks("evaluation_id, model_id and evaluation in this row")
    return evaluation, model, text(row.get("evaluation_name")) or ""


def _run(key: _Key, said: Mapping[str, Any], results: list[dict[str, Any]], ways: set[str]) -> Run:
    evaluation, model, name = key
    of_run = [
        each
        for each in results
        if text(each.get("evaluation_result_id")) in ways or text(each.get("evaluation_name")) == name
    ]
    library = mapping(said.get("eval_library"))
    first = next(iter(of_run), {})
    lower = any(mapping(each.get("metric_config")).get("lower_is_better") is True for each in of_run)
    return Run(
        model=model,
        task=name,
        identity=f"{evaluation} {name}",
        when=text(said.get("evaluation_timestamp")) or "",
        protocol=settings({"evaluated with": library.get("name"), "in version": library.get("version")}),
        sampling=settings({"generation arguments": mapping(first.get("generation_config")).get("generation_args")}),
        lower_is_better=frozenset(["score"] if lower else []),
        fields={"source_data": mapping(first.get("source_data"))},
    )


def _sample(record: Record, run: Run, *, several: bool) -> Sample:
    row = record.row
    name = text(row.get("sample_id"))
    if not name:
        raise record.lacks("sample_id")
    error = error_text(row.get("error"))
    evaluation, asked = row["evaluation"], mapping(row.get("input"))
    return Sample(
        run=run,
        item=run.item(name),
        scores={metric: number(evaluation[metric]) for metric in ("score", "is_correct") if metric in evaluation},
        place=record.place,
        filter=(text(row.get("evaluation_result_id")) or "unnamed") if several else None,
        error=error,
        failure=kind_of_error(error),
        fields={"metadata": mapping(row.get("metadata"))},
        content=text(row.get("sample_hash")) or (digest(asked.get("raw"), asked.get("reference")) if asked else None),
    )


def _compared(samples: Iterator[Sample], results: list[dict[str, Any]], place: str) -> Iterator[str]:
    """Notes about means that are not the ones stated, where a run has one aggregate that is a mean of its rows."""
    tallies: dict[int, tuple[Run, SampleTally]] = {}
    for sample in samples:
        if sample.filter is None:
            tallies.setdefault(id(sample.run), (sample.run, SampleTally()))[1].add(sample, "score")
    for run, tally in tallies.values():
        stated = [each for each in results if text(each.get("evaluation_name")) == run.task]
        if len(stated) == 1:
            mean = mapping(stated[0].get("score_details")).get("score")
            yield from compared_mean(tally.mean, mean, place=place, what=f"score of {run.task}")
