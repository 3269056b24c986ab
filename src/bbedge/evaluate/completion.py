"""One replicate, run until every sample has a score. What happens here never looks at a score."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from bbedge.credentials import redacted, secret_values
from bbedge.errors import ReportedError
from bbedge.evaluate.engine import (
    Benchmark,
    Engine,
    Failed,
    Job,
    JudgementKey,
    RequestSeeds,
    RequestWaits,
    Sample,
    Trouble,
)
from bbedge.evaluate.events import (
    ErrorSeen,
    RequestsRepeated,
    SampleDone,
    SampleFailed,
    SampleMissing,
    Waiting,
    Watcher,
)
from bbedge.evaluate.failures import Problem, ProblemCount, Problems, counted_lines, described
from bbedge.evaluate.journal import ReplicateFile
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.evaluate.usage import Reached
from bbedge.records.journal import Done, Judged, Sent
from bbedge.text import quoted, shown_path

_LONGEST_PAUSE = 60.0
_LONGEST_ERROR = 4000  # characters
_SMALLEST_BATCH = 20  # samples: fewer would leave connections idle at every check of the limits
_CHECKS = 20  # of the limits in a replicate


def jobs_of(
    study: EvaluationSpec, benchmark: Benchmark, seeds: RequestSeeds, active: set[str], place: int
) -> list[Job]:
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

    study: EvaluationSpec
    engine: Engine
    seeds: RequestSeeds
    place: int
    """The number of the replicate, pilots counted; 0 for the pilot of a dry run, which is no replicate."""
    page: ReplicateFile
    """Its file in the journal."""
    watch: Watcher
    problems: Problems
    """Where failures are counted."""
    interrupted: Callable[[], bool]
    sleep: Callable[[float], None]
    reached: Callable[[ReplicateFile], Reached | None]
    """The limit that is reached, if there is one."""
    _errors: dict[tuple[str, str], Problem] = field(default_factory=dict)
    """The last failure of each sample."""
    _troubled: set[tuple[str, str]] = field(default_factory=set)
    """Samples in progress whose trouble was reported before they ended."""
    # The whole environment goes to the engine, so its errors may repeat any key that is in it.
    _secrets: tuple[str, ...] = field(default_factory=lambda: secret_values(os.environ))

    def run(self, jobs: list[Job]) -> Reached | None:
        """Run until every sample has a score; what keeps failing stops the study, unless the design scores it.

        Returns the limit that has stopped it, if one has: the replicate is not complete then.
        """
        running, page = self.study.running, self.page
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
                self.engine.run(self.place, [self._informed(job) for job in batch], self._seed, self._report)
                if self.interrupted():
                    raise KeyboardInterrupt
        left = self._left(jobs)
        if self.study.on_error == "zero":
            for job in left:
                self._report(
                    Done(model=job.model.name, sample=job.sample.name, scores=dict.fromkeys(job.sample.items, 0.0))
                )
        elif left and self.study.on_error == "worst-case":
            self._leave_out(left)
        elif left:
            self._give_up(left)
        return None

    def _report(self, what: Done | Failed | Sent | Judged | Trouble | RequestWaits) -> None:
        """Take what the engine reports: the journal first, then the watcher."""
        if isinstance(what, RequestWaits):
            self.watch(what)
        elif isinstance(what, Trouble):
            self._troubled.add((what.model, what.sample))
            self._count(what.model, what.sample, what.problem)
        elif isinstance(what, Failed):
            self._fail(what)
        else:
            self.page.add(what)
            if isinstance(what, Done):
                key = what.model, what.sample
                self._troubled.discard(key)
                usage = self.page.done[key].usage  # with its judgements
                self.watch(SampleDone(replicate=self.place, model=what.model, sample=what.sample, usage=usage))

    def _fail(self, what: Failed) -> None:
        failed = replace(what, error=redacted(what.error[:_LONGEST_ERROR], self._secrets))
        self.page.add(failed)
        key = failed.model, failed.sample
        if what.problem is not None:
            self._count(*key, what.problem)
        elif key not in self._troubled:
            self._count(*key, Problem(kind="other", model=failed.model, message=failed.error))
        self._troubled.discard(key)
        self.watch(SampleFailed(replicate=self.place, model=failed.model, sample=failed.sample, error=failed.error))

    def _count(self, model: str, sample: str, problem: Problem) -> None:
        cleaned = problem.cleaned(self._secrets)
        self._errors[model, sample] = cleaned
        self.watch(ErrorSeen(problem=cleaned, count=self.problems.add(cleaned)))

    def _left(self, jobs: list[Job]) -> list[Job]:
        return [job for job in jobs if (job.model.name, job.sample.name) not in self.page.done]

    def _informed(self, job: Job) -> Job:
        """The job with the judgements that earlier attempts at it have left."""
        return replace(job, judged=self.page.judged.get((job.model.name, job.sample.name), ()))

    def _seed(self, job: Job, call: int, judging: JudgementKey | None = None) -> int:
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

    def _leave_out(self, left: list[Job]) -> None:
        """Record the scores of these samples as missing, which is final.

        Where no sample of a model has ended, its run is missing and not some of its scores: it stops the study.
        """
        running = {model for model, _ in self.page.done}
        gone = [job for job in left if job.model.name not in running]
        if gone:
            self._give_up(gone)
        for job in left:
            missing = dict.fromkeys(job.sample.items)
            self.page.add(Done(model=job.model.name, sample=job.sample.name, scores=missing))
            self.watch(SampleMissing(replicate=self.place, model=job.model.name, sample=job.sample.name))

    def _give_up(self, left: list[Job]) -> None:
        job = left[0]
        error = self._errors.get((job.model.name, job.sample.name))
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
