r"""Margins: how large a difference must be, read off the same evidence.

If only the null value in the linear term is moved to ``t`` and every prediction stays, the evidence becomes

.. math:: \log E^{(t)} = \operatorname{logsumexp}_g\bigl(A_g + s_g (\tau - t)\bigr),

convex and falling in ``t``. For ``t`` equal to the true difference it is an e-process, so the smallest ``t``
whose evidence is below ``H / alpha`` bounds the difference from below, for all H directions and all looks at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_MAX_STEPS = 200
_RESOLUTION = 1e-13  # a step this small moves no digit that anybody prints


def lower_bounds(exponents: Array, slopes: Array, *, tau: float, log_threshold: float) -> Array:
    """Lower bounds of the differences of a batch of directions, in [-1, 1].

    ``exponents`` (stakes x directions) holds ``A_g``, the log of weight times evidence at ``tau``, rounded down;
    ``slopes`` holds ``s_g >= 0``; ``log_threshold`` is ``log(H / alpha)``.

    **Guarantee:** the returned value never exceeds the exact root. Newton's method on a convex falling function,
    started to the left of the root, approaches it from the left, so every iterate is already a valid bound; the
    threshold is raised by more than what rounding can move.
    """
    n_directions = exponents.shape[1]
    bounds = np.full(n_directions, -1.0)
    at_start = exponents + slopes[:, None] * (tau + 1.0)
    target = log_threshold + 1e-12 + 2.0**-46 * np.maximum(np.abs(at_start).max(axis=0), 1.0)
    todo = np.arange(n_directions)
    for _ in range(_MAX_STEPS):
        values = exponents[:, todo] + slopes[:, None] * (tau - bounds[todo])
        peak = values.max(axis=0)
        terms = np.exp(values - peak)
        total = terms.sum(axis=0)
        excess = peak + np.log(total) - target[todo]
        fall = (slopes[:, None] * terms).sum(axis=0) / total
        rising = (excess > 0.0) & (fall > 0.0)
        todo, step = todo[rising], excess[rising] / fall[rising]
        bounds[todo] = np.minimum(bounds[todo] + step, 1.0)
        todo = todo[(step > _RESOLUTION) & (bounds[todo] < 1.0)]
        if todo.size == 0:
            break
    return bounds
