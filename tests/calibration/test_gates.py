"""Gates whose claims are true or false by nothing at all: any PASS or FAIL at any look is wrong."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.core.growth import Forecast, Outlook
from bbedge.core.scores import Scores
from bbedge.gate import Claim, Gate, Policy
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
}


def wrong_runs(setting: AtMargin, *, n: int, seed: int, alpha: float = ALPHA) -> int:
    """Pipelines in which some claim was PASS or FAIL at some look."""
    wrong = 0
    for rng in np.random.default_rng(seed).spawn(n):
        values = setting.draw(rng)
        made = Gate(setting.policy(alpha), setting.scores(values))
        for panel in values:
            made.update(panel)
            if any(looks[-1].verdict != "OPEN" for looks in made._looks):
                wrong += 1
                break
    return wrong


@pytest.mark.parametrize("name", SETTINGS)
def test_verdicts_at_the_margin_are_rare(name):
    wrong = wrong_runs(SETTINGS[name], n=30, seed=1)
    show(f"any verdict at the margin, {name}: {wrong}/30")
    assert not breaks(wrong, 30, alpha=ALPHA)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_verdicts_at_the_margin_are_rare_in_many_repetitions(name):
    wrong = wrong_runs(SETTINGS[name], n=1000, seed=2)
    show(f"any verdict at the margin, {name}: {wrong}/1000")
    assert not breaks(wrong, 1000, alpha=ALPHA)


def test_a_verdict_from_the_point_estimate_is_caught(monkeypatch):
    setting, n, module = SETTINGS["60 items, worse by the margin"], 60, sys.modules[Gate.__module__]
    honest = wrong_runs(setting, n=n, seed=3)
    monkeypatch.setattr(module, "_verdict", lambda low, high, bar: "PASS" if (low + high) / 2 > bar else "FAIL")
    planted = wrong_runs(setting, n=n, seed=3)
    show(f"verdict from the point estimate: honest {honest}/{n}, planted {planted}/{n}")
    assert not breaks(honest, n, alpha=ALPHA)
    assert breaks(planted, n, alpha=ALPHA)


@pytest.mark.slow
def test_a_threshold_without_the_number_of_directions_is_caught(monkeypatch):
    """Eight candidates, sixteen directions, each held against 1 / alpha."""
    setting, n = SETTINGS["eight candidates at a floor"], 60
    honest = wrong_runs(setting, n=n, seed=4)
    bounds = Evidence.lower_bounds

    def alone(evidence):
        evidence._n_directions = 1.0
        return bounds(evidence)

    monkeypatch.setattr(Evidence, "lower_bounds", alone)
    planted = wrong_runs(setting, n=n, seed=4)
    show(f"threshold without the factor 2K: honest {honest}/{n}, planted {planted}/{n}")
    assert not breaks(honest, n, alpha=ALPHA)
    assert breaks(planted, n, alpha=ALPHA)


# Power -----------------------------------------------------------------------------------------------------------


def gate_design(n_items: int, margin: float) -> Design:
    """The design of a gate with one claim about two systems."""
    scores = Scores.of(np.zeros((1, 2, n_items)), models=["new", "old"], items=[f"q{i}" for i in range(n_items)])
    policy = Policy(candidates=("new",), baseline="old", claims=(claim("not_worse_by", margin),))
    return Gate(policy, scores)._evidence[0].design


def passes(design: Design, margin: float, *, looks: int, n: int, seed: int, batch: int = 50) -> np.ndarray:
    """Whether each of ``n`` pipelines says PASS at each look: looks x n."""
    rng, found, both = np.random.default_rng(seed), [], chances(len(design.items), 0.0)
    for _ in range(n // batch):
        evidence = Evidence(design, batch=(batch,))
        at_looks = []
        for _ in range(looks):
            evidence.update((rng.random((batch, *both.shape)) < both).astype(float))
            at_looks.append(evidence.lower_bounds()[:, 0, 1] > -margin)
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
    now = passes(design, margin, looks=looks, n=n, seed=seed)
    forecast = Forecast(design=design, outlook=Outlook(noise=noise, unevenness=0.0))
    expected = np.array([forecast.power(margin, r) for r in range(1, looks + 1)])
    for name, found in (("at the look", now), ("at any look so far", np.logical_or.accumulate(now, axis=0))):
        for level in (0.5, 0.8, 0.9):
            seen, foreseen = runs_for(found.mean(axis=1), level), runs_for(expected, level)
            show(f"{n_items} items, PASS {name} in {level:.0%} of {n}: after {seen:.2f} runs, forecast {foreseen:.2f}")
            assert abs(seen / foreseen - 1.0) < 0.1


def test_equal_systems_pass_when_the_forecast_says():
    check_forecast(1319, 0.02, n=1000, seed=6)
