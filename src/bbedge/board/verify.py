"""Checking a board from the ground up: everything it ever said is computed again from the stored scores."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbedge.board.design import BoardDesign
from bbedge.board.ledger import Event, checked
from bbedge.board.packing import checksum, digest
from bbedge.board.replay import apply, begin
from bbedge.board.state import BoardState, NewEdge, Stage
from bbedge.board.store import Session, Store
from bbedge.core.leaderboard import Certifier
from bbedge.errors import BbedgeError, BoardError, DomainError
from bbedge.naming import quoted

_HEAD_DIGITS = 16
_TOLERANCE = 1e-9  # evidence may differ by rounding between machines, and nothing else may


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was checked and found right."""

    events: int
    """Events of the ledger."""
    vectors: int
    """Stored score vectors."""
    certificates: int
    """Directions certified for the first time, over all epochs."""
    spent: float
    """The part of alpha that is spent."""
    head: str
    """The hash of the last event."""


def verify(store: Store, *, head: str | None = None) -> Verified:
    """Compute every look again and compare; the first thing that does not agree is named in a :class:`BoardError`.

    ``head`` is a hash that was published earlier: some event must have it.
    """
    problems = store.problems()
    if problems:
        raise BoardError(f"the database file is damaged: {problems[0]}")
    with store.read() as session:
        return verify_session(session, head=head)


def verify_session(session: Session, *, head: str | None = None) -> Verified:
    """:func:`verify` for a board that is only seen inside one transaction."""
    if head is not None and len(head) < _HEAD_DIGITS:
        raise DomainError(
            f"a published hash of {len(head)} digits proves little; give at least {_HEAD_DIGITS} of its 64"
        )
    events = list(checked(session.events()))
    if not events:
        raise BoardError("the board is empty")
    if session.head() != events[-1].hash:
        raise BoardError("the end of the ledger is missing or was edited: its last event is not the noted head")
    if head is not None and not any(event.hash.startswith(head.lower()) for event in events):
        raise BoardError(f"no event has the published hash {head[:64]}: the history was rewritten")
    _check_vectors(session, events)
    design = events[0].content["design"]
    if BoardDesign.from_values(design).hash != events[0].content["design_hash"]:
        raise BoardError("event 1 (init): the design does not match its hash")
    certificates = 0
    state = begin(events[0])
    _check_stages(events[0], state.epoch.stages)
    for event in events[1:]:
        before = len(state.stages)
        try:
            edges = apply(state, session, event)
        except BbedgeError as error:
            raise BoardError(f"{_called(event)} cannot have happened: {error}") from error
        if "stages" in event.content:
            _check_stages(event, state.stages[before:])
        if "current" in event.content:
            _check_look(event, state, edges)
        certificates += len(edges)
        if state.spent > state.design.alpha:
            raise BoardError(f"{_called(event)} overspends: {state.spent} of alpha = {state.design.alpha}")
    _check_cache(session, events, state)
    return Verified(
        events=len(events),
        vectors=len(session.vector_places()),
        certificates=certificates,
        spent=state.spent,
        head=events[-1].hash,
    )


def _called(event: Event) -> str:
    return f"event {event.seq} ({event.kind})"


def _check_vectors(session: Session, events: Sequence[Event]) -> None:
    """Every vector that an event names is there with the right scores, and there are no others."""
    expected: dict[tuple[int, int, str], tuple[Event, str]] = {}
    for event in events:
        content = event.content
        if event.kind in ("pilot", "replicate"):
            place = content["replicate"] if event.kind == "replicate" else -content["pilot"]
            for model, total in content["vectors"].items():
                expected[content["epoch"], place, model] = (event, total)
        elif event.kind == "add-model":
            for replicate, total in enumerate(content["vectors"], start=1):
                expected[content["epoch"], replicate, content["model"]] = (event, total)
    stored = {(epoch, replicate, model): seq for epoch, replicate, model, seq in session.vector_places()}
    for place, (event, _) in expected.items():
        if place not in stored:
            raise BoardError(f"{_called(event)}: the scores of {_vector(place)} are missing")
        if stored[place] != event.seq:
            raise BoardError(f"{_called(event)}: the scores of {_vector(place)} were given to event {stored[place]}")
    for place in sorted(set(stored) - set(expected)):
        raise BoardError(
            f"the scores of {_vector(place)} belong to no event: an event was removed or scores slipped in"
        )
    found: dict[tuple[int, int], dict[str, bytes]] = {}
    for (epoch, replicate, model), (event, total) in sorted(expected.items(), key=lambda entry: entry[0]):
        if (epoch, replicate) not in found:
            found = {(epoch, replicate): session.vectors(epoch, replicate)}
        data = found[epoch, replicate].get(model)
        if data is None:  # listed, but not found by its key
            raise BoardError(f"the index of the scores is damaged: {_vector((epoch, replicate, model))} is not found")
        if checksum(data) != total:
            raise BoardError(f"{_called(event)}: the scores of {_vector((epoch, replicate, model))} were changed")
    bad = session.bad_checksum()
    if bad is not None:
        raise BoardError(f"the checksum kept with the scores of {_vector(bad)} was changed")


def _vector(place: tuple[int, int, str]) -> str:
    epoch, replicate, model = place
    which = f"replicate {replicate}" if replicate > 0 else f"pilot replicate {-replicate}"
    return f"model {quoted(model)} in {which} of epoch {epoch}"


def _check_stages(event: Event, stages: Sequence[Stage]) -> None:
    recorded = event.content["stages"]
    if len(recorded) != len(stages):
        raise BoardError(f"{_called(event)}: {len(recorded)} claims recorded, {len(stages)} follow from the events")
    for record, stage in zip(recorded, stages, strict=True):
        if record["claim"] != stage.claim or record["level"] != stage.level:
            raise BoardError(
                f"{_called(event)}: claim {record['claim']} at level {record['level']} is not what the spending rule "
                f"gives (claim {stage.claim} at {stage.level})"
            )
        if record["design_hash"] != stage.design.hash or record["newcomer"] != stage.newcomer:
            raise BoardError(f"{_called(event)}: the design of claim {stage.claim} is not the one recorded")


def _check_look(event: Event, state: BoardState, edges: Sequence[NewEdge]) -> None:
    content = event.content
    for stage in state.epoch.stages:
        text = content["current"].get(str(stage.claim))
        if text is None:
            raise BoardError(f"{_called(event)}: the look at claim {stage.claim} is not recorded")
        _check_edges(event, stage, text)
    recorded = {(edge["winner"], edge["loser"]): edge for edge in content["certified"]}
    computed = {(edge.winner, edge.loser): edge for edge in edges}
    for pair in sorted(set(recorded) | set(computed)):
        if pair not in recorded or pair not in computed:
            where = "recorded but does not follow from the scores" if pair in recorded else "missing from the record"
            raise BoardError(f"{_called(event)}: the certificate {quoted(pair[0])} > {quoted(pair[1])} is {where}")
        _check_certificate(event, recorded[pair], computed[pair])
    look = state.epoch.looks[-1]
    if content["look"] != {"edges": look.edges, "resolved_pairs": look.resolved_pairs}:
        raise BoardError(f"{_called(event)}: the counts of the look are not those of its edges")


def _check_edges(event: Event, stage: Stage, text: str) -> None:
    board = stage.certifier.leaderboard()
    count = len(stage.design.models)
    bits = np.frombuffer(base64.b64decode(text), dtype=np.uint8)
    if len(bits) != -(-count * count // 8):
        raise BoardError(f"{_called(event)}: the edges of claim {stage.claim} are damaged")
    recorded: NDArray[np.bool_] = np.unpackbits(bits, count=count * count).reshape(count, count) == 1
    near = np.abs(board.log_e - board.log_thresholds) <= _TOLERANCE * (1.0 + np.abs(board.log_e))
    for a, b in np.argwhere((recorded != board.current.edges) & ~near).tolist():
        names = stage.design.models
        how = "recorded as certified but is not" if recorded[a, b] else "certified but not recorded"
        raise BoardError(f"{_called(event)}: {quoted(names[a])} > {quoted(names[b])} is {how}")


def _check_certificate(event: Event, recorded: Mapping[str, Any], computed: NewEdge) -> None:
    same = (
        abs(recorded["log_e"] - computed.log_e) <= _TOLERANCE * (1.0 + abs(computed.log_e))
        and recorded["claim"] == computed.claim
        and recorded["replicate"] == computed.replicate
    )
    if not same:
        raise BoardError(
            f"{_called(event)}: the certificate {quoted(computed.winner)} > {quoted(computed.loser)} says log_e "
            f"{recorded['log_e']} at replicate {recorded['replicate']}; the scores give {computed.log_e} at "
            f"{computed.replicate}"
        )


def _check_cache(session: Session, events: Sequence[Event], state: BoardState) -> None:
    """The saved evidence says what the panels say. It is only ever a shortcut, but a wrong one shows a changed file."""
    sums: dict[str, str] = {}
    for event in events:
        sums |= event.content.get("cache", {})
    cached = session.cache()
    for stage in state.stages:
        saved = cached.get(stage.claim)
        if saved is None:
            continue
        if digest(saved) != sums.get(str(stage.claim)):
            raise BoardError(
                f"the saved evidence of claim {stage.claim} was changed; it is not used, the scores and the ledger are "
                "in order, and the next replicate writes it anew"
            )
        theirs = Certifier.from_bytes(stage.design, saved).evidence.log_e()
        ours = stage.certifier.evidence.log_e()
        if not np.allclose(theirs, ours, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True):
            raise BoardError(f"the saved evidence of claim {stage.claim} is not that of the stored scores")
    unknown = sorted(set(cached) - {stage.claim for stage in state.stages})
    if unknown:
        raise BoardError(f"there is saved evidence of claim {unknown[0]}, which the board never made")
