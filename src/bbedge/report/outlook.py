"""About how many more replicates an open pair would need: a guess from the past, never a promise."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TypedDict

import numpy as np

from bbedge.core.leaderboard import Leaderboard

MOST_PAIRS = 200
"""So many open pairs are looked at, the most promising first."""

_UNSURE = 2.0  # evidence grows by fits and starts: half or twice as many replicates are no surprise


class Prospect(TypedDict):
    """An open pair and how far its evidence has come."""

    ahead: str
    behind: str
    log_e: float
    log_threshold: float
    more_replicates: list[int] | None


def outlook(leaderboard: Leaderboard, *, stopped: Collection[str] = (), most: int = MOST_PAIRS) -> list[Prospect]:
    """The tested open pairs, those that would be certified soonest first.

    ``more_replicates`` carries the average growth of ``log_e`` per replicate on to the threshold of the last look and
    widens the result to half and twice, rounded outward to one digit. It is ``None`` where the evidence does not
    grow, or where a model has been stopped and no more is coming.
    """
    if not leaderboard.replicates:
        return []
    names = leaderboard.design.models
    pairs = np.array(leaderboard.current.unresolved, dtype=np.int64).reshape(-1, 2)
    log_e = np.nan_to_num(leaderboard.log_e, nan=-np.inf)
    forward, backward = log_e[pairs[:, 0], pairs[:, 1]], log_e[pairs[:, 1], pairs[:, 0]]
    pairs = np.where((backward > forward)[:, None], pairs[:, ::-1], pairs)
    best = np.maximum(forward, backward)
    limit = leaderboard.log_thresholds[pairs[:, 0], pairs[:, 1]]
    still = np.array([name not in stopped for name in names], dtype=np.bool_)
    hopeful = (best > 0.0) & still[pairs].all(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(hopeful, leaderboard.replicates * (limit - best) / best, np.inf)
    tested = np.flatnonzero(np.isfinite(best))
    chosen = tested[np.lexsort((-best[tested], needed[tested]))][:most]
    return [
        {
            "ahead": names[pairs[i, 0]],
            "behind": names[pairs[i, 1]],
            "log_e": float(best[i]),
            "log_threshold": float(limit[i]),
            "more_replicates": _range(float(needed[i])),
        }
        for i in chosen.tolist()
    ]


def _range(needed: float) -> list[int] | None:
    """Half to twice as many, rounded outward to one digit.

    >>> _range(7.3), _range(0.2), _range(float("inf"))
    ([3, 20], [1, 1], None)
    """
    if not needed < 1e15:
        return None
    low, high = needed / _UNSURE, needed * _UNSURE
    return [max(1, math.floor(low / _unit(low)) * _unit(low)), max(1, math.ceil(high / _unit(high)) * _unit(high))]


def _unit(value: float) -> int:
    """The place of the first digit; ones for what is below ten."""
    return int(10 ** math.floor(math.log10(max(value, 1.0))))
