"""Intervals of means: any that misses its mean, of any model, in any view, at any look, counts as one failure."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from bbedge.core.bounds import MeanBounds
from bbedge.core.design import Design
from bbedge.core.evidence_set import EvidenceSet
from bbedge.core.family import Levels
from bbedge.records.options import Options
from calibration.binomial_rule import breaks, fewest_that_break
from calibration.repetitions import show

pytestmark = pytest.mark.nightly

SHARES = {"alpha": 0.1, "margin_share": 0.2, "mean_share": 0.5}
LEVEL = Levels.of(Options(alpha=0.1, margin_share=0.2, mean_share=0.5)).means  # 0.05
BATCH = 200

Draw = Callable[[np.random.Generator, int], np.ndarray]
"""Draws one panel of each of so many repetitions."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """How scores are drawn, and the mean score of every model on every item."""

    draw: Draw
    means: np.ndarray
    looks: int
    options: dict = field(default_factory=dict)

    def design(self) -> Design:
        n_models, n_items = self.means.shape
        return Design.make(
            [f"m{i}" for i in range(n_models)], [f"q{i}" for i in range(n_items)], **SHARES, **self.options
        )


def answers(chances: np.ndarray) -> Draw:
    """Right or wrong answers."""
    return lambda rng, size: (rng.random((size, *chances.shape)) < chances).astype(float)


def binary(chances, *, looks: int, **options) -> Truth:
    chances = np.array(chances, dtype=float)
    return Truth(draw=answers(chances), means=chances, looks=looks, options=options)


def whole_blocks(chance: float, sizes: tuple[int, ...], n_models: int) -> Draw:
    """The items of a block are all right or all wrong."""
    return lambda rng, size: np.repeat((rng.random((size, n_models, len(sizes))) < chance).astype(float), sizes, axis=2)


def withheld(chances: np.ndarray, share: float, *, failures: bool) -> Draw:
    """Some failures, or some successes, are not handed in."""

    def draw(rng, size):
        panel = answers(chances)(rng, size)
        hidden = (panel == (0.0 if failures else 1.0)) & (rng.random(panel.shape) < share)
        return np.where(hidden, np.nan, panel)

    return draw


UNEVEN = (1,) * 20 + (20,)
OPPOSED = np.array([[0.9] * 20 + [0.1] * 20, [0.1] * 20 + [0.9] * 20])
LABELS = [f"b{k}" for k, size in enumerate(UNEVEN) for _ in range(size)]
RARE = np.full((2, 4), 0.03)
SETTINGS = {
    "one item, two models": binary([[0.5], [0.5]], looks=60),
    "one item, rare and frequent": binary([[0.04], [0.96]], looks=80),
    "small blocks against a large one": binary(OPPOSED, looks=20, blocks=LABELS),
    "items that are all right or all wrong together": Truth(
        draw=whole_blocks(0.5, UNEVEN, 2), means=np.full((2, 40), 0.5), looks=30, options={"blocks": LABELS}
    ),
    "weights, two-way": binary(OPPOSED, looks=20, weights=[30.0] + [0.0, 1.0] * 19 + [5.0], prediction="two-way"),
    "skewed scores": Truth(
        draw=lambda rng, size: rng.beta(0.05, 0.5, (size, 3, 5)), means=np.full((3, 5), 1 / 11), looks=40
    ),
    "views": binary(
        [[0.5] * 6, [0.2, 0.8, 0.5] * 2],
        looks=40,
        views={"first": [1.0] + [0.0] * 5, "others": [0.0, 1.0, 0.0, 3.0, 1.0, 0.2]},
    ),
    "withheld failures": Truth(
        draw=withheld(RARE + 0.8, 0.3, failures=True), means=RARE + 0.8, looks=30, options={"gaps": "worst-case"}
    ),
    "withheld successes": Truth(
        draw=withheld(RARE + 0.1, 0.3, failures=False), means=RARE + 0.1, looks=30, options={"gaps": "worst-case"}
    ),
    "many models, one item": binary([[0.5]] * 8, looks=60, evidence="bernstein", stakes="paper"),
}


def true_means(truth: Truth, part: Design) -> np.ndarray:
    weights = np.ones(len(part.items)) if part.weights is None else np.array(part.weights)
    return truth.means @ (weights / weights.sum())


def misses(truth: Truth, *, n: int, seed: int) -> tuple[int, float]:
    """In how many of ``n`` repetitions an interval missed its mean at some look; and the narrowest interval."""
    design, rng, failed, narrowest = truth.design(), np.random.default_rng(seed), 0, 1.0
    for start in range(0, n, BATCH):
        size = min(BATCH, n - start)
        evidence, bad = EvidenceSet(design, batch=(size,)), np.zeros(size, dtype=bool)
        for _ in range(truth.looks):
            evidence.update(truth.draw(rng, size))
            for view in evidence.views:
                bounds, means = view.mean_bounds(), true_means(truth, view.design)
                bad |= ((bounds[..., 0] > means) | (bounds[..., 1] < means)).any(axis=-1)
                narrowest = min(narrowest, float((bounds[..., 1] - bounds[..., 0]).min()))
        failed += int(bad.sum())
    return failed, narrowest


def check(setting: str, *, n: int) -> None:
    failed, narrowest = misses(SETTINGS[setting], n=n, seed=11)
    show(f"intervals of means, {setting}: {failed}/{n}, narrowest {narrowest:.3f}")
    assert not breaks(failed, n, alpha=LEVEL)
    assert narrowest < 0.9


@pytest.mark.parametrize("setting", SETTINGS)
def test_intervals_hold(setting):
    check(setting, n=1000)


@pytest.mark.parametrize("setting", SETTINGS)
def test_intervals_hold_in_the_long_run(setting):
    check(setting, n=20_000)


def judge(bug: str, setting: str, n: int, plant: Callable[[], None]) -> None:
    honest, _ = misses(SETTINGS[setting], n=n, seed=12)
    plant()
    planted, _ = misses(SETTINGS[setting], n=n, seed=12)
    show(f"bug {bug}: honest {honest}/{n}, planted {planted}/{n}, caught from {fewest_that_break(n, alpha=LEVEL)} on")
    assert not breaks(honest, n, alpha=LEVEL)
    assert breaks(planted, n, alpha=LEVEL)


def test_a_threshold_that_does_not_count_the_claims_is_caught(monkeypatch):
    made = MeanBounds.__init__

    def uncorrected(self, design, space, *, batch=()):
        made(self, design, space, batch=batch)
        self._claims /= 2 * len(design.models)

    judge(
        "no correction for the claims",
        "many models, one item",
        200,
        lambda: monkeypatch.setattr(MeanBounds, "__init__", uncorrected),
    )


def test_equal_stakes_on_unequal_blocks_are_caught(monkeypatch):
    """Each block is taken for an item of its own: small blocks then count as much as the large one."""

    def plant():
        drawn = SETTINGS["small blocks against a large one"].draw

        def by_block(rng, size):
            panel = drawn(rng, size)
            return np.concatenate([panel[..., :20], panel[..., 20:].mean(axis=-1, keepdims=True)], axis=-1)

        # The mean of the benchmark is one half for both models.
        planted = Truth(draw=by_block, means=np.full((2, 21), 0.5), looks=20)
        monkeypatch.setitem(SETTINGS, "small blocks against a large one", planted)

    judge("equal stakes", "small blocks against a large one", 60, plant)


def test_missing_scores_that_are_left_out_are_caught(monkeypatch):
    """Withheld failures are replaced by the mean of what was handed in."""

    def plant():
        drawn = SETTINGS["withheld failures"].draw

        def filled(rng, size):
            panel = drawn(rng, size)
            there = (~np.isnan(panel)).sum(axis=2, keepdims=True)
            return np.where(np.isnan(panel), np.nansum(panel, axis=2, keepdims=True) / np.maximum(there, 1), panel)

        monkeypatch.setitem(
            SETTINGS, "withheld failures", Truth(draw=filled, means=RARE + 0.8, looks=200, options={"blocks": "item"})
        )

    judge("left out what is missing", "withheld failures", 100, plant)
