"""A claim on a board, or stage: a family of directions tested at one level.

About these items a claim belongs to one version of the benchmark. About new items it goes on when items are added: its
stage in the next version has the evidence and the certificates of the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from bbedge.core.design import Design
from bbedge.core.leaderboard import Certifier
from bbedge.core.looks import Look
from bbedge.core.views import HEADLINE
from bbedge.records.events import NewEdge, Opened
from bbedge.records.values import Target

Panel = Mapping[str, NDArray[np.float64]]
"""One replicate: the score vector of each model, over the items of the epoch; a missing score is NaN."""

Found = Mapping[str, Sequence[NewEdge]]
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
    views: tuple[str, ...]
    """What the views of its design are called in the epoch."""
    target: Target | None = None
    """The only target that it is about, where the board is about both; it then spends half of its level."""
    batches: tuple[Design, ...] = ()
    """About new items, a design for each batch of the items, if some were added."""
    continues: int | None = None
    """The claim that it continues after items were added, and spends nothing for."""
    earlier: tuple[int, ...] = ()
    """How many of its runs each earlier batch of items had had when they were."""
    has_checkpoints: bool = True
    """Whether it is looked at inside the first run, where that has checkpoints; not so for an added model."""
    places: list[int] = field(default_factory=list)
    """The epoch's replicate of each run that it has seen, 0 for those of earlier epochs. It has seen all, unless a
    newcomer was paired with the first few only."""

    @property
    def opened(self) -> Opened:
        """The claim as the event that opens it states it."""
        return Opened(
            claim=self.claim,
            level=self.level,
            newcomer=self.newcomer,
            target=self.target or UNSET,
            continues=UNSET if self.continues is None else self.continues,
            design_hash=self.design.hash,
        )

    @property
    def spends(self) -> float:
        """What it spends of alpha."""
        if self.continues is not None:
            return 0.0
        return self.level / 2 if self.target else self.level

    @property
    def runs(self) -> int:
        """How many runs of the epoch it has seen."""
        return len(self.places) - (self.earlier[0] if self.earlier else 0)

    def is_look(self, runs: int) -> dict[str, bool]:
        """Whether each of its views is looked at after so many runs of the epoch."""
        return dict(zip(self.views, self.design.is_look(runs, self.earlier), strict=True))

    def place(self, view: str) -> int | None:
        """The place of a view of the epoch among its own; ``None`` if it is not about that."""
        return self.views.index(view) if view in self.views else None

    def grown(self, whole: Design, added: Design, **new: Any) -> Stage:  # noqa: ANN401 - the other fields
        """The claim about new items as it goes on when items were added: by its design of all items and of these."""
        batches = (*(self.batches or (self.design.of_target("new-items"),)), added)
        earlier = (*(runs + self.runs for runs in self.earlier), self.runs)
        return replace(
            self,
            design=whole,
            batches=batches,
            continues=self.claim,
            earlier=earlier,
            certifier=self.certifier.grown(whole, batches),
            places=[0] * earlier[0],
            **new,
        )

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
        before = [self.certifier.edges(view) for view in range(len(self.views))]
        self.certifier.update(np.stack([panel[model] for model in active]), upto)
        return {
            name: self._new_edges(look, stood, replicate)
            for name, look, stood in zip(self.views, self.certifier.last_looks, before, strict=True)
        }

    def stop(self, models: Iterable[str], *, is_inside: bool = False) -> None:
        """Stop those of the models that are active; ``is_inside`` says that it is inside the first run of the epoch.

        A model that stops inside the first run may do so because of its scores in it. Where the run counts only as a
        whole, its directions then have no evidence at all: what they had before it would be kept by choice.
        """
        gone = [model for model in models if model in self.certifier.evidence.active]
        if gone:
            self.certifier.stop(gone, forfeit=not self.has_checkpoints and (is_inside or not self.certifier.runs))

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
        """What the last look certified in a view that it is about."""
        return self.certifier.current_edges(self.views.index(view))

    def edges(self, view: str = HEADLINE) -> NDArray[np.bool_]:
        """What any look certified in a view; nothing in one that it is not about."""
        place = self.place(view)
        if place is None:
            return np.zeros((len(self.design.models),) * 2, dtype=np.bool_)
        return self.certifier.edges(place)


def join_found(found: Iterable[Found]) -> Found:
    """What several looks certified for the first time, as one."""
    together: dict[str, list[NewEdge]] = {}
    for each in found:
        for view, edges in each.items():
            together.setdefault(view, []).extend(edges)
    return together
