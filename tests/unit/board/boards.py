"""Small boards and runs for them."""

from dataclasses import replace

import numpy as np

from bbedge.board import Board, BoardDesign
from bbedge.core.scores import Scores

ITEMS = tuple(f"q{i}" for i in range(6))
MEANS = {"a": 0.95, "b": 0.6, "c": 0.1}
"""How often a model is right; 0.4 unless it is named here."""


def values(rng, models, n=1, items=ITEMS):
    """Scores in hundredths, replicates x models x items. No two replicates are the same, as a board demands."""
    means = np.array([MEANS.get(model, 0.4) for model in models])
    shape = (n, len(models), len(items))
    right = rng.random(shape) < means[None, :, None]
    return np.round(0.8 * right + 0.2 * rng.random(shape), 2)


def scores(array, models, items=ITEMS, *, start=None):
    """Scores with the replicates numbered from ``start``, or not numbered."""
    made = Scores.of(array, models=models, items=items)
    if start is None:
        return made
    return replace(made, numbered=True, replicates=tuple(str(start + r) for r in range(len(made.values))))


def runs(rng, models, n=1, items=ITEMS, *, start=None):
    return scores(values(rng, models, n, items), models, items, start=start)


def make(folder, *, models=("a", "b", "c"), items=ITEMS, blocks=None, **options):
    options.setdefault("method", "bb-edge-x")
    return Board.create(folder / "board.db", BoardDesign(**options), models=models, items=items, blocks=blocks)
