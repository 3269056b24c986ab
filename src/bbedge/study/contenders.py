r"""Everything that takes part in a study, by name: the methods, the pilot, kinds of evidence, and a limit.

The limit is the best that a single look could do: Holm's z-test with the true variances. The variance of a difference
of replicate means follows from the latent Gaussians of a synthetic benchmark: two binary scores with latent correlation
:math:`\rho` and thresholds :math:`h, k` have covariance

.. math:: \frac{1}{2\pi} \int_0^{\arcsin\rho} \exp\Bigl(-\frac{h^2 + k^2 - 2hk\sin t}{2\cos^2 t}\Bigr)\,dt.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from bbedge.baselines import METHODS, NotApplicable
from bbedge.baselines.e_values import VARIANTS, edges_at_looks, remade
from bbedge.baselines.means import holm, running_means
from bbedge.core.arrays import Floats, Mask
from bbedge.core.design import Design
from bbedge.errors import DomainError
from bbedge.study.synthetic import SyntheticBenchmark

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_FAR = 38.0  # a threshold beyond which a Gaussian never goes, and whose square is still a number

PILOT = "BB-EDGE + pilot"
LIMIT = "Holm z-test, one look"
DIRECT = "betting, design stakes"
"""Of the kinds, the one with the evidence and the stakes of BB-EDGE-X."""
KINDS: dict[str, dict[str, str]] = {
    "hoeffding": {"evidence": "hoeffding"},
    "bernstein": {"evidence": "bernstein"},
    "bernstein, two-way": {"evidence": "bernstein", "prediction": "two-way"},
    "sharp": {"evidence": "sharp"},
    "sharp, design stakes": {"evidence": "sharp", "stakes": "design"},
    "betting": {"evidence": "betting"},
    DIRECT: {"evidence": "betting", "stakes": "design"},
    "betting, design stakes, two-way": {"evidence": "betting", "stakes": "design", "prediction": "two-way"},
}
"""Options of a design by the name of what they try; options that are not named are as published."""

WHOLE_ALPHA = "BB-EDGE-X, whole alpha"
TWO_WAY = "BB-EDGE-X, two-way"
WHOLE_ALPHA_TWO_WAY = "BB-EDGE-X, whole alpha, two-way"
X_ONE_BLOCK = "BB-EDGE-X, one block"
_OF_X: dict[str, dict[str, str | float]] = {
    WHOLE_ALPHA: {"margin_share": 0.0},
    TWO_WAY: {"prediction": "two-way"},
    WHOLE_ALPHA_TWO_WAY: {"margin_share": 0.0, "prediction": "two-way"},
    X_ONE_BLOCK: {"blocks": "one"},
}
"""Options of ``bb-edge-x`` by the name of what they change; BB-EDGE-X itself is what ``certify`` uses."""


def claims(
    name: str, benchmark: SyntheticBenchmark, design: Design, panels: Floats, rng: np.random.Generator
) -> NDArray[np.generic] | NotApplicable:
    """What a contender claims at every look: edges, or rank intervals for the methods that give only those."""
    if name == LIMIT:
        return z_test_edges(benchmark, design, panels)
    own = variant_design(name, design)
    return METHODS[name].apply(design, panels, rng) if own is None else edges_at_looks(own, panels)


def gives_ranks(name: str) -> bool:
    """Whether a contender claims rank intervals and not edges."""
    return name in METHODS and METHODS[name].claims == "ranks"


def variant_design(name: str, design: Design) -> Design | None:
    """The design whose evidence a contender is, for those that are nothing else."""
    if name in VARIANTS:
        return VARIANTS[name](design)
    if name not in KINDS and name not in _OF_X:
        return None
    return remade(design, **({"method": "bb-edge", **KINDS[name]} if name in KINDS else {**_OF_X[name]}))


def pilot_edges(design: Design, panels: Floats, *, pilot: int, k: int) -> Mask:
    """Pilot-targeted Top-k: edges at the looks after the pilot, which itself is no evidence."""
    best = np.argsort(-panels[:pilot].mean(axis=(0, 2)), kind="stable")[:k]
    return edges_at_looks(remade(design, method="bb-edge", candidate=[design.models[i] for i in best]), panels[pilot:])


@lru_cache(maxsize=16)
def difference_variances(benchmark: SyntheticBenchmark) -> Floats:
    """Variance of the difference of two models' means over one replicate, for every pair of a binary benchmark."""
    if benchmark.scoring != "binary" or benchmark.levels is not None or np.any(np.array(benchmark.spread) != 1.0):
        raise DomainError("variances are known for plain binary scores only")
    probabilities, blocks = benchmark.probabilities, benchmark.block_of_item
    thresholds = np.clip(ndtri(probabilities), -_FAR, _FAR)
    own = (probabilities * (1.0 - probabilities)).sum(axis=1)
    for block in range(int(blocks[-1]) + 1):
        members = np.flatnonzero(blocks == block)
        if len(members) > 1:
            h = thresholds[:, members]
            inside = covariance(h[:, :, None], h[:, None, :], float(benchmark.block_shares[members[0]]))
            inside[:, np.arange(len(members)), np.arange(len(members))] = 0.0
            own += inside.sum(axis=(1, 2))
    shared = np.stack([covariance(each, thresholds, benchmark.kappa_item).sum(axis=1) for each in thresholds])
    variances: Floats = (own[:, None] + own - 2.0 * shared) / benchmark.n_items**2
    np.fill_diagonal(variances, 0.0)
    variances.flags.writeable = False  # shared by all repetitions
    return variances


def covariance(h: Floats, k: Floats, rho: float) -> Floats:
    """Covariance of ``1{X <= h}`` and ``1{Y <= k}`` for standard Gaussians with correlation ``rho``."""
    half = float(0.5 * np.arcsin(rho))
    total = np.zeros(np.broadcast_shapes(h.shape, k.shape))
    for node, weight in zip(half * (_NODES + 1.0), _WEIGHTS, strict=True):
        total += weight * np.exp(-(h**2 + k**2 - 2.0 * h * k * np.sin(node)) / (2.0 * np.cos(node) ** 2))
    return total * half / (2.0 * np.pi)


def z_test_edges(benchmark: SyntheticBenchmark, design: Design, panels: Floats) -> Mask:
    """Holm's z-test with known variances at every look, as if each look were the only one."""
    statistics = running_means(panels)
    deviation = np.sqrt(difference_variances(benchmark))
    np.fill_diagonal(deviation, 1.0)
    z = (statistics.mean - design.tau) * np.sqrt(statistics.count) / deviation
    return holm(ndtr(-z), design.tested, design.alpha)
