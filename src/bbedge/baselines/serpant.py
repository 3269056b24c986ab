"""SERPANT and SERPANT-R: e-processes on a stream of binary preferences, item by item.

**Assumes:** items that are independent and alike, so that every preference is a coin of the same bias.
**Repeated looks:** valid under that assumption, for a stream of items; on a fixed benchmark, whose items differ and may
depend on each other, the error is not controlled. SERPANT looks after every item and keeps what it once rejected;
SERPANT-R looks only after complete replicates.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincc, gammaln, log_ndtr

from bbedge.core.design import Design
from bbedge.core.eholm import e_holm

Array = NDArray[np.float64]

_EXACT_UP_TO = 300  # beyond this many items the tail of a binomial is taken as normal


def edges(design: Design, panels: Array, rng: np.random.Generator) -> NDArray[np.bool_]:
    """SERPANT: looked at after every item, absorbing, reported after every replicate."""
    certified = _every_item(design, panels, rng)
    per_replicate = certified.reshape(len(panels), panels.shape[2], *certified.shape[1:])
    return np.logical_or.accumulate(per_replicate.any(axis=1), axis=0)


def edges_at_replicates(design: Design, panels: Array, rng: np.random.Generator) -> NDArray[np.bool_]:
    """SERPANT-R: the same e-values, looked at after complete replicates only."""
    wins = _wins(panels, rng)[panels.shape[2] - 1 :: panels.shape[2]]
    items = np.arange(1, len(panels) + 1) * panels.shape[2]
    log_e = np.where(design.tested, log_evidence(wins, items[:, None, None], design.mu0), np.nan)
    return np.array([e_holm(look, alpha=design.alpha) for look in log_e])


def _wins(panels: Array, rng: np.random.Generator) -> Array:
    """Wins of row over column after every item, in replicate by item order; ties go by a fair coin."""
    stream = panels.transpose(0, 2, 1).reshape(-1, panels.shape[1])
    difference = stream[:, :, None] - stream[:, None, :]
    coin = np.triu(rng.random(difference.shape) < 0.5, k=1)
    coin = coin | np.tril(~coin.transpose(0, 2, 1), k=-1)
    return np.cumsum(np.where(difference == 0.0, coin, difference > 0.0), axis=0, dtype=np.float64)


def log_evidence(wins: Array, items: NDArray[np.int64], mu0: float) -> Array:
    """Uniform mixture over win rates in ``(mu0, 1)`` against ``mu0``, for k wins in n items.

    ``log E = log B(k+1, n-k+1) + log P(Beta(k+1, n-k+1) > mu0) - log(1 - mu0) - k log mu0 - (n-k) log(1 - mu0)``
    """
    k, n = wins, items.astype(np.float64)
    top = int(items.max()) + 2
    log_factorial = gammaln(np.arange(1, top + 1, dtype=np.float64))
    whole = k.astype(np.int64)
    log_beta = log_factorial[whole] + log_factorial[items - whole] - log_factorial[items + 1]
    likelihood = k * math.log(mu0) + (n - k) * math.log1p(-mu0)
    log_e: Array = log_beta + _log_tail(k, n, mu0) - math.log1p(-mu0) - likelihood
    return log_e


def _log_tail(k: Array, n: Array, mu0: float) -> Array:
    """``log P(Beta(k+1, n-k+1) > mu0) = log P(Binomial(n+1, mu0) <= k)``."""
    centre = (k + 0.5 - (n + 1.0) * mu0) / np.sqrt((n + 1.0) * mu0 * (1.0 - mu0))
    tail = log_ndtr(centre)
    few = np.broadcast_to(n <= _EXACT_UP_TO, k.shape)
    if few.any():
        with np.errstate(divide="ignore"):
            tail[few] = np.log(betaincc(k[few] + 1.0, np.broadcast_to(n, k.shape)[few] - k[few] + 1.0, mu0))
    return tail


def _every_item(design: Design, panels: Array, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Direct e-Holm after every item, all at once."""
    wins = _wins(panels, rng)
    tested = design.tested
    items = np.arange(1, len(wins) + 1)
    log_e = log_evidence(wins[:, tested], items[:, None], design.mu0)
    bar = 1.0 / design.alpha
    weak = log_e < math.log(bar)
    deficit = np.where(weak, bar - np.exp(np.where(weak, log_e, 0.0)), 0.0).sum(axis=1, keepdims=True)
    certified = np.zeros(wins.shape, dtype=np.bool_)
    certified[:, tested] = log_e >= np.log(bar + deficit)
    return certified
