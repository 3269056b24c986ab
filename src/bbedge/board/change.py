"""One change to a board inside one transaction: change the state, then append an event and its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np
from msgspec.structs import asdict
from numpy.typing import NDArray

from bbedge.board.admit import begin_attempt, end_attempt
from bbedge.board.arrivals import (
    Arrival,
    Arrivals,
    arranged,
    check_version,
    counted_copies,
    read_panel,
    recorded,
    stored_replicates,
)
from bbedge.board.design import IncompleteRule
from bbedge.board.part_arrival import arrived_part, repeated_pilot
from bbedge.board.replay import save, stored_panel, stored_parts
from bbedge.board.stage import Found, Panel, Stage, merged
from bbedge.board.state import BoardState, missing_scores
from bbedge.board.stored_scores import check_rule, completed, seen_scores
from bbedge.board.views import Columns
from bbedge.core.checkpoints import Checkpoint
from bbedge.core.scores import Scores
from bbedge.core.views import HEADLINE
from bbedge.errors import BoardError, CopiedReplicateError
from bbedge.ledger.chain import LedgerEvent
from bbedge.ledger.store import Session, Vector
from bbedge.ledger.vectors import checksum, pack
from bbedge.records.codec import to_json
from bbedge.records.events import (
    AbandonReason,
    AttemptBegun,
    AttemptEnded,
    AttemptOutcome,
    BoardEvent,
    CountedCopy,
    Created,
    ItemsAdded,
    ModelAdded,
    ModelRetired,
    NewEdge,
    NoteAdded,
    Opened,
    PartAdded,
    PilotAdded,
    ReplicateAdded,
)
from bbedge.records.notes import Note
from bbedge.records.values import Copies
from bbedge.text import listed, quoted


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
    """The checkpoint that the first pass has come to, if a part of it was added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The board as it is inside a transaction. After an error, discard it."""

    session: Session
    """The transaction."""
    state: BoardState
    """The state of now."""
    events: list[LedgerEvent]
    """The ledger."""

    def create(self) -> None:
        """Record the design, models and items of a new board."""
        design, epoch = self.state.design, self.state.epoch
        content = Created(
            design=design.content,
            registration=design.registration(
                epoch.models, epoch.items, epoch.blocks, epoch.columns, order_seed=epoch.order_seed
            ),
            models=tuple(epoch.models),
            items=epoch.items,
            blocks=epoch.blocks,
            columns=epoch.columns,
            order_seed=epoch.order_seed,
            stages=_opened(epoch.stages),
            cache=save(self.session, epoch.stages),
        )
        self._append(content)

    def add(self, scores: Scores, copies: Copies | None, *, whole_runs: bool = False) -> Added:
        """Add replicates, in order; with ``whole_runs`` also those that lack the runs of a model altogether."""
        state = self.state
        check_rule(state, whole_runs=whole_runs)
        check_version(self.events, state.epoch.number, scores.runs)
        arrivals = Arrivals.of(
            scores,
            state,
            stored_replicates(self.events, state.epoch.number),
            panels=lambda place: read_panel(self.session, state, place),
            seen=self._seen(),
            whole_runs=whole_runs,
        )
        rule, named = copies or state.design.copies, scores.numbered or any(scores.runs)
        copied = counted_copies(self.session, state, arrivals, rule, named=named)
        pilots, replicates = state.epoch.pilots, state.epoch.replicates
        chosen, found = state.candidate, list[Found]()
        for each in arrivals.fresh:
            origin = _origin(scores, copied.get(state.epoch.pilots + state.epoch.replicates, ()))
            if state.in_pilot:
                self._add_pilot(each, origin)
            else:
                found.append(self._add_replicate(each, origin))
        now = state.epoch
        return Added(
            **_new(merged(found)),
            replicates=tuple(range(replicates + 1, now.replicates + 1)),
            pilots=tuple(range(pilots + 1, now.pilots + 1)),
            already=tuple(place - now.pilots for place in arrivals.already if place > now.pilots),
            already_pilots=tuple(place for place in arrivals.already if place <= now.pilots),
            candidate=state.candidate if chosen is None else None,
        )

    def _add_pilot(self, fresh: Arrival, origin: _Origin) -> None:
        epoch = self.state.epoch
        earlier = [stored_panel(self.session, self.state, -pilot) for pilot in range(1, epoch.pilots + 1)]
        candidate = self.state.add_pilot(fresh.panel, earlier)
        content = PilotAdded(
            gaps=missing_scores(fresh.panel),
            epoch=epoch.number,
            pilot=epoch.pilots,
            vectors=fresh.vectors,
            runs=tuple(sorted(fresh.stored.runs)),
            candidate=candidate,
            stages=_opened(epoch.stages),
            cache=save(self.session, epoch.stages),
            **origin,
        )
        self._append(content, {(content.place, model): data for model, data in fresh.packed.items()})

    def _add_replicate(self, fresh: Arrival, origin: _Origin) -> Found:
        epoch = self.state.epoch
        found = self.state.add_replicate(fresh.panel)
        content = ReplicateAdded(
            gaps=missing_scores(fresh.panel),
            epoch=epoch.number,
            replicate=epoch.replicates,
            vectors=fresh.vectors,
            runs=tuple(sorted(fresh.stored.runs)),
            cache=save(self.session, epoch.stages),
            **asdict(epoch.outcome(found)),
            **origin,
        )
        self._append(content, {(content.place, model): data for model, data in fresh.packed.items()})
        return found

    def _seen(self) -> Panel:
        """The scores of a first pass that is not complete, in the run order."""
        epoch = self.state.epoch
        return seen_scores(stored_parts(self.session, epoch)) if epoch.is_inside_pass else {}

    def add_part(self, scores: Scores, copies: Copies | None, rule: IncompleteRule | None = None) -> Added:
        """Add the scores up to the next checkpoint of the first pass; ``rule`` is about those that are missing."""
        state, epoch = self.state, self.state.epoch
        check_version(self.events, epoch.number, scores.runs)
        stored, seen = stored_replicates(self.events, epoch.number), self._seen()
        fresh = arrived_part(scores, state, stored, seen, rule=rule)
        copied = self._copied_part(fresh.panel, seen, copies or state.design.copies)
        found = state.add_part(fresh.panel)
        checkpoint = epoch.parts[-1].checkpoint
        content = PartAdded(
            epoch=epoch.number,
            checkpoint=checkpoint.number,
            blocks=checkpoint.blocks,
            items=len(epoch.new_places(checkpoint.number)),
            vectors=fresh.vectors,
            gaps=missing_scores(fresh.panel),
            runs=tuple(sorted(fresh.stored.runs)),
            cache=save(self.session, epoch.stages),
            **asdict(epoch.outcome(found)),
            **_origin(scores, copied),
        )
        self._append(content, {(content.place, model): data for model, data in fresh.packed.items()})
        return Added(**_new(found), checkpoint=checkpoint)

    def _copied_part(self, panel: Panel, seen: Panel, rule: Copies) -> tuple[CountedCopy, ...]:
        """The pilot replicate that a part repeats, or an error if it does not count."""
        pilots = [stored_panel(self.session, self.state, -pilot) for pilot in range(1, self.state.epoch.pilots + 1)]
        pilot = repeated_pilot(panel, self.state, seen, pilots)
        if pilot is None:
            return ()
        if rule == "refuse":
            raise CopiedReplicateError(
                f"The part has the scores of pilot replicate {pilot} on every item up to checkpoint "
                f"{self.state.upcoming().number}.",
                remedy="The runs of a pilot choose the candidate and cannot be evidence as well.",
            )
        return (CountedCopy(of=pilot, models=tuple(panel), whole=True),)

    def add_model(self, name: str, scores: Scores | None, copies: Copies | None, *, whole_runs: bool = False) -> Added:
        """Join a new model's runs with the stored replicates."""
        state, epoch = self.state, self.state.epoch
        check_rule(state, whole_runs=whole_runs)
        runs: list[NDArray[np.float64]] = []
        if scores is not None:
            check_version(self.events, epoch.number, scores.runs)
            scores.check_copies(copies or state.design.copies)
            if scores.models != (name,):
                raise BoardError(f"the files hold the scores of {listed(scores.models)}; expected {quoted(name)} alone")
            panels = [arranged(scores, values, state) for values in scores.values]
            whole = whole_runs and any(panels)
            runs = [completed(panel, (name,), state, whole_runs=whole)[name] for panel in panels]
        stored = (stored_panel(self.session, state, r) for r in range(1, epoch.replicates + 1))
        found = state.add_model(name, runs, stored)
        packed = {(place, name): pack(run) for place, run in enumerate(runs, start=1)}
        content = ModelAdded(
            epoch=epoch.number,
            model=name,
            vectors=tuple(checksum(data) for data in packed.values()),
            gaps=tuple(int(np.isnan(run).sum()) for run in runs),
            runs=() if scores is None else scores.runs,
            stages=_opened(epoch.stages[-1:]),
            cache=save(self.session, epoch.stages[-1:]),
            **(asdict(epoch.outcome(found)) if epoch.replicates else {}),
            **(_Origin() if scores is None else _origin(scores, recorded(scores.copies))),
        )
        self._append(content, packed)
        return Added(**_new(found))

    def add_items(
        self, items: tuple[str, ...], blocks: tuple[str, ...], columns: Columns, order_seed: int | None
    ) -> None:
        """Open an epoch."""
        self.state.add_items(items, blocks, columns, order_seed=order_seed)
        epoch = self.state.epoch
        content = ItemsAdded(
            epoch=epoch.number,
            items=items,
            blocks=blocks,
            columns={name: texts[-len(items) :] for name, texts in epoch.columns.items()},
            order_seed=order_seed,
            models=tuple(epoch.models),
            stages=_opened(epoch.stages),
            cache=save(self.session, epoch.stages),
        )
        self._append(content)

    def retire(self, model: str) -> None:
        """Stop a model."""
        self.state.retire(model)
        epoch = self.state.epoch
        self._append(ModelRetired(epoch=epoch.number, model=model, cache=save(self.session, epoch.stages)))

    def note(self, about: str, text: str, particulars: Mapping[str, object]) -> None:
        """Record something that readers of the board should know."""
        epoch = self.state.epoch.number
        self._append(NoteAdded(epoch=epoch, about=about, text=text, particulars=particulars))

    def begin_attempt(self, replicate: int, attempt: int, seed: int, protocol: str) -> None:
        """Record that a run is about to make its first request."""
        epoch = self.state.epoch.number
        event = AttemptBegun(epoch=epoch, replicate=replicate, attempt=attempt, seed=seed, protocol=protocol)
        begin_attempt(self.state, event)
        self._append(event)

    def end_attempt(self, replicate: int, attempt: int, outcome: AttemptOutcome, reason: AbandonReason | None) -> None:
        """Record what became of an attempt."""
        epoch = self.state.epoch.number
        event = AttemptEnded(epoch=epoch, replicate=replicate, attempt=attempt, outcome=outcome, reason=reason)
        end_attempt(self.state, event)
        self._append(event)

    def _append(self, content: BoardEvent, packed: Mapping[tuple[int, str], bytes] | None = None) -> None:
        """Append an event to the ledger, with the packed scores by place and model that came with it."""
        event = LedgerEvent.now(self.events[-1] if self.events else None, content.kind, to_json(content))
        _ = event.content  # what could not be read again is not written
        vectors = [
            Vector(epoch=self.state.epoch.number, replicate=place, model=model, data=data)
            for (place, model), data in (packed or {}).items()
        ]
        self.session.append(event)
        self.session.put_vectors(event.seq, vectors)
        self.events.append(event)


class _New(TypedDict):
    edges: tuple[NewEdge, ...]
    views: dict[str, tuple[NewEdge, ...]]


def _new(found: Found) -> _New:
    views = {view: tuple(edges) for view, edges in found.items() if view != HEADLINE and edges}
    return _New(edges=tuple(found.get(HEADLINE, ())), views=views)


def _opened(stages: Sequence[Stage]) -> tuple[Opened, ...]:
    return tuple(stage.opened for stage in stages)


class _Origin(TypedDict, total=False):
    files: tuple[str, ...]
    copies: tuple[CountedCopy, ...]
    notes: tuple[Note, ...]


def _origin(scores: Scores, copies: tuple[CountedCopy, ...]) -> _Origin:
    return _Origin(files=scores.files, copies=copies, notes=scores.notes)
