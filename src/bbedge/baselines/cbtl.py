"""CBTL: smooth pairwise preferences over the order of items, and a multiplier bootstrap per direction.

**Assumes:** preferences that vary smoothly with the item's place in the benchmark; a claim is made only if one model is
ahead everywhere. **Repeated looks:** not covered, and neither is multiplicity: each direction has its own quantile.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from bbedge.core.design import Design

Array = NDArray[np.float64]

_BANDWIDTH = 0.2
_GRID = 21
_DRAWS = 200
_EDGE = 1e-6  # keeps the logit of a preference of 0 or 1 finite


def edges(design: Design, panels: Array, rng: np.random.Generator) -> NDArray[np.bool_]:
    """``a -> b`` if the lowest smoothed log-odds gap exceeds ``log((1 + tau) / (1 - tau))`` by the quantile."""
    n_looks, n_models, _ = panels.shape
    smooth = smoothed(panels)  # replicates x models x grid: models are smoothed, pairs are differences
    bar = math.log((1.0 + design.tau) / (1.0 - design.tau))
    draws = rng.standard_normal((n_looks, _DRAWS))
    total = np.zeros(smooth.shape[1:])
    weighted = np.zeros((*smooth.shape[1:], _DRAWS))  # draws last: the supremum over the grid then runs over whole rows
    weight = np.zeros(_DRAWS)
    found = np.zeros((n_looks, n_models, n_models), dtype=np.bool_)
    for look in range(n_looks):
        total += smooth[look]
        weighted += smooth[look][:, :, None] * draws[look]
        weight += draws[look]
        mean = total / (look + 1)
        preference = np.clip((mean[:, None] - mean + 1.0) / 2.0, _EDGE, 1.0 - _EDGE)
        low = logit(preference).min(axis=2)
        # Quantiles are above 0, so that only a direction that is ahead everywhere is worth a bootstrap.
        a, b = np.nonzero((low > bar) & design.tested)
        noise = (weighted - mean[:, :, None] * weight) / (look + 1)
        wobble = noise[a]
        wobble -= noise[b]
        # The delta method: a preference moves its log-odds by 1 / (p (1 - p)); a difference moves it by half of that.
        wobble *= (0.5 / (preference[a, b] * (1.0 - preference[a, b])))[:, :, None]
        quantile = np.maximum(0.0, _quantile(wobble.max(axis=1), 1.0 - design.alpha))
        found[look, a, b] = low[a, b] - quantile > bar
    return found


def smoothed(panels: Array) -> Array:
    """Kernel-smoothed scores of every model over the places of the items, at the grid."""
    n_items = panels.shape[2]
    place = (np.arange(n_items) + 0.5) / n_items
    grid = np.linspace(0.0, 1.0, _GRID)
    kernel = np.exp(-0.5 * ((grid[:, None] - place) / _BANDWIDTH) ** 2)
    weights: Array = kernel / kernel.sum(axis=1, keepdims=True)
    smooth: Array = panels @ weights.T
    return smooth


def _quantile(values: Array, level: float) -> Array:
    """The upper empirical quantile over draws, by selection."""
    rank = math.ceil(level * values.shape[1]) - 1
    quantile: Array = np.partition(values, rank, axis=1)[:, rank]
    return quantile
