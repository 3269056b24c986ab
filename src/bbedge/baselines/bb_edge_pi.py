"""BB-EDGE-PI: one plug-in stake per direction, chosen before each replicate, instead of a mixture.

**Assumes:** independent replicates and blocks. **Repeated looks:** valid, since the stake of a replicate depends on
earlier ones only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbedge.core.design import Design
from bbedge.core.eholm import e_holm
from bbedge.core.penalties import bernstein_psi
from bbedge.core.stakes import CENTRED_MAX

Array = NDArray[np.float64]


def edges(design: Design, panels: Array, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Stake ``min(0.95, 0.5 max(0, mu - mu0) / V)`` from regularised running estimates of mean and variance."""
    layout, mu0 = design.layout, design.mu0
    count = np.arange(1, len(panels) + 1, dtype=np.float64)
    means = np.stack([layout.means(panel) for panel in panels])
    earlier = np.cumsum(means, axis=0) - means
    residuals = means - earlier / count[:, None, None]
    shift = design.tau / (2.0 * count)
    squares = [_pair_squares(residuals[:, :, layout.sizes == size], shift) for size in np.unique(layout.sizes)]
    # Y = (difference + 1) / 2 per block.
    sums = means.sum(axis=2)
    y_sum = (sums[:, :, None] - sums[:, None, :] + layout.count) / 2.0
    seen = layout.count * (count - 1.0)[:, None, None]
    mean = (mu0 + np.cumsum(y_sum, axis=0) - y_sum) / (1.0 + seen)
    all_squares = np.sum(squares, axis=0)
    variance = (0.25 + np.cumsum(all_squares, axis=0) - all_squares) / (1.0 + seen)
    stake = np.minimum(CENTRED_MAX, 0.5 * np.maximum(0.0, mean - mu0) / variance)
    weighted = panels.mean(axis=2)
    advantage = (weighted[:, :, None] - weighted[:, None, :] - design.tau) / 2.0
    gain = stake * (len(design.items) / layout.largest) * advantage
    for size, square in zip(np.unique(layout.sizes), squares, strict=True):
        gain -= bernstein_psi(stake * (size / layout.largest)) * square
    log_e = np.where(design.tested, np.cumsum(gain, axis=0), np.nan)
    return np.array([e_holm(look, alpha=design.alpha) for look in log_e])


def _pair_squares(residuals: Array, shift: Array) -> Array:
    """``sum_m x^2`` of every direction in every replicate, ``x = (res_a - res_b) / 2 - shift``."""
    half = (residuals - residuals.mean(axis=1, keepdims=True)) / 2.0
    gram = half @ half.transpose(0, 2, 1)
    own = np.diagonal(gram, axis1=1, axis2=2)
    totals = half.sum(axis=2)
    shift = shift[:, None, None]
    squares = own[:, :, None] + own[:, None, :] - 2.0 * gram
    squares += -2.0 * shift * (totals[:, :, None] - totals[:, None, :]) + residuals.shape[2] * shift**2
    result: Array = np.maximum(squares, 0.0)
    return result
