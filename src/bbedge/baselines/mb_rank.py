"""MB-Rank: rank intervals from the studentised maximum over pairs, by a multiplier bootstrap over replicates.

**Assumes:** independent replicates, and many of them. **Repeated looks:** not covered.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bbedge.baselines.running import running
from bbedge.baselines.tlrci import counted
from bbedge.core.design import Design

_DRAWS = 200


def ranks(design: Design, panels: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Count the models whose studentised difference exceeds the bootstrap quantile of the maximum."""
    statistics = running(panels)
    means = panels.mean(axis=2)
    n_looks, n_models = means.shape
    first, second = np.triu_indices(n_models, k=1)
    draws = rng.standard_normal((n_looks, _DRAWS))
    better = np.zeros((n_looks, n_models, n_models), dtype=np.bool_)
    rank = math.ceil((1.0 - design.alpha) * _DRAWS) - 1
    for look in range(1, n_looks):
        r = look + 1
        deviation = statistics.deviation[look]
        centred = means[:r] - means[:r].mean(axis=0)
        noise = draws[:r].T @ centred / math.sqrt(r)
        scale = deviation[first, second]
        with np.errstate(divide="ignore", invalid="ignore"):
            swing = np.abs(noise[:, first] - noise[:, second]) / scale
            observed = math.sqrt(r) * statistics.mean[look] / deviation
        swing[:, scale == 0.0] = 0.0
        bar = np.partition(swing.max(axis=1), rank)[rank]
        known = statistics.mean[look] > 0.0
        better[look] = np.where(deviation > 0.0, observed > bar, known)
    return counted(better)
