"""Suites of benchmarks with a folder for each run: HELM and EvalScope."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.json_files import JsonStream
from bbedge.readers.logs import (
    Failed,
    Glimpse,
    Log,
    LogRecord,
    LogRun,
    LogSample,
    RecordLog,
    Records,
    Row,
    SeenLog,
    StatedAggregate,
    ToolReader,
    Value,
    array,
    at,
    compared_mean,
    digest,
    mapping,
    number,
    numbers,
    question_digest,
    settings,
    several,
    stated_count,
    tallied,
    text,
    whole,
)
from bbedge.readers.opening import opened
from bbedge.text import listed, quoted, shown_path

_HELM_SAMPLES, _HELM_SPEC, _HELM_SUMMARY = "per_instance_stats.json", "run_spec.json", "stats.json"
_INSTANCE_FILE, _STATE_FILE = "instances.json", "scenario_state.json"
_HELM_BESIDE = frozenset([_HELM_SPEC, "scenario.json", _STATE_FILE, _HELM_SUMMARY, _INSTANCE_FILE])
_USUAL_SPLIT = "test"
_UNPERTURBED = "unperturbed"
_COUNTED_INSTANCES = "num_instances"
_MODEL_IN_NAME = re.compile(r"(?<=[:,])model(?:_deployment)?=[^,]*,?")


def _helm_records(path: str) -> Records:
    questions = {"questions": dict(_questions(Path(path).parent))}
    return Records(path=path, expected="a row of HELM", under=(), loose=True, head=questions)


def _questions(folder: Path) -> Iterator[tuple[str, str]]:
    """The name of every instance with a hash of its question, from the file of the instances or of the requests."""
    for described in _instances(folder):
        name = text(at(described, "id"))
        if name is not None and not at(described, "perturbation"):
            outputs = [text(at(each, "output", "text")) for each in array(at(described, "references"))]
            yield name, question_digest(text(at(described, "input", "text")), *outputs)


def _instances(folder: Path) -> Iterator[Any]:
    file = next((folder / name for name in (_INSTANCE_FILE, _STATE_FILE) if (folder / name).is_file()), None)
    if file is None:
        return
    with opened(str(file)) as content:
        stream = JsonStream(content, shown_path(str(file)))
        if file.name == _INSTANCE_FILE:
            yield from stream.elements()
            return
        for key in stream.entries():
            if key == "request_states" and stream.opens() == "[":
                yield from (at(request, "instance") for request in stream.elements())


def _helm_run(seen: SeenLog) -> LogRun:
    spec = seen.records.said
    adapter = mapping(spec.get("adapter_spec"))
    return LogRun(
        model=text(adapter.get("model")) or text(adapter.get("model_deployment")),
        task=_MODEL_IN_NAME.sub("", text(spec.get("name")) or "").rstrip(":,"),
        protocol=settings(
            {
                "adaptation": adapter.get("method"),
                "most examples in the prompt": adapter.get("max_train_instances"),
                "most instances": adapter.get("max_eval_instances"),
                "instructions": adapter.get("instructions"),
            }
        ),
        sampling=settings({name: adapter.get(name) for name in ("temperature", "max_tokens", "num_outputs")}),
        fields={"run_spec": spec},
    )


def _split(record: LogRecord) -> str | None:
    """The split of a row, which is in the names of its statistics."""
    names = (text(at(stat, "name", "split")) for stat in array(record.row.get("stats")))
    splits = list(dict.fromkeys(filter(None, names)))
    if len(splits) > 1:
        raise FormatError(
            f"{record.at}: statistics of the splits {listed(splits)} in one row; expected one split per row"
        )
    return splits[0] if splits else None


def _helm_filter(record: LogRecord, _: SeenLog | None = None) -> str:
    """The split, where a row is not perturbed; the test split is not named where it is."""
    split, perturbation = _split(record), text(at(record.row, "perturbation", "name"))
    if perturbation is None:
        return split or _UNPERTURBED
    return f"{'' if split in (None, _USUAL_SPLIT) else f'{split} '}perturbed by {perturbation}"


def _usual_filter(records: Records) -> str | None:
    """The filter that counts if none is asked for: the test split; where there is none, the only one there is."""
    splits: dict[str, None] = {}
    for record in records:
        _instance(record)
        split = _split(record)
        if split == _USUAL_SPLIT:
            return _USUAL_SPLIT
        if not record.row.get("perturbation"):
            splits[split or _UNPERTURBED] = None
    return next(iter(splits)) if len(splits) == 1 else None


def _instance(record: LogRecord) -> str:
    return record.item("instance_id", what="instance_id")


def _helm_scores(record: LogRecord) -> dict[str, Value]:
    scores: dict[str, Value] = {}
    for stat in map(mapping, array(record.row.get("stats"))):
        name = text(at(stat, "name", "name"))
        if name is None:
            raise FormatError(f"{record.at}: a statistic without a name; expected {record.source.expected}")
        if name in scores:
            raise FormatError(f"{record.at}: two statistics are named {quoted(name)}; expected one of each per row")
        count = number(stat.get("count"))
        # A statistic over several values would be an average; over none it is nothing.
        if count in (0, 1):
            scores[name] = number(stat.get("mean")) if count else None
    return scores


_HELM_ROWS = RecordLog(
    records=_helm_records,
    described_by=lambda path: path.parent / _HELM_SPEC,
    undescribed=f"{_HELM_SPEC} beside it, which would name the model",
    runs=_helm_run,
    item=lambda record, run: run.item(_instance(record)),
    scores=_helm_scores,
    repeat=lambda record: text(record.row.get("train_trial_index")),
    filter=_helm_filter,
    usual_filter=_usual_filter,
    content=lambda record: (
        None if at(record.row, "perturbation", "name") else record.source.head["questions"].get(_instance(record))
    ),
)


def _open_helm(path: str) -> Log:
    """Open the statistics, unless they are those of the run alone."""
    folder = Path(path).parent
    if Path(path).name == _HELM_SUMMARY and not (folder / _HELM_SAMPLES).exists():
        raise FormatError(
            f"{shown_path(path)}: a summary of HELM without {_HELM_SAMPLES}; copy the whole folder of the "
            "run, or leave it out"
        )
    log = _HELM_ROWS.open(path)
    read = [folder / name for name in (_HELM_SUMMARY, _INSTANCE_FILE) if (folder / name).is_file()]
    return replace(
        log,
        beside=(*log.beside, *map(str, read)),
        stated=lambda: _helm_stated(folder / _HELM_SUMMARY, log.runs[0]),
    )


def _helm_stated(file: Path, run: LogRun) -> Iterator[StatedAggregate]:
    """The means over instances and their number; statistics of perturbed instances are left alone."""
    if not file.is_file():
        return
    with opened(str(file)) as content:
        for stat in map(mapping, JsonStream(content, shown_path(str(file))).elements()):
            name = mapping(stat.get("name"))
            metric, mean, trials = text(name.get("name")), number(stat.get("mean")), whole(stat.get("count"))
            if metric is None or mean is None or not trials or not name.keys() <= {"name", "split"}:
                continue
            stated = StatedAggregate(where=str(file), run=run, filter=text(name.get("split")) or _UNPERTURBED)
            if metric == _COUNTED_INSTANCES:
                yield replace(stated, count=whole(float(mean) * trials))
            else:
                yield replace(stated, metric=metric, mean=float(mean))


def _is_there(glimpse: Glimpse, name: str) -> bool:
    return (Path(glimpse.path).parent / name).exists()


HELM = ToolReader(
    name="helm",
    title="HELM",
    # Statistics without those of the instances are refused when they are opened, so that no model is lost.
    has_samples=lambda glimpse: (
        glimpse.has("instance_id", "stats")
        or (glimpse.name == _HELM_SUMMARY and not _is_there(glimpse, _HELM_SAMPLES) and _is_there(glimpse, _HELM_SPEC))
    ),
    stands_beside=lambda glimpse: (
        _is_there(glimpse, _HELM_SAMPLES) and (glimpse.name in _HELM_BESIDE or glimpse.name.startswith("display_"))
    ),
    open=_open_helm,
)
"""Reads statistics of HELM since 0.1: ``per_instance_stats.json`` with ``run_spec.json`` beside it.

A trial draws the examples of the prompt again; it counts as a repetition, which is right only if that draw belongs to
what is evaluated. Splits and perturbations are filters: unless another one is asked for, the rows of the test split
without a perturbation count, and the others are left out and counted.
"""


_REVIEWS = "reviews"
# A score with another status is not usable, and EvalScope leaves it out itself.
_USABLE = (None, "success", "fallback")


def _subset(path: Path) -> str:
    """The dataset and the subset, after which a file of reviews is named."""
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def _report_beside(path: Path) -> Path | None:
    """The report of the dataset whose name begins that of the file."""
    if path.parent.parent.name != _REVIEWS:
        return None
    reports = (path.parent.parent.parent / "reports" / path.parent.name).glob("*.json")
    fitting = [each for each in reports if _subset(path) == each.stem or _subset(path).startswith(f"{each.stem}_")]
    return max(fitting, key=lambda each: len(each.stem), default=None)


def _question_and_sample(record: LogRecord) -> tuple[str, int]:
    """The name of the question, and the number of the sample."""
    scored = mapping(record.row.get("sample_score"))
    index = record.row.get("index", scored.get("sample_id"))
    item = text(scored.get("group_id")) or text(index)
    if not item or (not scored and not isinstance(record.row.get("choices"), list)):
        raise record.lacks("index and sample_score in this row")
    position = index if scored.get("generation_index") is None else scored["generation_index"]
    return item, position if isinstance(position, int) else 0


def _review_run(seen: SeenLog) -> LogRun:
    report, path = seen.records.said, Path(seen.records.path)
    return LogRun(
        model=text(report.get("model_name")) or (path.parent.name if path.parent.parent.name == _REVIEWS else None),
        task=_subset(path),
        lower_is_better=frozenset(
            name for name, said in _report_metrics(report) if at(said, "semantics", "direction") == "lower_is_better"
        ),
        fields={"report": {"dataset_name": report["dataset_name"]}} if "dataset_name" in report else {},
    )


def _review_scores(record: LogRecord) -> dict[str, Value]:
    """The scores of a sample; in older logs the result of the only answer, because several would be an average."""
    if mapping(record.row.get("sample_score")):
        return numbers(mapping(at(record.row, "sample_score", "score", "value")))
    reviews = [mapping(at(choice, "review")) for choice in record.row["choices"]]
    if len(reviews) != 1:
        return {}
    result = reviews[0].get("result")
    return numbers(result) if isinstance(result, dict) else {"result": number(result)}


def _review_failed(row: Row) -> Failed:
    status = text(at(row, "sample_score", "score", "status"))
    return (None, None) if status in _USABLE else (f"the scorer ended with {status}", "judge")


def _review_question(row: Row) -> str:
    """A hash of what was asked, which is as text in some versions and the first messages in others."""
    messages = row.get("messages")
    if row.get("input") or not isinstance(messages, list):
        return digest(row.get("input") or row.get("raw_input"))
    return digest([at(each, "content") for each in messages if at(each, "role") == "user"][:1])


def _report_metrics(report: Row) -> Iterator[tuple[str, Row]]:
    """The metrics of a report that are means of samples, by the names that samples have for them."""
    for said in map(mapping, array(report.get("metrics"))):
        identity, name = mapping(said.get("identity")), text(said.get("name")) or ""
        if identity:
            if identity.get("aggregation") == "mean" and not identity.get("dimensions"):
                yield text(identity.get("name")) or "", said
        elif name.startswith("mean_"):
            yield name.removeprefix("mean_"), said


def _review_notes(seen: SeenLog, samples: Callable[[], Iterator[LogSample]]) -> Iterator[str]:
    """Compare with the report, which has a mean and a count for every metric and subset."""
    task, dataset = _subset(Path(seen.records.path)), "".join(Path(path).stem for path in seen.records.beside)
    stated = [
        (name, subset.get("score"), stated_count(subset.get("num")))
        for name, said in _report_metrics(seen.records.said)
        for category in array(said.get("categories"))
        for subset in map(mapping, array(at(category, "subsets")))
        if task == f"{dataset}_{text(subset.get('name'))}"
    ]
    tallies = tallied(samples(), *(metric for metric, _, _ in stated))
    for metric, mean, count in stated:
        tally = tallies[metric]
        if tally.scored and count is not None and tally.scored < count:
            raise FormatError(
                f"{seen.records.place}: {tally.scored:,} reviews with {quoted(metric)}, but the report states "
                f"{count:,}; the file was cut off: restore it, or leave it out"
            )
        yield from compared_mean(tally.mean, mean, place=seen.records.place, what=quoted(metric))


def _main_score(seen: SeenLog) -> str | None:
    """The score that EvalScope itself takes from several, if it is the same in all rows."""
    names = {name for run in seen.runs.values() for name in run.said["main"]}
    return next(iter(names)) or None if len(names) == 1 else None


EVALSCOPE = ToolReader(
    name="evalscope",
    title="EvalScope",
    has_samples=lambda glimpse: glimpse.has("index", "sample_score") or glimpse.has("choices", "review_id", "reviewed"),
    # Predictions and reports.
    stands_beside=lambda glimpse: (
        ("predictions" in Path(glimpse.path).parts[:-1] and glimpse.has("index", "model_output"))
        or glimpse.has("dataset_name", "model_name", "metrics")
    ),
    open=RecordLog(
        records=lambda path: Records(path=path, expected="a review of EvalScope"),
        described_by=_report_beside,
        undescribed="report beside it that states how many reviews there are",
        said=lambda record: {"main": {text(at(record.row, "sample_score", "score", "main_score_name")) or "": ""}},
        group=_question_and_sample,
        runs=_review_run,
        item=lambda record, run: f"{run.task}/{_question_and_sample(record)[0]}",
        scores=_review_scores,
        repeat=lambda record: str(record.copy),
        failed=_review_failed,
        fields=lambda record: {"sample_metadata": mapping(at(record.row, "sample_score", "sample_metadata"))},
        # The template of the prompt may be what is compared.
        content=lambda record: digest(several(record.row["target"])) if record.row.get("target") else None,
        prompt=_review_question,
        notes=_review_notes,
        usual_metric=_main_score,
    ).open,
)
"""Reads reviews of EvalScope 1, and those of 0 that have one result for each answer.

``reviews/<model>/<dataset>_<subset>.jsonl`` has ``reports/<model>/<dataset>.json`` beside ``reviews``. Only the folder
names the model. With ``repeats`` a question is a group of samples with a number within the group.
"""
