"""The hook through which Inspect reports what happens, and which gives every request its seed; and what it scored."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from inspect_ai.event import Event, ModelEvent
from inspect_ai.hooks import BeforeModelGenerate, Hooks, ModelRetry, SampleAttemptStart, SampleEnd, TaskStart, hooks
from inspect_ai.log import EvalSample
from inspect_ai.model import GenerateConfig

from bbedge.errors import DataError
from bbedge.evaluate.engine import CallSeeds, Job, JudgementKey, Report, RequestWaits, Trouble
from bbedge.evaluate.engines.inspect_models import tokens_of
from bbedge.evaluate.engines.lm_eval_requests import EmptyAnswer, refuse_empty
from bbedge.evaluate.failures import Problem
from bbedge.records.journal import Done, Failed, Judged, Sent, Usage
from bbedge.text import listed, quoted, shown

_GIVEN_UP = re.compile(r"RetryError\(<Future at \S+ state=finished raised (\w+)>\)")


@dataclass(slots=True)
class SeededRequests:
    """Requests that have their seed: those of an answer, or of one judgement of it."""

    judging: JudgementKey | None = None
    seen: list[GenerateConfig] = field(default_factory=list)

    @property
    def seeds(self) -> set[int | None]:
        """Their seeds, by which they are found among the events of the sample."""
        return {config.seed for config in self.seen}


@dataclass(slots=True)
class Attempt:
    """One attempt at a sample: which one, its requests, and the judgements of its answer."""

    job: Job
    known: tuple[Judged, ...]
    """Judgements of earlier attempts."""
    answer: SeededRequests = field(default_factory=SeededRequests)
    judged: list[Judged] = field(default_factory=list)
    """Judgements of this attempt, made or known, in their order."""
    made: list[Judged] = field(default_factory=list)
    """Those that were made in this attempt and reported."""
    made_seeds: set[int | None] = field(default_factory=set)
    begun: Counter[str] = field(default_factory=Counter)
    """Judgements that have begun, by scorer: a task may also score an answer that is not finished."""

    def hand_in(self, judged: Judged, asked: SeededRequests) -> None:
        """Report a judgement that is finished: it is in the journal when this returns."""
        if _heard is not None:
            with _heard.failure_kept():
                _heard.report(judged)
        self.judged.append(judged)
        self.made.append(judged)
        self.made_seeds |= asked.seeds


@dataclass(slots=True)
class Heard:
    """What an evaluation has reported so far."""

    jobs: dict[tuple[str, str], Job]
    seeds: CallSeeds
    report: Report
    scorer: str | None
    models: dict[str, str] = field(default_factory=dict)
    """From Inspect's number of a task to the model that it runs."""
    attempts: dict[tuple[str, str], Attempt] = field(default_factory=dict)
    """Samples in progress."""
    reported: set[tuple[str, str]] = field(default_factory=set)
    cancelled: bool = False
    """Whether samples were cancelled: the user has pressed Ctrl-C, which Inspect does not pass on."""
    failure: BaseException | None = None
    """What went wrong here: Inspect does not let a hook stop an evaluation."""

    @contextmanager
    def failure_kept(self) -> Iterator[None]:
        """Remember the first exception in this context."""
        try:
            yield
        except Exception as error:
            self.failure = self.failure or error
            raise


_heard: Heard | None = None
# Set in the context of the sample's own task, which everything that the sample starts inherits.
_attempt: ContextVar[Attempt | None] = ContextVar("bbedge_attempt", default=None)
# Set while a scorer runs, likewise.
_asked: ContextVar[SeededRequests | None] = ContextVar("bbedge_asked", default=None)


@contextmanager
def hear_jobs(jobs: Sequence[Job], seeds: CallSeeds, report: Report, *, scorer: str | None) -> Iterator[Heard]:
    """Listen to what is evaluated inside this context."""
    global _heard
    _heard = Heard({job.key: job for job in jobs}, seeds, report, scorer)
    try:
        yield _heard
    finally:
        _heard = None


def attempt_now() -> Attempt | None:
    """The attempt in whose context this is called; ``None`` if no evaluation listens."""
    return _attempt.get() if _heard is not None else None


@contextmanager
def asking(judging: JudgementKey) -> Iterator[SeededRequests]:
    """What is asked inside this context belongs to the judgement."""
    asked = SeededRequests(judging=judging)
    before = _asked.set(asked)
    try:
        yield asked
    finally:
        _asked.reset(before)


def trouble(problem: Problem) -> None:
    """Report that a request of the sample failed in whose context this is called."""
    attempt = _attempt.get()
    if attempt is not None:
        _pass_on(Trouble(model=attempt.job.model.name, sample=attempt.job.sample.name, problem=problem))


def _pass_on(what: Trouble | RequestWaits) -> None:
    if _heard is not None:
        with suppress(Exception), _heard.failure_kept():
            _heard.report(what)


@hooks(name="bbedge", description="Seeds every request and keeps every finished sample.")
class BbedgeHook(Hooks):
    """One for the whole process, as Inspect wants it; idle unless an evaluation listens."""

    def enabled(self) -> bool:
        """Whether an evaluation listens."""
        return _heard is not None

    async def on_task_start(self, data: TaskStart) -> None:
        """Remember which model a task runs."""
        if _heard is not None:
            _heard.models[data.eval_id] = str((data.spec.metadata or {}).get("bbedge_model"))

    async def on_sample_attempt_start(self, data: SampleAttemptStart) -> None:
        """Count the sample's requests from 0, so that a second attempt has the seeds of the first."""
        if _heard is not None:
            key = _heard.models.get(data.eval_id, ""), str(data.summary.id)
            job, before, attempt = _heard.jobs.get(key), _heard.attempts.pop(key, None), None
            if job is not None:
                known = job.judged if before is None else (*before.known, *before.made)
                _heard.attempts[key] = attempt = Attempt(job=job, known=known)
            _attempt.set(attempt)

    async def on_before_model_generate(self, data: BeforeModelGenerate) -> None:
        """Give the request its seed; when it is sent again after a failure it keeps it."""
        attempt = _attempt.get()
        if _heard is None:
            return
        if attempt is None:
            _heard.failure = _heard.failure or DataError(
                f"the task asked {data.model_name} outside of any sample, so the request has no seed"
            )
            return
        asked = _asked.get() or attempt.answer
        if any(config is data.config for config in asked.seen):
            return
        data.config.seed = _heard.seeds(attempt.job, len(asked.seen), asked.judging)
        asked.seen.append(data.config)
        with _heard.failure_kept():
            _heard.report(Sent(model=attempt.job.model.name, sample=attempt.job.sample.name))

    async def on_model_retry(self, data: ModelRetry) -> None:
        """Report how long a request waits before it is sent again."""
        attempt = _attempt.get()
        if attempt is not None:
            _pass_on(RequestWaits(model=attempt.job.model.name, seconds=data.wait_time))

    async def on_sample_end(self, data: SampleEnd) -> None:
        """Hand over the sample."""
        if _heard is not None:
            with _heard.failure_kept():
                _hand_over(_heard, _heard.models.get(data.eval_id, ""), data.sample)


def _hand_over(heard: Heard, model: str, sample: EvalSample) -> None:
    name = str(sample.id)
    job, attempt = heard.jobs.get((model, name)), heard.attempts.pop((model, name), None)
    if job is None:
        return
    attempt = attempt or Attempt(job=job, known=())  # it may fail before its first attempt
    if sample.error is not None and sample.error.message.startswith("CancelledError"):
        heard.cancelled = True
        return
    heard.reported.add((model, name))
    # The requests that belong to no judgement that was reported.
    calls = [event for event in answered_requests(sample.events) if event.config.seed not in attempt.made_seeds]
    usage = _usage(sample, len(calls), attempt)
    try:
        if sample.error is not None:
            raise DataError(_short(sample.error.message))
        refuse_empty_events(answered_requests(sample.events))
        scores = item_scores(name, job.sample.items, sample.scores, scorer=heard.scorer)
    except (DataError, EmptyAnswer) as error:
        heard.report(Failed(model=model, sample=name, error=str(error), usage=usage))
        return
    judged = attempt.judged
    # As they come without an interruption, whether a judgement was made now or earlier.
    answers = [event.output.completion for event in calls] + [text for each in judged for text in each.replies]
    heard.report(
        Done(
            model=model,
            sample=name,
            scores=scores,
            usage=usage,
            trace=hashlib.sha256(json.dumps(answers).encode()).hexdigest()[:32],
            length=sum(map(len, answers)),
            unseeded=tuple(
                dict.fromkeys([*models_without_seed(calls), *(model for each in judged for model in each.unseeded)])
            ),
            judgements=judgements(name, job.sample.items, sample.scores, scorer=heard.scorer),
            served=tuple(dict.fromkeys(call.output.model for call in calls if call.model == job.model.model)),
            judged=tuple(dict.fromkeys(each.answer for each in judged)),
        )
    )


def answered_requests(events: Sequence[Event]) -> list[ModelEvent]:
    """The requests among events that have an answer."""
    return [event for event in events if isinstance(event, ModelEvent) and event.error is None]


def refuse_empty_events(events: Sequence[ModelEvent]) -> None:
    """Raise if a request got no content: a model that the task itself has made, such as a judge, is not listened to.

    Inspect keeps the answers of the server to the first requests of a sample only.
    """
    for event in events:
        if event.call is not None:
            refuse_empty(event.call.response)


def _usage(sample: EvalSample, calls: int, attempt: Attempt) -> Usage:
    """What a sample has used, without the judgements that were reported with what they used."""
    tokens = {key: tokens_of(spent) for key, spent in sample.model_usage.items()}
    left = Usage(tokens=tokens, seconds=sample.total_time or 0.0)
    if attempt.made:
        left -= sum((judged.usage for judged in attempt.made), Usage())
        tokens = {model: spent for model, spent in left.tokens.items() if spent != (0, 0)}
    return Usage(calls=calls, tokens=tokens, seconds=max(0.0, left.seconds))


def models_without_seed(events: Sequence[ModelEvent]) -> tuple[str, ...]:
    """The models that were asked without the seed that the request was given."""
    return tuple(
        dict.fromkeys(
            event.model
            for event in events
            if event.call is not None  # a request that is not shown counts as seeded
            and event.config.seed is not None
            and str(event.config.seed) not in json.dumps(event.call.request, default=str)
        )
    )


def _short(message: str) -> str:
    """An error's last line, which says what happened; the request above it is in the log."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if not lines:
        return "failed without a message"
    given_up = _GIVEN_UP.search(lines[-1])
    return f"the request went on failing: {given_up[1]}" if given_up else lines[-1]


JUDGEMENTS = "bbedge_judgements"
"""The key in the metadata of a score under which every judgement is."""
_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}


def item_scores(
    sample: str, items: tuple[str, ...], scores: Mapping[str, Any] | None, *, scorer: str | None
) -> dict[str, float]:
    """The score of every item, in [0, 1].

    A single value scores the sample, a table of values its parts, each named ``sample/part``. Letters are Inspect's
    grades: C correct, P partly, I incorrect, N no answer.
    """
    value = _chosen(sample, scores, scorer).value
    given = (
        {f"{sample}/{part}": each for part, each in value.items()} if isinstance(value, Mapping) else {sample: value}
    )
    named = {item: item_number(item, each) for item, each in given.items()}
    missing = [item for item in items if item not in named]
    if missing:
        raise DataError(
            f"sample {quoted(sample)} was not scored on {listed(missing)}; a sample that scores several items names "
            "them in metadata items"
        )
    extra = sorted(set(named) - set(items))
    if extra:
        raise DataError(
            f"sample {quoted(sample)} was scored on {listed(extra)}, which it did not announce in metadata items"
        )
    return {item: named[item] for item in items}


def judgements(
    sample: str, items: tuple[str, ...], scores: Mapping[str, Any] | None, *, scorer: str | None
) -> dict[str, tuple[float, ...]]:
    """Every judgement of each item, where the sample was judged several times."""
    found = (_chosen(sample, scores, scorer).metadata or {}).get(JUDGEMENTS, [])
    tables = [each if isinstance(each, Mapping) else {sample: each} for each in found]
    parts = {item: item if item == sample else item.removeprefix(f"{sample}/") for item in items}
    return {item: tuple(float(table[part]) for table in tables) for item, part in parts.items()} if tables else {}


def _chosen(sample: str, scores: Mapping[str, Any] | None, scorer: str | None) -> Any:  # noqa: ANN401 - any score
    if not scores:
        raise DataError(f"sample {quoted(sample)} has no score; the task needs a scorer")
    if scorer is None and len(scores) > 1:
        raise DataError(
            f"sample {quoted(sample)} has several scores: {listed(scores)}; choose one with scorer under [benchmark]"
        )
    if scorer is not None and scorer not in scores:
        raise DataError(f"sample {quoted(sample)} has no score {quoted(scorer)}; it has {listed(scores)}")
    return next(iter(scores.values())) if scorer is None else scores[scorer]


def item_number(item: str, value: object) -> float:
    """A score in [0, 1] from what a scorer gave."""
    if isinstance(value, str) and value in _GRADES:
        return _GRADES[value]
    if isinstance(value, bool | int | float):
        if math.isnan(value):
            raise DataError(f"item {quoted(item)} was left without a score")
        if 0.0 <= value <= 1.0:
            return float(value)
    raise DataError(
        f"item {quoted(item)}: score {shown(repr(value))}; expected a number from 0 to 1, or one of C, P, I, N"
    )
