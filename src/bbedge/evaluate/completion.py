"""One replicate, run until every sample has a score. What happens here never looks at a score."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bbedge.credentials import redacted, secret_values
from bbedge.errors import ReportedError
from bbedge.evaluate.engine import (
    Backoff,
    Benchmark,
    Done,
    Engine,
    Failed,
    Job,
    Judged,
    Judging,
    Sample,
    Seeds,
    Sent,
    Trouble,
)
from bbedge.evaluate.events import (
    ErrorSeen,
    RequestsRepeated,
    RequestWaits,
    SampleDone,
    SampleFailed,
    SampleMissing,
    Waiting,
    Watcher,
)
from bbedge.evaluate.journal import Page
from bbedge.evaluate.limits import Reached, batches
from bbedge.evaluate.problem import Problem, ProblemCount, Problems, counted_lines, described
from bbedge.evaluate.spec import EvaluationSpec
from bbedge.text import quoted, shown_path

_LONGEST_PAUSE = 60.0
_LONGEST_ERROR = 4000  # characters
_SMALLEST_BATCH = 20  # samples: fewer would leave connections idle at every check of the limits
_CHECKS = 20  # of the limits in a replicate


def jobs_of(study: EvaluationSpec, benchmark: Benchmark, seeds: Seeds, active: set[str], place: int) -> list[Job]:
    """All jobs of a replicate: for every model its blocks in an order of their own, a block's samples together."""
    by_block: dict[str, list[Sample]] = {}
    for sample in benchmark.samples:
        by_block.setdefault(sample.blocks[0], []).append(sample)
    return [
        Job(model=model, sample=sample)
        for model in study.models
        if model.name in active
        for block in seeds.shuffled(tuple(by_block), model=model.name, replicate=place)
        for sample in by_block[block]
    ]


@dataclass(slots=True, kw_only=True)
class Completion:
    """Runs the jobs of one replicate with retries, and stops between batches at a limit."""

    study: EvaluationSpec
    engine: Engine
    seeds: Seeds
    place: int
    """The number of the replicate, pilots counted; 0 for the pilot of a dry run, which is no replicate."""
    page: Page
    """Its file in the journal."""
    watch: Watcher
    problems: Problems
    """Where failures are counted."""
    interrupted: Callable[[], bool]
    sleep: Callable[[float], None]
    reached: Callable[[Page], Reached | None]
    """The limit that is reached, if there is one."""

    def run(self, jobs: list[Job]) -> Reached | None:
        """Run until every sample has a score; what keeps failing stops the study, unless the design scores it.

        Returns the limit that has stopped it, if one has: the replicate is not complete then.
        """
        running, page = self.study.running, self.page
        errors: dict[tuple[str, str], Problem] = {}
        # The whole environment goes to the engine, so its errors may repeat any key that is in it.
        report = _Reporter(self, errors, secret_values(os.environ))
        for attempt in range(running.retries + 1):
            left = self._left(jobs)
            if not left:
                return None
            if attempt:
                pause = min(running.pause * 2 ** (attempt - 1), max(running.pause, _LONGEST_PAUSE))
                self.watch(Waiting(samples=len(left), seconds=pause, attempt=attempt + 1))
                self.sleep(pause)
            repeated = page.settle()
            if repeated:
                self.watch(RequestsRepeated(requests=repeated))
            for batch in self._batches(left):
                reached = self.reached(page)
                if reached is not None:
                    return reached
                self.engine.run(self.place, [self._informed(job) for job in batch], self._seed, report)
                if self.interrupted():
                    raise KeyboardInterrupt
        left = self._left(jobs)
        if self.study.on_error == "zero":
            for job in left:
                report(Done(model=job.model.name, sample=job.sample.name, scores=dict.fromkeys(job.sample.items, 0.0)))
        elif left and self.study.on_error == "worst-case":
            self._leave_out(left, errors)
        elif left:
            self._give_up(left, errors)
        return None

    def _left(self, jobs: list[Job]) -> list[Job]:
        return [job for job in jobs if (job.model.name, job.sample.name) not in self.page.done]

    def _informed(self, job: Job) -> Job:
        """The job with the judgements that earlier attempts at it have left."""
        return replace(job, judged=self.page.judged.get((job.model.name, job.sample.name), ()))

    def _seed(self, job: Job, call: int, judging: Judging | None = None) -> int:
        return self.seeds.seed(
            model=job.model.name, sample=job.sample.name, replicate=self.place, call=call, judging=judging
        )

    def _batches(self, left: list[Job]) -> list[list[Job]]:
        """All at once, unless there are limits to check in between."""
        if not self.study.limits.exist:
            return [left]
        if self.study.engine != "inspect":  # a job is a call of a program there
            return batches(left, size=self.study.running.workers)
        return batches(left, size=max(_SMALLEST_BATCH, len(left) // _CHECKS))

    def _leave_out(self, left: list[Job], errors: Mapping[tuple[str, str], Problem]) -> None:
        """Record the scores of these samples as missing, which is final.

        Where no sample of a model has ended, its run is missing and not some of its scores: it stops the study.
        """
        running = {model for model, _ in self.page.done}
        gone = [job for job in left if job.model.name not in running]
        if gone:
            self._give_up(gone, errors)
        for job in left:
            missing = dict.fromkeys(job.sample.items, math.nan)
            self.page.add(Done(model=job.model.name, sample=job.sample.name, scores=missing))
            self.watch(SampleMissing(replicate=self.place, model=job.model.name, sample=job.sample.name))

    def _give_up(self, left: list[Job], errors: Mapping[tuple[str, str], Problem]) -> None:
        job = left[0]
        error = errors.get((job.model.name, job.sample.name))
        name = f"replicate {self.place}" if self.place else "the pilot"
        what = (
            f"{name} is not complete: {len(left)} samples failed {self.study.running.retries + 1} "
            f"times. {quoted(job.sample.name)} of "
        )
        after = (
            f"\nAn error is not a zero, so {name} stays incomplete until these samples succeed. Finished samples "
            f"are kept: run the same command again to continue. Logs are in {shown_path(self.study.folder)}"
        )
        brief = f"{quoted(job.model.name)} {'was not reported' if error is None else 'was the first'}"
        counts, repeated = self.problems.counts, [each for each in self.problems.counts if each.count > 1]
        cause = brief
        if error is not None and (error.output or all(each.first.key != error.key for each in repeated)):
            cause, counts = described(error, width=400), tuple(each for each in counts if each.first.key != error.key)
        raise ReportedError(what + cause + after + _listed(counts), what + brief + after + _listed(repeated))


def _listed(counts: Sequence[ProblemCount]) -> str:
    """Failures of this command, below a message."""
    return "\nErrors of this command:" + "".join(f"\n  {line}" for line in counted_lines(counts)) if counts else ""


@dataclass(slots=True)
class _Reporter:
    """Takes what an engine reports: the journal first, then the watcher."""

    of: Completion
    errors: dict[tuple[str, str], Problem]
    secrets: tuple[str, ...]
    _troubled: set[tuple[str, str]] = field(default_factory=set)
    """Samples in progress whose trouble was reported before they ended."""

    def __call__(self, what: Done | Failed | Sent | Judged | Trouble | Backoff) -> None:
        watch, place = self.of.watch, self.of.place
        if isinstance(what, Backoff):
            watch(RequestWaits(model=what.model, seconds=what.seconds))
        elif isinstance(what, Trouble):
            self._troubled.add((what.model, what.sample))
            self._count(what.model, what.sample, what.problem)
        elif isinstance(what, Failed):
            self._fail(what)
        else:
            self.of.page.add(what)
            if isinstance(what, Done):
                key = what.model, what.sample
                self._troubled.discard(key)
                usage = self.of.page.done[key].usage  # with its judgements
                watch(SampleDone(replicate=place, model=what.model, sample=what.sample, usage=usage))

    def _fail(self, what: Failed) -> None:
        failed = replace(what, error=redacted(what.error[:_LONGEST_ERROR], self.secrets))
        self.of.page.add(failed)
        key = failed.model, failed.sample
        if what.problem is not None:
            self._count(*key, what.problem)
        elif key not in self._troubled:
            self._count(*key, Problem(kind="other", model=failed.model, message=failed.error))
        self._troubled.discard(key)
        self.of.watch(
            SampleFailed(replicate=self.of.place, model=failed.model, sample=failed.sample, error=failed.error)
        )

    def _count(self, model: str, sample: str, problem: Problem) -> None:
        cleaned = problem.cleaned(self.secrets)
        self.errors[model, sample] = cleaned
        self.of.watch(ErrorSeen(problem=cleaned, count=self.of.problems.add(cleaned)))
