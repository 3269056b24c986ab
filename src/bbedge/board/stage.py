"""A claim of a board: a family of directions tested at one level; the claims of an epoch as one leaderboard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from bbedge.core.checkpoints import pass_plan
from bbedge.core.design import Design
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Certifier, Leaderboard
from bbedge.core.looks import EarlyRecord, Look, LookCount, PartCount
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
    has_parts: bool = True
    """Whether it is looked at inside the first pass where that is run in parts; not so for an added model."""
    places: list[int] = field(default_factory=list)
    """The epoch's replicates that it has seen: all, unless a newcomer was paired with the first few only."""

    @property
    def opened(self) -> Opened:
        """The claim as the event that opens it states it."""
        return Opened(claim=self.claim, level=self.level, newcomer=self.newcomer, design_hash=self.design.hash)

    def take(self, panel: Panel, replicate: int) -> Found:
        """Add a replicate and look. Models that the panel lacks have been retired: their directions stop."""
        active = self._running(panel)
        if not active:
            return {}
        return self._look(lambda: self.certifier.update(np.stack([panel[model] for model in active])), replicate)

    def take_part(self, panel: Panel) -> Found:
        """Add the next part of the first replicate, item by item in the run order, and look as :meth:`take` does."""
        if not self.has_parts:
            return {}
        active = self._running(panel)
        if not active:
            return {}
        return self._look(lambda: self.certifier.update_part(np.stack([panel[model] for model in active])), 1)

    def _running(self, panel: Panel) -> tuple[str, ...]:
        self.stop(model for model in self.certifier.evidence.active if model not in panel)
        return self.certifier.evidence.active

    def stop(self, models: Iterable[str]) -> None:
        """Stop those of the models that are active.

        A model that stops inside the first pass may do so because of its scores in it. Where the pass counts only as a
        whole, its directions then have no evidence at all: what they had before it would be kept by choice.
        """
        gone = [model for model in models if model in self.certifier.evidence.active]
        if gone:
            self.certifier.stop(gone, forfeit=not self.has_parts and not self.certifier.evidence.replicates)

    def _look(self, update: Callable[[], object], replicate: int) -> Found:
        names = all_views(self.design)
        before = [self.certifier.edges(view) for view in range(len(names))]
        update()
        return {
            name: self._new_edges(look, stood, replicate)
            for name, look, stood in zip(names, self.certifier.last_looks, before, strict=True)
        }

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


def merged(found: Iterable[Found]) -> Found:
    """What several looks certified for the first time, as one."""
    together: dict[str, list[NewEdge]] = {}
    for each in found:
        for view, edges in each.items():
            together.setdefault(view, []).extend(edges)
    return together


Parts = Sequence[tuple[Stage, Leaderboard]]
"""Every stage of an epoch with its own leaderboard of one view."""


def combined(
    design: Design,
    stages: Sequence[Stage],
    *,
    replicates: int,
    looks: Mapping[str, Sequence[LookCount]],
    parts: Mapping[str, Sequence[PartCount]],
) -> Leaderboard:
    """The leaderboard of the epoch's design with those of its views.

    ``looks`` are the histories by view, and ``parts`` those of the first pass.
    """
    boards = [(stage, stage.certifier.leaderboard()) for stage in stages]
    headline = _joined(design, boards, looks=looks[HEADLINE], replicates=replicates)
    headline = replace(headline, early=_early(design, boards, parts[HEADLINE], is_complete=replicates > 0))
    views = []
    for place, part in enumerate(design.parts[1:]):
        name = design.views[place].name
        of_view = [(stage, board.views[place]) for stage, board in boards]
        joined = _joined(part, of_view, looks=looks.get(name, ()), replicates=replicates)
        early = _early(design, of_view, parts.get(name, ()), is_complete=replicates > 0)
        views.append(replace(joined, name=name, early=early))
    return replace(headline, views=tuple(views))


def _joined(design: Design, parts: Parts, *, looks: Sequence[LookCount], replicates: int) -> Leaderboard:
    place = {model: i for i, model in enumerate(design.models)}
    shape = (len(place), len(place))
    means = np.full(len(place), np.nan)
    of_means = {name: np.tile([0.0, 1.0], (len(place), 1)) for name in ("mean_bounds", "best_mean_bounds")}
    matrices = {name: np.full(shape, np.nan) for name in ("log_e", "log_thresholds", "lower_bounds", "best_bounds")}
    if any(stage.design.holm == "staggered" for stage, _ in parts):
        matrices["log_w"] = np.full(shape, np.nan)
    current, first = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.int64)
    for stage, board in parts:
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
        # A model's mean is that of the stage that saw most of it: the first that has it.
        known = ~np.isnan(means[index])
        means[index] = np.where(known, means[index], board.means)
        own = [stage.newcomer in (None, model) for model in stage.design.models]
        for name, bounds in of_means.items():
            if (values := getattr(board, name)) is not None:  # of a newcomer's stage, its own alone
                bounds[index[own]] = values[own]
    return Leaderboard(
        design=design,
        replicates=replicates,
        means=means,
        graph=Graph(first > 0),
        current_edges=current,
        first_certified=first,
        looks=tuple(looks),
        log_e=matrices["log_e"],
        log_thresholds=matrices["log_thresholds"],
        lower_bounds=matrices["lower_bounds"],
        best_bounds=matrices["best_bounds"],
        mean_bounds=of_means["mean_bounds"] if design.mean_share else None,
        best_mean_bounds=of_means["best_mean_bounds"] if design.mean_share else None,
        log_w=matrices.get("log_w"),
    )


def _early(design: Design, parts: Parts, looks: Sequence[PartCount], *, is_complete: bool) -> EarlyRecord | None:
    """What happened inside the first pass."""
    plan = pass_plan(design)
    if plan is None:
        return None
    place = {model: i for i, model in enumerate(design.models)}
    first = np.zeros((len(place), len(place)), dtype=np.int64)
    for stage, board in parts:
        window = np.ix_(*[[place[model] for model in stage.design.models]] * 2)
        if board.early is not None:
            first[window] = np.where(stage.design.tested, board.early.first_certified, first[window])
    opening = next((board.early for stage, board in parts if stage.newcomer is None), None)
    return EarlyRecord(
        checkpoints=plan.checkpoints,
        is_complete=is_complete,
        looks=tuple(looks),
        first_certified=first,
        position=None if opening is None else opening.position,
    )


def joined_edges(models: Sequence[str], stages: Sequence[Stage], view: str) -> NDArray[np.bool_]:
    """Everything certified in a view, by any stage."""
    place = {model: i for i, model in enumerate(models)}
    edges = np.zeros((len(place), len(place)), dtype=np.bool_)
    for stage in stages:
        index = [place[model] for model in stage.design.models]
        edges[np.ix_(index, index)] |= stage.edges(view)
    return edges
