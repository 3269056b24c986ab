"""From the ledger to the state: quickly, with the saved evidence, or completely, with the stored scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bbedge.board.admit import begin_attempt, end_attempt
from bbedge.board.design import BoardDesign
from bbedge.board.epoch import Epoch
from bbedge.board.passes import part_place
from bbedge.board.stage import Found, Panel, Stage
from bbedge.board.state import BoardState
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Certifier, LookCount
from bbedge.core.progress import PartCount
from bbedge.core.views import HEADLINE
from bbedge.errors import BbedgeError, BoardError, NoBoardError
from bbedge.ledger.chain import LedgerEvent, checked
from bbedge.ledger.store import Session
from bbedge.ledger.vectors import digest, unpack
from bbedge.records.events import (
    AttemptBegun,
    AttemptEnded,
    Created,
    ItemsAdded,
    ModelAdded,
    ModelRetired,
    NoteAdded,
    Outcome,
    PartAdded,
    PilotAdded,
    ReplicateAdded,
    Tally,
)
from bbedge.text import quoted


def save(session: Session, stages: Sequence[Stage]) -> dict[int, str]:
    """Save the evidence of the stages; its checksums go into the ledger, so that changed evidence is never used."""
    states = {stage.claim: stage.certifier.to_bytes() for stage in stages}
    session.put_cache(states)
    return {claim: digest(state) for claim, state in states.items()}


def saved_sums(events: Iterable[LedgerEvent]) -> dict[int, str]:
    """The last checksum that the ledger states for the saved evidence of each claim."""
    sums: dict[int, str] = {}
    for event in events:
        if not isinstance(event.content, NoteAdded | AttemptBegun | AttemptEnded):
            sums |= event.content.cache
    return sums


def whole_ledger(session: Session) -> list[LedgerEvent]:
    """All events, each checked; a ledger without a beginning or an end is refused."""
    events = list(checked(session.events()))
    if not events:
        raise NoBoardError("the board is empty: its creation was interrupted; run bbedge board init again")
    if session.head() != events[-1].hash:
        raise BoardError("the end of the ledger is missing or was edited: its last event is not the recorded head")
    return events


def load(session: Session) -> tuple[list[LedgerEvent], BoardState]:
    """The ledger and the state: structure from the events, evidence from the cache or else from the panels."""
    events = whole_ledger(session)
    sums = saved_sums(events)
    usable = {claim: saved for claim, saved in session.cache().items() if digest(saved) == sums.get(claim)}
    if sums.keys() - usable.keys():
        return events, replay(session, events)
    state = begin(events[0])
    for event in events[1:]:
        _skip(state, event)
    for stage in state.stages:
        try:
            stage.certifier = Certifier.from_bytes(stage.design, usable[stage.claim])
        except (BbedgeError, KeyError):
            return events, replay(session, events)
    return events, state


def created(event: LedgerEvent) -> Created:
    """What the first event of a checked ledger says."""
    assert isinstance(event.content, Created)
    return event.content


def begin(event: LedgerEvent) -> BoardState:
    """The state after the first event."""
    first = created(event)
    design = frozen_design(first)
    return BoardState(design, first.models, first.items, first.blocks, first.columns, order_seed=first.order_seed)


def frozen_design(first: Created) -> BoardDesign:
    """The design that a board was made with."""
    return BoardDesign.from_values(first.design, source="the board's design")


def computed_registration(first: Created) -> str:
    """The registration, computed from what is frozen."""
    return frozen_design(first).registration(
        first.models, first.items, first.blocks, first.columns, order_seed=first.order_seed
    )


def _skip(state: BoardState, event: LedgerEvent) -> None:
    """Apply an event's structure without its statistics, which the cache holds."""
    match event.content:
        case PilotAdded(candidate=candidate):
            state.epoch.pilots += 1
            if candidate is not None:
                state.set_candidate(candidate)
        case PartAdded() as part:
            _skip_part(state, part)
        case ReplicateAdded(outcome=outcome) as added:
            state.epoch.count_replicate(added.vectors, added.gaps)
            for stage in state.epoch.stages:
                if any(model not in state.retired for model in stage.design.models):
                    stage.places.append(state.epoch.replicates)
            _skip_look(state, outcome)
        case ModelAdded(outcome=seen) as added:
            state.join(added.model).places.extend(range(1, len(added.vectors) + 1))
            state.epoch.missing.update({added.model: sum(added.gaps)})
            if seen is not None:
                _skip_look(state, seen)
        case ItemsAdded() as added:
            state.add_items(added.items, added.blocks, added.columns, order_seed=added.order_seed)
        case ModelRetired(model=model):
            state.retired.append(model)
        case AttemptBegun() as begun:
            begin_attempt(state, begun)
        case AttemptEnded() as ended:
            end_attempt(state, ended)


def _skip_look(state: BoardState, outcome: Outcome) -> None:
    for view, looks in state.epoch.looks_at.items():
        look = _tally(outcome, view)
        looks.append(LookCount(replicate=state.epoch.replicates, edges=look.edges, resolved_pairs=look.resolved_pairs))


def _skip_part(state: BoardState, part: PartAdded) -> None:
    checkpoint = state.upcoming()
    state.epoch.count_part(part.vectors, part.gaps)
    for view, looks in state.epoch.parts_at.items():
        look = _tally(part.outcome, view)
        looks.append(
            PartCount(
                checkpoint=checkpoint,
                models=len(part.vectors),
                edges=look.edges,
                resolved_pairs=look.resolved_pairs,
            )
        )


def _tally(outcome: Outcome, view: str) -> Tally:
    """The counts of a look at a view."""
    if view == HEADLINE:
        return outcome.look
    if view not in outcome.views:
        raise BoardError(f"a look at the view {quoted(view)} is not recorded; verify the board")
    return outcome.views[view].look


def replay(session: Session, events: Sequence[LedgerEvent]) -> BoardState:
    """The state, recomputed from the stored panels."""
    state = begin(events[0])
    for event in events[1:]:
        apply(state, session, event)
    return state


def apply(state: BoardState, session: Session, event: LedgerEvent) -> Found:
    """Apply one event with its statistics, from the stored panels, and say what it certified for the first time."""
    epoch = state.epoch
    match event.content:
        case PilotAdded(place=place):
            earlier = [stored_panel(session, state, each) for each in range(-1, place, -1)]
            state.add_pilot(stored_panel(session, state, place), earlier)
        case PartAdded(checkpoint=number):
            return state.add_part(_only(stored_part(session, epoch, number), state.active))
        case ReplicateAdded(place=place):
            return state.add_replicate(_only(stored_panel(session, state, place), state.active))
        case ModelAdded(model=name, vectors=vectors):
            panels = [stored_panel(session, state, r) for r in range(1, epoch.replicates + 1)]
            runs = [panel[name] for panel in panels[: len(vectors)] if name in panel]
            kept = [_only(panel, epoch.models) for panel in panels]
            return state.add_model(name, runs, kept)
        case ItemsAdded() as added:
            state.add_items(added.items, added.blocks, added.columns, order_seed=added.order_seed)
        case ModelRetired(model=model):
            state.retire(model)
        case AttemptBegun() as begun:
            begin_attempt(state, begun)
        case AttemptEnded() as ended:
            end_attempt(state, ended)
    return {}


def _only(panel: Panel, models: Sequence[str]) -> Panel:
    """The part of a stored replicate that was there at the time: models that joined it later are left out."""
    return {model: panel[model] for model in models if model in panel}


def resolved_if_means(session: Session, epoch: Epoch) -> int | None:
    """Pairs that would be certified if missing scores had been their models' means: a hint, never a claim.

    Only for a version that no model was added to.
    """
    if len(epoch.stages) != 1 or not epoch.replicates:
        return None
    panels = [_panel(session, epoch, replicate) for replicate in range(1, epoch.replicates + 1)]
    parts = stored_parts(session, epoch)
    means: dict[str, float] = {}
    for model in epoch.models:
        of_model = [panel[model] for panel in panels if model in panel] or [
            part[model] for part in parts if model in part
        ]
        known = [scores[~np.isnan(scores)] for scores in of_model]
        means[model] = float(np.concatenate(known).mean()) if sum(map(len, known)) else 0.0
    real = epoch.stages[0]
    stage = Stage(claim=0, level=real.level, newcomer=None, design=real.design, certifier=Certifier(real.design))
    for part in parts:
        stage.take_part(_filled(part, means))
    for replicate, panel in enumerate(panels, start=1):
        stage.take(_filled(panel, means), replicate)
    return Graph(stage.edges()).n_resolved


def scored_items(session: Session, epoch: Epoch) -> NDArray[np.bool_]:
    """Which items each model of a version has a score on in any complete replicate: models x items."""
    scored = np.zeros((len(epoch.models), len(epoch.items)), dtype=np.bool_)
    for replicate in range(1, epoch.replicates + 1):
        panel = _panel(session, epoch, replicate)
        for place, model in enumerate(epoch.models):
            if model in panel:
                scored[place] |= ~np.isnan(panel[model])
    return scored


def _filled(panel: Panel, means: Mapping[str, float]) -> Panel:
    return {model: np.nan_to_num(scores, nan=means[model]) for model, scores in panel.items()}


def stored_panel(session: Session, state: BoardState, replicate: int) -> Panel:
    """A replicate of the current epoch as it is stored; pilots are -1, -2, ..."""
    return _panel(session, state.epoch, replicate)


def stored_parts(session: Session, epoch: Epoch) -> list[Panel]:
    """The parts of the first pass of an epoch that were looked at, in order."""
    return [stored_part(session, epoch, each.checkpoint.number) for each in epoch.parts]


def stored_part(session: Session, epoch: Epoch, checkpoint: int) -> Panel:
    """The scores that came with a checkpoint, in the order in which the items were run."""
    count = len(epoch.new_places(checkpoint))
    return {model: unpack(data, count) for model, data in session.vectors(epoch.number, part_place(checkpoint)).items()}


def _panel(session: Session, epoch: Epoch, replicate: int) -> Panel:
    return {model: unpack(data, len(epoch.items)) for model, data in session.vectors(epoch.number, replicate).items()}
