"""One change to a board inside one transaction: load the state, propose an event, admit it, append it, save."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from bbedge.board.admit import admit, changed_stages, create, follow, registration
from bbedge.board.incoming import check_first_run, known_replicate, proposed_model, proposed_replicate
from bbedge.board.stage import Stage, join_found
from bbedge.board.state import BoardState
from bbedge.board.stored_scores import StoredScores, StoredVector
from bbedge.core.checkpoints import Checkpoint
from bbedge.core.copies import described
from bbedge.core.leaderboard import Certifier, Look
from bbedge.core.scores import Scores
from bbedge.errors import Argument, BbedgeError, BoardError, CopiedReplicateError, NoBoardError
from bbedge.ledger.chain import LedgerEvent, checked_events, digest
from bbedge.ledger.store import Session, Vector
from bbedge.records.codec import to_json
from bbedge.records.design import Counting, IncompleteRule
from bbedge.records.events import (
    BoardEvent,
    Created,
    ModelAdded,
    NewEdge,
    PilotAdded,
    ReplicateAdded,
    TrustStated,
    WithoutEvidence,
)
from bbedge.records.values import TRUST, Copies, Trust
from bbedge.text import listed

Vectors = Mapping[tuple[int, int], Mapping[str, StoredVector]]
"""Scores by the number of their epoch and their place there, and by model."""


def whole_ledger(session: Session) -> list[LedgerEvent]:
    """All events, each checked; a ledger without a beginning or an end is refused."""
    events = list(checked_events(session.events()))
    if not events:
        raise NoBoardError("the board is empty: its creation was interrupted; run bbedge board init again")
    if session.head() != events[-1].hash:
        raise BoardError("the end of the ledger is missing or was edited: its last event is not the recorded head")
    return events


def created(event: LedgerEvent) -> Created:
    """What the first event of a checked ledger says."""
    assert isinstance(event.content, Created)
    return event.content


def save(session: Session, stages: Iterable[Stage]) -> dict[int, str]:
    """Save the evidence of the stages; its checksums go into the ledger, so that changed evidence is never used."""
    states = {stage.claim: stage.certifier.to_bytes() for stage in stages}
    session.put_cache(states)
    return {claim: digest(state) for claim, state in states.items()}


def saved_sums(events: Iterable[LedgerEvent]) -> dict[int, str]:
    """The last checksum that the ledger states for the saved evidence of each claim."""
    sums: dict[int, str] = {}
    for event in events:
        if not isinstance(event.content, WithoutEvidence):
            sums |= event.content.cache
    return sums


def load(session: Session) -> tuple[list[LedgerEvent], BoardState]:
    """The ledger and the state: the structure from the events, the evidence as it was saved with them.

    Evidence whose checksum is not the one in the ledger is not used: all of it is then computed from the scores.
    """
    events = whole_ledger(session)
    sums, saved = saved_sums(events), session.cache()
    if all(claim in saved and digest(saved[claim]) == stated for claim, stated in sums.items()):
        state, _ = create(created(events[0]))
        for event in events[1:]:
            follow(state, event.content)
        try:
            for stage in state.stages:
                stage.certifier = Certifier.from_bytes(stage.design, saved[stage.claim], batches=stage.batches)
        except (BbedgeError, KeyError):
            return events, replay(session, events)
        return events, state
    return events, replay(session, events)


def replay(session: Session, events: Sequence[LedgerEvent]) -> BoardState:
    """The state, computed from the stored scores."""
    scores = StoredScores(session)
    state, _ = create(created(events[0]))
    for event in events[1:]:
        admit(state, event.content, scores)
    return state


def looks_again(session: Session, events: Sequence[LedgerEvent], epoch: int) -> Iterator[tuple[Look | None, ...]]:
    """Every look at a version that no model was added to, computed from the stored scores; see ``Board.looks``."""
    scores = StoredScores(session)
    state, _ = create(created(events[0]))
    for event in events[1:]:
        admit(state, event.content, scores)
        if isinstance(event.content, ReplicateAdded) and event.content.epoch == epoch:
            certifier, design = state.epoch.stages[0].certifier, state.epoch.stages[0].design
            looks = certifier.last_looks
            if looks and looks[0].replicate == state.epoch.replicates:
                is_look = design.is_look(certifier.runs)
                yield tuple(look if there else None for look, there in zip(looks, is_look, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What a change did."""

    replicates: tuple[int, ...] = ()
    """Replicates that were added."""
    pilots: tuple[int, ...] = ()
    """Pilot replicates that were added."""
    already: tuple[int, ...] = ()
    """Replicates that were on the board already, with the same scores."""
    already_pilots: tuple[int, ...] = ()
    """Pilot replicates that were on the board already, with the same scores."""
    edges: tuple[NewEdge, ...] = ()
    """Directions of the headline that are certified for the first time."""
    views: Mapping[str, tuple[NewEdge, ...]] = field(default_factory=dict)
    """The same of every other view that has any."""
    candidate: tuple[str, ...] | None = None
    """The Top-k candidate, if the pilot has just chosen it."""
    checkpoint: Checkpoint | None = None
    """The checkpoint that the first run has come to, if scores up to one were added."""

    @classmethod
    def by(cls, events: Sequence[BoardEvent], **others: object) -> Added:
        """What these events brought."""
        looks = [
            event.outcome
            for event in events
            if isinstance(event, ReplicateAdded | ModelAdded) and event.outcome is not None
        ]
        found = join_found({view: seen.certified for view, seen in look.views.items()} for look in looks)
        pilots = [event for event in events if isinstance(event, PilotAdded)]
        return cls(
            replicates=tuple(
                event.replicate for event in events if isinstance(event, ReplicateAdded) and not event.upto
            ),
            pilots=tuple(event.pilot for event in pilots),
            candidate=next((event.candidate for event in pilots if event.candidate), None),
            edges=tuple(edge for look in looks for edge in look.certified),
            views={view: tuple(edges) for view, edges in found.items() if edges},
            **others,  # type: ignore[arg-type]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The board as it is inside a transaction. After an error, discard it."""

    session: Session
    """The transaction."""
    state: BoardState
    """The state of now."""
    events: list[LedgerEvent]
    """The ledger."""
    scores: StoredScores
    """The stored scores."""

    def add(self, scores: Scores, counting: Counting, upto: int | None = None) -> Added:
        """Add replicates, in order, or the first one up to its next checkpoint.

        If the rule for missing scores is that of the design, also those that lack the runs of a model altogether.
        """
        state, rule = self.state, counting.get("incomplete")
        copies = counting.get("copies") or self._copies
        if upto is None or rule != "refuse":
            self._check_rule(rule)
        checkpoint = None if upto is None else state.upcoming(upto)
        if upto is not None:
            check_first_run(scores, state)
        events: list[BoardEvent] = []
        already: dict[int, int] = {}
        for index in range(len(scores.replicates)):
            position = known_replicate(scores, index, state, self.scores) if upto is None else None
            if position is not None:
                already[index] = position + 1
                continue
            event, vectors = proposed_replicate(scores, index, state, self.scores, copies=copies, rule=rule, upto=upto)
            events.append(self.append(event, {(event.epoch, event.place): vectors}))
        if copies == "refuse" and len(events) > 1:
            # Replicates that come together may show more than one after the other.
            found = [copy for copy in scores.copies if copy.replicate not in already]
            if found:
                raise CopiedReplicateError(described(found, scores.replicates))
        pilots, places = state.epoch.pilots, already.values()
        return Added.by(
            events,
            already=tuple(place - pilots for place in places if place > pilots),
            already_pilots=tuple(place for place in places if place <= pilots),
            checkpoint=checkpoint,
        )

    def add_model(self, name: str, scores: Scores | None, counting: Counting) -> Added:
        """Join a new model's runs with the stored replicates; ``counting`` is as in :meth:`add`."""
        return Added.by([self._joined(name, scores, counting)])

    def _joined(self, name: str, scores: Scores | None, counting: Counting) -> BoardEvent:
        rule, copies = counting.get("incomplete"), counting.get("copies") or self._copies
        self._check_rule(rule)
        event, runs = proposed_model(name, scores, self.state, copies, whole_runs=rule not in (None, "refuse"))
        places = [(epoch.number, replicate) for epoch, replicate in self.state.joined_places(name)]
        # If there are more runs or fewer than the board joins, the event is refused.
        return self.append(event, {place: {name: run} for place, run in zip(places, runs, strict=False)})

    def add_submission(self, scores: Scores, counting: Counting, *, by: str, sha256: str, trust: Trust) -> Added:
        """Add new models, or replicates of those that are there, and state how far their scores can be trusted."""
        new = [model for model in scores.models if model not in self.state.epoch.models]
        if not new:
            added = self.add(scores, counting)
            if not (added.replicates or added.pilots):
                raise BoardError("the board has these replicates already; a submission brings new ones, or new models")
        elif len(new) < len(scores.models):
            known = [model for model in scores.models if model not in new]
            raise BoardError(
                f"{listed(new)} {'is' if len(new) == 1 else 'are'} new on the board, and {listed(known)} not; a "
                "submission brings new models, or replicates of all active ones"
            )
        else:
            added = Added.by([self._joined(model, scores.of_model(model), counting) for model in new])
        for model in scores.models:
            stated = self.state.trust.get(model)
            # Of a model that has other scores too, the least trusted say how far all of them go.
            known_trust = trust if stated is None or new else min(trust, stated.trust, key=TRUST.index)
            said = TrustStated(epoch=self.state.epoch.number, model=model, trust=known_trust, by=by, submission=sha256)
            self.append(said)
        return added

    @property
    def _copies(self) -> Copies:
        """The design's rule for runs that repeat others; they count where they can make no false claim."""
        return "allow" if self.state.design.repeats_are_harmless else self.state.design.copies

    def _check_rule(self, rule: IncompleteRule | None) -> None:
        """Refuse a rule for missing scores that is not the design's."""
        design = self.state.design
        if rule not in (None, design.incomplete):
            raise BoardError(
                Argument("incomplete", rule),
                f" is not the rule of this board's design, which is frozen: {design.incomplete}",
            )

    def append(self, event: BoardEvent, vectors: Vectors | None = None) -> BoardEvent:
        """Admit a proposed event, with the scores that come with it, and append it to the ledger."""
        vectors = vectors or {}
        for (epoch, place), of_models in vectors.items():
            self.scores.offer(epoch, place, of_models)
        return self._write(admit(self.state, event, self.scores), vectors)

    def _write(self, event: BoardEvent, vectors: Vectors) -> BoardEvent:
        stages = changed_stages(self.state, event)
        if not isinstance(event, WithoutEvidence):
            event = replace(event, cache=save(self.session, stages))
        entry = LedgerEvent.now(self.events[-1] if self.events else None, event.kind, to_json(event))
        _ = entry.content  # what could not be read again is not written
        self.session.append(entry)
        stored = [
            Vector(epoch=epoch, replicate=place, model=model, data=each.data)
            for (epoch, place), of_models in vectors.items()
            for model, each in of_models.items()
        ]
        self.session.put_vectors(entry.seq, stored)
        self.events.append(entry)
        return event

    @classmethod
    def create(cls, session: Session, proposed: Created, *, any_seed: bool) -> str | None:
        """Begin a ledger: record the design, models and items of a new board.

        Where there is one already, nothing is written. If it began otherwise, its registration is returned; with
        ``any_seed`` the seed of its order may be another one.
        """
        events = list(checked_events(session.events()))
        if not events:
            state, event = create(proposed)
            cls(session=session, state=state, events=events, scores=StoredScores(session))._write(event, {})
            return None
        before = created(events[0])
        same = replace(proposed, order_seed=before.order_seed) if any_seed else proposed
        return None if registration(before) == registration(same) else registration(before)
