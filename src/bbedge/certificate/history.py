"""The evidence of every look, in a size that a document can carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import to_numpy
from bbedge.core.eholm import log_threshold
from bbedge.core.leaderboard import Look

MOST_MODELS = 30
"""With more models than this, nothing is kept beyond the counts that every leaderboard has."""
MOST_LOOKS = 60
"""With more looks than this, every second, fourth, ... look is kept, and the last one."""

_DECIMALS = 4  # enough for a drawing


class History(TypedDict):
    """Evidence and threshold, look by look; matrices in the order of the leaderboard."""

    replicates: list[int]
    log_thresholds: list[float]
    log_e: list[list[list[float | None]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    replicate: int
    log_threshold: float
    log_e: NDArray[np.float64]


class Recorder:
    """Keeps looks as they are taken, and never more than a bounded number of them."""

    def __init__(self, *, alpha: float) -> None:
        self._alpha = alpha
        self._kept: list[_Kept] = []
        self._last: _Kept | None = None
        self._stride = 1

    def record(self, look: Look) -> None:
        """Keep a look."""
        if len(look.log_e) > MOST_MODELS:
            return
        self._last = _Kept(
            replicate=look.replicate,
            log_threshold=log_threshold(look.log_e, self._alpha),
            log_e=np.round(to_numpy(look.log_e), _DECIMALS),
        )
        if (look.replicate - 1) % self._stride == 0:
            self._kept.append(self._last)
        if len(self._kept) > MOST_LOOKS:
            self._kept = self._kept[::2]
            self._stride *= 2

    def history(self, order: Sequence[int]) -> History | None:
        """What was kept, with the models in this order; ``None`` if that is nothing."""
        if self._last is None:
            return None
        kept = self._kept if self._kept[-1] is self._last else [*self._kept, self._last]
        window = np.ix_(np.array(order), np.array(order))
        return {
            "replicates": [each.replicate for each in kept],
            "log_thresholds": [round(each.log_threshold, _DECIMALS) for each in kept],
            "log_e": [
                [[None if value != value else value for value in row] for row in each.log_e[window].tolist()]
                for each in kept
            ],
        }
