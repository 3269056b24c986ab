"""How far the first pass has come, and what its checkpoints showed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbedge.core.checkpoints import Checkpoint
from bbedge.core.positions import PositionTrend


@dataclass(frozen=True, slots=True, kw_only=True)
class PartCount:
    """One line of the history of looks inside the first pass."""

    checkpoint: Checkpoint
    """The checkpoint at which the look was taken."""
    models: int
    """Models that were running: those with scores up to this checkpoint that had not been stopped before it."""
    edges: int
    """Edges certified so far."""
    resolved_pairs: int
    """Pairs decided by these edges and the paths they form."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EarlyRecord:
    """What happened inside the first pass of a design with checkpoints."""

    checkpoints: tuple[Checkpoint, ...]
    """All checkpoints of the design, in their order."""
    is_complete: bool
    """Whether the first pass is complete."""
    looks: tuple[PartCount, ...]
    """The looks that were taken at checkpoints. A complete pass may come without any."""
    first_certified: NDArray[np.int64]
    """The number of the checkpoint at which each direction was first certified, row against column; 0 if at none."""

    position: PositionTrend | None = None
    """The strongest relation of scores to the place in the pass; ``None`` for few blocks, and of views."""

    @property
    def last(self) -> Checkpoint | None:
        """The checkpoint that the first pass has come to; ``None`` before the first, and once the pass is complete."""
        return None if self.is_complete or not self.looks else self.looks[-1].checkpoint

    @property
    def progress(self) -> float:
        """The part of the blocks of the first pass that is in the evidence."""
        if self.is_complete:
            return 1.0
        return 0.0 if self.last is None else self.last.fraction

    def part_of(self, better: int, worse: int) -> Checkpoint | None:
        """The checkpoint at which a direction was first certified; ``None`` if at none."""
        number = int(self.first_certified[better, worse])
        return self.checkpoints[number - 1] if number else None
