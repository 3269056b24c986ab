"""EvalScope: ``reviews/<model>/<dataset>_<subset>.jsonl`` with ``reports/<model>/<dataset>.json`` beside ``reviews``.

Only the folder names the model. With ``repeats`` a question is a group of samples with a number within the group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.json_files import document_beside
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample, Tool, Value
from bbedge.readers.logs.fields import array, digest, mapping, number, numbers, several, text
from bbedge.readers.logs.record_log import LogRecord, Numbering, Records
from bbedge.readers.logs.stated import compared_mean, stated_count, tallied
from bbedge.text import quoted, shown_path

_REVIEWS = "reviews"
# A score with another status is not usable, and EvalScope leaves it out itself.
_USABLE = (None, "success", "fallback")


def _is_evalscope(glimpse: Glimpse) -> Recognition:
    """By the keys of the first review; predictions and reports stand beside it."""
    if glimpse.has("index", "sample_score") or glimpse.has("choices", "review_id", "reviewed"):
        return "samples"
    folders = Path(glimpse.path).parts[:-1]
    if "predictions" in folders and glimpse.has("index", "model_output"):
        return "beside"
    return "beside" if glimpse.has("dataset_name", "model_name", "metrics") else "no"


def _open_evalscope(path: str) -> Log:
    """Open reviews and the report; the reviews are read once to number the repetitions of a question."""
    place = shown_path(path)
    folder = Path(path).parent
    task = Path(path).name.removesuffix(".gz").removesuffix(".jsonl")
    of_reviews = folder.parent.name == _REVIEWS
    report, beside = document_beside(_report(folder, task) if of_reviews else None)
    records = Records(path=path, expected="a review of EvalScope")
    order = Numbering()
    mains: set[str | None] = set()
    for record in records:
        order.add(*_identity(record))
        mains.add(text(mapping(mapping(record.row.get("sample_score")).get("score")).get("main_score_name")))
    run = Run(
        model=text(report.get("model_name")) or (folder.name if of_reviews else None),
        task=task,
        lower_is_better=frozenset(_lower(report)),
        fields={"report": {"dataset_name": report["dataset_name"]}} if "dataset_name" in report else {},
    )

    def samples() -> Iterator[Sample]:
        return _samples(records, run, order)

    return Log(
        runs=(run,),
        samples=samples,
        counts="line",
        # The score that EvalScope itself takes from several, if it is the same in all rows.
        usual_metric=next(iter(mains)) if len(mains) == 1 else None,
        beside=beside,
        notes=(
            *(() if beside else (f"{place} has no report beside it that states how many reviews there are.",)),
            *_compared(samples(), list(_stated(report, task, beside)), place),
        ),
    )


EVALSCOPE = Tool(name="evalscope", title="EvalScope", recognises=_is_evalscope, open=_open_evalscope)
"""Reads reviews of EvalScope 1, and those of 0 that have one result for each answer."""


def _report(folder: Path, task: str) -> Path | None:
    """The report of the dataset whose name begins that of the file."""
    reports = (folder.parent.parent / "reports" / folder.name).glob("*.json")
    fitting = [each for each in reports if task == each.stem or task.startswith(f"{each.stem}_")]
    return max(fitting, key=lambda each: len(each.stem), default=None)


def _identity(record: LogRecord) -> tuple[str, int]:
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


def _samples(records: Records, run: Run, order: Numbering) -> Iterator[Sample]:
    for record in records:
        row = record.row
        item, index = _identity(record)
        scored = mapping(row.get("sample_score"))
        score = mapping(scored.get("score"))
        status = text(score.get("status"))
        failed = status not in _USABLE
        target = row.get("target")
        yield Sample(
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
            prompt=digest(_asked(row)),
        )


def _old_scores(row: Mapping[str, Any]) -> dict[str, Value]:
    """The result of the only answer; several would be an average."""
    reviews = [mapping(mapping(choice).get("review")) for choice in row["choices"]]
    if len(reviews) != 1:
        return {}
    result = reviews[0].get("result")
    return numbers(result) if isinstance(result, dict) else {"result": number(result)}


def _asked(row: Mapping[str, Any]) -> object:
    """What was asked, which is as text in some versions and the first messages in others."""
    messages = row.get("messages")
    if row.get("input") or not isinstance(messages, list):
        return row.get("input") or row.get("raw_input")
    return [mapping(each).get("content") for each in messages if mapping(each).get("role") == "user"][:1]


def _compared(samples: Iterator[Sample], stated: Sequence[tuple[str, object, int | None]], place: str) -> Iterator[str]:
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


def _metrics(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The metrics of a report that are means of samples, by the names that samples have for them."""
    for said in map(mapping, array(report.get("metrics"))):
        identity, name = mapping(said.get("identity")), text(said.get("name")) or ""
        if identity:
            if identity.get("aggregation") == "mean" and not identity.get("dimensions"):
                yield text(identity.get("name")) or "", said
        elif name.startswith("mean_"):
            yield name.removeprefix("mean_"), said


def _lower(report: Mapping[str, Any]) -> Iterator[str]:
    for name, said in _metrics(report):
        if mapping(said.get("semantics")).get("direction") == "lower_is_better":
            yield name


def _stated(report: Mapping[str, Any], task: str, beside: tuple[str, ...]) -> Iterator[tuple[str, object, int | None]]:
    """The metrics of the subset, each with mean and count."""
    dataset = "".join(Path(path).stem for path in beside)
    for name, said in _metrics(report):
        for category in array(said.get("categories")):
            for subset in map(mapping, array(mapping(category).get("subsets"))):
                if task == f"{dataset}_{text(subset.get('name'))}":
                    yield name, subset.get("score"), stated_count(subset.get("num"))
