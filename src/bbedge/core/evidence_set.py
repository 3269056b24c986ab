"""The evidence of all views of a design, fed the same panels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bbedge.core.arrays import Space
from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.core.gram import PenaltyBySize
from bbedge.core.panel import both_sides


class EvidenceSet:
    """The e-processes of every view: each panel is checked once and goes to the evidence of each.

    ``device`` and ``batch`` are as in :class:`~bbedge.core.evidence.Evidence`.

    **Guarantee:** that of :class:`~bbedge.core.evidence.Evidence`, for each direction of each view.

    >>> design = Design.make(["a", "b"], ["q1", "q2"], views={"first": [1.0, 0.0]})
    >>> evidence = EvidenceSet(design)
    >>> evidence.update([[1.0, 0.5], [0.0, 0.5]])
    >>> [view.means.tolist() for view in evidence.views]
    [[0.75, 0.25], [1.0, 0.0]]
    """

    def __init__(self, design: Design, *, device: str | None = None, batch: tuple[int, ...] = ()) -> None:
        self.views: tuple[Evidence, ...] = tuple(Evidence(part, device=device, batch=batch) for part in design.parts)
        """The evidence of each view, the headline first."""
        self._are_linked = False

    @classmethod
    def of(cls, views: Sequence[Evidence]) -> EvidenceSet:
        """Put together the evidence of the views of a design, after the same panels."""
        evidence = cls.__new__(cls)
        evidence.views = tuple(views)
        evidence._are_linked = False
        return evidence

    @property
    def headline(self) -> Evidence:
        """The evidence of the headline."""
        return self.views[0]

    @property
    def space(self) -> Space:
        """Where the arrays live."""
        return self.headline.space

    @property
    def replicates(self) -> int:
        """Number of panels taken in."""
        return self.headline.replicates

    @property
    def active(self) -> tuple[str, ...]:
        """The models that have not been stopped: the rows of the next panel."""
        return self.headline.active

    def update(self, panel: object) -> None:
        """Take in the next replicate: see :meth:`bbedge.core.evidence.Evidence.update`."""
        headline, *others = self.views
        scores, of_models = headline.check(panel)
        space, xp = headline.space, headline.space.xp
        for view in others:
            view.place(space)
        if not self._are_linked:  # once it is known where the arrays live
            self._are_linked = True
            if others:
                _link(headline, others)
        if headline.is_split or bool(xp.any(xp.isnan(of_models))):
            for view in self.views:
                view.split()
            scores = both_sides(scores, space)
        for view in others:  # before the headline, to which they hand on sums
            view.take_in(scores)
        headline.take_in(scores, None if headline.is_split else of_models)

    def stop(self, models: Sequence[str]) -> None:
        """Freeze these models in every view: see :meth:`bbedge.core.evidence.Evidence.stop`."""
        for view in self.views:
            view.stop(models)


def _link(headline: Evidence, others: Sequence[Evidence]) -> None:
    """Let views hand on the power sums of blocks that they share with the headline: of a partition, all of them."""
    place_of = {content: place for place, content in enumerate(headline.layout.contents)}
    for centre, target in headline.penalties.items():
        # Running means of a block are the same in every view, and so is the null value; other predictions are not.
        alike = centre == "null" or headline.design.prediction == "running-mean"
        if not (alike and isinstance(target, PenaltyBySize)):
            continue
        size_of = np.empty(len(place_of), dtype=np.intp)
        for size, places in enumerate(target.places):
            size_of[places] = size
        taken = np.zeros(len(place_of), dtype=np.bool_)
        for view in others:
            penalty = view.penalties.get(centre)
            if not isinstance(penalty, PenaltyBySize):
                continue
            there = np.array([place_of.get(content, -1) for content in view.layout.contents])
            for size, places in enumerate(penalty.places):
                blocks = there[places]
                if blocks.min() >= 0 and len(set(size_of[blocks])) == 1 and not taken[blocks].any():
                    penalty.feed(size, target, int(size_of[blocks[0]]), blocks)
                    taken[blocks] = True
