"""Do the assumptions look right? What repeated runs can show of it, and what they cannot.

None of these is a licence: independence is a property of how runs were made. A diagnostic can raise an alarm; silence
proves nothing, least of all with few replicates.

Four tests can raise an alarm. Each has a share of :data:`ALARM_LEVEL`, so that by the union bound the probability of
any alarm is at most that, if replicates are independent and identically distributed and blocks are independent; for the
fourth, which needs the order in which the first replicate was run, scores do not depend on their place in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bbedge.core.arrays import Floats
from bbedge.core.checkpoints import PositionTrend, first_run_outcomes, item_order, position_trends
from bbedge.core.design import Design
from bbedge.core.eholm import e_holm
from bbedge.core.evidence import Evidence
from bbedge.core.forecast import PairAssumptions, variance_parts
from bbedge.core.panels import BlockLayout
from bbedge.core.scores import Scores
from bbedge.diagnostics.repetition import CloseRuns, RepeatedScores, close_runs, repeated_scores
from bbedge.records.values import Method

ALARM_LEVEL = 0.01
"""Largest probability of any alarm on sound runs."""
DEPENDENCE_LEVEL = 0.004
"""The share of :func:`block_dependence`."""
REPETITION_LEVEL = 0.002
"""The share of :func:`~bbedge.diagnostics.repetition.close_runs`."""
SELF_LEVEL = 0.002
"""The share of :func:`split_null`."""
POSITION_LEVEL = 0.002
"""The share of :func:`~bbedge.core.checkpoints.position_trends`."""
LOOK_LEVEL = 0.05
"""The level at which one of these tests asks to look closer, without an alarm."""

PERMUTATIONS = 1999
SPLITS = 20
_MOST_GROUPS = 256  # that are permuted; more cost time and change next to nothing
_CHUNK = 2**21  # numbers that are permuted at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDependence:
    """Whether replicate means vary more than independent blocks allow."""

    model: str | None
    """The model; None for the mean of all models."""
    ratio: float
    """Variance of its replicate means over what independent blocks imply; near 1 if they are independent."""
    p_value: float
    """Share of permutations with a ratio at least as large."""
    adjusted: float
    """Share of permutations in which the largest ratio of all models is at least as large."""


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
    """Random splits in which one half was certified above the other, which is false by construction."""
    log_e: float
    """Natural logarithm of the evidence that its runs differ by more than chance, averaged over splits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What the scores show about the assumptions."""

    permutations: int
    """Permutations of the test for dependence."""
    dependence: tuple[BlockDependence, ...]
    """For every model, and for all together; empty if there are too few replicates or blocks."""
    close: tuple[CloseRuns, ...]
    """The closest replicates; empty if there are too few replicates or blocks."""
    repeated: tuple[RepeatedScores, ...]
    """Replicates in which a model has equal scores."""
    halves: tuple[SplitNull, ...]
    """Every model against itself; empty if there are too few replicates."""
    stability: RankStability | None
    """Rankings of single replicates; None for one model."""
    heterogeneity: tuple[Heterogeneity, ...]
    """The closest pairs of models; empty for one model."""
    variance: PairAssumptions | None = None
    """What a difference between neighbours in the ranking varies by, over runs and over draws of blocks; ``None`` for
    one model, one replicate or one block."""
    positions: tuple[PositionTrend, ...] | None = None
    """How scores change with the place in the first replicate; ``None`` if the order is not known, empty if there are
    too few blocks."""


def diagnose(
    scores: Scores,
    *,
    rng: np.random.Generator,
    permutations: int = PERMUTATIONS,
    splits: int = SPLITS,
    order_seed: int | None = None,
) -> Diagnosis:
    """Run every diagnostic; that of places if ``order_seed`` says in which order the first replicate was run.

    **Guarantee:** if replicates are independent and identically distributed and blocks are independent, then with
    probability at least ``1 - ALARM_LEVEL`` every ``dependence.adjusted`` is above ``DEPENDENCE_LEVEL``, every
    ``close.adjusted`` above ``REPETITION_LEVEL``, :func:`self_evidence` below ``1 / SELF_LEVEL``, and if scores do not
    depend on their place in the order, every ``positions.adjusted`` above ``POSITION_LEVEL``.
    """
    layout, several = BlockLayout.of(scores.blocks), len(scores.models) > 1
    return Diagnosis(
        permutations=permutations,
        dependence=block_dependence(scores.values, scores.models, layout, rng=rng, permutations=permutations),
        close=close_runs(scores.values, scores.models, grouped(layout, rng), level=LOOK_LEVEL),
        repeated=repeated_scores(scores),
        halves=split_null(scores, rng=rng, splits=splits),
        stability=rank_stability(scores.values, scores.models) if several else None,
        heterogeneity=heterogeneity(scores.values, scores.models) if several else (),
        variance=neighbour_variance(scores.values, layout) if several else None,
        positions=None if order_seed is None else positions(scores, order_seed),
    )


def positions(scores: Scores, order_seed: int) -> tuple[PositionTrend, ...]:
    """How the scores of the first replicate change with the place of their block in the run order of a seed."""
    order, counts = item_order(scores.items, scores.blocks, order_seed)
    return position_trends(first_run_outcomes(scores.values[0][:, order], counts), scores.models, seed=order_seed)


def block_dependence(
    panels: Floats,
    models: Sequence[str],
    layout: BlockLayout,
    *,
    rng: np.random.Generator,
    permutations: int = PERMUTATIONS,
) -> tuple[BlockDependence, ...]:
    """Permutation test for dependence across blocks: every model, and last the mean of all if there are several.

    The variance of the replicate means is compared with the sum of the block variances that independence implies.
    Permuting each block over replicates by itself, for all models at once, keeps what happens inside blocks and breaks
    what links them. Of more than a few hundred blocks, random groups are permuted as wholes, which is as valid.

    **Guarantee:** the probability that any ``adjusted`` is at most ``p`` is at most ``p``: under independence the
    arrangement that was seen is one of ``permutations + 1`` that are equally probable.

    **Needs:** independent and identically distributed replicates; at least three of them and two blocks, otherwise
    nothing is returned.
    """
    if len(panels) < 3 or layout.count < 2:
        return ()
    groups = grouped(layout, rng)
    rows = [*panels.transpose(1, 0, 2), *([panels.mean(axis=1)] if len(models) > 1 else [])]
    implied = np.array([_block_sums(row, layout).var(axis=0, ddof=1).sum() for row in rows])
    sums = np.stack([_block_sums(row, groups).T for row in rows], axis=-1)  # groups x replicates x rows
    varies, scale = implied > 0.0, np.where(implied > 0.0, implied, 1.0)
    observed = np.where(varies, sums.sum(axis=0).var(axis=0, ddof=1) / scale, 1.0)
    permuted = _permuted_variances(sums, rng, permutations) / scale
    # Equal up to rounding counts as equal; the observed arrangement is one of the permutations.
    bar = np.where(varies, observed * (1.0 - 1e-9), 0.0)
    p_values = (1 + (permuted >= bar).sum(axis=0)) / (permutations + 1)
    adjusted = (1 + (permuted.max(axis=1, keepdims=True) >= bar).sum(axis=0)) / (permutations + 1)
    return tuple(
        BlockDependence(model=model, ratio=float(ratio), p_value=float(p), adjusted=float(q))
        for model, ratio, p, q in zip([*models, None], observed, p_values, adjusted, strict=False)
    )


def grouped(layout: BlockLayout, rng: np.random.Generator) -> BlockLayout:
    """The layout, or of a layout with very many blocks one of a few hundred random groups of them."""
    if layout.count <= _MOST_GROUPS:
        return layout
    of_item = np.empty(len(layout.order), dtype=np.intp)
    of_item[layout.order] = np.repeat(rng.permutation(layout.count) % _MOST_GROUPS, layout.sizes)
    return BlockLayout.of(of_item.tolist())


def _block_sums(runs: Floats, layout: BlockLayout) -> Floats:
    """Block sums of the runs of a model, replicates x blocks, less those of the first."""
    # Differences from a run are exactly zero where nothing varies.
    return np.add.reduceat((runs - runs[0])[:, layout.order], layout.starts, axis=1)


def _permuted_variances(sums: Floats, rng: np.random.Generator, permutations: int) -> Floats:
    """Variance of the replicate totals, permutations x rows, with every group permuted over replicates by itself."""
    n_replicates, n_rows = sums.shape[1:]
    size = max(1, _CHUNK // (n_replicates * n_rows))
    variances = np.empty((permutations, n_rows))
    for start in range(0, permutations, size):
        stop = min(permutations, start + size)
        in_order = np.broadcast_to(np.arange(n_replicates), (stop - start, n_replicates))
        totals = np.zeros((stop - start, n_replicates, n_rows))
        for group in sums:
            totals += group[rng.permuted(in_order, axis=1)]
        variances[start:stop] = totals.var(axis=1, ddof=1)
    return variances


def rank_stability(panels: Floats, models: Sequence[str]) -> RankStability:
    """Compare the ranking of every single replicate with that of all of them."""
    means = panels.mean(axis=2)
    overall = means.mean(axis=0)
    reversed_ = (means[:, :, None] < means[:, None, :]) & (overall[:, None] > overall)
    counts = reversed_.sum(axis=0)
    reversals = [(models[a], models[b], int(counts[a, b])) for a, b in np.argwhere(counts).tolist()]
    return RankStability(
        differing=int(reversed_.any(axis=(1, 2)).sum()),
        replicates=len(panels),
        reversals=tuple(sorted(reversals, key=lambda entry: -entry[2])),
    )


def heterogeneity(panels: Floats, models: Sequence[str], *, pairs: int = 5) -> tuple[Heterogeneity, ...]:
    """The pairs closest in mean, with the items that favour each side."""
    items = panels.mean(axis=0)
    means = items.mean(axis=1)
    neighbours = pairwise(np.argsort(-means, kind="stable").tolist())
    return tuple(
        Heterogeneity(
            first=models[a],
            second=models[b],
            difference=float(means[a] - means[b]),
            for_first=int((items[a] > items[b]).sum()),
            for_second=int((items[a] < items[b]).sum()),
        )
        for a, b in sorted(neighbours, key=lambda pair: means[pair[0]] - means[pair[1]])[:pairs]
    )


def neighbour_variance(panels: Floats, layout: BlockLayout) -> PairAssumptions | None:
    """The parts of the variance of differences between models next to each other in the ranking, averaged over pairs.

    The average is unbiased up to its last step, which counts a negative part of the blocks as none. Pairs far apart
    are left out: what separates them is in every run and on most items.
    """
    if len(panels) < 2 or layout.count < 2:
        return None
    blocks = np.stack([layout.means(panel) for panel in panels])
    ranked = blocks[:, np.argsort(-panels.mean(axis=(0, 2)), kind="stable")]
    outcomes = (ranked[:, :-1] - ranked[:, 1:] + 1.0) / 2.0
    parts = [variance_parts(each, layout.weights, is_drawn=True) for each in outcomes.transpose(1, 0, 2)]
    noise, across = np.mean(parts, axis=0).tolist()
    return PairAssumptions(noise=min(0.25, noise), unevenness=min(0.25, max(0.0, across)))


def split_null(
    scores: Scores, *, rng: np.random.Generator, splits: int = SPLITS, method: Method = "bb-edge-x"
) -> tuple[SplitNull, ...]:
    """Compare halves of each model's replicates as if they were two models.

    Half of the weight is on the split into earlier and later replicates, where a change during the runs shows best;
    the random splits share the other half.

    **Guarantee:** the expectation of ``exp(log_e)`` is at most 1 if the replicates of the model are independent and
    identically distributed and its blocks independent. A split is chosen without the scores, and its halves then have
    equal means, so that the final evidence of either direction has an expectation of at most 1; so has a weighted
    average of such numbers, however they depend on each other.

    **Needs:** at least four replicates; otherwise nothing is returned. ``certified`` counts splits that reuse the same
    replicates: it is no estimate of an error probability.
    """
    n_replicates = len(scores.values)
    half = n_replicates // 2
    if half < 2:
        return ()
    names = ("first half", "second half")
    # No margins are shown: the whole of alpha is for certificates.
    pair = Design.make(names, scores.items, blocks=scores.blocks, method=method, margin_share=0.0, holm="direct")
    orders = np.stack([np.arange(n_replicates), *(rng.permutation(n_replicates) for _ in range(splits))])
    log_weights = np.log([0.25, *[0.25 / splits] * splits])  # each for either direction
    results = []
    for index, model in enumerate(scores.models):
        evidence, certified = Evidence(pair, batch=(splits + 1,)), np.zeros(splits + 1, dtype=bool)
        for look in range(half):
            evidence.update(scores.values[orders[:, [look, look - half]], index])
            log_e = evidence.log_e()
            certified |= e_holm(log_e, alpha=pair.alpha, batch=1).any(axis=(1, 2))
        both = np.stack([log_e[:, 0, 1], log_e[:, 1, 0]])
        results.append(
            SplitNull(
                model=model,
                splits=splits,
                certified=int(certified[1:].sum()),
                log_e=float(np.logaddexp.reduce((both + log_weights).ravel())),
            )
        )
    return tuple(results)


def self_evidence(halves: Sequence[SplitNull]) -> float:
    """Logarithm of the evidence that the runs of some model differ by more than chance, averaged over models.

    **Guarantee:** if the assumptions hold, it reaches ``log(1 / p)`` with probability at most ``p``, by Markov's
    inequality.
    """
    return float(np.logaddexp.reduce([each.log_e for each in halves]) - np.log(len(halves)))
