"""Holm's procedure at every look at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def holm(p_values: NDArray[np.float64], tested: NDArray[np.bool_], alpha: float) -> NDArray[np.bool_]:
    """Rejected hypotheses; ``p_values`` is looks x models x models and each look is a family of its own.

    **Guarantee:** family-wise error at most ``alpha`` at a single look.
    """
    flat = p_values[:, tested]
    count = flat.shape[1]
    order = np.argsort(flat, axis=1, kind="stable")
    passes = np.take_along_axis(flat, order, axis=1) <= alpha / (count - np.arange(count))
    rejected = np.zeros_like(passes)
    np.put_along_axis(rejected, order, np.logical_and.accumulate(passes, axis=1), axis=1)
    result = np.zeros(p_values.shape, dtype=np.bool_)
    result[:, tested] = rejected
    return result
