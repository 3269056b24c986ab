r"""What takes part in a study, by name, and how right and how useful its claims are, one repetition at a time.

Methods, the pilot, kinds of evidence and a limit take part. The limit is the best that a single look could do: Holm's
z-test with the true variances. The variance of a difference of replicate means follows from the latent Gaussians of a
synthetic benchmark: two binary scores with latent correlation :math:`\rho` and thresholds
:math:`h, k` have covariance

.. math:: \frac{1}{2\pi} \int_0^{\arcsin\rho} \exp\Bigl(-\frac{h^2 + k^2 - 2hk\sin t}{2\cos^2 t}\Bigr)\,dt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from bbedge.baselines import METHODS, NotApplicable
from bbedge.baselines.e_values import VARIANTS, edges_at_looks, remade
from bbedge.baselines.means import holm, running_means
from bbedge.baselines.methods import Method, Target, Validity
from bbedge.citation import Reference
from bbedge.core.arrays import Floats, Ints, Mask
from bbedge.core.design import Design
from bbedge.core.graph import Graph
from bbedge.core.paths import closure_by_products
from bbedge.errors import DomainError
from bbedge.study.synthetic import SyntheticBenchmark

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_FAR = 38.0  # a threshold beyond which a Gaussian never goes, and whose square is still a number

PILOT = "BB-EDGE + pilot"
LIMIT = "Holm z-test, one look"
DIRECT = "betting, design stakes"
"""Of the kinds, the one with the evidence of BB-EDGE-X."""
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
DESIGN_STAKES = "BB-EDGE-X, design stakes"
DESIGN_STAKES_TWO_WAY = "BB-EDGE-X, design stakes, two-way"
_OF_X: dict[str, dict[str, str | float]] = {
    "BB-EDGE-X": {},
    WHOLE_ALPHA: {"margin_share": 0.0},
    TWO_WAY: {"prediction": "two-way"},
    WHOLE_ALPHA_TWO_WAY: {"margin_share": 0.0, "prediction": "two-way"},
    X_ONE_BLOCK: {"blocks": "one"},
    DESIGN_STAKES: {"stakes": "design"},
    DESIGN_STAKES_TWO_WAY: {"stakes": "design", "prediction": "two-way"},
}
"""Options of ``bb-edge-x`` by the name of what they change; BB-EDGE-X itself is what ``certify`` uses."""

PLANNED = ", planned"
"""Ends the name of one of these that plans exactly the runs of the setting."""


def claims(
    name: str, benchmark: SyntheticBenchmark, design: Design, panels: Floats, rng: np.random.Generator
) -> NDArray[np.generic] | NotApplicable:
    """What a contender claims at every look: edges, or rank intervals for the methods that give only those."""
    if name == LIMIT:
        return z_test_edges(benchmark, design, panels)
    own = variant_design(name, design, runs=len(panels))
    return METHODS[name].apply(design, panels, rng) if own is None else edges_at_looks(own, panels)


def gives_ranks(name: str) -> bool:
    """Whether a contender claims rank intervals and not edges."""
    return name in METHODS and METHODS[name].claims == "ranks"


def variant_design(name: str, design: Design, *, runs: int) -> Design | None:
    """The design whose evidence a contender is in a setting of so many runs, for those that are nothing else."""
    if name in KINDS:
        return remade(design, method="bb-edge", **KINDS[name])
    own = name.removesuffix(PLANNED)
    if own in _OF_X:
        return remade(design, **_OF_X[own], planned=None if own == name else runs)
    return VARIANTS[name](design) if name in VARIANTS else None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What one method would claim."""

    method: str
    """Its name."""
    control: Validity
    """Where its error is controlled."""
    assumes: str
    """What it assumes."""
    target: Target
    """What its claims are about: further runs of these items, or other items like them."""
    references: tuple[Reference, ...]
    """Where it is described."""
    edges: int | None = None
    """Directions claimed: at any look where claims stand because the error is controlled at all looks, else at the
    last; ``None`` for methods of rank intervals."""
    pairs: int | None = None
    """Pairs decided by these and the paths they form."""
    withdrawn: int | None = None
    """Directions claimed at an earlier look and no longer; none where claims stand."""
    alone: int | None = None
    """Directions claimed that BB-EDGE-X claims at no look."""
    width: float | None = None
    """Mean width of the rank intervals that follow."""
    current_edges: int | None = None
    """Directions claimed at the last look."""
    not_applicable: str | None = None
    """Why the method cannot be used on these scores, if it cannot; its numbers are then ``None``."""


def compared_claims(methods: Iterable[Method], design: Design, panels: Floats, seed: int) -> Iterator[Claims]:
    """What each method would claim on these scores, with a generator of this seed each, beside BB-EDGE-X."""
    certified = METHODS["BB-EDGE-X"].run(design, panels, np.random.default_rng(seed)).astype(bool).any(axis=0)
    for method in methods:
        result, numbers = method.apply(design, panels, np.random.default_rng(seed)), dict[str, Any]()
        if isinstance(result, NotApplicable):
            numbers["not_applicable"] = result.reason
        elif method.claims == "ranks":
            numbers["width"] = _mean_width(result[-1])
        else:
            edges = result.astype(bool)
            claimed = edges.any(axis=0)
            graph = Graph(np.asarray(claimed if method.validity == "all looks" else edges[-1]))
            numbers = {
                "edges": graph.n_edges,
                "pairs": graph.n_resolved,
                "withdrawn": int((claimed & ~graph.edges).sum()),
                "alone": int((graph.edges & ~certified).sum()),
                "width": _mean_width(np.array(graph.rank_intervals)),
                "current_edges": int(edges[-1].sum()),
            }
        yield Claims(
            method=method.name,
            control=method.validity,
            assumes=method.assumes,
            target=method.target,
            references=method.references,
            **numbers,
        )


def _mean_width(intervals: NDArray[np.generic]) -> float:
    return float(np.diff(intervals.astype(float), axis=1).mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A quantity that studies report."""

    label: str
    """What it is called on axes and in tables."""
    kind: Literal["share", "mean"]
    """``share``: the share of repetitions in which something happened; ``mean``: the mean of a number."""
    meaning: str
    """What it is, in one line."""
    target: Literal["alpha", "1 - alpha"] | None = None
    """The level that a method with a guarantee keeps to, if there is one."""


METRICS: dict[str, Metric] = {
    "fwer": Metric(
        label="FWER up to r",
        kind="share",
        meaning="repetitions with any false edge at any look so far",
        target="alpha",
    ),
    "false of new items": Metric(
        label="false of new items at r",
        kind="share",
        meaning="repetitions with any edge at this look that is false of the population of items",
        target="alpha",
    ),
    "power": Metric(label="power at r", kind="mean", meaning="share of the true edges that the look certifies"),
    "standing power": Metric(
        label="standing power at r",
        kind="mean",
        meaning="share of the true edges certified at this look or an earlier one",
    ),
    "resolved": Metric(label="pairs resolved at r", kind="mean", meaning="pairs decided by edges and their paths"),
    "standing resolved": Metric(
        label="standing pairs resolved at r",
        kind="mean",
        meaning="pairs decided by the edges of all looks so far and their paths",
    ),
    "coverage": Metric(
        label="coverage up to r",
        kind="share",
        meaning="repetitions in which every rank interval of every look so far holds the true rank",
        target="1 - alpha",
    ),
    "width": Metric(label="rank interval width at r", kind="mean", meaning="highest minus lowest rank, mean of models"),
    "standing width": Metric(
        label="standing rank interval width at r",
        kind="mean",
        meaning="the same by the edges of all looks so far; not defined for methods without edges",
    ),
    "certified": Metric(label="Top-k certified by r", kind="share", meaning="repetitions with a Top-k certificate"),
    "standing certified": Metric(
        label="standing Top-k certified by r",
        kind="share",
        meaning="repetitions with a Top-k certificate by the edges of all looks so far",
    ),
    "fcp": Metric(
        label="false Top-k by r",
        kind="share",
        meaning="repetitions with a Top-k certificate that is not true",
        target="alpha",
    ),
    "cr": Metric(
        label="CR", kind="mean", meaning="replicates to the first Top-k certificate; the budget if there is none"
    ),
    "standing cr": Metric(
        label="standing CR",
        kind="mean",
        meaning="replicates to the first Top-k certificate by the edges of all looks so far; the budget if there is "
        "none",
    ),
    "false": Metric(
        label="false certificates up to r",
        kind="mean",
        meaning="share of comparisons of a model with itself that gave a certificate at any look so far",
        target="alpha",
    ),
    "wrong": Metric(
        label="wrong verdict up to r",
        kind="share",
        meaning="pipelines with a PASS of a false claim or a FAIL of a true one at any look so far",
        target="alpha",
    ),
    "failed": Metric(label="FAIL up to r", kind="share", meaning="pipelines with a FAIL at any look so far"),
    "reversed": Metric(
        label="reversed up to r",
        kind="share",
        meaning="pipelines that said PASS and later FAIL, or FAIL and later PASS, so far",
    ),
    "flipped": Metric(
        label="changed up to r",
        kind="share",
        meaning="pipelines whose verdict, once it was PASS or FAIL, has changed in any way so far",
    ),
    "answered": Metric(
        label="answered by r", kind="share", meaning="runs whose question is answered within so many passes"
    ),
    "queries": Metric(
        label="queries", kind="mean", meaning="queries until the answer, in complete passes of all models"
    ),
    "passed": Metric(label="PASS at r", kind="share", meaning="pipelines that say PASS after this run"),
}
"""All metrics by name."""


def above(edges: Mask) -> Mask:
    """The strict order of every look: a reaches b and b does not reach a."""
    reach: Mask = closure_by_products(edges)
    return reach & ~reach.transpose(0, 2, 1)


def standing(edges: Mask) -> Mask:
    """At every look, the edges of this look and of all earlier ones."""
    return np.logical_or.accumulate(edges, axis=0)


def so_far(happened: Mask | np.bool_) -> Floats:
    """1 from the look on at which something first happened."""
    return np.logical_or.accumulate(happened, axis=0).astype(np.float64)


def edge_measures(edges: Mask, null: Mask) -> dict[str, Floats]:
    """Error and power; ``null`` marks the directions whose claim is false.

    ``edges`` are looks x models x models, or looks x repetitions x models x models, and the measures accordingly.
    """
    true = ~null & ~np.eye(len(null), dtype=np.bool_)
    return {
        "fwer": so_far(edges[..., null].any(axis=-1)),
        "power": edges[..., true].mean(axis=-1),
        "standing power": standing(edges)[..., true].mean(axis=-1),
    }


def top_k_measures(edges: Mask, null: Mask, k: int) -> dict[str, Floats]:
    """Top-k certificates: issued, false, and when first; the budget if never."""
    issued, wrong = _top_k(edges, null, k)
    by_all, _ = _top_k(standing(edges), null, k)
    return {
        "certified": so_far(issued),
        "standing certified": so_far(by_all),
        "fcp": so_far(wrong),
        "cr": _first(issued),
        "standing cr": _first(by_all),
    }


def top_k_alone(edges: Mask, null: Mask, k: int) -> dict[str, Floats]:
    """Top-k certificates of each look as if it were the only one, for methods that are valid for a single look."""
    issued, wrong = _top_k(edges, null, k)
    return {"certified": issued.astype(np.float64), "fcp": wrong.astype(np.float64)}


def _top_k(edges: Mask, null: Mask, k: int) -> tuple[Mask, Mask]:
    """Whether each look issues a certificate, and whether that is false."""
    order = above(edges)
    # A certified set consists of the models with everything outside it below them: at least L - k models.
    inside = order.sum(axis=2) >= len(null) - k
    cross = inside[:, :, None] & ~inside[:, None, :]
    issued = (inside.sum(axis=1) == k) & (order | ~cross).all(axis=(1, 2))
    return issued, issued & (cross & null).any(axis=(1, 2))


def _first(issued: Mask) -> Floats:
    return np.array([float(np.argmax(issued) + 1 if issued.any() else len(issued))])


def rank_intervals(edges: Mask) -> Ints:
    """Rank intervals of every look, as looks x models x 2."""
    order = above(edges)
    return np.stack([1 + order.sum(axis=1), order.shape[1] - order.sum(axis=2)], axis=2)


def rank_measures(intervals: Ints, differences: Floats) -> dict[str, Floats]:
    """Coverage of the true ranks and width. A model's true rank is one more than the number of better models."""
    rank = 1 + (differences > 1e-12).sum(axis=0)
    held = ((intervals[:, :, 0] <= rank) & (rank <= intervals[:, :, 1])).all(axis=1)
    return {
        "coverage": np.logical_and.accumulate(held).astype(np.float64),
        "width": np.diff(intervals, axis=2)[:, :, 0].mean(axis=1),
    }


def resolved_measures(edges: Mask) -> dict[str, Floats]:
    """Pairs that each look's order decides, and that of all looks so far."""
    return {
        "resolved": above(edges).sum(axis=(1, 2)).astype(np.float64),
        "standing resolved": above(standing(edges)).sum(axis=(1, 2)).astype(np.float64),
    }
