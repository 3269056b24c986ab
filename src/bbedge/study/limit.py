r"""The best that a single look could do: Holm's z-test with variances that nobody knows in practice.

The variance of a difference of replicate means follows from the latent Gaussians of a synthetic benchmark: two binary
scores with latent correlation :math:`\rho` and thresholds :math:`h, k` have covariance

.. math:: \frac{1}{2\pi} \int_0^{\arcsin\rho} \exp\Bigl(-\frac{h^2 + k^2 - 2hk\sin t}{2\cos^2 t}\Bigr)\,dt.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from bbedge.baselines.means import holm, running
from bbedge.core.design import Design
from bbedge.errors import DomainError
from bbedge.study.synthetic import SyntheticBenchmark

Array = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_FAR = 38.0  # a threshold beyond which a Gaussian never goes, and whose square is still a number


def difference_variances(benchmark: SyntheticBenchmark) -> Array:
    """Variance of the difference of two models' means over one replicate, for every pair of a binary benchmark."""
    if benchmark.scoring != "binary" or benchmark.levels is not None or np.any(np.array(benchmark.spread) != 1.0):
        raise DomainError("variances are known for plain binary scores only")
    probabilities = benchmark.probabilities
    thresholds = np.clip(ndtri(probabilities), -_FAR, _FAR)
    blocks = benchmark.block_of_item
    shares = benchmark.block_shares
    own = (probabilities * (1.0 - probabilities)).sum(axis=1)
    for block in range(int(blocks[-1]) + 1):
        members = np.flatnonzero(blocks == block)
        if len(members) > 1:
            h = thresholds[:, members]
            inside = covariance(h[:, :, None], h[:, None, :], float(shares[members[0]]))
            inside[:, np.arange(len(members)), np.arange(len(members))] = 0.0
            own += inside.sum(axis=(1, 2))
    shared = np.zeros((len(own), len(own)))
    for a in range(len(own)):
        shared[a] = covariance(thresholds[a], thresholds, benchmark.kappa_item).sum(axis=1)
    variances: Array = (own[:, None] + own - 2.0 * shared) / benchmark.n_items**2
    np.fill_diagonal(variances, 0.0)
    return variances


def covariance(h: Array, k: Array, rho: float) -> Array:
    """Covariance of ``1{X <= h}`` and ``1{Y <= k}`` for standard Gaussians with correlation ``rho``."""
    half = 0.5 * np.arcsin(rho)
    total = np.zeros(np.broadcast_shapes(h.shape, k.shape))
    for node, weight in zip(half * (_NODES + 1.0), _WEIGHTS, strict=True):
        total += weight * np.exp(-(h**2 + k**2 - 2.0 * h * k * np.sin(node)) / (2.0 * np.cos(node) ** 2))
    result: Array = total * half / (2.0 * np.pi)
    return result


def z_test_edges(benchmark: SyntheticBenchmark, design: Design, panels: Array) -> NDArray[np.bool_]:
    """Holm's z-test with known variances at every look, as if each look were the only one."""
    statistics = running(panels)
    deviation = np.sqrt(difference_variances(benchmark))
    np.fill_diagonal(deviation, 1.0)
    z = (statistics.mean - design.tau) * np.sqrt(statistics.count) / deviation
    return holm(ndtr(-z), design.tested, design.alpha)
