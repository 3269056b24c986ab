"""Whether outcomes depend on the place in the pass, as those of a server do that degrades while it is used.

Looks inside the first pass need that the scores of a block do not depend on its place in the run order. The order was
drawn at random, so that then every order of the blocks is equally probable, given their scores: a permutation test of
the correlation of outcome and place is exact, whatever the blocks and models are like.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bbedge.records.notes import Note
from bbedge.text import quoted

POSITION_ALARM: Final = 0.01
"""The probability, at most, that a certificate of sound runs has the finding."""

PERMUTATIONS: Final = 1999
LEAST_PLACES: Final = 8
"""With fewer blocks hardly any order would be striking."""
_MOST_PLACES = 128  # neighbours are put together beyond, which costs next to nothing

Outcomes = NDArray[np.float64]
"""The mean score of each model (rows) at each place of the pass (columns)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionTrend:
    """How the outcomes of a model change with the place in the pass."""

    model: str | None
    """The model; None for the mean of all models."""
    correlation: float
    """Correlation of outcome and place; below 0 if outcomes get worse."""
    p_value: float
    """Share of random orders with a correlation at least as far from 0."""
    adjusted: float
    """Share of random orders in which that of any model, or of all together, is at least as far from 0."""

    @property
    def is_alarm(self) -> bool:
        """Whether it is a finding of a certificate."""
        return self.adjusted <= POSITION_ALARM

    @property
    def note(self) -> Note:
        """What a reader of a certificate should know."""
        whose = "all models together" if self.model is None else quoted(self.model)
        change = "fall" if self.correlation < 0.0 else "rise"
        return Note(
            kind="position",
            subject=() if self.model is None else (self.model,),
            text=f"Scores of {whose} {change} in the course of the first run (correlation with the place in the run "
            f"{self.correlation:+.2f}, p {self.adjusted:.2g}). Looks inside the first run need scores that do not "
            "depend on the place. Check for a server that degraded, limits on requests or a judge that changed, and do "
            "not rely on what these looks certified until it is explained.",
        )


def first_run_outcomes(scores: NDArray[np.float64], counts: Sequence[int] | NDArray[np.intp]) -> Outcomes:
    """The outcomes of a pass: models x items in the run order; ``counts`` says how many items the first n blocks have.

    An outcome is the mean over a block, or over as many neighbouring blocks as it takes to have about a hundred places.
    The blocks at the beginning that are too few for another place are left out. A missing score is NaN; where a model
    has none at a place, its mean takes the place of the outcome.
    """
    ends = np.asarray(counts)
    n_blocks = int(np.searchsorted(ends, scores.shape[1]))
    size = max(1, -(-n_blocks // _MOST_PLACES))
    places = n_blocks // size
    is_there = ~np.isnan(scores)
    totals, present = (
        np.add.reduceat(each, ends[:n_blocks], axis=1) for each in (np.where(is_there, scores, 0.0), is_there * 1.0)
    )
    means = np.divide(totals, present, out=np.full_like(totals, np.nan), where=present > 0.0)
    grouped = means[:, n_blocks - places * size :].reshape(len(scores), places, size)
    known = ~np.isnan(grouped)
    count = known.sum(axis=2)
    outcomes = np.where(known, grouped, 0.0).sum(axis=2) / np.maximum(count, 1)
    own = outcomes.sum(axis=1) / np.maximum((count > 0).sum(axis=1), 1)
    filled: Outcomes = np.where(count > 0, outcomes, own[:, None])
    return filled


def position_trends(
    outcomes: Outcomes, models: Sequence[str], *, seed: int, permutations: int = PERMUTATIONS
) -> tuple[PositionTrend, ...]:
    """The trend of every model, and last that of their mean if there are several.

    The random orders follow from the seed, on every platform.

    **Guarantee:** the probability that any ``adjusted`` is at most ``p`` is at most ``p``: without a relation to the
    place, the observed order is one of ``permutations + 1`` that are equally probable.

    **Needs:** an order drawn uniformly at random, and a choice of models that does not depend on it; at least eight
    places, otherwise nothing is returned.
    """
    n_places = outcomes.shape[1]
    if n_places < LEAST_PLACES or not len(models):
        return ()
    rows = np.vstack([outcomes, outcomes.mean(axis=0)]) if len(models) > 1 else outcomes
    centred = rows - rows.mean(axis=1, keepdims=True)
    lengths = np.sqrt((centred**2).sum(axis=1))
    varies = lengths > 1e-9
    place = np.arange(n_places) - (n_places - 1) / 2.0
    scale = np.where(varies, lengths, 1.0) * np.sqrt((place**2).sum())
    observed = np.where(varies, centred @ place / scale, 0.0)
    permuted = np.abs(place[_orders(seed, permutations, n_places)] @ centred.T) / scale
    # Equal up to rounding counts as equal; the observed order is one of them.
    bar = np.abs(observed) * (1.0 - 1e-9)
    p_values = (1 + (permuted >= bar).sum(axis=0)) / (permutations + 1)
    adjusted = (1 + (permuted.max(axis=1)[:, None] >= bar).sum(axis=0)) / (permutations + 1)
    return tuple(
        PositionTrend(model=model, correlation=float(r), p_value=float(p), adjusted=float(q))
        for model, r, p, q in zip([*models, None], observed, p_values, adjusted, strict=False)
    )


def strongest(trends: Sequence[PositionTrend]) -> PositionTrend | None:
    """The trend that says most; ``None`` if there is none."""
    return min(trends, key=lambda each: (each.adjusted, -abs(each.correlation)), default=None)


def _orders(seed: int, count: int, n_places: int) -> NDArray[np.intp]:
    """Random orders that have nothing to do with the run order of the same seed."""
    key = int.from_bytes(hashlib.sha256(f"position {seed} {n_places}".encode("ascii")).digest()[:16], "big")
    # Unlike generators, the bits of Philox are the same with every version of NumPy.
    bits = np.random.Philox(key=key).random_raw(count * n_places).reshape(count, n_places)
    return np.argsort(bits, axis=1, kind="stable")
