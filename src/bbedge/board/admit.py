"""What may enter a board's ledger: a state, an event and the stored scores give the next state, or a refusal.

Everything passes here: what is added, imported, verified or computed again. Nothing else decides: what an event needs
besides the state and the scores, it states.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from msgspec.structs import asdict, replace
from numpy.typing import NDArray

from bbedge.board.copies import copies_of_model, copies_of_replicate
from bbedge.board.design import BoardDesign
from bbedge.board.sequence import check_place
from bbedge.board.stage import Found, Panel, Stage, join_found
from bbedge.board.state import BoardState
from bbedge.board.stored_scores import StoredScores, StoredVector, called
from bbedge.errors import Argument, BoardError
from bbedge.records.events import (
    BoardEvent,
    Created,
    ItemsAdded,
    ModelAdded,
    ModelRetired,
    Opened,
    PilotAdded,
    ReplicateAdded,
)
from bbedge.text import quoted

_E = TypeVar("_E", bound=BoardEvent)


def create(event: Created) -> tuple[BoardState, Created]:
    """The state of a new board, and its first event as it is written."""
    design = BoardDesign.from_values(event.design, source="the board's design")
    state = BoardState(design, event.models, event.items, event.blocks, event.columns, order_seed=event.order_seed)
    return state, replace(
        event,
        design=design.content,
        registration=registration(event),
        columns=state.epoch.columns,
        stages=_opened(state.epoch.stages),
    )


def registration(event: Created) -> str:
    """The hash of everything that was frozen when a board was made."""
    design = BoardDesign.from_values(event.design, source="the board's design")
    return design.registration(event.models, event.items, event.blocks, event.columns, order_seed=event.order_seed)


def follow(state: BoardState, event: BoardEvent) -> None:
    """Change the structure of a state as an event says; what contradicts the events before is refused.

    The evidence stays as it is: it follows from the stored scores, by :func:`admit`, or from what was saved of it.
    """
    check_place(state, event)
    state.follow(event)
    state.follow_look(event)


def admit(state: BoardState, event: _E, scores: StoredScores) -> _E:
    """Change a state as an event says, with the scores that came with it, and return the event as it is written.

    What follows from the state and the scores is computed, whatever the event says of it. After a refusal, discard the
    state.
    """
    check_place(state, event)
    written: BoardEvent = event
    match event:
        case PilotAdded():
            written = _admit_pilot(state, event, scores)
        case ReplicateAdded():
            written = _admit_replicate(state, event, scores)
        case ModelAdded():
            written = _admit_model(state, event, scores)
        case ItemsAdded():
            state.follow(event)
            written = replace(event, models=tuple(state.epoch.models), stages=_opened(state.epoch.stages))
        case ModelRetired(model=model):
            state.follow(event)
            for stage in state.epoch.stages:
                stage.stop([model])
        case _:
            state.follow(event)
    state.follow_look(written)
    return written  # type: ignore[return-value]  # of the same kind


def changed_stages(state: BoardState, event: BoardEvent) -> Sequence[Stage]:
    """The stages whose evidence the last event of a state has changed."""
    match event:
        case ModelAdded():
            return state.epoch.stages[-1:]
        case Created() | PilotAdded() | ReplicateAdded() | ItemsAdded() | ModelRetired():
            return state.epoch.stages
    return ()


def _opened(stages: Sequence[Stage]) -> tuple[Opened, ...]:
    return tuple(stage.opened for stage in stages)


def _admit_pilot(state: BoardState, event: PilotAdded, scores: StoredScores) -> PilotAdded:
    epoch, is_last = state.epoch, event.pilot == state.design.pilot
    vectors, panel = _scores_of_run(state, event, scores)
    earlier = (scores.panel(epoch, -pilot) for pilot in range(1, event.pilot))
    event = replace(event, gaps=missing_scores(panel), candidate=state.chosen([*earlier, panel]) if is_last else None)
    state.follow(event)
    copies = copies_of_replicate(epoch, event, vectors, scores)
    return replace(event, copies=copies, stages=_opened(epoch.stages))


def _admit_replicate(state: BoardState, event: ReplicateAdded, scores: StoredScores) -> ReplicateAdded:
    epoch, upto = state.epoch, event.upto or None
    vectors, panel = _scores_of_run(state, event, scores)
    event = replace(event, gaps=missing_scores(panel))
    state.follow(event)
    event = replace(event, copies=copies_of_replicate(epoch, event, vectors, scores))
    return _looked(state, event, (stage.add_and_look(panel, event.replicate, upto) for stage in epoch.stages))


def _admit_model(state: BoardState, event: ModelAdded, scores: StoredScores) -> ModelAdded:
    """Join the runs of a model with the stored replicates, in order, and test its directions.

    Only complete replicates count, also where the first one was looked at inside: a direction against a model that was
    stopped inside it has no evidence.
    """
    epoch, name = state.epoch, event.model
    models, runs = tuple(epoch.models), list[NDArray[np.float64]]()
    for replicate, digest in enumerate(event.vectors, start=1):
        vector = scores.vectors(epoch, replicate, [name])[name]
        _check_vector(state, vector, digest, called(epoch.number, replicate, name), name, epoch.items)
        runs.append(vector.scores)
    empty = [run for run in runs if np.isnan(run).all()]
    check_whole_runs(state, [name] * len(empty), whole_runs=event.whole_runs and len(empty) < len(runs))
    copies = copies_of_model(epoch, event, runs)
    event = replace(event, gaps=tuple(int(np.isnan(run).sum()) for run in runs), copies=copies)
    state.follow(event)
    stage, found = epoch.stages[-1], list[Found]()
    for replicate, run in enumerate(runs, start=1):
        stored = scores.panel(epoch, replicate)
        there = {model: stored[model] for model in models if model in stored}
        found.append(stage.add_and_look({**there, name: run}, replicate))
    stage.stop(state.retired)
    event = replace(event, stages=_opened([stage]))
    return _looked(state, event, found) if epoch.replicates else event


_Looked = TypeVar("_Looked", ReplicateAdded, ModelAdded)


def _looked(state: BoardState, event: _Looked, found: Iterable[Found]) -> _Looked:
    """The event with what its look showed."""
    return replace(event, **asdict(state.epoch.outcome(join_found(found))))


def check_whole_runs(state: BoardState, absent: Sequence[str], *, whole_runs: bool) -> None:
    """Refuse models without any score, unless they count."""
    if absent and not whole_runs:
        raise BoardError(
            f"model {quoted(absent[0])} has no score at all in this replicate, which stays incomplete until the run of "
            "the model is there. If it will never come, retire the model, or count the whole run as missing: ",
            Argument("incomplete", state.design.incomplete),
        )


def _scores_of_run(
    state: BoardState, event: PilotAdded | ReplicateAdded, scores: StoredScores
) -> tuple[dict[str, StoredVector], Panel]:
    """The scores that came with an event, by the names of the models in order; a complete run has some."""
    epoch, is_complete = state.epoch, not (isinstance(event, ReplicateAdded) and event.upto)
    items = epoch.items if is_complete else epoch.next_items
    vectors = scores.vectors(epoch, event.place, sorted(event.vectors))
    for model, each in vectors.items():
        which = called(epoch.number, event.place, model)
        _check_vector(state, each, event.vectors[model], which, model, items)
    if is_complete:
        empty = [model for model, each in vectors.items() if not each.print.size]
        check_whole_runs(state, empty, whole_runs=event.whole_runs and len(empty) < len(vectors))
    return vectors, {model: each.scores for model, each in vectors.items()}


def _check_vector(
    state: BoardState, vector: StoredVector, digest: str, which: str, model: str, items: Sequence[str]
) -> None:
    """Refuse scores that are not those of the event, or that no run can have."""
    if vector.print.digest != digest:
        raise BoardError(f"the scores of {which} were changed")
    scores = vector.scores
    if scores.shape != (len(items),):
        what = "the benchmark" if len(items) == len(state.epoch.items) else "this part of the first pass"
        raise BoardError(f"model {quoted(model)} has {scores.size} scores; {what} has {len(items)} items")
    allowed = (scores >= 0.0) & (scores <= 1.0)
    if state.design.incomplete == "worst-case":
        allowed |= np.isnan(scores)
    if not allowed.all():
        place = int(np.flatnonzero(~allowed)[0])
        score, item = scores[place], quoted(items[place])
        if np.isnan(score):
            raise BoardError(
                f"model {quoted(model)} has no score on item {item}; the design of this board counts no missing "
                "scores, so that a replicate stays incomplete until every score is there"
            )
        raise BoardError(f"model {quoted(model)} scored {score} on item {item}; scores lie in [0, 1]")


def missing_scores(panel: Panel) -> dict[str, int]:
    """How many scores each model lacks, of those that lack any."""
    counts = {model: int(np.isnan(scores).sum()) for model, scores in panel.items()}
    return {model: count for model, count in counts.items() if count}
