"""Suites of benchmarks with a folder for each run: HELM and EvalScope."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.json_files import JsonStream, document_beside
from bbedge.readers.logs import (
    Glimpse,
    Log,
    LogRecord,
    LogRun,
    LogSample,
    Numbering,
    Records,
    StatedAggregate,
    ToolReader,
    Value,
    array,
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
_INSTANCE_FILE = "instances.json"
_HELM_BESIDE = frozenset([_HELM_SPEC, "scenario.json", "scenario_state.json", _HELM_SUMMARY, _INSTANCE_FILE])
_USUAL_SPLIT = "test"
_UNPERTURBED = "unperturbed"
_COUNTED_INSTANCES = "num_instances"
_MODEL_IN_NAME = re.compile(r"(?<=[:,])model(?:_deployment)?=[^,]*,?")


def _open_helm(path: str) -> Log:
    """Open the statistics and read the run's specification beside them."""
    folder = Path(path).parent
    if Path(path).name == _HELM_SUMMARY and not (folder / _HELM_SAMPLES).exists():
        raise FormatError(
            f"{shown_path(path)}: a summary of HELM without {_HELM_SAMPLES}; copy the whole folder of the "
            "run, or leave it out"
        )
    summary, instances = folder / _HELM_SUMMARY, folder / _INSTANCE_FILE
    spec, beside = document_beside(folder / _HELM_SPEC)
    run = _helm_run(spec)
    missing = f"{shown_path(path)} has no run_spec.json beside it, which would name the model."
    questions = dict(_questions(folder))
    return Log(
        runs=(run,),
        samples=lambda: _helm_samples(path, run, questions),
        usual_filter=_usual_filter(path),
        beside=(*beside, *(str(each) for each in (summary, instances) if each.is_file())),
        notes=() if beside else (missing,),
        stated=lambda: _helm_stated(str(summary), run) if summary.is_file() else (),
    )


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


def _is_there(glimpse: Glimpse, name: str) -> bool:
    return (Path(glimpse.path).parent / name).exists()


def _helm_run(spec: Mapping[str, Any]) -> LogRun:
    adapter = mapping(spec.get("adapter_spec"))
    task = _MODEL_IN_NAME.sub("", text(spec.get("name")) or "").rstrip(":,")
    return LogRun(
        model=text(adapter.get("model")) or text(adapter.get("model_deployment")),
        task=task,
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


def _helm_rows(path: str) -> Iterator[LogRecord]:
    for record in Records(path=path, expected="a row of HELM", under=(), loose=True):
        if text(record.row.get("instance_id")) is None:
            raise record.lacks("instance_id")
        yield record


def _helm_samples(path: str, run: LogRun, questions: Mapping[str, str]) -> Iterator[LogSample]:
    for record in _helm_rows(path):
        row = record.row
        name = text(row["instance_id"]) or ""
        perturbation = mapping(row.get("perturbation")).get("name")
        yield LogSample(
            run=run,
            item=run.item(name),
            scores=_stats(record),
            place=record.place,
            repeat=text(row.get("train_trial_index")),
            filter=_filter(_split(record), text(perturbation)),
            content=None if perturbation else questions.get(name),
        )


def _split(record: LogRecord) -> str | None:
    """The split of a row, which is in the names of its statistics."""
    names = (mapping(mapping(stat).get("name")) for stat in array(record.row.get("stats")))
    splits = list(dict.fromkeys(split for name in names if (split := text(name.get("split")))))
    if len(splits) > 1:
        raise FormatError(
            f"{record.at}: statistics of the splits {listed(splits)} in one row; expected one split per row"
        )
    return splits[0] if splits else None


def _filter(split: str | None, perturbation: str | None) -> str:
    if perturbation is None:
        return split or _UNPERTURBED
    return f"{'' if split in (None, _USUAL_SPLIT) else f'{split} '}perturbed by {perturbation}"


def _usual_filter(path: str) -> str | None:
    """The filter that counts if none is asked for: the test split; where there is none, the only one there is."""
    splits: dict[str | None, None] = {}
    for record in _helm_rows(path):
        split = _split(record)
        if split == _USUAL_SPLIT:
            return _USUAL_SPLIT
        if not record.row.get("perturbation"):
            splits[split] = None
    return _filter(next(iter(splits)), None) if len(splits) == 1 else None


def _questions(folder: Path) -> Iterator[tuple[str, str]]:
    """The name of every instance with a hash of its question, from the file of the instances or of the requests."""
    for described in _instances(folder):
        name = text(described.get("id"))
        if name is not None and not described.get("perturbation"):
            references = map(mapping, array(described.get("references")))
            outputs = [text(mapping(each.get("output")).get("text")) for each in references]
            yield name, question_digest(text(mapping(described.get("input")).get("text")), *outputs)


def _instances(folder: Path) -> Iterator[dict[str, Any]]:
    instances, state = folder / _INSTANCE_FILE, folder / "scenario_state.json"
    if instances.is_file():
        with opened(str(instances)) as file:
            yield from map(mapping, JsonStream(file, shown_path(str(instances))).elements())
    elif state.is_file():
        with opened(str(state)) as file:
            stream = JsonStream(file, shown_path(str(state)))
            for key in stream.entries():
                if key == "request_states" and stream.opens() == "[":
                    yield from (mapping(mapping(request).get("instance")) for request in stream.elements())


def _helm_stated(path: str, run: LogRun) -> Iterator[StatedAggregate]:
    """The means over instances and their number; statistics of perturbed instances are left alone."""
    with opened(path) as file:
        for stat in JsonStream(file, shown_path(path)).elements():
            described = mapping(stat)
            name = mapping(described.get("name"))
            metric, mean, trials = text(name.get("name")), number(described.get("mean")), whole(described.get("count"))
            if metric is None or mean is None or not trials or not name.keys() <= {"name", "split"}:
                continue
            chosen = text(name.get("split")) or _UNPERTURBED
            if metric == _COUNTED_INSTANCES:
                yield StatedAggregate(where=path, run=run, filter=chosen, count=whole(float(mean) * trials))
            else:
                yield StatedAggregate(where=path, run=run, filter=chosen, metric=metric, mean=float(mean))


def _stats(record: LogRecord) -> dict[str, Value]:
    scores: dict[str, Value] = {}
    for stat in map(mapping, array(record.row.get("stats"))):
        name = text(mapping(stat.get("name")).get("name"))
        if name is None:
            raise FormatError(f"{record.at}: a statistic without a name; expected {record.source.expected}")
        if name in scores:
            raise FormatError(f"{record.at}: two statistics are named {quoted(name)}; expected one of each per row")
        count = number(stat.get("count"))
        # A statistic over several values would be an average; over none it is nothing.
        if count in (0, 1):
            scores[name] = number(stat.get("mean")) if count else None
    return scores


_REVIEWS = "reviews"
# A score with another status is not usable, and EvalScope leaves it out itself.
_USABLE = (None, "success", "fallback")


def _open_evalscope(path: str) -> Log:
    """Open reviews and the report; the reviews are read once to number the repetitions of a question."""
    place = shown_path(path)
    folder = Path(path).parent
    task = Path(path).name.removesuffix(".gz").removesuffix(".jsonl")
    of_reviews = folder.parent.name == _REVIEWS
    report, beside = document_beside(_report_beside(folder, task) if of_reviews else None)
    records = Records(path=path, expected="a review of EvalScope")
    order = Numbering()
    mains: set[str | None] = set()
    for record in records:
        order.add(*_review_identity(record))
        mains.add(text(mapping(mapping(record.row.get("sample_score")).get("score")).get("main_score_name")))
    run = LogRun(
        model=text(report.get("model_name")) or (folder.name if of_reviews else None),
        task=task,
        lower_is_better=frozenset(
            name
            for name, said in _report_metrics(report)
            if mapping(said.get("semantics")).get("direction") == "lower_is_better"
        ),
        fields={"report": {"dataset_name": report["dataset_name"]}} if "dataset_name" in report else {},
    )

    def samples() -> Iterator[LogSample]:
        return _review_samples(records, run, order)

    return Log(
        runs=(run,),
        samples=samples,
        counts="line",
        # The score that EvalScope itself takes from several, if it is the same in all rows.
        usual_metric=next(iter(mains)) if len(mains) == 1 else None,
        beside=beside,
        notes=(
            *(() if beside else (f"{place} has no report beside it that states how many reviews there are.",)),
            *_compared_reviews(samples(), list(_review_stated(report, task, beside)), place),
        ),
    )


EVALSCOPE = ToolReader(
    name="evalscope",
    title="EvalScope",
    has_samples=lambda glimpse: glimpse.has("index", "sample_score") or glimpse.has("choices", "review_id", "reviewed"),
    # Predictions and reports.
    stands_beside=lambda glimpse: (
        ("predictions" in Path(glimpse.path).parts[:-1] and glimpse.has("index", "model_output"))
        or glimpse.has("dataset_name", "model_name", "metrics")
    ),
    open=_open_evalscope,
)
"""Reads reviews of EvalScope 1, and those of 0 that have one result for each answer.

``reviews/<model>/<dataset>_<subset>.jsonl`` has ``reports/<model>/<dataset>.json`` beside ``reviews``. Only the folder
names the model. With ``repeats`` a question is a group of samples with a number within the group.
"""


def _report_beside(folder: Path, task: str) -> Path | None:
    """The report of the dataset whose name begins that of the file."""
    reports = (folder.parent.parent / "reports" / folder.name).glob("*.json")
    fitting = [each for each in reports if task == each.stem or task.startswith(f"{each.stem}_")]
    return max(fitting, key=lambda each: len(each.stem), default=None)


def _review_identity(record: LogRecord) -> tuple[str, int]:
    """The name of the question, and the number of the sample."""
    row = record.row
    scored = mapping(row.get("sample_score"))
    index = row.get("index", scored.get("sample_id"))
    item = text(scored.get("group_id")) or text(index)
    if not item or (not scored and not isinstance(row.get("choices"), list)):
        raise record.lacks("index and sample_score in this row")
    number_of = scored.get("generation_index")
    number_of = index if number_of is None else number_of
    return item, number_of if isinstance(number_of, int) else 0


def _review_samples(records: Records, run: LogRun, order: Numbering) -> Iterator[LogSample]:
    for record in records:
        row = record.row
        item, index = _review_identity(record)
        scored = mapping(row.get("sample_score"))
        score = mapping(scored.get("score"))
        status = text(score.get("status"))
        failed = status not in _USABLE
        target = row.get("target")
        yield LogSample(
            run=run,
            item=f"{run.task}/{item}",
            scores=numbers(mapping(score.get("value"))) if scored else _old_scores(row),
            place=record.place,
            repeat=str(order.number(item, index)),
            error=f"the scorer ended with {status}" if failed else None,
            failure="judge" if failed else None,
            fields={"sample_metadata": mapping(scored.get("sample_metadata"))},
            # The template of the prompt may be what is compared.
            content=digest(several(target)) if target else None,
            prompt=digest(_review_question(row)),
        )


def _old_scores(row: Mapping[str, Any]) -> dict[str, Value]:
    """The result of the only answer; several would be an average."""
    reviews = [mapping(mapping(choice).get("review")) for choice in row["choices"]]
    if len(reviews) != 1:
        return {}
    result = reviews[0].get("result")
    return numbers(result) if isinstance(result, dict) else {"result": number(result)}


def _review_question(row: Mapping[str, Any]) -> object:
    """What was asked, which is as text in some versions and the first messages in others."""
    messages = row.get("messages")
    if row.get("input") or not isinstance(messages, list):
        return row.get("input") or row.get("raw_input")
    return [mapping(each).get("content") for each in messages if mapping(each).get("role") == "user"][:1]


def _compared_reviews(
    samples: Iterator[LogSample], stated: Sequence[tuple[str, object, int | None]], place: str
) -> Iterator[str]:
    """Compare with the report, which has a mean and a count for every metric and subset."""
    tallies = tallied(samples, *(metric for metric, _, _ in stated))
    for metric, mean, count in stated:
        tally = tallies[metric]
        if tally.scored and count is not None and tally.scored < count:
            raise FormatError(
                f"{place}: {tally.scored:,} reviews with {quoted(metric)}, but the report states {count:,}; the file "
                "was cut off: restore it, or leave it out"
            )
        yield from compared_mean(tally.mean, mean, place=place, what=quoted(metric))


def _report_metrics(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The metrics of a report that are means of samples, by the names that samples have for them."""
    for said in map(mapping, array(report.get("metrics"))):
        identity, name = mapping(said.get("identity")), text(said.get("name")) or ""
        if identity:
            if identity.get("aggregation") == "mean" and not identity.get("dimensions"):
                yield text(identity.get("name")) or "", said
        elif name.startswith("mean_"):
            yield name.removeprefix("mean_"), said


def _review_stated(
    report: Mapping[str, Any], task: str, beside: tuple[str, ...]
) -> Iterator[tuple[str, object, int | None]]:
    """The metrics of the subset, each with mean and count."""
    dataset = "".join(Path(path).stem for path in beside)
    for name, said in _report_metrics(report):
        for category in array(said.get("categories")):
            for subset in map(mapping, array(mapping(category).get("subsets"))):
                if task == f"{dataset}_{text(subset.get('name'))}":
                    yield name, subset.get("score"), stated_count(subset.get("num"))
