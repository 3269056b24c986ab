"""What a board has of each run: its scores, what is missing, and what to run next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from bbedge.board.epoch import Epoch
from bbedge.board.stage import Panel, Stage, all_views
from bbedge.board.state import BoardState
from bbedge.core.certifier import Certifier
from bbedge.core.checkpoints import Checkpoint
from bbedge.core.copies import ScoreFingerprint
from bbedge.core.graph import Graph
from bbedge.core.panels import scored_items
from bbedge.core.scores import Scores
from bbedge.core.views import HEADLINE
from bbedge.errors import BoardError
from bbedge.ledger.chain import checksum, pack_scores, unpack_scores
from bbedge.ledger.store import Session
from bbedge.records.events import checkpoint_place, upto_at
from bbedge.records.values import Target
from bbedge.text import counted, listed, quoted

if TYPE_CHECKING:
    from bbedge.board.board import Board


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredVector:
    """The scores of a model in a replicate, or of what came of the first one with a checkpoint."""

    scores: NDArray[np.float64]
    """A score for each item; NaN where one is missing."""
    data: bytes
    """The same, packed."""
    print: ScoreFingerprint
    """What stands for them; its digest is their checksum in the ledger."""

    @classmethod
    def of(cls, scores: NDArray[np.float64], data: bytes | None = None) -> StoredVector:
        """The vector of these scores; ``data`` is what they pack to, if that is known."""
        data = pack_scores(scores) if data is None else data
        return cls(scores=scores, data=data, print=ScoreFingerprint.of(scores, checksum(data)))


class StoredScores:
    """The scores of a board, and those that come with an event that is not on it yet."""

    def __init__(self, session: Session | None = None) -> None:
        self._session = session
        self._offered: dict[tuple[int, int], dict[str, StoredVector]] = {}
        self._last: tuple[tuple[int, int], Panel] | None = None  # models of a replicate are asked for in turn
        self._samples: dict[int, _Samples] = {}

    def offer(self, epoch: int, place: int, vectors: Mapping[str, StoredVector]) -> None:
        """Have these scores as if they were stored, in the epoch of this number."""
        self._offered.setdefault((epoch, place), {}).update(vectors)
        self._last = None

    def vectors(self, epoch: Epoch, place: int, models: Iterable[str]) -> dict[str, StoredVector]:
        """The scores of these models at a place, each computed from what is stored; refused if any is missing."""
        offered, count = self._offered.get((epoch.number, place), {}), epoch.count_at(place)
        stored = {} if offered else self._packed(epoch, place)
        found: dict[str, StoredVector] = {}
        for model in models:
            if model not in offered and model not in stored:
                raise BoardError(f"the scores of {called(epoch.number, place, model)} are missing")
            found[model] = offered.get(model) or StoredVector.of(unpack_scores(stored[model], count), stored[model])
        return found

    def _packed(self, epoch: Epoch, place: int) -> dict[str, bytes]:
        return {} if self._session is None else self._session.vectors(epoch.number, place)

    def panel(self, epoch: Epoch, place: int) -> Panel:
        """All scores at a place, those of models that joined later included; pilots are -1, -2, ..."""
        key = epoch.number, place
        if self._last is None or self._last[0] != key:
            count = epoch.count_at(place)
            stored = {model: unpack_scores(data, count) for model, data in self._packed(epoch, place).items()}
            offered = {model: each.scores for model, each in self._offered.get(key, {}).items()}
            self._last = key, {**stored, **offered}
        return self._last[1]

    def panels_inside(self, epoch: Epoch) -> dict[int, Panel]:
        """What came of the first run with each checkpoint, by the blocks before it; in the order of the run."""
        uptos = [look.upto for look in epoch.looks_at[HEADLINE] if look.upto is not None]
        return {upto: self.panel(epoch, checkpoint_place(upto)) for upto in uptos}

    def seen(self, epoch: Epoch) -> Panel:
        """What is on the board of a first run that is not complete, by model and in the order of the run.

        A stopped model has less than others.
        """
        panels = self.panels_inside(epoch).values() if epoch.is_inside_first_run else ()
        models = dict.fromkeys(model for panel in panels for model in panel)
        return {model: np.concatenate([panel[model] for panel in panels if model in panel]) for model in models}

    def agreeing(self, epoch: Epoch, position: int, panel: Panel, others: Sequence[int]) -> Iterable[int]:
        """Those of the other replicates of an epoch that may agree with one wherever both have scores.

        Some scores of every replicate are kept, so that each is read once however often it is compared.
        """
        samples = self._samples.setdefault(epoch.number, _Samples(len(epoch.items)))
        for each in (*others, position):
            if each not in samples.known:
                samples.add(each, panel if each == position else self.panel(epoch, epoch.place_at(each)))
        return samples.agreeing(panel, others)


class _Samples:
    """The scores of all models on a few items, replicate by replicate."""

    def __init__(self, count: int) -> None:
        self._items = np.unique(np.linspace(0, count - 1, min(count, 64)).astype(np.intp))
        self._of_models: dict[str, NDArray[np.float64]] = {}
        self.known: set[int] = set()

    def add(self, position: int, panel: Panel) -> None:
        """Keep those of a replicate."""
        self.known.add(position)
        for model, row in panel.items():
            kept = self._of_models.get(model, np.full((64, len(self._items)), np.nan))
            while len(kept) <= position:
                kept = np.concatenate([kept, np.full_like(kept, np.nan)])
            kept[position] = row[self._items]
            self._of_models[model] = kept

    def agreeing(self, panel: Panel, others: Sequence[int]) -> list[int]:
        """The replicates that agree with a panel on these items, as far as both have scores."""
        positions = np.array(others, dtype=np.intp)
        for model, row in panel.items():
            kept = self._of_models[model]
            there = positions[positions < len(kept)]
            theirs, ours = kept[there], row[self._items]
            differ = ((theirs != ours) & ~np.isnan(theirs) & ~np.isnan(ours)).any(axis=1)
            positions = np.setdiff1d(positions, there[differ], assume_unique=True)
        return [int(position) for position in positions]


def called(epoch: int, place: int, model: str) -> str:
    """A stored vector in a message."""
    upto = upto_at(place)
    which = f"replicate {place}" if place > 0 else f"pilot replicate {-place}"
    if upto is not None:
        which = f"the first run up to {counted(upto, 'block')}"
    return f"model {quoted(model)} in {which} of epoch {epoch}"


def stored_scores(board: Board, models: Sequence[str]) -> Scores:
    """Every replicate in the evidence of the board's current version, of these models; a stopped one is refused.

    Pilots are left out: they are not evidence.
    """
    epoch = board.state.epoch
    stopped = [model for model in models if model not in board.state.active]
    if stopped:
        raise BoardError(
            f"{board.name}: {listed(stopped)} {'is' if len(stopped) == 1 else 'are'} no longer run there, and every "
            "run of these models is needed; make a new board, and keep its models running"
        )
    values = np.empty((epoch.replicates, len(models), len(epoch.items)))
    with board.store.read() as session:
        scores = StoredScores(session)
        for place, into in enumerate(values, start=1):
            panel = scores.panel(epoch, place)
            lacking = [model for model in models if model not in panel]
            if lacking:
                raise BoardError(f"{board.name}: replicate {place} of {len(values)} lacks {listed(lacking)}")
            into[:] = [panel[model] for model in models]
    values.flags.writeable = False
    found = scores_of(board.state, values, models, epoch.items, range(1, len(values) + 1))
    return replace(found, columns=dict(epoch.columns))


def scores_of(
    state: BoardState,
    values: NDArray[np.float64],
    models: Sequence[str],
    items: Sequence[str],
    replicates: Iterable[int],
) -> Scores:
    """Values with the names of their models, items and replicates, as the board's design counts them."""
    block = dict(zip(state.epoch.items, state.epoch.blocks, strict=True))
    return Scores(
        models=tuple(models),
        items=tuple(items),
        blocks=tuple(block[item] for item in items),
        replicates=tuple(map(str, replicates)),
        values=values,
        score_range=state.design.score_range,
        gaps=state.design.gaps,
    )


def resolved_if_means(session: Session, epoch: Epoch) -> int | None:
    """Pairs that would be certified if missing scores had been their models' means: a hint, never a claim.

    Only for a version that no model was added to, and of new items only for the first one.
    """
    if epoch.is_joined or not epoch.replicates:
        return None
    scores = StoredScores(session)
    panels = [scores.panel(epoch, replicate) for replicate in range(1, epoch.replicates + 1)]
    inside = scores.panels_inside(epoch)
    means: dict[str, float] = {}
    for model in epoch.models:
        of_model = [panel[model] for panel in panels if model in panel]
        of_model = of_model or [panel[model] for panel in inside.values() if model in panel]
        known = [scores[~np.isnan(scores)] for scores in of_model]
        means[model] = float(np.concatenate(known).mean()) if sum(map(len, known)) else 0.0
    real = epoch.stages[0]
    design = real.design
    stage = Stage(
        claim=0,
        level=real.level,
        newcomer=None,
        design=design,
        views=all_views(design),
        certifier=Certifier(design),
    )
    for upto, panel in inside.items():
        stage.add_and_look(_filled(panel, means), 1, upto)
    for replicate, panel in enumerate(panels, start=1):
        stage.add_and_look(_filled(panel, means), replicate)
    return Graph(stage.edges()).n_resolved


def items_with_scores(session: Session, epoch: Epoch) -> NDArray[np.bool_]:
    """Which items each model of a version has a score on in any complete replicate: models x items."""
    scores, nothing = StoredScores(session), np.full((len(epoch.models), len(epoch.items)), np.nan)
    panels = (scores.panel(epoch, replicate) for replicate in range(1, epoch.replicates + 1))
    rows = (np.array([panel.get(model, nothing[0]) for model in epoch.models]) for panel in panels)
    return scored_items(chain([nothing], rows))


def _filled(panel: Panel, means: Mapping[str, float]) -> Panel:
    return {model: np.nan_to_num(scores, nan=means[model]) for model, scores in panel.items()}


NextKind = Literal["part", "rest", "replicate", "pilot"]
"""The first run up to its next checkpoint; all that is left of it after the last one; a complete replicate; or one of
the pilot, which is complete too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRun:
    """What the models have to run before the board can look again."""

    kind: NextKind
    """What it is."""
    epoch: int
    """The version of the benchmark."""
    replicate: int
    """The number of the replicate that it belongs to, from 1; a pilot is numbered by itself."""
    models: tuple[str, ...]
    """The active models, all of which run."""
    items: tuple[str, ...]
    """The items to run, in their order: of a first run with checkpoints that of the seed."""
    blocks: tuple[str, ...]
    """The block of each item."""
    columns: Mapping[str, tuple[str, ...]]
    """What else the design uses of each item, by the name of the column."""
    checkpoint: Checkpoint | None
    """The checkpoint that the first run comes to with these items; ``None`` if there is none ahead."""
    checkpoints: int
    """How many checkpoints the first run has; 0 if the design has none, and during a pilot."""
    looks: Mapping[Target, int]
    """For each target of the design, after how many complete runs the next look is, if there is one."""

    @classmethod
    def of(cls, state: BoardState) -> NextRun:
        """What is next on a board."""
        epoch = state.epoch
        plan, inside = epoch.plan, epoch.next_places.tolist()
        places = inside or list(range(len(epoch.items)))
        upcoming = epoch.next_checkpoint
        kind: NextKind = "replicate"
        if state.in_pilot:
            kind = "pilot"
        elif upcoming is not None:
            kind = "part"
        elif inside:
            kind = "rest"
        return cls(
            kind=kind,
            epoch=epoch.number,
            replicate=(epoch.pilots if state.in_pilot else epoch.replicates) + 1,
            models=tuple(state.active),
            items=tuple(epoch.items[place] for place in places),
            blocks=tuple(epoch.blocks[place] for place in places),
            columns={name: tuple(texts[place] for place in places) for name, texts in epoch.columns.items()},
            checkpoint=upcoming,
            checkpoints=0 if plan is None else len(plan.checkpoints),
            looks=state.next_looks(epoch.replicates),
        )

    @property
    def content(self) -> dict[str, object]:
        """The same as plain values, for programs."""
        at = self.checkpoint
        return {
            "kind": self.kind,
            "epoch": self.epoch,
            "replicate": self.replicate,
            "checkpoint": None
            if at is None
            else {"number": at.number, "blocks": at.blocks, "of_blocks": at.of_blocks, "fraction": at.fraction},
            "checkpoints": self.checkpoints,
            "looks": dict(self.looks),
            "models": list(self.models),
            "items": list(self.items),
        }
