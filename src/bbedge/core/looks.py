"""Looks at the evidence, and what is kept of them: the counts of every look, the evidence of a bounded number.

Looks inside the first run are counted apart, with how far it has come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import Array, to_numpy
from bbedge.core.checkpoints import Checkpoint, PositionTrend

Matrix = NDArray[np.float64]

MOST_MODELS = 30
"""With more models than this, nothing is kept beyond the counts that every leaderboard has."""
MOST_LOOKS = 60
"""With more looks than this, every second, fourth, ... look is kept, and the last one."""

_DECIMALS = 4  # enough for a drawing


class Look:
    """What one look at the evidence showed. Arrays are copied from their device when they are first asked for."""

    def __init__(
        self,
        *,
        replicate: int,
        log_e: Callable[[], Array],
        edges: Array,
        log_threshold: Callable[[], float],
        log_w: Callable[[], Array] | None = None,
        checkpoint: int = 0,
    ) -> None:
        self.replicate = replicate
        """The replicate after which the look was taken, or the first, inside of which it was."""
        self.checkpoint = checkpoint
        """The checkpoint of the first replicate at which it was taken; 0 if it was after a complete one."""
        self._log_e = log_e
        self._edges = edges
        self._log_threshold = log_threshold
        self._log_w = log_w

    @property
    def n_models(self) -> int:
        """Number of models."""
        return int(self._edges.shape[-1])

    @property
    def edges_there(self) -> Array:
        """The edges, on the device where they were found."""
        return self._edges

    @cached_property
    def log_e(self) -> Matrix:
        """Evidence of every tested direction, row against column; NaN elsewhere."""
        return to_numpy(self._log_e())

    @cached_property
    def edges(self) -> NDArray[np.bool_]:
        """The directions certified at this look; in a design with memory, at this or an earlier one."""
        return to_numpy(self._edges)

    @cached_property
    def log_w(self) -> Matrix | None:
        """What staggered e-Holm compares with its threshold; ``None`` for direct e-Holm, which compares ``log_e``."""
        return None if self._log_w is None else to_numpy(self._log_w())

    @cached_property
    def log_threshold(self) -> float:
        """What ``log_w``, or without it ``log_e``, must reach."""
        return self._log_threshold()


@dataclass(frozen=True, slots=True, kw_only=True)
class LookCount:
    """What stood after a look: everything certified at this look or an earlier one."""

    replicate: int
    """The replicate after which the look was taken, or the first, inside of which it was."""
    edges: int
    """Edges certified so far."""
    resolved_pairs: int
    """Pairs decided by these edges and the paths they form."""
    upto: int | None = None
    """The blocks before the checkpoint at which it was taken; ``None`` after a complete replicate."""
    models: int = 0
    """Models that were running at a checkpoint: those with scores up to it that had not been stopped before it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """Evidence and threshold, look by look, rounded for a drawing: never what certifies."""

    replicates: tuple[int, ...]
    """The replicate before each look that was kept."""
    log_thresholds: tuple[float, ...]
    """What had to be reached at each of these looks."""
    values: Matrix
    """What had to reach it: looks x models x models, in the order of the design; NaN where not tested."""
    kind: Literal["log_e", "log_w"] = "log_e"
    """What the values are: evidence, or the wealth of staggered e-Holm."""

    def __repr__(self) -> str:
        return f"History({len(self.replicates)} looks, to replicate {self.replicates[-1]})"


class Recorder:
    """Keeps looks as they are taken, and never more than a bounded number of them."""

    def __init__(self) -> None:
        self._kept: list[Look] = []
        self._last: Look | None = None
        self._stride = 1

    def record(self, look: Look) -> None:
        """Keep a look."""
        if look.n_models > MOST_MODELS:  # with many models, nothing is copied from a device
            return
        self._last = look
        if (look.replicate - 1) % self._stride == 0:
            self._kept.append(look)
        if len(self._kept) > MOST_LOOKS:
            self._kept = self._kept[::2]
            self._stride *= 2

    def history(self) -> History | None:
        """What was kept; ``None`` if that is nothing."""
        if self._last is None:
            return None
        kept = self._kept if self._kept[-1] is self._last else [*self._kept, self._last]
        return History(
            replicates=tuple(look.replicate for look in kept),
            log_thresholds=tuple(round(look.log_threshold, _DECIMALS) for look in kept),
            values=np.round([look.log_e if look.log_w is None else look.log_w for look in kept], _DECIMALS),
            kind="log_e" if self._last.log_w is None else "log_w",
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EarlyRecord:
    """What happened inside the first run of a design with checkpoints."""

    checkpoints: tuple[Checkpoint, ...]
    """All checkpoints of the design, in their order."""
    is_complete: bool
    """Whether the first run is complete."""
    looks: tuple[LookCount, ...]
    """The looks that were taken at the first of these checkpoints. A complete run may come without any."""
    first_certified: NDArray[np.int64]
    """The number of the checkpoint at which each direction was first certified, row against column; 0 if at none."""

    position: PositionTrend | None = None
    """The strongest relation of scores to the place in the run; ``None`` for few blocks, and of views."""

    @property
    def reached_checkpoint(self) -> Checkpoint | None:
        """The checkpoint that the first run has come to; ``None`` before the first, and once the run is complete."""
        return None if self.is_complete or not self.looks else self.checkpoints[len(self.looks) - 1]

    @property
    def progress(self) -> float:
        """The part of the blocks of the first run that is in the evidence."""
        if self.is_complete:
            return 1.0
        return 0.0 if self.reached_checkpoint is None else self.reached_checkpoint.fraction

    def checkpoint_of(self, better: int, worse: int) -> Checkpoint | None:
        """The checkpoint at which a direction was first certified; ``None`` if at none."""
        number = int(self.first_certified[better, worse])
        return self.checkpoints[number - 1] if number else None
