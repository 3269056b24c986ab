r"""Evidence at a checkpoint of the first run: what the first n blocks of a random order say.

At a checkpoint with ``n`` of ``M`` blocks complete, the evidence of a direction is

.. math:: E_n = \sum_g \rho_g \prod_{j \le n} (1 + u_j (Y_j - \mu_0)), \qquad u_j = \lambda_g w_j / w^*,

without any prediction. Given the order, the factors are independent with means :math:`x_m \ge 0`. On average over the
orders their product is at most the n-th power of the mean of all ``M`` of them (Maclaurin's inequality), which is at
most 1 under the null. Stakes must not depend on the order, so they are made for the number of blocks and not for the
blocks that were drawn. ``docs/guarantees.md`` has the proof, and what it means for looks, stops and margins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bbedge.core.arrays import UNIT, Array, Rows, Space, State, to_numpy
from bbedge.core.bounds import AtDifference, log_e_above, lower_bounds
from bbedge.core.checkpoints import Checkpoint, FirstRunPlan, first_run_plan
from bbedge.core.design import BETTING_LIMIT, Design
from bbedge.core.mixture import Bets, unpredicted
from bbedge.core.panels import BlockLayout, model_means
from bbedge.core.penalties import Bound, Directions, error_sign
from bbedge.core.stakes import EntryGroup, Stakes, entry_groups
from bbedge.records.values import EvidenceKind

NOTHING = -1e300
"""The logarithm of what a direction has that was stopped inside the run, and was never bet on in a complete one."""

FORFEITED = -600.0
"""The logarithm of next to nothing, which is far less than what rounding takes from the evidence of others."""

_LOST = 32  # roundings, at most, of a sum of two exponentials and of the logarithms of their weights


def checkpoint_stakes(design: Design, checkpoint: Checkpoint) -> Stakes:
    """Twelve stakes for the single look at a checkpoint.

    They know how many blocks are complete and not which: a stake that depended on the blocks that were drawn would
    break the average over orders.
    """
    return design.rule_stakes(replicates=1, level=checkpoint.weight, blocks=checkpoint.fraction)


def checkpoint_kind(design: Design) -> EvidenceKind:
    """Exact bets, or the sharp lower bound of them: Hoeffding's factor is not below a bet, and is not valid here."""
    if design.evidence in ("betting", "sharp"):
        return design.evidence
    blocks = sum(each.blocks for each in plan_of(design).checkpoints)
    return "betting" if design.n_directions * blocks * 12 <= BETTING_LIMIT else "sharp"


def checkpoint_layout(design: Design, whole: BlockLayout, places: Sequence[int]) -> BlockLayout | None:
    """The blocks of some items, weighed as in the whole run; ``None`` if the view gives them no weight."""
    weights = None if design.weights is None else [design.weights[i] for i in places]
    if weights is not None and not any(weights):
        return None
    labels = [design.blocks[i] for i in places]
    layout = BlockLayout.of(labels, weights)
    relative_of = dict(zip(_labels(design.blocks, design.weights), whole.relative_weights, strict=True))
    relative = np.array([relative_of[label] for label in _labels(labels, weights)])
    return replace(layout, relative_weights=relative, weight_ratio=math.fsum(relative))


def _labels(blocks: Sequence[str], weights: Sequence[float] | None) -> list[str]:
    """The labels of the blocks of a layout, in its order."""
    pairs = zip(blocks, [1.0] * len(blocks) if weights is None else weights, strict=True)
    return list(dict.fromkeys(label for label, weight in pairs if weight > 0.0))


def plan_of(design: Design) -> FirstRunPlan:
    """How the first run of a design with checkpoints is divided."""
    plan = first_run_plan(design)
    if plan is None:
        raise ValueError("this design has no checkpoints")
    return plan


def early_groups(design: Design, plan: FirstRunPlan) -> tuple[EntryGroup, ...]:
    """The stakes by when they enter e-Holm, with what checkpoints weigh in the group that enters at the start."""
    groups = design.entry_groups
    early = math.fsum(each.weight for each in plan.checkpoints)
    return tuple(
        replace(group, weight=group.weight * plan.complete + (0.0 if group.after else early)) for group in groups
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointBets:
    """What is read at a checkpoint of a view."""

    checkpoint: Checkpoint
    bets: Bets | None
    """``None`` if no block before the checkpoint has a weight in the view: the evidence of nothing is 1."""

    @classmethod
    def of(cls, design: Design, whole: BlockLayout, plan: FirstRunPlan, number: int) -> CheckpointBets:
        """A checkpoint of a view with this layout, by its number."""
        checkpoint = plan.checkpoints[number - 1]
        layout = checkpoint_layout(design, whole, plan.places(number).tolist())
        if layout is None:
            return cls(checkpoint=checkpoint, bets=None)
        stakes = checkpoint_stakes(design, checkpoint)
        return cls(
            checkpoint=checkpoint,
            bets=Bets(
                layout=layout,
                stakes=stakes,
                kind=checkpoint_kind(design),
                groups=entry_groups(stakes, None),
                is_predicted=False,
            ),
        )

    def log_e(self, design: Design, space: Space, scores: Array, pairs: Directions) -> tuple[Array, Array | None]:
        """The logarithm of the evidence of the first blocks, rounded down, and the block means.

        Any number for a model against itself.
        """
        if self.bets is None:
            return space.zeros(*pairs.shape), None
        mixture, means = unpredicted(design, space, pairs, self.bets, scores)
        return mixture.log_e(), means


class EarlyEvidence:
    """``S``: the weighted sum of the evidence of the checkpoints that have passed, of every direction of a view.

    **Guarantee:** for a direction whose null is true, the mean of the last ``S`` of the run is at most the sum of the
    weights, over the random order and the scores; and ``S`` only grows. Rounding can lower it and never raise it.

    **Needs:** blocks that are run in the order of the plan, the same for all models.
    """

    def __init__(self, design: Design, space: Space, layout: BlockLayout, *, batch: tuple[int, ...] = ()) -> None:
        self._design = design
        self._layout = layout
        self._bets: dict[int, CheckpointBets] = {}
        self._space = space
        self._batch = batch
        self.plan: FirstRunPlan = plan_of(design)
        """How the first run is divided."""
        self.groups: tuple[EntryGroup, ...] = early_groups(design, self.plan)
        """The stakes by when they enter e-Holm; what the checkpoints weigh is in the first group."""
        self.passed = 0
        """How many checkpoints have passed."""
        self.means: np.ndarray = np.full((*batch, len(design.models)), np.nan)
        """Mean of every model's scores up to its last checkpoint, without those missing; NaN where there are none."""
        self._log_s: Array | None = None
        self._block_means: Array | None = None  # in the run order, those with a weight; margins are read off them
        self._pairs = Directions.all(len(design.models), batch)
        self._bounds: Array | None = None
        self._bounded = 0  # checkpoints whose margins are in the bounds: a search that waits until it is asked for

    def add(self, scores: Array, active: Rows) -> None:
        """Pass the next checkpoint: the scores of all items before it, in the run order, of the active models.

        Every model has one row, or two: with missing scores as 0, and then with missing scores as 1.
        """
        at = self._bets_at(self.passed + 1)
        is_split = scores.shape[-2] > active.size
        self._pairs = (Directions.of_sides if is_split else Directions.all)(active.size, self._batch)
        log_e, self._block_means = at.log_e(self._design, self._space, scores, self._pairs)
        value = log_e + math.log(at.checkpoint.weight)
        self._log_s = self._rounded(value if self._log_s is None else self._space.xp.logaddexp(self._log_s, value))
        self._note_means(at, scores, active)
        self.passed += 1

    def _bets_at(self, number: int) -> CheckpointBets:
        if number not in self._bets:
            self._bets[number] = CheckpointBets.of(self._design, self._layout, self.plan, number)
        return self._bets[number]

    def _note_means(self, at: CheckpointBets, scores: Array, active: Rows) -> None:
        if at.bets is None:
            return
        of_rows = to_numpy(model_means(scores, self._space, at.bets.layout.overall))
        low, high = of_rows[..., : active.size], of_rows[..., -active.size :]
        missing = high - low
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(missing > 1.0 - 1e-9, np.nan, np.clip(low / (1.0 - missing), 0.0, 1.0))
        self.means[..., active] = means

    def _rounded(self, value: Array) -> Array:
        return value - _LOST * UNIT * (1.0 + self._space.xp.abs(value))

    @property
    def log_s(self) -> Array:
        """The logarithm of ``S`` between active models, rounded down; at least one checkpoint must have passed."""
        if self._log_s is None:
            raise ValueError("no checkpoint has passed")
        return self._log_s

    def lower_bounds(self) -> Array:
        """The best lower bounds of the differences that the checkpoints give; at least one must have passed.

        Each checkpoint spends a part of the level of the margins that is as large as its weight.
        """
        design, space = self._design, self._space
        needed = design.n_directions / (design.share * design.margin_alpha)
        found = space.zeros(*self.log_s.shape) - 1.0 if self._bounds is None else self._bounds
        for checkpoint, log_e in self._above(self._bounded):
            target = math.log(needed / checkpoint.weight) * (1.0 + 8 * UNIT)
            found = space.xp.maximum(found, lower_bounds(log_e, found, target, space))
        self._bounds, self._bounded = found, self.passed
        return found

    def best_bounds(self, complete: Array) -> Array:
        """The better of these bounds and those of complete runs at what their weight leaves of the level."""
        return self._space.xp.maximum(complete, self.lower_bounds()) if self.passed else complete

    def log_e_above(self, difference: float, complete: Array | None) -> Array:
        """The logarithm of the evidence that differences exceed this one, or of a lower bound of it.

        With that of complete runs, unless the first one is not complete.
        """
        xp, at = self._space.xp, self._space.zeros(*self.log_s.shape) + difference
        evidence_at = dict(self._above(0))
        total = xp.full_like(at, -xp.inf)
        for checkpoint in self.plan.checkpoints[: self.passed]:
            value = evidence_at[checkpoint](at) if checkpoint in evidence_at else at * 0.0
            total = self._rounded(xp.logaddexp(total, value + math.log(checkpoint.weight)))
        if complete is None:
            return total
        return self._rounded(xp.logaddexp(total, complete + math.log(self.plan.complete)))

    def _above(self, since: int) -> Iterator[tuple[Checkpoint, AtDifference]]:
        """The evidence above other differences, of the checkpoints after so many that have any."""
        for checkpoint in self.plan.checkpoints[since : self.passed]:
            bets = self._bets_at(checkpoint.number).bets
            if bets is not None and self._block_means is not None:
                # The blocks of a checkpoint are the first of those of a later one.
                means = self._block_means[..., : bets.layout.count]
                yield checkpoint, log_e_above(bets, self._space, means, self._pairs)

    def joined(self, log_groups: Array, bound: Bound, *, is_complete: bool) -> Array:
        """What each group of stakes adds to the evidence: those of complete runs with their weight, and ``S``.

        Until the run is complete, complete runs add nothing: their evidence may fall below 1 at its end. ``S`` is
        in the group that enters at the start, whose upper bound is never needed and not returned.
        """
        xp = self._space.xp
        weighted = log_groups + math.log(self.plan.complete)
        weighted = weighted - error_sign(bound) * _LOST * UNIT * (1.0 + xp.abs(weighted))
        if is_complete:
            first = self._rounded(xp.logaddexp(self.log_s, weighted[0, ...]))
        elif self.passed:
            first = self.log_s
            weighted = xp.full_like(weighted, NOTHING)
        else:
            first = self._space.zeros(*weighted.shape[1:]) + math.log(self.groups[0].weight)
        return xp.concat([first[None, ...], weighted[1:, ...]])

    def keep(self, rows: Rows) -> None:
        """Forget all models but these."""
        if self._log_s is not None:
            bounds = self.lower_bounds()
            self._log_s = self._space.take_pairs(self._log_s, rows, rows)
            self._bounds = self._space.take_pairs(bounds, rows, rows)
        self._pairs, of_models = self._pairs.kept(rows)
        if self._block_means is not None:
            self._block_means = self._space.take(self._block_means, of_models, axis=-2)

    def state(self) -> State:
        """Everything accumulated, as arrays."""
        state = {"passed": np.array([self.passed]), "means": self.means}
        if self._log_s is not None:
            state |= {"log_s": to_numpy(self._log_s), "bounds": to_numpy(self.lower_bounds())}
        if self._block_means is not None:
            state["block_means"] = to_numpy(self._block_means)
        return state

    def restore(self, state: State) -> None:
        """Take over what :meth:`state` returned."""
        self.passed, self.means = int(state["passed"][0]), state["means"]
        if not 0 <= self.passed <= len(self.plan.checkpoints):
            raise ValueError("not the evidence of the checkpoints that have passed")
        if not self.passed:
            return
        self._log_s, self._bounds = self._space.asarray(state["log_s"]), self._space.asarray(state["bounds"])
        self._bounded = self.passed
        n_models = self._log_s.shape[-1]
        self._pairs = Directions.all(n_models)
        if "block_means" in state:
            self._block_means = self._space.asarray(state["block_means"])
            if self._block_means.shape[-2] > n_models:
                self._pairs = Directions.of_sides(n_models)
