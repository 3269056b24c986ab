"""t-Holm: paired one-sided t-tests on replicate means, with Holm's correction.

**Assumes:** independent replicates whose mean differences are nearly normal. **Repeated looks:** not covered; the level
holds at one look fixed beforehand.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from bbedge.baselines.holm import holm
from bbedge.baselines.running import Running, running
from bbedge.core.design import Design

Array = NDArray[np.float64]


def p_values(statistics: Running, tau: float) -> Array:
    """One-sided p-values of ``Delta <= tau``; 1 after the first replicate, which has no variance."""
    gap = statistics.mean - tau
    with np.errstate(divide="ignore", invalid="ignore"):
        t = gap / (statistics.deviation / np.sqrt(statistics.count))
    # Without any variation the difference is taken as known.
    t = np.where(statistics.deviation > 0.0, t, np.where(gap > 0.0, np.inf, -np.inf))
    return np.where(statistics.count > 1.0, stdtr(np.maximum(statistics.count - 1.0, 1.0), -t), 1.0)


def edges(design: Design, panels: Array, rng: np.random.Generator) -> NDArray[np.bool_]:
    """The rejected directions at every look."""
    return holm(p_values(running(panels), design.tau), design.tested, design.alpha)
