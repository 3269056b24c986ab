"""From the evidence of a look to what is certified: direct e-Holm, and the procedure of a design look by look."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from bbedge.core.arrays import UNIT, Array, Floats, namespace, to_numpy
from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.core.looks import Look
from bbedge.core.mixture import mixed_log_e
from bbedge.core.new_items import NewItemsEvidence
from bbedge.core.paths import closure, closure_by_products
from bbedge.core.staggered import Wealth
from bbedge.core.view_evidence import ViewEvidence
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

    def look(self, evidence: ViewEvidence) -> Look:
        """What is certified now in a design with one view; see :meth:`looks`."""
        return self.looks([evidence], run=evidence.replicates)[0]

    def looks(self, views: Sequence[ViewEvidence], *, run: int) -> list[Look]:
        """What is certified after a run in each view; in a design with memory, together with everything before."""
        design, space, checkpoint = self._design, views[0].space, views[0].checkpoint
        xp = space.xp
        first, first_checkpoint = (
            [xp.asarray(each, device=space.device) for each in known] for known in (self.first, self.first_checkpoint)
        )
        families = [TestedTogether(design, places, views, batch=len(self._batch)) for places in design.families]
        found = dict[int, Array]()
        for family in families:
            found |= family.certify([each > 0 for each in first])
        new = [found[place] & (each == 0) for place, each in enumerate(first)]
        self.first = [
            xp.where(now, run, each) if bool(xp.any(now)) else each for now, each in zip(new, first, strict=True)
        ]
        if checkpoint:
            self.first_checkpoint = [
                xp.where(now, checkpoint, each) for now, each in zip(new, first_checkpoint, strict=True)
            ]
        stands = [each > 0 for each in self.first]
        looks = {
            place: Look(
                replicate=run,
                checkpoint=checkpoint,
                log_e=partial(family.log_e, place),
                edges=stands[place] if design.has_memory else found[place],
                log_threshold=partial(family.log_threshold, place, stands),
                log_w=partial(family.log_w, place, stands) if family.rule == "staggered" else None,
            )
            for family in families
            for place in family.places
        }
        return [looks[place] for place in range(len(views))]


class TestedTogether:
    """The evidence, at one look, of the views of one target: they are tested together, at one level.

    About these items that is direct or staggered e-Holm. About new items it is direct e-Holm with memory: what stands,
    with what follows by paths, leaves the family, and the rest is tried again until nothing is new.
    """

    def __init__(self, design: Design, places: Sequence[int], views: Sequence[ViewEvidence], *, batch: int = 0) -> None:
        self.places: Sequence[int] = places
        """The places of its views in the design."""
        self._views = [views[place] for place in places]
        self._alpha, self._batch, self._space = design.certificate_alpha, batch, views[0].space
        is_new = isinstance(self._views[0], NewItemsEvidence)
        self.rule: Literal["direct", "staggered", "new-items"] = "new-items" if is_new else design.holm
        """How its evidence becomes edges."""
        self._shares = [view.design.share for view in self._views]
        if self.rule == "staggered":
            staggered = [view for view in self._views if isinstance(view, Evidence)]
            self._evidence = [view.log_groups() for view in staggered]
            self._own = [view.own_groups(found) for view, found in zip(staggered, self._evidence, strict=True)]
            self._wealth = Wealth(staggered, self._evidence)
        else:
            self._evidence = [view.log_e() for view in self._views]
        self._read: tuple[Sequence[Array], Sequence[Any]] | None = None  # what all views have, given what stands

    def certify(self, certified: Sequence[Array]) -> dict[int, Array]:
        """The directions of each of its views that are certified now, by place, given those of all views that were."""
        own = [certified[place] for place in self.places]
        if self.rule == "staggered":
            found = self._wealth.certify(own, self._alpha)
        elif self.rule == "direct":
            found = self._reaching(self._evidence)
        else:
            found = self._with_memory(own)
        return dict(zip(self.places, found, strict=True))

    def _reaching(self, log_e: Sequence[Array]) -> list[Array]:
        if len(log_e) == 1:
            return [e_holm(log_e[0], alpha=self._alpha, batch=self._batch)]
        return weighted_e_holm(log_e, self._shares, alpha=self._alpha, batch=self._batch)

    def _with_memory(self, stands: list[Array]) -> list[Array]:
        xp = self._space.xp
        close = closure_by_products if self._batch else closure
        while True:
            new = self._reaching(self._rest(stands))
            if not any(bool(xp.any(each)) for each in new):
                return stands
            joined = [known | found for known, found in zip(stands, new, strict=True)]
            stands = [each | (close(each) & view.tested) for each, view in zip(joined, self._views, strict=True)]

    def _rest(self, stands: Sequence[Array]) -> list[Array]:
        """The evidence of what does not stand."""
        xp = self._space.xp
        return [xp.where(known, xp.nan, each) for known, each in zip(stands, self._evidence, strict=True)]

    def log_e(self, place: int) -> Array:
        """The evidence of a view."""
        if self.rule != "staggered":
            return self._evidence[self.places.index(place)]
        view, own = self._views[self.places.index(place)], self._own[self.places.index(place)]
        return view.tested_only(mixed_log_e(self._space, own))

    def log_w(self, place: int, stands: Sequence[Array]) -> Array:
        """The wealth of staggered e-Holm of the directions of a view, given what stands in all views."""
        found: Array = self._of_all(stands)[self.places.index(place)]
        return found

    def log_threshold(self, place: int, stands: Sequence[Array]) -> float:
        """What the evidence of a view must reach; of staggered e-Holm, what its wealth must reach."""
        if self.rule == "staggered":
            return -math.log(self._alpha)
        return float(self._of_all(stands)[self.places.index(place)])

    def _of_all(self, stands: Sequence[Array]) -> Sequence[Any]:
        """The wealth of the directions of each of its views, or what the evidence of each view must reach."""
        if self._read is None or self._read[0] is not stands:
            own = [stands[each] for each in self.places]
            if self.rule == "staggered":
                found: Sequence[Any] = self._wealth.log(own)
            else:
                counted = [to_numpy(each) for each in (self._evidence if self.rule == "direct" else self._rest(own))]
                single = len(counted) == 1
                found = (
                    [log_threshold(counted[0], self._alpha)]
                    if single
                    else weighted_log_thresholds(counted, self._shares, self._alpha)
                )
            self._read = stands, found
        return self._read[1]

    def needed(self, place: int, stands: Sequence[Array]) -> tuple[Floats | None, Floats]:
        """The wealth of the directions of a view, of staggered e-Holm, and what the evidence of each must reach."""
        log_e = to_numpy(self.log_e(place))
        if self.rule != "staggered":
            return None, np.where(np.isnan(log_e), np.nan, self.log_threshold(place, stands))
        log_w = to_numpy(self.log_w(place, stands))
        return log_w, log_e - (log_w + math.log(self._alpha))
