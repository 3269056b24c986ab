"""A version of the benchmark on a board: its items and models, its claims, and the looks at them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from msgspec.structs import asdict
from numpy.typing import NDArray

from bbedge.board.passes import part_number
from bbedge.board.stage import Found, Stage, joined_edges
from bbedge.core.checkpoints import Checkpoint, PassPlan, pass_plan
from bbedge.core.copies import CopySearch, Fingerprint
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import LookCount
from bbedge.core.looks import PartCount
from bbedge.core.views import HEADLINE
from bbedge.errors import BoardError
from bbedge.ledger.vectors import missing_checksum
from bbedge.records.events import (
    AttemptOutcome,
    ModelAdded,
    Outcome,
    PartAdded,
    PilotAdded,
    ReplicateAdded,
    Tally,
    ViewOutcome,
)
from bbedge.text import quoted


@dataclass(slots=True, kw_only=True)
class KnownReplicate:
    """What identifies a stored replicate, besides its scores."""

    runs: set[str]
    """The identities of its runs, as far as they have any; those of models that joined later are among them."""
    has_gaps: bool
    """Whether any score is missing."""


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
    known: list[KnownReplicate] = field(default_factory=list)
    """What the ledger says of every replicate, pilots first."""
    part_runs: set[str] = field(default_factory=set)
    """The identities of the runs in the parts of the first pass."""
    copies: CopySearch = field(init=False)
    """The checksums of all stored scores, pilots first."""
    nothing: str = field(init=False)
    """The checksum of a run without any score, which repeats nothing."""
    attempts: dict[int, list[AttemptOutcome | None]] = field(default_factory=dict)
    """What became of every attempt at each replicate, pilots included; ``None`` if it has not ended."""
    looks_at: dict[str, list[LookCount]] = field(default_factory=lambda: {HEADLINE: []})
    """The history of looks at all its stages together, by view; the headline's is :attr:`looks`."""
    parts_at: dict[str, list[PartCount]] = field(default_factory=lambda: {HEADLINE: []})
    """The same of the looks inside the first pass; the headline's is :attr:`parts`."""

    def __post_init__(self) -> None:
        self.copies, self.nothing = CopySearch(self.blocks), missing_checksum(len(self.items))

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

    def place_at(self, position: int) -> int:
        """Where the replicate at a position, from 0 and with the pilots first, is stored."""
        return position - self.pilots + 1 if position >= self.pilots else -1 - position

    def count_at(self, place: int) -> int:
        """The number of scores of a model that are stored at a place."""
        checkpoint = part_number(place)
        return len(self.items) if checkpoint is None else len(self.new_places(checkpoint))

    def follow_part(self, part: PartAdded) -> None:
        """Count a part of the first pass."""
        self.part_runs.update(part.runs)
        self.partial.update(part.vectors)
        self.missing.update(part.gaps)

    def follow_replicate(self, added: PilotAdded | ReplicateAdded) -> None:
        """Count a replicate or a pilot, what it lacks, and what identifies it."""
        self.known.append(KnownReplicate(runs=set(added.runs), has_gaps=bool(added.gaps)))
        self.copies.add(
            {model: Fingerprint(digest=each) for model, each in added.vectors.items() if each != self.nothing}
        )
        if isinstance(added, PilotAdded):
            self.pilots += 1
            return
        if not self.replicates:  # what the parts of the first pass are and lack is part of what it is and lacks
            self.known[-1].runs |= self.part_runs
            for model in added.vectors:
                self.missing.pop(model, None)
        self.replicates += 1
        self.partial.difference_update(added.vectors)
        self.missing.update(added.gaps)
        for stage in self.stages:
            if not added.vectors.keys().isdisjoint(stage.design.models):
                stage.places.append(self.replicates)

    def follow_model(self, joined: ModelAdded) -> None:
        """Count the runs of a model whose stage was opened."""
        self.missing.update({joined.model: sum(joined.gaps)})
        self.stages[-1].places.extend(range(1, len(joined.vectors) + 1))
        for run, digest in enumerate(joined.vectors):
            stored = self.known[self.pilots + run]
            stored.runs.update(joined.runs[run] if joined.runs else ())
            stored.has_gaps |= any(joined.gaps[run : run + 1])
            if digest != self.nothing:
                self.copies.join(self.pilots + run, joined.model, Fingerprint(digest=digest))

    def follow_look(self, outcome: Outcome, checkpoint: Checkpoint | None = None, *, models: int = 0) -> None:
        """Remember the counts of a look: after a replicate, or at a checkpoint with so many models running."""
        seen: Mapping[str, Outcome | ViewOutcome] = {**outcome.views, HEADLINE: outcome}
        for view in self.looks_at:
            if view not in seen:
                raise BoardError(f"a look at the view {quoted(view)} is not recorded; verify the board")
            counts = asdict(seen[view].look)
            if checkpoint is None:
                self.looks_at[view].append(LookCount(replicate=self.replicates, **counts))
            else:
                self.parts_at[view].append(PartCount(checkpoint=checkpoint, models=models, **counts))

    def outcome(self, found: Found) -> Outcome:
        """What the last look showed; ``found`` is what it certified for the first time."""
        headline, *others = ((view, self._outcome(view, found)) for view in self.looks_at)
        return Outcome(**asdict(headline[1]), views=dict(others))

    def _outcome(self, view: str, found: Found) -> ViewOutcome:
        graph = Graph(joined_edges(self.models, self.stages, view))
        return ViewOutcome(
            look=Tally(edges=graph.n_edges, resolved_pairs=graph.n_resolved),
            current={stage.claim: np.packbits(stage.current_edges(view)).tobytes() for stage in self.stages},
            certified=tuple(found.get(view, ())),
        )
