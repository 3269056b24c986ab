"""The evidence of all views of a design, fed the same panels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bbedge.core.arrays import DAMAGED, Array, Space, State, to_numpy, with_prefix
from bbedge.core.checkpoint_evidence import plan_of
from bbedge.core.checkpoints import Checkpoint, first_run_plan
from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.core.gram import PenaltyBySize
from bbedge.core.item_batch import ItemBatch, RunOutcomes, joined_runs
from bbedge.core.new_items import NewItemsEvidence
from bbedge.core.panels import both_sides
from bbedge.core.view_evidence import ViewEvidence
from bbedge.errors import DataError, DesignError
from bbedge.text import counted, listed, quoted


class EvidenceSet:
    """The e-processes of every view: each panel is checked once and goes to the evidence of each.

    ``device`` and ``batch`` are as in :class:`~bbedge.core.evidence.Evidence`. About new items, ``batches`` has a
    design for each batch of the items, in their order; without it, all items are one batch.

    **Guarantee:** that of :class:`~bbedge.core.evidence.Evidence`, for each direction of each view.

    >>> design = Design.make(["a", "b"], ["q1", "q2"], views={"first": [1.0, 0.0]})
    >>> evidence = EvidenceSet(design)
    >>> evidence.update([[1.0, 0.5], [0.0, 0.5]])
    >>> [view.means.tolist() for view in evidence.views]
    [[0.75, 0.25], [1.0, 0.0]]
    """

    def __init__(
        self,
        design: Design,
        *,
        device: str | None = None,
        batch: tuple[int, ...] = (),
        batches: Sequence[Design] = (),
    ) -> None:
        self._outcomes = RunOutcomes(design)  # of the runs since items were last added
        self._of_batches = [RunOutcomes(each) for each in batches] or [self._outcomes]
        self._batches = batches
        self.views: tuple[ViewEvidence, ...] = tuple(
            NewItemsEvidence(part, self._outcomes, device=device, batch=batch, batches=self._batches_of(place))
            if part.target
            else Evidence(part, device=device, batch=batch)
            for place, part in enumerate(design.parts)
        )
        """The evidence of each view, the headline first."""
        self.seen: Array | None = None
        """The scores of the first run up to its last checkpoint, in the run order; ``None`` outside of it."""
        self.runs = 0
        """Number of panels taken in."""
        self._design = design
        self._waiting: list[Array] = []  # runs that make no score yet, where several make one
        self._are_linked = False

    def _batches_of(self, place: int) -> list[ItemBatch]:
        """The batches of items in a view; none stated where all items are one."""
        outcomes = zip(self._batches, self._of_batches, strict=False)
        return [ItemBatch(design.parts[place], its) for design, its in outcomes]

    @property
    def headline(self) -> ViewEvidence:
        """The evidence of the headline."""
        return self.views[0]

    @property
    def is_look(self) -> tuple[bool, ...]:
        """For each view, whether there is a look after the runs so far; after none, inside the first."""
        runs = self._outcomes.runs if self._batches else self.runs
        return self._design.is_look(runs, tuple(each.runs - runs for each in self._of_batches[:-1]))

    @property
    def space(self) -> Space:
        """Where the arrays live."""
        return self.headline.space

    @property
    def checkpoint(self) -> int:
        """The checkpoint of the first run that was last passed; 0 before the first, and after the complete run."""
        return self.headline.checkpoint

    @property
    def run(self) -> int:
        """The run that the evidence has come to: the last complete one, or the first inside of it."""
        return max(self.runs, min(1, self.checkpoint))

    @property
    def _of_benchmark(self) -> list[Evidence]:
        return [view for view in self.views if isinstance(view, Evidence)]

    @property
    def _of_new_items(self) -> list[NewItemsEvidence]:
        return [view for view in self.views if isinstance(view, NewItemsEvidence)]

    @property
    def _all_outcomes(self) -> list[RunOutcomes]:
        return [self._outcomes, *(self._of_batches if self._batches else ())]

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
            if len(linked := self._of_benchmark) > 1:
                _link(linked[0], linked[1:])
        if headline.is_split or bool(xp.any(xp.isnan(of_models))):
            if not headline.is_split:
                self._split()
            scores = both_sides(scores, space)
        self.runs += 1
        self._take_in(scores, None if headline.is_split else of_models)
        self.seen = None

    def _split(self) -> None:
        for view in self.views:
            view.split()
        for outcomes in self._all_outcomes:
            outcomes.split()
        self._waiting = [self.space.xp.concat([each, each], axis=-2) for each in self._waiting]

    def _take_in(self, scores: Array, of_models: Array | None) -> None:
        """Add a checked run to the evidence of every view that it makes a score of."""
        space, design, new = self.space, self._design, self._of_new_items
        if new:
            self._outcomes.add(scores, space)
            self._add_to_batches(scores)
            for of_new in new:
                of_new.count_run(self.runs)
            for place, batch in enumerate(self._of_batches):
                if weight := design.schedule.get(batch.runs):
                    outcomes = batch.values()
                    for of_new in new:
                        of_new.take_look(weight, outcomes, place)
        if design.of_runs:
            self._waiting.append(scores)
            if len(self._waiting) < design.runs_of_score:
                return
            scores, of_models = joined_runs(space.xp.stack(self._waiting), design.of_runs, space.xp), None
            self._waiting = []
        for view in reversed(self._of_benchmark):  # the first one last: the others hand on sums to it
            view.take_in(scores, of_models if view is self.headline else None)

    def _add_to_batches(self, scores: Array) -> None:
        start = 0
        for design, batch in zip(self._batches, self._of_batches, strict=False):
            stop = start + len(design.items)
            batch.add(scores[..., start:stop], self.space)
            start = stop

    def carry_on(self, before: EvidenceSet) -> None:
        """Go on from the evidence about new items of a benchmark that this one has grown from."""
        self.runs = before.runs
        for place, batch in enumerate(before._of_batches):
            self._of_batches[place] = batch.copy()
        for place, (view, old) in enumerate(zip(self._of_new_items, before._of_new_items, strict=True)):
            view.batches = self._batches_of(place)
            view.carry_on(old)

    def _reach_checkpoint(self, panel: object, upto: int) -> None:
        headline, upcoming = self.headline, self._next_checkpoint()
        if upto != upcoming.blocks:
            raise DataError(
                f"a look after {counted(upto, 'block')} is not planned here; the next checkpoint is after "
                f"{upcoming.blocks:,}"
            )
        new, _ = headline.check(panel, plan_of(self._design).new_places(upcoming.number))
        space, xp = headline.space, headline.space.xp
        seen = new if self.seen is None else xp.concat([self.seen, new], axis=-1)
        rows = both_sides(seen, space) if bool(xp.any(xp.isnan(seen))) else seen
        for view in self.views:
            view.place(space)
        for view in self._of_benchmark:
            view.reach_checkpoint(rows)
        self.seen = seen

    def _next_checkpoint(self) -> Checkpoint:
        """The checkpoint that comes next, or an error that says why there is none."""
        plan = first_run_plan(self._design)
        if plan is None:
            raise DesignError("this design has no checkpoints; add complete runs")
        if self.runs:
            raise DataError("the first run is complete, and later ones have no checkpoints; add complete runs")
        upcoming = plan.checkpoint_after(self.headline.checkpoint)
        if upcoming is None:
            raise DataError("every checkpoint of the first run has passed; add the complete run")
        return upcoming

    def _check_seen(self, scores: Array, seen: Array) -> None:
        """Refuse a complete run that differs from what was seen of it: one of the two is not what was run."""
        design, xp = self._design, self.space.xp
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
        active, is_split = self.active, self.headline.is_split
        if models and (ran := len(self._waiting)) and self._of_benchmark:
            k, run = self._design.runs_of_score, self.runs
            raise DesignError(
                f"{listed(models)} cannot stop after run {run}, inside a score of {k} runs, because some of these may "
                f"be the reason; stop after run {run - ran + k}"
            )
        for view in self.views:
            view.stop(models, forfeit=forfeit)
        rows = np.flatnonzero([model not in models for model in active])
        if self.seen is not None:
            self.seen = self.space.take(self.seen, rows, axis=-2)
        of_sides = np.concatenate([rows, rows + len(active)]) if is_split else rows
        for outcomes in self._all_outcomes:
            outcomes.keep(of_sides)
        self._waiting = [self.space.take(each, of_sides, axis=-2) for each in self._waiting]

    def state(self) -> State:
        """What is not in the evidence of single views, as arrays."""
        arrays: State = {} if self.seen is None else {"seen": to_numpy(self.seen)}
        if self._design.target or self._design.of_runs:  # else the evidence has all runs
            arrays |= {f"outcomes.{name}": each for name, each in self._outcomes.state().items()}
            arrays |= {f"waiting.{i}": to_numpy(each) for i, each in enumerate(self._waiting)}
            for place, batch in enumerate(self._of_batches if self._batches else ()):
                arrays |= {f"batch.{place}.{name}": each for name, each in batch.state().items()}
            arrays["runs"] = np.array([self.runs])
        return arrays

    def restore(self, state: State, of_views: Sequence[bytes]) -> None:
        """Take over what :meth:`state` returned and the states of the views, after the same panels."""
        if self._design.target or self._design.of_runs:
            self.runs = int(state["runs"][0])
            self._outcomes.restore(with_prefix(state, "outcomes."), self.space)
            self._waiting = [self.space.asarray(each) for each in with_prefix(state, "waiting.").values()]
            for place, batch in enumerate(self._of_batches if self._batches else ()):
                batch.restore(with_prefix(state, f"batch.{place}."), self.space)
        views = list[ViewEvidence]()
        for place, (part, its) in enumerate(zip(self._design.parts, of_views, strict=True)):
            new = part.target and NewItemsEvidence.from_bytes(
                part, its, self._outcomes, batches=self._batches_of(place)
            )
            views.append(new or Evidence.from_bytes(part, its))
        self.views = tuple(views)
        if not (self._design.target or self._design.of_runs):
            self.runs = views[0].replicates
        headline, k = self.headline, self._design.runs_of_score
        if len({(each.checkpoint, each.active) for each in views}) > 1 or any(
            each.replicates != (self.runs if each.design.target else self.runs // k) for each in views
        ):
            raise DataError(DAMAGED)
        if headline.checkpoint:
            self.seen = self.space.asarray(state["seen"])
            if self.seen.shape != (len(headline.active), len(plan_of(self._design).places(headline.checkpoint))):
                raise DataError(DAMAGED)


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
