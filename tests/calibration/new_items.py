"""Populations of items whose models are equal, or not, and how often something false is said of new items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from bbedge.core.arrays import to_numpy
from bbedge.core.design import Design
from bbedge.core.eholm import Procedure
from bbedge.core.evidence_set import EvidenceSet
from bbedge.core.views import category_weights, macro_weights
from calibration.repetitions import ALPHA

BATCH = 500
Chances = Callable[[np.random.Generator, int], np.ndarray]
"""Draws items: for every repetition, model and item the chance of a right answer."""
Change = Callable[[np.random.Generator, np.ndarray], np.ndarray]
"""What becomes of the answers, runs x repetitions x models x items."""


def as_drawn(rng, answers):
    return answers


@dataclass(frozen=True, kw_only=True)
class Population:
    """Models on items that are drawn anew in every repetition, and what is true of them."""

    chances: Chances
    n_items: int = 100
    runs: int = 32
    change: Change = as_drawn
    means: tuple[float, ...] = (0.0, 0.0)
    """Of each model over the population, in the headline; only their differences matter."""
    of_views: tuple[tuple[float, ...], ...] = ()
    """The same in each further view."""
    options: dict = field(default_factory=dict)

    def design(self, **options) -> Design:
        items = [f"q{i}" for i in range(self.n_items)]
        return Design.make(
            list("abcdefgh"[: len(self.means)]),
            items,
            **({"alpha": ALPHA, "target": "new-items"} | self.options | options),
        )

    def answers(self, rng, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Runs x repetitions x models x items, and the chances."""
        chances = self.chances(rng, size)
        drawn = (rng.random((self.runs, *chances.shape)) < chances).astype(float)
        return self.change(rng, drawn), chances


def false_runs(population: Population, design: Design, *, n: int, seed: int) -> tuple[int, int]:
    """In how many repetitions something false was said at some look; and those with a true edge in the headline.

    Something false is an edge or a margin, in any view. What is said of these items is compared with the items drawn.
    """
    rng, failed, found = np.random.default_rng(seed), 0, 0
    for start in range(0, n, BATCH):
        size = min(BATCH, n - start)
        answers, chances = population.answers(rng, size)
        evidence, procedure = EvidenceSet(design, batch=(size,)), Procedure(design, batch=(size,))
        truth, of_population = [], (population.means, *population.of_views)
        for place, view in enumerate(evidence.views):
            if view.design.target:
                means = np.broadcast_to(of_population[place % len(of_population)], (size, len(population.means)))
            else:
                means = np.average(chances, axis=-1, weights=view.layout.overall)
            truth.append(means[:, :, None] - means[:, None, :])
        bad, certified = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
        for number, panel in enumerate(answers, start=1):
            evidence.update(panel)
            if not any(design.is_look(evidence.runs)):
                continue
            for place, look in enumerate(procedure.looks(evidence.views, run=number)):
                edges = to_numpy(look.edges)
                bad |= (edges & (truth[place] <= design.tau + 1e-12)).any(axis=(1, 2))
                bounds = np.nan_to_num(to_numpy(evidence.views[place].lower_bounds()), nan=-1.0)
                bad |= (bounds > truth[place] + 1e-9).any(axis=(1, 2))
                if place == 0:
                    certified |= (edges & (truth[0] > design.tau)).any(axis=(1, 2))
        failed, found = failed + int(bad.sum()), found + int(certified.sum())
    return failed, found


# Items -----------------------------------------------------------------------------------------------------------


def independent(n_items: int, *kinds: tuple[float, float, float]) -> Chances:
    """Each item is of one of some kinds: how many there are, and the chances of both models."""
    shares = np.array([share for share, *_ in kinds])
    of_kind = np.array([chances for _, *chances in kinds]).T

    def chances(rng, size):
        return np.moveaxis(of_kind[:, rng.choice(len(kinds), p=shares, size=(size, n_items))], 0, 1)

    return chances


def by_coins(n_items: int, effect: float, *means: float) -> Chances:
    """On each item a coin for each model moves its chance up or down from its mean."""
    of_models = np.array(means)[:, None]
    return lambda rng, size: of_models + rng.choice([-effect, effect], size=(size, len(means), n_items))


def in_blocks(sizes: tuple[int, ...], *kinds: tuple[float, float, float]) -> Chances:
    """The same for blocks: all items of a block are of one kind."""
    of_item, of_blocks = np.repeat(np.arange(len(sizes)), sizes), independent(len(sizes), *kinds)
    return lambda rng, size: of_blocks(rng, size)[..., of_item]


def side_by_side(*parts: Chances) -> Chances:
    """The items of several populations, one after the other."""
    return lambda rng, size: np.concatenate([part(rng, size) for part in parts], axis=-1)


def copied(rng, answers):
    """The first run again and again."""
    return np.broadcast_to(answers[:1], answers.shape)


def lost_where_it_hurts(rng, answers):
    """After all runs have been seen: the first model loses every item on which it did worse than the other one."""
    worse = answers[:, :, 0].mean(axis=0) < answers[:, :, 1].mean(axis=0)
    hidden = answers.copy()
    hidden[:, :, 0] = np.where(worse, np.nan, answers[:, :, 0])
    return hidden


def failures_lost(rng, answers):
    """After all runs have been seen: a tenth of the failures of the first model, all of them in lucky repetitions."""
    hidden = answers.copy()
    of_first = answers[:, :, 0]
    lucky = (of_first.mean(axis=(0, 2)) > 0.52)[None, :, None]
    hidden[:, :, 0] = np.where((of_first == 0.0) & (lucky | (rng.random(of_first.shape) < 0.1)), np.nan, of_first)
    return hidden


OPPOSING = ((0.5, 0.9, 0.1), (0.5, 0.1, 0.9))
SKEWED = ((0.9, 0.55, 0.5), (0.1, 0.3, 0.75))  # nine items slightly for a, one strongly for b
ANSWERED = ((0.25, 1.0, 1.0), (0.25, 1.0, 0.0), (0.25, 0.0, 1.0), (0.25, 0.0, 0.0))  # always the same answer
UNEVEN = (1,) * 20 + (4,) * 8 + (12,) * 6
CATEGORIES = ("easy",) * 20 + ("hard",) * 80
of_categories = {
    "chances": side_by_side(
        independent(20, (0.5, 1.0, 1.0), (0.35, 1.0, 0.0), (0.15, 0.0, 1.0)),
        independent(80, (0.5, 0.0, 0.0), (0.15, 1.0, 0.0), (0.35, 0.0, 1.0)),
    ),  # by 0.2 for a, and by 0.2 for b
    "of_views": ((0.2, 0.0), (-0.2, 0.0)),
    "options": {"weights": macro_weights(CATEGORIES), "views": category_weights(CATEGORIES)},
}
CUBE_ROOT = 0.5 ** (1 / 3)

EQUAL = {
    "opposing items": Population(chances=independent(100, *OPPOSING)),
    "opposing items, ten planned runs": Population(
        chances=independent(100, *OPPOSING), runs=10, options={"planned": 10}
    ),
    "opposing items, both targets": Population(
        chances=independent(100, *OPPOSING), runs=16, options={"target": "both"}
    ),
    "opposing items, looks of its own": Population(
        chances=independent(30, *OPPOSING), n_items=30, runs=6, options={"looks": (2, 6), "look_weights": (0.3, 0.7)}
    ),
    "skewed effects": Population(chances=independent(100, *SKEWED)),
    "skewed effects, ten planned runs": Population(chances=independent(100, *SKEWED), runs=10, options={"planned": 10}),
    "deterministic answers": Population(chances=independent(100, *ANSWERED)),
    "copies of one run": Population(chances=independent(100, (1.0, 0.5, 0.5)), change=copied),
    "a plan of one run": Population(chances=independent(100, *OPPOSING), runs=1, options={"planned": 1}),
    "a plan of one run, few items": Population(
        chances=independent(6, (0.5, 1.0, 0.0), (0.5, 0.0, 1.0)), n_items=6, runs=1, options={"planned": 1}
    ),
    "six items that are answered alike, three looks": Population(
        chances=independent(6, (0.5, 1.0, 0.0), (0.5, 0.0, 1.0)), n_items=6, runs=4, options={"looks": (1, 2, 4)}
    ),
    "eight equal models": Population(
        chances=by_coins(100, 0.4, *(0.5,) * 8), runs=10, means=(0.5,) * 8, options={"planned": 10}
    ),
    "one better, four equal, one worse": Population(
        chances=by_coins(100, 0.2, 0.75, *(0.5,) * 4, 0.25),
        runs=10,
        means=(0.75, *(0.5,) * 4, 0.25),
        options={"planned": 10},
    ),
    "blocks of very different sizes": Population(
        chances=in_blocks(UNEVEN, *OPPOSING),
        n_items=sum(UNEVEN),
        options={"blocks": [f"b{k}" for k, size in enumerate(UNEVEN) for _ in range(size)]},
    ),
    "blocks that answer as one": Population(
        chances=in_blocks((5,) * 20, *ANSWERED), options={"blocks": [f"b{i // 5}" for i in range(100)]}
    ),
    "categories of different difficulty": Population(**of_categories),
    "gaps where the first model did worse": Population(
        chances=independent(100, *OPPOSING), runs=8, change=lost_where_it_hurts, options={"gaps": "worst-case"}
    ),
    "gaps in place of failures": Population(
        chances=independent(100, (1.0, 0.5, 0.5)), runs=8, change=failures_lost, options={"gaps": "worst-case"}
    ),
    # As often right in all of three runs, although the second one is right in half of all runs, the first in 0.79.
    "pass^3": Population(
        chances=independent(100, (0.5, CUBE_ROOT, 1.0), (0.5, CUBE_ROOT, 0.0)),
        runs=16,
        options={"of_runs": "all:3", "looks": (4, 8, 16)},
    ),
    # As often right in one of two runs: 1 - (1 - p)^2 = 1/2.
    "pass@2": Population(
        chances=independent(100, (0.5, 1 - 0.5**0.5, 1.0), (0.5, 1 - 0.5**0.5, 0.0)),
        runs=16,
        options={"of_runs": "any:2"},
    ),
}


# Needs that do not hold -------------------------------------------------------------------------------------------


def run_again(*differences: float) -> Change:
    """Every run by itself has a mean difference, of which that over all runs is what the population has."""
    halves = np.array(differences).reshape(-1, 1, 1, 1) / 2
    chances = 0.5 + np.concatenate([halves, -halves], axis=2)
    return lambda rng, answers: (rng.random(answers.shape) < chances).astype(float)


def one_seed(rng, answers):
    """All blocks of a run share what raises or lowers the chances of the first model by 0.05."""
    offset = rng.choice([-0.05, 0.05], size=(*answers.shape[:2], 1, 1))
    chances = 0.5 + offset * np.array([[1.0], [0.0]])
    return (rng.random(answers.shape) < chances).astype(float)


def best_and_worst(rng, answers):
    """Of all models, those with the highest and the lowest mean of these runs."""
    means, every = answers.mean(axis=(0, 3)), np.arange(answers.shape[1])
    return np.stack([answers[:, every, means.argmax(axis=1)], answers[:, every, means.argmin(axis=1)]], axis=2)


def of_twenty(rng, size):
    """Items on which each of twenty models is much better, or much worse, than on average."""
    return rng.choice([0.1, 0.9], size=(size, 20, 500))


COIN = (1.0, 0.5, 0.5)
BROKEN = {
    "a seed shared by blocks, one run": Population(
        chances=independent(1000, COIN), n_items=1000, runs=1, change=one_seed, options={"planned": 1}
    ),
    "a seed shared by blocks, four runs": Population(
        chances=independent(1000, COIN), n_items=1000, runs=4, change=one_seed, options={"planned": 4}
    ),
    "drift": Population(
        chances=independent(200, COIN),
        n_items=200,
        runs=10,
        change=run_again(*(0.1,) * 5, *(-0.1,) * 5),
        options={"planned": 10},
    ),
    "best and worst of twenty, one run": Population(
        chances=of_twenty, n_items=500, runs=1, change=best_and_worst, options={"planned": 1}
    ),
    "best and worst of twenty, four runs": Population(
        chances=of_twenty, n_items=500, runs=4, change=best_and_worst, options={"planned": 4}
    ),
    "pass^3 of copies": Population(
        chances=independent(100, (0.5, 0.5 ** (1 / 3), 1.0), (0.5, 0.5 ** (1 / 3), 0.0)),
        runs=3,
        change=copied,
        options={"of_runs": "all:3", "planned": 3},
    ),
}
"""What breaks the guarantee, and scores alone cannot show."""


# Looks that one level cannot cover --------------------------------------------------------------------------------


def five_at_each_look(rng, answers):
    """Fifteen items: at each of three looks five of them decide, and the others are level."""
    runs, size, _, n_items = answers.shape
    wins = rng.choice([0.0, 1.0], size=(size, n_items))
    found = np.full((runs, size, n_items), 0.5)
    for place, (first, last) in enumerate(((0, 1), (1, 12), (12, 144))):
        some = slice(5 * place, 5 * place + 5)
        found[first:last, :, some] = wins[:, some]
        found[last : 2 * last - first, :, some] = 1.0 - wins[:, some]  # level again by the next look
    return np.stack([found, 1.0 - found], axis=2)


THREE_CHANCES = Population(
    chances=independent(15, COIN),
    n_items=15,
    runs=144,
    change=five_at_each_look,
    options={"looks": (1, 12, 144), "margin_share": 0.0, "candidate": ["a"]},
)
