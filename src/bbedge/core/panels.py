"""A replicate as a matrix of models x items: its check before it enters the evidence, and its block means."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from bbedge.core.arrays import Array, Floats, Ints, Mask, Rows, Space, numpy_space, to_numpy
from bbedge.errors import DataError
from bbedge.records.values import Gaps, grouped
from bbedge.text import quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLayout:
    """A partition of the items, in the form that makes block means one pass over a panel.

    The weight of a block is the sum of its items' weights, its mean is weighted likewise. Items and blocks of weight
    zero are left out.

    >>> layout = BlockLayout.of(["a", "b", "a"])
    >>> layout.means(np.array([[0.0, 1.0, 1.0]])).tolist()
    [[0.5, 1.0]]
    >>> layout = BlockLayout.of(["a", "b", "a"], [1.0, 0.0, 3.0])
    >>> layout.means(np.array([[0.0, 1.0, 1.0]])).tolist()
    [[0.75]]
    """

    order: Rows
    """The items that weigh something, each block's side by side."""
    starts: Rows
    """Where each block begins in that order."""
    sizes: Ints
    """Number of items in each block."""
    relative_weights: Floats
    """``w_m / w_max``: the share of a stake that each block carries."""
    weight_ratio: float
    """What all blocks weigh together, in units of the heaviest block."""
    within: Floats | None = None
    """The share of each item in the weight of its block, in the same order; ``None`` if all items weigh the same."""
    overall: Floats | None = None
    """The share of each item in the weight of all items, in the order of a panel; ``None`` likewise."""

    @classmethod
    def of(cls, blocks: Sequence[Hashable], weights: Sequence[float] | None = None) -> BlockLayout:
        """Lay out items by the label of their block; blocks are numbered as they first appear.

        ``weights`` holds a finite weight for each item, at least 0 and not all 0; without it all weigh the same.
        """
        present = range(len(blocks)) if weights is None else [i for i, weight in enumerate(weights) if weight > 0.0]
        number: dict[Hashable, int] = {}
        of_item = np.array([number.setdefault(blocks[i], len(number)) for i in present], dtype=np.intp)
        order = np.argsort(of_item, kind="stable")
        sizes = np.bincount(of_item, minlength=len(number)).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        if weights is None:
            ratio = len(blocks) / int(sizes.max())
            return cls(
                order=order, starts=starts, sizes=sizes, relative_weights=sizes / sizes.max(), weight_ratio=ratio
            )
        # As whole numbers, so that sums are exact and every share is rounded once.
        whole = _in_one_unit([weights[i] for i in present])
        block_weights = [0] * len(number)
        for block, weight in zip(of_item.tolist(), whole, strict=True):
            block_weights[block] += weight
        heaviest, total = max(block_weights), sum(whole)
        within = np.array([weight / block_weights[block] for block, weight in zip(of_item, whole, strict=True)])
        overall = np.zeros(len(blocks))
        overall[present] = [weight / total for weight in whole]
        return cls(
            order=np.array(present, dtype=np.intp)[order],
            starts=starts,
            sizes=sizes,
            relative_weights=np.array([weight / heaviest for weight in block_weights]),
            weight_ratio=total / heaviest,
            within=within[order],
            overall=overall,
        )

    @property
    def count(self) -> int:
        """Number of blocks."""
        return len(self.sizes)

    @property
    def largest(self) -> int:
        """Number of items in the largest block."""
        return int(self.sizes.max())

    @property
    def weights(self) -> Floats:
        """``w_m``: the share of each block in the weight of all items."""
        return self.sizes / len(self.order) if self.within is None else self.relative_weights / self.weight_ratio

    @property
    def roundings(self) -> int:
        """Roundings of a block mean, at most: of its sum, and of the weights."""
        return self.largest if self.within is None else self.largest + 4

    @property
    def effective_count(self) -> float:
        """``sum_m (w_m / w_max)^2``: how many blocks as heavy as the heaviest these are worth."""
        return float(np.square(self.relative_weights).sum())

    @property
    def contents(self) -> list[tuple[tuple[int, float], ...]]:
        """For each block its items and their shares in its mean: blocks with the same contents have the same mean."""
        shares = np.repeat(1.0 / self.sizes, self.sizes) if self.within is None else self.within
        pairs = zip(self.order.tolist(), shares.tolist(), strict=True)
        return [tuple(sorted(islice(pairs, size))) for size in self.sizes.tolist()]

    def means(self, panel: Array, space: Space | None = None) -> Array:
        """Block means of a (batch x) models x items panel, as (batch x) models x blocks."""
        space = space or numpy_space()
        if self.largest == 1:  # blocks are numbered as their items come
            return panel if self.count == panel.shape[-1] else space.take(panel, self.order, axis=-1)
        # Blocks of one size are summed together: their items lie side by side as blocks x size.
        found, came_from = [], []
        for size in np.unique(self.sizes):
            blocks = np.flatnonzero(self.sizes == size)
            places = (self.starts[blocks, None] + np.arange(size)).ravel()
            items = space.take(panel, self.order[places], axis=-1)
            if self.within is not None:
                items = items * space.asarray(self.within[places])
            items = space.xp.reshape(items, (*panel.shape[:-1], len(blocks), int(size)))
            found.append(space.xp.sum(items, axis=-1) / (int(size) if self.within is None else 1))
            came_from.append(blocks)
        if len(found) == 1:
            return found[0]
        return space.take(space.xp.concat(found, axis=-1), np.argsort(np.concatenate(came_from)), axis=-1)


def _in_one_unit(weights: Sequence[float]) -> list[int]:
    """The weights as multiples of a power of two that divides them all: floats are such multiples."""
    ratios = [float(weight).as_integer_ratio() for weight in weights]
    unit = max(denominator for _, denominator in ratios)
    return [numerator * (unit // denominator) for numerator, denominator in ratios]


def check_panel(
    panel: object,
    *,
    space: Space,
    models: Sequence[str],
    items: Sequence[str],
    batch: tuple[int, ...] = (),
    shares: Floats | None = None,
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
        in_range = float(xp.min(some)) >= 0.0 and float(xp.max(some)) <= 1.0
        if not in_range and not bool(xp.all(_usable(xp, some, gaps))):
            whole = to_numpy(scores)
            cell = tuple(np.argwhere(~_usable(np, whole, gaps))[0])
            raise DataError(
                f"score {whole[cell]} of model {quoted(models[cell[-2]])} on item {quoted(items[cell[-1]])} is not in "
                "[0, 1]; a missing or failed score is not a zero: complete the panel or leave the whole replicate out"
            )
        means.append(_means(some, space, shares))
    return scores, means[0] if len(means) == 1 else xp.concat(means, axis=-1)


def _usable(xp: Any, scores: Array, gaps: Gaps) -> Array:  # noqa: ANN401 - libraries have no common type
    in_range = (scores >= 0.0) & (scores <= 1.0)
    return in_range | xp.isnan(scores) if gaps == "worst-case" else in_range


def model_means(scores: Array, space: Space, shares: Floats | None) -> Array:
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


def _means(some: Array, space: Space, shares: Floats | None) -> Array:
    if shares is None:
        return space.xp.mean(some, axis=-1)
    # Added up and not multiplied as matrices, so that the roundings are those of a sum.
    return space.xp.sum(some * space.asarray(shares), axis=-1)


def scored_items(panels: Iterable[Floats]) -> Mask:
    """Which items each model has a score on in any of the panels: models x items.

    >>> scored_items([np.array([[1.0, np.nan], [np.nan, np.nan]]), np.array([[np.nan, np.nan], [0.0, np.nan]])])
    array([[ True, False],
           [ True, False]])
    """
    scored: Mask | None = None
    for panel in panels:
        scored = ~np.isnan(panel) if scored is None else scored | ~np.isnan(panel)
    return np.zeros((0, 0), dtype=np.bool_) if scored is None else scored


def block_members(items: Sequence[str], blocks: Sequence[str]) -> list[list[str]]:
    """The items of each block, all sorted: the same whatever the order of items and the labels of blocks are."""
    return sorted(map(sorted, grouped(zip(blocks, items, strict=True)).values()))


def content_hash(content: Mapping[str, object]) -> hashlib._Hash:
    """The SHA-256 of plain values in one form, to which more may be added."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii"))
