r"""A synthetic benchmark: models with known means, items that differ, scores that depend inside blocks.

The probability that a model solves an item is its mean, plus an offset of the item, plus an effect of the two
together; the last two sum to zero over the items, so that the mean stays what it says. One Gaussian per score decides,

.. math:: Z = \sqrt{\kappa_1}\, U_{block, model} + \sqrt{\kappa_2}\, U_{item} + \sqrt{1 - \kappa_1 - \kappa_2}\,e,

and a small ``Z`` is a good answer. Blocks are independent, replicates are independent; nothing else is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr, ndtri

from bbedge.core.arrays import Floats, Ints, Mask
from bbedge.core.design import Design
from bbedge.core.scores import Scores
from bbedge.errors import DomainError

Scoring = Literal["binary", "graded"]


def tied_pairs(low: float, high: float, *, n_pairs: int = 5) -> tuple[float, ...]:
    """Means of pairs of equal models, the pairs equally spaced from ``low`` to ``high``.

    >>> tied_pairs(0.4, 0.6, n_pairs=3)
    (0.4, 0.4, 0.5, 0.5, 0.6, 0.6)
    """
    return tuple(float(mean) for mean in np.linspace(low, high, n_pairs) for _ in range(2))


@dataclass(frozen=True, kw_only=True)
class SyntheticBenchmark:
    """A benchmark whose truth is known. The defaults are the published setting with singleton blocks.

    >>> benchmark = SyntheticBenchmark(heterogeneity=0.2, block_sizes=5)
    >>> benchmark.panel(np.random.default_rng(1)).shape, len(set(benchmark.blocks))
    ((10, 100), 20)
    """

    means: tuple[float, ...] = tied_pairs(0.41, 0.59)
    """True benchmark mean of every model."""
    n_items: int = 100
    """Number of items."""
    block_sizes: int | tuple[int, ...] = 1
    """Items per block: one size for all, or the size of each block in turn."""
    offset: float = 0.08
    """Item offsets are equally spaced from minus to plus this."""
    heterogeneity: float = 0.0
    """Size ``H`` of the effect of model and item together.

    Models at even places gain it on the first half of the items and lose it on the second half; the others the
    reverse. Tied models are then equal on average and nowhere else.
    """
    kappa_block: float | tuple[float, ...] = 0.5
    """Share of the latent variance that the answers of one model to one block have in common: for all, or each."""
    kappa_item: float = 0.1
    """Share of the latent variance that the answers of all models to one item have in common."""
    scoring: Scoring = "binary"
    """``binary``: right or wrong. ``graded``: a power of a uniform with the right mean, skewed unless that is 1/2."""
    spread: float | tuple[float, ...] = 1.0
    """How far scores stray from their probability, for all models or each: 1 as above, 0 not at all."""
    levels: int | None = None
    """If given, scores are rounded at random to multiples of ``1 / levels``, which leaves their means alone."""

    def __post_init__(self) -> None:
        if len(self.means) < 2:
            raise DomainError(f"{len(self.means)} models given; a comparison needs at least 2")
        if self.n_items < 1 or (self.levels is not None and self.levels < 1):
            raise DomainError(f"{self.n_items} items and {self.levels} score levels: both must be at least 1")
        if min(self._sizes, default=0) < 1 or sum(self._sizes) != self.n_items:
            raise DomainError(
                f"block sizes {self.block_sizes} do not split {self.n_items} items; sizes are at least 1 and "
                "sum to the number of items"
            )
        if isinstance(self.kappa_block, tuple) and len(self.kappa_block) != len(self._sizes):
            raise DomainError(f"{len(self.kappa_block)} block shares for {len(self._sizes)} blocks; give one per block")
        shares = self.block_shares
        if not (self.kappa_item >= 0.0 and bool(np.all((shares >= 0.0) & (shares + self.kappa_item <= 1.0)))):
            raise DomainError(
                f"shares of variance {self.kappa_block} (block) and {self.kappa_item} (item) are not possible; "
                "they are at least 0 and sum to at most 1"
            )
        if isinstance(self.spread, tuple) and len(self.spread) != len(self.means):
            raise DomainError(f"{len(self.spread)} spreads for {len(self.means)} models; give one, or one per model")
        if not bool(np.all((self._spreads >= 0.0) & (self._spreads <= 1.0))):
            raise DomainError(f"spread {self.spread} is not allowed; choose values from 0 to 1")
        # Refused, not clipped: clipping would move the true means. Written so that NaN fails.
        probabilities = self.probabilities
        if not bool(np.all((probabilities >= 0.0) & (probabilities <= 1.0))):
            raise DomainError(
                f"probabilities from {probabilities.min():.4g} to {probabilities.max():.4g} leave [0, 1]; "
                "choose means nearer 1/2, or a smaller offset or heterogeneity"
            )

    @property
    def block_of_item(self) -> Ints:
        """Number of the block of each item."""
        return np.repeat(np.arange(len(self._sizes)), self._sizes)

    @property
    def block_shares(self) -> Floats:
        """``kappa_block`` of the block of each item."""
        return np.broadcast_to(np.array(self.kappa_block, dtype=np.float64), (len(self._sizes),))[self.block_of_item]

    @property
    def _sizes(self) -> tuple[int, ...]:
        if isinstance(self.block_sizes, tuple):
            return self.block_sizes
        return (self.block_sizes,) * (self.n_items // max(1, self.block_sizes))

    @property
    def _spreads(self) -> Floats:
        """One spread per model, as a column."""
        return np.broadcast_to(np.array(self.spread, dtype=np.float64), (len(self.means),))[:, None]

    @property
    def theta(self) -> Floats:
        """True benchmark mean of every model."""
        return np.array(self.means)

    @property
    def differences(self) -> Floats:
        """True differences, row minus column."""
        return self.theta[:, None] - self.theta

    def null(self, margin: float = 0.0) -> Mask:
        """Directions whose claim is false: the row does not beat the column by more than the margin."""
        # Means that are meant to differ by exactly the margin differ from it by rounding.
        return np.asarray(self.differences <= margin + 1e-12)

    @cached_property
    def probabilities(self) -> Floats:
        """Expected score of every model (row) on every item."""
        place = np.arange(self.n_items) - (self.n_items - 1) / 2
        sides = np.where(np.arange(len(self.means)) % 2 == 0, 1.0, -1.0)[:, None]
        # The middle item of an odd number has sign 0, so the effects always sum to zero.
        effects = -self.heterogeneity * sides * np.sign(place)
        return np.asarray(self.theta[:, None] + place * (2 * self.offset / max(1, self.n_items - 1)) + effects)

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, in the order of ``means``."""
        return _names("model", len(self.means))

    @property
    def items(self) -> tuple[str, ...]:
        """Names of the items."""
        return _names("item", self.n_items)

    @property
    def blocks(self) -> tuple[str, ...]:
        """Label of the block of each item."""
        return tuple(np.repeat(_names("block", len(self._sizes)), self._sizes).tolist())

    def design(self, **options: Any) -> Design:  # noqa: ANN401 - handed on to Design.make, which is typed
        """A design for this benchmark and, unless others are given, its true blocks; options as in ``Design.make``."""
        options.setdefault("blocks", self.blocks)
        return Design.make(self.models, self.items, **options)

    def panel(self, rng: np.random.Generator) -> Floats:
        """One replicate: scores of all models (rows) on all items."""
        return np.asarray(self.panels(rng, 1)[0])

    def panels(self, rng: np.random.Generator, n: int) -> Floats:
        """``n`` replicates: replicates x models x items. The same as ``n`` calls of :meth:`panel`, and faster."""
        n_models, n_items, n_blocks = len(self.means), self.n_items, len(self._sizes)
        scale = (n_models * n_blocks, n_items, n_models * n_items, n_models * n_items * (self.levels is not None))
        # All the numbers of one replicate in one row: the stream does not depend on how many are drawn at once.
        draws = rng.standard_normal((n, sum(scale)))
        block, item, own, rounding = np.split(draws, np.cumsum(scale)[:-1], axis=1)
        shares = self.block_shares
        latent = np.sqrt(shares) * block.reshape(n, n_models, n_blocks)[:, :, self.block_of_item]
        latent += math.sqrt(self.kappa_item) * item[:, None, :]
        rest = np.maximum(0.0, 1.0 - shares - self.kappa_item)
        latent += np.sqrt(rest) * own.reshape(n, n_models, n_items)
        scores = self.probabilities + self._spreads * (self._full_scores(latent) - self.probabilities)
        if self.levels is not None:
            scores = np.floor(scores * self.levels + ndtr(rounding).reshape(scores.shape)) / self.levels
        # A weighted mean of numbers in [0, 1] can round past the ends.
        return np.clip(scores, 0.0, 1.0)

    def _full_scores(self, latent: Floats) -> Floats:
        if self.scoring == "binary":
            return (latent <= ndtri(self.probabilities)).astype(np.float64)
        # U^k has mean 1 / (1 + k).
        with np.errstate(divide="ignore"):
            power = (1.0 - self.probabilities) / self.probabilities
        return np.asarray(ndtr(-latent) ** power, dtype=np.float64)

    def scores(self, rng: np.random.Generator, n: int) -> Scores:
        """``n`` replicates, with the names that go with them."""
        return Scores.of(self.panels(rng, n), models=self.models, items=self.items, blocks=self.blocks)


def _names(kind: str, count: int) -> tuple[str, ...]:
    # Padded, so that the order of the names is the order of the numbers.
    return tuple(f"{kind}-{i:0{len(str(count))}d}" for i in range(1, count + 1))
