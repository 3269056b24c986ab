"""Stakes that are fitted to the noise when they enter: nulls whose noise is made to mislead them.

Counted are repetitions with a false edge or a false margin at any look, and those in which the evidence of a true null
is ever large; and its mean after some looks is at most 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from bbedge.core.arrays import to_numpy
from bbedge.core.certifier import Certifier
from bbedge.core.design import Design
from bbedge.core.eholm import Procedure
from bbedge.core.evidence_set import EvidenceSet
from calibration.binomial_rule import breaks
from calibration.planted_stakes import WIDE, Plant, entries_of_other_stakes
from calibration.repetitions import show

BATCH = 2000
MEANS_AFTER = (3, 5, 8, 14)
"""A replicate after each group of stakes has entered."""
FAR = 6.0
"""Standard errors; of what is never negative, a mean is so far too high less often than a normal one."""

Draw = Callable[[np.random.Generator, int, int], np.ndarray]
"""Panels of so many repetitions at the look of this number, the first being 1: repetitions x models x items."""


@dataclass(frozen=True, kw_only=True)
class Null:
    """Scores whose true means are known, and what is hidden of them."""

    means: np.ndarray
    """Models x items."""
    draw: Draw
    looks: int = 40
    options: dict = field(default_factory=dict)

    def design(self, **options) -> Design:
        models, items = ([f"{kind}{i}" for i in range(n)] for kind, n in zip("mq", self.means.shape, strict=True))
        made = Design.make(models, items, **self.options, **options)
        assert made.stakes == options.get("stakes", "fitted")
        return made

    def differences(self, part: Design) -> np.ndarray:
        weights = np.ones(len(part.items)) if part.weights is None else np.array(part.weights)
        of_models = self.means @ (weights / weights.sum())
        return np.round(np.subtract.outer(of_models, of_models), 12)


def tied(models: int, items: int, mean: float = 0.5) -> np.ndarray:
    return np.full((models, items), mean)


def coins(means: np.ndarray) -> Draw:
    """Right or wrong answers."""
    return lambda rng, size, look: (rng.random((size, *means.shape)) < means).astype(float)


def around(means: np.ndarray, spread: float) -> Draw:
    """Uniform scores."""
    return lambda rng, size, look: means + spread * (rng.random((size, *means.shape)) - 0.5)


def changing(first: Draw, after: int, then: Draw) -> Draw:
    return lambda rng, size, look: (first if look <= after else then)(rng, size, look)


def beside(*draws: Draw, axis: int) -> Draw:
    """Models (axis 1) or items (axis 2) side by side."""
    return lambda rng, size, look: np.concatenate([draw(rng, size, look) for draw in draws], axis=axis)


def rare(zero: float, one: float, items: int) -> Draw:
    """The first model always scores what the second one does on average: 0.5, but rarely 0, or 1."""

    def draw(rng, size, look):
        u = rng.random((size, 1, items))
        second = np.where(u < zero, 0.0, np.where(u > 1.0 - one, 1.0, 0.5))
        return np.concatenate([np.full_like(second, 0.5 + 0.5 * (one - zero)), second], axis=1)

    return draw


def whole(means: np.ndarray, sizes: tuple[int, ...]) -> Draw:
    """The items of a block are all right or all wrong."""
    return lambda rng, size, look: np.repeat(coins(means)(rng, size, look), sizes, axis=2)


def hidden(draw: Draw, share: float, after: int = 0) -> Draw:
    """The first model does not hand in some of its failures."""

    def cut(rng, size, look):
        panel = draw(rng, size, look)
        lost = (panel[:, 0] == 0.0) & (rng.random(panel[:, 0].shape) < share) & (look > after)
        panel[:, 0] = np.where(lost, np.nan, panel[:, 0])
        return panel

    return cut


PAIR, THREE, FOUR = tied(2, 1), tied(3, 1), tied(4, 1)
BETTER = np.array([[0.5], [0.5], [0.9]])
SIZES = (1, 1, 2, 6)
LABELS = [f"b{place}" for place, size in enumerate(SIZES) for _ in range(size)]
AT_TAU = np.array([[0.6, 0.6], [0.5, 0.5]])
VIEWS = {"first": [1.0, 0.0, 0.0, 0.0], "others": [0.0, 1.0, 3.0, 0.2]}
WORST = {"gaps": "worst-case"}

NULLS = {
    "uniform item, 120 looks": Null(means=PAIR, draw=around(PAIR, 1.0), looks=120),
    "uniform item": Null(means=PAIR, draw=around(PAIR, 1.0)),
    "coins": Null(means=PAIR, draw=coins(PAIR), looks=120),
    "three models, one binary item": Null(means=THREE, draw=coins(THREE), looks=80),
    "two tied, one better": Null(means=BETTER, draw=coins(BETTER), looks=80),
    "quiet until the last entry, then wild": Null(
        means=PAIR, draw=changing(around(PAIR, 0.01), 13, coins(PAIR)), looks=80
    ),
    "quiet until the first entry, then wild": Null(
        means=PAIR, draw=changing(around(PAIR, 0.01), 2, coins(PAIR)), looks=80
    ),
    "without any noise until the last entry": Null(
        means=tied(3, 4), draw=changing(around(tied(3, 4), 0.0), 13, coins(tied(3, 4)))
    ),
    "wild until the last entry, then quiet": Null(means=PAIR, draw=changing(coins(PAIR), 13, around(PAIR, 0.1))),
    "wild until the first entry, then quiet": Null(
        means=tied(2, 3), draw=changing(coins(tied(2, 3)), 2, around(tied(2, 3), 0.1))
    ),
    "one wild block among quiet ones": Null(
        means=tied(2, 9), draw=beside(coins(PAIR), around(tied(2, 8), 0.01), axis=2), looks=80
    ),
    "rare losses": Null(means=tied(2, 4, 0.475), draw=rare(0.05, 0.0, 4), looks=80),
    "rare losses and wins": Null(means=tied(2, 2, 0.485), draw=rare(0.04, 0.01, 2), looks=80),
    "one wild pair": Null(means=FOUR, draw=beside(coins(PAIR), around(PAIR, 0.02), axis=1), looks=80),
    "a plan of five": Null(means=PAIR, draw=around(PAIR, 1.0), options={"planned": 5}),
    "a plan of four": Null(means=THREE, draw=coins(THREE), options={"planned": 4}),
    "two-way": Null(means=tied(3, 4), draw=coins(tied(3, 4)), options={"prediction": "two-way"}),
    "sharp": Null(means=PAIR, draw=around(PAIR, 1.0), looks=120, options={"evidence": "sharp"}),
    "sharp, unequal blocks": Null(
        means=tied(3, 10), draw=whole(tied(3, 4), SIZES), options={"evidence": "sharp", "blocks": LABELS}
    ),
    "unequal blocks": Null(means=tied(2, 10), draw=whole(tied(2, 4), SIZES), looks=80, options={"blocks": LABELS}),
    "exactly tau": Null(means=AT_TAU, draw=coins(AT_TAU), looks=80, options={"tau": 0.1}),
    "views": Null(means=tied(2, 4), draw=coins(tied(2, 4)), looks=60, options={"views": VIEWS}),
    "views of which one is quiet": Null(
        means=tied(2, 4),
        draw=beside(coins(PAIR), around(tied(2, 3), 0.02), axis=2),
        looks=60,
        options={"views": VIEWS, "weights": [1.0, 2.0, 1.0, 3.0], "shares": {"first": 0.2, "others": 0.1}},
    ),
    "withheld failures": Null(means=tied(2, 3), draw=hidden(coins(tied(2, 3)), 0.1), options=WORST),
    "failures withheld after entry": Null(
        means=tied(2, 3), draw=hidden(coins(tied(2, 3)), 1.0, after=2), options=WORST
    ),
    "a newcomer": Null(means=THREE, draw=coins(THREE), looks=80, options={"newcomer": "m2"}),
}
OF_FOUR = {
    "coins of four": Null(means=FOUR, draw=coins(FOUR), looks=20),
    "quiet until the first entry, then wild, four": Null(
        means=FOUR, draw=changing(around(FOUR, 0.01), 2, coins(FOUR)), looks=20
    ),
}


@dataclass(kw_only=True)
class Found:
    """What was seen of a null: of how many repetitions each count is, and at which level."""

    n: int
    edges: int = 0
    margins: int = 0
    high: int = 0
    """Repetitions in which the evidence of any true null ever passed what a margin above the null takes."""
    passed: dict[float, np.ndarray] = field(default_factory=dict)
    """By a number, in how many repetitions the evidence of each true null of each view ever passed it."""
    means: dict[int, tuple[float, float]] = field(default_factory=dict)
    """By look, the largest mean of the evidence of a true null, and its standard error."""

    def judge(self, name: str, design: Design, *, margins: bool) -> None:
        worst = ", ".join(f"{c:g}: {counts.max()}" for c, counts in self.passed.items())
        means = ", ".join(f"{look}: {mean:.3f}+-{error:.3f}" for look, (mean, error) in self.means.items())
        show(
            f"fitted stakes, {name}, alpha {design.alpha}: {self.edges} false of {self.n} at level "
            f"{design.certificate_alpha:g}; margins {self.margins if margins else 'not read'}, evidence enough for one "
            f"{self.high} at {design.margin_alpha:g}; evidence ever above {worst}; means after {means}"
        )
        assert not breaks(self.edges, self.n, alpha=design.certificate_alpha)
        assert not breaks(max(self.margins, self.high), self.n, alpha=design.margin_alpha)
        for c, counts in self.passed.items():
            assert not breaks(int(counts.max()), self.n, alpha=1.0 / c)
        for mean, error in self.means.values():
            assert mean <= 1.0 + FAR * error


def outcomes(
    design: Design, panels: Sequence[np.ndarray], truths: list[np.ndarray], *, margins: bool, plant: Plant | None
) -> dict:
    """Of one batch: who had a false edge or margin, the peaks of the evidence of nulls, and it after some looks."""
    size = (len(panels[0]),)
    evidence, procedure = EvidenceSet(design, batch=size), Procedure(design, batch=size)
    step = plant(evidence, design, panels) if plant else lambda look, panel: evidence.update(panel)
    edges, wrong, high, peaks, values = (*np.zeros((3, *size), bool), -np.inf, {})
    for look, panel in enumerate(panels, start=1):
        step(look, panel)
        logs = []
        for found, view, true in zip(procedure.looks(evidence.views, run=look), evidence.views, truths, strict=True):
            null = (true <= design.tau) & design.tested
            edges |= (to_numpy(found.edges) & null).any(axis=(1, 2))
            logs.append(to_numpy(found.log_e)[:, null])
            needed = np.log(design.n_directions / view.design.share / design.margin_alpha)
            high |= (logs[-1] >= needed).any(axis=1)
            if margins:
                wrong |= (np.nan_to_num(to_numpy(view.lower_bounds()), nan=-1.0) > true + 1e-12).any(axis=(1, 2))
        peaks = np.maximum(peaks, np.concatenate(logs, axis=1))
        if look in MEANS_AFTER:
            values[look] = np.exp(np.concatenate(logs, axis=1))
    return {"edges": edges, "margins": wrong, "high": high, "peaks": peaks, "values": values}


def seen(null: Null, design: Design, *, n: int, seed: int, margins: bool = False, plant: Plant | None = None) -> Found:
    rng, truths = np.random.default_rng(seed), [null.differences(part) for part in design.parts]
    batches = []
    for start in range(0, n, BATCH):
        size = min(BATCH, n - start)
        panels = [null.draw(rng, size, look) for look in range(1, null.looks + 1)]
        batches.append(outcomes(design, panels, truths, margins=margins, plant=plant))
    peaks = np.concatenate([batch["peaks"] for batch in batches])
    found = Found(
        n=n, **{name: sum(int(batch[name].sum()) for batch in batches) for name in ("edges", "margins", "high")}
    )
    for c in (2.0, 1.0 / design.certificate_alpha, 100.0):
        found.passed[c] = (peaks >= np.log(c)).sum(axis=0)
    for look in batches[0]["values"]:
        values = np.concatenate([batch["values"][look] for batch in batches])
        means, errors = values.mean(axis=0), values.std(axis=0) / np.sqrt(n)
        worst = int(np.argmax((means - 1.0) / np.maximum(errors, 1e-12)))
        found.means[look] = float(means[worst]), float(errors[worst])
    return found


QUICK = ["coins", "quiet until the first entry, then wild", "rare losses"]


@pytest.mark.parametrize("name", QUICK)
def test_nothing_false_is_certified(name):
    null = replace(NULLS[name], looks=20)
    design = null.design(alpha=0.3)
    seen(null, design, n=500, seed=1).judge(f"{name}, 20 looks", design, margins=False)


@pytest.mark.nightly
@pytest.mark.parametrize("alpha", [0.05, 0.3])
@pytest.mark.parametrize("name", NULLS)
def test_nothing_false_is_certified_ten_thousand_times(name, alpha):
    design = NULLS[name].design(alpha=alpha)
    seen(NULLS[name], design, n=10_000, seed=2).judge(name, design, margins=False)


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in NULLS if not name.endswith("120 looks")])
def test_margins_stay_below_the_differences(name):
    null = replace(NULLS[name], looks=min(40, NULLS[name].looks))
    design = null.design(alpha=0.3)
    seen(null, design, n=1_000, seed=3, margins=True).judge(f"{name}, {null.looks} looks", design, margins=True)


@pytest.mark.nightly
def test_a_grid_from_the_size_of_the_design_has_the_same_level():
    """The rule that fitted stakes are compared with in studies."""
    null = NULLS["uniform item, 120 looks"]
    design = null.design(alpha=0.3, stakes="design")
    seen(null, design, n=10_000, seed=2).judge("uniform item, 120 looks, design stakes", design, margins=False)


# Models that stop because of what was seen -----------------------------------------------------------------------


Stop = Callable[[int, np.ndarray, np.ndarray], np.ndarray]
"""Who stops after a look, given the means of the models that run and the best evidence that each has."""


def last_at_once(look, means, best):
    """The last one, as soon as it is far behind."""
    return (means == means.min()) & (np.ptp(means) > 0.3)


def leader_before_entries(look, means, best):
    """Just before stakes enter, the one whose evidence is largest, so that it keeps that beside its cash."""
    return (best == best.max()) & (best > 0.5) & (look in (1, 3, 6, 12))


def losers_after_entries(look, means, best):
    """After stakes have entered, whoever won nothing against anybody."""
    return (best < 0.0) & (look in (2, 4, 7, 13))


STOPS = (last_at_once, leader_before_entries, losers_after_entries)


def stopped(stop: Stop, null: Null, design: Design, rng: np.random.Generator) -> bool:
    """Whether anything false is certified while models stop, for as long as two are left."""
    certifier = Certifier(design)
    for look in range(1, null.looks + 1):
        active = certifier.evidence.active
        rows = [design.models.index(model) for model in active]
        found = certifier.update(null.draw(rng, 1, look)[0][rows])
        if found.edges.any():
            return True
        leaving = stop(look, certifier.evidence.means[rows], np.nanmax(found.log_e[rows], axis=1))
        if leaving.any() and len(active) - leaving.sum() >= 2:
            certifier.stop([model for model, leaves in zip(active, leaving, strict=True) if leaves])
    return False


@pytest.mark.nightly
@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("name", ["coins of four", "quiet until the first entry, then wild, four"])
def test_models_that_stop_cost_no_level(stop, name):
    null, n = OF_FOUR[name], 400
    design = null.design(alpha=0.3)
    false = sum(stopped(stop, null, design, rng) for rng in np.random.default_rng(4).spawn(n))
    show(f"fitted stakes, {name}, {stop.__name__}: {false} false of {n} at level {design.certificate_alpha:g}")
    assert not breaks(false, n, alpha=design.certificate_alpha)


# Planted bugs ----------------------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_entries_of_wide_stakes_are_caught():
    """What a losing stake had left at the entry, and what a better one wins from then on."""
    null = replace(NULLS["coins"], looks=40)
    design, n = null.design(alpha=0.05), 1_000
    honest, planted = (seen(null, design, n=n, seed=5, plant=plant) for plant in (None, entries_of_other_stakes(WIDE)))
    show(f"bug entries of wide stakes: honest {honest.edges}/{n}, planted {planted.edges}/{n}")
    assert not breaks(honest.edges, n, alpha=design.certificate_alpha)
    assert breaks(planted.edges, n, alpha=design.certificate_alpha)
