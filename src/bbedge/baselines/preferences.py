"""Rivals on pairwise preferences: SERPANT and SERPANT-R as a stream of items, CBTL smoothed over their order."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincc, gammaln, log_ndtr, logit

from bbedge.core.design import Design
from bbedge.core.eholm import e_holm

Array = NDArray[np.float64]
Edges = NDArray[np.bool_]

_SLACK = 1e-6  # far above rounding: a look too many costs nothing, a look too few would be wrong
_BELOW, _ABOVE = -3.5, 6.0  # standard deviations between which the normal tail is used
_EXACT_UP_TO = 300  # beyond this many items the tail of a binomial is taken as normal
_BANDWIDTH = 0.2  # of CBTL's kernel, as a share of the benchmark
_GRID = 21
_DRAWS = 200
_EDGE = 1e-6  # keeps the logit of a preference of 0 or 1 finite


def serpant_edges(design: Design, panels: Array, rng: np.random.Generator) -> Edges:
    """SERPANT: e-processes on a stream of binary preferences, looked at after every item.

    What was once rejected stays rejected; the edges are reported after every replicate. **Assumes:** items that are
    independent and alike, so that every preference is a coin of the same bias. **Repeated looks:** valid under that
    assumption, for a stream of items; on a fixed benchmark, whose items differ and may depend on each other, the error
    is not controlled.
    """
    n_looks, _, n_items = panels.shape
    tested = design.tested
    wins = _wins(design, panels, rng)
    bar = 1.0 / design.alpha
    # Of a pair tested both ways one direction has evidence at most 1 at any time, so that it always adds to what
    # e-Holm asks of the others. Only items after which some direction passes this least threshold are looked at.
    both = int((tested & tested.T).sum()) // 2
    least = fewest_wins(len(wins), design.mu0, math.log(bar + both * (bar - 1.0)) - _SLACK)
    stands = np.zeros(wins.shape[1], dtype=np.bool_)
    found = np.zeros((n_looks, *tested.shape), dtype=np.bool_)
    for look in range(n_looks):
        span = slice(look * n_items, (look + 1) * n_items)
        near = ((wins[span] >= least[span, None]) & ~stands).any(axis=1)
        if near.any():
            at = span.start + np.flatnonzero(near)
            log_e = log_evidence(wins[at], at[:, None] + 1, design.mu0)
            weak = log_e < math.log(bar)
            deficit = np.where(weak, bar - np.exp(np.where(weak, log_e, 0.0)), 0.0).sum(axis=1, keepdims=True)
            stands |= (log_e >= np.log(bar + deficit)).any(axis=0)
        found[look, tested] = stands
    return found


def serpant_r_edges(design: Design, panels: Array, rng: np.random.Generator) -> Edges:
    """SERPANT-R: the same e-values, looked at after complete replicates only. **Repeated looks:** as SERPANT."""
    n_looks, _, n_items = panels.shape
    items = np.arange(1, n_looks + 1) * n_items
    log_e = np.full((n_looks, *design.tested.shape), np.nan)
    log_e[:, design.tested] = log_evidence(_wins(design, panels, rng)[items - 1], items[:, None], design.mu0)
    return np.array([e_holm(look, alpha=design.alpha) for look in log_e])


def _wins(design: Design, panels: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """Wins of each tested direction after every item, in replicate by item order; ties go by a fair coin."""
    stream = panels.transpose(0, 2, 1).reshape(-1, panels.shape[1])
    first, second = np.triu_indices(panels.shape[1], k=1)
    ahead, behind = stream[:, first], stream[:, second]
    coin = rng.random(ahead.shape) < 0.5
    pairs = np.cumsum(np.where(ahead == behind, coin, ahead > behind), axis=0, dtype=np.int64)
    column = np.zeros(design.tested.shape, dtype=np.int64)
    column[first, second] = column[second, first] = np.arange(len(first))
    better, worse = np.nonzero(design.tested)
    wins = pairs[:, column[better, worse]]
    items = np.arange(1, len(wins) + 1)
    return np.where(better < worse, wins, items[:, None] - wins)


@cache
def fewest_wins(n_items: int, mu0: float, log_bar: float) -> NDArray[np.int64]:
    """The fewest wins in 1, 2, ... items whose evidence reaches a threshold; one more than the items if none do."""
    items = np.arange(1, n_items + 1)
    # Evidence grows with the wins from the null's share of them on; below it, it is at most 1.
    low, high = np.floor(items * mu0).astype(np.int64), items + 1
    while bool((low < high).any()):
        middle = (low + high) // 2
        reaches = log_evidence(np.minimum(middle, items), items, mu0) >= log_bar
        high = np.where(reaches, middle, high)
        low = np.where(reaches, low, np.minimum(middle + 1, high))
    high.setflags(write=False)
    return high


def log_evidence(wins: NDArray[np.int64], items: NDArray[np.int64], mu0: float) -> Array:
    """Uniform mixture over win rates in ``(mu0, 1)`` against ``mu0``, for k wins in n items.

    ``log E = log B(k+1, n-k+1) + log P(Beta(k+1, n-k+1) > mu0) - log(1 - mu0) - k log mu0 - (n-k) log(1 - mu0)``
    """
    k, n = wins.astype(np.float64), np.broadcast_to(items, wins.shape).astype(np.float64)
    deviations = (k + 0.5 - (n + 1.0) * mu0) / np.sqrt((n + 1.0) * mu0 * (1.0 - mu0))
    log_e = np.empty(wins.shape)
    # Far below the null the normal tail is much too heavy; there a geometric series bounds the binomial one, and
    # all factorials cancel.
    low = (deviations < _BELOW) & (n > _EXACT_UP_TO)
    ratio = k[low] * (1.0 - mu0) / ((n[low] + 2.0 - k[low]) * mu0)
    log_e[low] = -np.log((n[low] + 1.0 - k[low]) * (1.0 - ratio))
    rest = ~low
    wins, items, k, n = wins[rest], np.broadcast_to(items, low.shape)[rest], k[rest], n[rest]
    log_factorial = gammaln(np.arange(1, int(items.max(initial=0)) + 3, dtype=np.float64))
    log_beta = log_factorial[wins] + log_factorial[items - wins] - log_factorial[items + 1]
    likelihood = k * math.log(mu0) + (n - k) * math.log1p(-mu0)
    log_e[rest] = log_beta + _log_tail(k, n, deviations[rest], mu0) - math.log1p(-mu0) - likelihood
    return log_e


def _log_tail(k: Array, n: Array, deviations: Array, mu0: float) -> Array:
    """``log P(Beta(k+1, n-k+1) > mu0) = log P(Binomial(n+1, mu0) <= k)``; 0 where it is 1 to nine digits."""
    tail = np.zeros(k.shape)
    few = n <= _EXACT_UP_TO
    near = ~few & (deviations <= _ABOVE)
    tail[near] = log_ndtr(deviations[near])
    with np.errstate(divide="ignore"):
        tail[few] = np.log(betaincc(k[few] + 1.0, n[few] - k[few] + 1.0, mu0))
    return tail


def cbtl_edges(design: Design, panels: Array, rng: np.random.Generator) -> Edges:
    """CBTL: ``a -> b`` if the lowest smoothed log-odds gap exceeds ``log((1 + tau) / (1 - tau))`` by the quantile.

    The quantile comes from a multiplier bootstrap per direction. **Assumes:** preferences that vary smoothly with the
    item's place in the benchmark; a claim is made only if one model is ahead everywhere. **Repeated looks:** not
    covered, and neither is multiplicity.
    """
    n_looks, n_models, _ = panels.shape
    smooth = smoothed(panels)  # replicates x models x grid: models are smoothed, pairs are differences
    bar = math.log((1.0 + design.tau) / (1.0 - design.tau))
    draws = rng.standard_normal((n_looks, _DRAWS))
    total = np.zeros(smooth.shape[1:])
    weighted = np.zeros((*smooth.shape[1:], _DRAWS))  # draws last: the supremum over the grid then runs over whole rows
    weight = np.zeros(_DRAWS)
    found = np.zeros((n_looks, n_models, n_models), dtype=np.bool_)
    for look in range(n_looks):
        total += smooth[look]
        weighted += smooth[look][:, :, None] * draws[look]
        weight += draws[look]
        mean = total / (look + 1)
        preference = np.clip((mean[:, None] - mean + 1.0) / 2.0, _EDGE, 1.0 - _EDGE)
        low = logit(preference).min(axis=2)
        # Quantiles are above 0, so that only a direction that is ahead everywhere is worth a bootstrap.
        a, b = np.nonzero((low > bar) & design.tested)
        noise = (weighted - mean[:, :, None] * weight) / (look + 1)
        wobble = noise[a]
        wobble -= noise[b]
        # The delta method: a preference moves its log-odds by 1 / (p (1 - p)); a difference moves it by half of that.
        wobble *= (0.5 / (preference[a, b] * (1.0 - preference[a, b])))[:, :, None]
        quantile = np.maximum(0.0, _quantile(wobble.max(axis=1), 1.0 - design.alpha))
        found[look, a, b] = low[a, b] - quantile > bar
    return found


def smoothed(panels: Array) -> Array:
    """Kernel-smoothed scores of every model over the places of the items, at the grid."""
    n_items = panels.shape[2]
    place = (np.arange(n_items) + 0.5) / n_items
    grid = np.linspace(0.0, 1.0, _GRID)
    kernel = np.exp(-0.5 * ((grid[:, None] - place) / _BANDWIDTH) ** 2)
    weights: Array = kernel / kernel.sum(axis=1, keepdims=True)
    smooth: Array = panels @ weights.T
    return smooth


def _quantile(values: Array, level: float) -> Array:
    """The upper empirical quantile over draws, by selection."""
    rank = math.ceil(level * values.shape[1]) - 1
    quantile: Array = np.partition(values, rank, axis=1)[:, rank]
    return quantile
