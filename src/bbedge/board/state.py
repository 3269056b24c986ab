"""The state of a board as a fold over its events: no database, no clock, only statistics and the budget.

A board has **epochs** (benchmark versions) and, in each, **stages**: the first tests all directions among the models
that open the epoch, every later one the directions that touch one added model. Each stage is a *claim* with its own
level; the levels sum to at most ``alpha`` over all epochs. About new items a claim is continued in the next epoch, by a
stage that spends nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from msgspec import UNSET

from bbedge.board.announcement import Announcement
from bbedge.board.design import BoardDesign, Columns
from bbedge.board.epoch import Epoch, combined
from bbedge.board.kinds import check_same_kinds
from bbedge.board.stage import Panel, Stage, all_views
from bbedge.core.checkpoints import Checkpoint
from bbedge.core.conclusions import GapCount
from bbedge.core.design import Design
from bbedge.core.leaderboard import Certifier, Leaderboard
from bbedge.errors import Argument, BoardError
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
    NewItems,
    Opened,
    PilotAdded,
    ReplicateAdded,
    TrustStated,
)
from bbedge.records.values import Target


def _nothing(stage: Stage, epoch: Epoch) -> None:
    """Where only the structure is needed."""


class BoardState:
    """What a board holds: its structure, which follows from the events alone, and the evidence of its stages.

    :mod:`bbedge.board.admit` says which events may follow; after an error, discard the state.
    """

    def __init__(self, design: BoardDesign, created: Created) -> None:
        self.design = design
        self.retired: list[str] = []
        self.withdrawn: list[str] = []
        self.announced: dict[str, Announcement] = {}
        self.trust: dict[str, TrustStated] = {}
        self.submissions: set[str] = set()
        self.candidate: tuple[str, ...] | None = None
        self.epochs: list[Epoch] = []
        models = list(created.models)
        if design.family == "pilot-top-k" and not design.k < len(models):  # type: ignore[operator]
            raise BoardError(f"k = {design.k} leaves nothing to compare with {len(models)} models; choose a smaller k")
        self._open_epoch(created, models)

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
        return math.fsum([*(stage.spends for stage in self.stages), *(each.level for each in self.reserved)])

    @property
    def reserved(self) -> list[Announcement]:
        """The announcements whose models have not been added."""
        return [each for each in self.announced.values() if each.delivered is None]

    @property
    def claims(self) -> int:
        """How many claims there are, those reserved for announced models included."""
        return len(self.stages) + len(self.reserved)

    def next_level(self) -> float:
        """The level that the claim of another model would get; 0 if nothing is left."""
        if self.design.target != "both":
            return self._level(None)
        return (self._level("benchmark") + self._level("new-items")) / 2

    def _level(self, target: Target | None) -> float:
        """The next level of the claims about a target, which are counted by themselves; ``None`` if there is one."""
        claims = [stage for stage in self.stages if stage.continues is None and stage.target in (None, target)]
        return self.design.level(len(claims) + len(self.reserved))

    def _pay(self, what: str, target: Target | None = None) -> float:
        level = self._level(target or ("benchmark" if self.design.target == "both" else None))
        if level <= 0.0 or self.spent + (level / 2 if target else level) > self.design.alpha:
            claims = sum(stage.continues is None for stage in self.stages) + len(self.reserved)
            raise BoardError(
                f"the error budget is spent: {claims} claims have used {self.spent:.6g} of "
                f"{self.design.alpha:g}, and nothing is left for {what}; start a new board"
            )
        return level

    def _open_epoch(self, event: NewItems, models: list[str]) -> None:
        new, order_seed = self.design.checked_columns(event.items, event.columns), event.order_seed
        if self.epochs and self.design.target:
            check_same_kinds(self.design, self.epochs, event.items, event.blocks, new)
        last = self.epochs[-1] if self.epochs else None
        epoch = Epoch(
            number=len(self.epochs) + 1,
            models=models,
            items=(last.items if last else ()) + event.items,
            blocks=(last.blocks if last else ()) + event.blocks,
            columns={name: (last.columns[name] if last else ()) + texts for name, texts in new.items()},
            order_seed=order_seed,
        )
        if (order_seed is None) == bool(self.design.checkpoints):
            needed = "no checkpoints, and has no order" if order_seed is not None else "checkpoints, and needs an order"
            raise BoardError(
                Argument("order_seed", order_seed), f": the design of the board has {needed} of its blocks"
            )
        before = last if self.design.target else None
        self.epochs.append(epoch)
        epoch.looks_at = {name: [] for name in all_views(self._core_design(epoch, level=self.design.alpha))}
        if self.in_pilot:
            # The family is not known before a pilot, but names, items and level must be right now.
            self._core_design(epoch, level=self._pay("this benchmark"))
        elif before is None or self.design.target == "both":
            opened = self._opened(None, None if before is None else "benchmark")
            epoch.stages.append(self._made(epoch, opened, epoch.models))
        for stage in () if before is None else before.stages:
            if self._continues(stage):
                epoch.stages.append(self._grown(stage, epoch))

    def _continues(self, stage: Stage) -> bool:
        """Whether a claim of the last epoch goes on in the current one: about new items, if any comparison does."""
        still = [model for model in stage.design.models if model in self.epoch.models]
        return stage.target != "benchmark" and stage.newcomer not in self.retired and len(still) > 1

    def _grown(self, stage: Stage, epoch: Epoch) -> Stage:
        """A claim about new items as it goes on in the next epoch."""
        both, new = self.design.target == "both", slice(len(self.epochs[epoch.number - 2].items), None)
        names, columns = tuple(epoch.looks_at), {name: texts[new] for name, texts in epoch.columns.items()}

        def designed(items: Sequence[str], blocks: Sequence[str], columns: Columns) -> Design:
            of_all = self.design.core_design(
                stage.design.models, items, blocks, level=stage.level, columns=columns, newcomer=stage.newcomer
            )
            return of_all.of_target("new-items")

        added, whole = (
            designed(epoch.items[new], epoch.blocks[new], columns),
            designed(epoch.items, epoch.blocks, epoch.columns),
        )
        return stage.grown(
            whole,
            added,
            claim=len(self.stages),
            views=names[len(names) // 2 :] if both else names,
            target="new-items" if both else None,
            has_checkpoints=not self.design.checkpoints,
        )

    def from_first_version(self, opened: Opened, feed: Callable[[Stage, Epoch], None] = _nothing) -> Stage:
        """The claim about new items of a model that joins after items were added, from the first version on.

        It joins with all runs that there are of each version, so that its evidence does not depend on when it came.
        ``feed`` gives the stage of each version the runs of that.
        """
        models, stage = list(dict.fromkeys(model for epoch in self.epochs for model in epoch.models)), None
        for epoch in self.epochs:
            if stage is None:
                stage = self._made(epoch, opened, models)
            else:
                stage = self._grown(stage, epoch)
                stage.claim, stage.continues = opened.claim, None
            stage.places.extend(range(1, self.runs_joined(epoch) + 1))
            feed(stage, epoch)
        assert stage is not None  # a board has versions
        return stage

    def _core_design(
        self,
        epoch: Epoch,
        models: Sequence[str] | None = None,
        *,
        level: float,
        candidate: Sequence[str] | None = None,
        newcomer: str | None = None,
    ) -> Design:
        return self.design.core_design(
            models or epoch.models,
            epoch.items,
            epoch.blocks,
            level=level,
            columns=epoch.columns,
            candidate=candidate,
            newcomer=newcomer,
            # Who made a model that is added may know the order of the blocks, so that only complete runs count.
            order_seed=epoch.order_seed if newcomer is None else None,
        )

    def _opened(self, newcomer: str | None, target: Target | None = None) -> Opened:
        """The next claim, but for its design; refused if nothing is left of alpha for it."""
        announced = None if newcomer is None else self.announced.get(newcomer)
        if announced is not None:
            return announced.opened(newcomer)
        level = self._pay("this benchmark" if newcomer is None else "this model", target)
        return Opened(claim=self.claims, level=level, newcomer=newcomer, target=target or UNSET, design_hash="")

    def _made(self, epoch: Epoch, opened: Opened, models: Sequence[str]) -> Stage:
        """The stage of a new claim between these models."""
        candidate, newcomer, only = None, opened.newcomer, opened.target or None
        if self.candidate is not None:
            candidate = [model for model in self.candidate if model in models]
            if not candidate:
                raise BoardError("every model of the Top-k candidate has been retired; nothing is left to certify")
        made = self._core_design(epoch, models, level=opened.level, candidate=candidate, newcomer=newcomer)
        made = made.of_target(only) if only else made
        return Stage(
            claim=opened.claim,
            level=opened.level,
            newcomer=newcomer,
            design=made,
            views=all_views(made),
            target=only,
            certifier=Certifier(made),
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
                    epoch.stages.append(self._made(epoch, self._opened(None), epoch.models))
            case ReplicateAdded():
                epoch.follow_replicate(event)
            case ModelAdded(model=name):
                epoch.models.append(name)
                is_grown = bool(self.design.target) and len(self.epochs) > 1
                if not is_grown or self.design.target == "both":
                    opened = self._opened(name, "benchmark" if is_grown else None)
                    epoch.stages.append(self._made(epoch, opened, epoch.models))
                    joined = self.runs_joined(epoch) if is_grown else len(event.vectors)
                    epoch.stages[-1].places.extend(range(1, joined + 1))
                if is_grown:
                    opened = self._opened(name, "new-items" if self.design.target == "both" else None)
                    epoch.stages.append(self.from_first_version(opened))
                for (at, run), digest, runs, gaps in self._joined(event):
                    at.follow_model(name, run, digest, runs, gaps)
                if name in self.announced:
                    self.announced[name].follow_model(event, epoch.nothing)
            case ItemsAdded():
                self._open_epoch(event, self.active)
            case ModelRetired(model=name):
                self.retired.append(name)
            case ModelWithdrawn(model=name):
                self.withdrawn.append(name)
            case ModelAnnounced(model=name, runs=runs):
                claim, level = self.claims, self._pay("this model")
                self.announced[name] = Announcement(epoch=epoch.number, runs=runs, claim=claim, level=level)
            case AnnouncementClosed(model=name):
                self.announced[name].is_closed = True
            case TrustStated(model=name, submission=submission):
                self.trust[name] = event
                self.submissions |= {submission} if submission else set()
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
                run = [(stage, stage.runs) for stage in epoch.stages if epoch.replicates in stage.places]
                epoch.follow_look(event.outcome, run)
            case ModelAdded(outcome=outcome, model=name) if outcome is not None:
                opened = [stage for stage in epoch.stages if stage.newcomer == name]
                epoch.follow_look(outcome, [(stage, run) for stage in opened for run in range(1, stage.runs + 1)])

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

    def next_looks(self, runs: int) -> dict[Target, int]:
        """For each target, after which run of this version the next look is, if there were so many."""
        return self.design.next_looks(runs, self.epoch.earlier)

    def runs_needed(self, model: str | None = None) -> int:
        """How many runs of a new model the pairing rule joins now; of an announced one, when it was announced."""
        return len(self.joined_places(model))

    def runs_joined(self, epoch: Epoch) -> int:
        """How many runs of a version the pairing rule joins with those of a new model."""
        return epoch.replicates if self.design.pairing == "all" else min(self.design.first or 0, epoch.replicates)

    def joined_places(self, model: str | None = None) -> list[tuple[Epoch, int]]:
        """The replicates that a new model joins with its runs, in order; about new items, those of all versions.

        An announced model joins those that there were when its runs were announced.
        """
        if model in self.announced:
            return [(self.epoch, run) for run in range(1, self.announced[model].runs + 1)]
        epochs = self.epochs if self.design.target else [self.epoch]
        return [(epoch, run) for epoch in epochs for run in range(1, self.runs_joined(epoch) + 1)]

    def _joined(self, event: ModelAdded) -> Iterator[tuple[tuple[Epoch, int], str, tuple[str, ...], int]]:
        """Each run of a model that joins: where it belongs, its checksum, its identities and missing scores."""
        count = len(event.vectors)
        return zip(
            self.joined_places(event.model),
            event.vectors,
            event.runs or ((),) * count,
            event.gaps or (0,) * count,
            strict=True,
        )

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
