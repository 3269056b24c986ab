"""Judging an answer several times: a scorer is called again on the same answer, so that only the judge can differ.

Every request of a sample has a seed of its own, a judge's too, so that no two judgements of an answer share one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import wraps
from typing import Any

from inspect_ai.scorer import Score, Scorer, Target
from inspect_ai.solver import TaskState

from bbedge.errors import DataError
from bbedge.evaluate.engines.inspect_hook import JUDGEMENTS, item_number
from bbedge.text import quoted


def judged_repeatedly(scorers: Sequence[Scorer], times: int) -> list[Scorer]:
    """The scorers, each of which scores every answer so many times; the score is the mean."""
    return [_repeated(scorer, times) for scorer in scorers]


def _repeated(scorer: Scorer, times: int) -> Scorer:
    # With the name and the metrics of the scorer, which Inspect keeps as attributes of the function.
    @wraps(scorer)
    async def score(state: TaskState, target: Target) -> Score | None:
        found = [await scorer(state, target) for _ in range(times)]
        scores = [each for each in found if each is not None]
        if not scores:
            return None
        if len(scores) < times:
            raise DataError(f"{state.sample_id}: {times - len(scores)} of {times} judgements gave no score")
        return combined(str(state.sample_id), scores)

    return score


def combined(sample: str, scores: Sequence[Score]) -> Score:
    """The mean of several judgements, with each of them in its metadata."""
    values = [_numbers(sample, score.value) for score in scores]
    first = values[0]
    mean: Any
    if isinstance(first, dict):
        tables = [value for value in values if isinstance(value, dict)]
        if any(table.keys() != first.keys() for table in tables) or len(tables) < len(values):
            raise DataError(f"sample {quoted(sample)}: judgements score different parts; every one must score all")
        mean = {key: sum(table[key] for table in tables) / len(tables) for key in first}
    else:
        mean = sum(value for value in values if isinstance(value, float)) / len(values)
    reasons = [score.explanation for score in scores if score.explanation]
    return Score(
        value=mean,
        answer=scores[0].answer,
        explanation="\n\n".join(f"judgement {place}: {text}" for place, text in enumerate(reasons, start=1)) or None,
        metadata={**(scores[0].metadata or {}), JUDGEMENTS: values},
    )


def _numbers(sample: str, value: object) -> float | dict[str, float]:
    if isinstance(value, Mapping):
        return {str(part): item_number(f"{sample}/{part}", each) for part, each in value.items()}
    return item_number(sample, value)
