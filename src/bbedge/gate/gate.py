"""The gate itself: evidence and bounds of the differences that a policy names, look by look, and what they decide.

Looks come after each run, and inside the first one where a study has looked there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from bbedge.core.checkpoints import Checkpoints, first_run_plan, planned_first_run
from bbedge.core.design import Design
from bbedge.core.evidence_set import EvidenceSet
from bbedge.core.forecast import Forecast, PairAssumptions, pilot_assumptions
from bbedge.core.forecast_new_items import BETWEEN_SHARE, NewItemsForecast
from bbedge.core.item_batch import joined_runs
from bbedge.core.leaderboard import COUNTED, REPEATED
from bbedge.core.panels import scored_items
from bbedge.core.scores import Scores
from bbedge.errors import DataError, DesignError
from bbedge.gate.verdicts import (
    AGAINST,
    FOR,
    Bar,
    ClaimForecast,
    ComparedMeans,
    Hypothesis,
    candidates_of,
    certified,
    check_range,
    claims_by_view,
    implied,
    log_thresholds,
    verdict_of,
    view_weights,
    with_looks,
)
from bbedge.records.gate import ClaimResult, GateReport, LookResult
from bbedge.records.options import MARGIN_SHARE, declared
from bbedge.records.policy import Claim, Policy
from bbedge.text import quoted

Matrix = NDArray[np.float64]

_REFERENCE = "\x00reference"  # no reader makes such a name


class Gate:
    """Takes in runs one by one and keeps the evidence for and against every claim of a policy, and the intervals.

    Verdicts have four fifths of alpha and are certified by e-Holm over the claims; intervals of the differences have
    the rest, in equal parts: see "Gates" in ``docs/guarantees.md``.

    **Guarantee:** with probability at least ``1 - alpha`` every interval at every look is right, and with them every
    PASS (the claim is true) and every FAIL (it is false).

    With ``target="new-items"`` this is true of new items of the same kind, and verdicts and intervals change only at
    the looks of the policy's schedule. With ``of_runs`` there is a look where there is another score.

    **Needs:** what :class:`bbedge.core.evidence.Evidence` needs, or :class:`bbedge.core.new_items.NewItemsEvidence`,
    and a policy chosen beforehand.
    """

    def __init__(self, policy: Policy, scores: Scores, *, checkpoints: Checkpoints | None = None) -> None:
        self._policy, self._scores, self._checkpoints = policy, scores, checkpoints
        self._candidates = candidates_of(policy, scores.models)
        self._weights = view_weights(policy, scores)
        claims = claims_by_view(policy, tuple(self._weights))
        self._claims = [(candidate, claim) for candidate in self._candidates for claim in claims]
        of_claims = [self._hypothesis(candidate, claim) for candidate, claim in self._claims]
        self._hypotheses = list(dict.fromkeys(of_claims))
        self._means = list(dict.fromkeys(each.means for each in self._hypotheses))
        self._of_claims = [self._hypotheses.index(each) for each in of_claims]
        self._bars = list(dict.fromkeys(bar for each in self._hypotheses for bar in each.bars))
        self._tests = [(self._test(each, FOR), self._test(each, AGAINST)) for each in self._bars]
        self._intervals = [EvidenceSet(self._interval_design(means)) for means in self._means]
        self._found = np.zeros((len(self._hypotheses), 2), dtype=np.bool_)
        self._bounds = np.tile([-1.0, 1.0], (len(self._means), 1))
        self._looks: list[list[LookResult]] = [[] for _ in self._hypotheses]
        self._contradicted: dict[int, LookResult] = {}
        self._panels: list[Matrix] = []

    def _hypothesis(self, candidate: str, claim: Claim) -> Hypothesis:
        check_range(claim, self._scores, self._policy.source)
        if claim.kind == "at_least":
            low, high = self._scores.score_range
            floor = (claim.amount - low) / (high - low)
            means = ComparedMeans(candidate=candidate, view=claim.view, baseline=None, floor=floor)
            return Hypothesis(means=means, bar=0.0)
        means = ComparedMeans(
            candidate=candidate,
            view=claim.view,
            baseline=self._policy.baseline,
            cheaper=claim.amount if claim.kind == "cheaper_by" else 0.0,
        )
        # What the difference must exceed, in score units.
        bars = {"not_worse_by": 0.0 - claim.amount, "better_by": claim.amount, "equal_within": 0.0 - claim.amount}
        most = claim.amount / self._width if claim.kind == "equal_within" else 1.0
        return Hypothesis(means=means, bar=bars.get(claim.kind, 0.0) / self._width, most=most)

    def _test(self, bar: Bar, direction: int) -> EvidenceSet:
        """The evidence that a difference exceeds a bar, or that it is at most that."""
        first, second = (bar.means.candidate, _REFERENCE)[:: 1 if direction == FOR else -1]
        design = self._design(
            (first, second),
            bar.means,
            alpha=self._policy.alpha,
            tau=bar.value if direction == FOR else -bar.value,
            candidate=(first,),
            margin_share=MARGIN_SHARE,
        )
        return EvidenceSet(design.with_values(share=1.0 / len(self._hypotheses)))

    def _interval_design(self, means: ComparedMeans) -> Design:
        models = (means.candidate, _REFERENCE)
        design = self._design(models, means, alpha=MARGIN_SHARE * self._policy.alpha, margin_share=0.0)
        return design.with_values(share=1.0 / len(self._means))

    def _design(self, models: Sequence[str], means: ComparedMeans, **levels: Any) -> Design:  # noqa: ANN401
        chosen: dict[str, Any] = {"holm": "direct", **levels}
        return self._scores.design(
            models,
            weights=self._weights[means.view],
            checkpoints=self._checkpoints,
            **{**declared(self._policy.options), **chosen},
        )

    def update(self, panel: Matrix, upto: int | None = None) -> None:
        """Take in the next run: one row per model of the scores, one column per item.

        With ``upto``, the blocks before the next checkpoint of the first run, one column per new item, in the order of
        the run.
        """
        pairs = {means: means.pair(panel, self._scores.models) for means in self._means}
        for bar, (ahead, back) in zip(self._bars, self._tests, strict=True):
            ahead.update(pairs[bar.means], upto)
            back.update(pairs[bar.means][::-1], upto)
        for means, interval in zip(self._means, self._intervals, strict=True):
            interval.update(pairs[means], upto)
        if upto is None:
            self._panels.append(panel)
        if upto is not None or all(self._evidence.headline.design.is_look(self._evidence.runs)):
            self._look()

    @property
    def _evidence(self) -> EvidenceSet:
        """Any of the evidence: all has seen the same runs."""
        return self._intervals[0]

    @property
    def _fraction(self) -> float | None:
        """How much of the first run is there; ``None`` if the last run is complete."""
        plan, number = first_run_plan(self._evidence.headline.design), self._evidence.checkpoint
        return None if plan is None or not number else plan.checkpoints[number - 1].fraction

    def _look(self) -> None:
        fraction, width = self._fraction, self._width
        now = implied(certified(self._log_e, self._level), self._hypotheses)
        self._found |= now
        bounds = [interval.headline.lower_bounds() for interval in self._intervals]
        at_look = np.array([[float(both[0, 1]), -float(both[1, 0])] for both in bounds])
        self._bounds[:, 0] = np.maximum(self._bounds[:, 0], at_look[:, 0])
        self._bounds[:, 1] = np.minimum(self._bounds[:, 1], at_look[:, 1])
        places = [self._means.index(each.means) for each in self._hypotheses]
        # What is certified is on the right side of its bar, on the same event on which intervals hold. That means are
        # not about equal says on which side they are only once something else rules out the other one.
        for number in sorted(range(len(places)), key=lambda number: -self._hypotheses[number].most):
            hypothesis, found, bounds = self._hypotheses[number], self._found[number], self._bounds[places[number]]
            if found[FOR]:
                bounds[:] = max(bounds[0], hypothesis.bar), min(bounds[1], hypothesis.most)
            if found[AGAINST] and bounds[1] <= hypothesis.most:
                bounds[1] = min(bounds[1], hypothesis.bar)
            if found[AGAINST] and bounds[0] >= hypothesis.bar and hypothesis.most < 1.0:
                bounds[0] = max(bounds[0], hypothesis.most)
        for number, place in enumerate(places):
            look = LookResult(
                replicate=self._evidence.run,
                fraction=fraction,
                verdict=verdict_of(now[number]),
                lower=float(at_look[place, 0]) * width,
                upper=float(at_look[place, 1]) * width,
                difference=None if fraction is not None else self._last_difference(place),
            )
            self._looks[number].append(look)
            if self._found[number].all() or self._bounds[place, 0] > self._bounds[place, 1]:
                self._contradicted.setdefault(number, look)

    def _last_difference(self, place: int) -> float | None:
        """The difference of two means in the last score, without what is missing; ``None`` if one has none."""
        means, options = self._means[place], self._policy.options
        weights = self._weights[means.view]
        last = joined_runs(np.stack(self._panels[-options.runs_of_score :]), options.of_runs or "", np)
        rows = np.ma.masked_invalid(means.pair(last, self._scores.models))
        first, second = np.ma.average(rows, axis=1, weights=weights)
        return None if first is np.ma.masked or second is np.ma.masked else float(first - second) * self._width

    @property
    def _log_e(self) -> Matrix:
        """The evidence for and against each claim."""
        of_bars = np.array([[float(side.headline.log_e()[0, 1]) for side in both] for both in self._tests])
        return np.array([each.log_e(of_bars[[*map(self._bars.index, each.bars)]]) for each in self._hypotheses])

    @property
    def _level(self) -> float:
        """The level of the verdicts."""
        return self._tests[0][FOR].headline.design.certificate_alpha

    @property
    def _width(self) -> float:
        low, high = self._scores.score_range
        return high - low

    def report(self, *, forecasts: bool = True) -> GateReport:
        """What is known now; ``forecasts`` of open claims take most of the time."""
        if not self._evidence.run:
            raise DataError("the gate has no runs yet; add at least one")
        results = self.results()
        if self._panels and forecasts and not self._policy.of_runs:
            results = tuple(
                structs.replace(result, outlook=forecast.outlook(result.difference, len(self._panels)))
                if result.verdict == "OPEN"
                else result
                for result, forecast in zip(results, self.forecasts(), strict=True)
            )
        return GateReport(
            policy=self._policy,
            replicates=self._evidence.runs,
            fraction=self._fraction,
            items=len(self._scores.items),
            results=results,
            notes=(*(note.text for note in self._scores.notes), *self._over_some_items()),
        )

    def _over_some_items(self) -> Iterator[str]:
        """Which means are over some of the items: differences that were seen of them compare different items."""
        systems = {self._policy.baseline, *self._candidates}
        counts = scored_items(self._panels).sum(axis=1) if self._panels else ()
        for model, count in zip(self._scores.models, counts, strict=False):
            if model in systems and count < len(self._scores.items):
                yield (
                    f"The mean of {quoted(model)} is over {count:,} of {len(self._scores.items):,} items: a "
                    "difference that was seen compares different items. Verdicts and intervals hold all the same."
                )

    def results(self) -> tuple[ClaimResult, ...]:
        """What is known of every claim, without forecasts, which take longer."""
        log_e = self._log_e
        thresholds = log_thresholds(log_e, self._level)
        return tuple(
            self._result(candidate, claim, number, log_e, thresholds)
            for (candidate, claim), number in zip(self._claims, self._of_claims, strict=True)
        )

    def _result(self, candidate: str, claim: Claim, number: int, log_e: Matrix, thresholds: Matrix) -> ClaimResult:
        looks, hypothesis = self._looks[number], self._hypotheses[number]
        place = self._means.index(hypothesis.means)
        decided = next((look for look in looks if look.verdict != "OPEN"), None)
        decided = self._contradicted.get(number, decided)
        means, (lower, upper) = self._intervals[place].headline.means, self._bounds[place].tolist()
        difference = float(means[0] - means[1])
        verdict = "CONTRADICTION" if number in self._contradicted else "OPEN" if decided is None else decided.verdict
        return ClaimResult(
            claim=claim,
            candidate=candidate,
            verdict=verdict,
            since=None if decided is None else decided.replicate,
            since_fraction=None if decided is None else decided.fraction,
            difference=None if math.isnan(difference) else difference * self._width,
            lower=lower * self._width,
            upper=upper * self._width,
            bar=hypothesis.bar * self._width,
            log_e=float(log_e[number, FOR]),
            log_e_against=float(log_e[number, AGAINST]),
            log_threshold=float(thresholds[number]),
            looks=tuple(looks),
        )

    def forecasts(self, noise: PairAssumptions | None = None) -> tuple[ClaimForecast, ...]:
        """When each claim will likely be decided, from the noise of the runs there are, or from that of two systems."""
        if self._policy.of_runs:
            raise DesignError(
                f"{self._policy.source}: there are no forecasts about scores that several runs make; leave out of_runs "
                "to plan"
            )
        return tuple(
            self._forecast(candidate, claim, self._hypotheses[number], noise)
            for (candidate, claim), number in zip(self._claims, self._of_claims, strict=True)
        )

    def _forecast(
        self, candidate: str, claim: Claim, hypothesis: Hypothesis, noise: PairAssumptions | None
    ) -> ClaimForecast:
        kind, assumed = NewItemsForecast if self._policy.target else Forecast, self._noise(hypothesis.means, noise)
        (ahead, back), *upper = (
            (
                kind(design=with_looks(to.headline.design), assumed=assumed),
                kind(design=with_looks(fro.headline.design), assumed=assumed),
            )
            for to, fro in (self._tests[self._bars.index(bar)] for bar in hypothesis.bars)
        )
        return ClaimForecast(
            claim=claim, candidate=candidate, ahead=ahead, back=back, upper=upper[0] if upper else None
        )

    def _noise(self, means: ComparedMeans, given: PairAssumptions | None) -> PairAssumptions:
        is_drawn, runs = bool(self._policy.target), len(self._panels)
        if given is not None:  # a floor has none of its own
            found, runs = (given if means.floor is None else replace(given, noise=given.noise / 2.0)), 1
        else:
            pairs = np.stack([means.pair(panel, self._scores.models) for panel in self._panels])
            design = self._intervals[self._means.index(means)].headline.design
            (found,) = pilot_assumptions(np.nan_to_num(pairs, nan=0.5), design, is_drawn=is_drawn)
        return found.with_between_share(BETWEEN_SHARE) if is_drawn and runs == 1 else found


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
    return gate_after_runs(policy, usable_scores(policy, scores), first_run).report()


def gate_after_runs(policy: Policy, scores: Scores, first_run: FirstRun | None = None) -> Gate:
    """The gate that has taken in these runs, the first one from checkpoint to checkpoint where it has any."""
    made = Gate(policy, scores, checkpoints=None if first_run is None else first_run.checkpoints)
    for upto, panel in {} if first_run is None else first_run.panels.items():
        made.update(panel, upto)
    for panel in scores.values:
        made.update(panel)
    return made


def usable_scores(policy: Policy, scores: Scores) -> Scores:
    """The scores, with a note if repeated runs count; those that a gate cannot use are refused."""
    if scores.stops is not None:
        raise DataError("a gate needs every run of every system that it compares; one was stopped early")
    if not policy.repeats_are_harmless:
        scores.check_copies(policy.copies)
    if scores.copies:
        return replace(scores, notes=(*scores.notes, REPEATED if policy.repeats_are_harmless else COUNTED))
    return scores


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FirstRun:
    """The looks inside the first run.

    **Needs:** the blocks were run in the order of the seed, which was drawn at random before the first request.
    """

    checkpoints: Checkpoints
    """The checkpoints and the order of the blocks, as the study has frozen them."""
    panels: Mapping[int, NDArray[np.float64]]
    """What came with each checkpoint that was passed, by the blocks before it: models x items, new items only, in the
    order of the run."""

    @classmethod
    def of_complete(cls, checkpoints: Checkpoints, scores: Scores) -> FirstRun:
        """The first of complete runs, divided at its checkpoints."""
        plan = planned_first_run(scores.items, scores.blocks, checkpoints)
        panels = {each.blocks: scores.values[0][:, plan.new_places(each.number)] for each in plan.checkpoints}
        return cls(checkpoints=checkpoints, panels=panels)

    def check_panels(self, scores: Scores) -> None:
        """Refuse panels that do not fit the checkpoints, or the models and items of the scores."""
        plan = planned_first_run(scores.items, scores.blocks, self.checkpoints)
        shapes = [(each.blocks, (len(scores.models), len(plan.new_places(each.number)))) for each in plan.checkpoints]
        if [(upto, panel.shape) for upto, panel in self.panels.items()] != shapes[: len(self.panels)]:
            raise DataError("the parts of the first run do not fit its checkpoints, models and items")

    def completed(self, scores: Scores) -> FirstRun:
        """The same first run once the scores have it whole, with every checkpoint passed; itself before that.

        A first run that differs from what was seen of it is refused.
        """
        if not len(scores.values):
            return self
        whole = FirstRun.of_complete(self.checkpoints, scores)
        if not all(np.array_equal(seen, whole.panels[upto], equal_nan=True) for upto, seen in self.panels.items()):
            raise DataError("the first run differs from the parts of it that were seen; give the scores of that run")
        return whole
