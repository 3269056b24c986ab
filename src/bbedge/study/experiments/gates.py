"""Gates of a pipeline, looked at after every run: how often their verdicts are wrong, and how often they change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, betaincinv, stdtrit

from bbedge.core.arrays import Floats, Ints
from bbedge.core.scores import Scores
from bbedge.gate import Claim, Gate, Policy
from bbedge.study.contenders import so_far
from bbedge.study.study import Record, RepetitionSeeds, Study, StudyColumn

Verdicts = Ints
"""What a gate says after each run: 1 for PASS, -1 for FAIL, 0 for OPEN."""

OURS, ALONE = "bbedge gate", "bbedge gate, last look alone"
_CODES = {"PASS": 1, "OPEN": 0, "FAIL": -1, "CONTRADICTION": 0}
_SHAPE = 0.46  # of the Beta distribution whose p (1 - p) is 0.12 on the average, as in the demo data


def chances(n_items: int, difference: float) -> Floats:
    """Probabilities of right answers of the new and the old system, whose means differ by exactly this.

    Most items are nearly always or nearly never solved: the midpoint quantiles of a Beta distribution with mean 1/2.
    """
    old = betaincinv(_SHAPE, _SHAPE, (np.arange(n_items) + 0.5) / n_items)
    # A part of the right answers, or of the wrong ones, changes sides on every item, so that none leaves [0, 1].
    part = difference / (old.mean() if difference < 0.0 else 1.0 - old.mean())
    return np.stack([old * (1.0 + part) if difference < 0.0 else old + part * (1.0 - old), old])


def t_test(panels: Floats, margin: float, alpha: float) -> Verdicts:
    """PASS or FAIL if the t interval of the mean difference, paired by item, lies on one side of the margin.

    **Repeated looks:** not covered.
    """
    r, n = np.arange(1, len(panels) + 1), panels.shape[2]
    by_item = np.cumsum(panels[:, 0] - panels[:, 1], axis=0) / r[:, None]
    mean = by_item.mean(axis=1)
    half = stdtrit(n - 1.0, 1.0 - alpha / 2.0) * by_item.std(axis=1, ddof=1) / np.sqrt(n)
    return np.where(mean - half > -margin, 1, np.where(mean + half < -margin, -1, 0))


def mcnemar(panels: Floats, margin: float, alpha: float) -> Verdicts:
    """FAIL if the exact test of McNemar finds the new system worse, else PASS; it knows no margin.

    **Repeated looks:** not covered.
    """
    gained, lost = (np.cumsum((panels[:, one] > panels[:, other]).sum(axis=1)) for one, other in ((0, 1), (1, 0)))
    p = np.minimum(1.0, 2.0 * bdtr(np.minimum(gained, lost), gained + lost, 0.5))
    return np.where((p < alpha) & (lost > gained), -1, 1)


def threshold(panels: Floats, margin: float, alpha: float) -> Verdicts:
    """FAIL if the mean of all runs so far is lower by more than the margin, else PASS. It controls no error."""
    means = panels.mean(axis=2)
    so_far = np.cumsum(means[:, 0] - means[:, 1]) / np.arange(1, len(panels) + 1)
    return np.where(so_far < -margin, -1, 1)


def threshold_of_last(panels: Floats, margin: float, alpha: float) -> Verdicts:
    """The same for the last run alone, as a pipeline does that evaluates anew."""
    means = panels.mean(axis=2)
    return np.where(means[:, 0] - means[:, 1] < -margin, -1, 1)


RIVALS: dict[str, Callable[[Floats, float, float], Verdicts]] = {
    "t-test gate": t_test,
    "McNemar gate": mcnemar,
    "threshold, all runs": threshold,
    "threshold, last run": threshold_of_last,
}
"""What pipelines use instead; from runs x (new, old) x items to a verdict after each run."""


def looks_of_gate(panels: Floats, margin: float, alpha: float) -> Verdicts:
    """What our gate says at each look by itself."""
    scores = Scores.of(panels, models=("new", "old"), items=[f"q{i}" for i in range(panels.shape[2])])
    claims = (Claim(kind="not_worse_by", amount=margin),)
    gate = Gate(Policy(candidates=("new",), baseline="old", claims=claims, alpha=alpha), scores)
    for panel in panels:
        gate.update(panel)
    return np.array([_CODES[look.verdict] for look in gate.results()[0].looks])


def standing(verdicts: Verdicts) -> Verdicts:
    """The first verdict that was not open, from then on."""
    first = int(np.argmax(verdicts != 0))
    return np.where(np.arange(len(verdicts)) >= first, verdicts[first], 0)


def verdict_measures(shown: Verdicts, at_looks: Verdicts, *, distance: float) -> dict[str, Floats]:
    """What was wrong, what changed, and what passed.

    ``distance`` is the true difference less what the claim asks for; at 0 the claim is false, and FAIL is right. A
    verdict that stands still counts as changed if a later look says the opposite.
    """
    passed, failed = at_looks == 1, at_looks == -1
    back = (failed & np.logical_or.accumulate(passed)) | (passed & np.logical_or.accumulate(failed))
    changed = np.zeros(len(shown), dtype=np.bool_)
    changed[1:] = (shown[:-1] != 0) & (shown[1:] != shown[:-1])
    return {
        "wrong": so_far((passed & (distance <= 0.0)) | (failed & (distance > 0.0))),
        "failed": so_far(failed),
        "reversed": so_far(back),
        "flipped": so_far(changed | back),
        "passed": (shown == 1).astype(np.float64),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipelines:
    """Runs of two systems whose true difference is known, with every gate applied after each run."""

    name: str
    """What the setting is called."""
    difference: float
    """True difference, new less old."""
    margin: float = 0.02
    """The claim is that the new system is not worse by more than this."""
    n_items: int = 1319
    """Number of items."""
    looks: int = 10
    """Runs of a pipeline."""
    alpha: float = 0.05
    """Error level."""

    def panels(self, rng: np.random.Generator) -> Floats:
        """The runs of one pipeline: runs x (new, old) x items."""
        both = chances(self.n_items, self.difference)
        return (rng.random((self.looks, *both.shape)) < both).astype(np.float64)

    def repeat(self, seeds: RepetitionSeeds) -> Record:
        """Run one pipeline."""
        panels = self.panels(seeds.rng("panels"))
        ours = looks_of_gate(panels, self.margin, self.alpha)
        said = {OURS: ours, ALONE: ours}
        said |= {name: rival(panels, self.margin, self.alpha) for name, rival in RIVALS.items()}
        return {
            (name, metric): values
            for name, at_looks in said.items()
            for metric, values in verdict_measures(
                standing(at_looks) if name == OURS else at_looks, at_looks, distance=self.difference + self.margin
            ).items()
        }


STUDY = Study(
    name="gates",
    title="Gates that do not flap",
    question="If a pipeline asks after every run whether a new system is worse by more than two points, how often is "
    "the verdict wrong, and how often does it change?",
    source="ours",
    setup="Two systems answer 1,319 items right or wrong, in up to 10 runs. The probabilities of the old one are "
    "quantiles of a Beta distribution whose noise per item is that of the demo data (variance 0.12); the new one is "
    "the same system, or loses a part of its right answers. The claim is `not_worse_by = 0.02` with alpha 0.05, and "
    "every gate is asked after every run. **bbedge gate**: PASS, FAIL or OPEN, and the first verdict stands; **last "
    "look alone**: the same without memory. **t-test gate**: PASS or FAIL if the 95 % t interval of all runs so far, "
    "paired by item, lies on one side of the margin. **McNemar gate**: FAIL if the exact test on all runs so far finds "
    "the new system worse at 5 %, else PASS. **threshold**: FAIL if the mean is lower by more than 0.02, of all runs "
    "so far or of the last run.",
    settings=tuple(
        Pipelines(name=name, difference=difference)
        for name, difference in (
            ("identical systems", 0.0),
            ("worse by 0.01", -0.01),
            ("worse by 0.02, the margin", -0.02),
            ("worse by 0.05", -0.05),
        )
    ),
    figure=("wrong", "flipped", "passed"),
    table=(
        StudyColumn(metric="wrong"),
        StudyColumn(metric="failed"),
        StudyColumn(metric="reversed"),
        StudyColumn(metric="flipped"),
        StudyColumn(metric="passed", at=1),
        StudyColumn(metric="passed", at=5),
        StudyColumn(metric="passed"),
    ),
    notes=(
        "At the margin exactly the claim is false, and PASS is wrong: a gate without a verdict OPEN has to be wrong in "
        "many pipelines there, or to stop many systems that are good enough.",
        "McNemar's test asks whether the systems differ at all: where the new system is worse by 0.01, which the "
        "policy allows, more runs only make it more likely to stop the release.",
    ),
)
