"""The only way onto a gate's ledger: which event may follow which, and what it must say.

One function for each kind of event takes what the events before say, the event and the stored scores, and either adds
the event or refuses it. Recording, import and verification all call it, so that nothing is accepted by one of them and
refused by another. Without the stored scores only order, labels, levels and items are checked: enough to open a ledger,
and never enough to show a verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bbedge.core.scores import Scores
from bbedge.errors import BbedgeError, BoardError, CopiedReplicateError, refuse_unless
from bbedge.gate.gate import Gate
from bbedge.gate.uses import GateState, UseState, systems_of
from bbedge.ledger.chain import LedgerEvent, check_head, checked_events
from bbedge.ledger.store import Session
from bbedge.records.codec import plain
from bbedge.records.events import CountedCopy
from bbedge.records.gate import ClaimResult, ItemListing, PolicyFrozen, UseBegun, UseDecided, UseLooked
from bbedge.text import quoted

_TOLERANCE = 1e-9  # evidence may differ by rounding between machines, and nothing else may


def admit(state: GateState | None, event: LedgerEvent, session: Session | None = None) -> GateState:
    """What the events up to this one say; ``BoardError`` if it cannot follow the others.

    With ``session`` also what it says of scores is computed again, from those that are stored.
    """
    content = event.fact
    try:
        if state is None or isinstance(content, PolicyFrozen):
            return _admit_policy(state, content)
        if isinstance(content, UseBegun):
            use = _admit_begun(state, content, session)
        elif isinstance(content, UseLooked):
            use = _admit_looked(state, content, session)
        else:
            assert isinstance(content, UseDecided)  # the chain has no other kind
            use = _admit_decided(state, content, session)
    except CopiedReplicateError:
        raise
    except BbedgeError as error:
        raise BoardError(f"{event.called}: {error}") from error
    use.at = event.at
    return state


def _admit_policy(state: GateState | None, content: object) -> GateState:
    if state is not None or not isinstance(content, PolicyFrozen):
        raise BoardError("the ledger of a gate begins with its policy, and has one")
    return GateState(policy=content.policy)


def _admit_begun(state: GateState, begun: UseBegun, session: Session | None) -> UseState:
    refuse_unless(begun.use == len(state.uses) + 1, f"use {begun.use} is not the next one")
    refuse_unless(begun.label not in state.labels, f"the label {quoted(begun.label)} belongs to another use")
    refuse_unless(
        begun.level == state.next_level > 0.0,
        f"its level, {begun.level}, is not that of the policy, {state.next_level}",
    )
    refuse_unless(begun.systems == systems_of(state.policy, begun.systems), "its systems are not those of the policy")
    known = state.listings.get(begun.items)
    listing = begun.listing if known is None else known
    if not isinstance(listing, ItemListing) or listing.digest != begun.items:
        raise BoardError("its items are not listed")
    refuse_unless(known is None or not isinstance(begun.listing, ItemListing), "its items are listed twice")
    refuse_unless(begun.checkpoints is None or begun.study is not None, "it has checkpoints, and is not of a study")
    use = UseState(begun=begun, listing=listing, at="")
    if session is not None:
        # Refuses items and a scale that the policy does not fit.
        Gate(state.policy, use.no_runs, checkpoints=begun.checkpoints)
    state.listings[begun.items] = listing
    state.uses.append(use)
    state.labels[begun.label] = use
    return use


def _admit_looked(state: GateState, looked: UseLooked, session: Session | None) -> UseState:
    use = _use(state, looked.use)
    runs, passed = use.seen
    refuse_unless(bool(looked.inside) != bool(looked.runs), "it has neither runs nor checkpoints, or both")
    planned = [] if use.plan is None or runs else [each.blocks for each in use.plan.checkpoints]
    refuse_unless(looked.inside.keys() <= set(planned), "it has a checkpoint that is not planned")
    upcoming = planned[passed : passed + len(looked.inside)]
    refuse_unless(sorted(looked.inside) == upcoming, "a checkpoint is missing")
    refuse_unless(sorted(looked.runs) == list(range(runs + 1, runs + 1 + len(looked.runs))), "a run is missing")
    systems = set(use.begun.systems)
    refuse_unless(all(sums.keys() == systems for sums in looked.vectors.values()), "it has scores of other systems")
    use.inside |= {upto: looked.inside[upto] for upto in upcoming}
    use.runs += [looked.runs[number] for number in sorted(looked.runs)]
    use.notes = looked.notes
    if session is not None:
        scores = use.scores(session, len(use.runs))
        inside = use.first_run(session, len(use.inside))
        if inside is not None:
            inside.completed(scores)
        # The board of a study has checked its runs.
        if use.begun.study is None and not state.policy.repeats_are_harmless:
            scores.check_copies(state.policy.copies)
        found = {run: each for run, each in copies_by_run(scores).items() if run in looked.runs}
        refuse_unless(looked.copies == found, "the runs that it says are copies are not those that repeat earlier ones")
    return use


def copies_by_run(scores: Scores) -> dict[int, tuple[CountedCopy, ...]]:
    """Which runs repeat earlier ones, by number."""
    found: dict[int, tuple[CountedCopy, ...]] = {}
    for copy in scores.copies:
        counted = CountedCopy(of=copy.of + 1, models=copy.models, whole=copy.whole)
        found[copy.replicate + 1] = (*found.get(copy.replicate + 1, ()), counted)
    return found


def _admit_decided(state: GateState, decided: UseDecided, session: Session | None) -> UseState:
    use = _use(state, decided.use)
    refuse_unless((decided.runs, decided.checkpoints) == use.seen != (0, 0), "it is not about all scores of its use")
    refuse_unless(not use.is_decided, "no scores came since the last report")
    use.decided = decided
    if session is not None:
        confirmed_gate(state, use, session)
    return use


def confirmed_gate(state: GateState, use: UseState, session: Session) -> Gate:
    """The gate that reached the recorded report of a use, computed again; a report that differs is refused."""
    decided = use.decided
    assert decided is not None
    gate = state.gate(use, session, (decided.runs, decided.checkpoints))
    computed = gate.results()
    refuse_unless(len(computed) == len(decided.results), f"{use.called}: its claims are not those of the policy")
    for recorded, now in zip(decided.results, computed, strict=True):
        for key in ClaimResult.__struct_fields__:
            stated, found = plain(getattr(recorded, key)), plain(getattr(now, key))
            refuse_unless(
                _agrees(stated, found),
                f"{use.called}: the report says {key} = {stated} of {quoted(str(now.claim))}; the stored scores give "
                f"{found}",
            )
    return gate


def _agrees(stated: object, found: object) -> bool:
    """Whether plain values are the same, numbers up to rounding."""
    if isinstance(stated, float) and isinstance(found, float):
        return abs(stated - found) <= _TOLERANCE * (1.0 + abs(found))
    if isinstance(stated, Mapping) and isinstance(found, Mapping):
        return stated.keys() == found.keys() and all(_agrees(stated[key], found[key]) for key in found)
    if isinstance(stated, list | tuple) and isinstance(found, list | tuple):
        return len(stated) == len(found) and all(map(_agrees, stated, found))
    return type(stated) is type(found) and stated == found


def _use(state: GateState, number: int) -> UseState:
    refuse_unless(number <= len(state.uses), f"use {number} has not begun")
    return state.uses[number - 1]


def admitted(events: Iterable[LedgerEvent], session: Session | None = None) -> GateState | None:
    """What checked events say together; ``None`` if there are none."""
    state: GateState | None = None
    for event in checked_events(events):
        state = admit(state, event, session)
    return state


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedGate:
    """What was checked and found correct."""

    events: int
    """Events of the ledger."""
    vectors: int
    """Stored score vectors."""
    uses: int
    """Uses of the gate."""
    spent: float
    """The sum of their levels."""
    head: str
    """The hash of the last event."""

    @property
    def found(self) -> tuple[int, str]:
        """What there are, in words."""
        return self.uses, "use"


def verify_session(session: Session, *, head: str | None = None) -> VerifiedGate:
    """Admit every event of a gate's ledger again; the first thing that does not agree is a :class:`BoardError`.

    ``head`` is a hash that was published earlier: some event must have it.
    """
    events = session.events()
    state = admitted(events, session)
    if state is None or session.head() != events[-1].hash:
        raise BoardError("the end of the ledger is missing or was edited: its last event is not the recorded head")
    check_head(events, head)
    stated = {
        (event.fact.use, place, system): event.seq
        for event in events
        if isinstance(event.fact, UseLooked)
        for place, sums in event.fact.vectors.items()
        for system in sums
    }
    stored = {(use, place, system): seq for use, place, system, seq in session.vector_places()}
    strange = sorted(key for key in stated.keys() | stored.keys() if stated.get(key) != stored.get(key))
    if strange:
        use, _, system = strange[0]
        raise BoardError(f"scores of {quoted(system)} in use {use} belong to no event, or to another one")
    if (bad := session.bad_checksum()) is not None:
        raise BoardError(f"the checksum kept with the scores of {quoted(bad[2])} in use {bad[0]} was changed")
    return VerifiedGate(
        events=len(events), vectors=len(stored), uses=len(state.uses), spent=state.spent, head=events[-1].hash
    )
