"""The state of a board as a fold over its events: no database, no clock, only statistics and the budget.

A board has **epochs** (benchmark versions) and, in each, **stages**: the first tests all directions among the models
that open the epoch, every later one the directions that touch one added model. Each stage is a *claim* with its own
level; the levels sum to at most ``alpha`` over all epochs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bbedge.board.design import BoardDesign, Columns
from bbedge.board.epoch import Epoch, Panel, Stage, all_views, combined
from bbedge.core.checkpoints import Checkpoint
from bbedge.core.conclusions import GapCount
from bbedge.core.design import Design
from bbedge.core.leaderboard import Certifier, Leaderboard
from bbedge.errors import Argument, BoardError, refuse_unless
from bbedge.records.events import (
    AnnouncementClosed,
    AttemptBegun,
    AttemptEnded,
    BoardEvent,
    Created,
    ItemsAdded,
    ModelAdded,
    ModelAnnounced,
    ModelRetired,
    ModelWithdrawn,
    PilotAdded,
    ReplicateAdded,
)
from bbedge.text import quoted


@dataclass(slots=True, kw_only=True)
class Announcement:
    """Runs of a model that were announced before they were made, and the claim that is reserved for it."""

    epoch: int
    """The benchmark version that they are runs of."""
    runs: int
    """How many were announced."""
    claim: int
    """Its place in the spending sequence."""
    level: float
    """Its share of alpha, spent whether the runs come or not."""
    is_closed: bool = False
    """Whether no more runs are waited for."""
    delivered: int | None = None
    """How many came when the model was added; ``None`` before."""
    lacks_scores: bool = False
    """Whether any score of its runs is missing."""

    @property
    def is_open(self) -> bool:
        """Whether its runs are waited for."""
        return not self.is_closed and self.delivered is None


class BoardState:
    """What a board holds: its structure, which follows from the events alone, and the evidence of its stages.

    :mod:`bbedge.board.admit` says which events may follow; after an error, discard the state.
    """

    def __init__(self, design: BoardDesign, created: Created) -> None:
        self.design = design
        self.retired: list[str] = []
        self.withdrawn: list[str] = []
        self.announced: dict[str, Announcement] = {}
        self.candidate: tuple[str, ...] | None = None
        self.epochs: list[Epoch] = []
        models = list(created.models)
        if design.family == "pilot-top-k" and not design.k < len(models):  # type: ignore[operator]
            raise BoardError(f"k = {design.k} leaves nothing to compare with {len(models)} models; choose a smaller k")
        self._open_epoch(
            Epoch(
                number=1,
                models=models,
                items=created.items,
                blocks=created.blocks,
                columns=self.checked_columns(created.items, created.columns),
                order_seed=created.order_seed,
            )
        )

    @property
    def epoch(self) -> Epoch:
        """The current benchmark version."""
        return self.epochs[-1]

    @property
    def active(self) -> list[str]:
        """The models that the next replicate must contain."""
        return [model for model in self.epoch.models if model not in self.retired]

    @property
    def in_pilot(self) -> bool:
        """Whether the next replicate belongs to the pilot."""
        return self.design.family == "pilot-top-k" and self.candidate is None

    @property
    def stages(self) -> list[Stage]:
        """All claims so far."""
        return [stage for epoch in self.epochs for stage in epoch.stages]

    @property
    def spent(self) -> float:
        """The part of alpha that the claims so far use, those reserved for announced models included."""
        return math.fsum([*(stage.level for stage in self.stages), *(each.level for each in self.reserved)])

    @property
    def reserved(self) -> list[Announcement]:
        """The announcements whose models have not been added."""
        return [each for each in self.announced.values() if each.delivered is None]

    @property
    def claims(self) -> int:
        """How many claims there are, those reserved for announced models included."""
        return len(self.stages) + len(self.reserved)

    def next_level(self) -> float:
        """The level that the next claim would get; 0 if nothing is left."""
        return self.design.level(self.claims)

    def _pay(self, what: str) -> float:
        level = self.next_level()
        if level <= 0.0 or self.spent + level > self.design.alpha:
            raise BoardError(
                f"the error budget is spent: {self.claims} claims have used {self.spent:.6g} of "
                f"{self.design.alpha:g}, and nothing is left for {what}; start a new board"
            )
        return level

    def checked_columns(self, items: Sequence[str], columns: Columns) -> dict[str, tuple[str, ...]]:
        """The columns of these items, if they are exactly those that the design uses, with a text for each item."""
        needed = self.design.columns
        for name in needed:
            refuse_unless(
                name in columns,
                f"the items have no column {quoted(name)}, which the design uses; add it to the items",
            )
            refuse_unless(
                len(columns[name]) == len(items),
                f"the column {quoted(name)} has {len(columns[name])} entries for {len(items)} items; give one each",
            )
            empty = next((item for item, text in zip(items, columns[name], strict=True) if not text), None)
            if empty is not None:
                raise BoardError(f"item {quoted(empty)} has nothing in the column {quoted(name)}; fill it in")
        extra = sorted(set(columns) - set(needed))
        if extra:
            raise BoardError(f"the items have a column {quoted(extra[0])}, which the design does not use")
        return {name: tuple(columns[name]) for name in needed}

    def _open_epoch(self, epoch: Epoch) -> None:
        order_seed = epoch.order_seed
        if (order_seed is None) == bool(self.design.checkpoints):
            needed = "no checkpoints, and has no order" if order_seed is not None else "checkpoints, and needs an order"
            raise BoardError(
                Argument("order_seed", order_seed), f": the design of the board has {needed} of its blocks"
            )
        stage = None if self.in_pilot else self._stage(epoch, newcomer=None)
        # The family is not known before a pilot, but names, items and level must be right now.
        design = self._core_design(epoch, level=self._pay("this benchmark")) if stage is None else stage.design
        epoch.looks_at = {name: [] for name in all_views(design)}
        self.epochs.append(epoch)
        if stage is not None:
            epoch.stages.append(stage)

    def _core_design(
        self,
        epoch: Epoch,
        *,
        level: float,
        candidate: Sequence[str] | None = None,
        newcomer: str | None = None,
    ) -> Design:
        return self.design.core_design(
            epoch.models,
            epoch.items,
            epoch.blocks,
            level=level,
            columns=epoch.columns,
            candidate=candidate,
            newcomer=newcomer,
            # Who made a model that is added may know the order of the blocks, so that only complete runs count.
            order_seed=epoch.order_seed if newcomer is None else None,
        )

    def _stage(self, epoch: Epoch, *, newcomer: str | None) -> Stage:
        announced = None if newcomer is None else self.announced.get(newcomer)
        if announced is None:
            number, level = self.claims, self._pay("this benchmark" if newcomer is None else "this model")
        else:
            number, level = announced.claim, announced.level
        names = list(epoch.models)
        candidate = None
        if self.candidate is not None:
            candidate = [model for model in self.candidate if model in names]
            if not candidate:
                raise BoardError("every model of the Top-k candidate has been retired; nothing is left to certify")
        design = self._core_design(epoch, level=level, candidate=candidate, newcomer=newcomer)
        return Stage(
            claim=number,
            level=level,
            newcomer=newcomer,
            design=design,
            certifier=Certifier(design),
            has_checkpoints=newcomer is None or not self.design.checkpoints,
        )

    def follow(self, event: BoardEvent) -> None:
        """Change the structure as an event says that was admitted, and leave the evidence as it is."""
        epoch = self.epoch
        match event:
            case PilotAdded(candidate=candidate):
                epoch.follow_replicate(event)
                if candidate is not None:
                    self.candidate = candidate
                    epoch.stages.append(self._stage(epoch, newcomer=None))
            case ReplicateAdded():
                epoch.follow_replicate(event)
            case ModelAdded(model=name):
                epoch.models.append(name)
                epoch.stages.append(self._stage(epoch, newcomer=name))
                epoch.follow_model(event)
                if name in self.announced:
                    joined = self.announced[name]
                    joined.delivered = sum(digest != epoch.nothing for digest in event.vectors)
                    joined.lacks_scores = any(event.gaps)
            case ItemsAdded():
                new = self.checked_columns(event.items, event.columns)
                self._open_epoch(
                    Epoch(
                        number=epoch.number + 1,
                        models=self.active,
                        items=epoch.items + event.items,
                        blocks=epoch.blocks + event.blocks,
                        columns={name: epoch.columns[name] + texts for name, texts in new.items()},
                        order_seed=event.order_seed,
                    )
                )
            case ModelRetired(model=name):
                self.retired.append(name)
            case ModelWithdrawn(model=name):
                self.withdrawn.append(name)
            case ModelAnnounced(model=name, runs=runs):
                claim, level = self.claims, self._pay("this model")
                self.announced[name] = Announcement(epoch=epoch.number, runs=runs, claim=claim, level=level)
            case AnnouncementClosed(model=name):
                self.announced[name].is_closed = True
            case AttemptBegun():
                epoch.attempts.setdefault(event.replicate, []).append(None)
            case AttemptEnded():
                epoch.attempts[event.replicate][event.attempt - 1] = event.outcome

    def follow_look(self, event: BoardEvent) -> None:
        """Remember the counts of the look that an event states, if it states one."""
        epoch = self.epoch
        match event:
            case ReplicateAdded(upto=upto) if upto:
                epoch.follow_look(event.outcome, [(epoch.stages[0], 0)], upto, models=len(event.vectors))
            case ReplicateAdded():
                run = [(stage, len(stage.places)) for stage in epoch.stages if epoch.replicates in stage.places]
                epoch.follow_look(event.outcome, run)
            case ModelAdded(outcome=outcome, vectors=runs) if outcome is not None:
                epoch.follow_look(outcome, [(epoch.stages[-1], run) for run in range(1, len(runs) + 1)])

    def upcoming(self, upto: int | None = None) -> Checkpoint:
        """The checkpoint that comes next, or an error that says why there is none, or none after so many blocks."""
        upcoming = self.epoch.next_checkpoint
        if upcoming is not None:
            if upto in (None, upcoming.blocks):
                return upcoming
            raise BoardError(
                f"a look after {upto:,} blocks is not planned; the next checkpoint is after {upcoming.blocks:,}"
            )
        reasons = {
            "the design of this board has no checkpoints; add complete replicates": not self.design.checkpoints,
            "the pilot is not finished; its replicates are complete ones": self.in_pilot,
            "the first run is complete, and later ones have no checkpoints; add complete replicates": (
                self.epoch.replicates > 0
            ),
            "every checkpoint of the first run has passed; add the complete replicate": True,
        }
        raise BoardError(next(why for why, holds in reasons.items() if holds))

    def chosen(self, pilots: Iterable[Panel]) -> tuple[str, ...]:
        """The Top-k candidate that these pilot replicates choose."""
        totals = np.zeros(len(self.active))
        weights = self._core_design(self.epoch, level=self.next_level()).weights
        for each in pilots:
            # The choice is no claim, and may use anything that the pilot showed: what is missing adds nothing.
            there = [np.nan_to_num(each[model], nan=0.0) for model in self.active]
            totals += [row.mean() if weights is None else np.average(row, weights=weights) for row in there]
        order = np.argsort(-totals, kind="stable")[: self.design.k]
        return tuple(sorted(self.active[i] for i in order))

    def runs_needed(self, model: str | None = None) -> int:
        """How many runs of a new model the pairing rule joins now; of an announced one, when it was announced."""
        if model in self.announced:
            return self.announced[model].runs
        if self.design.pairing == "all":
            return self.epoch.replicates
        return min(self.design.first or 0, self.epoch.replicates)

    def leaderboard(self, epoch: Epoch | None = None) -> Leaderboard:
        """Everything that may be concluded about a benchmark version; by default, the current one."""
        epoch = epoch or self.epoch
        candidate = next((stage.design.family.candidate or None for stage in epoch.stages), None)
        design = self._core_design(epoch, level=self.design.alpha, candidate=candidate)
        gaps = GapCount(of_models=tuple(epoch.missing[model] for model in epoch.models))
        whole = combined(design, epoch.stages, replicates=epoch.replicates, looks=epoch.looks_at)
        # A mean over some of the items is not that of the benchmark.
        partial = [model in epoch.partial for model in epoch.models]
        views = (replace(view, means=np.where(partial, np.nan, view.means)) for view in whole.views)
        means = np.where(partial, np.nan, whole.means)
        return replace(whole, means=means, views=tuple(views), gaps=gaps if gaps.cells else None)
