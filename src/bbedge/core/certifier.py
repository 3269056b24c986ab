"""The certifier, which takes in panels one by one and remembers what was certified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import DAMAGED, Array, archive_bytes, load_arrays, to_numpy
from bbedge.core.checkpoints import (
    Checkpoint,
    FirstRunPlan,
    Outcomes,
    PositionTrend,
    first_run_outcomes,
    first_run_plan,
    position_trends,
    strongest,
)
from bbedge.core.conclusions import Leaderboard
from bbedge.core.design import Design
from bbedge.core.eholm import Procedure, TestedTogether
from bbedge.core.evidence import Evidence
from bbedge.core.evidence_set import EvidenceSet
from bbedge.core.graph import Graph
from bbedge.core.looks import EarlyRecord, Look, LookCount, Recorder
from bbedge.core.paths import closure
from bbedge.core.view_evidence import ViewEvidence
from bbedge.errors import DataError

Matrix = NDArray[np.float64]


class Certifier:
    """Takes in panels one by one, looks after each, and remembers what was certified.

    Views are numbered from 0, the headline, in the order of the design.

    **Needs:** what :class:`bbedge.core.evidence.Evidence` needs.

    >>> certifier = Certifier(Design.make(["a", "b"], ["q1", "q2", "q3", "q4"], method="bb-edge-x"))
    >>> for _ in range(4):
    ...     look = certifier.update([[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    >>> certifier.leaderboard().graph.rank_intervals
    ((1, 1), (2, 2))
    """

    def __init__(self, design: Design, *, device: str | None = None, batches: Sequence[Design] = ()) -> None:
        self._design = design
        self._evidence = EvidenceSet(design, device=device, batches=batches)
        self._procedure = Procedure(design)
        self._seen = [_Seen(len(design.models)) for _ in self._evidence.views]
        self._last: tuple[Look, ...] = ()
        self._outcomes: tuple[tuple[str, ...], Outcomes] | None = None  # of the complete first run, by place in it

    @property
    def evidence(self) -> ViewEvidence:
        """The evidence of the headline so far."""
        return self._evidence.headline

    @property
    def views(self) -> tuple[ViewEvidence, ...]:
        """The evidence of every view so far, the headline first."""
        return self._evidence.views

    @property
    def runs(self) -> int:
        """Number of panels taken in; where several make one score, more than are in the evidence."""
        return self._evidence.runs

    @property
    def last_look(self) -> Look | None:
        """The headline of the last look that this certifier took; ``None`` before any, also after it was resumed."""
        return self._last[0] if self._last else None

    @property
    def last_looks(self) -> tuple[Look, ...]:
        """The last look at each view; empty where :attr:`last_look` is ``None``."""
        return self._last

    def update(self, panel: object, upto: int | None = None) -> Look:
        """Take in the next replicate and look; the look at the headline is returned.

        The panel has one row per active model and one column per item. With ``upto``, the number of blocks before the
        :attr:`next_checkpoint`, it has one column for each of :attr:`next_items`. Once the first run is complete, all
        its scores are given again without ``upto``; those that differ from what was seen are refused.

        **Needs:** every active model has run the blocks before the checkpoint, in the order of the design and no other.
        """
        self._evidence.update(panel, upto)
        plan = first_run_plan(self._design)
        if plan is not None and self._evidence.runs == 1:
            scores = to_numpy(self._evidence.space.asarray(panel))
            self._outcomes = self._evidence.active, first_run_outcomes(scores[:, plan.order], plan.counts)
        return self._look(upto)

    @property
    def next_checkpoint(self) -> Checkpoint | None:
        """The checkpoint of the first run that comes next; ``None`` if there is none before the run is complete."""
        plan, passed = first_run_plan(self._design), self._evidence.headline.checkpoint
        return None if plan is None or self._evidence.runs else plan.checkpoint_after(passed)

    @property
    def next_items(self) -> tuple[str, ...]:
        """The items to run next in the first run, in their order: up to the next checkpoint, or all that are left.

        They are the columns of a panel up to the checkpoint. Empty without checkpoints, and once the run is complete.
        """
        plan = first_run_plan(self._design)
        if plan is None or self._evidence.runs:
            return ()
        return tuple(self._design.items[place] for place in plan.new_places(self.evidence.checkpoint + 1))

    def _look(self, upto: int | None) -> Look:
        evidence = self._evidence
        looks, is_look = self._procedure.looks(evidence.views, run=evidence.run), evidence.is_look
        self._last = tuple(looks)
        for place, (seen, look, view) in enumerate(zip(self._seen, looks, evidence.views, strict=True)):
            if not is_look[place]:
                continue
            stands = self._procedure.first[place] > 0
            seen.add(look, stands, evidence.space.xp, upto=upto, models=len(evidence.active))
            seen.tighten(view)
        return self._last[0]

    def graph(self, view: int = 0) -> Graph:
        """The graph of everything certified in a view at any look so far."""
        reach = self._seen[view].reach
        return Graph(self.edges(view), reach=None if reach is None else to_numpy(reach))

    def edges(self, view: int = 0) -> NDArray[np.bool_]:
        """Everything certified in a view at any look so far."""
        return to_numpy(self._procedure.first[view] > 0)

    def current_edges(self, view: int = 0) -> NDArray[np.bool_]:
        """What the last look certified in a view; in a design with memory, everything so far."""
        return to_numpy(self._seen[view].current)

    def stop(self, models: Sequence[str], *, forfeit: bool = False) -> None:
        """Freeze these models: see :meth:`Evidence.stop`."""
        self._evidence.stop(models, forfeit=forfeit)

    def to_bytes(self) -> bytes:
        """The whole state, to be resumed by :meth:`from_bytes` with the same design."""
        arrays: dict[str, Array | None] = {}
        for place, (evidence, seen) in enumerate(zip(self._evidence.views, self._seen, strict=True)):
            first_checkpoint = self._procedure.first_checkpoint[place]
            of_view = {
                "evidence": np.frombuffer(evidence.to_bytes(), dtype=np.uint8),
                "first_certified": self._procedure.first[place],
                "current": seen.current,
                "looks": seen.table(self._design),
                "best_bounds": seen.best_bounds,
                "best_means": seen.best_means,
                "first_checkpoint": None if self._design.checkpoints is None else first_checkpoint,
            }
            arrays |= {f"{name}{_ending(place)}": array for name, array in of_view.items()}
        models, outcomes = self._outcomes or ((), None)
        rows = None if outcomes is None else np.array([self._design.models.index(model) for model in models])
        arrays |= {"outcomes": outcomes, "outcome_rows": rows, **self._evidence.state()}
        return archive_bytes({name: to_numpy(array) for name, array in arrays.items() if array is not None})

    def grown(self, design: Design, batches: Sequence[Design]) -> Certifier:
        """A certifier that goes on about new items after more of them were added; this one stays as it is.

        ``design`` is about new items alone and for all items, ``batches`` are for each batch of them, as in
        :class:`~bbedge.core.evidence_set.EvidenceSet`. What is certified of new items stands.
        """
        certifier = Certifier(design, batches=batches)
        certifier._evidence.carry_on(self._evidence)
        places = [place for place, view in enumerate(self.views) if view.design.target]
        for place, before in enumerate(places):
            certifier._procedure.first[place] = to_numpy(self._procedure.first[before]).copy()
            seen = self._seen[before]
            certifier._seen[place].resume(to_numpy(seen.current), seen.table(self._design))
        return certifier

    @classmethod
    def from_bytes(cls, design: Design, state: bytes, *, batches: Sequence[Design] = ()) -> Certifier:
        """Resume from a saved state. A state of another design, or a damaged one, is refused."""
        arrays = load_arrays(state)
        certifier = cls(design, batches=batches)
        procedure, evidence = certifier._procedure, certifier._evidence
        try:
            states = [arrays[f"evidence{_ending(place)}"].tobytes() for place in range(len(evidence.views))]
            evidence.restore(arrays, states)
            for place, (view, seen) in enumerate(zip(evidence.views, certifier._seen, strict=True)):
                end = _ending(place)
                procedure.first[place] = arrays[f"first_certified{end}"]
                if design.checkpoints is not None:
                    procedure.first_checkpoint[place] = arrays[f"first_checkpoint{end}"]
                seen.resume(arrays[f"current{end}"], arrays[f"looks{end}"])
                if seen.looks and not view.design.target:
                    seen.best_bounds = view.space.asarray(arrays[f"best_bounds{end}"])
                    seen.best_means = arrays.get(f"best_means{end}")
            if design.checkpoints is not None and evidence.runs:
                models = tuple(design.models[row] for row in arrays["outcome_rows"].tolist())
                certifier._outcomes = models, arrays["outcomes"]
        except (IndexError, KeyError) as error:
            raise DataError(DAMAGED) from error
        return certifier

    def leaderboard(self) -> Leaderboard:
        """Everything that may be concluded now."""
        edges = [self.edges(place) for place in range(len(self._seen))]
        # Stopping models since the last look changes none of its evidence.
        now = self._evidence.run, self._evidence.checkpoint
        is_fresh = bool(self._last) and (self._last[0].replicate, self._last[0].checkpoint) == now
        design, views = self._design, self._evidence.views
        log_e = [self._last[place].log_e if is_fresh else to_numpy(view.log_e()) for place, view in enumerate(views)]
        stands = [self._evidence.space.bools(each) for each in edges]
        needed = {
            place: family.needed(place, stands)
            for family in (TestedTogether(design, places, views) for places in design.families)
            for place in family.places
        }
        headline, *others = (
            self._of_view(place, log_e[place], *needed[place], edges[place]) for place in range(len(self._seen))
        )
        named = (replace(each, name=view.name) for each, view in zip(others, self._design.views, strict=True))
        return replace(headline, design=self._design, views=tuple(named))

    def _of_view(
        self, place: int, log_e: Matrix, log_w: Matrix | None, needed: Matrix, edges: NDArray[np.bool_]
    ) -> Leaderboard:
        evidence, seen = self._evidence.views[place], self._seen[place]
        design, bounds = evidence.design, to_numpy(evidence.lower_bounds())
        if design.is_joint:  # where both hold, a certified direction exceeds tau
            bounds = np.where(edges, np.maximum(bounds, design.tau), bounds)
        best = bounds if design.target and seen.looks else seen.best_bounds
        return Leaderboard(
            design=design,
            replicates=self._evidence.runs,
            means=evidence.means,
            log_e=log_e,
            log_w=log_w,
            log_thresholds=needed,
            lower_bounds=bounds,
            mean_bounds=evidence.mean_bounds(),
            best_bounds=None if best is None else to_numpy(best),
            best_mean_bounds=seen.best_means,
            graph=self.graph(place),
            current_edges=to_numpy(seen.current).copy(),
            first_certified=to_numpy(self._procedure.first[place]).copy(),
            looks=tuple(look for look in seen.looks if look.upto is None),
            history=None if seen.recorder is None else seen.recorder.history(),
            early=None if evidence.design.target else self._early(place),
            fitted_stakes=evidence.fitted_stakes if isinstance(evidence, Evidence) else (),
        )

    def _early(self, place: int) -> EarlyRecord | None:
        plan = first_run_plan(self._design)
        if plan is None:
            return None
        return EarlyRecord(
            checkpoints=plan.checkpoints,
            is_complete=self._evidence.runs > 0,
            looks=tuple(look for look in self._seen[place].looks if look.upto is not None),
            first_certified=to_numpy(self._procedure.first_checkpoint[place]).copy(),
            position=self._position(plan) if place == 0 else None,
        )

    def _position(self, plan: FirstRunPlan) -> PositionTrend | None:
        """The strongest relation of scores to the place in the run, of the models that ran all of it so far."""
        models, outcomes = self._outcomes or ((), None)
        if outcomes is None and self._evidence.seen is not None:
            models, outcomes = self._evidence.active, first_run_outcomes(to_numpy(self._evidence.seen), plan.counts)
        if outcomes is None or self._design.checkpoints is None:
            return None
        return strongest(position_trends(outcomes, models, seed=self._design.checkpoints.order_seed))


class _Seen:
    """What is remembered of the looks at one view."""

    def __init__(self, n_models: int) -> None:
        self.current: Array = np.zeros((n_models, n_models), dtype=np.bool_)  # the edges of the last look
        self.reach: Array | None = None  # the closure of everything certified so far
        self.looks: list[LookCount] = []
        self.recorder: Recorder | None = Recorder()
        self.best_bounds: Array | None = None  # the largest lower bound of every difference at any look
        self.best_means: Matrix | None = None  # the tightest bounds of every mean at any look

    def tighten(self, evidence: ViewEvidence) -> None:
        """Keep the tightest bounds of any look: all of them hold together. Of new items, that is the last."""
        if evidence.design.target:
            return
        bounds, means = evidence.lower_bounds(), evidence.mean_bounds()
        known, xp = self.best_bounds, evidence.space.xp
        self.best_bounds = bounds if known is None else xp.maximum(known, bounds)
        if means is not None and self.best_means is not None:
            lower, upper = (
                np.maximum(means[:, 0], self.best_means[:, 0]),
                np.minimum(means[:, 1], self.best_means[:, 1]),
            )
            means = np.stack([lower, upper], axis=1)
        self.best_means = means

    def add(self, look: Look, stands: Array, xp: Any, *, upto: int | None, models: int) -> None:  # noqa: ANN401
        """Remember a look, after which these edges stand."""
        self.current, self.reach = look.edges_there, closure(stands)
        n_edges = int(xp.count_nonzero(stands))
        resolved = int(xp.count_nonzero(self.reach & ~xp.matrix_transpose(self.reach)))
        models = 0 if upto is None else models
        count = LookCount(replicate=look.replicate, edges=n_edges, resolved_pairs=resolved, upto=upto, models=models)
        self.looks.append(count)
        if upto is None and self.recorder is not None:
            self.recorder.record(look)

    def table(self, design: Design) -> NDArray[np.int64]:
        """The counts of the looks, a row for each; without checkpoints, of looks after complete replicates alone."""
        rows = [(each.replicate, each.edges, each.resolved_pairs, each.upto or 0, each.models) for each in self.looks]
        return np.array(rows).reshape(-1, 5)[:, : 3 if design.checkpoints is None else 5]

    def resume(self, current: NDArray[np.bool_], table: NDArray[np.int64]) -> None:
        """Take over what was saved."""
        self.current = current
        for replicate, edges, pairs, *inside in table.tolist():
            upto, models = inside or (0, 0)
            count = LookCount(replicate=replicate, edges=edges, resolved_pairs=pairs, upto=upto or None, models=models)
            self.looks.append(count)
        if any(look.upto is None for look in self.looks):
            self.recorder = None  # the state has no evidence of earlier looks, and half a history misleads


def _ending(place: int) -> str:
    """What the names of a view's saved arrays end with; those of the headline are plain."""
    return f".{place}" if place else ""
