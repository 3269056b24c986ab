"""Rows of scored answers: specs of NeMo Evaluator, Every Eval Ever, MLflow and ZeroEval."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.logs import (
    Failed,
    Glimpse,
    LogRecord,
    LogRun,
    LogSample,
    RecordLog,
    Records,
    Row,
    SampleTally,
    SeenLog,
    ToolReader,
    Value,
    array,
    at,
    check_count,
    compared_mean,
    digest,
    error_text,
    failed_with,
    mapping,
    number,
    numbers,
    optional_digest,
    settings,
    tallied,
    text,
)
from bbedge.text import listed, quoted

_NEMO_RESULTS = "results.jsonl"
_ZERO_NO_ANSWER = "No answer extracted"


def _is_nemo_steps(glimpse: Glimpse) -> bool:
    """What was done step by step has the same rows as the results, without what describes the problems."""
    results = Path(glimpse.path).parent / _NEMO_RESULTS
    return glimpse.has("problem_idx") and glimpse.name != _NEMO_RESULTS and results.is_file()


def _nemo_run(seen: SeenLog) -> LogRun:
    bundle = seen.records.said
    config, benchmark = mapping(bundle.get("config")), mapping(bundle.get("benchmark"))
    return LogRun(
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
        sampling=settings({name: config.get(name) for name in ("temperature", "top_p", "max_tokens", "system_prompt")}),
        fields={"config": config} if config else {},
    )


def _nemo_failed(row: Row) -> Failed:
    """What went wrong on the way to the score, and its kind."""
    error = failed_with(at(row, "scoring_details", "error"))
    judged = error_text(at(row, "scoring_details", "judge", "error"), "the judge failed")
    return error if error[0] is not None or judged is None else (judged, "judge")


def _nemo_fields(record: LogRecord) -> dict[str, Any]:
    details = mapping(record.row.get("scoring_details"))
    return {
        "metadata": mapping(record.row.get("metadata")),
        "scoring_details": {"category": details["category"]} if "category" in details else {},
    }


def _nemo_notes(seen: SeenLog, samples: Callable[[], Iterator[LogSample]]) -> tuple[str, ...]:
    tally, said, place = tallied(samples(), "reward")["reward"], seen.records.said, seen.records.place
    check_count(tally.samples, said.get("n_results"), place=place, what="rows")
    check_count(len(tally.items), at(said, "benchmark", "samples"), place=place, what="problems")
    stated = at(said, "benchmark", "scores", "mean_reward", "value")
    return compared_mean(tally.mean_with_failures, stated, place=place, what="reward")


NEMO_EVALUATOR = ToolReader(
    name="nemo-evaluator",
    title="NeMo Evaluator",
    has_samples=lambda glimpse: glimpse.has("problem_idx", "reward") and not _is_nemo_steps(glimpse),
    stands_beside=lambda glimpse: (
        _is_nemo_steps(glimpse)
        or (glimpse.has("config") and {"name", "scores"} <= mapping(glimpse.first.get("benchmark")).keys())
    ),
    open=RecordLog(
        records=lambda path: Records(path=path, expected="a row of NeMo Evaluator"),
        # A run that is repeated writes a bundle of its own and replaces the results.
        described_by=lambda path: max(path.parent.glob("eval-*.json"), key=str, default=None),
        undescribed="eval-<time>-<benchmark>.json beside it, which would name the model and the benchmark",
        runs=_nemo_run,
        item=lambda record, run: run.item(
            record.item("problem_idx", "reward", what="problem_idx and reward in this row")
        ),
        scores=lambda record: {
            "reward": number(record.row["reward"]),
            **numbers(mapping(record.row.get("scorer_rewards"))),
        },
        # Without a number there is one repeat.
        repeat=lambda record: text(record.row.get("repeat")) or "0",
        failed=_nemo_failed,
        fields=_nemo_fields,
        # The template of the prompt may be what is compared.
        content=lambda record: optional_digest(record.row.get("expected_answer")),
        prompt=lambda row: optional_digest(row.get("prompt")),
        notes=_nemo_notes,
        usual_metric="reward",
    ).open,
)
"""Reads results of NeMo Evaluator.

``results.jsonl`` has a row per problem and repeat, and ``eval-<time>-<benchmark>.json`` stands beside it. A problem
that could not be asked or scored has a reward of 0; the row's details say so, and such a row has no score here.
"""


def _eee_key(record: LogRecord) -> tuple[str, str, str]:
    """The evaluation, the model and the name of the benchmark."""
    row = record.row
    evaluation, model = text(row.get("evaluation_id")), text(row.get("model_id"))
    if not evaluation or not model or not isinstance(row.get("evaluation"), dict):
        raise record.lacks("evaluation_id, model_id and evaluation in this row")
    return evaluation, model, text(row.get("evaluation_name")) or ""


def _eee_results(said: Row) -> list[dict[str, Any]]:
    return [each for each in array(said.get("evaluation_results")) if isinstance(each, dict)]


def _eee_runs(seen: SeenLog) -> dict[tuple[str, str, str], LogRun]:
    said = seen.records.said
    runs = {}
    for (evaluation, model, name), rows in seen.runs.items():
        of_run = [
            each
            for each in _eee_results(said)
            if text(each.get("evaluation_result_id")) in rows.said["way"] or text(each.get("evaluation_name")) == name
        ]
        first = next(iter(of_run), {})
        lower = any(at(each, "metric_config", "lower_is_better") is True for each in of_run)
        runs[evaluation, model, name] = LogRun(
            model=model,
            task=name,
            identity=f"{evaluation} {name}",
            when=text(said.get("evaluation_timestamp")) or "",
            protocol=settings(
                {"evaluated with": at(said, "eval_library", "name"), "in version": at(said, "eval_library", "version")}
            ),
            sampling=settings({"generation arguments": at(first, "generation_config", "generation_args")}),
            lower_is_better=frozenset(["score"] if lower else []),
            fields={"source_data": mapping(first.get("source_data"))},
        )
    return runs


def _eee_filter(record: LogRecord, seen: SeenLog) -> str | None:
    """The way in which an answer was scored, where a run has several."""
    several = len(seen.runs[_eee_key(record)].said["way"]) > 1
    return (text(record.row.get("evaluation_result_id")) or "unnamed") if several else None


def _eee_content(record: LogRecord) -> str | None:
    asked = mapping(record.row.get("input"))
    return text(record.row.get("sample_hash")) or (digest(asked.get("raw"), asked.get("reference")) if asked else None)


def _eee_notes(seen: SeenLog, samples: Callable[[], Iterator[LogSample]]) -> Iterator[str]:
    """Compare with the aggregates: with the mean where a run has one aggregate that is a mean of its rows."""
    said, place = seen.records.said, seen.records.place
    stated = at(said, "detailed_evaluation_results", "total_rows")
    check_count(sum(run.records for run in seen.runs.values()), stated, place=place, what="rows")
    tallies: dict[LogRun, SampleTally] = defaultdict(SampleTally)
    for sample in samples():
        if sample.filter is None:
            tallies[sample.run].add(sample, "score")
    for run, tally in tallies.items():
        of_run = [each for each in _eee_results(said) if text(each.get("evaluation_name")) == run.task]
        if len(of_run) == 1:
            mean = at(of_run[0], "score_details", "score")
            yield from compared_mean(tally.mean, mean, place=place, what=f"score of {run.task}")


EVERY_EVAL_EVER = ToolReader(
    name="every-eval-ever",
    title="Every Eval Ever",
    has_samples=lambda glimpse: glimpse.has("evaluation_id", "model_id", "sample_id", "evaluation"),
    stands_beside=lambda glimpse: glimpse.has("evaluation_id", "evaluation_results", "model_info"),
    open=RecordLog(
        records=lambda path: Records(path=path, expected="a row of Every Eval Ever"),
        described_by=lambda path: path.with_name(
            path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix("_samples") + ".json"
        ),
        undescribed="file with the aggregates beside it, which would say whether less is better",
        key=_eee_key,
        said=lambda record: {"way": {text(record.row.get("evaluation_result_id")) or "": ""}},
        runs=_eee_runs,
        item=lambda record, run: run.item(record.item("sample_id", what="sample_id")),
        scores=lambda record: {
            metric: number(record.row["evaluation"][metric])
            for metric in ("score", "is_correct")
            if metric in record.row["evaluation"]
        },
        filter=_eee_filter,
        failed=lambda row: failed_with(row.get("error")),
        fields=lambda record: {"metadata": mapping(record.row.get("metadata"))},
        content=_eee_content,
        notes=_eee_notes,
        usual_metric="score",
    ).open,
)
"""Reads rows of the instance-level schema of Every Eval Ever 0.2 and 0.3.

``<id>_samples.jsonl`` has a row per scored answer, and ``<id>.json`` with aggregates stands beside it. One
``evaluation_id`` is one run. An answer that was scored in several ways has a row for each, distinguished by
``evaluation_result_id``: such ways are filters, of which one is chosen.
"""


_TABLE_SCORE = "/score"
_TABLE_QUESTION = ("inputs", "input", "request", "question", "questions", "query", "prompt")
_TABLE_TARGET = ("ground_truth", "targets", "target", "expected_response")
# Of which MLflow itself says that more is not better.
_TABLE_LOWER = ("toxicity/", "flesch_kincaid_grade_level/", "ari_grade_level/")


def _is_mlflow(glimpse: Glimpse) -> bool:
    """By the names of the columns; where these follow the data, by the name of the file."""
    columns = glimpse.first.get("columns")
    if columns is None:
        return glimpse.has("data") and glimpse.name.removesuffix(".gz") == "eval_results_table.json"
    return glimpse.has("data") and any(isinstance(name, str) and name.endswith(_TABLE_SCORE) for name in array(columns))


def _table_run(seen: SeenLog) -> LogRun:
    """The run of a table, whose columns must be known by name."""
    columns = seen.records.head.get("columns")
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise seen.records.lack("list of columns")
    repeated = [name for name, count in Counter(columns).items() if count > 1]
    if repeated:
        raise FormatError(f"{seen.records.place}: column {listed(repeated)} appears more than once; rename one of them")
    if not any(name in columns for name in _TABLE_QUESTION):
        raise FormatError(
            f"{seen.records.place}: no column that holds the question, so that items have no name; expected one of "
            f"{listed(_TABLE_QUESTION, limit=10)}: rename the column of the data that is evaluated"
        )
    lower = (name for name in columns if name.endswith(_TABLE_SCORE) and name.startswith(_TABLE_LOWER))
    return LogRun(model=None, lower_is_better=frozenset(lower))


def _table_row(record: LogRecord) -> Iterator[LogRecord]:
    """A row by the names of the columns."""
    columns = record.source.head["columns"]
    if not isinstance(record.found, list) or len(record.found) != len(columns):
        raise FormatError(f"{record.at}: not a row of {len(columns)} values; expected {record.source.expected}")
    yield replace(record, found=dict(zip(columns, record.found, strict=True)))


def _table_scores(record: LogRecord) -> dict[str, Value]:
    """The scores of a row. A judge that failed leaves null, and says so in the column of justifications."""
    scores = {name: value for name, value in record.row.items() if name.endswith(_TABLE_SCORE)}
    for name, value in scores.items():
        if value is not None and not isinstance(value, bool | int | float):
            raise FormatError(f"{record.at}: {quoted(name)} is {quoted(str(value))}; expected a number or null")
    return numbers(scores)


MLFLOW = ToolReader(
    name="mlflow",
    title="MLflow",
    has_samples=_is_mlflow,
    open=RecordLog(
        records=lambda path: Records(
            path=path, expected="a table of MLflow", under=("data",), keep=("columns",), loose=True
        ),
        said=lambda _: {},
        runs=_table_run,
        parts=_table_row,
        item=lambda record, _: digest(
            [record.row[name] for name in (*_TABLE_QUESTION, *_TABLE_TARGET) if name in record.row]
        ),
        scores=_table_scores,
        fields=lambda record: {
            "row": {name: value for name, value in record.row.items() if not name.endswith(_TABLE_SCORE)}
        },
    ).open,
)
"""Reads evaluation tables of MLflow 2.

``eval_results_table.json`` is the table that ``mlflow.evaluate`` logs as an artifact. A row is one question and its
answer, with a column ``<metric>/<version>/score`` for each metric. Neither the model nor the run is named in it.
"""


def _zero_scores(record: LogRecord) -> dict[str, Value]:
    found = record.row.get("matched", record.row.get("solved"))
    if found is None:
        raise FormatError(
            f"{record.at}: an answer that is not yet compared with the right one, which ZeroEval does by rules of each "
            "task; run ZeroEval's evaluation, and read what it writes to result_dirs_parsed"
        )
    if not isinstance(found, bool) and found != _ZERO_NO_ANSWER:
        raise FormatError(f"{record.at}: {quoted(str(found))}; expected true, false or {quoted(_ZERO_NO_ANSWER)}")
    return {} if found == _ZERO_NO_ANSWER else {"correct": found}


ZERO_EVAL = ToolReader(
    name="zero-eval",
    title="ZeroEval",
    has_samples=lambda glimpse: glimpse.has("session_id", "chat_history", "model_input", "output", "generator"),
    open=RecordLog(
        records=lambda path: Records(path=path, expected="an answer of ZeroEval").or_array(),
        key=lambda record: (record.name("generator"), text(record.row.get("dataset")) or ""),
        said=lambda _: {},
        answer=lambda row: [row.get("id"), row.get("session_id"), row.get("output")],
        runs=lambda seen: {
            key: LogRun(model=key[0], task=key[1], identity=seen.identity(*key, key=key)) for key in seen.runs
        },
        item=lambda record, run: run.item(record.name("id", "session_id")),
        scores=_zero_scores,
        # Some tasks leave such an answer out, others say so in words.
        failed=lambda row: (
            ("no answer was found in the output", "unknown") if row.get("matched") == _ZERO_NO_ANSWER else (None, None)
        ),
        content=lambda record: optional_digest(record.row.get("chat_history")),
    ).open,
)
"""Reads ``result_dirs_parsed`` of ZeroEval; answers that it has not yet compared are refused."""
