"""Several views under one alpha, and scores that models withhold: any false edge or margin in any view at any look."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from bbedge.core.arrays import to_numpy
from bbedge.core.design import Design
from bbedge.core.eholm import Procedure
from bbedge.core.evidence_set import EvidenceSet
from bbedge.core.views import category_weights, macro_weights
from calibration.binomial_rule import breaks
from calibration.repetitions import ALPHA, show

BATCH = 250


# Views -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Right and wrong answers whose true means are known in every view."""

    chances: np.ndarray
    """Models x items."""
    labels: tuple[str, ...]
    looks: int
    options: dict = field(default_factory=dict)

    def design(self, **options) -> Design:
        models = [f"m{i}" for i in range(len(self.chances))]
        items = [f"q{i}" for i in range(len(self.labels))]
        views = category_weights(self.labels)
        return Design.make(models, items, **({"alpha": ALPHA, "views": views} | self.options | options))


def by_category(sizes: dict[str, int], chances: dict[str, tuple[float, ...]]) -> tuple[np.ndarray, tuple[str, ...]]:
    labels = tuple(name for name, size in sizes.items() for _ in range(size))
    return np.array([chances[name] for name in labels]).T, labels


def suite(sizes, chances, *, looks, **options) -> Suite:
    matrix, labels = by_category(sizes, chances)
    if options.pop("macro", False):
        options["weights"] = macro_weights(labels)
    return Suite(chances=matrix, labels=labels, looks=looks, options=options)


SIZES = {"one": 1, "few": 3, "many": 26}
SUITES = {
    # The macro average is tied because one model wins where the other loses: every category but "few" has one winner.
    "tied macro average, opposing categories": suite(
        SIZES, {"one": (0.9, 0.1), "few": (0.5, 0.5), "many": (0.1, 0.9)}, looks=40, macro=True
    ),
    "everything tied, one item has half of the weight": suite(
        SIZES, dict.fromkeys(SIZES, (0.5, 0.5)), looks=60, weights=[29.0] + [1.0] * 29
    ),
    "three tied models, small shares": suite(
        SIZES, dict.fromkeys(SIZES, (0.5, 0.5, 0.5)), looks=40, shares={"one": 0.9, "few": 0.04, "many": 0.04}
    ),
    "one category tied, one model better elsewhere": suite(
        SIZES, {"one": (0.5, 0.5), "few": (0.9, 0.3), "many": (0.9, 0.3)}, looks=60, macro=True
    ),
    "tied in direct e-Holm": suite(SIZES, dict.fromkeys(SIZES, (0.5, 0.5)), looks=40, method="bb-edge", macro=True),
}


def truth(given: Suite, design: Design) -> list[np.ndarray]:
    """The difference of every direction in every view."""
    found = []
    for part in design.parts:
        weights = np.ones(len(part.items)) if part.weights is None else np.array(part.weights)
        means = given.chances @ (weights / weights.sum())
        found.append(np.round(np.subtract.outer(means, means), 12))
    return found


def false_runs(given: Suite, design: Design, *, n: int, seed: int) -> int:
    rng, failed, differences = np.random.default_rng(seed), 0, truth(given, design)
    off = ~np.eye(len(given.chances), dtype=bool)
    for start in range(0, n, BATCH):
        size = min(BATCH, n - start)
        evidence, procedure = EvidenceSet(design, batch=(size,)), Procedure(design, batch=(size,))
        bad = np.zeros(size, dtype=bool)
        for _ in range(given.looks):
            evidence.update((rng.random((size, *given.chances.shape)) < given.chances).astype(float))
            looks = procedure.looks(evidence.views, run=evidence.run)
            for look, view, difference in zip(looks, evidence.views, differences, strict=True):
                bad |= (look.edges & (difference <= design.tau) & off).any(axis=(1, 2))
                if design.is_joint:
                    bounds = np.nan_to_num(to_numpy(view.lower_bounds()), nan=-1.0)
                    bad |= (bounds > difference + 1e-9).any(axis=(1, 2))
        failed += int(bad.sum())
    return failed


@pytest.mark.parametrize("name", SUITES)
def test_every_view_is_right(name):
    given = SUITES[name]
    failed = false_runs(given, given.design(), n=100, seed=1)
    show(f"any false edge or margin in any view, {name}: {failed}/100")
    assert not breaks(failed, 100, alpha=ALPHA)


@pytest.mark.nightly
@pytest.mark.parametrize("name", SUITES)
def test_every_view_is_right_in_many_repetitions(name):
    given = SUITES[name]
    failed = false_runs(given, given.design(), n=2000, seed=2)
    show(f"any false edge or margin in any view, {name}: {failed}/2000")
    assert not breaks(failed, 2000, alpha=ALPHA)


@pytest.mark.nightly
def test_views_that_each_have_all_of_alpha_are_caught():
    """The planted bug: twelve views, each certified as if it were alone."""
    labels = tuple(f"c{i}" for i in range(12))
    given = Suite(chances=np.full((2, 12), 0.5), labels=labels, looks=60)
    level = 0.45  # nearly all of alpha is used only by one item a view, and seen only where alpha is large
    design = given.design(alpha=level, margin_share=0.0)
    honest = false_runs(given, design, n=500, seed=3)
    alone = [Design.make(["m0", "m1"], [f"q{i}"], alpha=level, margin_share=0.0) for i in range(12)]
    rng, failed = np.random.default_rng(3), 0
    for _ in range(2):
        bad = np.zeros(BATCH, dtype=bool)
        views = [EvidenceSet(each, batch=(BATCH,)) for each in alone]
        procedures = [Procedure(each, batch=(BATCH,)) for each in alone]
        for _ in range(given.looks):
            panel = (rng.random((BATCH, 2, 12)) < 0.5).astype(float)
            for place, (view, procedure) in enumerate(zip(views, procedures, strict=True)):
                view.update(panel[..., [place]])
                bad |= procedure.looks(view.views, run=view.run)[0].edges.any(axis=(1, 2))
        failed += int(bad.sum())
    show(f"alpha {level}, twelve tied views: together {honest}/500, each for itself {failed}/500")
    assert not breaks(honest, 500, alpha=level)
    assert breaks(failed, 500, alpha=level)


# Withheld scores -------------------------------------------------------------------------------------------------

Hide = Callable[[np.random.Generator, np.ndarray, int], np.ndarray]
"""Which scores of the first model are withheld, from its scores (repetitions x items) and the look."""

LOOKS = 12


def at_random(rng, scores, look):
    return rng.random(scores.shape) < 0.1


def failures(rng, scores, look):
    """A tenth of its failures, after seeing them."""
    return (scores == 0.0) & (rng.random(scores.shape) < 0.1)


def all_failures(rng, scores, look):
    return scores == 0.0


def late_failures(rng, scores, look):
    """All of its failures, in the last replicates only."""
    return (scores == 0.0) & (look >= LOOKS - 4)


def bad_replicates(rng, scores, look):
    """Complete replicates that went worse than even."""
    return np.broadcast_to(scores.mean(axis=-1, keepdims=True) < 0.5, scores.shape)


HIDE: dict[str, Hide] = {
    "at random": at_random,
    "a tenth of the failures": failures,
    "all failures": all_failures,
    "failures of the last replicates": late_failures,
    "replicates that went badly": bad_replicates,
}


def withheld_runs(hide: Hide, *, n: int, seed: int, n_items: int = 60, read_as_mean: bool = False) -> int:
    """In how many repetitions one of two equal models was certified at some look; the first one withholds scores."""
    items = [f"q{i}" for i in range(n_items)]
    views = {"half": [1.0] * (n_items // 2) + [0.0] * (n_items // 2)}
    design = Design.make(["a", "b"], items, alpha=ALPHA, gaps="worst-case", views=views)
    rng, failed = np.random.default_rng(seed), 0
    for start in range(0, n, BATCH):
        size = min(BATCH, n - start)
        evidence, procedure = EvidenceSet(design, batch=(size,)), Procedure(design, batch=(size,))
        bad = np.zeros(size, dtype=bool)
        for look in range(LOOKS):
            panel = (rng.random((size, 2, n_items)) < 0.5).astype(float)
            hidden = hide(rng, panel[:, 0], look)
            panel[:, 0] = np.where(hidden, np.nan, panel[:, 0])
            if read_as_mean:  # the bug: what is missing is taken for the mean of what is there
                present = ~hidden
                mean = np.nan_to_num(panel[:, 0]).sum(axis=-1) / np.maximum(1, present.sum(axis=-1))
                panel[:, 0] = np.where(hidden, mean[:, None], panel[:, 0])
            evidence.update(panel)
            for found in procedure.looks(evidence.views, run=evidence.run):
                bad |= found.edges.any(axis=(1, 2))
            for view in evidence.views:
                bounds = np.nan_to_num(to_numpy(view.lower_bounds()), nan=-1.0)
                bad |= (bounds > 1e-9).any(axis=(1, 2))
        failed += int(bad.sum())
    return failed


@pytest.mark.parametrize("name", HIDE)
def test_withholding_scores_certifies_nothing(name):
    failed = withheld_runs(HIDE[name], n=100, seed=4)
    show(f"two equal models, one withholds {name}: {failed}/100")
    assert not breaks(failed, 100, alpha=ALPHA)


@pytest.mark.nightly
@pytest.mark.parametrize("name", HIDE)
def test_withholding_scores_certifies_nothing_in_many_repetitions(name):
    failed = withheld_runs(HIDE[name], n=2000, seed=5)
    show(f"two equal models, one withholds {name}: {failed}/2000")
    assert not breaks(failed, 2000, alpha=ALPHA)


@pytest.mark.parametrize("name", ["all failures", "a tenth of the failures", "failures of the last replicates"])
def test_gaps_read_as_means_are_caught(name):
    """The planted bug; a tenth of the failures is seen with five hundred items."""
    honest, failed = (withheld_runs(HIDE[name], n=100, seed=6, n_items=500, read_as_mean=bug) for bug in (False, True))
    show(f"two equal models, one withholds {name} of 500 items: {honest}/100, with gaps read as means {failed}/100")
    assert not breaks(honest, 100, alpha=ALPHA)
    assert breaks(failed, 100, alpha=ALPHA)


def test_a_few_gaps_leave_power():
    """Three percent missing at random: a true difference is still certified in most repetitions."""
    items = [f"q{i}" for i in range(500)]
    design = Design.make(["a", "b"], items, gaps="worst-case")
    rng, size = np.random.default_rng(7), 60
    evidence, procedure = EvidenceSet(design, batch=(size,)), Procedure(design, batch=(size,))
    for _ in range(12):
        panel = (rng.random((size, 2, 500)) < np.array([[0.6], [0.5]])).astype(float)
        evidence.update(np.where(rng.random(panel.shape) < 0.03, np.nan, panel))
        found = procedure.looks(evidence.views, run=evidence.run)[0].edges[:, 0, 1]
    show(f"certified with gaps: {int(found.sum())}/{size}")
    assert found.sum() > 0.9 * size
