"""The loop: run a replicate, put it on the board, look, drop what is settled, and stop when the question is answered.

**Guarantee:** that of the board. Whether another replicate is run and which models take part is decided from completed
replicates alone, and from the first one up to a checkpoint of the design: looks that are planned beforehand, at which
every certificate keeps its level. What happens between two looks (failures, retries, crashes) never looks at a score.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from bbedge.board import Board
from bbedge.board.stored_scores import stored_scores
from bbedge.core.leaderboard import Leaderboard
from bbedge.errors import CopiedReplicateError
from bbedge.evaluate import handover, servers, study_board
from bbedge.evaluate.completion import Completion, StudyCall, jobs_of, unwatched
from bbedge.evaluate.engine import Engine
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
from bbedge.evaluate.journal import Journal, ReplicateFile
from bbedge.evaluate.journal_file import add_extra, extra_usage
from bbedge.evaluate.preflight import Checked, preflight
from bbedge.evaluate.question import Answer
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.evaluate.study_board import FirstRunSchedule, RunSegment, journal_of, seeds_of
from bbedge.evaluate.usage import Reached, Spent, reached_limit
from bbedge.records.journal import Usage
from bbedge.records.study import Names
from bbedge.records.values import Target


def evaluate(
    study: EvaluationSpec,
    engine: Engine,
    *,
    watch: Watcher | None = None,
    at_most: int | None = None,
    interrupted: Callable[[], bool] = lambda: False,
    server_changed: str | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Ended:
    """Run a study until its question is answered, or continue one that was interrupted.

    ``at_most`` stops after so many replicates of this call; the next call continues. ``interrupted`` is called whenever
    the engine returns, in case it caught an interrupt itself and continued. ``server_changed`` is the reason why
    another server is asked than before, or the same server serves another model; without one that is refused.
    ``clock`` gives seconds, for the limit on time.
    """
    began, call = clock(), StudyCall(study, engine, watch or unwatched, interrupted, sleep)
    benchmark, reason = engine.benchmark(), servers.checked_reason(server_changed)
    checked: list[Checked] = []

    def check() -> Checked:
        checked.append(preflight(call, study.models))
        return checked[0]

    board = study_board.open_board(
        study,
        benchmark,
        addresses=servers.addresses_of(engine),
        server_changed=reason,
        # A name or address that is wrong should show before it is frozen.
        before_freezing=check,
        noted=lambda text: call.watch(Noted(text=text)),
    )
    with closing(board), journal_of(study, benchmark, board) as journal:
        runner = _Runner(
            call=call,
            board=board,
            journal=journal,
            first=FirstRunSchedule(benchmark, board),
            hours=lambda: (clock() - began) / 3600,
            checked=checked[0].usage if checked else None,
            server_changed=reason,
        )
        with closing(runner):
            return runner.run(at_most)


@dataclass(slots=True, kw_only=True)
class _Runner:
    call: StudyCall
    board: Board
    journal: Journal
    first: FirstRunSchedule
    hours: Callable[[], float]
    """How long this call has taken."""
    checked: Usage | None
    """What the short questions of this call have cost; ``None`` until they are asked."""
    server_changed: str | None
    _read: tuple[str, Leaderboard] | None = None
    """The leaderboard of the ledger's last event: on a large benchmark it is not cheap to make."""
    _answered: tuple[str, Answer] | None = None
    """The answer, likewise."""
    _page: ReplicateFile | None = None
    """The file of the replicate that is run."""

    def run(self, at_most: int | None) -> Ended:
        board, study = self.board, self.call.study
        self._keep_check()
        handover.end_finished(board)
        for place in [each for each in self.journal.pages() if each < self._place]:  # what a crash has left
            page = self.journal.page(place)
            self.journal.finish(page, traces=handover.answer_hashes(page, self.first.samples_of(place)))
        handover.check_usage(self.journal, replicates=self._place - 1)
        for text in handover.lost_replicate_notes(self.journal, self._place):
            self._note("journal", text)
        for caveat in self.call.engine.caveats():
            self._note("independence", caveat)
        self.call.watch(
            Begun(
                board=board.name,
                design_hash=board.registration,
                question=study.question.text,
                models=study.names,
                samples=len(self.first.benchmark.samples),
                items=len(self.first.benchmark.items),
                replicates=self._place - 1,
                budget=study.file.budget,
            )
        )
        before = self._place
        while True:
            reason = self._reason_to_stop()
            if reason is None:
                self._drop()
                if len(board.state.active) < 2:
                    reason = "answered" if self._answer().answered else "nothing-left"
                elif at_most is not None and self._place - before >= at_most:
                    reason = "asked"
            if reason is not None:
                return self._end(reason)
            reached = self._reached(self._page)
            if reached is None:
                self._check_models()
                reached = self._step()
            if reached is not None:
                self.call.watch(LimitReached(reached=reached, replicate=self._place))
                return self._end("limit", reached)

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
            question, board = self.call.study.question, self.board
            answer = question.answer(
                self._leaderboard(),
                lambda: stored_scores(board, question.systems),
                lambda: study_board.first_run_of(board, question.systems, question.policy),
            )
            self._answered = (self.board.head, answer)
        return self._answered[1]

    def _reason_to_stop(self) -> Reason | None:
        leaderboard = self._leaderboard()
        if leaderboard.is_contradicted:
            return "contradiction"
        answer = None if self.board.state.in_pilot else self._answer()
        if answer is not None and answer.contradicted:
            return "contradiction"
        budget, state = self.call.study.file.budget, self.board.state
        # What was run since the last look is looked at before the study stops, whichever target has the answer.
        awaited = any(state.epoch.replicates < look <= budget - state.epoch.pilots for look in self._looks.values())
        if answer is not None and answer.answered and not awaited:
            return "answered"
        return "budget" if self._place > budget else None

    @property
    def _looks(self) -> dict[Target, int]:
        """After how many runs each target is looked at: after those that there are, or else next."""
        state = self.board.state
        return state.next_looks(state.epoch.replicates - 1)

    def _drop(self) -> None:
        state = self.board.state
        if state.in_pilot or not (state.epoch.replicates or state.epoch.is_inside_first_run):
            return
        if self._looks.get("benchmark", 0) > state.epoch.replicates:  # inside a score of several runs
            return
        needed = self.call.study.question.needed(self._leaderboard(), drop=self.call.study.file.drop)
        gone = tuple(model for model in state.active if model not in needed)
        for model in gone:
            self.board.retire(model)
        if gone:
            self.call.watch(Dropped(models=gone, left=tuple(self.board.state.active)))

    def _opened(self) -> ReplicateFile:
        """The file of the replicate that is run; it stays open until the replicate is complete or the call ends."""
        if self._page is not None:
            return self._page
        study, place, active = self.call.study, self._place, tuple(self.board.state.active)
        seeds = seeds_of(study, self.first.benchmark, self.board)
        self._page = page = handover.open_attempt(self.board, self.journal, place, seeds)
        samples = self.first.samples_of(place)
        handover.check_page(page, samples, study.names)
        handover.check_first_run(self.board, self.first, page)
        self.call.watch(
            ReplicateBegun(
                replicate=place,
                attempt=page.attempt or 1,
                pilot=self.board.state.in_pilot,
                models=active,
                samples=len(samples),
                done=tuple((model, sum(done == model for done, _ in page.done)) for model in active),
            )
        )
        return page

    def _step(self) -> Reached | None:
        """Run the next replicate, or the first one up to its next checkpoint, and put it on the board.

        A limit may stop it before. Inside the first run every model that is run has every sample up to the checkpoint
        before the next look.
        """
        page, study, benchmark, active = self._opened(), self.call.study, self.first.benchmark, self.board.state.active
        seeds, segment = seeds_of(study, benchmark, self.board), self.first.next_segment
        if segment is None:
            jobs = jobs_of(study, benchmark, seeds, set(active), page.replicate)
        else:
            jobs = segment.jobs(study, active)
        reached = Completion(call=self.call, seeds=seeds, page=page, reached=self._reached).run(jobs)
        if reached is None:
            self._check_served(servers.served_on(page), page)
            for text in handover.unseeded_notes(page):
                self._note("independence", text)
            self._add_and_look(page, segment)
        return reached

    def _add_and_look(self, page: ReplicateFile, segment: RunSegment | None) -> None:
        """Put what was run on the board, before that note what the reader of the board should know, and look."""
        study, state, place = self.call.study, self.board.state, page.replicate
        copies, running = study.file.run.copies == "allow", tuple(state.active)
        checkpoint = None if segment is None else segment.checkpoint
        if segment is not None and checkpoint is not None:
            upto = checkpoint.blocks
            scores = handover.journal_scores(page, state, segment.samples, self.board.next_items)
        else:
            upto, samples = None, self.first.samples_of(place)
            traces = handover.answer_hashes(page, samples)
            for text in handover.repeated_answers(self.journal, page, traces, samples=len(samples)):
                self._note("independence", text)
            copies = copies or handover.is_fresh(self.journal, page, traces)
            seen = handover.stored_first_run(self.board)
            scores = handover.journal_scores(page, state, samples, state.epoch.items, seen)
        try:
            added = self.board.add(scores, upto=upto, copies="allow" if copies else None)
        except CopiedReplicateError as error:
            raise handover.copied_replicate_error(place, error) from error
        if checkpoint is None:
            handover.end_finished(self.board)
            self.journal.finish(page, traces=traces)
            self._page = None
        self.call.watch(
            Looked(
                replicate=place,
                added=added,
                leaderboard=self._leaderboard(),
                answer=self._answer(),
                spent=self._spent() if checkpoint is None else None,
                checkpoint=checkpoint,
                checkpoints=max(0, len(self.first.segments) - 1),
                models=running,
            )
        )

    def _reached(self, page: ReplicateFile | None = None) -> Reached | None:
        """The limit that is reached by all that was used, with the page of the replicate in progress."""
        if not self.call.study.file.exist:
            return None
        used = sum((each.total for each in self.journal.finished()), Usage())
        used += Usage() if page is None else page.total()
        used += extra_usage(self.journal.folder, "check", "pilot")
        return reached_limit(self.call.study, used, hours=self.hours())

    def _check_models(self) -> None:
        """Ask the models that are run the short question, once in a call."""
        if self.checked is None:
            active = set(self.board.state.active)
            models = [model for model in self.call.study.models if model.name in active]
            checked = preflight(self.call, models)
            self.checked = checked.usage
            self._keep_check()
            self._check_served(checked.served)

    def _check_served(self, served: Names, page: ReplicateFile | None = None) -> None:
        """Refuse answers of another model than the one that was served so far."""
        for text in servers.check_served(self.call.study, self.board, served, self.server_changed, page):
            self.call.watch(Noted(text=text))

    def _keep_check(self) -> None:
        if self.checked is not None:
            add_extra(self.journal.folder, "check", self.checked)

    def _note(self, about: str, text: str) -> None:
        if study_board.note_once(self.board, about, text):
            self.call.watch(Noted(text=text))

    def _spent(self) -> Spent:
        return handover.spent_so_far(self.call.study, self.first, self.journal, replicates=self._place - 1)

    def _end(self, reason: Reason, reached: Reached | None = None) -> Ended:
        self.close()
        # What a limit or the user has cut off is not saved.
        over = reason == "answered" or self.board.state.epoch.replicates > 0
        first, saved = self.first.place if over else None, None
        # What an attempt that was abandoned has cost is not known.
        if first is not None and len(self.board.state.epoch.attempts.get(first, ())) == 1:
            saved = handover.saving_in_first_run(self.call.study, self.first.benchmark, self.journal, first=first)
        ended = Ended(
            reason=reason,
            answer=self._answer(),
            leaderboard=self._leaderboard(),
            spent=self._spent(),
            retired=tuple(self.board.state.retired),
            design=self.board.design,
            problems=tuple(self.call.problems.values()),
            reached=reached,
            first_run=saved,
        )
        self.call.watch(ended)
        return ended

    def close(self) -> None:
        """Close the file of the replicate that is run."""
        if self._page is not None:
            self._page.close()
            self._page = None
