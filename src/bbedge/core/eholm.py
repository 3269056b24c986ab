"""From the evidence of a look to what is certified: direct e-Holm, and the procedure of a design look by look."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, partial

import numpy as np

from bbedge.core.arrays import UNIT, Array, namespace, to_numpy
from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.core.looks import Look
from bbedge.core.mixture import mixed_log_e
from bbedge.core.staggered import Wealth
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
    result = log_threshold_of(
        shortfall_below(log_e, alpha, batch=batch), alpha, directions=math.prod(shape), terms=terms
    )
    return result if batch else float(result)


def shortfall_below(log_e: Array, alpha: float, *, batch: int = 0) -> Array:
    r""":math:`\sum_{e : E_e < t} (t - E_e)`, which adds up over parts of a family; see :func:`log_threshold_of`."""
    xp = namespace(log_e)
    # Only evidence below t is exponentiated, so nothing overflows however large the rest is.
    weak = log_e < -math.log(alpha)
    deficits = xp.where(weak, 1.0 / alpha - xp.exp(xp.where(weak, log_e, 0.0)), 0.0)
    for _ in log_e.shape[batch:]:  # one axis at a time, so that no sum has more terms than an axis is long
        deficits = xp.sum(deficits, axis=-1)
    return deficits


def log_threshold_of(deficits: Array, alpha: float, *, directions: int, terms: int) -> Array:
    """The logarithm of ``c``, rounded up, from :func:`shortfall_below` of so many directions and terms of a sum."""
    # Each direction may have lost a few roundings of a number as large as 1 / alpha, in its deficit or by being
    # taken for one that has none; and every sum as many as it has terms.
    lost = 8 * UNIT * directions / alpha
    threshold = (1.0 / alpha + deficits + lost) * (1.0 + (16 + terms) * UNIT)
    return namespace(deficits).log(threshold) * (1.0 + 8 * UNIT)


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
    return _reaching(log_e, log_threshold(log_e, alpha, batch=batch), batch)


def _reaching(log_e: Array, threshold: Array, batch: int) -> Array:
    return log_e >= (threshold[(..., *(None,) * (log_e.ndim - batch))] if batch else threshold)


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
        own * (shortfall_below(part, alpha, batch=batch) + 16 * UNIT * math.prod(shape) / alpha)
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
    return [_reaching(part, threshold, batch) for part, threshold in zip(parts, thresholds, strict=True)]


class Procedure:
    """Looks at the evidence of all views after each replicate, and remembers when a direction was first certified.

    ``batch`` are repetitions that run together, each with its own certificates.

    **Guarantee:** no look certifies a false direction of any view, with probability at least
    ``1 - certificate_alpha``.
    """

    def __init__(self, design: Design, *, batch: tuple[int, ...] = ()) -> None:
        self._design = design
        self._batch = batch
        n_models = len(design.models)
        self.first: list[Array] = [
            np.zeros((*batch, n_models, n_models), dtype=np.int64) for _ in (design, *design.views)
        ]
        """For each view, the headline first, the look at which each direction was first certified; 0 if none did."""
        self.first_checkpoint: list[Array] = [each.copy() for each in self.first]
        """Likewise the checkpoint of the first run; 0 if that look was after a complete run."""

    def look(self, evidence: Evidence) -> Look:
        """What is certified now in a design with one view; see :meth:`looks`."""
        return self.looks([evidence])[0]

    def looks(self, views: Sequence[Evidence]) -> list[Look]:
        """What is certified now in each view; in a design with memory, together with everything before."""
        design, space, count, checkpoint = self._design, views[0].space, views[0].run, views[0].checkpoint
        xp, wealth = space.xp, None
        first, first_checkpoint = (
            [xp.asarray(each, device=space.device) for each in known] for known in (self.first, self.first_checkpoint)
        )
        if design.holm == "staggered":
            evidence = [view.log_groups() for view in views]
            wealth = Wealth(views, evidence)
            found = wealth.certify([each > 0 for each in first], design.certificate_alpha)
        else:
            evidence = [view.log_e() for view in views]
            found = certified(design, evidence, batch=len(self._batch))
        new = [edges & (each == 0) for edges, each in zip(found, first, strict=True)]
        self.first = [
            xp.where(now, count, each) if bool(xp.any(now)) else each for now, each in zip(new, first, strict=True)
        ]
        if checkpoint:
            self.first_checkpoint = [
                xp.where(now, checkpoint, each) for now, each in zip(new, first_checkpoint, strict=True)
            ]
        stands = [each > 0 for each in self.first]
        log_w = None if wealth is None else cache(partial(wealth.log, stands))
        thresholds = cache(partial(log_thresholds, design, evidence))

        def look(place: int) -> Look:
            def log_e() -> Array:
                if wealth is None:
                    return evidence[place]
                # Inside the first run, what has not entered is no evidence yet.
                groups = evidence[place][:1, ...] if checkpoint else evidence[place]
                return views[place].tested_only(mixed_log_e(space, groups))

            return Look(
                replicate=count,
                checkpoint=checkpoint,
                log_e=log_e,
                edges=stands[place] if design.has_memory else found[place],
                log_threshold=lambda: thresholds()[place],
                log_w=None if log_w is None else lambda: log_w()[place],
            )

        return [look(place) for place in range(len(views))]


def certified(design: Design, log_e: Sequence[Array], *, batch: int = 0) -> list[Array]:
    """The directions of each view that direct e-Holm certifies."""
    alpha = design.certificate_alpha
    if not design.views:
        return [e_holm(log_e[0], alpha=alpha, batch=batch)]
    return weighted_e_holm(log_e, design.shares, alpha=alpha, batch=batch)


def log_thresholds(design: Design, log_e: Sequence[Array]) -> list[float]:
    """What the evidence of each view must reach; of staggered e-Holm, what its wealth must reach."""
    alpha = design.certificate_alpha
    if design.holm == "staggered":
        return [-math.log(alpha)] * len(log_e)
    if not design.views:
        return [log_threshold(to_numpy(log_e[0]), alpha)]
    return weighted_log_thresholds([to_numpy(each) for each in log_e], design.shares, alpha)
