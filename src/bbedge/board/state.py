"""The state of a board as a fold over its events: no database, no clock, only statistics and the budget.

A board has **epochs** (benchmark versions) and, in each, **stages**: the first tests all directions among the models
that open the epoch, every later one the directions that touch one added model. Each stage is a *claim* with its own
level; the levels sum to at most ``alpha`` over all epochs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bbedge.board.design import BoardDesign
from bbedge.board.events import NewEdge, Opened, Outcome, Tally
from bbedge.core.design import Design
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Certifier, Leaderboard, LookCount
from bbedge.errors import BoardError
from bbedge.text import listed, quoted

Scores = NDArray[np.float64]
Panel = Mapping[str, Scores]
"""One replicate: the score vector of each model, over the items of the epoch."""


@dataclass(slots=True, kw_only=True)
class Stage:
    """A claim: a family of directions tested at one level."""

    claim: int
    """Its place in the spending sequence."""
    level: float
    """Its share of alpha."""
    newcomer: str | None
    """The added model, or ``None`` for the stage that opens an epoch."""
    design: Design
    """The statistical design."""
    certifier: Certifier
    """The evidence and what was certified."""
    places: list[int] = field(default_factory=list)
    """The epoch's replicates that it has seen: all, unless a newcomer was paired with the first few only."""

    @property
    def opened(self) -> Opened:
        """The claim as the event that opens it states it."""
        return Opened(claim=self.claim, level=self.level, newcomer=self.newcomer, design_hash=self.design.hash)

    def take(self, panel: Panel, replicate: int) -> list[NewEdge]:
        """Add a replicate and look. Models that the panel lacks have been retired: their directions stop."""
        gone = [model for model in self.certifier.evidence.active if model not in panel]
        if gone:
            self.certifier.stop(gone)
        if not self.certifier.evidence.active:
            return []
        self.places.append(replicate)
        before = self.certifier.standing_edges()
        look = self.certifier.update(np.stack([panel[model] for model in self.certifier.evidence.active]))
        names = self.design.models
        return [
            NewEdge(
                winner=names[a],
                loser=names[b],
                log_e=float(look.log_e[a, b]),
                claim=self.claim,
                replicate=replicate,
            )
            for a, b in np.argwhere(look.edges & ~before).tolist()
        ]


@dataclass(slots=True, kw_only=True)
class Epoch:
    """A benchmark version."""

    number: int
    """From 1."""
    items: tuple[str, ...]
    """Its items: all those of the version before, and the new ones."""
    blocks: tuple[str, ...]
    """The block of each item."""
    models: list[str]
    """All models that were ever part of it, in the order in which they came."""
    replicates: int = 0
    """Replicates in the evidence."""
    pilots: int = 0
    """Pilot replicates, which are not evidence."""
    stages: list[Stage] = field(default_factory=list)
    """Its claims."""
    looks: list[LookCount] = field(default_factory=list)
    """The history of looks at all its stages together."""


class BoardState:
    """What a board holds. Every method applies one event, or raises; after an error, discard the state."""

    def __init__(self, design: BoardDesign, models: Sequence[str], items: Sequence[str], blocks: Sequence[str]) -> None:
        self.design = design
        self.retired: list[str] = []
        self.candidate: tuple[str, ...] | None = None
        self.epochs: list[Epoch] = []
        if design.family == "pilot-top-k" and not design.k < len(models):  # type: ignore[operator]
            raise BoardError(f"k = {design.k} leaves nothing to compare with {len(models)} models; choose a smaller k")
        self._open_epoch(list(models), tuple(items), tuple(blocks))

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

    def _open_epoch(self, models: list[str], items: tuple[str, ...], blocks: tuple[str, ...]) -> None:
        epoch = Epoch(number=len(self.epochs) + 1, items=items, blocks=blocks, models=models)
        stage = None if self.in_pilot else self._stage(epoch, newcomer=None)
        if stage is None:
            # The family is not known before the pilot, but names, items and level must be right now.
            self.design.core_design(models, items, blocks, level=self._pay("this benchmark"))
        self.epochs.append(epoch)
        if stage is not None:
            epoch.stages.append(stage)

    def _stage(self, epoch: Epoch, *, newcomer: str | None) -> Stage:
        level = self._pay("this benchmark" if newcomer is None else "this model")
        names = list(epoch.models)
        candidate = None
        if self.candidate is not None:
            candidate = [model for model in self.candidate if model in names]
            if not candidate:
                raise BoardError("every model of the Top-k candidate has been retired; nothing is left to certify")
        design = self.design.core_design(
            names, epoch.items, epoch.blocks, level=level, candidate=candidate, newcomer=newcomer
        )
        return Stage(
            claim=len(self.stages),
            level=level,
            newcomer=newcomer,
            design=design,
            certifier=Certifier(design),
        )

    def check_known(self, panel: Panel) -> None:
        """Refuse a model that the epoch never had."""
        for model in panel:
            if model not in self.epoch.models and model not in self.retired:
                raise BoardError(
                    f"model {quoted(model)} is not on the board; add it with add-model first, from runs of that model "
                    f"alone (it needs {self.runs_needed()} of them now)"
                )

    def check_panel(self, panel: Panel) -> None:
        """Refuse a replicate that is not of exactly the active models and the epoch's items."""
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
            _check_scores(model, scores, self.epoch.items)

    def add_pilot(self, panel: Panel, pilots: Iterable[Panel]) -> tuple[str, ...] | None:
        """Count a pilot replicate; after the last one choose the candidate and open the first stage.

        ``pilots`` are the pilot replicates before this one.
        """
        self.check_panel(panel)
        if self.epoch.pilots + 1 < (self.design.pilot or 0):
            self.epoch.pilots += 1
            return None
        totals = np.zeros(len(self.active))
        for each in [*pilots, panel]:
            totals += [each[model].mean() for model in self.active]
        order = np.argsort(-totals, kind="stable")[: self.design.k]
        self.epoch.pilots += 1
        return self.set_candidate([self.active[i] for i in order])

    def set_candidate(self, models: Sequence[str]) -> tuple[str, ...]:
        """Set what the pilot chose and open the first stage."""
        self.candidate = tuple(sorted(models))
        self.epoch.stages.append(self._stage(self.epoch, newcomer=None))
        return self.candidate

    def add_replicate(self, panel: Panel) -> list[NewEdge]:
        """Add a replicate and look at every stage of the epoch."""
        self.check_panel(panel)
        if self.in_pilot:
            raise BoardError("the pilot is not finished; its replicates are not evidence")
        self.epoch.replicates += 1
        edges = [edge for stage in self.epoch.stages for edge in stage.take(panel, self.epoch.replicates)]
        self._note_look()
        return edges

    def add_model(self, name: str, runs: Sequence[Scores], stored: Iterable[Panel]) -> list[NewEdge]:
        """Join a new model's runs with the stored replicates of the epoch, in order, and test its directions.

        ``stored`` yields the epoch's replicates as they are stored.
        """
        if self.in_pilot:
            raise BoardError("the pilot is not finished; add the model afterwards")
        if name in self.epoch.models or any(name in epoch.models for epoch in self.epochs):
            raise BoardError(f"model {quoted(name)} is on the board already")
        needed = self.runs_needed()
        if len(runs) != needed:
            raise BoardError(
                f"{len(runs)} runs of {quoted(name)} given; the pairing rule of the design joins exactly {needed}: one "
                f"with each of the {'stored' if self.design.pairing == 'all' else 'first'} replicates, in order"
            )
        for run in runs:
            _check_scores(name, run, self.epoch.items)
        stage = self.join(name)
        edges: list[NewEdge] = []
        for replicate, (run, panel) in enumerate(zip(runs, stored, strict=False), start=1):
            edges += stage.take({**panel, name: run}, replicate)
        gone = [model for model in self.retired if model in stage.certifier.evidence.active]
        if gone:
            stage.certifier.stop(gone)
        if self.epoch.replicates:
            self._note_look()
        return edges

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

    def add_items(self, items: Sequence[str], blocks: Sequence[str]) -> None:
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
        self._open_epoch(self.active, self.epoch.items + tuple(items), self.epoch.blocks + tuple(blocks))

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
            if model in stage.certifier.evidence.active:
                stage.certifier.stop([model])

    def leaderboard(self, epoch: Epoch | None = None) -> Leaderboard:
        """Everything that may be concluded about a benchmark version; by default, the current one."""
        return combined(self.design, epoch or self.epoch)

    def outcome(self, edges: Sequence[NewEdge]) -> Outcome:
        """What the last look showed; ``edges`` are those that it certified for the first time."""
        look = self.epoch.looks[-1]
        current = {stage.claim: np.packbits(stage.certifier.current.edges).tobytes() for stage in self.epoch.stages}
        tally = Tally(edges=look.edges, resolved_pairs=look.resolved_pairs)
        return Outcome(look=tally, current=current, certified=tuple(edges))

    def _note_look(self) -> None:
        epoch = self.epoch
        place = {model: i for i, model in enumerate(epoch.models)}
        edges = np.zeros((len(place), len(place)), dtype=np.bool_)
        for stage in epoch.stages:
            index = [place[model] for model in stage.design.models]
            edges[np.ix_(index, index)] |= stage.certifier.current.edges
        graph = Graph(edges)
        epoch.looks.append(LookCount(replicate=epoch.replicates, edges=graph.n_edges, resolved_pairs=graph.n_resolved))


def combined(design: BoardDesign, epoch: Epoch) -> Leaderboard:
    """The stages of an epoch as one leaderboard. Each direction belongs to one stage, so nothing overlaps."""
    names = epoch.models
    place = {model: i for i, model in enumerate(names)}
    shape = (len(names), len(names))
    means = np.full(len(names), np.nan)
    matrices = {name: np.full(shape, np.nan) for name in ("log_e", "log_thresholds", "lower_bounds")}
    if any(stage.design.holm == "staggered" for stage in epoch.stages):
        matrices["log_w"] = np.full(shape, np.nan)
    current, first = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.int64)
    for stage in epoch.stages:
        board = stage.certifier.leaderboard()
        index = np.array([place[model] for model in stage.design.models])
        window = np.ix_(index, index)
        tested = stage.design.tested
        for name, matrix in matrices.items():
            values = getattr(board, name)
            if values is not None:
                matrix[window] = np.where(tested, values, matrix[window])
        current[window] |= board.current.edges
        replicate_of = np.array([0, *stage.places], dtype=np.int64)
        first[window] = np.where(tested, replicate_of[board.first_certified], first[window])
        # A model's mean is that of the stage that saw most of it: the first that has it.
        known = ~np.isnan(means[index])
        means[index] = np.where(known, means[index], board.means)
    candidate = None
    for stage in epoch.stages[:1]:
        candidate = stage.design.family.candidate or None
    return Leaderboard(
        design=design.core_design(names, epoch.items, epoch.blocks, level=design.alpha, candidate=candidate),
        replicates=epoch.replicates,
        means=means,
        current=Graph(current),
        standing=Graph(first > 0),
        first_certified=first,
        looks=tuple(epoch.looks),
        log_e=matrices["log_e"],
        log_thresholds=matrices["log_thresholds"],
        lower_bounds=matrices["lower_bounds"],
        log_w=matrices.get("log_w"),
    )


def _check_scores(model: str, scores: Scores, items: Sequence[str]) -> None:
    if scores.shape != (len(items),):
        raise BoardError(f"model {quoted(model)} has {scores.size} scores; the benchmark has {len(items)} items")
    bad = ~((scores >= 0.0) & (scores <= 1.0))
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        raise BoardError(
            f"model {quoted(model)} scored {scores[place]} on item {quoted(items[place])}; scores lie in [0, 1]"
        )
