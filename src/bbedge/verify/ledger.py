"""Verify a ledger: admit every event again from the stored scores, write it again, and compare."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from bbedge.board.admit import admit, changed_stages, create
from bbedge.board.change import created, saved_sums, whole_ledger
from bbedge.board.state import BoardState
from bbedge.board.stored_scores import StoredScores, called
from bbedge.core.arrays import load_arrays
from bbedge.core.views import HEADLINE
from bbedge.errors import BbedgeError, BoardError
from bbedge.gate.admit import VerifiedGate
from bbedge.gate.admit import verify_session as verify_gate
from bbedge.ledger.chain import LedgerEvent, check_head, digest
from bbedge.ledger.heads import LedgerHead, check_heads
from bbedge.ledger.store import Session, Store
from bbedge.records.codec import canonical, plain, to_json
from bbedge.records.events import (
    BoardEvent,
    ModelAdded,
    NewEdge,
    PilotAdded,
    ReplicateAdded,
    WithoutEvidence,
)
from bbedge.text import quoted, shown

_TOLERANCE = 1e-9  # evidence may differ by rounding between machines, and nothing else may


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was checked and found correct."""

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

    @property
    def found(self) -> tuple[int, str]:
        """What there are, in words."""
        return self.certificates, "certificate"


def verify(store: Store, *, head: str | None = None, heads: Sequence[LedgerHead] = ()) -> Verified | VerifiedGate:
    """Compute every event again and compare; the first thing that does not agree is named in a :class:`BoardError`.

    ``head`` is a hash that was published earlier: some event must have it. ``heads`` were published with their numbers
    and times, by :func:`~bbedge.ledger.heads.read_heads`; a ledger without one of them is a
    :class:`~bbedge.errors.HistoryError`.
    """
    store.check_whole()
    with store.read() as session:
        check_heads(session.events(), heads)
        return verify_session(session, head=head)


def verify_session(session: Session, *, head: str | None = None) -> Verified | VerifiedGate:
    """:func:`verify` for the ledger of a board or of a gate that is only seen inside one transaction."""
    return (verify_gate if session.is_gate() else verify_board)(session, head=head)


def verify_board(session: Session, *, head: str | None = None) -> Verified:
    """:func:`verify_session` for a board."""
    events = whole_ledger(session)
    check_head(events, head)
    scores, certificates = StoredScores(session), 0
    stored: dict[tuple[int, int, str], int] = {}
    state: BoardState | None = None
    for event in events:
        again: BoardEvent
        try:
            if state is None:
                state, again = create(created(event))
            else:
                again = admit(state, event.content, scores)
        except BbedgeError as error:
            raise BoardError(f"{event.called} cannot have happened: {error}") from error
        _compare(event, again, state)
        if state.spent > state.design.alpha:
            raise BoardError(f"{event.called} overspends: {state.spent} of alpha = {state.design.alpha}")
        certificates += sum(1 for _ in _new_edges(again))
        stored.update(dict.fromkeys(_vector_keys(event.content, state), event.seq))
    assert state is not None  # a ledger has a first event
    _check_vectors(session, stored)
    _check_saved(session, events, state)
    return Verified(
        events=len(events), vectors=len(stored), certificates=certificates, spent=state.spent, head=events[-1].hash
    )


def _new_edges(event: BoardEvent) -> Iterator[NewEdge]:
    """Everything that an event certifies for the first time."""
    if isinstance(event, ReplicateAdded | ModelAdded) and event.outcome is not None:
        for look in (event.outcome, *event.outcome.views.values()):
            yield from look.certified


def _vector_keys(event: BoardEvent, state: BoardState) -> list[tuple[int, int, str]]:
    """Epoch, place and model of the scores that came with the last event of a state."""
    match event:
        case PilotAdded() | ReplicateAdded():
            return [(event.epoch, event.place, model) for model in event.vectors]
        case ModelAdded():
            return [(epoch.number, run, event.model) for epoch, run in state.joined_places(event.model)]
    return []


def _compare(event: LedgerEvent, again: BoardEvent, state: BoardState) -> None:
    """The event is what was written again, up to rounding of its evidence."""
    recorded = event.content
    if not isinstance(recorded, WithoutEvidence):
        if recorded.cache.keys() != {stage.claim for stage in changed_stages(state, recorded)}:
            raise BoardError(f"{event.called}: the saved evidence that it names is not that of its claims")
        # What was saved is compared by itself: its checksums differ where rounding does.
        again = msgspec.structs.replace(again, cache=recorded.cache)
    if to_json(again) == event.payload:
        return
    for place, stated, computed in _differences(plain(recorded), plain(again)):
        if not _is_rounding(place, stated, computed, state):
            raise BoardError(
                f"{event.called}: its {'.'.join(place)} is {_short(stated, 'not there')}; the events before it and the "
                f"stored scores give {_short(computed, 'nothing')}"
            )


def _short(value: object, otherwise: str) -> str:
    return otherwise if value is None else shown(canonical(value), 100)


def _differences(stated: Any, computed: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any, Any]]:  # noqa: ANN401 - any JSON
    """The places at which two plain values differ, and what is there; ``None`` where one of them has nothing."""
    if isinstance(stated, dict) and isinstance(computed, dict):
        for key in sorted(stated.keys() | computed.keys()):
            yield from _differences(stated.get(key), computed.get(key), (*place, key))
    elif isinstance(stated, list | tuple) and isinstance(computed, list | tuple) and len(stated) == len(computed):
        for number, (theirs, ours) in enumerate(zip(stated, computed, strict=True)):
            yield from _differences(theirs, ours, (*place, str(number)))
    elif type(stated) is not type(computed) or stated != computed:
        yield place, stated, computed


def _is_rounding(place: tuple[str, ...], stated: Any, computed: Any, state: BoardState) -> bool:  # noqa: ANN401 - any JSON
    """Whether a difference is one of evidence, or of edges whose evidence is at its threshold, and that small."""
    if place[-1] == "log_e" and type(stated) is type(computed) is float:
        return abs(stated - computed) <= _TOLERANCE * (1.0 + abs(computed))
    if place[-2:-1] != ("current",) or type(stated) is not type(computed):
        return False
    stage = next(stage for stage in state.epoch.stages if str(stage.claim) == place[-1])
    view = stage.views.index(HEADLINE if place[0] == "current" else place[1])
    whole = stage.certifier.leaderboard()
    board = (whole, *whole.views)[view]
    theirs, ours = (np.frombuffer(b64decode(each), dtype=np.uint8) for each in (stated, computed))
    if theirs.shape != ours.shape:
        return False
    near = np.abs(board.log_e - board.log_thresholds) <= _TOLERANCE * (1.0 + np.abs(board.log_e))
    return not (np.unpackbits(theirs ^ ours)[: near.size].reshape(near.shape) & ~near).any()


def _check_vectors(session: Session, expected: Mapping[tuple[int, int, str], int]) -> None:
    """There are no scores but those of the events, each with the event that brought it."""
    for epoch, replicate, model, seq in session.vector_places():
        which, brought_by = called(epoch, replicate, model), expected.get((epoch, replicate, model))
        if brought_by is None:
            raise BoardError(f"the scores of {which} belong to no event: an event was removed or scores slipped in")
        if brought_by != seq:
            raise BoardError(f"the scores of {which} were given to event {seq}; event {brought_by} brought them")
    bad = session.bad_checksum()
    if bad is not None:
        raise BoardError(f"the checksum kept with the scores of {called(*bad)} was changed")


def _check_saved(session: Session, events: Sequence[LedgerEvent], state: BoardState) -> None:
    """The saved evidence is that of the panels: evidence, means, certificates, looks."""
    sums, cached = saved_sums(events), session.cache()
    for stage in state.stages:
        saved = cached.get(stage.claim)
        if saved is None:
            continue
        if digest(saved) != sums.get(stage.claim):
            raise BoardError(
                f"the saved evidence of claim {stage.claim} was changed; it is not used, the scores and the ledger are "
                "correct, and the next replicate writes it again"
            )
        try:
            different = _difference(saved, stage.certifier.to_bytes())
        except BbedgeError as error:
            raise BoardError(f"the saved evidence of claim {stage.claim} cannot be read: {error}") from error
        if different is not None:
            raise BoardError(
                f"the saved evidence of claim {stage.claim} is not that of the stored scores: {different} differs"
            )
    unknown = sorted(set(cached) - {stage.claim for stage in state.stages})
    if unknown:
        raise BoardError(f"there is saved evidence of claim {unknown[0]}, which the board never made")


def _difference(saved: bytes, computed: bytes) -> str | None:
    """The first array of a saved state that is not the computed one: numbers up to rounding, all else exactly."""
    if saved == computed:
        return None
    theirs, ours = load_arrays(saved), load_arrays(computed)
    if theirs.keys() != ours.keys():
        return "the list of its arrays"
    for name, mine in ours.items():
        other, found = theirs[name], None
        if name.partition(".")[0] == "evidence":  # a state of its own, for each view
            found = _difference(other.tobytes(), mine.tobytes())
        elif (other.dtype, other.shape) != (mine.dtype, mine.shape) or not _are_same(other, mine):
            found = quoted(name)
        if found is not None:
            return found
    return None


def _are_same(saved: NDArray[Any], computed: NDArray[Any]) -> bool:
    if computed.dtype.kind == "f":
        return np.allclose(saved, computed, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True)
    return np.array_equal(saved, computed)
