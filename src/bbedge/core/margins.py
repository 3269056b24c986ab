r"""Margins: how large a difference must be, read off the same evidence.

If only the null value in the linear term is moved to ``t`` and every prediction stays, the advantage ``T`` falls by
:math:`n (t - \tau) / 2` after ``n`` replicates and nothing else changes. For ``t`` equal to the true difference the
evidence is then an e-process, so the smallest ``t`` whose evidence is below ``H / alpha`` bounds the difference from
below, for all H directions and all looks at once. It is where ``T`` has fallen to the *least advantage*, the root of

.. math:: \operatorname{logsumexp}_g\bigl(s_g y + \log\rho_g - P_g\bigr) = \log(H / \alpha),

which depends on the penalty alone: the two directions of a pair that pay the same share one root.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bbedge.core.arrays import UNIT, Array, Floats, Space, to_numpy

if TYPE_CHECKING:
    from bbedge.core.mixture import Mixture

NEGLIGIBLE = -60.0  # exponents this far below the sum's add less than its rounding, and would be slow to underflow
FORGOTTEN = -40.0  # stakes this far below are left out, which can only lower evidence and bounds
LEAST_SLOPE = 1e-200  # a stake below it moves no exponent
_MAX_STEPS = 200
_NEAR = 1e-5  # how near the logarithm must be to its target for one step of Newton's to settle it
_APART = 2.0**-13  # logarithm of the ratio of penalties that have tangents
_LOST = 2.0**-30  # of a root, at most, to a tangent
_NEAR_ENOUGH = 1e-13  # a step of Newton's that changes a difference less than this is the last
_ROUNDINGS = 16  # of a difference between -1 and 1, in its last step


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


def product_lower_bounds(
    space: Space,
    shape: tuple[int, ...],
    factors: Sequence[Sequence[tuple[Mixture, float]]],
    log_threshold: float,
    *,
    null: float,
) -> Array:
    """The differences at which a product of evidence falls below a threshold, or less; at least -1.

    Each factor is a weighted sum of the evidence of mixtures that were fed one panel each, with the logarithms of the
    weights, as for :func:`bbedge.core.mixture.joint_lower_bounds`, against the difference ``null``. ``shape`` is
    (batch x) rows x columns.

    **Guarantee:** the returned value is never above the exact one. The logarithm of the product is a convex and falling
    function of the difference, which a step of Newton's never carries across its root: it lands on the lower side from
    wherever it starts.
    """
    xp, out, stakes = space.xp, space.empty(*shape), sum(12 * len(each) for each in factors)
    for start in range(0, shape[-2], step := max(1, space.tile // (stakes * shape[-1]))):
        rows = slice(start, min(start + step, shape[-2]))
        sums = [_weighted_sum(space, factor, rows) for factor in factors]
        target = log_threshold * (1.0 + 2.0**-46) + sum(lost for _, _, lost in sums)
        t = xp.full_like(target, -1.0)
        for _ in range(_MAX_STEPS):
            excess, fall = -target, 1e-300
            for exponents, slopes, _ in sums:
                moved = exponents - slopes * ((t - null) / 2)
                peak = xp.max(moved, axis=0)
                shares = xp.exp(xp.clip(moved - peak, NEGLIGIBLE, None))
                total = xp.sum(shares, axis=0)
                excess = excess + peak + xp.log(total)
                fall = fall + xp.sum(shares * slopes, axis=0) / total / 2
            before, t = t, xp.clip(t + excess / fall, -1.0, 1.0)
            if float(xp.max(xp.abs(t - before))) <= _NEAR_ENOUGH:
                break
        out[..., rows, :] = xp.clip(t - _ROUNDINGS * UNIT, -1.0, 1.0)
    return out


def _weighted_sum(space: Space, factor: Sequence[tuple[Mixture, float]], rows: slice) -> tuple[Array, Array, Array]:
    """The exponents of a factor for some rows, their slopes, and what rounding may add to the logarithm of the sum."""
    xp, parts, steep = space.xp, list[Array](), list[Floats]()
    for mixture, log_weight in factor:
        exponents, slopes = mixture.exponents(rows)
        parts.append(exponents + log_weight)
        steep.append(slopes)
    exponents, slopes = xp.concat(parts), np.concatenate(steep)
    largest = xp.max(xp.abs(exponents), axis=0) + float(slopes.max()) + 1.0
    return exponents, space.column(slopes, len(exponents.shape)), (2 * len(slopes) + 32) * 2 * UNIT * largest
