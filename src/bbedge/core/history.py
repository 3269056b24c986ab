"""Looks at the evidence, and what is kept of them: the counts of every look, the evidence of a bounded number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import Array, to_numpy
from bbedge.core.eholm import log_threshold

Matrix = NDArray[np.float64]

MOST_MODELS = 30
"""With more models than this, nothing is kept beyond the counts that every leaderboard has."""
MOST_LOOKS = 60
"""With more looks than this, every second, fourth, ... look is kept, and the last one."""

_DECIMALS = 4  # enough for a drawing


class Look:
    """What one look at the evidence showed."""

    def __init__(self, *, replicate: int, log_e: Array, edges: Array) -> None:
        self.replicate = replicate
        """The replicate after which the look was taken."""
        self._log_e = log_e
        self._edges = edges

    @cached_property
    def log_e(self) -> Matrix:
        """Evidence of every tested direction, row against column; NaN elsewhere."""
        return to_numpy(self._log_e)

    @cached_property
    def edges(self) -> NDArray[np.bool_]:
        """The directions certified at this look."""
        return to_numpy(self._edges)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookCount:
    """One line of the history of looks."""

    replicate: int
    """The replicate after which the look was taken."""
    edges: int
    """Edges certified at this look."""
    resolved_pairs: int
    """Pairs decided by this look's edges and the paths they form."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """Evidence and threshold, look by look, rounded for a drawing: never what certifies."""

    replicates: tuple[int, ...]
    """The replicate before each look that was kept."""
    log_thresholds: tuple[float, ...]
    """What ``log_e`` had to reach at each of these looks."""
    log_e: Matrix
    """Looks x models x models, in the order of the design; NaN where not tested."""

    def __repr__(self) -> str:
        return f"History({len(self.replicates)} looks, to replicate {self.replicates[-1]})"


class Recorder:
    """Keeps looks as they are taken, and never more than a bounded number of them."""

    def __init__(self, *, alpha: float) -> None:
        self._alpha = alpha
        self._kept: list[History] = []
        self._last: History | None = None
        self._stride = 1

    def record(self, look: Look) -> None:
        """Keep a look."""
        # By the array on its device: with many models, nothing is copied from there.
        if look._log_e.shape[0] > MOST_MODELS:
            return
        self._last = History(
            replicates=(look.replicate,),
            log_thresholds=(round(log_threshold(look.log_e, self._alpha), _DECIMALS),),
            log_e=np.round(look.log_e, _DECIMALS)[None],
        )
        if (look.replicate - 1) % self._stride == 0:
            self._kept.append(self._last)
        if len(self._kept) > MOST_LOOKS:
            self._kept = self._kept[::2]
            self._stride *= 2

    def history(self) -> History | None:
        """What was kept; ``None`` if that is nothing."""
        if self._last is None:
            return None
        kept = self._kept if self._kept[-1] is self._last else [*self._kept, self._last]
        return History(
            replicates=tuple(each.replicates[0] for each in kept),
            log_thresholds=tuple(each.log_thresholds[0] for each in kept),
            log_e=np.concatenate([each.log_e for each in kept]),
        )
