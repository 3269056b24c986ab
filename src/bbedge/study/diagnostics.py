"""Do the assumptions look right? What repeated runs can show of it, and what they cannot.

None of these is a licence: independence is a property of how runs were made. A diagnostic can raise an alarm; silence
proves nothing, least of all with few replicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bbedge.core.blocks import BlockLayout
from bbedge.core.design import Design
from bbedge.core.kinds import Method
from bbedge.core.leaderboard import Certifier
from bbedge.core.scores import Scores

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDependence:
    """Whether replicate means vary more than independent blocks allow, for one model."""

    model: str
    """The model."""
    ratio: float
    """Variance of its replicate means over what independent blocks imply; near 1 if they are independent."""
    p_value: float
    """Share of permutations with a ratio at least as large."""
    adjusted: float
    """The same after Holm's correction over models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStability:
    """How often a single run would have ranked the models differently."""

    differing: int
    """Replicates whose own ranking differs from that of all replicates together."""
    replicates: int
    """Number of replicates."""
    reversals: tuple[tuple[str, str, int], ...]
    """Pairs, better first, with the number of replicates that reverse them; most reversed first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heterogeneity:
    """Items that favour one model of a pair and items that favour the other."""

    first: str
    """The model with the higher mean."""
    second: str
    """The other one."""
    difference: float
    """Difference of their means."""
    for_first: int
    """Items on which the first is ahead on average."""
    for_second: int
    """Items on which the second is ahead on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitNull:
    """A model against itself: halves of its replicates as if they were two models."""

    model: str
    """The model."""
    splits: int
    """Random splits tried."""
    certified: int
    """Splits in which one half was certified above the other, which is false by construction."""


def block_dependence(
    panels: Array, models: Sequence[str], layout: BlockLayout, *, rng: np.random.Generator, permutations: int = 2000
) -> tuple[BlockDependence, ...]:
    """Permutation test for dependence across blocks, model by model.

    The variance of the replicate means is compared with the sum of the block variances that independence implies.
    Permuting each block over replicates by itself keeps what happens inside blocks and breaks what links them.

    **Needs:** at least three replicates and two blocks; otherwise nothing is returned.
    """
    n_replicates, n_items = len(panels), panels.shape[2]
    if n_replicates < 3 or layout.count < 2:
        return ()
    sums = np.stack([layout.means(panel) * layout.sizes for panel in panels])  # replicates x models x blocks
    ratios, p_values = [], []
    for index in range(len(models)):
        blocks = sums[:, index]
        implied = blocks.var(axis=0, ddof=1).sum() / n_items**2
        if implied == 0.0:
            ratios.append(1.0)
            p_values.append(1.0)
            continue
        observed = (blocks.sum(axis=1) / n_items).var(ddof=1)
        permuted = np.empty(permutations)
        for draw in range(permutations):
            permuted[draw] = (rng.permuted(blocks, axis=0).sum(axis=1) / n_items).var(ddof=1)
        ratios.append(float(observed / implied))
        # Equal up to rounding counts as equal; the observed arrangement is one of the permutations.
        p_values.append(float((1 + np.sum(permuted >= observed * (1.0 - 1e-12))) / (permutations + 1)))
    adjusted = _holm_adjusted(p_values)
    return tuple(
        BlockDependence(model=model, ratio=ratio, p_value=p, adjusted=q)
        for model, ratio, p, q in zip(models, ratios, p_values, adjusted, strict=True)
    )


def rank_stability(panels: Array, models: Sequence[str]) -> RankStability:
    """Compare the ranking of every single replicate with that of all of them."""
    means = panels.mean(axis=2)
    overall = means.mean(axis=0)
    ahead = overall[:, None] > overall
    reversed_ = (means[:, :, None] < means[:, None, :]) & ahead
    counts = reversed_.sum(axis=0)
    reversals = [(models[a], models[b], int(counts[a, b])) for a, b in np.argwhere(counts).tolist()]
    return RankStability(
        differing=int(reversed_.any(axis=(1, 2)).sum()),
        replicates=len(panels),
        reversals=tuple(sorted(reversals, key=lambda entry: -entry[2])),
    )


def heterogeneity(panels: Array, models: Sequence[str], *, pairs: int = 5) -> tuple[Heterogeneity, ...]:
    """The pairs closest in mean, with the items that favour each side."""
    items = panels.mean(axis=0)
    means = items.mean(axis=1)
    order = np.argsort(-means, kind="stable")
    neighbours = sorted(pairwise(order.tolist()), key=lambda pair: means[pair[0]] - means[pair[1]])
    return tuple(
        Heterogeneity(
            first=models[a],
            second=models[b],
            difference=float(means[a] - means[b]),
            for_first=int((items[a] > items[b]).sum()),
            for_second=int((items[a] < items[b]).sum()),
        )
        for a, b in neighbours[:pairs]
    )


def split_null(
    scores: Scores, *, rng: np.random.Generator, splits: int = 20, method: Method = "bb-edge-x"
) -> tuple[SplitNull, ...]:
    """Split each model's replicates into halves at random and compare the halves as if they were two models.

    **Needs:** at least four replicates; otherwise nothing is returned. The splits reuse the same replicates, so the
    rate is a diagnostic and not an estimate of the error probability.
    """
    half = len(scores.values) // 2
    if half < 2:
        return ()
    pair = Design.make(["first half", "second half"], scores.items, blocks=scores.blocks, method=method)
    results = []
    for index, model in enumerate(scores.models):
        certified = 0
        for _ in range(splits):
            order = rng.permutation(len(scores.values))
            certifier = Certifier(pair)
            for a, b in zip(order[:half], order[half : 2 * half], strict=True):
                certifier.update(scores.values[[a, b], index])
            certified += bool(certifier.standing_edges().any())
        results.append(SplitNull(model=model, splits=splits, certified=certified))
    return tuple(results)


def _holm_adjusted(p_values: Sequence[float]) -> list[float]:
    order = np.argsort(p_values, kind="stable")
    adjusted, running = [1.0] * len(p_values), 0.0
    for step, index in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - step) * p_values[index]))
        adjusted[index] = running
    return adjusted
