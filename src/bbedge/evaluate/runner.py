"""The loop: run a replicate, put it on the board, look, drop what is settled, and stop when the question is answered.

**Guarantee:** that of the board. Whether another replicate is run and which models take part is decided from completed
replicates alone, at replicate boundaries: stopping times of the common history, under which every certificate keeps
its level. What happens inside a replicate (failures, retries, crashes) never looks at a score.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from bbedge.board import Added, Board
from bbedge.board.scores import stored_scores
from bbedge.core.leaderboard import Leaderboard
from bbedge.core.scores import Scores
from bbedge.errors import CopiedReplicateError, EvaluationError
from bbedge.evaluate.completion import Completion, jobs_of
from bbedge.evaluate.engine import Benchmark, Engine
from bbedge.evaluate.events import (
    Begun,
    Dropped,
    Ended,
    LimitReached,
    Looked,
    Noted,
    Reason,
    ReplicateBegun,
    Watcher,
)
from bbedge.evaluate.extras import add_extra, extra_usage
from bbedge.evaluate.frozen import check_page, check_usage, journal_of, open_board, seeds_of
from bbedge.evaluate.journal import Journal, Page
from bbedge.evaluate.limits import Reached
from bbedge.evaluate.preflight import preflight
from bbedge.evaluate.problem import Problems
from bbedge.evaluate.question import Answer
from bbedge.evaluate.spec import EvaluationSpec
from bbedge.evaluate.usage import Replicate, Spent, Usage, spent
from bbedge.text import shown

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
    clock: Callable[[], float] = time.monotonic,
) -> Ended:
    """Run a study until its question is answered, or continue one that was interrupted.

    ``at_most`` stops after so many replicates of this call; the next call continues. ``interrupted`` is called whenever
    the engine returns, in case it caught an interrupt itself and continued. ``clock`` gives seconds, for the limit on
    time.
    """
    began, watch, problems = clock(), watch or (lambda event: None), Problems()
    benchmark = engine.benchmark()
    checked: list[Usage] = []
    board = open_board(
        study,
        benchmark,
        # A name or address that is wrong should show before it is frozen.
        before_freezing=lambda: checked.append(preflight(study, engine, study.models, problems, watch)),
    )
    try:
        with journal_of(study, benchmark, board) as journal:
            runner = _Runner(
                study=study,
                engine=engine,
                benchmark=benchmark,
                board=board,
                journal=journal,
                watch=watch,
                interrupted=interrupted,
                sleep=sleep,
                clock=clock,
                began=began,
                problems=problems,
                checked=checked[0] if checked else None,
            )
            return runner.run(at_most)
    finally:
        board.close()


@dataclass(slots=True, kw_only=True)
class _Runner:
    study: EvaluationSpec
    engine: Engine
    benchmark: Benchmark
    board: Board
    journal: Journal
    watch: Watcher
    interrupted: Callable[[], bool]
    sleep: Callable[[float], None]
    clock: Callable[[], float]
    began: float
    problems: Problems
    checked: Usage | None
    """What the short questions of this call have cost; ``None`` until they are asked."""
    _read: tuple[str, Leaderboard] | None = None
    """The leaderboard of the ledger's last event: on a large benchmark it is not cheap to make."""
    _answered: tuple[str, Answer] | None = None
    """The answer, likewise."""

    def run(self, at_most: int | None) -> Ended:
        board, study = self.board, self.study
        self._keep_check()
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
            reached = self._reached()
            if reached is None:
                self._check_models()
                reached = self._replicate()
            if reached is not None:
                self.watch(LimitReached(reached=reached, replicate=self._place))
                return self._end("limit", reached)
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

    def _replicate(self) -> Reached | None:
        """Run the next replicate and put it on the board, unless a limit stops it on the way."""
        place = self._place
        page = self.journal.page(place)
        try:
            check_page(page, self.benchmark, self.study.names)
            seeds = seeds_of(self.study, self.benchmark, self.board)
            jobs = jobs_of(self.study, self.benchmark, seeds, set(self.board.state.active), place)
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
            reached = Completion(
                study=self.study,
                engine=self.engine,
                seeds=seeds,
                place=place,
                page=page,
                watch=self.watch,
                problems=self.problems,
                interrupted=self.interrupted,
                sleep=self.sleep,
                reached=self._reached,
            ).run(jobs)
            if reached is not None:
                return reached
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
        return None

    def _reached(self, page: Page | None = None) -> Reached | None:
        """The limit that is reached by all that was used, with the page of the replicate in progress."""
        limits = self.study.limits
        if not limits.exist:
            return None
        used = sum((each.total for each in self.journal.finished()), Usage())
        used += sum(((page.usage() if page is not None else {}).values()), Usage())
        used += extra_usage(self.journal.folder, "check") + extra_usage(self.journal.folder, "pilot")
        return limits.reached(used, hours=(self.clock() - self.began) / 3600, prices=self.study.prices)

    def _check_models(self) -> None:
        """Ask the models that are run the short question, once in a call."""
        if self.checked is None:
            active = set(self.board.state.active)
            models = [model for model in self.study.models if model.name in active]
            self.checked = preflight(self.study, self.engine, models, self.problems, self.watch)
            self._keep_check()

    def _keep_check(self) -> None:
        if self.checked is not None:
            add_extra(self.journal.folder, "check", self.checked)

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
            checks=extra_usage(self.journal.folder, "check"),
            pilot=extra_usage(self.journal.folder, "pilot"),
        )

    def _end(self, reason: Reason, reached: Reached | None = None) -> Ended:
        ended = Ended(
            reason=reason,
            answer=self._answer(),
            leaderboard=self._leaderboard(),
            spent=self._spent(),
            retired=tuple(self.board.state.retired),
            design=self.board.design,
            problems=self.problems.counts,
            reached=reached,
        )
        self.watch(ended)
        return ended
