"""The check of a panel before it enters the evidence: every score in [0, 1], and present unless the design says so."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import Array, Space, to_numpy
from bbedge.core.kinds import Gaps
from bbedge.errors import DataError
from bbedge.text import quoted


def check_panel(
    panel: object,
    *,
    space: Space,
    models: Sequence[str],
    items: Sequence[str],
    batch: tuple[int, ...] = (),
    shares: NDArray[np.float64] | None = None,
    gaps: Gaps = "refuse",
) -> tuple[Array, Array]:
    """The panel as float64 in its space and every model's mean, or an error that names the cell that is unusable.

    ``shares`` are those of the items in the mean; without them all have the same. Where ``gaps`` allows missing scores,
    the mean of a model that misses one is NaN.
    """
    xp = space.xp
    try:
        # Side by side in memory, NumPy adds a row's scores pairwise, which the account of rounding counts on.
        scores = space.asarray(np.ascontiguousarray(panel) if space.is_numpy else panel)
    except (TypeError, ValueError) as error:
        raise DataError(f"the scores are not a table of numbers with rows of one length ({error})") from error
    shape = (len(models), len(items))
    if tuple(scores.shape) != batch + shape:
        raise DataError(
            f"panel of shape {tuple(scores.shape)}; expected {shape[0]} models x {shape[1]} items, every score present"
        )
    means = []
    for some in _strips(scores, space):
        # Written so that NaN fails: it spreads to the least and the greatest, and no comparison with it holds.
        if not (float(xp.min(some)) >= 0.0 and float(xp.max(some)) <= 1.0):
            allowed = xp.isnan(some) if gaps == "worst-case" else False
            if not bool(xp.all(allowed | ((some >= 0.0) & (some <= 1.0)))):
                _name_the_cell(to_numpy(scores), models, items, gaps)
        means.append(_means(some, space, shares))
    return scores, means[0] if len(means) == 1 else xp.concat(means, axis=-1)


def model_means(scores: Array, space: Space, shares: NDArray[np.float64] | None) -> Array:
    """Every model's mean of a checked panel, with these shares of the items; without them all have the same."""
    if shares is not None:  # where most items have none, most of the panel need not be read
        places = np.flatnonzero(shares)
        if 2 * len(places) < len(shares):
            scores, shares = space.take(scores, places, axis=-1), shares[places]
    means = [_means(some, space, shares) for some in _strips(scores, space)]
    return means[0] if len(means) == 1 else space.xp.concat(means, axis=-1)


def both_sides(scores: Array, space: Space) -> Array:
    """Two rows for each model: all models with missing scores as 0, then all models with missing scores as 1."""
    xp, missing = space.xp, space.xp.isnan(scores)
    return xp.concat([xp.where(missing, 0.0, scores), xp.where(missing, 1.0, scores)], axis=-2)


def _strips(scores: Array, space: Space) -> list[Array]:
    """Some rows at a time: what fits a cache is read from memory once."""
    *batch, n_models, n_items = scores.shape
    step = max(1, space.tile // max(1, math.prod(batch) * n_items))
    return [scores[..., start : min(start + step, n_models), :] for start in range(0, n_models, step)]


def _means(some: Array, space: Space, shares: NDArray[np.float64] | None) -> Array:
    if shares is None:
        return space.xp.mean(some, axis=-1)
    # Added up and not multiplied as matrices, so that the roundings are those of a sum.
    return space.xp.sum(some * space.asarray(shares), axis=-1)


def _name_the_cell(scores: np.ndarray, models: Sequence[str], items: Sequence[str], gaps: Gaps) -> None:
    usable = (scores >= 0.0) & (scores <= 1.0)
    place = tuple(np.argwhere(~(usable | np.isnan(scores) if gaps == "worst-case" else usable))[0])
    raise DataError(
        f"score {scores[place]} of model {quoted(models[place[-2]])} on item {quoted(items[place[-1]])} is not in "
        "[0, 1]; a missing or failed score is not a zero: complete the panel or leave the whole replicate out"
    )
