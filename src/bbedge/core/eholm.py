"""From the evidence of a look to what is certified: direct e-Holm, and the procedure of a design look by look."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeVar

import numpy as np

from bbedge.core.arrays import UNIT, Array, namespace, to_numpy
from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.core.looks import Look
from bbedge.core.mixture import joined
from bbedge.core.staggered import Wealth
from bbedge.errors import DomainError

Value = TypeVar("Value")

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
        """Likewise the checkpoint of the first pass; 0 if that look was after a complete pass."""

    def look(self, evidence: Evidence) -> Look:
        """What is certified now in a design with one view; see :meth:`looks`."""
        return self.looks([evidence])[0]

    def looks(self, views: Sequence[Evidence]) -> list[Look]:
        """What is certified now in each view; in a design with memory, together with everything before."""
        space, count, checkpoint = views[0].space, views[0].run, views[0].checkpoint
        first = [space.xp.asarray(each, device=space.device) for each in self.first]
        found = (self._staggered if self._design.holm == "staggered" else self._direct)(views, first)
        new = [edges & (each == 0) for edges, each in zip(found.edges, first, strict=True)]
        self.first = [
            space.xp.where(now, count, each) if bool(space.xp.any(now)) else each
            for now, each in zip(new, first, strict=True)
        ]
        if checkpoint:
            self.first_checkpoint = [
                space.xp.where(now, checkpoint, space.xp.asarray(each, device=space.device))
                for now, each in zip(new, self.first_checkpoint, strict=True)
            ]
        stands = [each > 0 for each in self.first]
        log_w = None if found.log_w is None else cache(partial(found.log_w, tuple(stands)))
        thresholds = cache(found.log_thresholds)
        return [
            Look(
                replicate=count,
                checkpoint=checkpoint,
                log_e=found.log_e[place],
                edges=stands[place] if self._design.has_memory else found.edges[place],
                log_threshold=partial(_at, thresholds, place),
                log_w=None if log_w is None else partial(_at, log_w, place),
            )
            for place in range(len(views))
        ]

    def _staggered(self, views: Sequence[Evidence], first: Sequence[Array]) -> _Found:
        alpha = self._design.certificate_alpha
        log_groups = [view.log_groups() for view in views]
        wealth = Wealth(views, log_groups)
        return _Found(
            edges=wealth.certify([each > 0 for each in first], alpha),
            # Inside the first pass, what has not entered is no evidence yet.
            log_e=[
                partial(_joined, view, groups[:1, ...] if view.checkpoint else groups)
                for view, groups in zip(views, log_groups, strict=True)
            ],
            log_thresholds=lambda: [-math.log(alpha)] * len(views),
            log_w=wealth.log,
        )

    def _direct(self, views: Sequence[Evidence], first: Sequence[Array]) -> _Found:
        log_e = [view.log_e() for view in views]
        return _Found(
            edges=certified(self._design, log_e, batch=len(self._batch)),
            log_e=[partial(_same, each) for each in log_e],
            log_thresholds=lambda: log_thresholds(self._design, [to_numpy(each) for each in log_e]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a look found in each view."""

    edges: list[Array]
    log_e: list[Callable[[], Array]]
    log_thresholds: Callable[[], list[float]]
    log_w: Callable[[Sequence[Array]], list[Array]] | None = None


def certified(design: Design, log_e: Sequence[Array], *, batch: int = 0) -> list[Array]:
    """The directions of each view that direct e-Holm certifies."""
    alpha = design.certificate_alpha
    if not design.views:
        return [e_holm(log_e[0], alpha=alpha, batch=batch)]
    return weighted_e_holm(log_e, design.shares, alpha=alpha, batch=batch)


def log_thresholds(design: Design, log_e: Sequence[Array]) -> list[float]:
    """What the evidence of each view must reach by direct e-Holm."""
    alpha = design.certificate_alpha
    if not design.views:
        return [log_threshold(log_e[0], alpha)]
    return weighted_log_thresholds(log_e, design.shares, alpha)


def _joined(view: Evidence, log_groups: Array) -> Array:
    return view.tested_only(joined(view.space, log_groups))


def _at(values: Callable[[], Sequence[Value]], place: int) -> Value:
    return values()[place]


def _same(log_e: Array) -> Array:
    return log_e
