"""The uses of a gate, as its ledger has them: labels, levels, what each has seen, and what that decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import fsum

import numpy as np
from numpy.typing import NDArray

from bbedge.core.checkpoints import FirstRunPlan, planned_first_run
from bbedge.core.family import Spending
from bbedge.core.scores import Scores
from bbedge.core.views import HEADLINE, METRIC
from bbedge.errors import BoardError, DesignError
from bbedge.gate.gate import FirstRun, Gate, gate_after_runs, usable_scores
from bbedge.gate.verdicts import candidates_of
from bbedge.ledger.chain import checksum, unpack_scores
from bbedge.ledger.store import Session
from bbedge.records.events import checkpoint_place, upto_at
from bbedge.records.gate import ItemListing, UseBegun, UseDecided
from bbedge.records.notes import Note
from bbedge.records.policy import COST, EVERY, Policy
from bbedge.text import quoted


def level_of(policy: Policy, use: int) -> float:
    """The level of use 1, 2, ... of a gate; 0 when nothing is left.

    **Guarantee:** with ``spending = "ledger"`` the levels of any number of uses sum to at most ``alpha``.
    """
    if policy.spending == "each-run":
        return policy.alpha
    spending = Spending() if policy.shares is None else Spending(rule="equal", shares=policy.shares)
    return spending.level(use - 1, alpha=policy.alpha)


def systems_of(policy: Policy, models: Sequence[str]) -> tuple[str, ...]:
    """The candidates, then the baseline if there is one."""
    return (*candidates_of(policy, models), *(() if policy.baseline is None else (policy.baseline,)))


def scores_of_systems(policy: Policy, scores: Scores) -> Scores:
    """What a ledger keeps of scores: the systems of the policy, and the item columns that it uses."""
    systems = systems_of(policy, scores.models)
    rows = [scores.models.index(name) for name in systems]
    names = (*policy.columns, *((METRIC,) if policy.metric is not None else ()))
    columns = {name: tuple(texts) for name, texts in scores.columns.items() if name in names}
    return replace(scores, models=systems, values=scores.values[:, rows], columns=columns, seen=None)


def scores_to_plan(policy: Policy, items: Sequence[str], blocks: Sequence[str]) -> Scores:
    """Scores without runs, of the systems of a policy on these items."""
    if policy.columns or policy.candidates == (EVERY,):
        raise DesignError(
            f"{policy.source} has views, weights or candidates that only scores can name; pass the scores of a pilot"
        )
    systems = systems_of(policy, (*policy.candidates, *filter(None, [policy.baseline])))
    return Scores(
        models=systems,
        items=tuple(items),
        blocks=tuple(blocks),
        replicates=(),
        values=np.zeros((0, len(systems), len(items))),
    )


def check_costs(
    policy: Policy, metrics: Sequence[str], ranges: Mapping[str, tuple[float, float]], *, views: Sequence[str]
) -> None:
    """Refuse ``cheaper_by`` for a mean whose best value is not 0: only then is it a part of the baseline's cost.

    ``metrics`` are those of the headline, ``ranges`` the declared ones; a view that is not among ``views`` does not
    exist, which the gate says.
    """
    for claim in policy.claims:
        if claim.kind == "cheaper_by":
            is_metric = policy.views == METRIC and claim.view != HEADLINE
            if is_metric and claim.view not in (EVERY, *views):
                continue
            name = claim.view if is_metric else metrics[0] if len(metrics) == 1 else None
            if name is None or ranges.get(name, (0.0, 1.0))[1] != 0.0:
                raise DesignError(
                    f"{policy.source}: cheaper_by needs a metric whose best value is 0; declare the most that is "
                    f"possible and 0, for instance [metric_ranges] {name or 'cost'} = [1.0, 0.0]"
                    + ("" if name else f', and name the metric: metric = "{COST}"')
                )


@dataclass(slots=True, kw_only=True)
class UseState:
    """What the events of a use say."""

    begun: UseBegun
    """How it began."""
    listing: ItemListing
    """Its items."""
    at: str
    """When its last event was recorded."""
    inside: dict[int, dict[str, str]] = field(default_factory=dict)
    """By the blocks before each checkpoint of the first run, the checksums of what came with it, by system."""
    runs: list[dict[str, str]] = field(default_factory=list)
    """The checksums of the scores of each complete run, by system."""
    notes: tuple[Note, ...] = ()
    """What the reader noticed when the last scores came."""
    decided: UseDecided | None = None
    """The last report."""

    @property
    def called(self) -> str:
        """The use in a message."""
        return f"use {self.begun.use} ({quoted(self.begun.label)})"

    @property
    def seen(self) -> tuple[int, int]:
        """How many complete runs and checkpoints came."""
        return len(self.runs), len(self.inside)

    @property
    def is_decided(self) -> bool:
        """Whether the last report is about all scores that came."""
        return self.decided is not None and (self.decided.runs, self.decided.checkpoints) == self.seen

    @property
    def plan(self) -> FirstRunPlan | None:
        """How the first run is divided."""
        given = self.begun.checkpoints
        return None if given is None else planned_first_run(self.listing.items, self.listing.blocks, given)

    @property
    def no_runs(self) -> Scores:
        """What its scores are about."""
        begun, listing = self.begun, self.listing
        return Scores(
            models=begun.systems,
            items=listing.items,
            blocks=listing.blocks,
            replicates=(),
            values=np.zeros((0, len(begun.systems), len(listing.items))),
            score_range=begun.scale,
            columns=listing.columns,
            gaps=begun.gaps,
            notes=self.notes,
        )

    def scores(self, session: Session, runs: int) -> Scores:
        """Its first complete runs, as they are stored."""
        panels = [self._panel(session, run, sums) for run, sums in enumerate(self.runs[:runs], start=1)]
        found = self.no_runs
        labels = tuple(str(run) for run in range(1, len(panels) + 1))
        return replace(found, replicates=labels, values=np.array(panels) if panels else found.values)

    def first_run(self, session: Session, passed: int) -> FirstRun | None:
        """Its first run up to so many checkpoints, as it is stored; ``None`` if there are no looks inside it."""
        checkpoints = self.begun.checkpoints
        if checkpoints is None:
            return None
        found = islice(self.inside.items(), passed)
        panels = {upto: self._panel(session, checkpoint_place(upto), sums) for upto, sums in found}
        return FirstRun(checkpoints=checkpoints, panels=panels)

    def _panel(self, session: Session, place: int, sums: dict[str, str]) -> NDArray[np.float64]:
        """Stored scores whose checksums are those of the event that brought them."""
        stored, count = session.vectors(self.begun.use, place), len(self.listing.items)
        upto, plan, which = upto_at(place), self.plan, f"run {place}"
        if upto is not None and plan is not None:
            number = next(each.number for each in plan.checkpoints if each.blocks == upto)
            count, which = len(plan.new_places(number)), f"checkpoint {number}"
        rows = []
        for model in self.begun.systems:
            if model not in stored or checksum(stored[model], count) != sums[model]:
                raise BoardError(
                    f"{self.called}: the scores of {quoted(model)} in {which} are missing or were changed; restore the "
                    "ledger from a copy or an export"
                )
            row = unpack_scores(stored[model], count)
            inside = (row >= 0.0) & (row <= 1.0) | (np.isnan(row) & (self.begun.gaps == "worst-case"))
            if not inside.all():
                raise BoardError(f"{self.called}: a score of {quoted(model)} in {which} is outside the score range")
            rows.append(row)
        return np.array(rows)


@dataclass(slots=True, kw_only=True)
class GateState:
    """What the events of a ledger say so far."""

    policy: Policy
    """The policy of every use."""
    listings: dict[str, ItemListing] = field(default_factory=dict)
    """The items of uses, by digest."""
    uses: list[UseState] = field(default_factory=list)
    """The uses, in order."""
    labels: dict[str, UseState] = field(default_factory=dict)
    """The same by label."""

    @property
    def next_level(self) -> float:
        """The level of the next use; 0 when nothing is left."""
        return level_of(self.policy, len(self.uses) + 1)

    @property
    def spent(self) -> float:
        """The sum of the levels."""
        return fsum(use.begun.level for use in self.uses)

    def gate(self, use: UseState, session: Session, seen: tuple[int, int] | None = None) -> Gate:
        """The policy at the level of a use, applied to its stored scores, or to what it had seen earlier."""
        runs, passed = seen or use.seen
        policy = self.policy.changed(alpha=use.begun.level)
        scores = use.scores(session, runs)
        scores = usable_scores(policy.changed(copies="allow"), scores)  # what was admitted counts
        first_run = use.first_run(session, passed)
        inside = None if first_run is None else first_run.completed(scores)
        return gate_after_runs(policy, scores, inside)
