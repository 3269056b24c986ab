"""Evidence: one e-process per direction, kept as sufficient statistics of all of them together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import (
    DAMAGE,
    DAMAGED,
    UNIT,
    Array,
    Places,
    Space,
    archive_bytes,
    load_arrays,
    to_numpy,
    with_prefix,
)
from bbedge.core.bounds import MeanBounds
from bbedge.core.checkpoint_evidence import FORFEITED, NOTHING, EarlyEvidence
from bbedge.core.design import Design
from bbedge.core.fitting import StakeFitting
from bbedge.core.margins import LateBets
from bbedge.core.mixture import Feed, Mixture, mixed_log_e
from bbedge.core.panels import both_sides, model_means
from bbedge.core.penalties import Bound, Columns, Directions, Penalty
from bbedge.core.predictions import Predictor, predictor_for
from bbedge.core.stakes import EntryGroup
from bbedge.core.view_evidence import ViewEvidence, check_identity, identity
from bbedge.errors import DataError, DesignError
from bbedge.records.design import FittedStake


class Evidence(ViewEvidence):
    """The e-processes of a design, fed one panel at a time and readable at any look.

    For each stake, ``log E = (lambda / w_max) T - P(lambda)``, where ``T`` sums the benchmark mean of ``Y - mu0`` over
    replicates and ``P`` is the penalty of the evidence kind (:mod:`bbedge.core.penalties`); the evidence of a
    direction is the mixture over stakes (:mod:`bbedge.core.mixture`).

    ``device`` and ``batch`` are as in :class:`~bbedge.core.view_evidence.ViewEvidence`.

    **Guarantee:** for a direction whose null is true, ``exp(log_e)`` never exceeds a nonnegative supermartingale
    that starts at one. Rounding can lower it and never raise it.

    **Needs:** panels that are independent of each other, blocks that are independent within a panel, and a design
    that was fixed without looking at them.

    >>> evidence = Evidence(Design.make(["a", "b"], ["q1", "q2"]))
    >>> evidence.update([[1.0, 1.0], [0.0, 0.0]])
    >>> bool(evidence.log_e()[0, 1] > 0 > evidence.log_e()[1, 0])
    True
    """

    def __init__(self, design: Design, *, device: str | None = None, batch: tuple[int, ...] = ()) -> None:
        if design.target:
            raise DesignError("this design makes claims about new items; use EvidenceSet")
        self._entries: dict[int, Array] = {}
        self._entered: Array | None = None  # what at_entry returned last
        self._is_staggered = design.holm == "staggered"  # also where every stake enters at the start
        super().__init__(design, device=device, batch=batch)

    def _place(self, space: Space) -> None:
        super()._place(space)
        n_models = len(self.design.models)
        self._totals = np.zeros((*self._batch, n_models))  # of stopped models; the others' are in the mixture
        self._highs = self._totals.copy()  # the same with missing scores as 1
        self._runs = np.zeros(n_models)
        self._predictor: Predictor = predictor_for(self.design, space, batch=self._batch)
        self._mixture = Mixture(self.design, space, Directions.all(n_models, self._batch))
        self._own = MeanBounds(self.design, space, batch=self._batch) if self.design.mean_share else None
        has_early = self.design.checkpoints is not None
        self._early = EarlyEvidence(self.design, space, self.layout, batch=self._batch) if has_early else None
        self.groups: tuple[EntryGroup, ...] = self.design.entry_groups if self._early is None else self._early.groups
        """The stakes by when they enter e-Holm."""
        fitting = StakeFitting(self.design, space, self._batch, keeps_panels=self._mixture.needs_past)
        self._fitting: StakeFitting | None = fitting if self.design.grid.horizons else None

    @property
    def checkpoint(self) -> int:
        """The checkpoint of the first run that was last passed; 0 before the first, and after the complete run."""
        return self._early.passed if self._early is not None and not self.replicates else 0

    @property
    def run(self) -> int:
        """The replicate that the evidence has come to: the last complete one, or the first inside of it."""
        return max(self.replicates, min(1, self.checkpoint))

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean of every model's scores over the replicates it took part in, without those missing; NaN before any."""
        low, high = self._all_totals()
        with np.errstate(invalid="ignore"):
            means = low / (self._runs - (high - low))
        means = np.where(np.isnan(means) | (high - low > self._runs * (1.0 - 1e-9)), np.nan, np.clip(means, 0.0, 1.0))
        return means if self._early is None else np.where(self._runs > 0, means, self._early.means)

    def _all_totals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sums of every model's replicate means, with missing scores as 0 and as 1."""
        low, high = self._totals.copy(), self._highs.copy()
        of_active = to_numpy(self._mixture.totals)
        low[..., self._active] = of_active[..., : self._active.size]
        high[..., self._active] = of_active[..., -self._active.size :]
        return low, high

    def update(self, panel: object) -> None:
        """Take in the next replicate: one row per active model, one column per item, in [0, 1].

        A score may be missing (NaN) if the design says how that counts.
        """
        if self.design.of_runs:
            raise DesignError("several runs make a score of this design; use EvidenceSet, which joins them")
        scores, of_models = self.check(panel)
        if self.is_split or bool(self.space.xp.any(self.space.xp.isnan(of_models))):
            self.split()
            scores, of_models = both_sides(scores, self.space), None
        self.take_in(scores, of_models)

    @property
    def penalties(self) -> dict[str, Penalty]:
        """What the stakes pay, by what they are centred at."""
        return self._mixture.penalties

    def split(self) -> None:
        """Give every model two rows from now on, if it does not have them; nothing changes but the form."""
        if self.is_split:
            return
        self.is_split = True
        self._mixture.split()
        if self._own is not None:
            self._own.split()
        rows = np.arange(self._active.size)
        self._predictor.keep(np.concatenate([rows, rows]))
        if self._fitting is not None:
            self._fitting.keep(np.concatenate([rows, rows]))

    def take_in(self, scores: Array, of_models: Array | None = None) -> None:
        """Add a checked and complete panel, of two rows for each model if they have been split."""
        space, predictor = self.space, self._predictor
        if of_models is None:
            of_models = model_means(scores, space, self.layout.overall)
        if self._early is not None and not self.replicates:  # checkpoints that were not looked at
            for checkpoint in self._early.plan.checkpoints[self._early.passed :]:
                self.reach_checkpoint(space.take(scores, self._early.plan.places(checkpoint.number), axis=-1))
        means = self.layout.means(scores, space)
        of_blocks, residuals = self._columns(means, predictor)
        self._mixture.add(of_blocks, residuals, shift=predictor.shift, totals=of_models)
        if self._own is not None:
            self._own.add(of_blocks, residuals, of_models, shift=predictor.own_shift)
        if self._fitting is not None:
            tested = space.take_pairs(self.tested, self._active, self._active)
            self._fitting.add(means, predictor.sums, tested, self._mixture.pairs)
        predictor.update(means)
        self._runs[self._active] += 1
        self.replicates += 1
        for place, group in enumerate(self.groups):
            if group.after == self.replicates:
                self._enter(place, group)

    def _columns(self, means: Array, predictor: Predictor) -> tuple[Columns, Columns]:
        """The block means of a replicate, and their residuals."""

        def of_blocks(places: Places, out: Array | None) -> Array:
            return self.space.take(means, places) + 0.0

        def residuals(places: Places, out: Array | None) -> Array:
            return predictor.residuals(means, places, out)

        return of_blocks, residuals

    def _enter(self, place: int, group: EntryGroup) -> None:
        """Let a group of stakes enter e-Holm; if they are fitted, they are chosen now."""
        if self._fitting is not None:
            replay = self._replay(self._fitting.panels)
            self._mixture.enter(self._fitting.choose(group), replay)
        self._entries[place] = self.log_groups("upper")[place, ...]

    def _replay(self, panels: Sequence[Array]) -> Callable[[Feed], None]:
        """Feeds the replicates so far, as far as the models are still active."""

        def replay(feed: Feed) -> None:
            predictor = predictor_for(self.design, self.space, batch=self._batch, n_models=panels[0].shape[-2])
            for means in panels:
                feed(*self._columns(means, predictor), predictor.shift)
                predictor.update(means)

        return replay

    @property
    def fitted_stakes(self) -> tuple[FittedStake, ...]:
        """The stakes that were fitted to the noise when they entered; of repetitions, those of the first."""
        return () if self._fitting is None else self._fitting.records

    def reach_checkpoint(self, scores: Array) -> None:
        """Count the next checkpoint: checked scores of all items before it in the run order; rows as in a panel."""
        if self._early is not None:
            self._early.add(scores, self._active)

    def log_e(self) -> Array:
        """Natural logarithm of the evidence of every tested direction, row against column; NaN elsewhere."""
        if not self.run:  # the sum of weights may round below one
            nothing = self.space.zeros(*self._batch, self._active.size, self._active.size)
            return self.tested_only(self._with_frozen("log_e", nothing))
        if self._is_staggered or self._early is not None:
            return self.tested_only(mixed_log_e(self.space, self.own_groups(self.log_groups())))
        return self.tested_only(self._with_frozen("log_e", self._mixture.log_e()))

    def own_groups(self, groups: Array) -> Array:
        """What each group adds to the evidence of a direction by itself, from what :meth:`log_groups` returns now.

        Inside the first run, what has not entered is no evidence yet. Stakes that were fitted when they entered are
        evidence from then on: what they would have won before is theirs only beside what it is for other directions.
        """
        if self.checkpoint:
            return groups[:1, ...]
        if self._fitting is None:
            return groups
        own = groups + 0.0
        for place, group in enumerate(self.groups[1:], start=1):
            won = own[place, ...] - self._entries[place] if place in self._entries else 0.0
            own[place, ...] = won + math.log(group.weight) * (1.0 + 4 * UNIT)
        if self._frozen:
            had = np.full(tuple(own.shape), NOTHING)
            had[: len(self._frozen["own"])] = self._frozen["own"]
            active = self._active[:, None], self._active
            had[:, *active] = to_numpy(own)[:, *active]
            own = self.space.asarray(had)
        return own

    def log_e_above(self, difference: float) -> Array:
        """Logarithm of the evidence that differences exceed this one, which may be below zero, on the [0, 1] scale.

        **Guarantee:** where the true difference is at most that, ``exp`` of it never exceeds a nonnegative
        supermartingale that starts at one. It orders no models if the difference is below zero.
        """
        if self._frozen:
            raise DesignError("evidence above another difference is not kept of stopped models")
        if self._early is None or not self.run:
            return self.tested_only(self._complete_log_e_above(difference))
        complete = self._complete_log_e_above(difference) if self.replicates else None
        return self.tested_only(self._early.log_e_above(difference, complete))

    def _complete_log_e_above(self, difference: float) -> Array:
        late = self._late_bets
        return self._mixture.log_e(difference) if late is None else late.log_e(difference)

    @property
    def _late_bets(self) -> LateBets | None:
        """The evidence of active models where stakes are fitted; ``None`` where all are known from the start."""
        if self._fitting is None or not self.replicates:
            return None
        # The mixture knows nothing of checkpoints.
        complete = 0.0 if self._early is None else math.log(self._early.plan.complete)
        then = [self.space.take_pairs(each, self._active, self._active) - complete for each in self._entries.values()]
        return LateBets(self._mixture, then)

    def log_groups(self, bound: Bound = "lower") -> Array:
        """What each group of stakes adds to the evidence, as a logarithm: groups x (batch x) models x models.

        A lower bound, or an upper one; any number where nothing is tested.
        """
        groups = self._mixture.log_groups(bound)
        if self._early is not None:
            groups = self._early.joined(groups, bound, is_complete=self.replicates > 0)
        return self._with_frozen(bound, groups)

    def at_entry(self, count: int) -> Array:
        """What each of the first groups had added to the evidence when it entered, as logarithms not below it."""
        if self._entered is None or self._entered.shape[0] != count:
            blank = self.space.zeros(*self._batch, *self.tested.shape)
            of_groups = [
                self._entries[place] if place in self._entries else blank + math.log(group.weight) * (1.0 - 4 * UNIT)
                for place, group in enumerate(self.groups[:count])
            ]
            self._entered = self.space.xp.stack(of_groups) if count else blank[None, ...][:0, ...]
        return self._entered

    def lower_bounds(self) -> Array:
        """Simultaneous lower bounds of all tested differences, on the [0, 1] scale; NaN where nothing is tested.

        **Guarantee:** with probability at least ``1 - margin_alpha`` of the design all hold, at every look at once.
        """
        weight = 1.0 if self._early is None else self._early.plan.complete
        late = self._late_bets
        bounds = (self._mixture if late is None else late).lower_bounds(self._n_directions / weight)
        bounds = bounds if self._early is None else self._early.best_bounds(bounds)
        return self.tested_only(self._with_frozen("bounds", bounds))

    def mean_bounds(self) -> NDArray[np.float64] | None:
        """Simultaneous bounds of every model's mean on the [0, 1] scale, models x 2; ``None`` if not asked for.

        **Guarantee:** with probability at least one less the level of means of the design all hold, at every look.
        """
        return None if self._own is None else self._own.bounds()

    def stop(self, models: Sequence[str], *, forfeit: bool = False) -> None:
        """Freeze every direction that touches these models; later panels leave them out.

        With ``forfeit`` they keep no evidence: for models that stop inside a replicate that counts only if complete.

        **Guarantee:** untouched. A stopped supermartingale is a supermartingale, so the decision may depend on
        everything seen so far; with ``forfeit`` it may depend on anything.
        """
        stopped = self._stopping(models)
        frozen = {
            "log_e": np.nan_to_num(to_numpy(self.log_e()), nan=0.0),
            "bounds": np.nan_to_num(to_numpy(self.lower_bounds()), nan=-1.0),
        }
        if self._is_staggered or self._early is not None:
            lower = self.log_groups()
            frozen |= {"lower": to_numpy(lower), "upper": to_numpy(self.log_groups("upper"))}
            frozen |= {"own": to_numpy(self.own_groups(lower))} if self._fitting is not None else {}
            for place, group in enumerate(self.groups):
                if self._fitting is not None and group.after > self.replicates:  # in cash for ever
                    share = math.log(group.weight / self.groups[0].weight)
                    frozen["lower"][place] = frozen["upper"][place] = frozen["lower"][0] + share
        if forfeit:
            touched = stopped[:, None] | stopped
            frozen |= {name: np.where(touched, FORFEITED, frozen[name]) for name in frozen.keys() - {"bounds"}}
        self._frozen = frozen
        self._totals, self._highs = self._all_totals()
        rows = np.flatnonzero(~stopped[self._active])
        self._mixture.keep(rows)
        if self._own is not None:
            self._own.keep(rows, is_split=self.is_split)
        if self._early is not None:
            self._early.keep(rows)
        of_sides = np.concatenate([rows, rows + self._active.size]) if self.is_split else rows
        self._predictor.keep(of_sides)
        if self._fitting is not None:
            self._fitting.keep(of_sides)
        self._active = self._active[rows]

    def to_bytes(self) -> bytes:
        """The whole state, to be resumed by :meth:`from_bytes` with the same design."""
        arrays: dict[str, np.ndarray] = {
            **identity(self.design),
            "count": np.array([self.replicates]),
            "active": self._active,
            "totals": self._all_totals()[0],
            "runs": self._runs,
        }
        arrays |= {"highs": self._all_totals()[1]} if self.is_split else {}
        arrays |= {f"frozen_{name}": array for name, array in self._frozen.items()}
        arrays |= {f"entry_{place}": to_numpy(array) for place, array in self._entries.items()}
        if self._fitting is not None:
            arrays |= {f"fitting.{name}": array for name, array in self._fitting.state().items()}
        arrays |= {f"prediction.{name}": array for name, array in self._predictor.state().items()}
        arrays |= self._mixture.state()
        for prefix, each in (("own.", self._own), ("early.", self._early)):
            arrays |= {} if each is None else {f"{prefix}{name}": array for name, array in each.state().items()}
        return archive_bytes(arrays)

    @classmethod
    def from_bytes(cls, design: Design, state: bytes, *, device: str | None = None) -> Evidence:
        """Resume from a saved state. A state of another design, or a damaged one, is refused."""
        arrays = load_arrays(state)
        check_identity(design, arrays)
        evidence = cls(design, device=device)
        try:
            evidence.replicates = int(arrays["count"][0])
            evidence._active = arrays["active"]
            evidence._totals, evidence._runs = arrays["totals"], arrays["runs"]
            evidence._highs, evidence.is_split = arrays.get("highs", arrays["totals"]), "highs" in arrays
            pairs, totals = Directions.all(evidence._active.size), evidence._totals[evidence._active]
            if evidence.is_split:
                pairs = Directions.of_sides(evidence._active.size)
                totals = np.concatenate([totals, evidence._highs[evidence._active]])
            evidence._mixture = Mixture(design, evidence.space, pairs)
            evidence._frozen = with_prefix(arrays, "frozen_")
            entries = {int(place): array for place, array in with_prefix(arrays, "entry_").items()}
            due = {place for place, group in enumerate(evidence.groups) if 0 < group.after <= evidence.replicates}
            if entries.keys() != due:
                raise ValueError("not the evidence at the entries that have passed")
            if evidence._fitting is not None:
                evidence._fitting.restore(with_prefix(arrays, "fitting."))
                if len(evidence._fitting.chosen) != len(due):
                    raise ValueError("not the stakes that have entered")
                for stakes in evidence._fitting.chosen:
                    evidence._mixture.enter(stakes, lambda feed: None)
            evidence._entries = {place: evidence.space.asarray(array) for place, array in entries.items()}
            evidence._predictor.restore(with_prefix(arrays, "prediction."))
            evidence._mixture.restore(arrays, totals=totals, count=evidence.replicates)
            if evidence._own is not None:
                evidence._own.restore(
                    with_prefix(arrays, "own."),
                    active=evidence._active,
                    totals=totals,
                    count=evidence.replicates,
                    is_split=evidence.is_split,
                )
            if evidence._early is not None:
                evidence._early.restore(with_prefix(arrays, "early."))
            evidence._decided = evidence._decided or evidence.run > 0
        except DAMAGE as error:
            raise DataError(DAMAGED) from error
        return evidence
