"""Checkpoints: the looks inside the first run that a design plans, what each weighs, and the order of the blocks.

Looks inside a run are valid because the blocks before a checkpoint are a random subset of all blocks. The order is
drawn from a seed and is never that of a file: it is a function of the seed and of the benchmark, and of nothing else.
Each block has a key, the SHA-256 of the seed, of all blocks and of the block itself, and the blocks are run in the
order of their keys. The key names a block by its items, as the hash of a design does, so that neither the order of rows
in a file nor the spelling of a label matters. A benchmark with one more item has an unrelated order. SHA-256 is the
same on every platform and with every version of Python and NumPy.

Looks inside a run also need that the scores of a block do not depend on its place in that order, as those of a server
do that degrades while it is used. If they do not, every order of the blocks is equally probable, given their scores: a
permutation test of the correlation of outcome and place is exact, whatever the blocks and models are like.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bbedge.errors import Argument, DesignError
from bbedge.records.design import Checkpoints as Checkpoints
from bbedge.records.notes import Note
from bbedge.records.values import grouped
from bbedge.text import counted, quoted

if TYPE_CHECKING:
    from bbedge.core.design import Design

_ALGORITHM = "sha256-1"  # what records call this order


def run_order(items: Sequence[str], blocks: Sequence[str], seed: int) -> tuple[tuple[int, ...], ...]:
    """The blocks in the order in which they are run, each as the places of its items.

    >>> run_order(["q1", "q2", "q3"], ["x", "x", "y"], seed=1)
    ((2,), (0, 1))
    >>> run_order(["q3", "q2", "q1"], ["b", "a", "a"], seed=1)
    ((0,), (1, 2))
    """
    members = grouped((block, place) for place, block in enumerate(blocks)).values()
    named = {json.dumps(sorted(items[i] for i in places)): tuple(places) for places in members}
    benchmark = _digest(*sorted(named))
    keys = {_digest(_ALGORITHM, str(seed), benchmark, name): places for name, places in named.items()}
    return tuple(keys[key] for key in sorted(keys))


@lru_cache(maxsize=16)  # every view of a design and every look asks for the same order
def item_order(items: tuple[str, ...], blocks: tuple[str, ...], seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The places of all items in the order in which they are run, and how many items the first n blocks have."""
    order = run_order(items, blocks, seed)
    places = np.array([place for block in order for place in block], dtype=np.intp)
    counts = np.cumsum([0, *(len(block) for block in order)]).astype(np.intp)
    places.flags.writeable = counts.flags.writeable = False
    return places, counts


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()


LEAST_BLOCKS = 200
"""Evaluations look inside the first run from so many blocks on; fewer decide little before the run is complete."""

_CLOSE = 1e-9  # fractions of blocks this near a whole number are that number


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A look inside the first run of a certain design."""

    number: int
    """Its number, counted from 1."""
    blocks: int
    """Blocks that are complete at it: the first of the run order."""
    of_blocks: int
    """Blocks of a whole run."""
    items: int
    """Items of these blocks: the first of the run order."""
    weight: float
    """Its weight in the evidence."""

    @property
    def fraction(self) -> float:
        """The part of all blocks that is complete."""
        return self.blocks / self.of_blocks


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FirstRunPlan:
    """How the first run of a design is divided: the order of its items, and its checkpoints."""

    order: NDArray[np.intp]
    """The place of each item among those of the design, in the order in which they are run, block by block."""
    checkpoints: tuple[Checkpoint, ...]
    """The checkpoints in their order."""
    counts: NDArray[np.intp]
    """How many items the first n blocks of that order have, from none to all."""
    complete: float
    """The weight of complete runs."""

    def places(self, number: int) -> NDArray[np.intp]:
        """The places of all items before a checkpoint, in the order in which they are run; none before the first.

        The end of the run counts as one more checkpoint.
        """
        ends = [0, *(each.items for each in self.checkpoints), len(self.order)]
        return self.order[: ends[number]]

    def new_places(self, number: int) -> NDArray[np.intp]:
        """Those of the items between the checkpoint before and this one."""
        return self.places(number)[len(self.places(number - 1)) :]

    def checkpoint_after(self, passed: int) -> Checkpoint | None:
        """The checkpoint that comes after so many; ``None`` after the last one."""
        return self.checkpoints[passed] if passed < len(self.checkpoints) else None


def first_run_plan(design: Design) -> FirstRunPlan | None:
    """How the first run of a design is divided; ``None`` if it has no checkpoints."""
    if design.checkpoints is None:
        return None
    return planned_first_run(design.items, design.blocks, design.checkpoints)


def planned_first_run(items: tuple[str, ...], blocks: tuple[str, ...], given: Checkpoints) -> FirstRunPlan:
    """How the first run over these items and their blocks is divided."""
    order, counts = item_order(items, blocks, given.order_seed)
    n_blocks = len(counts) - 1
    return FirstRunPlan(
        order=order,
        counts=counts,
        checkpoints=tuple(
            Checkpoint(number=number, blocks=count, of_blocks=n_blocks, items=int(counts[count]), weight=weight)
            for number, (count, weight) in enumerate(given.planned(n_blocks).items(), 1)
        ),
        complete=given.complete,
    )


def check_checkpoints(design: Design) -> None:
    """Refuse checkpoints that the blocks or the method of a design do not allow."""
    if design.checkpoints is None:
        return
    if not design.has_memory:
        raise DesignError(f"checkpoints are not part of {design.method}; leave them out")
    for name, value in (("of_runs", design.of_runs), ("target", design.target)):
        if value and value != "both":
            raise DesignError(Argument(name, value), " looks after complete runs alone; leave checkpoints out")
    n_blocks, last = len(set(design.blocks)), max(design.checkpoints.fractions)
    if math.ceil(last * n_blocks - _CLOSE) >= n_blocks:
        raise DesignError(
            f"a checkpoint at {last:g} of {counted(n_blocks, 'block')} leaves no block after it; leave checkpoints out"
        )


POSITION_ALARM: Final = 0.01
"""The probability, at most, that a certificate of sound runs has the finding."""

PERMUTATIONS: Final = 1999
LEAST_PLACES: Final = 8
"""With fewer blocks hardly any order would be striking."""
_MOST_PLACES = 128  # neighbours are put together beyond, which costs next to nothing

Outcomes = NDArray[np.float64]
"""The mean score of each model (rows) at each place of the run (columns)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionTrend:
    """How the outcomes of a model change with the place in the run."""

    model: str | None
    """The model; None for the mean of all models."""
    correlation: float
    """Correlation of outcome and place; below 0 if outcomes get worse."""
    p_value: float
    """Share of random orders with a correlation at least as far from 0."""
    adjusted: float
    """Share of random orders in which that of any model, or of all together, is at least as far from 0."""

    @property
    def is_alarm(self) -> bool:
        """Whether it is a finding of a certificate."""
        return self.adjusted <= POSITION_ALARM

    @property
    def note(self) -> Note:
        """What a reader of a certificate should know."""
        whose = "all models together" if self.model is None else quoted(self.model)
        change = "fall" if self.correlation < 0.0 else "rise"
        return Note(
            kind="position",
            subject=() if self.model is None else (self.model,),
            text=f"Scores of {whose} {change} in the course of the first run (correlation with the place in the run "
            f"{self.correlation:+.2f}, p {self.adjusted:.2g}). Looks inside the first run need scores that do not "
            "depend on the place. Check for a server that degraded, limits on requests or a judge that changed, and do "
            "not rely on what these looks certified until it is explained.",
        )


def first_run_outcomes(scores: NDArray[np.float64], counts: Sequence[int] | NDArray[np.intp]) -> Outcomes:
    """The outcomes of a run: models x items in the run order; ``counts`` says how many items the first n blocks have.

    An outcome is the mean over a block, or over as many neighbouring blocks as it takes to have about a hundred places.
    The blocks at the beginning that are too few for another place are left out. A missing score is NaN; where a model
    has none at a place, its mean takes the place of the outcome.
    """
    ends = np.asarray(counts)
    n_blocks = int(np.searchsorted(ends, scores.shape[1]))
    size = max(1, -(-n_blocks // _MOST_PLACES))
    places = n_blocks // size
    is_there = ~np.isnan(scores)
    totals, present = (
        np.add.reduceat(each, ends[:n_blocks], axis=1) for each in (np.where(is_there, scores, 0.0), is_there * 1.0)
    )
    means = np.divide(totals, present, out=np.full_like(totals, np.nan), where=present > 0.0)
    grouped = means[:, n_blocks - places * size :].reshape(len(scores), places, size)
    known = ~np.isnan(grouped)
    count = known.sum(axis=2)
    outcomes = np.where(known, grouped, 0.0).sum(axis=2) / np.maximum(count, 1)
    own = outcomes.sum(axis=1) / np.maximum((count > 0).sum(axis=1), 1)
    filled: Outcomes = np.where(count > 0, outcomes, own[:, None])
    return filled


def position_trends(
    outcomes: Outcomes, models: Sequence[str], *, seed: int, permutations: int = PERMUTATIONS
) -> tuple[PositionTrend, ...]:
    """The trend of every model, and last that of their mean if there are several.

    The random orders follow from the seed, on every platform.

    **Guarantee:** the probability that any ``adjusted`` is at most ``p`` is at most ``p``: without a relation to the
    place, the observed order is one of ``permutations + 1`` that are equally probable.

    **Needs:** an order drawn uniformly at random, and a choice of models that does not depend on it; at least eight
    places, otherwise nothing is returned.
    """
    n_places = outcomes.shape[1]
    if n_places < LEAST_PLACES or not len(models):
        return ()
    rows = np.vstack([outcomes, outcomes.mean(axis=0)]) if len(models) > 1 else outcomes
    centred = rows - rows.mean(axis=1, keepdims=True)
    lengths = np.sqrt((centred**2).sum(axis=1))
    varies = lengths > 1e-9
    place = np.arange(n_places) - (n_places - 1) / 2.0
    scale = np.where(varies, lengths, 1.0) * np.sqrt((place**2).sum())
    observed = np.where(varies, centred @ place / scale, 0.0)
    permuted = np.abs(place[_orders(seed, permutations, n_places)] @ centred.T) / scale
    # Equal up to rounding counts as equal; the observed order is one of them.
    bar = np.abs(observed) * (1.0 - 1e-9)
    p_values = (1 + (permuted >= bar).sum(axis=0)) / (permutations + 1)
    adjusted = (1 + (permuted.max(axis=1)[:, None] >= bar).sum(axis=0)) / (permutations + 1)
    return tuple(
        PositionTrend(model=model, correlation=float(r), p_value=float(p), adjusted=float(q))
        for model, r, p, q in zip([*models, None], observed, p_values, adjusted, strict=False)
    )


def strongest(trends: Sequence[PositionTrend]) -> PositionTrend | None:
    """The trend that says most; ``None`` if there is none."""
    return min(trends, key=lambda each: (each.adjusted, -abs(each.correlation)), default=None)


def _orders(seed: int, count: int, n_places: int) -> NDArray[np.intp]:
    """Random orders that have nothing to do with the run order of the same seed."""
    key = int.from_bytes(hashlib.sha256(f"position {seed} {n_places}".encode("ascii")).digest()[:16], "big")
    # Unlike generators, the bits of Philox are the same with every version of NumPy.
    bits = np.random.Philox(key=key).random_raw(count * n_places).reshape(count, n_places)
    return np.argsort(bits, axis=1, kind="stable")
