"""The gate itself: bounds of the differences that a policy names, look by look, and the verdicts they give."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bbedge.core.checkpoints import Checkpoints, pass_plan
from bbedge.core.design import Design
from bbedge.core.evidence_set import EvidenceSet
from bbedge.core.growth import Forecast, pilot_outlooks
from bbedge.core.leaderboard import COUNTED, scored_items
from bbedge.core.scores import Scores
from bbedge.core.suite import suite_options
from bbedge.core.views import HEADLINE
from bbedge.errors import DataError, DesignError, DomainError
from bbedge.gate.first_run import FirstRun
from bbedge.gate.policy import EVERY, Claim, Policy, nearest
from bbedge.gate.report import ClaimResult, GateReport, LookResult, Outlook, Verdict
from bbedge.text import quoted

Matrix = NDArray[np.float64]

_POWER = 0.8
_REFERENCE = "\x00reference"  # no reader makes such a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two means that are compared: a candidate's in a view, and what it is compared with."""

    candidate: str
    """The candidate."""
    view: str
    """The view."""
    baseline: str | None
    """The system that it is compared with; ``None`` for a floor."""
    floor: float | None = None
    """A constant score on the [0, 1] scale."""
    cheaper: float = 0.0
    """The part by which the baseline's distance from the best score is shortened first."""

    def reference(self, panel: Matrix, models: Sequence[str]) -> Matrix:
        """The scores that the candidate is compared with."""
        if self.baseline is None:
            return np.full(panel.shape[1], self.floor)
        row: Matrix = panel[models.index(self.baseline)]
        return 1.0 - (1.0 - self.cheaper) * (1.0 - row) if self.cheaper else row


class Gate:
    """Takes in runs one by one and keeps the bounds of every difference that the policy names.

    All of alpha goes to bounds. Each difference has two directions, all differences have equal parts of alpha, and
    nothing else is tested: see "Margins" in ``docs/guarantees.md``.

    **Guarantee:** with probability at least ``1 - alpha`` every bound at every look is right, and with them every
    PASS (the claim is true) and every FAIL (it is false).

    **Needs:** what :class:`bbedge.core.evidence.Evidence` needs, and a policy chosen beforehand.
    """

    def __init__(self, policy: Policy, scores: Scores, *, checkpoints: Checkpoints | None = None) -> None:
        self._policy, self._scores, self._checkpoints = policy, scores, checkpoints
        self._candidates = candidates_of(policy, scores.models)
        self._weights = _weights(policy, scores)
        self._claims = [
            (candidate, claim) for candidate in self._candidates for claim in _spread(policy, tuple(self._weights))
        ]
        of_claims = [self._comparison(candidate, claim) for candidate, claim in self._claims]
        comparisons = list(dict.fromkeys(of_claims))
        self._of_claims = [comparisons.index(each) for each in of_claims]
        self._comparisons = comparisons
        self._sets = [EvidenceSet(self._design(each, len(comparisons))) for each in comparisons]
        self._evidence = [each.headline for each in self._sets]
        self._looks: list[list[LookResult]] = [[] for _ in self._claims]
        self._panels: list[Matrix] = []

    def _comparison(self, candidate: str, claim: Claim) -> Comparison:
        _check_range(claim, self._scores.score_range, self._policy.source)
        if claim.kind == "at_least":
            low, high = self._scores.score_range
            floor = (claim.amount - low) / (high - low)
            return Comparison(candidate=candidate, view=claim.view, baseline=None, floor=floor)
        cheaper = claim.amount if claim.kind == "cheaper_by" else 0.0
        return Comparison(candidate=candidate, view=claim.view, baseline=self._policy.baseline, cheaper=cheaper)

    def _design(self, comparison: Comparison, count: int) -> Design:
        design = Design.make(
            [comparison.candidate, _REFERENCE],
            self._scores.items,
            blocks=self._scores.blocks,
            alpha=self._policy.alpha,
            evidence=self._policy.evidence,
            weights=self._weights[comparison.view],
            planned=self._policy.budget,
            margin_share=0.0,
            gaps=self._scores.gaps,
            checkpoints=self._checkpoints,
        )
        return design if count == 1 else design.with_share(1.0 / count)

    def update(self, panel: Matrix) -> None:
        """Take in the next run: one row per model of the scores, one column per item."""
        for comparison, evidence in zip(self._comparisons, self._sets, strict=True):
            evidence.update(self._pair(comparison, panel))
        self._panels.append(panel)
        self._look()

    def update_part(self, panel: Matrix) -> None:
        """Take in the first run up to its next checkpoint: one column per new item, in the order of the run."""
        for comparison, evidence in zip(self._comparisons, self._sets, strict=True):
            evidence.update_part(self._pair(comparison, panel))
        self._look()

    @property
    def _part(self) -> float | None:
        """The part of the first run that is there; ``None`` if the last run is complete."""
        evidence = self._evidence[0]
        plan, number = pass_plan(evidence.design), evidence.checkpoint
        return None if plan is None or not number else plan.checkpoints[number - 1].fraction

    def _look(self) -> None:
        part = self._part
        bounds = [evidence.lower_bounds() for evidence in self._evidence]
        for (_, claim), place, looks in zip(self._claims, self._of_claims, self._looks, strict=True):
            lower, upper = float(bounds[place][0, 1]), -float(bounds[place][1, 0])
            width = self._width
            looks.append(
                LookResult(
                    replicate=self._evidence[place].run,
                    part=part,
                    verdict=_verdict(lower, upper, self._bar(claim)),
                    lower=lower * width,
                    upper=upper * width,
                )
            )

    def _pair(self, comparison: Comparison, panel: Matrix) -> Matrix:
        """The scores of the candidate and those that it is compared with."""
        models = self._scores.models
        return np.stack([panel[models.index(comparison.candidate)], comparison.reference(panel, models)])

    @property
    def _width(self) -> float:
        low, high = self._scores.score_range
        return high - low

    def _bar(self, claim: Claim) -> float:
        """What the difference must exceed, on the [0, 1] scale."""
        if claim.kind == "not_worse_by":
            return -claim.amount / self._width
        return claim.amount / self._width if claim.kind == "better_by" else 0.0

    def report(self) -> GateReport:
        """What is known now."""
        if not self._evidence[0].run:
            raise DataError("the gate has no runs yet; add at least one")
        results = self.results()
        outlooks = zip(results, self._of_claims, strict=True)
        return GateReport(
            policy=self._policy,
            replicates=self._evidence[0].replicates,
            part=self._part,
            items=len(self._scores.items),
            results=tuple(
                replace(result, outlook=self._outlook(result, self._evidence[place].design, place))
                if result.since is None and self._panels
                else result
                for result, place in outlooks
            ),
            notes=(*(note.text for note in self._scores.notes), *self._over_some_items()),
        )

    def _over_some_items(self) -> Iterator[str]:
        """Which means are over some of the items: differences that were seen of them compare different items."""
        systems = {self._policy.baseline, *(comparison.candidate for comparison in self._comparisons)}
        counts = scored_items(self._panels).sum(axis=1) if self._panels else ()
        for model, count in zip(self._scores.models, counts, strict=False):
            if model in systems and count < len(self._scores.items):
                yield (
                    f"The mean of {quoted(model)} is over {count:,} of {len(self._scores.items):,} items: a "
                    "difference that was seen compares different items. Verdicts and intervals hold all the same."
                )

    def results(self) -> tuple[ClaimResult, ...]:
        """What is known of every claim, without forecasts, which take longer."""
        return tuple(
            self._result(candidate, claim, place, looks)
            for (candidate, claim), place, looks in zip(self._claims, self._of_claims, self._looks, strict=True)
        )

    def _result(self, candidate: str, claim: Claim, place: int, looks: list[LookResult]) -> ClaimResult:
        evidence, bar = self._evidence[place], self._bar(claim)
        design = evidence.design
        decided = next((look for look in looks if look.verdict != "OPEN"), None)
        means = evidence.means
        return ClaimResult(
            claim=claim,
            candidate=candidate,
            verdict="OPEN" if decided is None else decided.verdict,
            since=None if decided is None else decided.replicate,
            since_part=None if decided is None else decided.part,
            difference=float(means[0] - means[1]) * self._width,
            lower=max(look.lower for look in looks),
            upper=min(look.upper for look in looks),
            bar=bar * self._width,
            log_e=float(evidence.log_e_above(bar)[0, 1]),
            log_e_against=float(evidence.log_e_above(-bar)[1, 0]),
            log_threshold=math.log(design.n_directions / (design.share * design.alpha)),
            looks=tuple(looks),
        )

    def _outlook(self, result: ClaimResult, design: Design, place: int) -> Outlook:
        pairs = [self._pair(self._comparisons[place], panel) for panel in self._panels]
        panels = np.nan_to_num(np.stack(pairs), nan=0.5)
        forecast = Forecast(design=design, outlook=pilot_outlooks(panels, design)[0])
        done = len(panels)
        resolvable = forecast.smallest_gap(done, power=_POWER)
        distance = abs(result.difference - result.bar) / self._width
        needed = forecast.replicates_for(distance, power=_POWER) if distance > 0.0 else None
        return Outlook(
            resolvable=None if resolvable is None else resolvable * self._width,
            more_runs=None if needed is None else max(1, needed - done),
        )


def gate(policy: Policy, scores: Scores, *, first_run: FirstRun | None = None) -> GateReport:
    """Apply a policy to scores, looking after each run, and inside the first one where a study has done so.

    >>> steps = np.repeat([[1.0], [0.0]], 40, axis=1)
    >>> scores = Scores.of(steps, models=["new", "old"], items=[f"q{i}" for i in range(40)])
    >>> claim = Claim(kind="not_worse_by", amount=0.02)
    >>> gate(Policy(candidates=("new",), baseline="old", claims=(claim,)), scores).release
    'ship'
    """
    if policy.spending == "ledger":
        raise DesignError(
            f"{policy.source}: spending = 'ledger' shares alpha among all uses of the gate, which must be recorded; "
            "name the ledger"
        )
    return applied(policy, checked(policy, scores), first_run).report()


def applied(policy: Policy, scores: Scores, first_run: FirstRun | None = None) -> Gate:
    """The gate that has taken in these runs, part by part where the first one has parts."""
    made = Gate(policy, scores, checkpoints=None if first_run is None else first_run.checkpoints)
    for part in () if first_run is None else first_run.parts:
        made.update_part(part)
    for panel in scores.values:
        made.update(panel)
    return made


def checked(policy: Policy, scores: Scores) -> Scores:
    """The scores, with a note if repeated runs count; those that a gate cannot use are refused."""
    if scores.stops is not None:
        raise DataError("a gate needs every run of every system that it compares; one was stopped early")
    scores.check_copies(policy.copies)
    if policy.copies == "allow" and scores.copies:
        return replace(scores, notes=(*scores.notes, COUNTED))
    return scores


def _verdict(lower: float, upper: float, bar: float) -> Verdict:
    return "PASS" if lower > bar else "FAIL" if upper < bar else "OPEN"


def _check_range(claim: Claim, score_range: tuple[float, float], source: str) -> None:
    """Refuse what is true or false of all scores in the range, whatever the systems do."""
    low, high = score_range
    if claim.kind == "at_least" and not low < claim.amount < high:
        raise DomainError(
            f"{source}: at_least = {claim.amount:g} is not inside the score range {low:g} to {high:g}; every mean is "
            f"at least {low:g}, and none can be shown to reach {high:g}"
        )
    if claim.kind in ("not_worse_by", "better_by") and not claim.amount < high - low:
        raise DomainError(
            f"{source}: {claim.kind} = {claim.amount:g} is not below the width of the score range {low:g} to {high:g}, "
            "which no difference exceeds; margins are in score units"
        )


def candidates_of(policy: Policy, models: Sequence[str]) -> tuple[str, ...]:
    """The candidates by name, all of them in the scores."""
    named = policy.candidates
    if named == (EVERY,):
        named = tuple(model for model in models if model != policy.baseline)
    for name in (*named, *(() if policy.baseline is None else (policy.baseline,))):
        if name not in models:
            raise DesignError(f"{policy.source}: {quoted(name)} is not a model of the scores{nearest(name, models)}")
    if not named:
        raise DesignError(f"{policy.source}: the scores have no model but the baseline {quoted(models[0])}")
    return named


def _weights(policy: Policy, scores: Scores) -> dict[str, tuple[float, ...] | None]:
    """The item weights of the headline and of every view."""
    options = suite_options(
        scores, macro=policy.macro, weights=policy.weights, views=policy.views, metric=policy.metric
    )
    weights: dict[str, tuple[float, ...] | None] = {HEADLINE: options.get("weights")}
    return weights | dict(options.get("views", {}))


def _spread(policy: Policy, views: Sequence[str]) -> list[Claim]:
    """The claims, those about every view as one for each."""
    claims = []
    for place, claim in enumerate(policy.claims, 1):
        if claim.view != EVERY and claim.view not in views:
            raise DesignError(
                f"{policy.source}, claim {place}: {quoted(claim.view)} is not a view of the scores"
                f"{nearest(claim.view, views)}"
            )
        names = [name for name in views if name != HEADLINE] if claim.view == EVERY else [claim.view]
        claims += [replace(claim, view=name) for name in names]
    return claims
