"""Benchmarks that grow because of what was seen, and how often something false is said of new items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from bbedge.core.arrays import to_numpy
from bbedge.core.design import Design
from bbedge.core.eholm import Procedure
from bbedge.core.evidence_set import EvidenceSet
from calibration.new_items import ANSWERED, BATCH, OPPOSING, SKEWED, Chances, by_coins, independent
from calibration.repetitions import ALPHA

Rule = Callable[[np.ndarray, float, np.ndarray], np.ndarray]
"""Who adds items now: from the evidence of the direction that is ahead, what one alone must reach, and whether any
stands."""


def nearly_certified(ahead, needed, stands):
    """Only where nothing is certified, and more evidence of the kind that there is would do."""
    return ~stands & (ahead > needed / 4)


def not_behind(ahead, needed, stands):
    """Where nothing is certified and hope is left, again and again."""
    return ~stands & (ahead > -1.5)


def not_ahead(ahead, needed, stands):
    """Only where the items so far have gone against everybody, as if one could begin again."""
    return ~stands & (ahead < 0.0)


def always(ahead, needed, stands):
    return np.ones(ahead.shape, dtype=bool)


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Items that are drawn in several batches, each added only where the rule says so of what was seen before."""

    batches: tuple[Chances, ...]
    """Draws the items of each batch."""
    sizes: tuple[int, ...]
    runs: tuple[int, ...]
    """How many runs there are after each batch has come."""
    grows: Rule = nearly_certified
    means: tuple[float, ...] = (0.0, 0.0)
    """Of each model over the population; only their differences matter."""
    options: dict = field(default_factory=dict)

    def design(self, start: int, stop: int) -> Design:
        """The design of some of the items."""
        items = [f"q{i}" for i in range(start, stop)]
        models = list("abcdefgh"[: len(self.means)])
        return Design.make(models, items, **({"alpha": ALPHA, "target": "new-items"} | self.options))


def same(count: int, chances: Callable[[int], Chances], size: int, runs: int, **others) -> Growth:
    """So many batches of one size."""
    drawn = (chances(size),) * count
    return Growth(batches=drawn, sizes=(size,) * count, runs=(runs,) * count, **others)


def grown(growth: Growth, version: int, before: EvidenceSet, size: int) -> EvidenceSet:
    """The evidence after a batch was added."""
    ends = [0, *accumulate(growth.sizes)]
    batches = [growth.design(ends[place], ends[place + 1]) for place in range(version + 1)]
    evidence = EvidenceSet(growth.design(0, ends[version + 1]), batch=(size,), batches=batches)
    evidence.carry_on(before)
    return evidence


def false_lives(growth: Growth, *, n: int, seed: int) -> tuple[int, int, int]:
    """In how many repetitions something false was said at some look; those that have grown; and true edges."""
    rng, failed, grew, found = np.random.default_rng(seed), 0, 0, 0
    truth = np.subtract.outer(np.array(growth.means), np.array(growth.means))
    for start in range(0, n, BATCH):
        size = min(BATCH, n - start)
        chances = np.concatenate([draw(rng, size) for draw in growth.batches], axis=-1)
        evidence = EvidenceSet(growth.design(0, growth.sizes[0]), batch=(size,))
        procedure = Procedure(evidence.headline.design, batch=(size,))
        bad, going, certified = (np.zeros(size, dtype=bool) for _ in range(3))
        going |= True
        needed = -np.log(evidence.headline.design.certificate_alpha)
        for version, stop in enumerate(accumulate(growth.sizes)):
            if version:
                ahead = np.nanmax(to_numpy(evidence.headline.log_e()).reshape(size, -1), axis=1)
                stands = to_numpy(procedure.first[0]).reshape(size, -1).any(axis=1)
                going = going & growth.grows(ahead, needed, stands)
                evidence = grown(growth, version, evidence, size)
                grew += int(going.sum()) if version == 1 else 0
            for _ in range(growth.runs[version]):
                evidence.update((rng.random((size, len(growth.means), stop)) < chances[..., :stop]).astype(float))
                (look,) = procedure.looks(evidence.views, run=evidence.runs)
                edges, bounds = (
                    to_numpy(look.edges),
                    np.nan_to_num(to_numpy(evidence.headline.lower_bounds()), nan=-1.0),
                )
                bad |= going & (edges & (truth <= 1e-12)).any(axis=(1, 2))
                bad |= going & (bounds > truth + 1e-9).any(axis=(1, 2))
                certified |= going & (edges & (truth > 0.0)).any(axis=(1, 2))
        failed, found = failed + int(bad.sum()), found + int(certified.sum())
    return failed, grew, found


ALIKE = ((0.5, 1.0, 0.0), (0.5, 0.0, 1.0))  # one of the two is right, in every run

GROWING = {
    "twelve items of one run, up to eight times, where nearly certified": same(
        8, lambda size: independent(size, *ALIKE), 12, 1, options={"planned": 1}
    ),
    "six items of one run, up to eight times, where nobody is ahead": same(
        8, lambda size: independent(size, *ALIKE), 6, 1, grows=not_ahead, options={"planned": 1}
    ),
    "six items of one run, eight times": same(
        8, lambda size: independent(size, *ALIKE), 6, 1, grows=always, options={"planned": 1}
    ),
    "a hundred items of one run, then ten up to seven times, where not far behind": Growth(
        batches=(independent(100, *ALIKE), *(independent(10, *ALIKE),) * 7),
        sizes=(100, *(10,) * 7),
        runs=(1,) * 8,
        grows=not_behind,
        options={"planned": 1},
    ),
    "opposing items, where nearly certified": same(3, lambda size: independent(size, *OPPOSING), 60, 3),
    "opposing items, two planned runs": same(
        3, lambda size: independent(size, *OPPOSING), 60, 2, options={"planned": 2}
    ),
    "skewed effects, where nearly certified": same(3, lambda size: independent(size, *SKEWED), 60, 3),
    "many items, then few": Growth(
        batches=(independent(80, *ANSWERED), independent(20, *ANSWERED), independent(5, *ANSWERED)),
        sizes=(80, 20, 5),
        runs=(2, 2, 2),
    ),
    "four equal models, a better one and a worse one": same(
        2,
        lambda size: by_coins(size, 0.2, 0.75, *(0.5,) * 4, 0.25),
        50,
        3,
        means=(0.75, *(0.5,) * 4, 0.25),
        grows=always,
        options={"planned": 3},
    ),
}
