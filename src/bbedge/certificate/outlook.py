"""About how many more replicates an open pair would need: a guess from the past, never a promise."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from bbedge.certificate.shape import Prospect
from bbedge.core.leaderboard import Leaderboard

MOST_PAIRS = 200
"""So many open pairs are looked at, the most promising first."""

_STRIP = 1 << 20  # pairs looked at together: thousands of models have millions
_UNSURE = 2.0  # evidence grows by fits and starts: half or twice as many replicates are no surprise


Floats = NDArray[np.float64]
Forecast = tuple[NDArray[np.int32], Floats, Floats, Floats]


def outlook(leaderboard: Leaderboard, *, stopped: Collection[str] = (), most: int = MOST_PAIRS) -> tuple[Prospect, ...]:
    """The tested open pairs, those that would be certified soonest first.

    ``more_replicates`` carries the average growth of ``log_e`` per replicate on to the threshold of the last look and
    widens the result to half and twice, rounded outward to one digit. It is ``None`` where the evidence does not
    grow, or where a model has been stopped and no more is coming. ``within`` is where the difference lies, in score
    units; an end is ``None`` where that direction is not tested.
    """
    if not leaderboard.replicates:
        return ()
    names = leaderboard.design.models
    low, high = leaderboard.design.score_range
    still = np.array([name not in stopped for name in names], dtype=np.bool_)
    # The first of every strip, then the first of these: the same as of all, since sorting keeps the order of equals.
    strips = [_first(*_forecast(leaderboard, pairs, still), most=most) for pairs in _strips(leaderboard)]
    merged = (np.concatenate([strip[part] for strip in strips]) for part in range(4))
    pairs, best, limit, needed = _first(*merged, most=most)
    bounds = leaderboard.lower_bounds
    return tuple(
        Prospect(
            ahead=names[a],
            behind=names[b],
            log_e=float(best[i]),
            log_threshold=float(limit[i]),
            more_replicates=_range(float(needed[i])),
            within=(_units(bounds[a, b], high - low), _units(-bounds[b, a], high - low)),
        )
        for i, (a, b) in enumerate(pairs.tolist())
    )


def _units(end: float, width: float) -> float | None:
    return None if end != end else float(end) * width


def _strips(leaderboard: Leaderboard) -> Iterator[NDArray[np.int32]]:
    """The open pairs, a bounded number at a time; at least one strip, which may be empty.

    Pairs of a cycle are certified both ways: what contradicts itself is not open, and no run will decide it.
    """
    pairs = leaderboard.graph.unresolved_pairs
    if leaderboard.graph.cycles:
        pairs = pairs[~leaderboard.graph.reach[pairs[:, 0], pairs[:, 1]]]
    for start in range(0, max(1, len(pairs)), _STRIP):
        yield pairs[start : start + _STRIP]


def _forecast(leaderboard: Leaderboard, pairs: NDArray[np.int32], still: NDArray[np.bool_]) -> Forecast:
    """The leading direction of each tested pair, its evidence, its threshold and the replicates still needed."""
    forward, backward = (
        np.nan_to_num(leaderboard.log_e[pairs[:, i], pairs[:, 1 - i]], nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        for i in (0, 1)
    )
    pairs = np.where((backward > forward)[:, None], pairs[:, ::-1], pairs)
    best = np.maximum(forward, backward)
    limit = leaderboard.log_thresholds[pairs[:, 0], pairs[:, 1]]
    hopeful = (best > 0.0) & still[pairs].all(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(hopeful, leaderboard.replicates * (limit - best) / best, np.inf)
    tested = np.isfinite(best)
    return pairs[tested], best[tested], limit[tested], needed[tested]


def _first(pairs: NDArray[np.int32], best: Floats, limit: Floats, needed: Floats, *, most: int) -> Forecast:
    """Those that need the fewest replicates, then those with most evidence."""
    if len(pairs) > most:
        # Sorting millions of pairs takes seconds: drop first what cannot be among the chosen.
        last = np.partition(needed, most - 1)[most - 1]
        near = needed <= last
        if np.isinf(last):
            hopeless = np.isinf(needed)
            few = min(most, int(hopeless.sum()))
            near = ~hopeless | (best >= np.partition(best[hopeless], -few)[-few])
        pairs, best, limit, needed = pairs[near], best[near], limit[near], needed[near]
    chosen = np.lexsort((-best, needed))[:most]
    return pairs[chosen], best[chosen], limit[chosen], needed[chosen]


def _range(needed: float) -> tuple[int, int] | None:
    """Half to twice as many, rounded outward to one digit.

    >>> _range(7.3), _range(0.2), _range(float("inf"))
    ((3, 20), (1, 1), None)
    """
    if not needed < 1e15:
        return None
    low, high = needed / _UNSURE, needed * _UNSURE
    return max(1, math.floor(low / _unit(low)) * _unit(low)), max(1, math.ceil(high / _unit(high)) * _unit(high))


def _unit(value: float) -> int:
    """The place of the first digit; ones for what is below ten."""
    return int(10 ** math.floor(math.log10(max(value, 1.0))))
