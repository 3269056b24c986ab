r"""What the runs of items that were drawn together say of new ones: ``S``, the evidence of one batch.

A benchmark that grows has several batches of items, each with its own runs, stakes and schedule. A batch counts 1 until
its first run begins and its ``S`` from then on, and the evidence of a direction is the product over the batches. Given
all that is ever run on earlier batches, the items of the next one are fresh draws, so that the mean of its ``S`` is at
most 1: the products are a supermartingale from batch to batch, however many items were added and why. What counts at a
look is at most the product of the whole ``S``, since each of them only grows. ``docs/guarantees.md`` has the proof.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass

import numpy as np

from bbedge.core.arrays import UNIT, Array, Rows, Space, State, numpy_space, to_numpy, with_prefix
from bbedge.core.design import BETTING_LIMIT, Design
from bbedge.core.mixture import Bets, Mixture, unpredicted
from bbedge.core.panels import BlockLayout, model_means
from bbedge.core.penalties import Directions
from bbedge.core.stakes import entry_groups
from bbedge.records.values import EvidenceKind

_LOST = 32  # roundings, at most, of a sum of two exponentials and of the logarithms of their weights
_LEAST_FACTOR = 0.05  # of a bet, which the cap of the stakes leaves


def joined_runs(panels: Array, of_runs: str, xp: object) -> Array:
    """One panel of scores from k panels, stacked along the first axis: their smallest (all), or largest (any)."""
    return getattr(xp, "min" if of_runs.startswith("all") else "max")(panels, axis=0)


class RunOutcomes:
    """What the runs so far say of each model on each item: the mean score, or that of k runs as one.

    Of k runs it is the mean over all choices of k of the runs, of the smallest or largest score of each choice:
    a number in [0, 1] whose expectation is that of k fresh runs.

    >>> outcomes = RunOutcomes(Design.make(["a", "b"], ["q"], target="new-items", of_runs="all:2"))
    >>> for score in (1.0, 1.0, 0.0):
    ...     outcomes.add(np.array([[score], [1.0]]), numpy_space())
    >>> outcomes.values()
    array([[0.33333333],
           [1.        ]])
    """

    def __init__(self, design: Design) -> None:
        self._of_runs = design.of_runs or ""
        self._k = design.runs_of_score
        self._kept: list[Array] = []  # the sum of all runs; each run by itself, where several make one score
        self._space: Space | None = None
        self.runs = 0
        """How many runs there are."""

    def add(self, scores: Array, space: Space) -> None:
        """Add a run: a row for each active model, or two where scores are missing."""
        self._space = space
        if self._of_runs or not self._kept:
            self._kept.append(scores + 0.0)
        else:
            self._kept[0] += scores
        self.runs += 1

    def values(self) -> Array:
        """The outcome of every model on every item; as many runs as make one score must have been added."""
        if self._space is None or self.runs < self._k:
            raise ValueError(f"{self.runs} runs make no score of {self._k}")
        if not self._of_runs:
            return self._kept[0] / self.runs if self.runs > 1 else self._kept[0]
        xp, r, k = self._space.xp, self.runs, self._k
        ordered = xp.sort(xp.stack(self._kept), axis=0)
        places = range(r) if self._of_runs.startswith("all") else range(r - 1, -1, -1)
        # How many choices have the i-th of the ordered scores as their first.
        parts = [math.comb(r - i, k - 1) / math.comb(r, k) for i in range(1, r - k + 2)]
        total = ordered[places[0], ...] * parts[0]
        for place, part in zip(places[1:], parts[1:], strict=False):
            total = total + ordered[place, ...] * part
        return xp.clip(total, 0.0, 1.0)

    def means(self, layout: BlockLayout) -> Array:
        """The mean outcome of every model, by the weights of a layout."""
        if self._space is None or self._of_runs:
            return model_means(self.values(), self._space or numpy_space(), layout.overall)
        return model_means(self._kept[0], self._space, layout.overall) / self.runs

    @property
    def unit(self) -> int:
        """Outcomes of scores of 0 and 1 are whole multiples of one over this: one for each choice of k runs."""
        return math.comb(self.runs, self._k)

    def split(self) -> None:
        """Give every model two rows from now on."""
        if self._space is not None:
            self._kept = [self._space.xp.concat([each, each], axis=-2) for each in self._kept]

    def keep(self, rows: Rows) -> None:
        """Forget all rows but these."""
        if self._space is not None:
            self._kept = [self._space.take(each, rows, axis=-2) for each in self._kept]

    def copy(self) -> RunOutcomes:
        """The same, to which runs can be added without changing this one."""
        made = copy(self)
        made._kept = [each + 0.0 for each in self._kept]
        return made

    def state(self) -> State:
        """Everything accumulated, as arrays."""
        return {"runs": np.array([self.runs])} | {f"kept.{i}": to_numpy(each) for i, each in enumerate(self._kept)}

    def restore(self, state: State, space: Space) -> None:
        """Take over what :meth:`state` returned."""
        self.runs, self._space = int(state["runs"][0]), space
        self._kept = [space.asarray(state[f"kept.{i}"]) for i in range(len(state) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLook:
    """One look at the outcomes of so many runs."""

    weight: float
    """What part of the evidence it has."""
    mixture: Mixture
    """What its bets have come to."""
    slack: float
    """What the roundings of the outcomes may have added to the logarithm of its evidence."""


class ItemBatch:
    """``S`` of every direction of a view, from the runs of one batch of items: what each look has added to it.

    ``design`` is that of the view for these items alone, ``outcomes`` has their runs. Views share these.
    """

    def __init__(self, design: Design, outcomes: RunOutcomes) -> None:
        self.design: Design = design
        self.layout: BlockLayout = design.layout
        """The blocks and their weights."""
        self.outcomes: RunOutcomes = outcomes
        self.looks: list[RunLook] = []
        """The looks so far."""
        self.log_s: Array | None = None
        """The logarithm of ``S``, row against column; ``None`` before the first look, where ``S`` is 0."""

    @property
    def kind(self) -> EvidenceKind:
        """Exact bets, or the sharp lower bound of them where they would cost too much."""
        if self.design.evidence == "sharp":
            return "sharp"
        triples = self.design.n_directions * self.layout.count * 12 * len(self.design.schedule)
        return "betting" if triples <= BETTING_LIMIT else "sharp"

    def take_look(self, space: Space, pairs: Directions, weight: float, values: Array) -> None:
        """Look at the outcomes of the runs so far, which are given; the look has this part of the evidence."""
        bets = self._bets(weight)
        mixture, _ = unpredicted(self.design, space, pairs, bets, values)
        largest = max(bets.stakes.values) / _LEAST_FACTOR
        slack = largest * self.layout.count * (self.outcomes.runs + 4) * UNIT
        log_weight = math.log(weight)
        value = mixture.log_e() - slack + log_weight
        value = value if self.log_s is None else space.xp.logaddexp(self.log_s, value)
        # Where evidence and weight cancel, the sum is small and what it lost is not.
        self.log_s = value - _LOST * UNIT * (1.0 - log_weight + space.xp.abs(value))
        self.looks.append(RunLook(weight=weight, mixture=mixture, slack=slack))

    def _bets(self, weight: float) -> Bets:
        stakes, unit = self.design.rule_stakes(replicates=1, level=weight), self.outcomes.unit
        return Bets(
            layout=self.layout,
            stakes=stakes,
            kind=self.kind,
            groups=entry_groups(stakes, None),
            is_predicted=False,
            unit=unit if self.layout.largest == 1 else 0,
        )

    @property
    def weighed(self) -> list[tuple[Mixture, float]]:
        """What the bets of each look have come to, and the logarithm of its weight, lowered by what rounding did."""
        return [(each.mixture, math.log(each.weight) - each.slack) for each in self.looks]

    def keep(self, space: Space, rows: Rows) -> None:
        """Forget all active models but these."""
        if self.log_s is not None:
            self.log_s = space.take_pairs(self.log_s, rows, rows)
        for look in self.looks:
            look.mixture.keep(rows)

    def state(self) -> State:
        """Everything but the outcomes, as arrays."""
        arrays: State = {"looks": np.array([[each.weight, each.slack] for each in self.looks]).reshape(-1, 2)}
        if self.log_s is not None:
            arrays["log_s"] = to_numpy(self.log_s)
        for place, each in enumerate(self.looks):
            arrays[f"look.{place}.totals"] = to_numpy(each.mixture.totals)
            arrays |= {f"look.{place}.{name}": array for name, array in each.mixture.state().items()}
        return arrays

    def restore(self, state: State, space: Space, count: int, batch: tuple[int, ...] = ()) -> None:
        """Take over what :meth:`state` returned, of so many active models, in repetitions that run together."""
        for place, (weight, slack) in enumerate(state["looks"].tolist()):
            its = with_prefix(state, f"look.{place}.")
            # It has two rows for a model if it was split then.
            pairs = (Directions.all if its["totals"].shape[-1] == count else Directions.of_sides)(count, batch)
            mixture = Mixture(self.design, space, pairs, self._bets(weight))
            mixture.restore(its, totals=its["totals"], count=1)
            self.looks.append(RunLook(weight=weight, mixture=mixture, slack=slack))
        if self.looks:
            self.log_s = space.asarray(state["log_s"])

    def check_looks(self) -> None:
        """Refuse looks that are not those of the schedule after its runs."""
        due = [weight for run, weight in self.design.schedule.items() if run <= self.outcomes.runs]
        if [each.weight for each in self.looks] != due:
            raise ValueError("not the looks of this design")
