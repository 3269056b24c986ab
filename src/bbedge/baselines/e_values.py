"""Rivals on e-values and on preferences: BB-EDGE in all its kinds, BFH-e-Holm, CR-EDGE, BB-EDGE-PI, SERPANT and CBTL.

Three of them differ from BB-EDGE in one part.

**Assumes:** independent replicates, and independent blocks (CR-EDGE: replicates only). **Repeated looks:** valid.
BFH-e-Holm pays Hoeffding's penalty ``u^2 / 8`` instead of one that adapts to the variance; CR-EDGE takes the whole
replicate as one block; BB-EDGE-PI stakes one value per direction, chosen from earlier replicates, instead of a mixture.
SERPANT and SERPANT-R take pairwise preferences as a stream of items, CBTL smooths them over the order of items.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from msgspec import UNSET
from scipy.special import betaincc, gammaln, log_ndtr, logit

from bbedge.core.arrays import Floats, Ints, Mask, to_numpy
from bbedge.core.design import Design
from bbedge.core.eholm import Procedure, e_holm
from bbedge.core.evidence import Evidence
from bbedge.core.penalties import bernstein_psi
from bbedge.core.stakes import CENTRED_MAX, paper_stakes
from bbedge.records.values import EvidenceKind, changed

_SLACK = 1e-6  # far above rounding: a look too many costs nothing, a look too few would be wrong
_BELOW, _ABOVE = -3.5, 6.0  # standard deviations between which the normal tail is used
_EXACT_UP_TO = 300  # beyond this many items the tail of a binomial is taken as normal
_BANDWIDTH = 0.2  # of CBTL's kernel, as a share of the benchmark
_GRID = 21
_DRAWS = 200
_EDGE = 1e-6  # keeps the logit of a preference of 0 or 1 finite


def edges_at_looks(design: Design, panels: Floats, *, device: str | None = None) -> Mask:
    """The edges of a design at every look; of a method with memory, all edges so far.

    ``panels`` are replicates x models x items, or replicates x repetitions x models x items: then independent
    repetitions run side by side, which is what a device is good at.
    """
    batch = panels.shape[1:-2]
    evidence, procedure = Evidence(design, device=device, batch=batch), Procedure(design, batch=batch)
    found = []
    for panel in panels:
        evidence.update(panel)
        found.append(procedure.look(evidence).edges_there)
    return to_numpy(evidence.space.xp.stack(found))


def _with(design: Design, kind: EvidenceKind) -> Design:
    return changed(
        design,
        method="bb-edge",
        evidence=kind,
        stakes="paper",
        grid=paper_stakes(),
        margin_share=0.0,
        mean_share=UNSET,
        holm="direct",
        planned=None,
    )


def remade(design: Design, **options: Any) -> Design:  # noqa: ANN401 - handed on to Design.make, which is typed
    """A design for the same models, items and blocks, level, margin and directions; other options as given."""
    kept = {
        "blocks": design.blocks,
        "alpha": design.alpha,
        "tau": design.tau,
        "prediction": design.prediction,
        "candidate": design.family.candidate or None,
        "newcomer": design.family.newcomer,
        "score_range": design.score_range,
    }
    return Design.make(design.models, design.items, **{**kept, **options})


VARIANTS: dict[str, Callable[[Design], Design]] = {
    "BB-EDGE": lambda design: _with(design, "bernstein"),
    "BB-EDGE-sharp": lambda design: _with(design, "sharp"),
    "BB-EDGE-betting": lambda design: _with(design, "betting"),
    "BB-EDGE-X": remade,
    "BFH-e-Holm": lambda design: _with(design, "hoeffding"),
    "CR-EDGE": lambda design: changed(_with(design, "bernstein"), blocks=("one",) * len(design.items)),
}
"""The methods here by name: each is the evidence of a design made from the one it is given."""


def variant_edges(name: str, design: Design, panels: Floats, rng: np.random.Generator) -> Mask:
    """The edges of one of these methods, which need no randomness."""
    return edges_at_looks(VARIANTS[name](design), panels)


def plug_in_edges(design: Design, panels: Floats, rng: np.random.Generator) -> Mask:
    """BB-EDGE-PI: stakes ``min(0.95, 0.5 max(0, mu - mu0) / V)`` from regularised estimates of mean and variance.

    **Repeated looks:** valid, since the stake of a replicate depends on earlier ones only.
    """
    layout, mu0 = design.layout, design.mu0
    count = np.arange(1, len(panels) + 1, dtype=np.float64)[:, None, None]
    means = np.stack([layout.means(panel) for panel in panels])
    residuals = means - (np.cumsum(means, axis=0) - means) / count
    shift, sizes = design.tau / (2.0 * count), np.unique(layout.sizes)
    squares = [_pair_squares(residuals[:, :, layout.sizes == size], shift) for size in sizes]
    # Y = (difference + 1) / 2 per block.
    sums = means.sum(axis=2)
    y_sum = (sums[:, :, None] - sums[:, None, :] + layout.count) / 2.0
    seen = layout.count * (count - 1.0)
    mean = (mu0 + np.cumsum(y_sum, axis=0) - y_sum) / (1.0 + seen)
    all_squares = np.sum(squares, axis=0)
    variance = (0.25 + np.cumsum(all_squares, axis=0) - all_squares) / (1.0 + seen)
    stake = np.minimum(CENTRED_MAX, 0.5 * np.maximum(0.0, mean - mu0) / variance)
    weighted = panels.mean(axis=2)
    advantage = (weighted[:, :, None] - weighted[:, None, :] - design.tau) / 2.0
    gain = stake * (len(design.items) / layout.largest) * advantage
    for size, square in zip(sizes, squares, strict=True):
        gain -= bernstein_psi(stake * (size / layout.largest)) * square
    return to_numpy(e_holm(np.where(design.tested, np.cumsum(gain, axis=0), np.nan), alpha=design.alpha, batch=1))


def _pair_squares(residuals: Floats, shift: Floats) -> Floats:
    """``sum_m x^2`` of every direction in every replicate, ``x = (res_a - res_b) / 2 - shift``."""
    half = (residuals - residuals.mean(axis=1, keepdims=True)) / 2.0
    gram = half @ half.transpose(0, 2, 1)
    own = np.diagonal(gram, axis1=1, axis2=2)
    totals = half.sum(axis=2)
    squares = own[:, :, None] + own[:, None, :] - 2.0 * gram
    squares += -2.0 * shift * (totals[:, :, None] - totals[:, None, :]) + residuals.shape[2] * shift**2
    return np.asarray(np.maximum(squares, 0.0))


def serpant_edges(design: Design, panels: Floats, rng: np.random.Generator) -> Mask:
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


def serpant_r_edges(design: Design, panels: Floats, rng: np.random.Generator) -> Mask:
    """SERPANT-R: the same e-values, looked at after complete replicates only. **Repeated looks:** as SERPANT."""
    n_looks, _, n_items = panels.shape
    items = np.arange(1, n_looks + 1) * n_items
    log_e = np.full((n_looks, *design.tested.shape), np.nan)
    log_e[:, design.tested] = log_evidence(_wins(design, panels, rng)[items - 1], items[:, None], design.mu0)
    return to_numpy(e_holm(log_e, alpha=design.alpha, batch=1))


def _wins(design: Design, panels: Floats, rng: np.random.Generator) -> Ints:
    """Wins of each tested direction after every item, in replicate by item order."""
    stream = panels.transpose(0, 2, 1).reshape(-1, panels.shape[1])
    first, second = np.triu_indices(panels.shape[1], k=1)
    ahead, behind = stream[:, first], stream[:, second]
    won = np.where(ahead == behind, rng.random(ahead.shape) < 0.5, ahead > behind)  # ties go by a fair coin
    pairs = np.cumsum(won, axis=0, dtype=np.int64)
    column = np.zeros(design.tested.shape, dtype=np.int64)
    column[first, second] = column[second, first] = np.arange(len(first))
    better, worse = np.nonzero(design.tested)
    wins = pairs[:, column[better, worse]]
    return np.where(better < worse, wins, np.arange(1, len(wins) + 1)[:, None] - wins)


@cache
def fewest_wins(n_items: int, mu0: float, log_bar: float) -> Ints:
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


def log_evidence(wins: Ints, items: Ints, mu0: float) -> Floats:
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


def _log_tail(k: Floats, n: Floats, deviations: Floats, mu0: float) -> Floats:
    """``log P(Beta(k+1, n-k+1) > mu0) = log P(Binomial(n+1, mu0) <= k)``; 0 where it is 1 to nine digits."""
    tail = np.zeros(k.shape)
    few = n <= _EXACT_UP_TO
    near = ~few & (deviations <= _ABOVE)
    tail[near] = log_ndtr(deviations[near])
    with np.errstate(divide="ignore"):
        tail[few] = np.log(betaincc(k[few] + 1.0, n[few] - k[few] + 1.0, mu0))
    return tail


def cbtl_edges(design: Design, panels: Floats, rng: np.random.Generator) -> Mask:
    """CBTL: ``a -> b`` if the lowest smoothed log-odds gap exceeds ``log((1 + tau) / (1 - tau))`` by the quantile.

    The quantile comes from a multiplier bootstrap per direction. **Assumes:** preferences that vary smoothly with the
    item's place in the benchmark; a claim is made only if one model is ahead everywhere. **Repeated looks:** not
    covered, and neither is multiplicity.
    """
    bar = math.log((1.0 + design.tau) / (1.0 - design.tau))
    draws = rng.standard_normal((len(panels), _DRAWS))
    smooth = smoothed(panels)  # replicates x models x grid: models are smoothed, pairs are differences
    total = np.zeros(smooth.shape[1:])
    weighted = np.zeros((*smooth.shape[1:], _DRAWS))  # draws last: the supremum over the grid then runs over whole rows
    weight = np.zeros(_DRAWS)
    found = np.zeros((len(panels), *design.tested.shape), dtype=np.bool_)
    rank = math.ceil((1.0 - design.alpha) * _DRAWS) - 1  # of the upper empirical quantile over draws
    for look in range(len(panels)):
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
        quantile = np.maximum(0.0, np.partition(wobble.max(axis=1), rank, axis=1)[:, rank])
        found[look, a, b] = low[a, b] - quantile > bar
    return found


def smoothed(panels: Floats) -> Floats:
    """Kernel-smoothed scores of every model over the places of the items, at the grid."""
    places = (np.arange(panels.shape[2]) + 0.5) / panels.shape[2]
    kernel = np.exp(-0.5 * ((np.linspace(0.0, 1.0, _GRID)[:, None] - places) / _BANDWIDTH) ** 2)
    return np.asarray(panels @ (kernel / kernel.sum(axis=1, keepdims=True)).T)
