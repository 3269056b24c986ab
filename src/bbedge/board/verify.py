"""Verify a board: compute every event again from the stored scores and compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbedge.board.passes import part_number
from bbedge.board.replay import apply, begin, computed_registration, created, saved_sums, whole_ledger
from bbedge.board.stage import Found, Parts, Stage
from bbedge.board.state import BoardState
from bbedge.core.arrays import load_arrays
from bbedge.core.history import LookCount
from bbedge.core.leaderboard import Leaderboard
from bbedge.core.progress import PartCount
from bbedge.core.views import HEADLINE
from bbedge.errors import BbedgeError, BoardError
from bbedge.ledger.chain import LedgerEvent, check_head
from bbedge.ledger.store import Session, Store
from bbedge.ledger.vectors import checksum, count_missing, digest
from bbedge.records.events import (
    AttemptBegun,
    AttemptEnded,
    Created,
    ItemsAdded,
    ModelAdded,
    NewEdge,
    NoteAdded,
    Opened,
    Outcome,
    PartAdded,
    PilotAdded,
    ReplicateAdded,
    Tally,
    ViewOutcome,
)
from bbedge.text import quoted

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
    events = whole_ledger(session)
    check_head(events, head)
    _check_vectors(session, events)
    state, certificates = _begun(events[0]), 0
    for event in events[1:]:
        before = len(state.stages)
        _check_place(event, state)
        try:
            found = apply(state, session, event)
        except BbedgeError as error:
            raise BoardError(f"{event.called} cannot have happened: {error}") from error
        _check_outcome(event, state, state.stages[before:], found)
        certificates += sum(map(len, found.values()))
        if state.spent > state.design.alpha:
            raise BoardError(f"{event.called} overspends: {state.spent} of alpha = {state.design.alpha}")
    _check_cache(session, events, state)
    return Verified(
        events=len(events),
        vectors=len(session.vector_places()),
        certificates=certificates,
        spent=state.spent,
        head=events[-1].hash,
    )


def _begun(event: LedgerEvent) -> BoardState:
    """The state after the first event, whose hashes, claims and saved evidence are checked."""
    content = created(event)
    try:
        state = begin(event)
    except BbedgeError as error:
        raise BoardError(f"{event.called} cannot have happened: {error}") from error
    if content.registration != computed_registration(content):
        raise BoardError(f"{event.called}: the design does not match its hash")
    _check_stages(event, content.stages, state.epoch.stages)
    _check_cache_keys(event, state.epoch.stages)
    return state


def _check_place(event: LedgerEvent, state: BoardState) -> None:
    """The event names the epoch, the replicate and the models that the board had."""
    content, epoch = event.content, state.epoch
    assert not isinstance(content, Created)  # a checked ledger has it first and only there
    expected = epoch.number + isinstance(content, ItemsAdded)
    if content.epoch != expected:
        raise BoardError(f"{event.called}: it names epoch {content.epoch}, the board was in epoch {expected}")
    if isinstance(content, PartAdded):
        _check_part(event, content, state)
    if isinstance(content, PilotAdded | ReplicateAdded):
        is_pilot = isinstance(content, PilotAdded)
        place = -1 - epoch.pilots if is_pilot else 1 + epoch.replicates
        if content.place != place or state.in_pilot != is_pilot:
            raise BoardError(f"{event.called}: number {abs(content.place)} is not the next one")
        if content.vectors.keys() != set(state.active):
            raise BoardError(f"{event.called}: its models are not those that the board had")


def _check_part(event: LedgerEvent, part: PartAdded, state: BoardState) -> None:
    """The event names the checkpoint that came next, and what belongs to it."""
    upcoming = state.epoch.next_checkpoint
    if upcoming is None or part.checkpoint != upcoming.number:
        raise BoardError(f"{event.called}: checkpoint {part.checkpoint} is not the next one")
    if part.blocks != upcoming.blocks or part.items != len(state.epoch.new_places(upcoming.number)):
        raise BoardError(f"{event.called}: the blocks or items of checkpoint {part.checkpoint} are not those recorded")
    if part.vectors.keys() != set(state.active):
        raise BoardError(f"{event.called}: its models are not those that the board had")


def _check_outcome(event: LedgerEvent, state: BoardState, opened: Sequence[Stage], found: Found) -> None:
    """The outcome that the event records is the one that follows from the scores."""
    content, epoch = event.content, state.epoch
    if isinstance(content, PilotAdded | ModelAdded | ItemsAdded):
        _check_stages(event, content.stages, opened)
    if isinstance(content, PartAdded):
        _check_views(event, content.outcome, state, found)
    if isinstance(content, ReplicateAdded | ModelAdded):
        if content.outcome is not None and epoch.replicates:
            _check_views(event, content.outcome, state, found)
        elif epoch.replicates:
            raise BoardError(f"{event.called}: the look is not recorded")
        elif content.outcome is not None:
            raise BoardError(f"{event.called}: a look is recorded, and there was nothing to look at")
    if isinstance(content, PilotAdded) and (content.candidate or ()) != (state.candidate or ()):
        raise BoardError(f"{event.called}: the candidate recorded is not the one that the pilot chose")
    if isinstance(content, ItemsAdded) and list(content.models) != epoch.models:
        raise BoardError(f"{event.called}: the models recorded are not those of the epoch")
    _check_cache_keys(event, opened if isinstance(content, ModelAdded) else epoch.stages)


def _check_cache_keys(event: LedgerEvent, stages: Sequence[Stage]) -> None:
    content = event.content
    if isinstance(content, NoteAdded | AttemptBegun | AttemptEnded):
        return
    if content.cache.keys() != {stage.claim for stage in stages}:
        raise BoardError(f"{event.called}: the saved evidence that it names is not that of its claims")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stated:
    """What the ledger says of a stored vector."""

    event: LedgerEvent
    """The event that brought it."""
    checksum: str
    """The checksum of its scores."""
    missing: int
    """How many of them are missing."""
    count: int | None = None
    """How many scores there are; all items of the epoch, if not stated."""


def _stated_vectors(events: Sequence[LedgerEvent]) -> tuple[dict[tuple[int, int, str], _Stated], dict[int, int]]:
    """All vectors that events name, by epoch, replicate and model; and the number of items of each epoch."""
    stated: dict[tuple[int, int, str], _Stated] = {}
    n_items: dict[int, int] = {}
    for event in events:
        match event.content:
            case Created(items=items) | ItemsAdded(items=items):
                n_items[len(n_items) + 1] = n_items.get(len(n_items), 0) + len(items)
            case PilotAdded() | PartAdded() | ReplicateAdded() as added:
                for model, total in added.vectors.items():
                    stated[added.epoch, added.place, model] = _Stated(
                        event=event,
                        checksum=total,
                        missing=added.gaps.get(model, 0),
                        count=added.items if isinstance(added, PartAdded) else None,
                    )
                for model in sorted(added.gaps.keys() - added.vectors.keys()):
                    raise BoardError(f"{event.called}: it has missing scores of model {quoted(model)}, and no others")
            case ModelAdded() as joined:
                if len(joined.gaps) != len(joined.vectors):
                    raise BoardError(f"{event.called}: missing scores are not counted for each of its runs")
                for replicate, (total, missing) in enumerate(zip(joined.vectors, joined.gaps, strict=True), start=1):
                    place = joined.epoch, replicate, joined.model
                    stated[place] = _Stated(event=event, checksum=total, missing=missing)
    return stated, n_items


def _check_vectors(session: Session, events: Sequence[LedgerEvent]) -> None:
    """Every vector that an event names is there with the right scores, and there are no others."""
    expected, n_items = _stated_vectors(events)
    stored = {(epoch, replicate, model): seq for epoch, replicate, model, seq in session.vector_places()}
    for place, each in expected.items():
        event = each.event
        if place not in stored:
            raise BoardError(f"{event.called}: the scores of {_vector(place)} are missing")
        if stored[place] != event.seq:
            raise BoardError(f"{event.called}: the scores of {_vector(place)} were given to event {stored[place]}")
    for place in sorted(set(stored) - set(expected)):
        raise BoardError(
            f"the scores of {_vector(place)} belong to no event: an event was removed or scores slipped in"
        )
    found: dict[tuple[int, int], dict[str, bytes]] = {}
    for (epoch, replicate, model), each in sorted(expected.items(), key=lambda entry: entry[0]):
        if (epoch, replicate) not in found:
            found = {(epoch, replicate): session.vectors(epoch, replicate)}
        data = found[epoch, replicate].get(model)
        if data is None:  # listed, but not found by its key
            raise BoardError(f"the index of the scores is damaged: {_vector((epoch, replicate, model))} is not found")
        called, which = each.event.called, _vector((epoch, replicate, model))
        if checksum(data, n_items.get(epoch)) != each.checksum:
            raise BoardError(f"{called}: the scores of {which} were changed")
        if count_missing(data, n_items.get(epoch, 0) if each.count is None else each.count) != each.missing:
            raise BoardError(f"{called}: the number of missing scores of {which} is not {each.missing}")
    bad = session.bad_checksum()
    if bad is not None:
        raise BoardError(f"the checksum kept with the scores of {_vector(bad)} was changed")


def _vector(place: tuple[int, int, str]) -> str:
    epoch, replicate, model = place
    part = part_number(replicate)
    which = f"replicate {replicate}" if replicate > 0 else f"pilot replicate {-replicate}"
    if part is not None:
        which = f"the part of the first pass before checkpoint {part}"
    return f"model {quoted(model)} in {which} of epoch {epoch}"


def _check_stages(event: LedgerEvent, recorded: Sequence[Opened], stages: Sequence[Stage]) -> None:
    if len(recorded) != len(stages):
        raise BoardError(f"{event.called}: {len(recorded)} claims recorded, {len(stages)} follow from the events")
    for record, stage in zip(recorded, stages, strict=True):
        if record.claim != stage.claim or record.level != stage.level:
            raise BoardError(
                f"{event.called}: claim {record.claim} at level {record.level} is not what the spending rule "
                f"gives (claim {stage.claim} at {stage.level})"
            )
        if record != stage.opened:
            raise BoardError(f"{event.called}: the design of claim {stage.claim} is not the one recorded")


def _check_views(event: LedgerEvent, outcome: Outcome, state: BoardState, found: Found) -> None:
    """The look at every view is the one that follows from the scores."""
    if {HEADLINE, *outcome.views} != state.epoch.looks_at.keys() or HEADLINE in outcome.views:
        raise BoardError(f"{event.called}: the views looked at are not those of the epoch")
    boards = [(stage, stage.certifier.leaderboard()) for stage in state.epoch.stages]
    looks = state.epoch.last_looks
    _check_look(event, outcome, boards, looks[HEADLINE], found.get(HEADLINE, ()))
    for view, seen in outcome.views.items():
        parts = [(stage, board.view(view)) for stage, board in boards]
        try:
            _check_look(event, seen, parts, looks[view], found.get(view, ()))
        except BoardError as error:
            raise BoardError(f"view {quoted(view)}: {error}") from error


def _check_look(
    event: LedgerEvent,
    outcome: Outcome | ViewOutcome,
    parts: Parts,
    look: LookCount | PartCount,
    edges: Sequence[NewEdge],
) -> None:
    if outcome.current.keys() != {stage.claim for stage, _ in parts}:
        raise BoardError(f"{event.called}: the claims looked at are not those of the epoch")
    for stage, board in parts:
        _check_edges(event, stage, board, outcome.current[stage.claim])
    recorded = {(edge.winner, edge.loser): edge for edge in outcome.certified}
    computed = {(edge.winner, edge.loser): edge for edge in edges}
    for pair in sorted(set(recorded) | set(computed)):
        if pair not in recorded or pair not in computed:
            where = "recorded but does not follow from the scores" if pair in recorded else "missing from the record"
            raise BoardError(f"{event.called}: the certificate {quoted(pair[0])} > {quoted(pair[1])} is {where}")
        _check_certificate(event, recorded[pair], computed[pair])
    if len(outcome.certified) != len(edges):
        raise BoardError(
            f"{event.called}: {len(outcome.certified)} certificates are recorded; {len(edges)} follow from the scores"
        )
    if outcome.look != Tally(edges=look.edges, resolved_pairs=look.resolved_pairs):
        raise BoardError(f"{event.called}: the counts of the look are not those of its edges")


def _check_edges(event: LedgerEvent, stage: Stage, board: Leaderboard, packed: bytes) -> None:
    count = len(stage.design.models)
    bits = np.frombuffer(packed, dtype=np.uint8)
    if len(bits) != -(-count * count // 8):
        raise BoardError(f"{event.called}: the edges of claim {stage.claim} are damaged")
    recorded: NDArray[np.bool_] = np.unpackbits(bits, count=count * count).reshape(count, count) == 1
    near = np.abs(board.log_e - board.log_thresholds) <= _TOLERANCE * (1.0 + np.abs(board.log_e))
    for a, b in np.argwhere((recorded != board.current_edges) & ~near).tolist():
        names = stage.design.models
        how = "recorded as certified but is not" if recorded[a, b] else "certified but not recorded"
        raise BoardError(f"{event.called}: {quoted(names[a])} > {quoted(names[b])} is {how}")


def _check_certificate(event: LedgerEvent, recorded: NewEdge, computed: NewEdge) -> None:
    same = (
        abs(recorded.log_e - computed.log_e) <= _TOLERANCE * (1.0 + abs(computed.log_e))
        and recorded.claim == computed.claim
        and recorded.replicate == computed.replicate
    )
    if not same:
        raise BoardError(
            f"{event.called}: the certificate {quoted(computed.winner)} > {quoted(computed.loser)} says log_e "
            f"{recorded.log_e} at replicate {recorded.replicate}; the scores give {computed.log_e} at "
            f"{computed.replicate}"
        )


def _check_cache(session: Session, events: Sequence[LedgerEvent], state: BoardState) -> None:
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
        other = theirs[name]
        if name.partition(".")[0] == "evidence":  # a state of its own, for each view
            inner = _difference(other.tobytes(), mine.tobytes())
            if inner is not None:
                return inner
            continue
        same = other.dtype == mine.dtype and other.shape == mine.shape
        if same and mine.dtype.kind == "f":
            same = np.allclose(other, mine, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True)
        elif same:
            same = np.array_equal(other, mine)
        if not same:
            return quoted(name)
    return None
