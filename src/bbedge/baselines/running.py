"""Running means and variances of the differences between models, after every replicate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """Replicate-mean differences, row minus column, after r = 1, 2, ... replicates."""

    count: Array
    """r, as looks x 1 x 1."""
    mean: Array
    """Mean difference: looks x models x models."""
    deviation: Array
    """Sample standard deviation over replicates; 0 after the first."""


def running(panels: Array) -> Running:
    """Statistics of the replicate means, from replicates x models x items."""
    means = panels.mean(axis=2)
    differences = means[:, :, None] - means[:, None, :]
    count = np.arange(1, len(panels) + 1, dtype=np.float64)[:, None, None]
    mean = np.cumsum(differences, axis=0) / count
    # Around the last mean, so that the sum of squares does not cancel.
    centred = differences - mean[-1]
    squares = np.cumsum(centred**2, axis=0) - count * (np.cumsum(centred, axis=0) / count) ** 2
    variance = np.maximum(squares, 0.0) / np.maximum(count - 1.0, 1.0)
    return Running(count=count, mean=mean, deviation=np.sqrt(variance))
