"""EMR: rank by the empirical mean. What a plain leaderboard does.

**Assumes:** that the observed means are the true ones. **Repeated looks:** no error is controlled, at any look.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbedge.core.design import Design

_TIE = 1e-9  # sums of graded scores that differ by rounding alone are equal


def edges(design: Design, panels: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """``a -> b`` if the summed difference exceeds ``tau`` times the number of scores; equal sums are ties."""
    sums = np.cumsum(panels.sum(axis=2), axis=0)
    scores = np.arange(1, len(panels) + 1) * panels.shape[2]
    difference = sums[:, :, None] - sums[:, None, :]
    found: NDArray[np.bool_] = (difference > design.tau * scores[:, None, None] + _TIE) & design.tested
    return found
