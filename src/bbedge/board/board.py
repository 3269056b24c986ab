"""A leaderboard that lives: panels, models and items come, the design stays, every claim is paid from one budget."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bbedge.board.copies import repeated
from bbedge.board.design import BoardDesign
from bbedge.board.ledger import Event, EventKind
from bbedge.board.packing import checksum, pack
from bbedge.board.replay import apply, begin, load, save, stored_panel
from bbedge.board.state import BoardState, NewEdge, Panel, Stage
from bbedge.board.store import Session, Store, Vector
from bbedge.core.leaderboard import Leaderboard, Look, LookCount
from bbedge.core.scores import Scores
from bbedge.errors import BoardError
from bbedge.naming import listed, quoted


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

    **Guarantee:** with probability at least ``1 - alpha`` no certificate that the board ever issues is false, over all
    epochs, stages, directions and looks.

    **Needs:** the assumptions of ``docs/guarantees.md`` for every epoch, and models and items that are added for
    reasons other than the stored scores.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.read() as session:
            self._events, self._state = load(session)

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
        with store.write() as session:
            events = session.events()
            content = {
                "design": design.content,
                "design_hash": design.hash,
                "models": list(models),
                "items": list(items),
                "blocks": list(labels),
                "stages": _stage_records(state.epoch.stages),
            }
            if events:
                before = events[0].content
                if any(before.get(key) != content[key] for key in ("design_hash", "models", "items", "blocks")):
                    raise BoardError(
                        f"{store.name}: a board with another design (hash {str(before.get('design_hash'))[:16]}) is "
                        "here already; a design cannot be changed after it was frozen. Make a new board elsewhere"
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
        return self._state.leaderboard(None if epoch is None else self._state.epochs[epoch - 1])

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

    def add(self, scores: Scores, *, copies: Literal["refuse", "allow"] = "refuse") -> Added:
        """Append complete replicates, in order, and look after each. All of them are kept, or none.

        A numbered replicate with exactly the scores of an earlier one is refused as a copy, unless the caller vouches
        that it was run anew and allows ``copies``.
        """
        with self._change() as (session, state, events):
            new: list[NewEdge] = []
            added: list[int] = []
            pilots: list[int] = []
            already: list[int] = []
            candidate = None
            for label, values in zip(scores.replicates, scores.values, strict=True):
                epoch = state.epoch
                panel = _panel(scores, values, state)
                packed = {model: pack(vector) for model, vector in panel.items()}
                sums = {model: checksum(data) for model, data in packed.items()}
                known = _known(events, epoch.number)
                number = _number(label) if scores.numbered else None
                same = repeated(known, panel, sums, number=number, pilots=epoch.pilots, copies=copies)
                if same is not None:
                    already.append(same)
                    continue
                state.check_panel(panel)
                content: dict[str, Any] = {"epoch": epoch.number, "vectors": sums}
                kind: EventKind
                if state.in_pilot:
                    kind, place = "pilot", -(epoch.pilots + 1)
                    earlier = [stored_panel(session, state, place) for place in range(-1, place, -1)]
                    candidate = state.add_pilot(panel, earlier)
                    pilots.append(-place)
                    content |= {"pilot": -place, "candidate": candidate}
                    content["stages"] = _stage_records(epoch.stages)
                else:
                    kind, place = "replicate", epoch.replicates + 1
                    edges = state.add_replicate(panel)
                    new += edges
                    added.append(place)
                    content |= {"replicate": place} | _look_record(epoch.stages, edges, epoch.looks[-1])
                content["cache"] = save(session, epoch.stages)
                vectors = [
                    Vector(epoch=epoch.number, replicate=place, model=model, data=data)
                    for model, data in packed.items()
                ]
                self._append(session, events, kind, content, vectors)
        return Added(
            replicates=tuple(added),
            pilots=tuple(pilots),
            already=tuple(place - state.epoch.pilots for place in already if place > state.epoch.pilots),
            already_pilots=tuple(place for place in already if place <= state.epoch.pilots),
            edges=tuple(new),
            candidate=candidate,
        )

    def add_model(self, name: str, scores: Scores | None = None) -> Added:
        """Join a new model's runs with the stored replicates under the pairing rule and test its directions.

        Before an epoch's first replicate there is nothing to join, and no scores are needed.
        """
        with self._change() as (session, state, events):
            runs: list[NDArray[np.float64]] = []
            if scores is not None:
                if scores.models != (name,):
                    found = listed(scores.models)
                    raise BoardError(f"the files hold the scores of {found}; expected {quoted(name)} alone")
                runs = [_panel(scores, values, state)[name] for values in scores.values]
            epoch = state.epoch
            stored = (stored_panel(session, state, r) for r in range(1, epoch.replicates + 1))
            edges = state.add_model(name, runs, stored)
            stage = epoch.stages[-1]
            packed = [pack(run) for run in runs]
            content = {
                "epoch": epoch.number,
                "model": name,
                "vectors": [checksum(data) for data in packed],
                "stages": _stage_records([stage]),
                "cache": save(session, [stage]),
            }
            if epoch.replicates:
                content |= _look_record(epoch.stages, edges, epoch.looks[-1])
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
                "stages": _stage_records(stages),
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
            content = {"epoch": state.epoch.number, "about": about, "text": text, **particulars}
            self._append(session, events, "note", content, [])

    @property
    def noted(self) -> tuple[dict[str, Any], ...]:
        """The notes, in order."""
        return tuple(event.content for event in self._events if event.kind == "note")

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


def _known(events: Sequence[Event], epoch: int) -> list[dict[str, str]]:
    """The checksums of the epoch's replicates by model, pilots first; runs that joined later are among them."""
    pilots: list[dict[str, str]] = []
    replicates: list[dict[str, str]] = []
    for event in events:
        content = event.content
        if content.get("epoch") != epoch:
            continue
        if event.kind in ("pilot", "replicate"):
            (pilots if event.kind == "pilot" else replicates).append(dict(content["vectors"]))
        elif event.kind == "add-model":
            for vectors, total in zip(replicates, content["vectors"], strict=False):
                vectors[content["model"]] = total
    return pilots + replicates


def _number(label: str) -> int | None:
    return int(float(label)) if _WHOLE.fullmatch(label) else None


_WHOLE = re.compile(r"[+-]?[0-9]{1,15}(?:\.0+)?")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _stage_records(stages: Sequence[Stage]) -> list[dict[str, Any]]:
    return [
        {"claim": stage.claim, "level": stage.level, "newcomer": stage.newcomer, "design_hash": stage.design.hash}
        for stage in stages
    ]


def _look_record(stages: Sequence[Stage], edges: Sequence[NewEdge], look: LookCount) -> dict[str, Any]:
    return {
        "look": {"edges": look.edges, "resolved_pairs": look.resolved_pairs},
        "current": {str(stage.claim): edge_text(stage.certifier.current.edges) for stage in stages},
        "certified": [{name: getattr(edge, name) for name in NewEdge.__slots__} for edge in edges],
    }


def edge_text(edges: NDArray[np.bool_]) -> str:
    """An edge matrix as text: its bits, row by row."""
    return base64.b64encode(np.packbits(edges).tobytes()).decode("ascii")


def _panel(scores: Scores, values: NDArray[np.float64], state: BoardState) -> Panel:
    """The values by model, in the order of the epoch's items; other items than those are refused."""
    if scores.score_range != state.design.score_range:
        raise BoardError(
            f"the scores were read on the scale {scores.score_range}; the board's is {state.design.score_range}"
        )
    items = state.epoch.items
    place = {item: i for i, item in enumerate(scores.items)}
    if len(place) < len(scores.items) or len(set(scores.models)) < len(scores.models):
        raise BoardError("a model or an item comes twice in these scores; each must be there once")
    missing = [item for item in items if item not in place]
    if missing:
        raise BoardError(
            f"{len(missing)} of {len(items)} items of the benchmark are not in the files: {listed(missing)}; "
            "a replicate is complete or it is none"
        )
    extra = sorted(set(scores.items) - set(items))
    if extra:
        raise BoardError(
            f"the files have {len(extra)} items that are not part of the benchmark: {listed(extra)}; "
            "open a new epoch with add-items, or leave them out"
        )
    arranged = values[:, [place[item] for item in items]]
    return {model: arranged[i] for i, model in enumerate(scores.models)}
