"""Rows of scored answers, with a description of the run beside them: NeMo Evaluator, Every Eval Ever, MLflow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.assemble.grid import grouped
from bbedge.readers.choices import ErrorKind
from bbedge.readers.json_files import document_beside
from bbedge.readers.logs.contract import Glimpse, Log, LogRun, LogSample, Recognition, ToolReader, Value
from bbedge.readers.logs.fields import (
    array,
    digest,
    error_text,
    kind_of_error,
    mapping,
    number,
    numbers,
    settings,
    text,
)
from bbedge.readers.logs.record_log import LogRecord, Records
from bbedge.readers.logs.stated import SampleTally, check_count, compared_mean, tallied
from bbedge.text import listed, quoted, shown_path

_NEMO_RESULTS = "results.jsonl"
_NEMO_SAMPLING = ("temperature", "top_p", "max_tokens", "system_prompt")


def _is_nemo_evaluator(glimpse: Glimpse) -> Recognition:
    """By the keys of the first row, or of the bundle."""
    if glimpse.has("problem_idx"):
        # What was done step by step has the same rows, without what describes the problems.
        if glimpse.name != _NEMO_RESULTS and (Path(glimpse.path).parent / _NEMO_RESULTS).is_file():
            return "beside"
        return "samples" if glimpse.has("reward") else "no"
    benchmark = mapping(glimpse.first.get("benchmark"))
    return "beside" if glimpse.has("config") and "name" in benchmark and "scores" in benchmark else "no"


def _open_nemo_evaluator(path: str) -> Log:
    """Open results, and read the bundle beside them."""
    place = shown_path(path)
    # A run that is repeated writes a bundle of its own and replaces the results.
    bundle, beside = document_beside(max(Path(path).parent.glob("eval-*.json"), key=str, default=None))
    config, benchmark = mapping(bundle.get("config")), mapping(bundle.get("benchmark"))
    run = LogRun(
        model=text(config.get("model")),
        task=text(benchmark.get("name")) or "",
        identity=text(bundle.get("run_id")) or "",
        when=text(bundle.get("timestamp")) or "",
        seed=text(config.get("seed")) if benchmark.get("repeats") in (None, 1) else None,
        protocol=settings(
            {
                "NeMo Evaluator version": bundle.get("sdk_version"),
                "most problems": config.get("max_problems"),
                "shuffle seed": config.get("shuffle_seed"),
            }
        ),
        sampling=settings({name: config.get(name) for name in _NEMO_SAMPLING}),
        fields={"config": config} if config else {},
    )
    tally = tallied(_nemo_samples(path, run), "reward")["reward"]
    check_count(tally.samples, bundle.get("n_results"), place=place, what="rows")
    check_count(len(tally.items), benchmark.get("samples"), place=place, what="problems")
    stated = mapping(mapping(benchmark.get("scores")).get("mean_reward")).get("value")
    missing = f"{place} has no eval-<time>-<benchmark>.json beside it, which would name the model and the benchmark."
    return Log(
        runs=(run,),
        samples=lambda: _nemo_samples(path, run),
        counts="line",
        usual_metric="reward",
        beside=beside,
        notes=(
            *(() if bundle else (missing,)),
            *compared_mean(tally.mean_with_failures, stated, place=place, what="reward"),
        ),
    )


NEMO_EVALUATOR = ToolReader(
    name="nemo-evaluator", title="NeMo Evaluator", recognises=_is_nemo_evaluator, open=_open_nemo_evaluator
)
"""Reads results of NeMo Evaluator.

``results.jsonl`` has a row per problem and repeat, and ``eval-<time>-<benchmark>.json`` stands beside it. A problem
that could not be asked or scored has a reward of 0; the row's details say so, and such a row has no score here.
"""


def _nemo_samples(path: str, run: LogRun) -> Iterator[LogSample]:
    for record in Records(path=path, expected="a row of NeMo Evaluator"):
        row = record.row
        problem = text(row.get("problem_idx"))
        if not problem or "reward" not in row:
            raise record.lacks("problem_idx and reward in this row")
        details = mapping(row.get("scoring_details"))
        error, failure = _nemo_failure(details)
        answer, asked = row.get("expected_answer"), row.get("prompt")
        yield LogSample(
            run=run,
            item=run.item(problem),
            scores={"reward": number(row["reward"]), **numbers(mapping(row.get("scorer_rewards")))},
            place=record.place,
            # Without a number there is one repeat.
            repeat=text(row.get("repeat")) or "0",
            error=error,
            failure=failure,
            fields={
                "metadata": mapping(row.get("metadata")),
                "scoring_details": {"category": details["category"]} if "category" in details else {},
            },
            # The template of the prompt may be what is compared.
            content=None if answer is None else digest(answer),
            prompt=None if asked is None else digest(asked),
        )


def _nemo_failure(details: Mapping[str, Any]) -> tuple[str | None, ErrorKind | None]:
    """What went wrong on the way to the score, and its kind."""
    error = error_text(details.get("error"))
    judged = error_text(mapping(details.get("judge")).get("error"), "the judge failed")
    return (error, kind_of_error(error)) if error is not None or judged is None else (judged, "judge")


# The evaluation, the model and the name of the benchmark.
_EeeKey = tuple[str, str, str]


def _is_every_eval_ever(glimpse: Glimpse) -> Recognition:
    """By the keys of the first row, or of the aggregates."""
    if glimpse.has("evaluation_id", "model_id", "sample_id", "evaluation"):
        return "samples"
    return "beside" if glimpse.has("evaluation_id", "evaluation_results", "model_info") else "no"


def _open_every_eval_ever(path: str) -> Log:
    """Open rows and read the aggregates beside them; the rows are read once to see which runs there are."""
    place = shown_path(path)
    stem = Path(path).name.removesuffix(".gz").removesuffix(".jsonl").removesuffix("_samples")
    said, beside = document_beside(Path(path).parent / f"{stem}.json")
    records = Records(path=path, expected="a row of Every Eval Ever")
    ways = grouped((_eee_key(record), text(record.row.get("evaluation_result_id")) or "") for record in records)
    stated = mapping(said.get("detailed_evaluation_results")).get("total_rows")
    check_count(sum(map(len, ways.values())), stated, place=place, what="rows")
    results = [each for each in array(said.get("evaluation_results")) if isinstance(each, dict)]
    runs = {key: _eee_run(key, said, results, set(of_key)) for key, of_key in ways.items()}
    several = {key for key, of_key in ways.items() if len(set(of_key)) > 1}

    def samples() -> Iterator[LogSample]:
        for record in records:
            key = _eee_key(record)
            yield _eee_sample(record, runs[key], several=key in several)

    missing = f"{place} has no file with the aggregates beside it, which would say whether less is better."
    return Log(
        runs=tuple(runs.values()),
        samples=samples,
        counts="line",
        usual_metric="score",
        beside=beside,
        notes=(*(() if beside else (missing,)), *_eee_compared(samples(), results, place)),
    )


EVERY_EVAL_EVER = ToolReader(
    name="every-eval-ever", title="Every Eval Ever", recognises=_is_every_eval_ever, open=_open_every_eval_ever
)
"""Reads rows of the instance-level schema of Every Eval Ever 0.2 and 0.3.

``<id>_samples.jsonl`` has a row per scored answer, and ``<id>.json`` with aggregates stands beside it. One
``evaluation_id`` is one run. An answer that was scored in several ways has a row for each, distinguished by
``evaluation_result_id``: such ways are filters, of which one is chosen.
"""


def _eee_key(record: LogRecord) -> _EeeKey:
    row = record.row
    evaluation, model = text(row.get("evaluation_id")), text(row.get("model_id"))
    if not evaluation or not model or not isinstance(row.get("evaluation"), dict):
        raise record.lacks("evaluation_id, model_id and evaluation in this row")
    return evaluation, model, text(row.get("evaluation_name")) or ""


def _eee_run(key: _EeeKey, said: Mapping[str, Any], results: list[dict[str, Any]], ways: set[str]) -> LogRun:
    evaluation, model, name = key
    of_run = [
        each
        for each in results
        if text(each.get("evaluation_result_id")) in ways or text(each.get("evaluation_name")) == name
    ]
    library = mapping(said.get("eval_library"))
    first = next(iter(of_run), {})
    lower = any(mapping(each.get("metric_config")).get("lower_is_better") is True for each in of_run)
    return LogRun(
        model=model,
        task=name,
        identity=f"{evaluation} {name}",
        when=text(said.get("evaluation_timestamp")) or "",
        protocol=settings({"evaluated with": library.get("name"), "in version": library.get("version")}),
        sampling=settings({"generation arguments": mapping(first.get("generation_config")).get("generation_args")}),
        lower_is_better=frozenset(["score"] if lower else []),
        fields={"source_data": mapping(first.get("source_data"))},
    )


def _eee_sample(record: LogRecord, run: LogRun, *, several: bool) -> LogSample:
    row = record.row
    name = text(row.get("sample_id"))
    if not name:
        raise record.lacks("sample_id")
    error = error_text(row.get("error"))
    evaluation, asked = row["evaluation"], mapping(row.get("input"))
    return LogSample(
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


def _eee_compared(samples: Iterator[LogSample], results: list[dict[str, Any]], place: str) -> Iterator[str]:
    """Notes about means that are not the ones stated, where a run has one aggregate that is a mean of its rows."""
    tallies: dict[int, tuple[LogRun, SampleTally]] = {}
    for sample in samples:
        if sample.filter is None:
            tallies.setdefault(id(sample.run), (sample.run, SampleTally()))[1].add(sample, "score")
    for run, tally in tallies.values():
        stated = [each for each in results if text(each.get("evaluation_name")) == run.task]
        if len(stated) == 1:
            mean = mapping(stated[0].get("score_details")).get("score")
            yield from compared_mean(tally.mean, mean, place=place, what=f"score of {run.task}")


_TABLE_SCORE = "/score"
_TABLE_QUESTION = ("inputs", "input", "request", "question", "questions", "query", "prompt")
_TABLE_TARGET = ("ground_truth", "targets", "target", "expected_response")
# Of which MLflow itself says that more is not better.
_TABLE_LOWER = ("toxicity/", "flesch_kincaid_grade_level/", "ari_grade_level/")


def _is_mlflow(glimpse: Glimpse) -> Recognition:
    """By the names of the columns; where these follow the data, by the name of the file."""
    if not glimpse.has("data"):
        return "no"
    columns = glimpse.first.get("columns")
    if columns is None:
        return "samples" if glimpse.name.removesuffix(".gz") == "eval_results_table.json" else "no"
    scored = any(isinstance(name, str) and name.endswith(_TABLE_SCORE) for name in array(columns))
    return "samples" if scored else "no"


def _open_mlflow(path: str) -> Log:
    """Open a table; it is read once for its columns."""
    records = Records(path=path, expected="a table of MLflow", under=("data",), keep=("columns",))
    columns = _table_columns(records)
    if not any(name in columns for name in _TABLE_QUESTION):
        raise FormatError(
            f"{shown_path(path)}: no column that holds the question, so that items have no name; expected one of "
            f"{listed(_TABLE_QUESTION, limit=10)}: rename the column of the data that is evaluated"
        )
    lower = frozenset(name for name in columns if name.endswith(_TABLE_SCORE) and name.startswith(_TABLE_LOWER))
    run = LogRun(model=None, lower_is_better=lower)
    return Log(runs=(run,), samples=lambda: _table_samples(records, run, columns))


MLFLOW = ToolReader(name="mlflow", title="MLflow", recognises=_is_mlflow, open=_open_mlflow)
"""Reads evaluation tables of MLflow 2.

``eval_results_table.json`` is the table that ``mlflow.evaluate`` logs as an artifact. A row is one question and its
answer, with a column ``<metric>/<version>/score`` for each metric. Neither the model nor the run is named in it.
"""


def _table_columns(records: Records) -> list[str]:
    for _ in records.rows():
        pass
    columns = records.head.get("columns")
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise records.lack("list of columns")
    repeated = [name for name, count in Counter(columns).items() if count > 1]
    if repeated:
        raise FormatError(
            f"{shown_path(records.path)}: column {listed(repeated)} appears more than once; rename one of them"
        )
    return columns


def _table_samples(records: Records, run: LogRun, columns: Sequence[str]) -> Iterator[LogSample]:
    asked = [name for name in (*_TABLE_QUESTION, *_TABLE_TARGET) if name in columns]
    for record in records.loose():
        if not isinstance(record.found, list) or len(record.found) != len(columns):
            raise FormatError(f"{record.at}: not a row of {len(columns)} values; expected {record.source.expected}")
        values = dict(zip(columns, record.found, strict=True))
        yield LogSample(
            run=run,
            item=digest([values[name] for name in asked]),
            # A judge that failed leaves null, and says so in the column of justifications.
            scores={
                name: _table_score(value, name, record.at)
                for name, value in values.items()
                if name.endswith(_TABLE_SCORE)
            },
            place=record.place,
            fields={"row": {name: value for name, value in values.items() if not name.endswith(_TABLE_SCORE)}},
        )


def _table_score(value: object, name: str, where: str) -> Value:
    if value is not None and not isinstance(value, bool | int | float):
        raise FormatError(f"{where}: {quoted(name)} is {quoted(str(value))}; expected a number or null")
    return number(value)
