"""From what a method claimed to how right and how useful it was, one repetition at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bbedge.core.arrays import Floats, Ints, Mask
from bbedge.core.paths import closure_by_products


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
