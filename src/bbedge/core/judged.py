"""Scores of answers that were judged several times: every judgement, and their mean, which is the score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbedge.core.scores import Scores


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedScores:
    """Scores, with the judgements that they are the means of."""

    scores: Scores
    """The mean of the judgements of every answer."""
    judgements: NDArray[np.float64]
    """Every judgement, mapped to [0, 1]: replicates x judgements x models x items."""
