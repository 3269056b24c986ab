"""Gates whose differences are exactly at the bar: any PASS at any look is wrong, and any FAIL is right by nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.core.evidence_set import EvidenceSet
from bbedge.core.forecast import Forecast, PairAssumptions
from bbedge.core.scores import Scores
from bbedge.gate import Claim, Gate, Policy, verdicts
from bbedge.gate.verdicts import AGAINST, FOR
from bbedge.study.experiments.gates import chances
from calibration.binomial_rule import breaks
from calibration.repetitions import ALPHA, show

Draw = Callable[[np.random.Generator], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class AtMargin:
    """A policy, and systems whose differences are exactly what the claims ask for."""

    draw: Draw
    """Runs x models x items."""
    claims: tuple[Claim, ...]
    models: tuple[str, ...] = ("new", "old")
    baseline: str | None = "old"
    topics: tuple[str, ...] = ()
    options: dict[str, object] = field(default_factory=dict)

    def scores(self, values: np.ndarray) -> Scores:
        items = [f"q{i}" for i in range(values.shape[2])]
        made = Scores.of(values, models=self.models, items=items)
        return replace(made, columns={"topic": self.topics} if self.topics else {}, gaps="worst-case")

    def policy(self, alpha: float) -> Policy:
        return Policy(
            candidates=("*",),
            baseline=self.baseline,
            claims=self.claims,
            alpha=alpha,
            views="topic" if self.topics else None,
            **self.options,
        )


def answers(rows, *, looks) -> Draw:
    rows = np.asarray(rows, dtype=float)
    return lambda rng: (rng.random((looks, *rows.shape)) < rows).astype(float)


def withheld(rng: np.random.Generator) -> np.ndarray:
    """The new system is worse by exactly 0.2, and hides a quarter of its failures."""
    values = answers([[0.4] * 20, [0.6] * 20], looks=15)(rng)
    hidden = (values[:, 0] == 0.0) & (rng.random(values[:, 0].shape) < 0.25)
    values[:, 0] = np.where(hidden, np.nan, values[:, 0])
    return values


def drawn(chances, parts, *, items, looks, is_fixed=False) -> Draw:
    """New items of some kinds in every repetition; each kind has a chance for each system, and a part of the items.

    If answers are fixed, every run repeats the first one.
    """

    def draw(rng: np.random.Generator) -> np.ndarray:
        kinds = np.asarray(chances, dtype=float)[:, rng.choice(len(parts), size=items, p=parts)]
        runs = (rng.random((1 if is_fixed else looks, *kinds.shape)) < kinds).astype(float)
        return np.repeat(runs, looks, axis=0) if is_fixed else runs

    return draw


def claim(kind, amount, **more):
    return Claim(kind=kind, amount=amount, **more)


SETTINGS = {
    "one item, worse by the margin": AtMargin(
        draw=answers([[0.4], [0.6]], looks=40), claims=(claim("not_worse_by", 0.2),)
    ),
    "60 items, worse by the margin": AtMargin(
        draw=answers(chances(60, -0.02), looks=15), claims=(claim("not_worse_by", 0.02),)
    ),
    "better by the margin, and at the floor": AtMargin(
        draw=answers([[0.6], [0.4]], looks=40), claims=(claim("better_by", 0.2), claim("at_least", 0.6))
    ),
    "cheaper by exactly a quarter": AtMargin(  # costs 0.6 and 0.8
        draw=answers([[0.4], [0.2]], looks=40), claims=(claim("cheaper_by", 0.25),)
    ),
    "equal systems in four views": AtMargin(
        draw=answers([[0.5] * 4] * 2, looks=30),
        claims=(claim("not_worse_by", 0.0), claim("better_by", 0.0, view="*")),
        topics=tuple("abcd"),
    ),
    "the new system hides failures": AtMargin(draw=withheld, claims=(claim("not_worse_by", 0.2),)),
    "eight candidates at a floor": AtMargin(
        draw=answers([[0.5]] * 8, looks=40),
        claims=(claim("at_least", 0.5),),
        models=tuple("abcdefgh"),
        baseline=None,
    ),
    "equal within the margin, worse by all of it": AtMargin(
        draw=answers([[0.4], [0.6]], looks=40), claims=(claim("equal_within", 0.2),)
    ),
    "60 items, better by the margin of two claims": AtMargin(
        draw=answers(chances(60, 0.05), looks=15), claims=(claim("equal_within", 0.05), claim("better_by", 0.05))
    ),
    "one item, all of two runs": AtMargin(  # 0.36 and 0.16
        draw=answers([[0.6], [0.4]], looks=40), claims=(claim("better_by", 0.2),), options={"of_runs": "all:2"}
    ),
}

# What is at the bar is the mean over all items that could have been drawn: each repetition draws items of its own.
NEW = {"target": "new-items", "budget": 5}
OPPOSED = ([[0.9, 0.2], [0.3, 0.9]], [0.5, 0.5])  # either system is good at half of the items; new is worse by 0.05
SKEWED = ([[0.55, 0.0], [0.45, 0.9]], [0.9, 0.1])  # a little better on nine of ten, much worse on the tenth: equal
NEW_ITEMS = {
    "opposed items, worse by the margin": AtMargin(
        draw=drawn(*OPPOSED, items=60, looks=5), claims=(claim("not_worse_by", 0.05),), options=NEW
    ),
    "skewed items, equal": AtMargin(
        draw=drawn(*SKEWED, items=60, looks=5), claims=(claim("better_by", 0.0),), options=NEW
    ),
    "skewed items, equal, on a schedule without a plan": AtMargin(
        draw=drawn(*SKEWED, items=30, looks=16), claims=(claim("better_by", 0.0),), options={"target": "new-items"}
    ),
    "fixed answers, looked at again and again": AtMargin(
        draw=drawn([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]], [0.3, 0.3, 0.4], items=40, looks=5, is_fixed=True),
        claims=(claim("better_by", 0.0), claim("at_least", 0.5)),
        options=NEW,
    ),
    "one run of a quiet benchmark": AtMargin(
        draw=drawn([[0.97], [0.95]], [1.0], items=200, looks=1),
        claims=(claim("better_by", 0.02),),
        options=NEW | {"budget": 1},
    ),
    "equal within the margin, worse by all of it": AtMargin(
        draw=drawn(*OPPOSED, items=60, looks=5), claims=(claim("equal_within", 0.05),), options=NEW
    ),
    "better by the margin of two claims": AtMargin(
        draw=drawn(OPPOSED[0][::-1], OPPOSED[1], items=60, looks=5),
        claims=(claim("equal_within", 0.05), claim("better_by", 0.05)),
        options=NEW,
    ),
    "any of two runs": AtMargin(  # 0.96 and 0.36, 0.51 and 0.99: worse by 0.09
        draw=drawn([[0.8, 0.2], [0.3, 0.9]], [0.5, 0.5], items=60, looks=5),
        claims=(claim("not_worse_by", 0.09),),
        options=NEW | {"of_runs": "any:2"},
    ),
}


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """Of how many pipelines some claim was PASS, was FAIL, or had an interval without its difference, at some look."""

    passed: int
    failed: int
    missed: int


def wrong_runs(setting: AtMargin, *, n: int, seed: int, alpha: float = ALPHA, batch: int = 500) -> Wrong:
    """At the bar PASS is wrong. FAIL would be wrong if the difference were larger by nothing at all."""
    rng, counts = np.random.default_rng(seed), np.zeros(3, dtype=int)
    for size in [batch] * (n // batch) + ([n % batch] if n % batch else []):
        values = np.stack([setting.draw(rng) for _ in range(size)], axis=1)  # runs x pipelines x models x items
        gate = Gate(setting.policy(alpha), setting.scores(values[:, 0]))
        tests = [[EvidenceSet(side.headline.design, batch=(size,)) for side in both] for both in gate._tests]
        intervals = [EvidenceSet(each.headline.design, batch=(size,)) for each in gate._intervals]
        found, missed = np.zeros((size, len(gate._hypotheses), 2), dtype=bool), np.zeros(size, dtype=bool)
        for panel in values:
            pairs = {
                means: np.moveaxis(means.pair(np.moveaxis(panel, 0, 2), setting.models), 2, 0) for means in gate._means
            }
            for bar, (ahead, back) in zip(gate._bars, tests, strict=True):
                ahead.update(pairs[bar.means])
                back.update(pairs[bar.means][:, ::-1])
            of_bars = np.stack([[side.headline.log_e()[:, 0, 1] for side in both] for both in tests])
            log_e = np.stack([each.log_e(of_bars[[*map(gate._bars.index, each.bars)]]) for each in gate._hypotheses])
            found |= verdicts.certified(np.moveaxis(log_e, 2, 0), gate._level)
            for means, interval in zip(gate._means, intervals, strict=True):
                interval.update(pairs[means])
                (true, *_) = sorted({each.bar for each in gate._hypotheses if each.means == means}, reverse=True)
                bounds = interval.headline.lower_bounds()
                missed |= (bounds[:, 0, 1] > true) | (-bounds[:, 1, 0] < true)
        counts += [found[:, :, 0].any(axis=1).sum(), found[:, :, 1].any(axis=1).sum(), missed.sum()]
    return Wrong(passed=int(counts[0]), failed=int(counts[1]), missed=int(counts[2]))


def check(name: str, *, n: int, seed: int, settings: dict[str, AtMargin] = SETTINGS) -> None:
    """PASS and FAIL have four fifths of alpha, each; intervals have the rest."""
    wrong = wrong_runs(settings[name], n=n, seed=seed)
    show(f"at the bar, {name}: PASS {wrong.passed}, FAIL {wrong.failed}, intervals {wrong.missed} of {n}")
    assert not breaks(wrong.passed, n, alpha=0.8 * ALPHA)
    assert not breaks(wrong.failed, n, alpha=0.8 * ALPHA)
    assert not breaks(wrong.missed, n, alpha=0.2 * ALPHA)


@pytest.mark.parametrize("name", SETTINGS)
def test_verdicts_at_the_bar_are_rare(name):
    check(name, n=60, seed=1)


@pytest.mark.nightly
@pytest.mark.parametrize("name", SETTINGS)
def test_verdicts_at_the_bar_are_rare_in_many_repetitions(name):
    check(name, n=10_000, seed=2)


@pytest.mark.parametrize("name", NEW_ITEMS)
def test_verdicts_about_new_items_are_rare_at_the_bar(name):
    check(name, n=60, seed=5, settings=NEW_ITEMS)


@pytest.mark.nightly
@pytest.mark.parametrize("name", NEW_ITEMS)
def test_verdicts_about_new_items_are_rare_at_the_bar_in_many_repetitions(name):
    check(name, n=10_000, seed=6, settings=NEW_ITEMS)


@pytest.mark.nightly
def test_verdicts_about_these_items_are_caught_where_others_are_meant():
    """Items that are drawn anew are not what the evidence of these items is about: it is too sure of them."""
    n = 300
    draw = drawn(*OPPOSED, items=60, looks=20)
    planted = wrong_runs(AtMargin(draw=draw, claims=(claim("not_worse_by", 0.05),)), n=n, seed=7)
    show(f"evidence of these items for new ones: planted {planted.passed}/{n}")
    assert breaks(planted.passed, n, alpha=0.8 * ALPHA)


def test_a_gate_gives_the_verdicts_that_are_counted_here():
    setting = SETTINGS["better by the margin, and at the floor"]
    values = setting.draw(np.random.default_rng(14))
    gate = Gate(setting.policy(0.5), setting.scores(values))
    for panel in values:
        gate.update(panel)
    results = gate.results()
    assert any(each.verdict != "OPEN" for each in results)
    for each in results:
        for direction, evidence in ((FOR, each.log_e), (AGAINST, each.log_e_against)):
            reached = evidence >= each.log_threshold
            assert reached == (each.looks[-1].verdict == ("PASS", "FAIL")[direction])


@pytest.mark.nightly
def test_a_threshold_without_the_number_of_claims_is_caught(monkeypatch):
    """Eight candidates, each held against 1 / alpha as if it were the only one."""
    setting, n = SETTINGS["eight candidates at a floor"], 500
    honest = wrong_runs(setting, n=n, seed=4)
    monkeypatch.setattr(verdicts, "certified", lambda log_e, alpha: log_e >= -np.log(alpha))
    planted = wrong_runs(setting, n=n, seed=4)
    show(f"threshold without K: honest {honest.passed}/{n}, planted {planted.passed}/{n}")
    assert not breaks(honest.passed, n, alpha=0.8 * ALPHA)
    assert breaks(planted.passed, n, alpha=0.8 * ALPHA)


def test_a_verdict_from_the_point_estimate_is_caught(monkeypatch):
    setting, n = SETTINGS["60 items, worse by the margin"], 60
    monkeypatch.setattr(verdicts, "certified", lambda log_e, alpha: log_e > log_e[..., ::-1])
    planted = wrong_runs(setting, n=n, seed=3)
    show(f"verdict from the point estimate: planted {planted.passed}/{n}")
    assert breaks(planted.passed, n, alpha=0.8 * ALPHA)


# Power -----------------------------------------------------------------------------------------------------------


def gate_design(n_items: int, margin: float) -> Design:
    """The design of the evidence for one claim about two systems."""
    scores = Scores.of(np.zeros((1, 2, n_items)), models=["new", "old"], items=[f"q{i}" for i in range(n_items)])
    policy = Policy(candidates=("new",), baseline="old", claims=(claim("not_worse_by", margin),))
    return Gate(policy, scores)._tests[0][FOR].headline.design


def passes(design: Design, *, looks: int, n: int, seed: int, batch: int = 50) -> np.ndarray:
    """Whether each of ``n`` pipelines says PASS at each look: looks x n."""
    rng, found, both = np.random.default_rng(seed), [], chances(len(design.items), 0.0)
    for _ in range(n // batch):
        evidence = Evidence(design, batch=(batch,))
        at_looks = []
        for _ in range(looks):
            evidence.update((rng.random((batch, *both.shape)) < both).astype(float))
            at_looks.append(evidence.log_e()[:, 0, 1] >= -np.log(design.certificate_alpha))
        found.append(np.stack(at_looks))
    return np.concatenate(found, axis=1)


def runs_for(shares: np.ndarray, level: float) -> float:
    """After how many runs a rising curve reaches a level, between looks along a straight line."""
    after = int(np.argmax(shares >= level))
    before = shares[after - 1] if after else 0.0
    return after + (level - before) / (shares[after] - before)


def check_forecast(n_items: int, margin: float, *, n: int, seed: int) -> None:
    design, looks, both = gate_design(n_items, margin), 14, chances(n_items, 0.0)
    noise = float((both * (1.0 - both)).sum(axis=0).mean() / 4.0)
    now = passes(design, looks=looks, n=n, seed=seed)
    forecast = Forecast(design=design, assumed=PairAssumptions(noise=noise, unevenness=0.0))
    expected = np.array([forecast.power(0.0, r) for r in range(1, looks + 1)])
    for name, found in (("at the look", now), ("at any look so far", np.logical_or.accumulate(now, axis=0))):
        for level in (0.5, 0.8, 0.9):
            seen, foreseen = runs_for(found.mean(axis=1), level), runs_for(expected, level)
            show(f"{n_items} items, PASS {name} in {level:.0%} of {n}: after {seen:.2f} runs, forecast {foreseen:.2f}")
            assert abs(seen / foreseen - 1.0) < 0.1


@pytest.mark.nightly
def test_equal_systems_pass_when_the_forecast_says():
    check_forecast(1319, 0.02, n=1000, seed=6)
