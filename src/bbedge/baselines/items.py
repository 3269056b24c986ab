"""The usual paired test over items: Item-t-Holm.

It answers another question than the rest: whether the order of two models would hold on other items like these. The
items are the random sample and the runs are averaged away, so that one run is enough and more runs help little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from bbedge.baselines.means import holm
from bbedge.core.design import Design
from bbedge.errors import DesignError

Array = NDArray[np.float64]
Edges = NDArray[np.bool_]

_TIE = 1e-12  # means of equal scores in another order differ by rounding alone


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDifferences:
    """Mean differences over items, row minus column, after r = 1, 2, ... runs."""

    mean: Array
    """Mean difference: looks x models x models."""
    error: Array
    """Its standard error with items clustered in blocks, likewise."""
    freedom: int
    """Degrees of freedom: blocks less one."""

    def p_values(self, tau: float) -> Array:
        """Two-sided p-values of ``-tau <= Delta <= tau``, the same for both directions of a pair.

        Twice the smaller of the two one-sided ones: without a margin that is the usual two-sided t-test.
        """
        gap = self.mean - tau
        with np.errstate(divide="ignore", invalid="ignore"):
            t = gap / self.error
        # Without any variation the difference is taken as known.
        t = np.where(self.error > _TIE, t, np.where(gap > _TIE, np.inf, -np.inf))
        one_sided = stdtr(float(self.freedom), -t)
        result: Array = np.minimum(1.0, 2.0 * np.minimum(one_sided, one_sided.transpose(0, 2, 1)))
        return result


def item_differences(design: Design, panels: Array) -> ItemDifferences:
    """Item scores, each the mean of the runs so far, compared between models.

    With ``N`` items in ``G`` blocks and ``u_g`` the sum over block ``g`` of an item's difference less the mean
    difference, the squared standard error is ``G / (G - 1) * sum_g u_g^2 / N^2``. This is the cluster-robust variance
    of the mean with the usual correction for few clusters.
    """
    layout = design.layout
    if layout.count < 2:
        raise DesignError("Item-t-Holm compares blocks and needs at least 2 of them")
    n_looks, n_models, n_items = panels.shape
    mean = np.empty((n_looks, n_models, n_models))
    squares = np.empty_like(mean)
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
    return ItemDifferences(mean=mean, error=error, freedom=layout.count - 1)


def item_t_holm_edges(design: Design, panels: Array, rng: np.random.Generator) -> Edges:
    """Item-t-Holm: paired two-sided t-tests over items, errors clustered by block, Holm's correction over pairs.

    ``a -> b`` if the pair differs and ``a`` has the higher mean. **Assumes:** blocks that are a random sample of many
    like them. **Repeated looks:** not covered; the level holds at one look fixed beforehand, and for the order on
    other items like these. Whether further runs of *these* items would give the same order is not what it tests.
    """
    differences = item_differences(design, panels)
    either = design.tested | design.tested.T
    differ = holm(differences.p_values(design.tau), np.triu(either, k=1), design.alpha)
    differ |= differ.transpose(0, 2, 1)
    found: Edges = differ & (differences.mean > design.tau) & design.tested
    return found
