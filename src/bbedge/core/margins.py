r"""Margins: how large a difference must be, read off the same evidence.

If only the null value in the linear term is moved to ``t`` and every prediction stays, the advantage ``T`` falls by
:math:`n (t - \tau) / 2` after ``n`` replicates and nothing else changes. For ``t`` equal to the true difference the
evidence is then an e-process, so the smallest ``t`` whose evidence is below ``H / alpha`` bounds the difference from
below, for all H directions and all looks at once. It is where ``T`` has fallen to the *least advantage*, the root of

.. math:: \operatorname{logsumexp}_g\bigl(s_g y + \log\rho_g - P_g\bigr) = \log(H / \alpha),

which depends on the penalty alone: the two directions of a pair that pay the same share one root.
"""

from __future__ import annotations

import numpy as np

from bbedge.core.arrays import Array, Space, to_numpy
from bbedge.core.penalties import Floats

_MAX_STEPS = 200
NEGLIGIBLE = -60.0  # exponents this far below the sum's add less than its rounding, and would be slow to underflow
LEAST_SLOPE = 1e-200  # a stake below it moves no exponent
_NEAR = 1e-5  # how near the logarithm must be to its target for one step of Newton's to settle it


def least_advantage(space: Space, matrix: Floats, features: Array, log_threshold: float) -> Array:
    """The advantage at which a batch of directions reaches the threshold.

    ``matrix`` is stakes x features: slopes, constants, and minus the penalty's coefficients. ``features`` is
    features x directions and holds a one in its second row; its first row is overwritten. At least one slope must
    pass ``LEAST_SLOPE``.

    **Guarantee:** the returned value is never below the exact root. Halley's method comes near it, and the last step is
    Newton's, which on a convex rising function lands above the root from wherever it starts; the threshold is raised
    by more than what rounding can move.
    """
    xp = space.xp
    slopes = matrix[:, 0]
    raised = matrix.copy()
    raised[:, 1] -= log_threshold * (1.0 + 2.0**-46) + 1e-12
    # Where the first single stake reaches the threshold: above the root, and close to it.
    moving = slopes > LEAST_SLOPE
    alone = raised[moving] / slopes[moving, None]
    advantage = -xp.max(space.asarray(alone[:, 1:]) @ features[1:, :], axis=0)
    features[0, :] = advantage
    # No exponent passes zero here, and all fall on the way to the root: a stake that adds nothing never will.
    adding = to_numpy(xp.max(space.asarray(raised) @ features, axis=1)) > NEGLIGIBLE
    whole, slopes, steepest = space.asarray(raised[adding]), slopes[adding], float(slopes.max())
    moments = space.asarray(np.stack([np.ones_like(slopes), slopes / steepest, (slopes / steepest) ** 2]))
    for _ in range(_MAX_STEPS):
        features[0, :] = advantage
        sums = moments @ xp.exp(xp.clip(whole @ features, NEGLIGIBLE, None))
        excess, rise, bend = xp.log(sums[0, :]), sums[1, :] / sums[0, :], sums[2, :] / sums[0, :]
        step = excess / rise
        if float(xp.max(xp.abs(excess))) <= _NEAR:
            return advantage - step / steepest
        # Halley's step: Newton's, corrected for the curvature.
        step = step / (1.0 - 0.5 * step * (bend / rise - rise))
        advantage = advantage - step / steepest
    raise ArithmeticError("the margins did not converge")  # each step gains digits; this would be a mistake of ours
