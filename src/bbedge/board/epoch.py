"""A version of the benchmark on a board: its items and models, its claims, and the looks at them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from msgspec.structs import asdict
from numpy.typing import NDArray

from bbedge.board.stage import Found, Stage, joined_edges
from bbedge.core.checkpoints import Checkpoint, FirstRunPlan, first_run_plan
from bbedge.core.copies import CopySearch, Fingerprint
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import LookCount
from bbedge.core.views import HEADLINE
from bbedge.errors import BoardError
from bbedge.ledger.vectors import missing_checksum
from bbedge.records.events import (
    AttemptOutcome,
    ModelAdded,
    Outcome,
    PilotAdded,
    ReplicateAdded,
    Tally,
    ViewOutcome,
    upto_at,
)
from bbedge.text import quoted

_NOWHERE = np.empty(0, dtype=np.intp)


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
    """Models with scores up to a checkpoint of the first run, and no complete replicate."""
    missing: Counter[str] = field(default_factory=Counter)
    """Missing scores of each model that lacks any, over all that is in the evidence."""
    stages: list[Stage] = field(default_factory=list)
    """Its claims."""
    known: list[KnownReplicate] = field(default_factory=list)
    """What the ledger says of every replicate, pilots first."""
    runs_inside: set[str] = field(default_factory=set)
    """The identities of the runs that came at checkpoints of the first one."""
    copies: CopySearch = field(init=False)
    """The checksums of all stored scores, pilots first."""
    nothing: str = field(init=False)
    """The checksum of a run without any score, which repeats nothing."""
    attempts: dict[int, list[AttemptOutcome | None]] = field(default_factory=dict)
    """What became of every attempt at each replicate, pilots included; ``None`` if it has not ended."""
    looks_at: dict[str, list[LookCount]] = field(default_factory=lambda: {HEADLINE: []})
    """The history of looks at all its stages together, by view, those at checkpoints first."""

    def __post_init__(self) -> None:
        self.copies, self.nothing = CopySearch(self.blocks), missing_checksum(len(self.items))

    @property
    def looks(self) -> list[LookCount]:
        """The history of looks at the headline after complete replicates."""
        return [look for look in self.looks_at[HEADLINE] if look.upto is None]

    @property
    def passed(self) -> int:
        """How many checkpoints of the first run were looked at."""
        return len(self.looks_at[HEADLINE]) - len(self.looks)

    @property
    def has_scores(self) -> bool:
        """Whether anything was run."""
        return bool(self.replicates or self.pilots or self.passed)

    @property
    def plan(self) -> FirstRunPlan | None:
        """How the first pass is run; ``None`` without checkpoints, and before a pilot has opened a claim."""
        return first_run_plan(self.stages[0].design) if self.stages else None

    @property
    def is_inside_first_run(self) -> bool:
        """Whether the first run has come to a checkpoint, and is not complete."""
        return self.passed > 0 and not self.replicates

    @property
    def next_checkpoint(self) -> Checkpoint | None:
        """The checkpoint of the first pass that comes next; ``None`` if there is none before the pass is complete."""
        plan = self.plan
        return None if plan is None or self.replicates else plan.checkpoint_after(self.passed)

    @property
    def next_items(self) -> tuple[str, ...]:
        """The items to run next in the first pass, in their order: up to the next checkpoint, or all that are left.

        Empty without checkpoints, and once the pass is complete.
        """
        return tuple(self.items[place] for place in self.next_places)

    @property
    def next_places(self) -> NDArray[np.intp]:
        """The places of :attr:`next_items` among all items."""
        plan = self.plan
        return _NOWHERE if plan is None or self.replicates else plan.new_places(self.passed + 1)

    @property
    def seen_places(self) -> NDArray[np.intp]:
        """The places of the items before the last checkpoint of the first pass that was looked at, in the run order."""
        plan = self.plan
        return _NOWHERE if plan is None else plan.places(self.passed)

    def place_at(self, position: int) -> int:
        """Where the replicate at a position, from 0 and with the pilots first, is stored."""
        return position - self.pilots + 1 if position >= self.pilots else -1 - position

    def count_at(self, place: int) -> int:
        """The number of scores of a model that are stored at a place; none up to a checkpoint that is not planned."""
        upto, plan = upto_at(place), self.plan
        if upto is None:
            return len(self.items)
        planned = () if plan is None else plan.checkpoints
        return sum(len(plan.new_places(each.number)) for each in planned if plan is not None and each.blocks == upto)

    def follow_replicate(self, added: PilotAdded | ReplicateAdded) -> None:
        """Count a replicate, a pilot or what came up to a checkpoint, what it lacks, and what identifies it."""
        if isinstance(added, ReplicateAdded) and added.upto:
            self.runs_inside.update(added.runs)
            self.partial.update(added.vectors)
            self.missing.update(added.gaps)
            return
        self.known.append(KnownReplicate(runs=set(added.runs), has_gaps=bool(added.gaps)))
        self.copies.add(
            {model: Fingerprint(digest=each) for model, each in added.vectors.items() if each != self.nothing}
        )
        if isinstance(added, PilotAdded):
            self.pilots += 1
            return
        if not self.replicates:  # what the first run was and lacked at its checkpoints belongs to it
            self.known[-1].runs |= self.runs_inside
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

    def follow_look(self, outcome: Outcome, upto: int | None = None, *, models: int = 0) -> None:
        """Remember the counts of a look: after a replicate, or at a checkpoint with so many models running."""
        replicate = self.replicates if upto is None else 1
        seen: Mapping[str, Outcome | ViewOutcome] = {**outcome.views, HEADLINE: outcome}
        for view in self.looks_at:
            if view not in seen:
                raise BoardError(f"a look at the view {quoted(view)} is not recorded; verify the board")
            count = LookCount(replicate=replicate, **asdict(seen[view].look), upto=upto, models=models)
            self.looks_at[view].append(count)

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
