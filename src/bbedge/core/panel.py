"""The check of a panel before it enters the evidence: complete, and every score in [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import Array, Space, to_numpy
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
) -> tuple[Array, Array]:
    """The panel as float64 in its space and every model's mean, or an error that names the cell that is unusable.

    ``shares`` are those of the items in the mean; without them all have the same.
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
    shares_there = None if shares is None else space.asarray(shares)
    step = max(1, space.tile // max(1, math.prod(batch) * len(items)))
    for start in range(0, len(models), step):  # what fits a cache is read from memory once
        some = scores[..., start : min(start + step, len(models)), :]
        # Written so that NaN fails: it spreads to the least and the greatest, and no comparison with it holds.
        if not (float(xp.min(some)) >= 0.0 and float(xp.max(some)) <= 1.0):
            _name_the_cell(to_numpy(scores), models, items)
        # Added up and not multiplied as matrices, so that the roundings are those of a sum.
        means.append(xp.mean(some, axis=-1) if shares_there is None else xp.sum(some * shares_there, axis=-1))
    return scores, means[0] if len(means) == 1 else xp.concat(means, axis=-1)


def _name_the_cell(scores: np.ndarray, models: Sequence[str], items: Sequence[str]) -> None:
    place = tuple(np.argwhere(~((scores >= 0.0) & (scores <= 1.0)))[0])
    raise DataError(
        f"score {scores[place]} of model {quoted(models[place[-2]])} on item {quoted(items[place[-1]])} is not in "
        "[0, 1]; a missing or failed score is not a zero: complete the panel or leave the whole replicate out"
    )
