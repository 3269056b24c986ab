r"""Margins: how large a difference must be, read off the same evidence.

If only the null value in the linear term is moved to ``t`` and every prediction stays, the advantage ``T`` falls by
:math:`n (t - \tau) / 2` after ``n`` replicates and nothing else changes. For ``t`` equal to the true difference the
evidence is then an e-process, so the smallest ``t`` whose evidence is below ``H / alpha`` bounds the difference from
below, for all H directions and all looks at once. It is where ``T`` has fallen to the *least advantage*, the root of

.. math:: \operatorname{logsumexp}_g\bigl(s_g y + \log\rho_g - P_g\bigr) = \log(H / \alpha),

which depends on the penalty alone: the two directions of a pair that pay the same share one root.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bbedge.core.arrays import UNIT, Array, Floats, Space, to_numpy
from bbedge.core.strips import StripReader, products, steps

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
    weights, as for :func:`joint_lower_bounds`, against the difference ``null``. ``shape`` is
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


def joint_lower_bounds(looks: Sequence[tuple[Mixture, float]], n_directions: float) -> Array:
    """Lower bounds of the differences from a sum of the evidence of mixtures that were fed one panel, with log weights.

    Where a difference is larger by ``t``, every advantage is smaller by ``t / 2``. So the advantages of all mixtures
    are that of the last one and a constant for each, and the bound is where the last one has fallen to the root of the
    sum: see :func:`least_advantage`.
    """
    mixtures, log_weights = zip(*looks, strict=True)
    last = mixtures[-1]
    space, design, shape = last.space, last.design, last.pairs.shape
    xp, widths = space.xp, [each.matrix.shape[1] - 2 for each in mixtures]
    starts = [2 + len(mixtures) + sum(widths[:place]) for place in range(len(mixtures))]
    matrix = np.zeros((sum(len(each.matrix) for each in mixtures), starts[-1] + widths[-1]))
    row = 0
    for place, (each, log_weight) in enumerate(zip(mixtures, log_weights, strict=True)):
        rows = slice(row, row + len(each.matrix))
        matrix[rows, 0], matrix[rows, 1] = each.matrix[:, 0], each.matrix[:, 1] + log_weight
        matrix[rows, 2 + place] = each.matrix[:, 0]
        matrix[rows, starts[place] : starts[place] + widths[place]] = each.matrix[:, 2:]
        row = rows.stop
    if matrix[:, 0].max() <= LEAST_SLOPE:
        return space.zeros(*shape) - 1.0
    terms = matrix.shape[1] + 12
    lost = 8 * terms * UNIT * (float(matrix[:, 0].max()) + float(np.abs(matrix[:, 1]).max()))
    target = math.log(n_directions / design.margin_alpha) + lost
    out, readers = space.empty(*shape), [StripReader(each) for each in mixtures]
    *batch, n_rows, n_cols = shape
    for rows in steps(n_rows, max(1, 2 * space.tile // max(1, matrix.shape[1] * n_cols * math.prod(batch)))):
        strips = [reader.strip(rows, slice(0, n_cols)) for reader in readers]
        advantage = strips[-1][0, ...]
        parts = [strips[-1][:2, ...], *((each[:1, ...] - advantage[None, ...]) for each in strips)]
        features = xp.concat([*parts, *(each[2:, ...] for each in strips)], axis=0)
        flat = xp.reshape(features, (features.shape[0], -1))
        needed = xp.reshape(least_advantage(space, matrix, flat, target), advantage.shape)
        needed += 4 * terms * UNIT * (1.0 + xp.abs(needed))
        out[..., rows, :] = last.bounds(readers[-1].advantage(rows, slice(0, n_cols)), needed)
    return out


class LateBets:
    r"""The evidence of single directions from a mixture of which some stakes bet only from when they entered.

    Of a group that entered after ``k`` of ``n`` replicates, what it has over what it had at entry, ``d``, counts; until
    then it is cash. With the advantage ``T`` at the null value and ``y`` at another difference, a stake then has

    .. math:: s \Bigl(\frac{k}{n} T + \bigl(1 - \frac{k}{n}\bigr) y\Bigr) + \log\rho - P - \log d + \log\sum\rho ,

    which is linear in ``y`` and in numbers that are known of each direction.
    """

    def __init__(self, mixture: Mixture, at_entry: Sequence[Array]) -> None:
        """``at_entry`` has for each group that entered late what it had then, as a logarithm not below it."""
        self._mixture, self._space = mixture, mixture.space
        xp, late = self._space.xp, [group for group in mixture.groups if group.after]
        self._entered = [
            math.log(group.weight) * (1.0 + 4 * UNIT) - then for group, then in zip(late, at_entry, strict=False)
        ]
        n_stakes, width = mixture.matrix.shape[-2:]
        shares = np.zeros(n_stakes)  # k / n
        of_group = np.zeros((n_stakes, len(at_entry)))
        for place, group in enumerate(late[: len(at_entry)]):
            shares[list(group.stakes)] = group.after / mixture.count
            of_group[list(group.stakes), place] = 1.0
        slopes = mixture.matrix[..., :1]
        kept = slopes * shares[:, None]
        extra = np.broadcast_to(of_group, (*slopes.shape[:-1], len(at_entry)))
        matrix = np.concatenate([slopes - kept, mixture.matrix[..., 1:], kept, extra], axis=-1)
        cash = math.fsum(group.weight for group in late[len(at_entry) :])
        if cash:
            row = np.zeros((*matrix.shape[:-2], 1, matrix.shape[-1]))
            row[..., 1] = math.log(cash) * (1.0 + 4 * UNIT)
            matrix = np.concatenate([matrix, row], axis=-2)
        self._matrix: Floats = matrix
        self._terms = matrix.shape[-1] + 12
        # Nothing is left where all models have stopped.
        largest = max((float(xp.max(xp.abs(each))) for each in self._entered if math.prod(each.shape)), default=0.0)
        # Slopes that were split, and constants, times the roundings of a product.
        self._lost = 8 * self._terms * UNIT * (float(slopes.max()) * (mixture.count + 1) + largest + 64.0)
        of_row = math.prod(mixture.pairs.batch) * mixture.pairs.shape[-1]
        self._height = max(1, 2 * self._space.tile // max(1, width * of_row))

    def _strips(self, difference: float | None) -> Iterator[tuple[slice, Array, Array]]:
        """Some rows at a time: which, the advantage, and the features of the matrix."""
        mixture, xp = self._mixture, self._space.xp
        reader, moved = StripReader(mixture), StripReader(mixture, at=difference)
        *_, n_rows, n_cols = mixture.pairs.shape
        for rows in steps(n_rows, self._height):
            strip = moved.strip(rows, slice(0, n_cols))
            advantage = reader.advantage(rows, slice(0, n_cols))
            then = [each[None, ..., rows, :] for each in self._entered]
            yield rows, advantage, xp.concat([strip, advantage[None, ...], *then])

    def log_e(self, difference: float) -> Array:
        """The logarithm of the evidence that differences exceed this one, rounded down: (batch x) rows x columns."""
        space = self._space
        out, matrix = space.empty(*self._mixture.pairs.shape), space.asarray(self._matrix)
        for rows, _, features in self._strips(difference):
            found = log_sum(space.xp, products(matrix, features, space.xp))
            out[..., rows, :] = found - self._lost - 4 * self._terms * UNIT * (1.0 + space.xp.abs(found))
        return out

    def lower_bounds(self, n_directions: float) -> Array:
        """Lower bounds of the differences, as :meth:`bbedge.core.mixture.Mixture.lower_bounds` gives them."""
        space, mixture = self._space, self._mixture
        out = space.empty(*mixture.pairs.shape)
        target = math.log(n_directions / mixture.design.margin_alpha) + self._lost
        for rows, advantage, features in self._strips(None):
            needed = space.empty(*advantage.shape)
            for place in np.ndindex(self._matrix.shape[:-2]):
                flat = space.xp.reshape(features[:, *place, ...], (features.shape[0], -1))
                found = least_advantage(space, self._matrix[place], flat, target)
                needed[*place, ...] = space.xp.reshape(found, needed[*place, ...].shape)
            needed += 4 * self._terms * UNIT * (1.0 + space.xp.abs(needed))
            out[..., rows, :] = mixture.bounds(advantage, needed)
        return out


def log_sum(xp: Any, exponents: Array) -> Array:  # noqa: ANN401 - libraries have no common type
    """The logarithm of the sum of exponentials over the first axis; overwrites its argument."""
    peak = xp.max(exponents, axis=0)
    exponents -= peak
    return peak + xp.log(xp.sum(xp.exp(xp.clip(exponents, NEGLIGIBLE, None)), axis=0))
