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
from bbedge.core.evidence import Evidence
from bbedge.core.paths import closure, closure_by_products

_NOTHING = -1e300  # the logarithm of what adds nothing to any sum
_ROUGH = 1e-6  # far more than the roundings of a first, quick bound
_MORE = 64  # roundings of a search, beside one for each direction that is added up


class Wealth:
    """The left side of the rule at one look, for any set of certified directions of all views.

    ``log_groups`` is for each view what each group adds to its evidence now: groups x (batch x) models x models.
    Inside, the groups that have entered and the repetitions are rows, and all directions of a repetition, view by
    view, are columns. A direction counts in every sum with the share that its view has of alpha.
    """

    def __init__(self, views: Sequence[Evidence], log_groups: Sequence[Array]) -> None:
        first, xp = views[0], views[0].space.xp
        self._space = first.space
        self._shape = tuple(log_groups[0].shape[1:])
        groups = [place for place, group in enumerate(first.groups) if group.after < first.run]
        weights = [group.weight for group in first.groups]
        self._n = len(groups)
        self._cash = math.fsum(weights[self._n :])  # the groups come in the order of their entries
        self._log_weights = [math.log(weight) for weight in weights[: self._n]]
        self._size = self._shape[-1] ** 2
        flat = (self._n, math.prod(self._shape[:-2]), self._size)
        self._now = self._by_share(views, [xp.reshape(of_view[: self._n, ...], flat) for of_view in log_groups])
        self._then = self._by_share(views, [xp.reshape(view.at_entry(self._n), flat) for view in views])
        self._tested = xp.reshape(first.tested, (1, self._size))
        self._is_tested = self._tested if len(views) == 1 else xp.concat([self._tested] * len(views), axis=-1)

    def _by_share(self, views: Sequence[Evidence], values: list[Array]) -> Array:
        """Values of all views side by side, each times the share of its view; one view has all there is."""
        if len(views) == 1:
            return values[0]
        shares = (math.log(view.design.share) for view in views)
        return self._space.xp.concat([value + share for value, share in zip(values, shares, strict=True)], axis=-1)

    def certify(self, certified: Sequence[Array], alpha: float) -> list[Array]:
        """The directions of each view that are certified now, given those that were: masks of the same shape."""
        close = closure_by_products if len(self._shape) > 2 else closure
        tested = self._space.xp.reshape(self._tested, self._shape[-2:])
        of_views = list(certified)
        while True:
            sure = self._joined(of_views)
            new = self._reaching(self._is_tested & ~sure, -math.log(alpha) * (1.0 + 8 * UNIT))
            if new is None:
                return of_views
            of_views = [joined | (close(joined) & tested) for joined in self._apart(sure | new)]

    def log(self, certified: Sequence[Array]) -> list[Array]:
        """The left side of every direction as a logarithm, rounded down; for certified ones as if they were not."""
        xp = self._space.xp
        rest = self._is_tested & ~self._joined(certified)
        ratios = self._least(rest, None) if self._n else self._now  # before the first replicate, all is cash
        found = self._apart(self._left(ratios, rest.shape))
        return [xp.where(xp.reshape(self._tested, self._shape[-2:]), of_view, xp.nan) for of_view in found]

    def _joined(self, of_views: Sequence[Array]) -> Array:
        """Repetitions x all directions, from an array for each view."""
        xp, flat = self._space.xp, (-1, self._size)
        parts = [xp.reshape(of_view, flat) for of_view in of_views]
        return parts[0] if len(parts) == 1 else xp.concat(parts, axis=-1)

    def _apart(self, joined: Array) -> list[Array]:
        """An array for each view, from repetitions x all directions."""
        return [
            self._space.xp.reshape(joined[..., start : start + self._size], self._shape)
            for start in range(0, joined.shape[-1], self._size)
        ]

    def _reaching(self, rest: Array, threshold: float) -> Array | None:
        """Those of the rest whose left side reaches the threshold; ``None`` if there are none."""
        xp = self._space.xp
        # The ratio of any set is an upper bound: first that of all directions below the threshold by themselves.
        alone = self._now - self._then
        low = rest[None, ...] & (alone < threshold)
        others, at_entry = _log_sum(xp, self._now, low), _log_sum(xp, self._then, low)
        joined = xp.logaddexp(self._now, others) - xp.logaddexp(self._then, at_entry)
        bound = xp.minimum(alone, xp.where(low, others - at_entry, joined)) + _ROUGH
        hopeful = rest & (self._left(bound, rest.shape) >= threshold)
        if not bool(xp.any(hopeful)):
            return None
        if rest.shape[0] > 1:
            found = hopeful & (self._left(self._least(rest, None), rest.shape) >= threshold)
        else:
            asked = xp.nonzero(hopeful[0, :])[0]
            reaching = self._left(self._least(rest, asked), (1, asked.shape[0]))[0, :] >= threshold
            mask = np.zeros(rest.shape, dtype=np.bool_)
            mask[0, to_numpy(asked[reaching])] = True
            found = self._space.bools(mask)
        return found if bool(xp.any(found)) else None

    def _left(self, ratios: Array, shape: tuple[int, ...]) -> Array:
        """The weighted sum of the groups that have entered and of the cash, as a logarithm rounded down."""
        xp = self._space.xp
        total = xp.broadcast_to(self._space.asarray(math.log(self._cash) if self._cash else -math.inf), shape)
        for group in range(self._n):
            total = xp.logaddexp(total, ratios[group, ...] + self._log_weights[group])
        return total - 16 * UNIT * (self._n + 1) * (1.0 + xp.abs(total))

    def _least(self, rest: Array, asked: Array | None) -> Array:
        """The logarithm of the smallest ratio of sums over sets that contain a direction, rounded down.

        Of all directions, or of those asked for: groups x repetitions x directions. The others are taken in rising
        order of their own ratio, each for as long as it lowers the ratio of the sums.
        """
        xp, size = self._space.xp, rest.shape[1]
        ratio = xp.where(rest[None, ...], self._now - self._then, xp.inf)
        now, then, ratio = (xp.reshape(each, (-1, size)) for each in (self._now, self._then, ratio))
        order = xp.argsort(ratio, axis=-1)
        rising = _at(xp, ratio, order)
        above, below = (
            self._running(xp.where(xp.isinf(rising), _NOTHING, _at(xp, each, order))) for each in (now, then)
        )
        x, d = (now, then) if asked is None else (xp.take(now, asked, axis=1), xp.take(then, asked, axis=1))
        low = xp.zeros(x.shape, dtype=order.dtype, device=self._space.device)
        high = low + xp.sum(xp.astype(~xp.isinf(rising), order.dtype), axis=-1, keepdims=True)
        for _ in range(size.bit_length()):
            middle = (low + high) // 2
            reached = xp.logaddexp(x, _at(xp, above, middle)) - xp.logaddexp(d, _at(xp, below, middle))
            further = (low < high) & (_at(xp, rising, xp.clip(middle, 0, size - 1)) < reached)
            low, high = xp.where(further, middle + 1, low), xp.where(further, high, middle)
        top, bottom = xp.logaddexp(x, _at(xp, above, low)), xp.logaddexp(d, _at(xp, below, low))
        lost = 4 * UNIT * (xp.astype(low, xp.float64) + _MORE) * (1.0 + xp.abs(top) + xp.abs(bottom))
        return xp.reshape(top - bottom - lost, (self._n, rest.shape[0], x.shape[1]))  # no group before the first look

    def _running(self, values: Array) -> Array:
        """Logarithms of the sums of the first 0, 1, 2, ... exponentials of every row."""
        xp, step = self._space.xp, 1
        start = xp.full((values.shape[0], 1), _NOTHING, dtype=xp.float64, device=self._space.device)
        if self._space.is_numpy:
            return np.concatenate([start, np.logaddexp.accumulate(values, axis=-1)], axis=-1)
        while step < values.shape[-1]:  # in parallel, with twice as many terms a step
            values = xp.concat([values[:, :step], xp.logaddexp(values[:, step:], values[:, :-step])], axis=-1)
            step *= 2
        return xp.concat([start, values], axis=-1)


def _log_sum(xp: Any, values: Array, chosen: Array) -> Array:  # noqa: ANN401 - libraries have no common type
    """The logarithm of the sum of the chosen exponentials over the last axis, which stays."""
    some = xp.where(chosen, values, _NOTHING)
    peak = xp.max(some, axis=-1, keepdims=True)
    return peak + xp.log(xp.sum(xp.exp(some - peak), axis=-1, keepdims=True))


def _at(xp: Any, values: Array, places: Array) -> Array:  # noqa: ANN401 - libraries have no common type
    """The values at some places of every row."""
    first = xp.arange(values.shape[0], dtype=places.dtype, device=device(places))[:, None] * values.shape[1]
    return xp.reshape(xp.take(xp.reshape(values, (-1,)), xp.reshape(places + first, (-1,))), places.shape)
