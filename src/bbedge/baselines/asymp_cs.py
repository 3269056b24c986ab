"""AsympCS-Bonf: Gaussian-mixture asymptotic confidence sequences on replicate means, Bonferroni over directions.

**Assumes:** independent replicates, and many of them: the level holds only in the limit. **Repeated looks:** meant for
them, but with few replicates the error is not controlled.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bbedge.baselines.running import running
from bbedge.core.design import Design

_OPTIMISED_FOR = 10.0  # the number of replicates at which the sequence is tightest
_BURN_IN = 2


def edges(design: Design, panels: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """``a -> b`` once the lower confidence sequence of the difference exceeds ``tau``."""
    statistics = running(panels)
    level = design.alpha / design.n_directions
    wide = -2.0 * math.log(2.0 * level)
    rho2 = (wide + math.log(wide) + 1.0) / _OPTIMISED_FOR
    r = statistics.count
    spread = 2.0 * (r * rho2 + 1.0) / (r**2 * rho2) * np.log1p(np.sqrt(r * rho2 + 1.0) / (2.0 * level))
    lower = statistics.mean - statistics.deviation * np.sqrt(spread)
    return (lower > design.tau) & (r >= _BURN_IN) & design.tested
