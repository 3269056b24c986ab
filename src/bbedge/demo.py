"""The demo data: answers of a real language model to real questions, which the package brings along."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bbedge.core.scores import Scores

_INSTALLED = Path(__file__).with_name("demo_scores.csv")
_IN_A_CHECKOUT = Path(__file__).parents[2] / "demo" / "scores.csv"
DEMO_SCORES = _INSTALLED if _INSTALLED.exists() else _IN_A_CHECKOUT
"""The table: the wheel has a copy of ``demo/scores.csv`` in the package."""


def demo_scores() -> Scores:
    """The demo scores: six settings of a small model, 72 short questions in 24 families, three runs.

    ``bbedge demo`` writes the same table to a file and certifies it.
    """
    from bbedge.readers import read_scores

    return read_scores(DEMO_SCORES)
