r"""Staggered e-Holm: stakes that are made for many replicates stay in cash until the data have shown who cannot win.

e-Holm pays for every direction that is not certified, also for those whose evidence is hopeless by now. Here a group
``j`` of stakes with mixture weight ``rho_j`` enters after ``k_j`` replicates and pays for others only what they had
then. With ``x`` and ``d`` a direction's evidence of that group now and at entry, and the sets ``I`` running over the
directions that are not certified yet, a direction ``e`` is certified once

.. math:: \sum_{j : k_j < r} \rho_j \min_{I \ni e} \frac{\sum_I x}{\sum_I d} + \sum_{j : k_j \ge r} \rho_j

reaches ``1 / alpha``. What follows by paths is certified with it, and the rest is tried again. Nothing is taken back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from array_api_compat import device

from bbedge.core.arrays import UNIT, Array, to_numpy
from bbedge.core.closure import closure, closure_by_products
from bbedge.core.evidence import Evidence

_MORE = 64  # roundings of a search, beside one for each direction that is added up


class Wealth:
    """The left side of the rule at one look, for any set of certified directions.

    ``log_groups`` is what each group adds to the evidence now: groups x (batch x) models x models.
    """

    def __init__(self, evidence: Evidence, log_groups: Array) -> None:
        space, groups, replicate = evidence.space, evidence.groups, evidence.replicates
        self._space = space
        self._shape = tuple(log_groups.shape[1:])
        n_models = self._shape[-1]
        batch = math.prod(self._shape[:-2])
        flat = (batch, n_models * n_models)
        entered = [place for place, group in enumerate(groups) if group.after < replicate]
        self._log_weights = [math.log(groups[place].weight) for place in entered]
        self._now = [space.xp.reshape(log_groups[place, ...], flat) for place in entered]
        self._then = [space.xp.reshape(evidence.at_entry(place), flat) for place in entered]
        self._cash = math.fsum(group.weight for group in groups if group.after >= replicate)
        self._tested = space.xp.broadcast_to(space.xp.reshape(space.bools(evidence.design.tested), (1, flat[1])), flat)

    def certify(self, certified: Array, alpha: float) -> Array:
        """The directions that are certified now, given those that were: a mask of the same shape."""
        xp, batched = self._space.xp, len(self._shape) > 2
        threshold = -math.log(alpha) * (1.0 + 8 * UNIT)
        while True:
            sure = xp.reshape(certified, self._tested.shape)
            new = self._reaching(self._tested & ~sure, threshold)
            if not bool(xp.any(new)):
                return certified
            joined = xp.reshape(sure | new, self._shape)
            paths = (closure_by_products if batched else closure)(joined)
            certified = joined | (paths & xp.reshape(self._tested, self._shape))

    def log(self, certified: Array) -> Array:
        """The left side of every direction as a logarithm, rounded down; for certified ones as if they were not."""
        xp = self._space.xp
        sure = xp.reshape(certified, self._tested.shape)
        places = xp.arange(sure.shape[1], device=self._space.device)
        asked = xp.broadcast_to(places[None, :], sure.shape)
        found = xp.reshape(self._log(self._tested & ~sure, asked), self._shape)
        return xp.where(xp.reshape(self._tested, self._shape), found, xp.nan)

    def _reaching(self, rest: Array, threshold: float) -> Array:
        """Those of the rest whose left side reaches the threshold."""
        xp = self._space.xp
        alone = self._sum([now - then for now, then in zip(self._now, self._then, strict=True)])
        hopeful = rest & (alone >= threshold)  # no set has a smaller ratio than the least, and this is one of them
        if not bool(xp.any(hopeful)):
            return hopeful
        if rest.shape[0] > 1:
            places = xp.arange(rest.shape[1], device=self._space.device)
            asked = xp.broadcast_to(places[None, :], rest.shape)
            return hopeful & (self._log(rest, asked) >= threshold)
        asked = xp.nonzero(hopeful[0, :])[0]
        reaching = self._log(rest, asked[None, :])[0, :] >= threshold
        found = np.zeros(rest.shape, dtype=np.bool_)
        found[0, to_numpy(asked[reaching])] = True
        return self._space.bools(found)

    def _log(self, rest: Array, asked: Array) -> Array:
        """The left side of the directions asked for, repetitions x directions."""
        return self._sum([self._least(now, then, rest, asked) for now, then in zip(self._now, self._then, strict=True)])

    def _sum(self, ratios: Sequence[Array]) -> Array:
        """The weighted sum of the groups that have entered and of the cash, as a logarithm rounded down."""
        xp = self._space.xp
        cash = self._space.asarray(math.log(self._cash) if self._cash else -math.inf)
        total = xp.broadcast_to(cash, ratios[0].shape if ratios else self._tested.shape)
        for ratio, log_weight in zip(ratios, self._log_weights, strict=True):
            total = xp.logaddexp(total, ratio + log_weight)
        return total - 16 * UNIT * (len(self._log_weights) + 1) * (1.0 + xp.abs(total))

    def _least(self, now: Array, then: Array, rest: Array, asked: Array) -> Array:
        """The logarithm of the smallest ratio of sums over sets that contain a direction, rounded down.

        The others are taken in rising order of their own ratio, each for as long as it lowers the ratio of the sums.
        """
        xp, size = self._space.xp, rest.shape[1]
        ratio = xp.where(rest, now - then, xp.inf)
        order = xp.argsort(ratio, axis=-1)
        rising = _at(xp, ratio, order)
        above = self._running(xp.where(xp.isinf(rising), -xp.inf, _at(xp, now, order)))
        below = self._running(xp.where(xp.isinf(rising), -xp.inf, _at(xp, then, order)))
        x, d = _at(xp, now, asked), _at(xp, then, asked)

        def with_others(taken: Array) -> tuple[Array, Array]:
            return xp.logaddexp(x, _at(xp, above, taken)), xp.logaddexp(d, _at(xp, below, taken))

        low = asked * 0
        high = low + xp.sum(xp.astype(rest, low.dtype), axis=-1, keepdims=True)
        for _ in range(size.bit_length()):
            middle = (low + high) // 2
            top, bottom = with_others(middle)
            further = (low < high) & (_at(xp, rising, xp.clip(middle, 0, size - 1)) < top - bottom)
            low, high = xp.where(further, middle + 1, low), xp.where(further, high, middle)
        top, bottom = with_others(low)
        lost = 4 * UNIT * (xp.astype(low, xp.float64) + _MORE) * (1.0 + xp.abs(top) + xp.abs(bottom))
        return top - bottom - lost

    def _running(self, values: Array) -> Array:
        """Logarithms of the sums of the first 0, 1, 2, ... exponentials."""
        xp, step = self._space.xp, 1
        start = xp.full((values.shape[0], 1), -xp.inf, dtype=xp.float64, device=self._space.device)
        if self._space.is_numpy:
            return np.concatenate([start, np.logaddexp.accumulate(values, axis=-1)], axis=-1)
        while step < values.shape[-1]:  # in parallel, with twice as many terms a step
            values = xp.concat([values[:, :step], xp.logaddexp(values[:, step:], values[:, :-step])], axis=-1)
            step *= 2
        return xp.concat([start, values], axis=-1)


def _at(xp: Any, values: Array, places: Array) -> Array:  # noqa: ANN401 - libraries have no common type
    """The values at some places of every row."""
    first = xp.arange(values.shape[0], dtype=places.dtype, device=device(places))[:, None] * values.shape[1]
    return xp.reshape(xp.take(xp.reshape(values, (-1,)), xp.reshape(places + first, (-1,))), places.shape)
