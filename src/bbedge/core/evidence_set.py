"""The evidence of all views of a design, fed the same panels."""

from __future__ import annotations

from collections.abc import Sequence

from bbedge.core.arrays import Space
from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
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

    @classmethod
    def of(cls, views: Sequence[Evidence]) -> EvidenceSet:
        """Put together the evidence of the views of a design, after the same panels."""
        evidence = cls.__new__(cls)
        evidence.views = tuple(views)
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
        if not headline.is_split and not bool(xp.any(xp.isnan(of_models))):
            headline.take_in(scores, of_models)
        else:
            for view in self.views:
                view.split()
            scores = both_sides(scores, space)
            headline.take_in(scores)
        for view in others:
            view.take_in(scores)

    def stop(self, models: Sequence[str]) -> None:
        """Freeze these models in every view: see :meth:`bbedge.core.evidence.Evidence.stop`."""
        for view in self.views:
            view.stop(models)
