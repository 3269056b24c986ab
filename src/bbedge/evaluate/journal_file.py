"""What is written in the folder of a run: the lines of a journal, requests beside the samples, tables of judgements.

``extras.jsonl`` remembers what short questions before a start and pilots of dry runs cost: they are no evidence and no
part of a replicate. The tables of judgements are what ``bbedge diagnose --judgement judgement`` reads.

A value of another type than a line should have raises one of the errors of :data:`WRONG`.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Literal, TypeVar

from msgspec import ValidationError, convert

from bbedge.chain import Chain, append, damaged, read_chain
from bbedge.errors import EvaluationError
from bbedge.evaluate.engine import Done, Judged, JudgementKey
from bbedge.evaluate.usage import Replicate, Usage
from bbedge.files import write_whole
from bbedge.text import shown_path

T = TypeVar("T")
WRONG: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, ValidationError)
ExtraKind = Literal["check", "pilot"]
_FILE = "extras.jsonl"
_REMEDY = "restore the file from a copy, or remove it: only the count of these requests is lost with it"
FOLDER = "judgements"
"""The folder of the tables, in the folder of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(Replicate):
    """A replicate that is on the board: what it cost and a hash of its answers, by model."""

    replicate: int
    """Its number, pilots counted."""
    samples: int
    """Samples that were run and scored."""
    traces: Mapping[str, str]
    """A hash of all answers of each model whose answers the engine sees."""


def append_line(path: Path, content: Mapping[str, Any], *, remedy: str) -> None:
    """Add a line at the end of a file, on the disk when this returns."""
    chain = read_chain(path, remedy=remedy)
    with opened_at(path, chain.end) as file:
        append(file, chain.head, content, durable=True)


def opened_at(path: Path, end: int) -> IO[bytes]:
    """The file for appending, without the line that was being written at a crash."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
        file.truncate(end)
    except OSError as error:
        raise EvaluationError(f"{shown_path(path)}: cannot be written ({error.strerror})") from error
    return file


def each_line(
    chain: Chain, path: Path, read: Callable[[Mapping[str, Any]], T], *, remedy: str, first: int = 1
) -> list[T]:
    """What every line of a file says, from the ``first`` on; one that does not hold what it should is refused."""
    found = []
    for place, line in enumerate(chain.lines[first - 1 :], start=first):
        try:
            found.append(read(line))
        except WRONG as error:
            raise damaged(path, place, remedy) from error
    return found


def is_line_of_study(line: Mapping[str, Any], study: Mapping[str, object]) -> bool:
    """Whether a line is of this study."""
    return all(line.get(key) == value for key, value in study.items())


def done_from(line: Mapping[str, Any]) -> Done:
    """A finished sample, from its line."""
    return Done(
        model=convert(line["model"], str),
        sample=convert(line["sample"], str),
        scores={item: math.nan if score is None else number(score) for item, score in line["scores"].items()},
        usage=Usage.from_content(line["usage"]),
        trace=convert(line["trace"], str | None),
        length=convert(line["length"], int),
        unseeded=convert(line["unseeded"], tuple[str, ...]),
        judgements={item: tuple(map(number, given)) for item, given in line.get("judgements", {}).items()},
        judged_answers=convert(line.get("judged", ()), tuple[str, ...]),
        served=convert(line.get("served", ()), tuple[str, ...]),
    )


def judgement_line(judged: Judged) -> dict[str, Any]:
    """What the line of a judgement says beside its model and sample."""
    return {
        "judgement": judged.judging.number,
        "scorer": judged.judging.scorer,
        "answer": judged.answer,
        "score": dict(judged.score),
        "replies": list(judged.replies),
        "unseeded": list(judged.unseeded),
        "usage": judged.usage.content,
    }


def judged_from(line: Mapping[str, Any]) -> Judged:
    """A judgement, from its line."""
    return Judged(
        model=convert(line["model"], str),
        sample=convert(line["sample"], str),
        judging=JudgementKey(scorer=convert(line["scorer"], str), number=convert(line["judgement"], int)),
        answer=convert(line["answer"], str),
        score=dict(line["score"].items()),
        replies=convert(line["replies"], tuple[str, ...]),
        unseeded=convert(line["unseeded"], tuple[str, ...]),
        usage=Usage.from_content(line["usage"]),
    )


def finished_line(record: Finished) -> dict[str, Any]:
    """What the line of a finished replicate says beside the study."""
    return {
        "replicate": record.replicate,
        "usage": {model: usage.content for model, usage in record.usage.items()},
        "wasted": {model: used.content for model, used in record.wasted.items()},
        "samples": record.samples,
        "lost": record.lost,
        "traces": dict(record.traces),
        **({"shares": dict(record.shares)} if record.shares else {}),
    }


def finished_from(line: Mapping[str, Any]) -> Finished:
    """A finished replicate, from its line."""
    return Finished(
        replicate=convert(line["replicate"], int),
        usage={model: Usage.from_content(usage) for model, usage in line["usage"].items()},
        wasted={model: Usage.from_content(usage) for model, usage in line["wasted"].items()},
        samples=convert(line["samples"], int),
        lost=convert(line["lost"], int),
        shares={model: number(share) for model, share in line.get("shares", {}).items()},
        traces=convert(line["traces"], dict[str, str]),
    )


def number(value: object) -> float:
    """The value, which must be a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{type(value).__name__} in place of a score")
    return float(value)


def add_extra(folder: Path, kind: ExtraKind, usage: Usage) -> None:
    """Remember what such requests cost, if there were any."""
    if usage.calls:
        append_line(folder / _FILE, {"kind": kind, "usage": usage.content}, remedy=_REMEDY)


def extra_usage(folder: Path, *kinds: ExtraKind) -> Usage:
    """What all requests of these kinds have cost so far."""
    path = folder / _FILE

    def used(line: Mapping[str, Any]) -> Usage:
        return Usage.from_content(line["usage"]) if line["kind"] in kinds else Usage()

    return sum(each_line(read_chain(path, remedy=_REMEDY), path, used, remedy=_REMEDY), Usage())


def write_judgements(folder: Path, replicate: int, done: Iterable[Done], blocks: Mapping[str, str]) -> None:
    """Write the judgements of a replicate, if its answers were judged several times."""
    rows = [
        (each.model, item, blocks.get(item, item), replicate, number, judgement)
        for each in done
        for item, judgements in each.judgements.items()
        for number, judgement in enumerate(judgements, start=1)
    ]
    if not rows:
        return
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("model", "item", "block", "replicate", "judgement", "score"))
    table.writerows(sorted(rows))
    path = folder / FOLDER / f"replicate-{replicate:05d}.csv"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.getvalue())
    except OSError as error:
        raise EvaluationError(f"{shown_path(path)}: cannot be written ({error.strerror})") from error
