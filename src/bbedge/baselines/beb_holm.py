"""BEB-Holm: a fixed-time empirical-Bernstein bound on pooled block differences, with Holm's correction.

**Assumes:** independent replicates and blocks, blocks of one size. **Repeated looks:** not covered; the level holds at
one look fixed beforehand.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbedge.baselines.holm import holm
from bbedge.core.design import Design
from bbedge.errors import DesignError


def edges(design: Design, panels: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Invert the bound ``mean - sqrt(2 V log(4/d) / n) - 16 log(4/d) / (3 (n-1)) > tau`` for the p-value ``d``."""
    layout = design.layout
    if len(set(layout.sizes.tolist())) > 1:
        raise DesignError("BEB-Holm pools block differences and needs blocks of one size")
    means = np.stack([layout.means(panel) for panel in panels])
    totals = np.cumsum(means.sum(axis=2), axis=0)
    gram = np.cumsum(means @ means.transpose(0, 2, 1), axis=0)
    own = np.diagonal(gram, axis1=1, axis2=2)
    squares = own[:, :, None] + own[:, None, :] - 2.0 * gram
    n = (np.arange(1, len(panels) + 1) * layout.count).astype(np.float64)[:, None, None]
    mean = (totals[:, :, None] - totals[:, None, :]) / n
    n_less = np.maximum(n - 1.0, 1.0)
    variance = np.maximum(squares - n * mean**2, 0.0) / n_less
    linear, quadratic = np.sqrt(2.0 * variance / n), 16.0 / (3.0 * n_less)
    gap = np.maximum(mean - design.tau, 0.0)
    root = (-linear + np.sqrt(linear**2 + 4.0 * quadratic * gap)) / (2.0 * quadratic)
    p = np.where((mean > design.tau) & (n > 1.0), np.minimum(1.0, 4.0 * np.exp(-(root**2))), 1.0)
    return holm(p, design.tested, design.alpha)
