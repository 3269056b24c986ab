"""The loop: run a replicate, put it on the board, look, drop what is settled, and stop when the question is answered.

**Guarantee:** that of the board. Whether another replicate is run and which models take part is decided from completed
replicates alone, at replicate boundaries: stopping times of the common history, under which every certificate keeps
its level. What happens inside a replicate (failures, retries, crashes) never looks at a score.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from bbedge.board import Added, Board
from bbedge.board.scores import stored_scores
from bbedge.core.leaderboard import Leaderboard
from bbedge.core.scores import Scores
from bbedge.credentials import redacted, secret_values
from bbedge.errors import CopiedReplicateError, EvaluationError
from bbedge.evaluate.engine import Benchmark, Done, Engine, Failed, Job, Sample, Sent
from bbedge.evaluate.events import (
    Begun,
    Dropped,
    Ended,
    Looked,
    Noted,
    Reason,
    ReplicateBegun,
    SampleDone,
    SampleFailed,
    SampleMissing,
    Waiting,
    Watcher,
)
from bbedge.evaluate.frozen import check_page, check_usage, journal_of, open_board, seeds_of
from bbedge.evaluate.journal import Journal, Page
from bbedge.evaluate.question import Answer
from bbedge.evaluate.spec import EvaluationSpec
from bbedge.evaluate.usage import Replicate, Spent, spent
from bbedge.text import quoted, shown, shown_path

_LONGEST_PAUSE = 60.0
_LONGEST_ERROR = 4000  # characters
_MANY = 8  # samples whose answers must repeat before it is worth a note ...
_LONG = 40  # ... and their mean length: the same letter or number twice is a coincidence


def evaluate(
    study: EvaluationSpec,
    engine: Engine,
    *,
    watch: Watcher | None = None,
    at_most: int | None = None,
    interrupted: Callable[[], bool] = lambda: False,
    sleep: Callable[[float], None] = time.sleep,
) -> Ended:
    """Run a study until its question is answered, or continue one that was interrupted.

    ``at_most`` stops after so many replicates of this call; the next call continues. ``interrupted`` is called whenever
    the engine returns, in case it caught an interrupt itself and continued.
    """
    benchmark = engine.benchmark()
    board = open_board(study, benchmark)
    try:
        with journal_of(study, benchmark, board) as journal:
            runner = _Runner(
                study, engine, benchmark, board, journal, watch or (lambda event: None), interrupted, sleep
            )
            return runner.run(at_most)
    finally:
        board.close()


@dataclass(slots=True)
class _Runner:
    study: EvaluationSpec
    engine: Engine
    benchmark: Benchmark
    board: Board
    journal: Journal
    watch: Watcher
    interrupted: Callable[[], bool]
    sleep: Callable[[float], None]
    _read: tuple[str, Leaderboard] | None = None
    """The leaderboard of the ledger's last event: on a large benchmark it is not cheap to make."""
    _answered: tuple[str, Answer] | None = None
    """The answer, likewise."""

    def run(self, at_most: int | None) -> Ended:
        board, study = self.board, self.study
        self._finish_leftovers()
        check_usage(self.journal, replicates=self._place - 1)
        self._note_missing_checksums()
        for caveat in self.engine.caveats():
            self._note("independence", caveat)
        self.watch(
            Begun(
                board=board.name,
                design_hash=board.registration,
                question=study.question.text,
                models=study.names,
                samples=len(self.benchmark.samples),
                items=len(self.benchmark.items),
                replicates=self._place - 1,
                budget=study.budget,
            )
        )
        ran = 0
        while True:
            reason = self._reason_to_stop()
            if reason is None:
                self._drop()
                if len(board.state.active) < 2:
                    reason = "nothing-left"
                elif at_most is not None and ran >= at_most:
                    reason = "asked"
            if reason is not None:
                return self._end(reason)
            self._replicate()
            ran += 1

    @property
    def _place(self) -> int:
        """The number of the next replicate, pilots counted."""
        epoch = self.board.state.epoch
        return epoch.pilots + epoch.replicates + 1

    def _leaderboard(self) -> Leaderboard:
        if self._read is None or self._read[0] != self.board.head:
            self._read = (self.board.head, self.board.leaderboard())
        return self._read[1]

    def _answer(self) -> Answer:
        if self._answered is None or self._answered[0] != self.board.head:
            question = self.study.question
            answer = question.answer(self._leaderboard(), lambda: stored_scores(self.board, question.systems))
            self._answered = (self.board.head, answer)
        return self._answered[1]

    def _reason_to_stop(self) -> Reason | None:
        leaderboard = self._leaderboard()
        if any(each.contradictions for each in (leaderboard, *leaderboard.views)):
            return "contradiction"
        if not self.board.state.in_pilot and self._answer().answered:
            return "answered"
        return "budget" if self._place > self.study.budget else None

    def _drop(self) -> None:
        state = self.board.state
        if state.in_pilot or not state.epoch.replicates:
            return
        needed = self.study.question.needed(self._leaderboard(), drop=self.study.drop)
        gone = tuple(model for model in state.active if model not in needed)
        for model in gone:
            self.board.retire(model)
        if gone:
            self.watch(Dropped(models=gone, left=tuple(self.board.state.active)))

    def _replicate(self) -> None:
        place = self._place
        page = self.journal.page(place)
        try:
            check_page(page, self.benchmark, self.study.names)
            jobs = self._jobs(place)
            self.watch(
                ReplicateBegun(
                    replicate=place,
                    pilot=self.board.state.in_pilot,
                    models=tuple(self.board.state.active),
                    samples=len(self.benchmark.samples),
                    done=tuple(
                        (model, sum(done == model for done, _ in page.done)) for model in self.board.state.active
                    ),
                )
            )
            self._complete(place, jobs, page)
            traces = self._traces(page)
            added = self._add(place, page, traces)
            self.journal.finish(page, traces=traces)
        finally:
            page.close()
        self.watch(
            Looked(
                replicate=place,
                leaderboard=self._leaderboard(),
                answer=self._answer(),
                new_edges=tuple((edge.winner, edge.loser) for edge in added.edges),
                new_view_edges={
                    name: tuple((edge.winner, edge.loser) for edge in edges) for name, edges in added.views.items()
                },
                spent=self._spent(),
            )
        )

    def _jobs(self, place: int) -> list[Job]:
        """All jobs of a replicate: for every model its blocks in an order of their own, a block's samples together."""
        seeds = seeds_of(self.study, self.benchmark, self.board)
        by_block: dict[str, list[Sample]] = {}
        for sample in self.benchmark.samples:
            by_block.setdefault(sample.blocks[0], []).append(sample)
        active = set(self.board.state.active)
        return [
            Job(model=model, sample=sample)
            for model in self.study.models
            if model.name in active
            for block in seeds.shuffled(tuple(by_block), model=model.name, replicate=place)
            for sample in by_block[block]
        ]

    def _complete(self, place: int, jobs: list[Job], page: Page) -> None:
        """Run until every sample has a score; what keeps failing stops the study, unless the design scores it."""
        running, seeds = self.study.running, seeds_of(self.study, self.benchmark, self.board)
        errors: dict[tuple[str, str], str] = {}

        # The whole environment goes to the engine, so its errors may repeat any key that is in it.
        secrets = secret_values(os.environ)

        def report(what: Done | Failed | Sent) -> None:
            if isinstance(what, Failed):
                what = replace(what, error=redacted(what.error[:_LONGEST_ERROR], secrets))
            page.add(what)
            if isinstance(what, Failed):
                errors[what.model, what.sample] = what.error
                self.watch(SampleFailed(replicate=place, model=what.model, sample=what.sample, error=what.error))
            elif isinstance(what, Done):
                self.watch(SampleDone(replicate=place, model=what.model, sample=what.sample, usage=what.usage))

        def seed(job: Job, call: int) -> int:
            return seeds.seed(model=job.model.name, sample=job.sample.name, replicate=place, call=call)

        for attempt in range(running.retries + 1):
            left = [job for job in jobs if (job.model.name, job.sample.name) not in page.done]
            if not left:
                return
            if attempt:
                pause = min(running.pause * 2 ** (attempt - 1), max(running.pause, _LONGEST_PAUSE))
                self.watch(Waiting(samples=len(left), seconds=pause, attempt=attempt + 1))
                self.sleep(pause)
            page.settle()
            self.engine.run(place, left, seed, report)
            if self.interrupted():
                raise KeyboardInterrupt
        left = [job for job in jobs if (job.model.name, job.sample.name) not in page.done]
        if self.study.on_error == "zero":
            for job in left:
                report(Done(model=job.model.name, sample=job.sample.name, scores=dict.fromkeys(job.sample.items, 0.0)))
        elif left and self.study.on_error == "worst-case":
            self._leave_out(place, left, errors, page)
        elif left:
            self._give_up(place, left, errors)

    def _leave_out(self, place: int, left: list[Job], errors: Mapping[tuple[str, str], str], page: Page) -> None:
        """Record the scores of these samples as missing, which is final.

        Where no sample of a model has ended, its run is missing and not some of its scores: it stops the study.
        """
        running = {model for model, _ in page.done}
        gone = [job for job in left if job.model.name not in running]
        if gone:
            self._give_up(place, gone, errors)
        for job in left:
            missing = dict.fromkeys(job.sample.items, math.nan)
            page.add(Done(model=job.model.name, sample=job.sample.name, scores=missing))
            self.watch(SampleMissing(replicate=place, model=job.model.name, sample=job.sample.name))

    def _give_up(self, place: int, left: list[Job], errors: Mapping[tuple[str, str], str]) -> None:
        job = left[0]
        error = errors.get((job.model.name, job.sample.name), "it was not reported")
        raise EvaluationError(
            f"replicate {place} is not complete: {len(left)} samples failed {self.study.running.retries + 1} times. "
            f"{quoted(job.sample.name)} of {quoted(job.model.name)}: {shown(error, 400)}\n"
            "An error is not a zero, so the replicate stays incomplete until these samples succeed. Finished samples "
            f"are kept: run the same command again to continue. Logs are in {shown_path(self.study.folder)}"
        )

    def _add(self, place: int, page: Page, traces: Mapping[str, str]) -> Added:
        """Put the replicate on the board; before that, note what the reader of the board should know."""
        active, items = self.board.state.active, self.board.state.epoch.items
        values = np.empty((len(active), len(items)))
        for row, model in enumerate(active):
            scores: dict[str, float] = {}
            for sample in self.benchmark.samples:
                scores |= page.done[model, sample.name].scores
            values[row] = [scores[item] for item in items]
        for model in dict.fromkeys(name for done in page.done.values() for name in done.unseeded):
            self._note(
                "independence",
                f"Requests to {shown(model)} carry no seed, because its provider takes none: that its answers differ "
                "between replicates as independent ones do rests on the provider.",
            )
        fresh = self._is_fresh(page, traces)
        scores_ = Scores(
            models=tuple(active),
            items=tuple(items),
            blocks=tuple(self.board.state.epoch.blocks),
            replicates=(str(place),),
            values=values[None],
            score_range=self.study.design.score_range,
            gaps="worst-case" if self.study.on_error == "worst-case" else "refuse",
        )
        try:
            return self.board.add(scores_, copies="allow" if fresh else None)
        except CopiedReplicateError as error:
            raise EvaluationError(
                f"replicate {place} repeats an earlier one. {error.what} Likely causes: greedy decoding, a cache, or a "
                "server that ignores seeds. Remove the cause before the next study. To count this replicate and all "
                'like it, set copies = "allow" under [run] and run the same command again; the board states it. Until '
                "then the replicate stays in the journal"
            ) from error

    def _is_fresh(self, page: Page, traces: Mapping[str, str]) -> bool:
        """Whether the answers show that the replicate was run anew, so that equal scores are a coincidence."""
        earlier = [each for each in self.journal.finished() if each.replicate < page.replicate]
        count = len(self.benchmark.samples)
        for model, trace in traces.items():
            same = [each.replicate for each in earlier if each.traces.get(model) == trace]
            length = sum(done.length for (name, _), done in page.done.items() if name == model)
            if same and count >= _MANY and length >= _LONG * count:
                self._note(
                    "independence",
                    f"{shown(model)} answered everything in replicate {page.replicate} word for word as in replicate "
                    f"{same[0]}: it decodes greedily, or its server caches or ignores seeds.",
                )
        if self.study.running.copies == "allow":
            return True
        return bool(traces) and not any(
            all(each.traces.get(model) == trace for model, trace in traces.items()) for each in earlier
        )

    def _traces(self, page: Page) -> dict[str, str]:
        traces = {}
        for model in sorted({model for model, _ in page.done}):
            found = [page.done.get((model, sample.name)) for sample in self.benchmark.samples]
            parts = [None if done is None else done.trace for done in found]
            if all(part is not None for part in parts):
                traces[model] = hashlib.sha256("".join(map(str, parts)).encode()).hexdigest()
        return traces

    def _finish_leftovers(self) -> None:
        """Finish what a crash left between the board and the journal."""
        for place in self.journal.pages():
            if place < self._place:
                page = self.journal.page(place)
                self.journal.finish(page, traces=self._traces(page))

    def _note_missing_checksums(self) -> None:
        if self.journal.without_checksums():
            self._note(
                "journal",
                "The journal was begun by an earlier version of bbedge, which kept no checksums: whether another "
                "program has changed those lines is not known.",
            )

    def _note(self, about: str, text: str) -> None:
        if all(note.text != text for note in self.board.noted):
            self.board.note(about, text)
            self.watch(Noted(text=text))

    def _spent(self) -> Spent:
        """What the journal knows, beside every sample of every model in every replicate of the budget."""
        finished, per_model = self.journal.finished(), len(self.benchmark.samples)
        samples = sum(per_model * len(each.usage) if each.samples is None else each.samples for each in finished)
        unfinished = []
        for place in self.journal.pages():
            page = self.journal.page(place)
            unfinished.append(Replicate(usage=page.usage(), wasted=page.wasted, lost=sum(page.lost.values())))
            samples += len(page.done)
            page.close()
        return spent(
            finished,
            models=self.study.names,
            replicates=self._place - 1,
            samples=samples,
            full_samples=per_model * len(self.study.names) * self.study.budget,
            budget=self.study.budget,
            prices=self.study.prices,
            unfinished=unfinished,
        )

    def _end(self, reason: Reason) -> Ended:
        ended = Ended(
            reason=reason,
            answer=self._answer(),
            leaderboard=self._leaderboard(),
            spent=self._spent(),
            retired=tuple(self.board.state.retired),
            design=self.board.design,
        )
        self.watch(ended)
        return ended
