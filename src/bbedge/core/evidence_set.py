"""The evidence of all views of a design, fed the same panels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bbedge.core.arrays import Array, Space, to_numpy
from bbedge.core.checkpoint_evidence import plan_of
from bbedge.core.checkpoints import Checkpoint, first_run_plan
from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.core.gram import PenaltyBySize
from bbedge.core.panels import both_sides
from bbedge.errors import DataError, DesignError
from bbedge.text import counted, quoted


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
        self.seen: Array | None = None
        """The scores of the first run up to its last checkpoint, in the run order; ``None`` outside of it."""
        self._are_linked = False

    @classmethod
    def of(cls, views: Sequence[Evidence], *, seen: Array | None = None) -> EvidenceSet:
        """Put together the evidence of the views of a design, after the same panels."""
        evidence = cls.__new__(cls)
        evidence.views, evidence.seen = tuple(views), seen
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

    def update(self, panel: object, upto: int | None = None) -> None:
        """Take in the next replicate: see :meth:`bbedge.core.evidence.Evidence.update`.

        The first one must have the scores that were seen at its checkpoints. With ``upto``, the blocks before its next
        checkpoint, the panel is what came since the checkpoint before: one column for each new item in the run order
        (:meth:`~bbedge.core.checkpoints.FirstRunPlan.new_places`).
        """
        if upto is not None:
            self._reach_checkpoint(panel, upto)
            return
        headline, *others = self.views
        scores, of_models = headline.check(panel)
        if self.seen is not None:
            self._check_seen(scores, self.seen)
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
        self.seen = None

    def _reach_checkpoint(self, panel: object, upto: int) -> None:
        headline, upcoming = self.headline, self._next_checkpoint()
        if upto != upcoming.blocks:
            raise DataError(
                f"a look after {counted(upto, 'block')} is not planned here; the next checkpoint is after "
                f"{upcoming.blocks:,}"
            )
        new, _ = headline.check(panel, plan_of(headline.design).new_places(upcoming.number))
        space, xp = headline.space, headline.space.xp
        seen = new if self.seen is None else xp.concat([self.seen, new], axis=-1)
        rows = both_sides(seen, space) if bool(xp.any(xp.isnan(seen))) else seen
        for view in self.views:
            view.place(space)
            view.reach_checkpoint(rows)
        self.seen = seen

    def _next_checkpoint(self) -> Checkpoint:
        """The checkpoint that comes next, or an error that says why there is none."""
        plan = first_run_plan(self.headline.design)
        if plan is None:
            raise DesignError("this design has no checkpoints; add complete runs")
        if self.replicates:
            raise DataError("the first run is complete, and later ones have no checkpoints; add complete runs")
        upcoming = plan.checkpoint_after(self.headline.checkpoint)
        if upcoming is None:
            raise DataError("every checkpoint of the first run has passed; add the complete run")
        return upcoming

    def _check_seen(self, scores: Array, seen: Array) -> None:
        """Refuse a complete run that differs from what was seen of it: one of the two is not what was run."""
        design, xp = self.headline.design, self.space.xp
        places = plan_of(design).order[: seen.shape[-1]]
        again = self.space.take(scores, places, axis=-1)
        same = to_numpy((again == seen) | (xp.isnan(again) & xp.isnan(seen)))
        if same.all():
            return
        *_, row, column = np.argwhere(~same)[0].tolist()
        model, item = self.active[row], design.items[places[column]]
        raise DataError(
            f"the score of model {quoted(model)} on item {quoted(item)} differs from what was seen at a checkpoint of "
            "this run; add the scores that were seen"
        )

    def stop(self, models: Sequence[str], *, forfeit: bool = False) -> None:
        """Freeze these models in every view: see :meth:`bbedge.core.evidence.Evidence.stop`."""
        active = self.active
        for view in self.views:
            view.stop(models, forfeit=forfeit)
        if self.seen is not None:
            rows = np.flatnonzero([model not in models for model in active])
            self.seen = self.space.take(self.seen, rows, axis=-2)


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
