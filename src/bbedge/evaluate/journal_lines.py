"""The lines of a journal: what they say of a study, a finished sample, a judgement and a finished replicate.

A value of another type than a line should have raises one of the errors of :data:`WRONG`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bbedge.evaluate.engine import Done, Judged, Judging
from bbedge.evaluate.usage import Replicate, Usage

WRONG: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(Replicate):
    """A replicate that is on the board: what it cost and a hash of its answers, by model."""

    replicate: int
    """Its number, pilots counted."""
    samples: int
    """Samples that were run and scored."""
    traces: Mapping[str, str]
    """A hash of all answers of each model whose answers the engine sees."""


def belongs(line: Mapping[str, Any], study: Mapping[str, str]) -> bool:
    """Whether a line is of this study."""
    return all(line.get(key) == value for key, value in study.items())


def done_from(line: Mapping[str, Any]) -> Done:
    """A finished sample, from its line."""
    return Done(
        model=text(line["model"]),
        sample=text(line["sample"]),
        scores={item: math.nan if score is None else number(score) for item, score in line["scores"].items()},
        usage=Usage.from_content(line["usage"]),
        trace=None if line["trace"] is None else text(line["trace"]),
        length=whole(line["length"]),
        unseeded=tuple(text(model) for model in line["unseeded"]),
        judgements={item: tuple(map(number, given)) for item, given in line.get("judgements", {}).items()},
        judged_answers=tuple(text(answer) for answer in line.get("judged", ())),
        served=tuple(text(name) for name in line.get("served", ())),
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
        model=text(line["model"]),
        sample=text(line["sample"]),
        judging=Judging(scorer=text(line["scorer"]), number=whole(line["judgement"])),
        answer=text(line["answer"]),
        score=dict(line["score"].items()),
        replies=tuple(text(reply) for reply in line["replies"]),
        unseeded=tuple(text(model) for model in line["unseeded"]),
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
        replicate=whole(line["replicate"]),
        usage={model: Usage.from_content(usage) for model, usage in line["usage"].items()},
        wasted={model: Usage.from_content(usage) for model, usage in line["wasted"].items()},
        samples=whole(line["samples"]),
        lost=whole(line["lost"]),
        shares={model: number(share) for model, share in line.get("shares", {}).items()},
        traces={model: text(trace) for model, trace in line["traces"].items()},
    )


def text(value: object) -> str:
    """The value, which must be a text."""
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} in place of a text")
    return value


def whole(value: object) -> int:
    """The value, which must be a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{type(value).__name__} in place of a whole number")
    return value


def number(value: object) -> float:
    """The value, which must be a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{type(value).__name__} in place of a score")
    return float(value)
