"""Rivals that test differences of means: EMR, t-Holm, BEB-Holm, AsympCS-Bonf, TLRCI, MB-Rank and Item-t-Holm.

BEB-Holm pools block differences; the others see one mean per model and replicate. Item-t-Holm, the usual paired test
over items, answers another question than the rest: whether the order of two models would hold on other items like
these. The items are the random sample and the runs are averaged away, so that one run is enough and more runs help
little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from bbedge.core.arrays import Floats, Ints, Mask
from bbedge.core.design import Design
from bbedge.errors import DesignError

_TIE = 1e-9  # sums of graded scores that differ by rounding alone are equal
_ITEM_TIE = 1e-12  # means of equal scores in another order differ by rounding alone
_OPTIMISED_FOR = 10.0  # the number of replicates at which the sequence is tightest
_BURN_IN = 2
_DRAWS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningMeans:
    """Replicate-mean differences, row minus column, after r = 1, 2, ... replicates."""

    count: Floats
    """r, as looks x 1 x 1."""
    mean: Floats
    """Mean difference: looks x models x models."""
    deviation: Floats
    """Sample standard deviation over replicates; 0 after the first."""


def running_means(panels: Floats) -> RunningMeans:
    """Statistics of the replicate means, from replicates x models x items."""
    means = panels.mean(axis=2)
    differences = means[:, :, None] - means[:, None, :]
    count = np.arange(1, len(panels) + 1, dtype=np.float64)[:, None, None]
    mean = np.cumsum(differences, axis=0) / count
    # Around the last mean, so that the sum of squares does not cancel.
    centred = differences - mean[-1]
    squares = np.cumsum(centred**2, axis=0) - count * (np.cumsum(centred, axis=0) / count) ** 2
    deviation = np.sqrt(np.maximum(squares, 0.0) / np.maximum(count - 1.0, 1.0))
    return RunningMeans(count=count, mean=mean, deviation=deviation)


def holm(p_values: Floats, tested: Mask, alpha: float) -> Mask:
    """Rejected hypotheses; ``p_values`` is looks x models x models and each look is a family of its own.

    **Guarantee:** family-wise error at most ``alpha`` at a single look.
    """
    flat = p_values[:, tested]
    count = flat.shape[1]
    order = np.argsort(flat, axis=1, kind="stable")
    passes = np.take_along_axis(flat, order, axis=1) <= alpha / (count - np.arange(count))
    rejected = np.zeros_like(passes)
    np.put_along_axis(rejected, order, np.logical_and.accumulate(passes, axis=1), axis=1)
    result = np.zeros(p_values.shape, dtype=np.bool_)
    result[:, tested] = rejected
    return result


def _differ(p_values: Floats, pairs: Mask, alpha: float) -> Mask:
    """The pairs that differ by Holm's test of two-sided p-values, marked in both directions."""
    differ = holm(p_values, np.triu(pairs, k=1), alpha)
    return differ | differ.transpose(0, 2, 1)


def _studentised(difference: Floats, error: Floats, *, tie: float = 0.0) -> Floats:
    """Differences by their standard errors; without any variation the difference is taken as known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error > tie, difference / error, np.where(difference > tie, np.inf, -np.inf))


def _two_sided(one_sided: NDArray[np.floating[Any]]) -> Floats:
    """Two-sided p-values, the same for both directions of a pair: twice the smaller of the two one-sided ones."""
    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(one_sided, one_sided.transpose(0, 2, 1))))


def emr_edges(design: Design, panels: Floats, rng: np.random.Generator) -> Mask:
    """EMR: ``a -> b`` if the summed difference exceeds ``tau`` times the number of scores; equal sums are ties.

    This is what a plain leaderboard does. **Assumes:** that the observed means are the true ones. **Repeated looks:**
    no error is controlled, at any look.
    """
    sums = np.cumsum(panels.sum(axis=2), axis=0)
    scores = (np.arange(1, len(panels) + 1) * panels.shape[2])[:, None, None]
    return np.asarray((sums[:, :, None] - sums[:, None, :] > design.tau * scores + _TIE) & design.tested)


def p_values(statistics: RunningMeans, margin: float) -> Floats:
    """One-sided p-values of ``Delta <= margin``; 1 after the first replicate, which has no variance."""
    t = _studentised(statistics.mean - margin, statistics.deviation / np.sqrt(statistics.count))
    return np.where(statistics.count > 1.0, stdtr(np.maximum(statistics.count - 1.0, 1.0), -t), 1.0)


def t_holm_edges(design: Design, panels: Floats, rng: np.random.Generator) -> Mask:
    """t-Holm: paired one-sided t-tests on replicate means, with Holm's correction.

    **Assumes:** independent replicates whose mean differences are nearly normal. **Repeated looks:** not covered; the
    level holds at one look fixed beforehand.
    """
    return holm(p_values(running_means(panels), design.tau), design.tested, design.alpha)


def beb_holm_edges(design: Design, panels: Floats, rng: np.random.Generator) -> Mask:
    """BEB-Holm: a fixed-time empirical-Bernstein bound on pooled block differences, with Holm's correction.

    Inverts the bound ``mean - sqrt(2 V log(4/d) / n) - 16 log(4/d) / (3 (n-1)) > tau`` for the p-value ``d``.
    **Assumes:** independent replicates and blocks, blocks of one size. **Repeated looks:** not covered.
    """
    layout = design.layout
    if len(set(layout.sizes.tolist())) > 1:
        raise DesignError("BEB-Holm pools block differences and needs blocks of one size")
    means = np.stack([layout.means(panel) for panel in panels])
    totals = np.cumsum(means.sum(axis=2), axis=0)
    gram = np.cumsum(means @ means.transpose(0, 2, 1), axis=0)
    own = np.diagonal(gram, axis1=1, axis2=2)
    n = (np.arange(1, len(panels) + 1) * layout.count).astype(np.float64)[:, None, None]
    mean, n_less = (totals[:, :, None] - totals[:, None, :]) / n, np.maximum(n - 1.0, 1.0)
    squares = own[:, :, None] + own[:, None, :] - 2.0 * gram
    variance = np.maximum(squares - n * mean**2, 0.0) / n_less
    linear, quadratic = np.sqrt(2.0 * variance / n), 16.0 / (3.0 * n_less)
    exceeded = np.maximum(mean - design.tau, 0.0)
    root = (-linear + np.sqrt(linear**2 + 4.0 * quadratic * exceeded)) / (2.0 * quadratic)
    p = np.where((mean > design.tau) & (n > 1.0), np.minimum(1.0, 4.0 * np.exp(-(root**2))), 1.0)
    return holm(p, design.tested, design.alpha)


def asymp_cs_edges(design: Design, panels: Floats, rng: np.random.Generator) -> Mask:
    """AsympCS-Bonf: ``a -> b`` once the lower end of a Gaussian-mixture confidence sequence exceeds ``tau``.

    Bonferroni over directions. **Assumes:** independent replicates, and many of them: the level holds only in the
    limit. **Repeated looks:** meant for them, but with few replicates the error is not controlled.
    """
    statistics = running_means(panels)
    level = design.alpha / design.n_directions
    wide = -2.0 * math.log(2.0 * level)
    rho2 = (wide + math.log(wide) + 1.0) / _OPTIMISED_FOR
    r = statistics.count
    spread = 2.0 * (r * rho2 + 1.0) / (r**2 * rho2) * np.log1p(np.sqrt(r * rho2 + 1.0) / (2.0 * level))
    exceeds = statistics.mean - statistics.deviation * np.sqrt(spread) > design.tau
    return exceeds & (r >= _BURN_IN) & design.tested


def tlrci_ranks(design: Design, panels: Floats, rng: np.random.Generator) -> Ints:
    """TLRCI: rank intervals from two-sided paired t-tests with Holm's correction over pairs.

    ``[1 + models found better, L - models found worse]``, without drawing conclusions along paths. **Assumes:**
    independent replicates whose mean differences are nearly normal. **Repeated looks:** not covered.
    """
    statistics = running_means(panels)
    every = np.ones(design.tested.shape, dtype=np.bool_)
    return counted(_differ(_two_sided(p_values(statistics, 0.0)), every, design.alpha) & (statistics.mean > 0.0))


def counted(better: Mask) -> Ints:
    """Rank intervals from "row is better than column" at every look."""
    return np.stack([1 + better.sum(axis=1), better.shape[1] - better.sum(axis=2)], axis=2)


def mb_rank_ranks(design: Design, panels: Floats, rng: np.random.Generator) -> Ints:
    """MB-Rank: counts the models whose studentised difference exceeds the bootstrap quantile of the maximum.

    A multiplier bootstrap over replicates. **Assumes:** independent replicates, and many of them. **Repeated looks:**
    not covered.
    """
    statistics = running_means(panels)
    means = panels.mean(axis=2)
    n_looks, n_models = means.shape
    first, second = np.triu_indices(n_models, k=1)
    draws = rng.standard_normal((n_looks, _DRAWS))
    better = np.zeros((n_looks, n_models, n_models), dtype=np.bool_)
    rank = math.ceil((1.0 - design.alpha) * _DRAWS) - 1
    for look in range(1, n_looks):
        r, mean, deviation = look + 1, statistics.mean[look], statistics.deviation[look]
        noise = draws[:r].T @ (means[:r] - means[:r].mean(axis=0)) / math.sqrt(r)
        scale = deviation[first, second]
        with np.errstate(divide="ignore", invalid="ignore"):
            swing = np.abs(noise[:, first] - noise[:, second]) / scale
            swing[:, scale == 0.0] = 0.0
            bar = np.partition(swing.max(axis=1), rank)[rank]
            better[look] = np.where(deviation > 0.0, math.sqrt(r) * mean / deviation > bar, mean > 0.0)
    return counted(better)


def item_differences(design: Design, panels: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean differences over items, row minus column, after 1, 2, ... runs, their standard errors and p-values.

    An item's score is the mean of the runs so far. With ``N`` items in ``G`` blocks and ``u_g`` the sum over block
    ``g`` of an item's difference less the mean difference, the squared standard error is
    ``G / (G - 1) * sum_g u_g^2 / N^2``. This is the cluster-robust variance of the mean with the usual correction for
    few clusters.

    The p-values are two-sided, of ``-tau <= Delta <= tau``, and the same for both directions of a pair: twice the
    smaller of the two one-sided ones. Without a margin that is the usual two-sided t-test.
    """
    layout = design.layout
    if layout.count < 2:
        raise DesignError("Item-t-Holm compares blocks and needs at least 2 of them")
    n_looks, n_models, n_items = panels.shape
    mean, squares = np.empty((2, n_looks, n_models, n_models))
    total = np.zeros((n_models, n_items))
    for look, panel in enumerate(panels):
        total += panel
        items = total / (look + 1)
        own = items.mean(axis=1)
        mean[look] = own[:, None] - own
        # A pair's residual is the difference of two models' residuals, so that one product gives all pairs.
        residuals = layout.sizes * (layout.means(items) - own[:, None])
        gram = residuals @ residuals.T
        each = np.diagonal(gram)
        squares[look] = np.maximum(each[:, None] + each - 2.0 * gram, 0.0)
    error = np.sqrt(layout.count / (layout.count - 1.0) * squares) / n_items
    t = _studentised(mean - design.tau, error, tie=_ITEM_TIE)
    return mean, error, _two_sided(stdtr(layout.count - 1.0, -t))


def item_t_holm_edges(design: Design, panels: Floats, rng: np.random.Generator) -> Mask:
    """Item-t-Holm: paired two-sided t-tests over items, errors clustered by block, Holm's correction over pairs.

    ``a -> b`` if the pair differs and ``a`` has the higher mean. **Assumes:** blocks that are a random sample of many
    like them. **Repeated looks:** not covered; the level holds at one look fixed beforehand, and for the order on
    other items like these. Whether further runs of *these* items would give the same order is not what it tests.
    """
    mean, _, p = item_differences(design, panels)
    differ = _differ(p, design.tested | design.tested.T, design.alpha)
    return np.asarray(differ & (mean > design.tau) & design.tested)
