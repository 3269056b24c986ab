"""From the evidence of a look to what is certified, by the procedure of the design."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeVar

import numpy as np

from bbedge.core.arrays import Array, to_numpy
from bbedge.core.design import Design
from bbedge.core.eholm import e_holm, log_threshold, weighted_e_holm, weighted_log_thresholds
from bbedge.core.evidence import Evidence
from bbedge.core.history import Look
from bbedge.core.mixture import joined
from bbedge.core.staggered import Wealth

Value = TypeVar("Value")


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
        self.first_part: list[Array] = [each.copy() for each in self.first]
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
            self.first_part = [
                space.xp.where(now, checkpoint, space.xp.asarray(each, device=space.device))
                for now, each in zip(new, self.first_part, strict=True)
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
