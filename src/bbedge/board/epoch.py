"""A version of the benchmark on a board: its items and models, its claims, and the looks at them.

A claim, or stage, is a family of directions tested at one level. The stages of a version make up one leaderboard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from msgspec import UNSET
from msgspec.structs import asdict
from numpy.typing import NDArray

from bbedge.board.stage import Found, Stage, all_views
from bbedge.core.checkpoints import Checkpoint, FirstRunPlan, first_run_plan
from bbedge.core.copies import CopySearch, ScoreFingerprint
from bbedge.core.design import Design
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Leaderboard
from bbedge.core.looks import EarlyRecord, LookCount
from bbedge.core.views import HEADLINE
from bbedge.errors import BoardError
from bbedge.ledger.chain import missing_checksum
from bbedge.records.events import (
    AttemptOutcome,
    Outcome,
    PilotAdded,
    ReplicateAdded,
    Tally,
    ViewOutcome,
    upto_at,
)
from bbedge.records.values import changed
from bbedge.text import quoted


def combined(
    design: Design, stages: Sequence[Stage], *, replicates: int, looks: Mapping[str, Sequence[LookCount]]
) -> Leaderboard:
    """The leaderboard of the epoch's design with those of its views; ``looks`` are the histories by view."""
    of_views: dict[str, list[tuple[Stage, Leaderboard]]] = {name: [] for name in all_views(design)}
    for stage in stages:
        whole = stage.certifier.leaderboard()
        for name, found in zip(stage.views, (whole, *whole.views), strict=True):
            of_views[name].append((stage, found))
    headline, *others = (
        _joined(part, of_views[name], looks=looks.get(name, ()), replicates=replicates)
        for part, name in zip(design.parts, of_views, strict=True)
    )
    views = (replace(each, name=view.name) for each, view in zip(others, design.views, strict=True))
    return replace(headline, design=design, views=tuple(views))


def _joined(
    design: Design, of_stages: Sequence[tuple[Stage, Leaderboard]], *, looks: Sequence[LookCount], replicates: int
) -> Leaderboard:
    """The leaderboard of one view, from those of every stage of an epoch."""
    has_intervals = bool(design.mean_share) and not design.target
    place = {model: i for i, model in enumerate(design.models)}
    blank = dict.fromkeys(("log_e", "log_thresholds", "lower_bounds", "best_bounds", "log_w"), np.nan)
    none_yet = {"edges": False, "current_edges": False, "first_certified": np.int64(0), "first_checkpoint": np.int64(0)}
    of_pairs = {name: np.full((len(place), len(place)), value) for name, value in (blank | none_yet).items()}
    means = np.full(len(place), np.nan)
    of_means = {name: np.tile([0.0, 1.0], (len(place), 1)) for name in ("mean_bounds", "best_mean_bounds")}
    for stage, board in of_stages:
        # A claim that is continued has models that were retired before the epoch.
        there = np.array([model in place for model in stage.design.models])
        index = np.array([place[model] for model in stage.design.models if model in place])
        window, its = np.ix_(index, index), np.ix_(there, there)
        replicate_of = np.array([0, *(stage.places or (1,))], dtype=np.int64)  # none yet inside the first
        found = {name: getattr(board, name, None) for name in of_pairs}
        found["first_certified"] = replicate_of[board.first_certified]
        found["first_checkpoint"] = None if board.early is None else board.early.first_certified
        for name, values in found.items():
            if values is not None:
                of_pairs[name][window] = np.where(stage.design.tested[its], values[its], of_pairs[name][window])
        # A model's mean is that of the stage that saw most of it: the first that has it.
        means[index] = np.where(np.isnan(means[index]), board.means[there], means[index])
        own = [stage.newcomer in (None, model) for model in stage.design.models]
        for name, bounds in of_means.items():
            if (values := getattr(board, name)) is not None:  # of a newcomer's stage, its own alone
                bounds[index[own]] = values[own]
    joined = Leaderboard(
        design=design,
        replicates=replicates,
        means=means,
        graph=Graph(of_pairs["edges"]),
        current_edges=of_pairs["current_edges"],
        first_certified=of_pairs["first_certified"],
        looks=tuple(look for look in looks if look.upto is None),
        log_e=of_pairs["log_e"],
        log_thresholds=of_pairs["log_thresholds"],
        lower_bounds=of_pairs["lower_bounds"],
        best_bounds=of_pairs["best_bounds"],
        log_w=of_pairs["log_w"] if any(board.log_w is not None for _, board in of_stages) else None,
        mean_bounds=of_means["mean_bounds"] if has_intervals else None,
        best_mean_bounds=of_means["best_mean_bounds"] if has_intervals else None,
        fitted_stakes=tuple(
            changed(each, newcomer=stage.newcomer or UNSET)
            for stage, board in of_stages
            for each in board.fitted_stakes
        ),
    )
    plan = first_run_plan(design)
    if plan is None:
        return joined
    opening = next((board.early for stage, board in of_stages if stage.newcomer is None), None)
    early = EarlyRecord(
        checkpoints=plan.checkpoints,
        is_complete=replicates > 0,
        looks=tuple(look for look in looks if look.upto is not None),
        first_certified=of_pairs["first_checkpoint"],
        position=None if opening is None else opening.position,
    )
    return replace(joined, early=early)


def joined_edges(models: Sequence[str], stages: Sequence[Stage], view: str) -> NDArray[np.bool_]:
    """Everything certified in a view, by any stage."""
    place = {model: i for i, model in enumerate(models)}
    edges = np.zeros((len(place), len(place)), dtype=np.bool_)
    for stage in stages:
        there = [model in place for model in stage.design.models]
        index = [place[model] for model in stage.design.models if model in place]
        edges[np.ix_(index, index)] |= stage.edges(view)[np.ix_(there, there)]
    return edges


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
    """The seed of the order in which the blocks of the first run come; ``None`` without checkpoints."""
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
    def earlier(self) -> tuple[int, ...]:
        """Of new items: how many runs each earlier batch of items had had before this version."""
        return max((stage.earlier for stage in self.stages), key=len, default=())

    @property
    def is_joined(self) -> bool:
        """Whether what it shows is put together from several claims, or from evidence of earlier versions."""
        return len(self.stages) != 1 or bool(self.stages[0].batches)

    @property
    def has_scores(self) -> bool:
        """Whether anything was run."""
        return bool(self.replicates or self.pilots or self.passed)

    @property
    def plan(self) -> FirstRunPlan | None:
        """How the first run is divided; ``None`` without checkpoints, and before a pilot has opened a claim."""
        return first_run_plan(self.stages[0].design) if self.stages else None

    @property
    def is_inside_first_run(self) -> bool:
        """Whether the first run has come to a checkpoint, and is not complete."""
        return self.passed > 0 and not self.replicates

    @property
    def next_checkpoint(self) -> Checkpoint | None:
        """The checkpoint of the first run that comes next; ``None`` if there is none before the run is complete."""
        plan = self.plan
        return None if plan is None or self.replicates else plan.checkpoint_after(self.passed)

    @property
    def next_items(self) -> tuple[str, ...]:
        """The items to run next in the first run, in their order: up to the next checkpoint, or all that are left.

        Empty without checkpoints, and once the run is complete.
        """
        return tuple(self.items[place] for place in self.next_places)

    @property
    def next_places(self) -> NDArray[np.intp]:
        """The places of :attr:`next_items` among all items."""
        plan = self.plan
        return _NOWHERE if plan is None or self.replicates else plan.new_places(self.passed + 1)

    @property
    def seen_places(self) -> NDArray[np.intp]:
        """The places of the items before the last checkpoint of the first run that was looked at, in the run order."""
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
            {model: ScoreFingerprint(digest=each) for model, each in added.vectors.items() if each != self.nothing}
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

    def follow_model(self, model: str, replicate: int, digest: str, runs: Iterable[str], gaps: int) -> None:
        """Count a run of a model that joined later: its checksum, its identities and how many scores are missing."""
        position = self.pilots + replicate - 1
        self.missing.update({model: gaps})
        self.known[position].runs.update(runs)
        self.known[position].has_gaps |= gaps > 0
        if digest != self.nothing:
            self.copies.join(position, model, ScoreFingerprint(digest=digest))

    def follow_look(
        self, outcome: Outcome, runs_of: Iterable[tuple[Stage, int]], upto: int | None = None, *, models: int = 0
    ) -> None:
        """Remember the counts of a look: after a replicate, or at a checkpoint with so many models running.

        ``runs_of`` has the stages with new scores, and the runs of each: a view is looked at where one says so.
        """
        replicate = self.replicates if upto is None else 1
        seen: Mapping[str, Outcome | ViewOutcome] = {**outcome.views, HEADLINE: outcome}
        are_looks = [stage.is_look(runs) for stage, runs in runs_of]
        for view in self.looks_at:
            if view not in seen:
                raise BoardError(f"a look at the view {quoted(view)} is not recorded; verify the board")
            if any(is_look.get(view) for is_look in are_looks):
                tally = asdict(seen[view].look)
                self.looks_at[view].append(LookCount(replicate=replicate, **tally, upto=upto, models=models))

    def outcome(self, found: Found) -> Outcome:
        """What the last look showed; ``found`` is what it certified for the first time."""
        headline, *others = ((view, self._outcome(view, found)) for view in self.looks_at)
        return Outcome(**asdict(headline[1]), views=dict(others))

    def _outcome(self, view: str, found: Found) -> ViewOutcome:
        graph = Graph(joined_edges(self.models, self.stages, view))
        return ViewOutcome(
            look=Tally(edges=graph.n_edges, resolved_pairs=graph.n_resolved),
            current={
                stage.claim: np.packbits(stage.current_edges(view)).tobytes()
                for stage in self.stages
                if view in stage.views
            },
            certified=tuple(found.get(view, ())),
        )
