r"""Evidence about new items: whether a difference would hold for other items of the same kind.

The items are independent draws of blocks. After the first r runs a block has the mean of its outcomes,
:math:`\bar Y_m`, and the evidence of a direction is

.. math:: E_r = \sum_g \rho_g \prod_m \bigl(1 + u_m (\bar Y_m - \mu_0)\bigr), \qquad u_m = \lambda_g w_m / w^*,

whose mean is at most 1 under the null about the draw and the run together: the blocks are independent, and stakes are
proportional to weights. More runs of the same items are no martingale, because what the next run shows depends on the
item. So the design fixes after which runs :math:`r_1 < r_2 < \dots` it looks, and what part :math:`v_j` of the evidence
each look has. The evidence after a look is :math:`S = \sum_j v_j E_{r_j}` over the looks so far, which only grows and
has a mean of at most 1. Items that are added later are another batch, and what counts is the product over batches:
see :mod:`bbedge.core.item_batch`. ``docs/guarantees.md`` has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import DAMAGE, DAMAGED, UNIT, Array, State, archive_bytes, load_arrays, to_numpy, with_prefix
from bbedge.core.checkpoint_evidence import FORFEITED, NOTHING
from bbedge.core.design import Design
from bbedge.core.item_batch import ItemBatch, RunOutcomes
from bbedge.core.margins import joint_lower_bounds, product_lower_bounds
from bbedge.core.penalties import Directions
from bbedge.core.view_evidence import ViewEvidence, check_identity, identity
from bbedge.errors import DataError
from bbedge.records.values import EvidenceKind


class NewItemsEvidence(ViewEvidence):
    """The evidence of every direction of a view about new items, and the margins that follow from it.

    It is ``S`` of the items, or the product of those of all batches of items that were begun. ``batches`` are these;
    without them all items are one batch.

    **Guarantee:** where the null of a direction is true, the evidence of no look ever exceeds a nonnegative
    supermartingale over batches that starts at most at 1. Within a batch it only grows. Rounding can lower it and never
    raise it.

    **Needs:** blocks that are independent draws of the kind of items that the claim is about; nothing that passes
    between blocks, in one run or across runs; runs with the same expectations; and models and items that were not
    chosen by scores on these items. Several runs that make one score must be independent given the item. How many items
    are added, and when, may depend on everything before; they are fresh draws with the same weight for each kind.

    >>> design = Design.make(["a", "b"], [f"q{i}" for i in range(9)], target="new-items", planned=1)
    >>> evidence = NewItemsEvidence(design, RunOutcomes(design))
    >>> evidence.outcomes.add(np.array([[1.0] * 9, [0.0] * 9]), evidence.space)
    >>> evidence.take_look(1.0, evidence.outcomes.values())
    >>> bool(evidence.log_e()[0, 1] > 0 > evidence.log_e()[1, 0])
    True
    """

    def __init__(
        self,
        design: Design,
        outcomes: RunOutcomes,
        *,
        device: str | None = None,
        batch: tuple[int, ...] = (),
        batches: Sequence[ItemBatch] = (),
    ) -> None:
        self.outcomes: RunOutcomes = outcomes
        """The outcomes of the runs since items were last added, which all views have in common."""
        self.batches: list[ItemBatch] = list(batches) or [ItemBatch(design, outcomes)]
        """The evidence of each batch of items, in the order in which they were added."""
        self._bounds: Array | None = None  # of all looks so far; None until they are read
        self._kept_bounds: NDArray[np.float64] | None = None  # the largest of any look before items were last added
        super().__init__(design, device=device, batch=batch)
        self._means = np.full((*batch, len(design.models)), np.nan)  # of stopped models

    @property
    def kind(self) -> EvidenceKind:
        """Exact bets, or the sharp lower bound of them where they would cost too much."""
        return self.batches[-1].kind

    def take_look(self, weight: float, values: Array, place: int = 0) -> None:
        """Look at the outcomes of the runs of a batch, which are given; the look has this part of its evidence."""
        self.batches[place].take_look(self.space, self._pairs, weight, values)
        self._bounds = None

    def count_run(self, runs: int) -> None:
        """Count a run, after which there were so many."""
        self.replicates = runs
        if len(self.batches) > 1:  # the first run of a batch without a look takes it all
            self._bounds = None

    @property
    def _pairs(self) -> Directions:
        count = self._active.size
        return (Directions.of_sides if self.is_split else Directions.all)(count, self._batch)

    @property
    def _begun(self) -> list[ItemBatch]:
        return [each for each in self.batches if each.outcomes.runs]

    @property
    def checkpoint(self) -> int:
        """See :attr:`ViewEvidence.checkpoint`: there are no looks inside a run."""
        return 0

    def split(self) -> None:
        """See :meth:`ViewEvidence.split`."""
        self.is_split = True

    @property
    def means(self) -> NDArray[np.float64]:
        """See :attr:`ViewEvidence.means`; of scores that k runs make, the mean over all choices of k.

        Where items were added, these are the means over all items since then.
        """
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
        """See :meth:`ViewEvidence.log_e`; a batch that has come to no look, and was begun, has no evidence."""
        value = self.space.zeros(*self._batch, self._active.size, self._active.size) + NOTHING
        logs = [each.log_s for each in self._begun if each.log_s is not None]
        if logs and len(logs) == len(self._begun):
            value, *others = logs
            for each in others:
                value = value + each
                value = value - 2 * UNIT * self.space.xp.abs(value)
        return self.tested_only(self._with_frozen("log_e", value))

    def lower_bounds(self) -> Array:
        """See :meth:`ViewEvidence.lower_bounds`; the largest that any look has shown."""
        if self._bounds is None:
            begun, shape = [each.weighed for each in self._begun], (*self._batch, self._active.size, self._active.size)
            if not begun or not all(begun):
                self._bounds = self.space.zeros(*shape) - 1.0
            elif len(begun) == 1:
                self._bounds = joint_lower_bounds(begun[0], self._n_directions)
            else:
                target = math.log(self._n_directions / self.design.margin_alpha)
                self._bounds = product_lower_bounds(self.space, shape, begun, target, null=self.design.tau)
        found = self._with_frozen("bounds", self._bounds)
        if self._kept_bounds is not None:
            found = self.space.xp.maximum(found, self.space.asarray(self._kept_bounds))
        return self.tested_only(found)

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
        for each in self.batches:
            each.keep(self.space, rows)
        if self._bounds is not None:
            self._bounds = self.space.take_pairs(self._bounds, rows, rows)
        self._active = self._active[rows]

    def carry_on(self, before: NewItemsEvidence) -> None:
        """Go on from the evidence of a benchmark that this one has grown from; that stays as it is."""
        self.place(before.space)
        self._restore(before._state())
        self._kept_bounds = np.nan_to_num(to_numpy(before.lower_bounds()), nan=-1.0)
        self._means = np.full((*self._batch, len(self.design.models)), np.nan)

    def to_bytes(self) -> bytes:
        """See :meth:`ViewEvidence.to_bytes`; without the outcomes, which all views have in common."""
        return archive_bytes({**identity(self.design), **self._state()})

    def _state(self) -> State:
        arrays: State = {
            "count": np.array([self.replicates]),
            "active": self._active,
            "split": np.array([self.is_split]),
            "means": self._means,
        }
        for place, each in enumerate(self.batches):
            arrays |= {f"{_of_batch(place)}{name}": array for name, array in each.state().items()}
        arrays |= {f"frozen_{name}": array for name, array in self._frozen.items()}
        if self._kept_bounds is not None:
            arrays["kept_bounds"] = self._kept_bounds
        return arrays

    def _restore(self, arrays: State) -> None:
        self.replicates = int(arrays["count"][0])
        self._active, self._means = arrays["active"], arrays["means"]
        self.is_split = bool(arrays["split"][0])
        self._frozen = with_prefix(arrays, "frozen_")
        self._kept_bounds = arrays.get("kept_bounds")
        for place, each in enumerate(self.batches):
            its = with_prefix(arrays, _of_batch(place))
            if "looks" in its:  # not of items that are new since the state was saved
                each.restore(its, self.space, self._active.size, self._batch)

    @classmethod
    def from_bytes(
        cls, design: Design, state: bytes, outcomes: RunOutcomes, *, batches: Sequence[ItemBatch] = ()
    ) -> NewItemsEvidence:
        """Resume from a saved state, with the same runs. A state of another design, or a damaged one, is refused."""
        arrays = load_arrays(state)
        check_identity(design, arrays)
        evidence = cls(design, outcomes, batches=batches)
        try:
            evidence._restore(arrays)
            for each in evidence.batches:
                each.check_looks()
            evidence._decided = evidence._decided or evidence.replicates > 0
        except DAMAGE as error:
            raise DataError(DAMAGED) from error
        return evidence


def _of_batch(place: int) -> str:
    """What the names of the saved arrays of a batch begin with; those of the first are plain."""
    return f"batch.{place}." if place else ""
