"""One replicate, run until every sample has a score. What happens here never looks at a score."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs

from bbedge.credentials import redacted, secret_values
from bbedge.errors import ReportedError
from bbedge.evaluate.engine import (
    Benchmark,
    Engine,
    Job,
    JudgementKey,
    Reported,
    RequestSeeds,
    RequestWaits,
    Trouble,
)
from bbedge.evaluate.events import (
    ErrorSeen,
    Event,
    RequestsRepeated,
    SampleDone,
    SampleFailed,
    SampleMissing,
    Waiting,
    Watcher,
)
from bbedge.evaluate.failures import Problem, ProblemCount, counted_lines, described
from bbedge.evaluate.journal import ReplicateFile
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.evaluate.usage import Reached
from bbedge.records.journal import Done, Failed
from bbedge.records.values import grouped
from bbedge.text import quoted, shown_path

_LONGEST_PAUSE = 60.0
_LONGEST_ERROR = 4000  # characters
_SMALLEST_BATCH = 20  # samples: fewer would leave connections idle at every check of the limits
_CHECKS = 20  # of the limits in a replicate


def unwatched(event: Event) -> None:
    """The watcher that ignores every event."""


@dataclass(frozen=True, slots=True)
class StudyCall:
    """One call of the command: what it runs, and who hears of it."""

    study: EvaluationSpec
    engine: Engine
    watch: Watcher = unwatched
    interrupted: Callable[[], bool] = lambda: False
    """Whether the engine caught an interrupt itself and continued."""
    sleep: Callable[[float], None] = time.sleep
    problems: dict[object, ProblemCount] = field(default_factory=dict)
    """The failures so far, counted by kind, in the order of the first ones."""
    # The whole environment goes to the engine, so its errors may repeat any key that is in it.
    secrets: tuple[str, ...] = field(default_factory=lambda: secret_values(os.environ))

    def report_failure(self, problem: Problem) -> Problem:
        """Report a failure, and how often it was seen; the problem without credentials."""
        cleaned = problem.cleaned(self.secrets)
        known = self.problems.get(cleaned.key, ProblemCount(first=cleaned, count=0))
        self.problems[cleaned.key] = counted = replace(known, count=known.count + 1)
        self.watch(ErrorSeen(problem=cleaned, count=counted.count))
        return cleaned


def jobs_of(
    study: EvaluationSpec, benchmark: Benchmark, seeds: RequestSeeds, active: set[str], place: int
) -> list[Job]:
    """All jobs of a replicate: for every model its blocks in an order of their own, a block's samples together."""
    by_block = grouped((sample.blocks[0], sample) for sample in benchmark.samples)
    return [
        Job(model=model, sample=sample)
        for model in study.models
        if model.name in active
        for block in seeds.shuffled(tuple(by_block), model=model.name, replicate=place)
        for sample in by_block[block]
    ]


def batches(jobs: Sequence[Job], *, size: int) -> list[list[Job]]:
    """The jobs in parts of about ``size``, between which limits are checked.

    The models take turns, so that a replicate that is stopped has come equally far with all of them. Samples of a
    block stay together, because they may share something.
    """
    queues: dict[str, deque[list[Job]]] = {}
    for job in jobs:
        blocks = queues.setdefault(job.model.name, deque())
        if not blocks or blocks[-1][-1].sample.blocks[0] != job.sample.blocks[0]:
            blocks.append([])
        blocks[-1].append(job)
    made: list[list[Job]] = [[]]
    while any(queues.values()):
        for blocks in filter(None, queues.values()):
            if len(made[-1]) >= size:
                made.append([])
            made[-1] += blocks.popleft()
    return made


@dataclass(slots=True, kw_only=True)
class Completion:
    """Runs the jobs of one replicate with retries, and stops between batches at a limit."""

    call: StudyCall
    seeds: RequestSeeds
    page: ReplicateFile
    """The file of the replicate; that of the pilot of a dry run, which is no replicate, has the number 0."""
    reached: Callable[[ReplicateFile], Reached | None]
    """The limit that is reached, if there is one."""
    _errors: dict[tuple[str, str], Problem] = field(default_factory=dict)
    """The last failure of each sample."""
    _troubled: set[tuple[str, str]] = field(default_factory=set)
    """Samples in progress whose trouble was reported before they ended."""

    def run(self, jobs: list[Job]) -> Reached | None:
        """Run until every sample has a score; what keeps failing stops the study, unless the design scores it.

        Returns the limit that has stopped it, if one has: the replicate is not complete then.
        """
        file, page, watch = self.call.study.file, self.page, self.call.watch
        for attempt in range(file.run.retries + 1):
            left = self._left(jobs)
            if not left:
                return None
            if attempt:
                pause = min(file.run.pause * 2 ** (attempt - 1), max(file.run.pause, _LONGEST_PAUSE))
                watch(Waiting(samples=len(left), seconds=pause, attempt=attempt + 1))
                self.call.sleep(pause)
            repeated = page.settle()
            if repeated:
                watch(RequestsRepeated(requests=repeated))
            for batch in self._batches(left):
                reached = self.reached(page) if file.exist else None
                if reached is not None:
                    return reached
                informed = [replace(job, judged=page.judged.get(job.key, ())) for job in batch]
                self.call.engine.run(page.replicate, informed, self._seed, self._report)
                if self.call.interrupted():
                    raise KeyboardInterrupt
        left = self._left(jobs)
        if left and file.on_error == "wait":
            self._give_up(left)
        if file.on_error == "worst-case":
            # Where no sample of a model has ended, its run is missing and not some of its scores: it stops the study.
            running = {model for model, _ in page.done}
            gone = [job for job in left if job.model.name not in running]
            if gone:
                self._give_up(gone)
        for job in left:
            model, sample = job.key
            if file.on_error == "zero":
                self._report(Done(model=model, sample=sample, scores=dict.fromkeys(job.sample.items, 0.0)))
            else:  # missing, which is final
                page.add(Done(model=model, sample=sample, scores=dict.fromkeys(job.sample.items)))
                watch(SampleMissing(replicate=page.replicate, model=model, sample=sample))
        return None

    def _report(self, what: Reported) -> None:
        """Take what the engine reports: the journal first, then the watcher."""
        if isinstance(what, RequestWaits):
            self.call.watch(what)
            return
        key, place = (what.model, what.sample), self.page.replicate
        if isinstance(what, Trouble):
            self._troubled.add(key)
            self._errors[key] = self.call.report_failure(what.problem)
            return
        if isinstance(what, Failed):
            what = structs.replace(what, error=redacted(what.error[:_LONGEST_ERROR], self.call.secrets))
        self.page.add(what)
        if isinstance(what, Done):
            self._troubled.discard(key)
            usage = self.page.done[key].usage  # with its judgements
            self.call.watch(SampleDone(replicate=place, model=what.model, sample=what.sample, usage=usage))
        elif isinstance(what, Failed):
            if key not in self._troubled:
                self._errors[key] = self.call.report_failure(
                    Problem(kind="other", model=what.model, message=what.error)
                )
            self._troubled.discard(key)
            self.call.watch(SampleFailed(replicate=place, model=what.model, sample=what.sample, error=what.error))

    def _left(self, jobs: list[Job]) -> list[Job]:
        return [job for job in jobs if job.key not in self.page.done]

    def _seed(self, job: Job, call: int, judging: JudgementKey | None = None) -> int:
        return self.seeds.seed(
            model=job.model.name, sample=job.sample.name, replicate=self.page.replicate, call=call, judging=judging
        )

    def _batches(self, left: list[Job]) -> list[list[Job]]:
        """All at once, unless there are limits to check in between."""
        file = self.call.study.file
        if not file.exist:
            return [left]
        # Of other engines a job is a call of a program.
        size = max(_SMALLEST_BATCH, len(left) // _CHECKS) if file.engine == "inspect" else file.run.workers
        return batches(left, size=size)

    def _give_up(self, left: list[Job]) -> None:
        study, job = self.call.study, left[0]
        error = self._errors.get(job.key)
        name = f"replicate {self.page.replicate}" if self.page.replicate else "the pilot"
        what = (
            f"{name} is not complete: {len(left)} samples failed {study.file.run.retries + 1} "
            f"times. {quoted(job.sample.name)} of "
        )
        after = (
            f"\nAn error is not a zero, so {name} stays incomplete until these samples succeed. Finished samples "
            f"are kept: run the same command again to continue. Logs are in {shown_path(study.folder)}"
        )
        brief = f"{quoted(job.model.name)} {'was not reported' if error is None else 'was the first'}"
        counts = tuple(self.call.problems.values())
        repeated = [each for each in counts if each.count > 1]
        cause = brief
        if error is not None and (error.output or all(each.first.key != error.key for each in repeated)):
            cause, counts = described(error, width=400), tuple(each for each in counts if each.first.key != error.key)
        raise ReportedError(what + cause + after + _listed(counts), what + brief + after + _listed(repeated))


def _listed(counts: Sequence[ProblemCount]) -> str:
    """Failures of this command, below a message."""
    return "\nErrors of this command:" + "".join(f"\n  {line}" for line in counted_lines(counts)) if counts else ""
