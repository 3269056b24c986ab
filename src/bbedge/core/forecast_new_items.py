r"""What a design can resolve about new items, by the number of items and of runs, before any score is seen.

After r runs a block's mean outcome varies over draws of blocks with variance :math:`b + v / r`: ``b`` between items,
``v`` the noise of one run. The sum ``T`` of the weighted :math:`\bar Y - \mu_0` is nearly normal with mean
:math:`(\Delta - \tau) / 2` and variance :math:`\sum_m w_m^2 (b + v / r)`. The evidence is a sum over looks and stakes
of exponentials of ``T``, where the earlier looks are taken to have the same ``T`` and the variance of their own runs.
As runs grow, ``b`` stays: below some difference no number of them helps, and only more items do.

Like :mod:`bbedge.core.forecast` this is no guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bbedge.core.arrays import Floats, Ints
from bbedge.core.design import Design
from bbedge.core.forecast import (
    MOST_REPLICATES,
    Forecast,
    PairAssumptions,
    bet_penalty,
    chance_above,
    remade,
    total_needed,
)
from bbedge.core.stakes import Stakes
from bbedge.records.options import Options
from bbedge.records.values import Target

BETWEEN_SHARE = 0.5
"""What part of the variance in one run is assumed to lie between items, where nothing shows how much it is."""


@dataclass(frozen=True, kw_only=True)
class NewItemsForecast(Forecast):
    """What a design about new items can resolve; assumptions are about the population that blocks are drawn from.

    >>> design = Design.make(["a", "b"], [f"q{i}" for i in range(500)], target="new-items")
    >>> forecast = NewItemsForecast(design=design, assumed=PairAssumptions(noise=0.06, unevenness=0.06))
    >>> [round(forecast.smallest_gap(runs), 3) for runs in (1, 10, MOST_REPLICATES)]
    [0.122, 0.091, 0.087]
    """

    def power(self, gap: float, replicates: int) -> float:
        """Probability that a direction with this difference over the population is certified by so many runs.

        It is assumed that the design then states this number as planned, where it states nothing about its looks.
        """
        relative, counts, largest, squares = self._blocks
        offset = (gap - self.design.tau) / 2.0
        rates, constants, looks = [], [], self._looks(replicates)
        for look, weight in looks.items():
            stakes = self._stakes_of(weight)
            square = self.assumed.drawn_variance(look) + offset**2
            for stake, share in zip(stakes.values, stakes.weights, strict=True):
                paid = self.times * float(counts @ bet_penalty(stake * relative, offset, square))
                rates.append(stake * self.times / largest)
                constants.append(math.log(weight * share) - paid)
        if not rates:
            return 0.0
        needed = total_needed(np.array(rates), np.array(constants), self.log_threshold)
        # Runs after the last look are not seen.
        return chance_above(needed, offset, squares / self.times * self.assumed.drawn_variance(max(looks)))

    def replicates_for(self, gap: float, *, power: float = 0.8) -> int | None:
        """The fewest runs that certify this difference with this power; ``None`` if no number of runs does."""
        if self.power(gap, MOST_REPLICATES) < power:
            return None
        return Forecast.replicates_for(self, gap, power=power)

    @property
    def inside_first_run(self) -> None:
        """None: new items have no looks inside a run."""
        return

    def _looks(self, replicates: int) -> dict[int, float]:
        stated = self.design if self.design.looks or self.design.planned else None
        schedule = (stated or Options(target="new-items", planned=replicates)).schedule
        return {look: weight for look, weight in schedule.items() if look <= replicates}

    def _stakes_of(self, weight: float) -> Stakes:
        """The stakes of a look with this part of the evidence."""
        if weight not in self._known_stakes:
            found = self.design.rule_stakes(replicates=1, level=weight, blocks=self.times)
            self._known_stakes[weight] = found
        return self._known_stakes[weight]

    @cached_property
    def _known_stakes(self) -> dict[float, Stakes]:
        return {}

    @cached_property
    def _blocks(self) -> tuple[Floats, Ints, float, float]:
        """The relative weights, how many blocks have each, the largest weight, and the sum of squared weights."""
        layout = self.design.layout
        relative, counts = np.unique(layout.relative_weights, return_counts=True)
        return relative, counts.astype(np.int64), float(layout.weights.max()), float(np.square(layout.weights).sum())


def target_forecasts(design: Design, assumed: PairAssumptions, target: Target) -> dict[str, Forecast]:
    """Forecasts for the models, items and blocks of a design and its level: new items, and with ``both`` these items.

    Each target has the level of the design.
    """
    of_new_items = remade(design, blocks=design.blocks, target="new-items")
    ways: dict[str, Forecast] = {"new items": NewItemsForecast(design=of_new_items, assumed=assumed)}
    if target == "both":
        ways["these items"] = Forecast(design=remade(design, blocks=design.blocks), assumed=assumed)
    return ways
