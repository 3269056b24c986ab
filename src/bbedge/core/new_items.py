r"""Evidence about new items: whether a difference would hold for other items of the same kind.

The items are independent draws of blocks. After the first r runs a block has the mean of its outcomes,
:math:`\bar Y_m`, and the evidence of a direction is

.. math:: E_r = \sum_g \rho_g \prod_m \bigl(1 + u_m (\bar Y_m - \mu_0)\bigr), \qquad u_m = \lambda_g w_m / w^*,

whose mean is at most 1 under the null about the draw and the run together: the blocks are independent, and stakes are
proportional to weights. More runs of the same items are no martingale, because what the next run shows depends on the
item. So the design fixes after which runs :math:`r_1 < r_2 < \dots` it looks, and what part :math:`v_j` of the evidence
each look has. The evidence after a look is :math:`S = \sum_j v_j E_{r_j}` over the looks so far, which only grows and
has a mean of at most 1. ``docs/guarantees.md`` has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import (
    DAMAGE,
    DAMAGED,
    UNIT,
    Array,
    Rows,
    Space,
    State,
    archive_bytes,
    load_arrays,
    numpy_space,
    to_numpy,
    with_prefix,
)
from bbedge.core.checkpoint_evidence import FORFEITED, NOTHING
from bbedge.core.design import BETTING_LIMIT, Design
from bbedge.core.mixture import Bets, Mixture, joint_lower_bounds, unpredicted
from bbedge.core.panels import BlockLayout, model_means
from bbedge.core.penalties import Directions
from bbedge.core.stakes import entry_groups
from bbedge.core.view_evidence import ViewEvidence, check_identity, identity
from bbedge.errors import DataError
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


class NewItemsEvidence(ViewEvidence):
    """``S``, the evidence of every direction of a view about new items, and the margins that follow from it.

    **Guarantee:** where the null of a direction is true, the mean of the last ``S`` is at most 1, and ``S`` only grows:
    ``exp(log_e)`` may be read at every look. Rounding can lower it and never raise it.

    **Needs:** blocks that are independent draws of the kind of items that the claim is about; nothing that passes
    between blocks, in one run or across runs; runs with the same expectations; and models and items that were not
    chosen by scores on these items. Several runs that make one score must be independent given the item.

    >>> design = Design.make(["a", "b"], [f"q{i}" for i in range(9)], target="new-items", planned=1)
    >>> evidence = NewItemsEvidence(design, RunOutcomes(design))
    >>> evidence.outcomes.add(np.array([[1.0] * 9, [0.0] * 9]), evidence.space)
    >>> evidence.take_look(1.0, evidence.outcomes.values())
    >>> bool(evidence.log_e()[0, 1] > 0 > evidence.log_e()[1, 0])
    True
    """

    def __init__(
        self, design: Design, outcomes: RunOutcomes, *, device: str | None = None, batch: tuple[int, ...] = ()
    ) -> None:
        self.outcomes: RunOutcomes = outcomes
        """The outcomes of the runs so far, which all views have in common."""
        self._looks: list[RunLook] = []
        self._log_s: Array | None = None
        self._bounds: Array | None = None  # of all looks so far; None until somebody asks
        super().__init__(design, device=device, batch=batch)
        self._means = np.full((*batch, len(design.models)), np.nan)  # of stopped models

    @property
    def kind(self) -> EvidenceKind:
        """Exact bets, or the sharp lower bound of them where they would cost too much."""
        if self.design.evidence == "sharp":
            return "sharp"
        triples = self.design.n_directions * self.layout.count * 12 * len(self.design.schedule)
        return "betting" if triples <= BETTING_LIMIT else "sharp"

    def take_look(self, weight: float, values: Array) -> None:
        """Look at the outcomes of the runs so far, which are given; the look has this part of the evidence."""
        space, design = self.space, self.design
        bets = self._bets(weight)
        mixture, _ = unpredicted(design, space, self._pairs, bets, values)
        largest = max(bets.stakes.values) / _LEAST_FACTOR
        slack = largest * self.layout.count * (self.outcomes.runs + 4) * UNIT
        log_weight = math.log(weight)
        value = mixture.log_e() - slack + log_weight
        value = value if self._log_s is None else space.xp.logaddexp(self._log_s, value)
        # Where evidence and weight cancel, the sum is small and what it lost is not.
        self._log_s = value - _LOST * UNIT * (1.0 - log_weight + space.xp.abs(value))
        self._looks.append(RunLook(weight=weight, mixture=mixture, slack=slack))
        self._bounds = None

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
    def _pairs(self) -> Directions:
        count = self._active.size
        return (Directions.of_sides if self.is_split else Directions.all)(count, self._batch)

    @property
    def checkpoint(self) -> int:
        """See :attr:`ViewEvidence.checkpoint`: there are no looks inside a run."""
        return 0

    def split(self) -> None:
        """See :meth:`ViewEvidence.split`."""
        self.is_split = True

    @property
    def means(self) -> NDArray[np.float64]:
        """See :attr:`ViewEvidence.means`; of scores that k runs make, the mean over all choices of k."""
        found = self._means.copy()
        if self.outcomes.runs < self.design.runs_of_score or not self._active.size:
            return found
        of_rows = to_numpy(self.outcomes.means(self.layout))
        low, high = of_rows[..., : self._active.size], of_rows[..., -self._active.size :]
        missing = high - low
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(missing > 1.0 - 1e-9, np.nan, np.clip(low / (1.0 - missing), 0.0, 1.0))
        found[..., self._active] = means
        return found

    def log_e(self) -> Array:
        """See :meth:`ViewEvidence.log_e`; the logarithm of ``S``, which is 0 before the first look."""
        nothing = self.space.zeros(*self._batch, self._active.size, self._active.size) + NOTHING
        return self.tested_only(self._with_frozen("log_e", nothing if self._log_s is None else self._log_s))

    def lower_bounds(self) -> Array:
        """See :meth:`ViewEvidence.lower_bounds`; all looks together bound a difference."""
        if self._bounds is None:
            if self._looks:
                log_weights = [math.log(each.weight) - each.slack for each in self._looks]
                mixtures = [each.mixture for each in self._looks]
                self._bounds = joint_lower_bounds(mixtures, log_weights, self._n_directions)
            else:
                self._bounds = self.space.zeros(*self._batch, self._active.size, self._active.size) - 1.0
        return self.tested_only(self._with_frozen("bounds", self._bounds))

    def mean_bounds(self) -> None:
        """None: intervals of means are about these items."""
        return

    def stop(self, models: Sequence[str], *, forfeit: bool = False) -> None:
        """See :meth:`ViewEvidence.stop`. The evidence only grows, so that a direction may stop at any time."""
        stopped = self._stopping(models)
        frozen = {
            "log_e": np.nan_to_num(to_numpy(self.log_e()), nan=0.0),
            "bounds": np.nan_to_num(to_numpy(self.lower_bounds()), nan=-1.0),
        }
        if forfeit:
            frozen["log_e"] = np.where(stopped[:, None] | stopped, FORFEITED, frozen["log_e"])
        self._means, self._frozen = self.means, frozen
        rows = np.flatnonzero(~stopped[self._active])
        if self._log_s is not None:
            self._log_s = self.space.take_pairs(self._log_s, rows, rows)
        if self._bounds is not None:
            self._bounds = self.space.take_pairs(self._bounds, rows, rows)
        for look in self._looks:
            look.mixture.keep(rows)
        self._active = self._active[rows]

    def to_bytes(self) -> bytes:
        """See :meth:`ViewEvidence.to_bytes`; without the outcomes, which all views have in common."""
        arrays: dict[str, np.ndarray] = {
            **identity(self.design),
            "count": np.array([self.replicates]),
            "active": self._active,
            "split": np.array([self.is_split]),
            "means": self._means,
            "looks": np.array([[each.weight, each.slack] for each in self._looks]).reshape(-1, 2),
        }
        arrays |= {f"frozen_{name}": array for name, array in self._frozen.items()}
        if self._log_s is not None:
            arrays["log_s"] = to_numpy(self._log_s)
        for place, each in enumerate(self._looks):
            arrays[f"look.{place}.totals"] = to_numpy(each.mixture.totals)
            arrays |= {f"look.{place}.{name}": array for name, array in each.mixture.state().items()}
        return archive_bytes(arrays)

    @classmethod
    def from_bytes(
        cls, design: Design, state: bytes, outcomes: RunOutcomes, *, device: str | None = None
    ) -> NewItemsEvidence:
        """Resume from a saved state. A state of another design, or a damaged one, is refused."""
        arrays = load_arrays(state)
        check_identity(design, arrays)
        evidence = cls(design, outcomes, device=device)
        try:
            evidence.replicates = int(arrays["count"][0])
            evidence._active, evidence._means = arrays["active"], arrays["means"]
            evidence.is_split = bool(arrays["split"][0])
            evidence._frozen = with_prefix(arrays, "frozen_")
            looks = arrays["looks"].tolist()
            due = [weight for run, weight in design.schedule.items() if run <= evidence.replicates]
            if [weight for weight, _ in looks] != due:
                raise ValueError("not the looks of this design")
            for place, (weight, slack) in enumerate(looks):
                its = with_prefix(arrays, f"look.{place}.")
                mixture = evidence._restored(its, weight)
                evidence._looks.append(RunLook(weight=weight, mixture=mixture, slack=slack))
            if looks:
                evidence._log_s = evidence.space.asarray(arrays["log_s"])
            evidence._decided = evidence._decided or evidence.replicates > 0
        except DAMAGE as error:
            raise DataError(DAMAGED) from error
        return evidence

    def _restored(self, state: State, weight: float) -> Mixture:
        """The mixture of a look from its saved arrays: it has two rows for a model if it was split then."""
        count = self._active.size
        pairs = (Directions.all if state["totals"].shape[-1] == count else Directions.of_sides)(count, self._batch)
        mixture = Mixture(self.design, self.space, pairs, self._bets(weight))
        mixture.restore(state, totals=state["totals"], count=1)
        return mixture
