"""From the ledger to the state: quickly, with the saved evidence, or from the ground up, with the stored scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bbedge.board.design import BoardDesign
from bbedge.board.ledger import Event, checked
from bbedge.board.packing import digest, unpack
from bbedge.board.state import BoardState, NewEdge, Panel, Stage
from bbedge.board.store import Session
from bbedge.core.leaderboard import Certifier, LookCount
from bbedge.errors import BbedgeError, BoardError, NoBoardError


def save(session: Session, stages: Sequence[Stage]) -> dict[str, str]:
    """Save what the stages know; the checksums go into the ledger, so that a changed state is never used."""
    states = {stage.claim: stage.certifier.to_bytes() for stage in stages}
    session.put_cache(states)
    return {str(claim): digest(state) for claim, state in states.items()}


def load(session: Session) -> tuple[list[Event], BoardState]:
    """The ledger and the state: structure from the events, evidence from the cache or else from the panels."""
    events = list(checked(session.events()))
    if not events:
        raise NoBoardError("the board is empty: its making was interrupted; run bbedge board init again")
    if session.head() != events[-1].hash:
        raise BoardError("the end of the ledger is missing or was edited: its last event is not the one noted as head")
    cached = session.cache()
    sums: dict[str, str] = {}
    for event in events:
        sums |= event.content.get("cache", {})
    usable = {claim: state for claim, state in cached.items() if digest(state) == sums.get(str(claim))}
    needed = {int(claim) for claim in sums}
    if needed - set(usable):
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


def registration_of(event: Event) -> str:
    """The hash of everything that the first event freezes; earlier versions did not write it down."""
    content = event.content
    design = BoardDesign.from_values(content["design"], source="the board's design")
    return design.registration(content["models"], content["items"], content["blocks"])


def begin(event: Event) -> BoardState:
    """The state after the first event."""
    content = event.content
    design = BoardDesign.from_values(content["design"], source="the board's design")
    return BoardState(design, content["models"], content["items"], content["blocks"])


def _skip(state: BoardState, event: Event) -> None:
    """Apply an event's structure without its statistics, which the cache holds."""
    content = event.content
    if event.kind == "pilot":
        state.epoch.pilots += 1
        if content["candidate"] is not None:
            state.set_candidate(content["candidate"])
    elif event.kind == "replicate":
        state.epoch.replicates += 1
        for stage in state.epoch.stages:
            if any(model not in state.retired for model in stage.design.models):
                stage.places.append(state.epoch.replicates)
        _skip_look(state, content)
    elif event.kind == "add-model":
        stage = state.join(content["model"])
        stage.places.extend(range(1, len(content["vectors"]) + 1))
        if "look" in content:
            _skip_look(state, content)
    elif event.kind == "add-items":
        state.add_items(content["items"], content["blocks"])
    elif event.kind == "retire":
        state.retired.append(content["model"])


def _skip_look(state: BoardState, content: Mapping[str, Any]) -> None:
    state.epoch.looks.append(LookCount(replicate=state.epoch.replicates, **content["look"]))


def replay(session: Session, events: Sequence[Event]) -> BoardState:
    """The state, recomputed from the stored panels."""
    state = begin(events[0])
    for event in events[1:]:
        apply(state, session, event)
    return state


def apply(state: BoardState, session: Session, event: Event) -> list[NewEdge]:
    """Apply one event with its statistics, from the stored panels."""
    content = event.content
    epoch = state.epoch
    if event.kind == "pilot":
        place = -content["pilot"]
        earlier = [stored_panel(session, state, each) for each in range(-1, place, -1)]
        state.add_pilot(stored_panel(session, state, place), earlier)
    elif event.kind == "replicate":
        return state.add_replicate(_only(stored_panel(session, state, content["replicate"]), state.active))
    elif event.kind == "add-model":
        name = content["model"]
        panels = [stored_panel(session, state, r) for r in range(1, epoch.replicates + 1)]
        runs = [panel[name] for panel in panels[: len(content["vectors"])] if name in panel]
        return state.add_model(name, runs, [_only(panel, epoch.models) for panel in panels])
    elif event.kind == "add-items":
        state.add_items(content["items"], content["blocks"])
    elif event.kind == "retire":
        state.retire(content["model"])
    return []


def _only(panel: Panel, models: Sequence[str]) -> Panel:
    """The part of a stored replicate that was there at the time: models that joined it later are left out."""
    return {model: panel[model] for model in models if model in panel}


def stored_panel(session: Session, state: BoardState, replicate: int) -> Panel:
    """A replicate of the current epoch as it is stored; pilots are -1, -2, ..."""
    epoch = state.epoch
    return {model: unpack(data, len(epoch.items)) for model, data in session.vectors(epoch.number, replicate).items()}
