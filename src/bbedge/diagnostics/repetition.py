"""Runs of a model that repeat each other, exactly or nearly.

Equal scores alone prove nothing: a deterministic system repeats itself honestly, and a system that rarely changes an
answer sometimes does. What speaks for a copy is a pair of runs that differ far less than the other runs of the same
model do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bbedge.core.arrays import Floats, Ints
from bbedge.core.copies import fingerprints
from bbedge.core.panels import BlockLayout
from bbedge.core.scores import Scores
from bbedge.records.values import grouped

_FAR_FEWER = 0.5  # of the usual number of differing items; pairs above are never suspected


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseRuns:
    """Two replicates, and on how many items a model differs between them."""

    model: str | None
    """The model; None for all models together."""
    replicates: tuple[int, int]
    """Positions of the replicates, from 0."""
    differing: int
    """Scores that differ between the two; 0 for an exact copy."""
    usual: float
    """The same, averaged over all pairs of replicates."""
    adjusted: float
    """Bound on the probability of a pair as close as this, among all pairs and models, if the runs are independent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedScores:
    """Replicates in which a model has the same score on every item."""

    model: str
    """The model."""
    replicates: tuple[int, ...]
    """Positions of the replicates, from 0."""
    always: bool
    """Whether these are all replicates of the table."""
    varied: bool
    """Whether the scores differ between items. A model that solves everything, or nothing, repeats itself honestly."""


def repeated_scores(scores: Scores) -> tuple[RepeatedScores, ...]:
    """Every set of replicates in which a model has equal scores, whatever the reason.

    >>> scores = Scores.of(np.array([[[1.0, 0.0]], [[1.0, 0.0]], [[1.0, 1.0]]]), models=["a"], items=["x", "y"])
    >>> [each.replicates for each in repeated_scores(scores)]
    [(0, 1)]
    """
    prints = (fingerprints(scores.models, panel) for panel in scores.values)
    places = grouped((each, place) for place, of_run in enumerate(prints) for each in of_run.items())
    return tuple(
        RepeatedScores(
            model=model, replicates=tuple(group), always=len(group) == len(scores.values), varied=each.varied
        )
        for (model, each), group in places.items()
        if len(group) > 1
    )


def close_runs(
    panels: Floats, models: Sequence[str], layout: BlockLayout, *, level: float = 0.05
) -> tuple[CloseRuns, ...]:
    r"""The closest pair of replicates of each model and of all models together, and every other pair below the level.

    Given the scores of each block, without the order of the replicates, independent replicates and blocks make every
    order equally probable, block by block. So the number ``D`` of items that differ between two replicates is a sum of
    independent terms, each drawn from the distances between the block's replicates, and

    .. math:: P(D \le d) \le \min_\lambda e^{\lambda d} \prod_m E[e^{-\lambda D_m}]

    is known. Bonferroni's inequality covers all pairs and models; half of the level goes to the models together. A
    model that hardly changes has few blocks that differ at all, and then no pair is improbable.

    **Guarantee:** the probability that any ``adjusted`` is at most ``p`` is at most ``p``.

    **Needs:** independent and identically distributed replicates, and independent blocks; at least three replicates
    and two blocks, otherwise nothing is returned.
    """
    if len(panels) < 3 or layout.count < 2:
        return ()
    parts = 1 if len(models) == 1 else 2
    pairs = list(combinations(range(len(panels)), 2))
    together = np.zeros((len(pairs), layout.count), dtype=np.int64)
    found = []
    for index, model in enumerate(models):
        differing = _differing(panels[:, index], layout)
        together += differing
        found += _close(model, differing, pairs, tests=parts * len(models) * len(pairs), level=level)
    if len(models) > 1:
        found += _close(None, together, pairs, tests=parts * len(pairs), level=level)
    return tuple(found)


def _differing(runs: Floats, layout: BlockLayout) -> Ints:
    """Items that differ between two replicates of a model: pairs x blocks."""
    ordered = runs[:, layout.order]
    unequal = (ordered[place + 1 :] != ordered[place] for place in range(len(runs) - 1))
    return np.concatenate([np.add.reduceat(each, layout.starts, axis=1, dtype=np.int64) for each in unequal])


def _close(
    model: str | None, differing: Ints, pairs: Sequence[tuple[int, int]], *, tests: int, level: float
) -> list[CloseRuns]:
    totals = differing.sum(axis=1)
    usual = float(totals.mean())
    adjusted = np.ones(len(pairs))
    suspected = np.flatnonzero((totals < _FAR_FEWER * usual) | (totals == 0))
    if suspected.size:
        adjusted[suspected] = np.minimum(1.0, tests * _tail_bounds(differing, totals[suspected]))
    closest = int(np.argmin(totals))
    return [
        CloseRuns(
            model=model,
            replicates=pairs[place],
            differing=int(totals[place]),
            usual=usual,
            adjusted=float(adjusted[place]),
        )
        for place in [closest, *(each for each in suspected.tolist() if each != closest and adjusted[each] <= level)]
    ]


def _tail_bounds(differing: Ints, totals: Ints) -> Floats:
    """Chernoff's bound on the probability of so few differing items, for each of the totals."""
    least = differing.min(axis=0)
    beyond = (differing - least)[:, (differing != least).any(axis=0)]  # blocks that never change add nothing
    if not beyond.size:
        return np.ones(len(totals))
    log_bounds = np.zeros(len(totals))
    # From where the bound is flat to where only an exact copy counts; any rate gives a valid bound.
    for rate in np.geomspace(0.25 / beyond.max(), 64.0, num=48):
        log_moment = np.log(np.exp(-rate * beyond).mean(axis=0)).sum()
        log_bounds = np.minimum(log_bounds, rate * (totals - least.sum()) + log_moment)
    return np.exp(log_bounds)
