"""A claim of a board: a family of directions tested at one level; the claims of an epoch as one leaderboard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from bbedge.core.checkpoints import first_run_plan
from bbedge.core.design import Design
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Certifier, Leaderboard
from bbedge.core.looks import EarlyRecord, Look, LookCount
from bbedge.core.views import HEADLINE
from bbedge.records.events import NewEdge, Opened

Panel = Mapping[str, NDArray[np.float64]]
"""One replicate: the score vector of each model, over the items of the epoch; a missing score is NaN."""

Found = Mapping[str, list[NewEdge]]
"""What was certified for the first time, by view; the main one is called ``headline``."""


def all_views(design: Design) -> tuple[str, ...]:
    """The names of the views of a design, the headline's first."""
    return (HEADLINE, *(view.name for view in design.views))


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
    has_checkpoints: bool = True
    """Whether it is looked at inside the first run, where that has checkpoints; not so for an added model."""
    places: list[int] = field(default_factory=list)
    """The epoch's replicates that it has seen: all, unless a newcomer was paired with the first few only."""

    @property
    def opened(self) -> Opened:
        """The claim as the event that opens it states it."""
        return Opened(claim=self.claim, level=self.level, newcomer=self.newcomer, design_hash=self.design.hash)

    def add_and_look(self, panel: Panel, replicate: int, upto: int | None = None) -> Found:
        """Add a replicate and look. Models that the panel lacks have been retired: their directions stop.

        With ``upto``, the blocks before a checkpoint of the first replicate, the panel has the items since the
        checkpoint before, in the run order.
        """
        if upto is not None and not self.has_checkpoints:
            return {}
        self.stop(model for model in self.certifier.evidence.active if model not in panel)
        active = self.certifier.evidence.active
        if not active:
            return {}
        names = all_views(self.design)
        before = [self.certifier.edges(view) for view in range(len(names))]
        self.certifier.update(np.stack([panel[model] for model in active]), upto)
        return {
            name: self._new_edges(look, stood, replicate)
            for name, look, stood in zip(names, self.certifier.last_looks, before, strict=True)
        }

    def stop(self, models: Iterable[str]) -> None:
        """Stop those of the models that are active.

        A model that stops inside the first pass may do so because of its scores in it. Where the pass counts only as a
        whole, its directions then have no evidence at all: what they had before it would be kept by choice.
        """
        gone = [model for model in models if model in self.certifier.evidence.active]
        if gone:
            self.certifier.stop(gone, forfeit=not self.has_checkpoints and not self.certifier.evidence.replicates)

    def _new_edges(self, look: Look, stood: NDArray[np.bool_], replicate: int) -> list[NewEdge]:
        names = self.design.models
        return [
            NewEdge(
                winner=names[a],
                loser=names[b],
                log_e=float(look.log_e[a, b]),
                claim=self.claim,
                replicate=replicate,
            )
            for a, b in np.argwhere(look.edges & ~stood).tolist()
        ]

    def current_edges(self, view: str) -> NDArray[np.bool_]:
        """What the last look certified in a view."""
        return self.certifier.current_edges(all_views(self.design).index(view))

    def edges(self, view: str = HEADLINE) -> NDArray[np.bool_]:
        """What any look certified in a view."""
        return self.certifier.edges(all_views(self.design).index(view))


def join_found(found: Iterable[Found]) -> Found:
    """What several looks certified for the first time, as one."""
    together: dict[str, list[NewEdge]] = {}
    for each in found:
        for view, edges in each.items():
            together.setdefault(view, []).extend(edges)
    return together


def combined(
    design: Design, stages: Sequence[Stage], *, replicates: int, looks: Mapping[str, Sequence[LookCount]]
) -> Leaderboard:
    """The leaderboard of the epoch's design with those of its views; ``looks`` are the histories by view."""
    boards = [(stage, stage.certifier.leaderboard()) for stage in stages]
    views = []
    for place, (view, of_view) in enumerate(zip(design.views, design.parts[1:], strict=True)):
        of_stages = [(stage, board.views[place]) for stage, board in boards]
        joined = _joined(of_view, of_stages, looks=looks.get(view.name, ()), replicates=replicates)
        views.append(replace(joined, name=view.name))
    headline = _joined(design, boards, looks=looks[HEADLINE], replicates=replicates)
    return replace(headline, views=tuple(views))


def _joined(
    design: Design, of_stages: Sequence[tuple[Stage, Leaderboard]], *, looks: Sequence[LookCount], replicates: int
) -> Leaderboard:
    """The leaderboard of one view, from those of every stage of an epoch."""
    place = {model: i for i, model in enumerate(design.models)}
    shape = (len(place), len(place))
    means = np.full(len(place), np.nan)
    of_means = {name: np.tile([0.0, 1.0], (len(place), 1)) for name in ("mean_bounds", "best_mean_bounds")}
    matrices = {name: np.full(shape, np.nan) for name in ("log_e", "log_thresholds", "lower_bounds", "best_bounds")}
    if any(stage.design.holm == "staggered" for stage, _ in of_stages):
        matrices["log_w"] = np.full(shape, np.nan)
    current, first = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.int64)
    first_checkpoint = np.zeros(shape, dtype=np.int64)
    for stage, board in of_stages:
        index = np.array([place[model] for model in stage.design.models])
        window = np.ix_(index, index)
        tested = stage.design.tested
        for name, matrix in matrices.items():
            values = getattr(board, name)
            if values is not None:
                matrix[window] = np.where(tested, values, matrix[window])
        current[window] |= board.current_edges
        replicate_of = np.array([0, *(stage.places or (1,))], dtype=np.int64)  # none yet inside the first
        first[window] = np.where(tested, replicate_of[board.first_certified], first[window])
        if board.early is not None:
            first_checkpoint[window] = np.where(tested, board.early.first_certified, first_checkpoint[window])
        # A model's mean is that of the stage that saw most of it: the first that has it.
        known = ~np.isnan(means[index])
        means[index] = np.where(known, means[index], board.means)
        own = [stage.newcomer in (None, model) for model in stage.design.models]
        for name, bounds in of_means.items():
            if (values := getattr(board, name)) is not None:  # of a newcomer's stage, its own alone
                bounds[index[own]] = values[own]
    plan = first_run_plan(design)
    opening = next((board.early for stage, board in of_stages if stage.newcomer is None), None)
    early = (
        None
        if plan is None
        else EarlyRecord(
            checkpoints=plan.checkpoints,
            is_complete=replicates > 0,
            looks=tuple(look for look in looks if look.upto is not None),
            first_certified=first_checkpoint,
            position=None if opening is None else opening.position,
        )
    )
    return Leaderboard(
        design=design,
        replicates=replicates,
        means=means,
        graph=Graph(first > 0),
        current_edges=current,
        first_certified=first,
        looks=tuple(look for look in looks if look.upto is None),
        log_e=matrices["log_e"],
        log_thresholds=matrices["log_thresholds"],
        lower_bounds=matrices["lower_bounds"],
        best_bounds=matrices["best_bounds"],
        log_w=matrices.get("log_w"),
        mean_bounds=of_means["mean_bounds"] if design.mean_share else None,
        best_mean_bounds=of_means["best_mean_bounds"] if design.mean_share else None,
        early=early,
    )


def joined_edges(models: Sequence[str], stages: Sequence[Stage], view: str) -> NDArray[np.bool_]:
    """Everything certified in a view, by any stage."""
    place = {model: i for i, model in enumerate(models)}
    edges = np.zeros((len(place), len(place)), dtype=np.bool_)
    for stage in stages:
        index = [place[model] for model in stage.design.models]
        edges[np.ix_(index, index)] |= stage.edges(view)
    return edges
