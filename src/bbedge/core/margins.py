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

from bbedge.core.arrays import Array, Floats, Space, to_numpy

NEGLIGIBLE = -60.0  # exponents this far below the sum's add less than its rounding, and would be slow to underflow
FORGOTTEN = -40.0  # stakes this far below are left out, which can only lower evidence and bounds
LEAST_SLOPE = 1e-200  # a stake below it moves no exponent
_MAX_STEPS = 200
_NEAR = 1e-5  # how near the logarithm must be to its target for one step of Newton's to settle it
_APART = 2.0**-13  # logarithm of the ratio of penalties that have tangents
_LOST = 2.0**-30  # of a root, at most, to a tangent


def least_advantage(space: Space, matrix: Floats, features: Array, log_threshold: float) -> Array:
    """The advantage at which a batch of directions reaches the threshold.

    ``matrix`` is stakes x features: slopes, constants, and minus the penalty's coefficients. ``features`` is
    features x directions and holds a one in its second row; its first row is overwritten. At least one slope must
    pass ``LEAST_SLOPE``.

    **Guarantee:** the returned value is never below the exact root. Halley's method comes near it, and the last step is
    Newton's, which on a convex rising function lands above the root from wherever it starts; the threshold is raised
    by more than what rounding can move.
    """
    raised = matrix.copy()
    raised[:, 1] -= log_threshold * (1.0 + 2.0**-46) + 1e-12
    if matrix.shape[1] == 3:
        found = _by_tangents(space, raised, features[2, :])
        if found is not None:
            return found
    step, directions = max(1, space.tile // len(raised)), features.shape[1]
    parts = [features[:, start : min(start + step, directions)] for start in range(0, directions, step)]
    return space.xp.concat([_roots(space, raised, part)[0] for part in parts])


def _by_tangents(space: Space, raised: Floats, penalties: Array) -> Array | None:
    """The roots of many directions whose penalty is one number, if a few of them tell all the others.

    The logarithm of the sum is convex in advantage and penalty together, so that the root is a concave function of
    the penalty and lies below every tangent: the one at the nearest of many penalties is as good as the root itself.
    """
    xp = space.xp
    least, greatest = float(xp.min(penalties)), float(xp.max(penalties))
    if not 0.0 < least <= greatest < np.inf:
        return None
    count = int(np.log(greatest / least) / _APART) + 2
    if 16 * count > penalties.shape[0]:
        return None
    known = least * np.exp(_APART * np.arange(count))
    nodes = space.asarray(np.stack([np.zeros(count), np.ones(count), known]))
    of_nodes, stakes = _roots(space, raised, nodes)
    nodes[0, :] = of_nodes
    shares = np.exp(stakes @ to_numpy(nodes))
    roots, rises = to_numpy(of_nodes), -(stakes[:, 2] @ shares) / (stakes[:, 0] @ shares)
    beyond = roots[:-1] + rises[:-1] * np.diff(known) - roots[1:]
    if np.any(beyond > 4 * _LOST * roots[1:]):  # half as far away, a tangent is a quarter as far off
        return None
    nearest = xp.astype(xp.log(penalties / least) * (1.0 / _APART) + 0.5, xp.int64)
    return xp.take(space.asarray(roots - rises * known), nearest) + xp.take(space.asarray(rises), nearest) * penalties


def _roots(space: Space, raised: Floats, features: Array) -> tuple[Array, Floats]:
    """The roots of some directions, each by itself, and the rows of the stakes that matter to any of them."""
    xp, moving = space.xp, raised[:, 0] > LEAST_SLOPE
    # Where the first single stake reaches the threshold: above the root, and close to it.
    alone = raised[moving] / raised[moving, :1]
    advantage = -xp.max(space.asarray(alone[:, 1:]) @ features[1:, :], axis=0)
    features[0, :] = advantage
    # No exponent passes zero there, and all fall on the way to the root: a stake that adds nothing never will.
    stakes = raised[to_numpy(xp.max(space.asarray(raised) @ features, axis=1)) > FORGOTTEN]
    whole, steepest = space.asarray(stakes), float(stakes[:, 0].max())
    slopes = stakes[:, 0] / steepest
    moments = space.asarray(np.stack([np.ones_like(slopes), slopes, slopes**2]))
    for _ in range(_MAX_STEPS):
        features[0, :] = advantage
        sums = moments @ xp.exp(xp.clip(whole @ features, NEGLIGIBLE, None))
        excess, rise = xp.log(sums[0, :]), sums[1, :] / sums[0, :]
        step = excess / rise
        if float(xp.max(xp.abs(excess))) <= _NEAR:
            return advantage - step / steepest, stakes
        # Halley's step: Newton's, corrected for the curvature.
        step = step / (1.0 - 0.5 * step * (sums[2, :] / sums[1, :] - rise))
        advantage = advantage - step / steepest
    raise ArithmeticError("the margins did not converge")  # each step gains digits; this would be a mistake of ours
