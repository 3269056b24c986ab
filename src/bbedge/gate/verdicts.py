r"""Claims decided by e-Holm, and what a verdict implies for other claims.

A claim says :math:`\Delta > b`. PASS is wrong only if :math:`\Delta \le b`, FAIL only if :math:`\Delta > b`: of the two
directions of a claim at most one is a true null. So the others of a family of claims have one deficit each. With
:math:`t = 1/\alpha` a direction ``f`` of claim ``c`` is certified if

.. math:: E_f \ge t + \sum_{c' \ne c} \max(0,\; t - \min(E_{\text{pass}}(c'), E_{\text{fail}}(c'))).

``docs/guarantees.md`` has the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import UNIT
from bbedge.records.gate import Verdict

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]

FOR, AGAINST = 0, 1
"""The places of the two directions of a claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedMeans:
    """Two means that are compared: a candidate's in a view, and what it is compared with."""

    candidate: str
    """The candidate."""
    view: str
    """The view."""
    baseline: str | None
    """The system that it is compared with; ``None`` for a floor."""
    floor: float | None = None
    """A constant score on the [0, 1] scale."""
    cheaper: float = 0.0
    """The part by which the baseline's distance from the best score is shortened first."""

    def pair(self, panel: Matrix, models: Sequence[str]) -> Matrix:
        """The scores of the candidate, and those that it is compared with."""
        own: Matrix = panel[models.index(self.candidate)]
        if self.baseline is None:
            return np.stack([own, np.full_like(own, self.floor)])
        row: Matrix = panel[models.index(self.baseline)]
        return np.stack([own, 1.0 - (1.0 - self.cheaper) * (1.0 - row) if self.cheaper else row])


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """That a difference of means exceeds a bar: what a claim says, whatever its tier is."""

    means: ComparedMeans
    """The means."""
    bar: float
    """What their difference must exceed, on the [0, 1] scale."""

    def implies(self, other: Hypothesis) -> bool:
        """Whether the other one is true wherever this one is: it asks for no more of the same candidate and view.

        >>> means = ComparedMeans(candidate="new", view="headline", baseline="old")
        >>> Hypothesis(means=means, bar=0.0).implies(Hypothesis(means=means, bar=-0.02))
        True
        """
        mine, theirs = self.means, other.means
        if (mine.candidate, mine.view, mine.baseline) != (theirs.candidate, theirs.view, theirs.baseline):
            return False
        if mine.floor is not None and theirs.floor is not None:
            return mine.floor >= theirs.floor
        return mine.cheaper >= theirs.cheaper and self.bar >= other.bar


def log_thresholds(log_e: Matrix, alpha: float) -> Matrix:
    """Logarithm of the evidence that either direction of each claim must reach, rounded up.

    ``log_e`` has the evidence for and against each claim in its last two axes, (batch x) claims x 2.
    """
    t = 1.0 / alpha
    weaker = log_e.min(axis=-1)
    # Only evidence below t is exponentiated, so that nothing overflows; a deficit may lose a few roundings of t.
    short = weaker < -np.log(alpha)
    deficits = np.where(short, t - np.exp(np.where(short, weaker, 0.0)), 0.0) + 16 * UNIT * t
    others = deficits.sum(axis=-1, keepdims=True) - deficits
    # The deficit that is taken out again has been added with as many roundings as there are claims.
    lost = (32 + 4 * log_e.shape[-2]) * UNIT
    found: Matrix = np.log((t + others) * (1.0 + lost) + deficits.sum(axis=-1, keepdims=True) * lost) * (1.0 + 8 * UNIT)
    return found


def certified(log_e: Matrix, alpha: float) -> Mask:
    """The directions that are certified, of evidence for and against each claim: (batch x) claims x 2.

    **Guarantee:** if each ``exp(log_e)`` is an e-process under its null, the probability that a claim is ever certified
    that is false, or the opposite of one that is true, is at most ``alpha``, at all looks together.

    >>> certified(np.log([[26.0, 0.03], [0.5, 0.4]]), alpha=0.04)  # the second claim is open, so the first needs 49.6
    array([[False, False],
           [False, False]])
    """
    found: Mask = log_e >= log_thresholds(log_e, alpha)[..., None]
    return found


def implied(found: Mask, hypotheses: Sequence[Hypothesis]) -> Mask:
    """What is certified, with what follows: a PASS of all that asks for less, a FAIL of all that asks for more."""
    implies = np.array([[one.implies(other) for other in hypotheses] for one in hypotheses])
    return np.stack([found[:, FOR] @ implies, found[:, AGAINST] @ implies.T], axis=1)


def verdict_of(found: Mask) -> Verdict:
    """What the two directions of a claim say."""
    if found[FOR] and found[AGAINST]:
        return "CONTRADICTION"
    return "PASS" if found[FOR] else "FAIL" if found[AGAINST] else "OPEN"
