"""What the models of logs are called, and which fields of their headers could name them apart.

One model with two prompts is two systems, which a tool logs under one name: the difference is in the header.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bbedge.errors import Blank, DataError, FormatError
from bbedge.readers.choices import Choice, Choices, OpenChoiceError
from bbedge.readers.logs.contract import Run, Sample
from bbedge.readers.logs.fields import field_at, field_paths, mapping
from bbedge.readers.logs.runs import PassBook
from bbedge.text import listed, shown, shown_path

_JOINT = " | "
# What a run was started with, in the words of the tools.
_ARGUMENTS = ("task_args", "solver_args", "model_args", "metadata")
# Such arguments number runs of one system.
_NUMBERS = frozenset(["seed", "run", "epoch", "replicate", "repeat", "trial", "index"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """An argument in which runs of one model on one task differ."""

    model: str
    """What the logs call the model."""
    task: str
    """The task."""
    field: str
    """The name of the argument, as ``model_from`` takes it."""
    values: tuple[str, ...]
    """Its values, in order."""


def model_in(path: str, run: Run, choices: Choices, sample: Sample | None = None) -> str | None:
    """What to call the model of a run; the sample is asked for a field that the header does not have."""
    return choices.model_of(path, said_model(run, choices, sample))


def said_model(run: Run, choices: Choices, sample: Sample | None = None) -> str | None:
    """What the log calls the model, or what the field says that was chosen for it."""
    origin = choices.model_origin
    if origin is None or origin.kind != "field":
        return run.model
    return _named(run, sample, origin.text)


def check_found(model: str | None, path: str, run: Run, choices: Choices) -> str:
    """The name, or an error that says where names can be found."""
    origin = choices.model_origin
    if model is not None:
        return model
    if origin is not None and origin.kind == "field":
        raise FormatError(
            f"{shown_path(path)}: nothing there for ",
            Choice("model_from", shown(origin.text)),
            f"; the header has {listed((name for name, _ in _header(run)), limit=12) or 'no fields'}",
        )
    raise OpenChoiceError.proposing(
        (Choice("model_from", "file"),),
        f"{shown_path(path)}: the log does not name its model; say it with ",
        Choice("model_names", (Blank("NAME"),)),
        ", or with ",
        Choice("model_names", (Blank("PATTERN=NAME"),)),
        " for files that fit a pattern, or with ",
        Choice("model_from", "folder"),
        " if the path names it",
    )


def check_apart(passes: PassBook, choices: Choices) -> None:
    """Refuse a field that gives one name to different models: their runs would become replicates of each other."""
    origin = choices.model_origin
    if origin is None or origin.kind != "field":
        return
    for name, runs in passes.runs().items():
        models = sorted({each.run.model for each in runs if each.run.model is not None})
        if len(models) > 1:
            raise DataError(
                Choice("model_from", shown(origin.text)),
                f" gives the name {shown(name)!r} to {listed(models)}; name them apart with ",
                Choice("model_from", shown(f"model+{origin.text}")),
            )


def differing_arguments(runs: Iterable[Run]) -> tuple[Differing, ...]:
    """The arguments in which runs of one model on one task differ, and which may make them different systems."""
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for run in runs:
        if run.model is not None:
            found.setdefault((run.model, run.task), []).append(dict(_header(run, only=_ARGUMENTS)))
    return tuple(
        Differing(model=model, task=task, field=name, values=tuple(values))
        for (model, task), of_runs in found.items()
        for name in dict.fromkeys(name for each in of_runs for name in each)
        if len(values := sorted({each[name] for each in of_runs if name in each})) > 1
        and all(name in each for each in of_runs)
        and name.rpartition(".")[2].casefold() not in _NUMBERS
    )


def _named(run: Run, sample: Sample | None, fields: str) -> str | None:
    """The value of a field, or of several that are joined by ``+``."""
    whole = _value(run, sample, fields)
    if whole is not None or "+" not in fields:
        return whole
    parts = [_value(run, sample, name.strip()) for name in fields.split("+")]
    known = [part for part in parts if part is not None]
    return _JOINT.join(known) if len(known) == len(parts) else None


def _value(run: Run, sample: Sample | None, name: str) -> str | None:
    if name in ("model", "task"):
        return (run.model if name == "model" else run.task) or None
    places = [run.fields, *(mapping(part) for part in run.fields.values())]
    if sample is not None:
        places.append(sample.fields)
    # A field without text names nothing.
    return next((value for place in places if (value := field_at(place, name)) and value.strip()), None)


def _header(run: Run, only: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """The fields of a header with their values, by the shortest name that is understood."""
    for part in run.fields.values():
        fields = mapping(part)
        # Arguments in one text are rather a whole command line, with seeds and devices.
        yield from field_paths({key: fields[key] for key in only if mapping(fields.get(key))} if only else fields)
