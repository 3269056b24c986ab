"""Direct e-Holm: from the evidence of a family of directions to the ones that are certified."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np  # noqa: F401 - for the example

from bbedge.core.arrays import UNIT, Array, namespace
from bbedge.errors import DomainError

_LEAST_WEIGHT = 1e-100  # far from where float64 loses digits


def log_threshold(log_e: Array, alpha: float, *, batch: int = 0) -> Array:
    r"""Logarithm of the evidence that a direction must reach, rounded up.

    With :math:`t = 1/\alpha`, :math:`c = t + \sum_{e : E_e < t} (t - E_e)`. NaN marks directions that are not tested.
    The first ``batch`` axes are families of their own; the result keeps them (a float if there are none).
    """
    if not 0.0 < alpha < 1.0:
        raise DomainError(f"alpha = {alpha} is not allowed; choose 0 < alpha < 1, for instance 0.05")
    shape = log_e.shape[batch:]
    terms = len(shape) * max(shape, default=1)
    result = log_threshold_of(weakness(log_e, alpha, batch=batch), alpha, directions=math.prod(shape), terms=terms)
    return result if batch else float(result)


def weakness(log_e: Array, alpha: float, *, batch: int = 0) -> Array:
    r""":math:`\sum_{e : E_e < t} (t - E_e)`, which adds up over parts of a family; see :func:`log_threshold_of`."""
    xp = namespace(log_e)
    # Only evidence below t is exponentiated, so nothing overflows however large the rest is.
    weak = log_e < -math.log(alpha)
    deficits = xp.where(weak, 1.0 / alpha - xp.exp(xp.where(weak, log_e, 0.0)), 0.0)
    for _ in log_e.shape[batch:]:  # one axis at a time, so that no sum has more terms than an axis is long
        deficits = xp.sum(deficits, axis=-1)
    return deficits


def log_threshold_of(deficits: Array, alpha: float, *, directions: int, terms: int) -> Array:
    """The logarithm of ``c``, rounded up, from :func:`weakness` of so many directions, summed with so many terms."""
    xp = namespace(deficits)
    # Each direction may have lost a few roundings of a number as large as 1 / alpha, in its deficit or by being
    # taken for one that has none; and every sum as many as it has terms.
    lost = 8 * UNIT * directions / alpha
    threshold = (1.0 / alpha + deficits + lost) * (1.0 + (16 + terms) * UNIT)
    return xp.log(threshold) * (1.0 + 8 * UNIT)


def e_holm(log_e: Array, *, alpha: float, batch: int = 0) -> Array:
    """The certified directions: those whose evidence reaches ``c`` of :func:`log_threshold`.

    ``log_e`` has any shape; NaN marks directions that are not tested and are never certified. The first ``batch`` axes
    are families of their own.

    **Guarantee:** if each ``exp(log_e)`` is an e-process under its null, the probability that a true null is certified
    at any look is at most ``alpha``, however the directions depend on each other. Raising evidence never loses
    a certificate.

    >>> e_holm(np.log([1000.0, 0.5, 30.0]), alpha=0.05)
    array([ True, False, False])
    """
    threshold = log_threshold(log_e, alpha, batch=batch)
    if batch:
        threshold = threshold[(..., *(None,) * (log_e.ndim - batch))]
    return log_e >= threshold


def weighted_log_thresholds(
    parts: Sequence[Array], weights: Sequence[float], alpha: float, *, batch: int = 0
) -> list[Array]:
    r"""Logarithm of the evidence that the directions of each part of a family must reach, rounded up.

    The directions of a part, for instance of a view, have its weight :math:`q > 0`, on any scale. With
    :math:`t = 1/\alpha`, :math:`c_f = t + \frac{1}{q_f} \sum_{e : E_e < t} q_e (t - E_e)`, where the sum runs over all
    parts. NaN marks directions that are not tested. Axes and results are as in :func:`log_threshold`.
    """
    if not 0.0 < alpha < 1.0:
        raise DomainError(f"alpha = {alpha} is not allowed; choose 0 < alpha < 1, for instance 0.05")
    largest = max(weights)
    if not all(0.0 < weight < math.inf and weight >= _LEAST_WEIGHT * largest for weight in weights):
        raise DomainError(
            f"a weight of a direction is not allowed; weights are finite, above 0, and none below {_LEAST_WEIGHT:g} "
            "times the largest"
        )
    q = [weight / largest for weight in weights]
    shapes = [part.shape[batch:] for part in parts]
    # As without weights, each direction may have lost a few roundings of its weight times 1 / alpha.
    total = sum(
        own * (weakness(part, alpha, batch=batch) + 16 * UNIT * math.prod(shape) / alpha)
        for own, part, shape in zip(q, parts, shapes, strict=True)
    )
    terms = len(parts) + max(len(shape) * max(shape, default=1) for shape in shapes)
    xp = namespace(parts[0])
    thresholds = [xp.log((1.0 / alpha + total / own) * (1.0 + (24 + terms) * UNIT)) * (1.0 + 8 * UNIT) for own in q]
    return thresholds if batch else [float(threshold) for threshold in thresholds]


def weighted_e_holm(parts: Sequence[Array], weights: Sequence[float], *, alpha: float, batch: int = 0) -> list[Array]:
    """The certified directions of each part of a family whose parts have weights, for instance of several views.

    With equal weights this is :func:`e_holm` over all parts together. NaN marks directions that are not tested and are
    never certified.

    **Guarantee:** that of :func:`e_holm`, for weights that were fixed before the first panel.

    >>> weighted_e_holm([np.log([70.0, 0.5]), np.log([70.0])], [3.0, 1.0], alpha=0.05)
    [array([ True, False]), array([False])]
    """
    thresholds = weighted_log_thresholds(parts, weights, alpha, batch=batch)
    axes = [(..., *(None,) * (part.ndim - batch)) for part in parts]
    return [
        part >= (threshold[axis] if batch else threshold)
        for part, threshold, axis in zip(parts, thresholds, axes, strict=True)
    ]
