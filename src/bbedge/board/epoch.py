"""A version of the benchmark on a board: its items and models, its claims, and the looks at them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bbedge.board.stage import Found, Stage, joined_edges
from bbedge.core.checkpoints import Checkpoint, PassPlan, pass_plan
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import LookCount
from bbedge.core.progress import PartCount
from bbedge.core.views import HEADLINE
from bbedge.records.events import AttemptOutcome, Outcome, Tally, ViewOutcome


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
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What else the design uses of each item, by the name of the column."""
    order_seed: int | None = None
    """The seed of the order in which the blocks of the first pass are run; ``None`` without checkpoints."""
    replicates: int = 0
    """Replicates in the evidence."""
    pilots: int = 0
    """Pilot replicates, which are not evidence."""
    partial: set[str] = field(default_factory=set)
    """Models with scores of a part of the first pass, and no complete replicate."""
    missing: Counter[str] = field(default_factory=Counter)
    """Missing scores of each model that lacks any, over the replicates and parts in the evidence."""
    stages: list[Stage] = field(default_factory=list)
    """Its claims."""
    attempts: dict[int, list[AttemptOutcome | None]] = field(default_factory=dict)
    """What became of every attempt at each replicate, pilots included; ``None`` if it has not ended."""
    looks_at: dict[str, list[LookCount]] = field(default_factory=lambda: {HEADLINE: []})
    """The history of looks at all its stages together, by view; the headline's is :attr:`looks`."""
    parts_at: dict[str, list[PartCount]] = field(default_factory=lambda: {HEADLINE: []})
    """The same of the looks inside the first pass; the headline's is :attr:`parts`."""

    @property
    def looks(self) -> list[LookCount]:
        """The history of looks at the headline."""
        return self.looks_at[HEADLINE]

    @property
    def parts(self) -> list[PartCount]:
        """The history of looks at the headline inside the first pass."""
        return self.parts_at[HEADLINE]

    @property
    def plan(self) -> PassPlan | None:
        """How the first pass is run; ``None`` without checkpoints, and before a pilot has opened a claim."""
        return pass_plan(self.stages[0].design) if self.stages else None

    @property
    def is_inside_pass(self) -> bool:
        """Whether a part of the first pass is in the evidence, and the pass is not complete."""
        return bool(self.parts) and not self.replicates

    @property
    def next_checkpoint(self) -> Checkpoint | None:
        """The checkpoint of the first pass that comes next; ``None`` if there is none before the pass is complete."""
        plan, passed = self.plan, len(self.parts)
        if plan is None or self.replicates or passed == len(plan.checkpoints):
            return None
        return plan.checkpoints[passed]

    @property
    def next_items(self) -> tuple[str, ...]:
        """The items to run next in the first pass, in their order: up to the next checkpoint, or all that are left.

        Empty without checkpoints, and once the pass is complete.
        """
        return tuple(self.items[place] for place in self.next_places)

    @property
    def next_places(self) -> NDArray[np.intp]:
        """The places of :attr:`next_items` among all items."""
        plan, upcoming = self.plan, self.next_checkpoint
        if plan is None or self.replicates:
            return np.empty(0, dtype=np.intp)
        return plan.order[len(plan.places(len(self.parts))) : None if upcoming is None else upcoming.items]

    @property
    def seen_places(self) -> NDArray[np.intp]:
        """The places of the items before the last checkpoint of the first pass that was looked at, in the run order."""
        plan = self.plan
        return np.empty(0, dtype=np.intp) if plan is None else plan.places(len(self.parts))

    def new_places(self, checkpoint: int) -> NDArray[np.intp]:
        """The places of the items between a checkpoint and the one before; none if there is no such checkpoint."""
        plan = self.plan
        if plan is None or not 1 <= checkpoint <= len(plan.checkpoints):
            return np.empty(0, dtype=np.intp)
        return plan.new_places(checkpoint)

    def count_part(self, models: Iterable[str], missing: Mapping[str, int]) -> None:
        """Count what these models lack in a part of the first pass."""
        self.partial.update(models)
        self.missing.update(missing)

    def count_replicate(self, models: Iterable[str], missing: Mapping[str, int]) -> None:
        """Count a replicate of these models, and what they lack in it."""
        if not self.replicates:  # what the parts of the first pass lack is among what it lacks
            for model in models:
                self.missing.pop(model, None)
        self.replicates += 1
        self.partial.difference_update(models)
        self.missing.update(missing)

    def note_look(self) -> None:
        """Remember the counts of a look after a replicate."""
        for view, looks in self.looks_at.items():
            graph = self._graph(view)
            looks.append(LookCount(replicate=self.replicates, edges=graph.n_edges, resolved_pairs=graph.n_resolved))

    def note_part(self, checkpoint: Checkpoint, *, models: int) -> None:
        """Remember the counts of a look at a checkpoint, with so many models running."""
        for view, looks in self.parts_at.items():
            graph = self._graph(view)
            looks.append(
                PartCount(checkpoint=checkpoint, models=models, edges=graph.n_edges, resolved_pairs=graph.n_resolved)
            )

    def _graph(self, view: str) -> Graph:
        return Graph(joined_edges(self.models, self.stages, view))

    @property
    def last_looks(self) -> Mapping[str, LookCount | PartCount]:
        """The last look at each view, inside the first pass or after a replicate."""
        history: Mapping[str, list[LookCount] | list[PartCount]] = self.looks_at if self.replicates else self.parts_at
        return {view: looks[-1] for view, looks in history.items()}

    def outcome(self, found: Found) -> Outcome:
        """What the last look showed; ``found`` is what it certified for the first time."""
        headline, *others = ((name, self._outcome(name, look, found)) for name, look in self.last_looks.items())
        seen = headline[1]
        return Outcome(look=seen.look, current=seen.current, certified=seen.certified, views=dict(others))

    def _outcome(self, view: str, look: LookCount | PartCount, found: Found) -> ViewOutcome:
        return ViewOutcome(
            look=Tally(edges=look.edges, resolved_pairs=look.resolved_pairs),
            current={stage.claim: np.packbits(stage.current_edges(view)).tobytes() for stage in self.stages},
            certified=tuple(found.get(view, ())),
        )
