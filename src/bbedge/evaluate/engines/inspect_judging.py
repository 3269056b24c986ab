"""Judging answers: requests of a scorer belong to a judgement, which has seeds and a journal line of its own.

A scorer may judge an answer several times: it is called again on the same answer, so that only the judge can differ. A
judgement for which requests were made is recorded as soon as it is finished. If the sample has to be run again and its
answer is the same, the recorded judgement is taken and the judge is not asked. Whether it is taken depends on the
answer alone, never on the score.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from functools import wraps
from itertools import chain, count
from typing import Any

from inspect_ai.log import transcript
from inspect_ai.model import ChatMessage, ChatMessageAssistant
from inspect_ai.scorer import Score, Scorer, Target
from inspect_ai.solver import TaskState

from bbedge.credentials import redacted_record, secret_values
from bbedge.errors import DataError
from bbedge.evaluate.engine import JudgementKey, Sample
from bbedge.evaluate.engines.inspect_hook import (
    JUDGEMENTS,
    Attempt,
    answered_requests,
    asking,
    attempt_now,
    item_number,
    item_scores,
    models_without_seed,
    refuse_empty_events,
)
from bbedge.evaluate.engines.inspect_models import tokens_of
from bbedge.records.journal import Judged, Usage
from bbedge.text import quoted


def judging_scorers(scorers: Sequence[Scorer], times: int) -> list[Scorer]:
    """The scorers, each of which scores every answer so many times; the score is the mean."""
    return [_judging(scorer, name, times) for scorer, name in zip(scorers, _names(scorers), strict=True)]


def _names(scorers: Sequence[Scorer]) -> list[str]:
    """A name for each scorer; those that share one are numbered, or their judgements would share seeds."""
    names: list[str] = []
    for scorer in scorers:
        # The package is left out: whether Inspect adds it depends on how the package is installed.
        base = str(getattr(getattr(scorer, "__registry_info__", None), "name", "scorer")).rpartition("/")[2]
        numbered = (f"{base}{number}" for number in count(1))
        names.append(next(name for name in chain([base], numbered) if name not in names))
    return names


def _judging(scorer: Scorer, name: str, times: int) -> Scorer:
    # With the name and the metrics of the scorer, which Inspect keeps as attributes of the function.
    @wraps(scorer)
    async def score(state: TaskState, target: Target) -> Score | None:
        attempt = attempt_now()
        if attempt is None:
            found = [await scorer(state, target) for _ in range(times)]
        else:
            answer = answer_hash(state, attempt)  # once, because a scorer may change the state
            found = [await _judgement(scorer, name, state, target, attempt, answer) for _ in range(times)]
        if times == 1:
            return found[0]
        scores = [each for each in found if each is not None]
        if not scores:
            return None
        if len(scores) < times:
            raise DataError(f"{state.sample_id}: {times - len(scores)} of {times} judgements gave no score")
        return mean_score(str(state.sample_id), scores)

    return score


async def _judgement(
    scorer: Scorer, name: str, state: TaskState, target: Target, attempt: Attempt, answer: str
) -> Score | None:
    """One judgement: as it is recorded, if this answer was judged in an earlier attempt, or else from the scorer."""
    attempt.begun[name] += 1
    judging = JudgementKey(scorer=name, number=attempt.begun[name])
    wanted = (name, judging.number, answer)
    known = next((each for each in attempt.known if (each.scorer, each.judgement, each.answer) == wanted), None)
    if known is not None:
        attempt.judged.append(known)
        return Score.model_validate(known.score)
    began = time.monotonic()
    with asking(judging) as asked:
        score = await scorer(state, target)
    content = None if score is None or not asked.seen else _recordable(score, attempt.job.sample)
    if content is not None:
        events = [event for event in answered_requests(transcript().events) if event.config.seed in asked.seeds]
        refuse_empty_events(events)
        attempt.hand_in(
            Judged(
                model=attempt.job.model.name,
                sample=attempt.job.sample.name,
                judgement=judging.number,
                scorer=judging.scorer,
                answer=answer,
                score=_without_credentials(content),
                replies=tuple(_without_credentials([event.output.completion for event in events])),
                usage=sum(
                    (
                        Usage(tokens={event.model: tokens_of(event.output.usage)})
                        for event in events
                        if event.output.usage is not None and event.cache != "read"
                    ),
                    Usage(calls=len(events), seconds=time.monotonic() - began),
                ),
                unseeded=models_without_seed(events),
            ),
            asked,
        )
    return score


def _without_credentials(content: Any) -> Any:  # noqa: ANN401 - JSON
    """What a judge has said as it may be in the journal."""
    return redacted_record(content, secret_values(os.environ))


def _recordable(score: Score, sample: Sample) -> dict[str, Any] | None:
    """A score as plain values; ``None`` if it fails its sample, which is then judged again, or cannot be written."""
    try:
        item_scores(sample.name, sample.items, {"": score}, scorer=None)
        content: dict[str, Any] = score.model_dump(mode="json", fallback=repr)
        json.dumps(content, allow_nan=False)
    except (DataError, ValueError):
        return None
    return content


def answer_hash(state: TaskState, attempt: Attempt) -> str:
    """A hash of everything that is judged: all that was answered up to now, and the messages.

    Ids are left out, because they are drawn at random. The replies of a judge to an answer that was not yet finished
    are in it as far as they are in the messages.
    """
    outputs = [
        [event.model, [_content_of(choice.message) for choice in event.output.choices]]
        for event in answered_requests(transcript().events)
        if event.config.seed in attempt.answer.seeds
    ]
    content = [outputs, [_content_of(message) for message in state.messages], state.output.completion]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=repr).encode()).hexdigest()[:32]


def _content_of(message: ChatMessage) -> list[Any]:
    calls = message.tool_calls or [] if isinstance(message, ChatMessageAssistant) else []
    content = message.content
    parts = content if isinstance(content, str) else [part.model_dump(mode="json", fallback=repr) for part in content]
    return [message.role, parts, [[call.function, call.arguments] for call in calls]]


def mean_score(sample: str, scores: Sequence[Score]) -> Score:
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
