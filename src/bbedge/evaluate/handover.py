"""From the journal to the board: attempts, scores, hashes of answers, notes for its readers, and what was spent.

An attempt at a replicate is on the board before the first request, so that none can be drawn again without a trace. A
journal that is intact continues its attempt. If it is missing, or is not that of the attempt which the board has open,
the attempt is recorded as abandoned and another one begins. The file of the replicate states its attempt before the
board does: a crash between them is no attempt, because nothing was asked yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import get_args

import numpy as np

from bbedge.board import Board
from bbedge.board.state import BoardState
from bbedge.board.stored_scores import StoredScores, scores_of
from bbedge.core.scores import Scores
from bbedge.errors import CopiedReplicateError, EvaluationError
from bbedge.evaluate.engine import Benchmark, RequestSeeds, Sample
from bbedge.evaluate.journal import RUN_AGAIN, Journal, ReplicateFile
from bbedge.evaluate.journal_file import extra_usage
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.evaluate.study_board import FirstRunSchedule
from bbedge.evaluate.usage import FirstRunSaving, Spent, first_run_saving, spent
from bbedge.records.events import AbandonReason, AttemptBegun, ReplicateAdded
from bbedge.records.journal import ExtraKind
from bbedge.text import counted, quoted, shown, shown_path

_MANY = 8  # samples whose answers must repeat before it is worth a note ...
_LONG = 40  # ... and their mean length: the same letter or number twice is a coincidence


def open_attempt(board: Board, journal: Journal, place: int, seeds: RequestSeeds) -> ReplicateFile:
    """The file of the replicate at this place, in the attempt that is open or in a new one."""
    page, earlier = journal.page(place), board.state.epoch.attempts.get(place, [])
    is_open, new = earlier[-1:] == [None], len(earlier) + 1
    if is_open and page.attempt == len(earlier):
        return page
    is_replaced = page.attempt not in (None, new)
    if is_replaced:
        page.set_aside()
        page = journal.page(place)
    try:
        if page.attempt is None:
            page.begin(new)
        if is_open:
            why: AbandonReason = "journal-replaced" if is_replaced else "journal-missing"
            board.end_attempt(place, len(earlier), "abandoned", reason=why)
        board.begin_attempt(place, new, seeds.number, journal.protocol)
    except BaseException:
        page.close()
        raise
    return page


def end_finished(board: Board) -> None:
    """Record attempts as finished whose replicates are on the board."""
    epoch = board.state.epoch
    for place, outcomes in list(epoch.attempts.items()):
        if outcomes[-1] is None and place <= epoch.pilots + epoch.replicates:
            board.end_attempt(place, len(outcomes), "finished")


def journal_scores(
    page: ReplicateFile,
    state: BoardState,
    samples: Sequence[Sample],
    items: Sequence[str],
    seen: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> Scores:
    """The scores of the active models on these items, of which the samples have every one.

    ``seen`` is what the board has of them, by model and item. It stands in for samples that the journal has lost: run
    again they might score otherwise.
    """
    values = np.empty((1, len(state.active), len(items)))
    for row, model in enumerate(state.active):
        scores: dict[str, float | None] = dict(seen.get(model, {}))
        for sample in samples:
            done = page.done.get((model, sample.name))
            scores |= {} if done is None else done.scores
        values[0, row] = np.array([scores[item] for item in items], dtype=float)  # None, which is missing, becomes NaN
    return scores_of(state, values, state.active, items, [page.replicate])


def stored_first_run(board: Board) -> dict[str, dict[str, float]]:
    """What the board has of a first run that is not complete, by model and item."""
    epoch = board.state.epoch
    if not epoch.is_inside_first_run:
        return {}
    with board.store.read() as session:
        seen = StoredScores(session).seen(epoch)
    items = [epoch.items[place] for place in epoch.seen_places]
    return {
        model: dict(zip(items, row.tolist(), strict=False)) for model, row in seen.items()
    }  # a stopped one has less


def answer_hashes(page: ReplicateFile, samples: Sequence[Sample]) -> dict[str, str]:
    """A hash of all answers of every model that has run all samples and whose answers the engine sees."""
    traces = {}
    for model in sorted({model for model, _ in page.done}):
        found = [page.done.get((model, sample.name)) for sample in samples]
        answers = [done.trace for done in found if done is not None and done.trace is not None]
        if len(answers) == len(found):
            traces[model] = hashlib.sha256("".join(answers).encode()).hexdigest()
    return traces


def unseeded_notes(page: ReplicateFile) -> list[str]:
    """A note for every model that was asked without a seed."""
    return [
        f"Requests to {shown(model)} carry no seed, because its provider takes none: that its answers differ "
        "between replicates as independent ones do rests on the provider."
        for model in dict.fromkeys(name for done in page.done.values() for name in done.unseeded)
    ]


def lost_replicate_notes(journal: Journal, place: int) -> list[str]:
    """A note for every replicate from this place on that the journal has and the board lacks.

    Those that were run for a board with another order are lacking, too.
    """
    lacking = {each.replicate for each in journal.finished() if each.replicate >= place} | journal.of_other_orders()
    return [
        f"The journal has replicate {replicate}, which the board lacks: the board is an older copy or was made anew. "
        "The replicate is run again, although its scores had been seen."
        for replicate in sorted(lacking)
    ]


def repeated_answers(journal: Journal, page: ReplicateFile, traces: Mapping[str, str], *, samples: int) -> list[str]:
    """A note for every model that answered all of so many samples as in an earlier replicate."""
    earlier, notes = [each for each in journal.finished() if each.replicate < page.replicate], []
    for model, trace in traces.items():
        same = [each.replicate for each in earlier if each.traces.get(model) == trace]
        length = sum(done.length for (name, _), done in page.done.items() if name == model)
        if same and samples >= _MANY and length >= _LONG * samples:
            notes.append(
                f"{shown(model)} answered everything in replicate {page.replicate} word for word as in replicate "
                f"{same[0]}: it decodes greedily, or its server caches or ignores seeds."
            )
    return notes


def is_fresh(journal: Journal, page: ReplicateFile, traces: Mapping[str, str]) -> bool:
    """Whether the answers show that the replicate was run anew, so that equal scores are a coincidence.

    Where the answers of an earlier one are not known, as those of a run in parts or those of a journal that was lost,
    they show nothing.
    """
    earlier = [each for each in journal.finished() if each.replicate < page.replicate]
    if not traces or len({each.replicate for each in earlier}) < page.replicate - 1:
        return False
    return not any(all(each.traces.get(model, trace) == trace for model, trace in traces.items()) for each in earlier)


def copied_replicate_error(place: int, error: CopiedReplicateError) -> EvaluationError:
    """What stops a study whose replicate, or the part of it that was run, has the scores of an earlier one."""
    return EvaluationError(
        f"replicate {place} repeats an earlier one. {error.what} Likely causes: greedy decoding, a cache, or a "
        "server that ignores seeds. Remove the cause before the next study. To count this replicate and all "
        'like it, set copies = "allow" under [run] and run the same command again; the board states it. Until '
        "then the replicate stays in the journal"
    )


def spent_so_far(study: EvaluationSpec, first: FirstRunSchedule, journal: Journal, *, replicates: int) -> Spent:
    """What the journal knows, beside every sample of every model in every replicate of the budget."""
    samples, unfinished = len(first.benchmark.samples), journal.unfinished()
    # A sample that was run in parts is one for each part.
    more = 0 if first.place is None else max(0, len(first.samples_of(first.place)) - samples)
    return spent(
        study,
        journal.finished(),
        unfinished.values(),
        replicates=replicates,
        full_samples=(samples * study.file.budget + more) * len(study.names),
        inside=None if first.place is None else unfinished.get(first.place),
        extras={kind: extra_usage(journal.folder, kind) for kind in get_args(ExtraKind)},
    )


def saving_in_first_run(
    study: EvaluationSpec, benchmark: Benchmark, journal: Journal, *, first: int
) -> FirstRunSaving | None:
    """What looks inside the first run saved, now that the run is over; ``None`` if its usage is not known."""
    known = journal.unfinished() | {each.replicate: each for each in journal.finished()}
    return first_run_saving(study, known[first], items=len(benchmark.items)) if first in known else None


def check_usage(journal: Journal, *, replicates: int) -> None:
    """Refuse a journal that knows some of the board's replicates and lacks others: lines were removed at its end."""
    known = {each.replicate for each in journal.finished()}
    missing = [place for place in range(1, replicates + 1) if place not in known]
    if known and missing:
        raise EvaluationError(
            f"{shown_path(journal.folder / 'usage.jsonl')}: replicate {missing[0]} is on the board, but not in this "
            "file. If lines were removed, restore the file from a copy. If another command has added the replicate to "
            "the board, make a new board for the study"
        )


def check_first_run(board: Board, first: FirstRunSchedule, page: ReplicateFile) -> None:
    """Refuse a file that lacks samples of a first run which its attempt has put on the board.

    What an earlier attempt has put there is not in the file: its scores are those on the board.
    """
    epoch = board.state.epoch
    if page.replicate != first.place:
        return
    passed = earlier = 0
    for event in board.events:
        match event.content:
            case ReplicateAdded(epoch=epoch.number, upto=upto) if upto:
                passed += 1
            case AttemptBegun(epoch=epoch.number, replicate=page.replicate):
                earlier = passed
    samples = [sample for segment in first.segments[earlier:passed] for sample in segment.samples]
    lacking = sum((model, sample.name) not in page.done for model in board.state.active for sample in samples)
    if lacking:
        raise EvaluationError(
            f"{shown_path(page.path)}: {counted(lacking, 'sample')} of the first run on the board "
            f"{'is' if lacking == 1 else 'are'} not in this file. If lines were removed, restore the file from a copy, "
            "or move it to another folder: the study then continues with the scores on the board as another attempt, "
            "which the board and its certificates state. If another command has added a part to the board, make a new "
            "board for the study"
        )


def check_page(page: ReplicateFile, samples: Sequence[Sample], models: Collection[str]) -> None:
    """Refuse finished samples that are not among those of the replicate, or are not scored on exactly their items."""
    items = {sample.name: set(sample.items) for sample in samples}
    for (model, sample), done in page.done.items():
        if model not in models or set(done.scores) != items.get(sample):
            raise EvaluationError(
                f"{shown_path(page.path)}: {quoted(sample)} of {quoted(model)} has other items than the benchmark; "
                + RUN_AGAIN
            )
