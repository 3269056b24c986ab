"""A leaderboard that lives: panels, models and items come, the design stays, every claim is paid from one budget."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bbedge.board.archive import export_lines
from bbedge.board.arrivals import Arrival, arranged, counted_copies, stated_number
from bbedge.board.contents import EventKind
from bbedge.board.design import BoardDesign
from bbedge.board.identity import known_place, stored_replicates
from bbedge.board.ledger import Event, checked
from bbedge.board.packing import checksum, pack
from bbedge.board.records import look_record, origin_record, stage_records
from bbedge.board.replay import apply, begin, load, registration_of, save, stored_panel
from bbedge.board.state import BoardState, NewEdge
from bbedge.board.store import Session, Store, Vector
from bbedge.board.verify import Verified, verify
from bbedge.core.kinds import Copies
from bbedge.core.leaderboard import Leaderboard, Look
from bbedge.core.notes import Note
from bbedge.core.scores import Scores
from bbedge.errors import BoardError
from bbedge.files import write_whole
from bbedge.text import counted, listed, quoted


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
    """Directions certified for the first time."""
    candidate: tuple[str, ...] | None = None
    """The Top-k candidate, if the pilot has just chosen it."""


class Board:
    """A board on disk or in a database. Make one with :meth:`create`, come back to it with :meth:`open`.

    In a ``with`` statement it is closed at the end. Two boards are equal only if they are the same object.

    **Guarantee:** with probability at least ``1 - alpha`` no certificate that the board ever issues is false, over all
    epochs, stages, directions and looks.

    **Needs:** the assumptions of ``docs/guarantees.md`` for every epoch, and models and items that are added for
    reasons other than the stored scores.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.read() as session:
            self._events, self._state = load(session)

    def __repr__(self) -> str:
        epoch = self._state.epoch
        counts = ((len(epoch.models), "model"), (len(epoch.items), "item"), (epoch.replicates, "replicate"))
        return f"Board({self.name}, epoch {epoch.number}: {', '.join(counted(*count) for count in counts)})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @classmethod
    def create(
        cls,
        place: str | os.PathLike[str],
        design: BoardDesign,
        *,
        models: Sequence[str],
        items: Sequence[str],
        blocks: Sequence[str] | None = None,
    ) -> Board:
        """Freeze a design. Doing it again with the same design changes nothing; with another one it is refused."""
        labels = tuple(items if blocks is None else blocks)
        state = BoardState(design, models, items, labels)
        store = Store(place, create=True)
        store.check_storable(models)
        with store.write() as session:
            events = list(checked(session.events()))
            registration = design.registration(models, items, labels)
            content = {
                "design": design.content,
                "registration": registration,
                "models": list(models),
                "items": list(items),
                "blocks": list(labels),
                "stages": stage_records(state.epoch.stages),
            }
            if events:
                before = registration_of(events[0])
                if before != registration:
                    raise BoardError(
                        f"{store.name}: a board with another design (registration {before[:16]}) is here already; a "
                        "design cannot be changed after it was frozen. Make a new board elsewhere"
                    )
            else:
                content["cache"] = save(session, state.epoch.stages)
                session.append(Event.after(None, "init", _now(), content))
        return cls(store)

    @classmethod
    def open(cls, place: str | os.PathLike[str]) -> Board:
        """Open a board that exists."""
        return cls(Store(place))

    @property
    def name(self) -> str:
        """Where the board is, fit to be shown."""
        return self._store.name

    @property
    def design(self) -> BoardDesign:
        """The frozen design."""
        return self._state.design

    @property
    def registration(self) -> str:
        """The hash of everything that was frozen when the board was made: design, models, items and blocks."""
        return registration_of(self._events[0])

    @property
    def state(self) -> BoardState:
        """Everything that the board holds now; read it, do not change it."""
        return self._state

    @property
    def events(self) -> tuple[Event, ...]:
        """The ledger."""
        return tuple(self._events)

    @property
    def head(self) -> str:
        """The hash of the last event, which covers the whole history."""
        return self._events[-1].hash

    def leaderboard(self, epoch: int | None = None) -> Leaderboard:
        """Everything that may be concluded about a benchmark version (from 1); by default the current one."""
        if epoch is not None and not 1 <= epoch <= len(self._state.epochs):
            raise BoardError(f"there is no epoch {epoch}; the board has epochs 1 to {len(self._state.epochs)}")
        chosen = self._state.epoch if epoch is None else self._state.epochs[epoch - 1]
        head = self.head

        def certificate() -> Any:  # noqa: ANN401 - bbedge.Certificate
            if self.head != head:
                raise BoardError(f"{self.name} has changed since this leaderboard was made; call leaderboard() again")
            return self.certificate(chosen.number)

        return replace(self._state.leaderboard(chosen), of_board=certificate)

    def looks(self, epoch: int | None = None) -> Iterator[Look]:
        """Every look at a benchmark version again, computed from the stored scores; by default the current version.

        Only for a version that no model was added to: directions of a later stage have another threshold.
        """
        number = epoch or self._state.epoch.number
        if len(self._state.epochs[number - 1].stages) != 1:
            return
        with self._store.read() as session:
            state = begin(self._events[0])
            for event in self._events[1:]:
                apply(state, session, event)
                if event.kind == "replicate" and event.content["epoch"] == number:
                    certifier = state.epoch.stages[0].certifier
                    yield Look(
                        replicate=state.epoch.replicates,
                        log_e=certifier.evidence.log_e(),
                        edges=certifier.current.edges,
                    )

    def add(self, scores: Scores, *, copies: Copies | None = None) -> Added:
        """Append complete replicates, in order, and look after each. All of them are kept, or none.

        A replicate that is on the board already, by its number or by the identities of its runs, changes nothing. One
        that repeats stored scores raises :class:`~bbedge.errors.CopiedReplicateError`, unless the design or ``copies``
        says that it counts; the ledger then states it.
        """
        with self._change() as (session, state, events):
            epoch = state.epoch
            stored = stored_replicates(events, epoch.number)
            already: list[int] = []
            fresh: list[Arrival] = []
            for label, runs, values in zip(
                scores.replicates, scores.runs or [()] * len(scores.replicates), scores.values, strict=True
            ):
                each = Arrival.of(arranged(scores, values, state), runs)
                state.check_known(each.panel)
                number = stated_number(label) if scores.numbered else None
                place = known_place(stored, each.stored, number=number)
                if place is None:
                    state.check_panel(each.panel)
                    stored.append(each.stored)
                    fresh.append(each)
                else:
                    already.append(place)
            rule, named = copies or state.design.copies, scores.numbered or any(scores.runs)
            found = counted_copies(session, state, stored, fresh, rule, named=named)
            added = _Additions()
            for each in fresh:
                place = epoch.pilots + epoch.replicates
                content = origin_record(scores, found.get(place, [])) | {
                    "epoch": epoch.number,
                    "vectors": each.sums,
                    "runs": sorted(each.stored.runs),
                }
                self._append_replicate(session, events, state, each, content, added)
        return Added(
            replicates=tuple(added.replicates),
            pilots=tuple(added.pilots),
            already=tuple(place - state.epoch.pilots for place in already if place > state.epoch.pilots),
            already_pilots=tuple(place for place in already if place <= state.epoch.pilots),
            edges=tuple(added.edges),
            candidate=added.candidate,
        )

    def _append_replicate(
        self,
        session: Session,
        events: list[Event],
        state: BoardState,
        fresh: Arrival,
        content: dict[str, Any],
        added: _Additions,
    ) -> None:
        """Take in one replicate: as a pilot while the pilot lasts, as evidence afterwards."""
        epoch = state.epoch
        kind: EventKind
        if state.in_pilot:
            kind, place = "pilot", -(epoch.pilots + 1)
            earlier = [stored_panel(session, state, place) for place in range(-1, place, -1)]
            added.candidate = state.add_pilot(fresh.panel, earlier)
            added.pilots.append(-place)
            content |= {"pilot": -place, "candidate": added.candidate, "stages": stage_records(epoch.stages)}
        else:
            kind, place = "replicate", epoch.replicates + 1
            edges = state.add_replicate(fresh.panel)
            added.edges += edges
            added.replicates.append(place)
            content |= {"replicate": place} | look_record(epoch.stages, edges, epoch.looks[-1])
        content["cache"] = save(session, epoch.stages)
        vectors = [
            Vector(epoch=epoch.number, replicate=place, model=model, data=data) for model, data in fresh.packed.items()
        ]
        self._append(session, events, kind, content, vectors)

    def add_model(self, name: str, scores: Scores | None = None, *, copies: Copies | None = None) -> Added:
        """Join a new model's runs with the stored replicates under the pairing rule and test its directions.

        Before an epoch's first replicate there is nothing to join, and no scores are needed. Runs that repeat each
        other score by score are treated as in :meth:`add`.
        """
        self._store.check_storable([name])
        with self._change() as (session, state, events):
            runs: list[NDArray[np.float64]] = []
            if scores is not None:
                scores.check_copies(copies or state.design.copies)
                if scores.models != (name,):
                    found = listed(scores.models)
                    raise BoardError(f"the files hold the scores of {found}; expected {quoted(name)} alone")
                runs = [arranged(scores, values, state)[name] for values in scores.values]
            epoch = state.epoch
            stored = (stored_panel(session, state, r) for r in range(1, epoch.replicates + 1))
            edges = state.add_model(name, runs, stored)
            stage = epoch.stages[-1]
            packed = [pack(run) for run in runs]
            content = origin_record(scores, () if scores is None else scores.copies) | {
                "epoch": epoch.number,
                "model": name,
                "vectors": [checksum(data) for data in packed],
                "runs": [list(names) for names in scores.runs] if scores is not None else [],
                "stages": stage_records([stage]),
                "cache": save(session, [stage]),
            }
            if epoch.replicates:
                content |= look_record(epoch.stages, edges, epoch.looks[-1])
            vectors = [
                Vector(epoch=epoch.number, replicate=r, model=name, data=data) for r, data in enumerate(packed, start=1)
            ]
            self._append(session, events, "add-model", content, vectors)
        return Added(edges=tuple(edges))

    def add_items(self, items: Sequence[str], blocks: Sequence[str] | None = None) -> None:
        """Open an epoch: the benchmark grows, evidence restarts at one, earlier claims stay with their version."""
        labels = list(items if blocks is None else blocks)
        with self._change() as (session, state, events):
            state.add_items(items, labels)
            stages = state.epoch.stages
            content = {
                "epoch": state.epoch.number,
                "items": list(items),
                "blocks": labels,
                "models": list(state.epoch.models),
                "stages": stage_records(stages),
                "cache": save(session, stages),
            }
            self._append(session, events, "add-items", content, [])

    def retire(self, model: str) -> None:
        """Stop a model: later replicates leave it out, its directions keep their evidence."""
        with self._change() as (session, state, events):
            state.retire(model)
            content = {"model": model, "epoch": state.epoch.number, "cache": save(session, state.epoch.stages)}
            self._append(session, events, "retire", content, [])

    def note(self, about: str, text: str, **particulars: Any) -> None:  # noqa: ANN401 - any JSON value
        """Write down something that readers of the board should know; it changes nothing else."""
        with self._change() as (session, state, events):
            content = {"epoch": state.epoch.number, "about": about, "text": text, "particulars": particulars}
            self._append(session, events, "note", content, [])

    @property
    def noted(self) -> tuple[dict[str, Any], ...]:
        """The notes with their particulars, in order."""
        notes = (event.content for event in self._events if event.kind == "note")
        return tuple({**note.get("particulars", {}), **note} for note in notes)

    @property
    def noticed(self) -> tuple[tuple[int, Note], ...]:
        """What readers noticed in the scores that were added, each once, with the epoch that it is about."""
        found = (
            (event.content["epoch"], Note(kind=note["kind"], subject=tuple(note["subject"]), text=note["text"]))
            for event in self._events
            for note in event.content.get("notes", ())
        )
        return tuple(dict.fromkeys(found))

    def certificate(self, epoch: int | None = None) -> Any:  # noqa: ANN401 - bbedge.Certificate
        """The :class:`bbedge.Certificate` of a benchmark version (from 1), as ``bbedge board show --json`` writes it.

        By default it is that of the last version that has runs.
        """
        # By name: boards know nothing of documents.
        return import_module("bbedge.board_certificate").board_certificate(self, epoch)

    def verify(self, head: str | None = None) -> Verified:
        """Compute every look again from the stored scores and compare it with everything that the board ever said.

        The first thing that does not agree raises :class:`~bbedge.errors.BoardError`. ``head`` is a hash that was
        published earlier, or at least its first 16 digits: some event must have it.
        """
        return verify(self._store, head=head)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the whole board to one file, the archive that ``bbedge board import`` reads: all of it or nothing."""
        if self._store.is_at(path):
            raise BoardError(f"{self.name} is the board itself; export it to another file")
        write_whole(Path(path), export_lines(self._store))

    @property
    def store(self) -> Store:
        """Where the board is kept."""
        return self._store

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    def _append(
        self, session: Session, events: list[Event], kind: EventKind, content: dict[str, Any], vectors: list[Vector]
    ) -> None:
        event = Event.after(events[-1], kind, _now(), content)
        session.append(event)
        session.put_vectors(event.seq, vectors)
        events.append(event)

    def _change(self) -> _Change:
        return _Change(self)


class _Change:
    """One transaction: the board as it is now, to be changed; kept whole or not at all."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def __enter__(self) -> tuple[Session, BoardState, list[Event]]:
        self._transaction = self._board._store.write()
        session = self._transaction.__enter__()
        try:
            # Read again: another writer may have been here since the board was opened.
            self._events, self._state = load(session)
        except BaseException as error:
            self._transaction.__exit__(type(error), error, error.__traceback__)
            raise
        return session, self._state, self._events

    def __exit__(self, *error: Any) -> None:  # noqa: ANN401 - the context manager protocol
        self._transaction.__exit__(*error)
        if error[0] is None:
            self._board._events, self._board._state = self._events, self._state


@dataclass(slots=True, kw_only=True)
class _Additions:
    """What a change has added so far."""

    replicates: list[int] = field(default_factory=list)
    pilots: list[int] = field(default_factory=list)
    edges: list[NewEdge] = field(default_factory=list)
    candidate: tuple[str, ...] | None = None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
