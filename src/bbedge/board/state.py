"""The state of a board as a fold over its events: no database, no clock, only statistics and the budget.

A board has **epochs** (benchmark versions) and, in each, **stages**: the first tests all directions among the models
that open the epoch, every later one the directions that touch one added model. Each stage is a *claim* with its own
level; the levels sum to at most ``alpha`` over all epochs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bbedge.board.design import BoardDesign
from bbedge.board.epoch import Epoch
from bbedge.board.stage import Found, Panel, Stage, all_views, combined, merged
from bbedge.board.views import Columns
from bbedge.core.checkpoints import Checkpoint
from bbedge.core.conclusions import GapCount
from bbedge.core.design import Design
from bbedge.core.leaderboard import Certifier, Leaderboard
from bbedge.errors import Argument, BoardError, Part
from bbedge.text import folded, listed, quoted

Scores = NDArray[np.float64]


class BoardState:
    """What a board holds. Every method applies one event, or raises; after an error, discard the state."""

    def __init__(
        self,
        design: BoardDesign,
        models: Sequence[str],
        items: Sequence[str],
        blocks: Sequence[str],
        columns: Columns | None = None,
        *,
        order_seed: int | None = None,
    ) -> None:
        self.design = design
        self.retired: list[str] = []
        self.candidate: tuple[str, ...] | None = None
        self.epochs: list[Epoch] = []
        if design.family == "pilot-top-k" and not design.k < len(models):  # type: ignore[operator]
            raise BoardError(f"k = {design.k} leaves nothing to compare with {len(models)} models; choose a smaller k")
        checked = self.checked_columns(items, columns or {})
        self._open_epoch(list(models), tuple(items), tuple(blocks), checked, order_seed)

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
        """The part of alpha that the claims so far use."""
        return math.fsum(stage.level for stage in self.stages)

    def next_level(self) -> float:
        """The level that the next claim would get; 0 if nothing is left."""
        return self.design.level(len(self.stages))

    def _pay(self, what: str) -> float:
        level = self.next_level()
        if level <= 0.0 or self.spent + level > self.design.alpha:
            raise BoardError(
                f"the error budget is spent: {len(self.stages)} claims have used {self.spent:.6g} of "
                f"{self.design.alpha:g}, and nothing is left for {what}; start a new board"
            )
        return level

    def checked_columns(self, items: Sequence[str], columns: Columns) -> dict[str, tuple[str, ...]]:
        """The columns of these items, if they are exactly those that the design uses, with a text for each item."""
        needed = self.design.columns
        for name in needed:
            if name not in columns:
                raise BoardError(f"the items have no column {quoted(name)}, which the design uses; add it to the items")
            if len(columns[name]) != len(items):
                raise BoardError(
                    f"the column {quoted(name)} has {len(columns[name])} entries for {len(items)} items; give one each"
                )
            empty = next((item for item, text in zip(items, columns[name], strict=True) if not text), None)
            if empty is not None:
                raise BoardError(f"item {quoted(empty)} has nothing in the column {quoted(name)}; fill it in")
        extra = sorted(set(columns) - set(needed))
        if extra:
            raise BoardError(f"the items have a column {quoted(extra[0])}, which the design does not use")
        return {name: tuple(columns[name]) for name in needed}

    def _open_epoch(
        self,
        models: list[str],
        items: tuple[str, ...],
        blocks: tuple[str, ...],
        columns: dict[str, tuple[str, ...]],
        order_seed: int | None,
    ) -> None:
        if (order_seed is None) != (self.design.checkpoints is None):
            needed = "no checkpoints, and has no order" if order_seed is not None else "checkpoints, and needs an order"
            raise BoardError(
                Argument("order_seed", order_seed), f": the design of the board has {needed} of its blocks"
            )
        epoch = Epoch(
            number=len(self.epochs) + 1,
            items=items,
            blocks=blocks,
            models=models,
            columns=columns,
            order_seed=order_seed,
        )
        stage = None if self.in_pilot else self._stage(epoch, newcomer=None)
        # The family is not known before a pilot, but names, items and level must be right now.
        design = self._core_design(epoch, level=self._pay("this benchmark")) if stage is None else stage.design
        epoch.looks_at = {name: [] for name in all_views(design)}
        epoch.parts_at = {name: [] for name in all_views(design)}
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
            # Who made a model that is added may know the order of the blocks, so that only complete passes count.
            order_seed=epoch.order_seed if newcomer is None else None,
        )

    def _stage(self, epoch: Epoch, *, newcomer: str | None) -> Stage:
        level = self._pay("this benchmark" if newcomer is None else "this model")
        names = list(epoch.models)
        candidate = None
        if self.candidate is not None:
            candidate = [model for model in self.candidate if model in names]
            if not candidate:
                raise BoardError("every model of the Top-k candidate has been retired; nothing is left to certify")
        design = self._core_design(epoch, level=level, candidate=candidate, newcomer=newcomer)
        return Stage(
            claim=len(self.stages),
            level=level,
            newcomer=newcomer,
            design=design,
            certifier=Certifier(design),
            has_parts=newcomer is None or self.design.checkpoints is None,
        )

    def check_known(self, panel: Panel) -> None:
        """Refuse a model that the epoch never had."""
        for model in panel:
            if model not in self.epoch.models and model not in self.retired:
                raise BoardError(
                    f"model {quoted(model)} is not on the board; ",
                    *_other_spelling(model, self.epoch.models),
                    f"add it with add-model first, from runs of that model alone (it needs {self.runs_needed()} of "
                    "them now)",
                )

    def check_panel(self, panel: Panel, items: Sequence[str] | None = None) -> None:
        """Refuse a replicate that is not of exactly the active models and the epoch's items, or those given."""
        self.check_known(panel)
        for model in panel:
            if model in self.retired:
                raise BoardError(f"model {quoted(model)} is retired; leave it out of new replicates")
        missing = [model for model in self.active if model not in panel]
        if missing:
            raise BoardError(
                f"the replicate lacks model {quoted(missing[0])}; every active model must be in it (or be retired)"
            )
        for model, scores in panel.items():
            self._check_scores(model, scores, self.epoch.items if items is None else items)

    def add_pilot(self, panel: Panel, pilots: Iterable[Panel]) -> tuple[str, ...] | None:
        """Count a pilot replicate; after the last one choose the candidate and open the first stage.

        ``pilots`` are the pilot replicates before this one.
        """
        self.check_panel(panel)
        if self.epoch.pilots + 1 < (self.design.pilot or 0):
            self.epoch.pilots += 1
            return None
        totals = np.zeros(len(self.active))
        weights = self._core_design(self.epoch, level=self.next_level()).weights
        for each in [*pilots, panel]:
            # The choice is no claim, and may use anything that the pilot showed: what is missing adds nothing.
            there = [np.nan_to_num(each[model], nan=0.0) for model in self.active]
            totals += [row.mean() if weights is None else np.average(row, weights=weights) for row in there]
        order = np.argsort(-totals, kind="stable")[: self.design.k]
        self.epoch.pilots += 1
        return self.set_candidate([self.active[i] for i in order])

    def set_candidate(self, models: Sequence[str]) -> tuple[str, ...]:
        """Set what the pilot chose and open the first stage."""
        self.candidate = tuple(sorted(models))
        self.epoch.stages.append(self._stage(self.epoch, newcomer=None))
        return self.candidate

    def add_replicate(self, panel: Panel) -> Found:
        """Add a replicate and look at every stage of the epoch."""
        self.check_panel(panel)
        if self.in_pilot:
            raise BoardError("the pilot is not finished; its replicates are not evidence")
        self.epoch.count_replicate(panel, missing_scores(panel))
        found = merged(stage.take(panel, self.epoch.replicates) for stage in self.epoch.stages)
        self.epoch.note_look()
        return found

    def add_part(self, panel: Panel) -> Found:
        """Add the scores of the first pass up to its next checkpoint, in the run order, and look at every stage."""
        checkpoint = self.upcoming()
        self.check_panel(panel, self.epoch.next_items)
        found = merged(stage.take_part(panel) for stage in self.epoch.stages)
        self.epoch.count_part(panel, missing_scores(panel))
        self.epoch.note_part(checkpoint, models=len(panel))
        return found

    def upcoming(self) -> Checkpoint:
        """The checkpoint that comes next, or an error that says why there is none."""
        upcoming = self.epoch.next_checkpoint
        if upcoming is not None:
            return upcoming
        if self.design.checkpoints is None:
            raise BoardError("the design of this board has no checkpoints; add complete replicates")
        if self.in_pilot:
            raise BoardError("the pilot is not finished; its replicates are complete ones")
        if self.epoch.replicates:
            raise BoardError("the first pass is complete, and later ones have no checkpoints; add complete replicates")
        raise BoardError("every checkpoint of the first pass has passed; add the complete replicate")

    def add_model(self, name: str, runs: Sequence[Scores], stored: Iterable[Panel]) -> Found:
        """Join a new model's runs with the stored replicates of the epoch, in order, and test its directions.

        ``stored`` yields the epoch's replicates as they are stored. Only complete passes count, also where the first
        one was looked at in parts: a direction against a model that was stopped inside it has no evidence.
        """
        if self.in_pilot:
            raise BoardError("the pilot is not finished; add the model afterwards")
        if name in self.epoch.models or any(name in epoch.models for epoch in self.epochs):
            raise BoardError(f"model {quoted(name)} is on the board already")
        if self.epoch.is_inside_pass:
            raise BoardError(
                f"the first pass has come to checkpoint {len(self.epoch.parts)}; add {quoted(name)} once it is complete"
            )
        needed = self.runs_needed()
        if len(runs) != needed:
            raise BoardError(
                f"{len(runs)} runs of {quoted(name)} given; the pairing rule of the design joins exactly {needed}: one "
                f"with each of the {'stored' if self.design.pairing == 'all' else 'first'} replicates, in order"
            )
        for run in runs:
            self._check_scores(name, run, self.epoch.items)
        stage = self.join(name)
        found: list[Found] = []
        for replicate, (run, panel) in enumerate(zip(runs, stored, strict=False), start=1):
            found.append(stage.take({**panel, name: run}, replicate))
        self.epoch.missing.update({name: sum(missing_scores({name: run}).get(name, 0) for run in runs)})
        stage.stop(self.retired)
        if self.epoch.replicates:
            self.epoch.note_look()
        return merged(found)

    def join(self, name: str) -> Stage:
        """Put a new model on the board and open its stage, without evidence yet."""
        self.epoch.models.append(name)
        stage = self._stage(self.epoch, newcomer=name)
        self.epoch.stages.append(stage)
        return stage

    def runs_needed(self) -> int:
        """How many runs of a new model the pairing rule joins now."""
        if self.design.pairing == "all":
            return self.epoch.replicates
        return min(self.design.first or 0, self.epoch.replicates)

    def add_items(
        self,
        items: Sequence[str],
        blocks: Sequence[str],
        columns: Columns | None = None,
        *,
        order_seed: int | None = None,
    ) -> None:
        """Open an epoch with more items: all evidence restarts at one, at the next level."""
        if self.in_pilot:
            raise BoardError("the pilot is not finished; add the items afterwards")
        if not items:
            raise BoardError("no items given; an epoch needs at least one new item")
        known = set(self.epoch.items)
        again = [item for item in items if item in known]
        if again:
            raise BoardError(f"item {quoted(again[0])} is on the board already; new items need new names")
        if len(self.active) < 2:
            raise BoardError("fewer than two models are active; nothing is left to compare")
        new, before = self.checked_columns(items, columns or {}), self.epoch.columns
        self._open_epoch(
            self.active,
            self.epoch.items + tuple(items),
            self.epoch.blocks + tuple(blocks),
            {name: before[name] + texts for name, texts in new.items()},
            order_seed,
        )

    def retire(self, model: str) -> None:
        """Stop a model: its directions keep their evidence, its certificates stand."""
        if self.in_pilot:
            raise BoardError("the pilot is not finished; retire the model afterwards")
        if model in self.retired:
            raise BoardError(f"model {quoted(model)} is retired already")
        if model not in self.active:
            raise BoardError(f"model {quoted(model)} is not on the board; the active models are {listed(self.active)}")
        self.retired.append(model)
        for stage in self.epoch.stages:
            stage.stop([model])

    def leaderboard(self, epoch: Epoch | None = None) -> Leaderboard:
        """Everything that may be concluded about a benchmark version; by default, the current one."""
        epoch = epoch or self.epoch
        candidate = next((stage.design.family.candidate or None for stage in epoch.stages), None)
        design = self._core_design(epoch, level=self.design.alpha, candidate=candidate)
        gaps = GapCount(of_models=tuple(epoch.missing[model] for model in epoch.models))
        whole = combined(design, epoch.stages, replicates=epoch.replicates, looks=epoch.looks_at, parts=epoch.parts_at)
        # The mean of a part of the items is not that of the benchmark.
        partial = [model in epoch.partial for model in epoch.models]
        views = (replace(view, means=np.where(partial, np.nan, view.means)) for view in whole.views)
        means = np.where(partial, np.nan, whole.means)
        return replace(whole, means=means, views=tuple(views), gaps=gaps if gaps.cells else None)

    def _check_scores(self, model: str, scores: Scores, items: Sequence[str]) -> None:
        if scores.shape != (len(items),):
            what = "the benchmark" if len(items) == len(self.epoch.items) else "this part of the first pass"
            raise BoardError(f"model {quoted(model)} has {scores.size} scores; {what} has {len(items)} items")
        allowed = (scores >= 0.0) & (scores <= 1.0)
        if self.design.incomplete == "worst-case":
            allowed |= np.isnan(scores)
        if not allowed.all():
            place = int(np.flatnonzero(~allowed)[0])
            score, item = scores[place], quoted(items[place])
            if np.isnan(score):
                raise BoardError(
                    f"model {quoted(model)} has no score on item {item}; the design of this board counts no missing "
                    "scores, so that a replicate stays incomplete until every score is there"
                )
            raise BoardError(f"model {quoted(model)} scored {score} on item {item}; scores lie in [0, 1]")


def missing_scores(panel: Panel) -> dict[str, int]:
    """How many scores each model lacks, of those that lack any."""
    counts = {model: int(np.isnan(scores).sum()) for model, scores in panel.items()}
    return {model: count for model, count in counts.items() if count}


def _other_spelling(model: str, models: Iterable[str]) -> tuple[Part, ...]:
    """What to do about a model whose name may be another spelling of one of these; in ASCII, as not all can be seen."""
    known = next((each for each in models if folded(each) == folded(model)), None)
    if known is None:
        return ()
    other = f"if {model!a} is another spelling of {known!a}, read it with "
    return other, Argument("merge_names", value=True), "; otherwise "
