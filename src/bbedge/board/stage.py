"""A claim of a board: a family of directions, in every view, that is tested at one level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bbedge.board.events import NewEdge, Opened
from bbedge.core.design import Design
from bbedge.core.history import Look
from bbedge.core.leaderboard import Certifier
from bbedge.core.views import HEADLINE

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
        self.places.append(replicate)
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
