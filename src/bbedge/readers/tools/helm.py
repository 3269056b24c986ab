"""HELM: ``per_instance_stats.json`` with ``run_spec.json`` beside it.

A trial draws the examples of the prompt again; it counts as a repetition, which is right only if that draw belongs to
what is evaluated. Splits and perturbations are filters: unless another one is asked for, the rows of the test split
without a perturbation count, and the others are left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.json_files import JsonStream, document_beside
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample, Stated, Tool, Value
from bbedge.readers.logs.fields import array, mapping, number, question_digest, settings, text, whole
from bbedge.readers.logs.record_log import LogRecord, Records
from bbedge.readers.opening import opened
from bbedge.text import listed, quoted, shown_path

_SAMPLES, _SPEC, _SUMMARY = "per_instance_stats.json", "run_spec.json", "stats.json"
_INSTANCE_FILE = "instances.json"
_BESIDE = frozenset([_SPEC, "scenario.json", "scenario_state.json", _SUMMARY, _INSTANCE_FILE])
_USUAL_SPLIT = "test"
_UNPERTURBED = "unperturbed"
_INSTANCES = "num_instances"
_MODEL = re.compile(r"(?<=[:,])model(?:_deployment)?=[^,]*,?")


def _is_helm(glimpse: Glimpse) -> Recognition:
    """By the keys of the first row, or by the names of the files beside it."""
    if glimpse.has("instance_id", "stats"):
        return "samples"
    folder = Path(glimpse.path).parent
    if (folder / _SAMPLES).exists():
        return "beside" if glimpse.name in _BESIDE or glimpse.name.startswith("display_") else "no"
    # Statistics without those of the instances are refused when they are opened, so that no model is lost.
    return "samples" if glimpse.name == _SUMMARY and (folder / _SPEC).exists() else "no"


def _open_helm(path: str) -> Log:
    """Open the statistics and read the run's specification beside them."""
    folder = Path(path).parent
    if Path(path).name == _SUMMARY and not (folder / _SAMPLES).exists():
        raise FormatError(
            f"{shown_path(path)}: a summary of HELM without {_SAMPLES}; copy the whole folder of the "
            "run, or leave it out"
        )
    summary, instances = folder / _SUMMARY, folder / _INSTANCE_FILE
    spec, beside = document_beside(folder / _SPEC)
    run = _run(spec)
    missing = f"{shown_path(path)} has no run_spec.json beside it, which would name the model."
    questions = dict(_questions(folder))
    return Log(
        runs=(run,),
        samples=lambda: _samples(path, run, questions),
        usual_filter=_usual_filter(path),
        beside=(*beside, *(str(each) for each in (summary, instances) if each.is_file())),
        notes=() if beside else (missing,),
        stated=lambda: _stated(str(summary), run) if summary.is_file() else (),
    )


HELM = Tool(name="helm", title="HELM", recognises=_is_helm, open=_open_helm)
"""Reads statistics of HELM since 0.1."""


def _run(spec: Mapping[str, Any]) -> Run:
    adapter = mapping(spec.get("adapter_spec"))
    task = _MODEL.sub("", text(spec.get("name")) or "").rstrip(":,")
    return Run(
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


def _rows(path: str) -> Iterator[LogRecord]:
    for record in Records(path=path, expected="a row of HELM", under=()).loose():
        if text(record.row.get("instance_id")) is None:
            raise record.lacks("instance_id")
        yield record


def _samples(path: str, run: Run, questions: Mapping[str, str]) -> Iterator[Sample]:
    for record in _rows(path):
        row = record.row
        name = text(row["instance_id"]) or ""
        perturbation = mapping(row.get("perturbation")).get("name")
        yield Sample(
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
    for record in _rows(path):
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


def _stated(path: str, run: Run) -> Iterator[Stated]:
    """The means over instances and their number; statistics of perturbed instances are left alone."""
    with opened(path) as file:
        for stat in JsonStream(file, shown_path(path)).elements():
            described = mapping(stat)
            name = mapping(described.get("name"))
            metric, mean, trials = text(name.get("name")), number(described.get("mean")), whole(described.get("count"))
            if metric is None or mean is None or not trials or not name.keys() <= {"name", "split"}:
                continue
            chosen = text(name.get("split")) or _UNPERTURBED
            if metric == _INSTANCES:
                yield Stated(where=path, run=run, filter=chosen, count=whole(float(mean) * trials))
            else:
                yield Stated(where=path, run=run, filter=chosen, metric=metric, mean=float(mean))


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
