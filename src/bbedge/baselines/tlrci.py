"""TLRCI: rank intervals from two-sided paired t-tests with Holm's correction over pairs.

**Assumes:** independent replicates whose mean differences are nearly normal. **Repeated looks:** not covered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbedge.baselines.holm import holm
from bbedge.baselines.running import running
from bbedge.baselines.t_holm import p_values
from bbedge.core.design import Design


def ranks(design: Design, panels: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """``[1 + models found better, L - models found worse]``, without drawing conclusions along paths."""
    statistics = running(panels)
    one_sided = p_values(statistics, 0.0)
    two_sided = np.minimum(1.0, 2.0 * np.minimum(one_sided, one_sided.transpose(0, 2, 1)))
    pairs = np.triu(np.ones(one_sided.shape[1:], dtype=np.bool_), k=1)
    differ = holm(two_sided, pairs, design.alpha)
    differ |= differ.transpose(0, 2, 1)
    return counted(differ & (statistics.mean > 0.0))


def counted(better: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Rank intervals from "row is better than column" at every look."""
    lowest = 1 + better.sum(axis=1)
    highest = better.shape[1] - better.sum(axis=2)
    return np.stack([lowest, highest], axis=2)
