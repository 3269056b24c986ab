"""Boards whose first run is made in parts."""

import numpy as np

from bbedge.board import Board, BoardDesign
from bbedge.core.scores import Scores
from bbedge.records.design import CheckpointRule

MODELS = ("a", "b", "c", "d")
ITEMS = tuple(f"q{i}" for i in range(60))
RULE = CheckpointRule(fractions=(0.1, 0.3, 0.6))
MEANS = {"a": 0.95, "b": 0.6, "c": 0.3, "d": 0.05}


def drawn(seed, models=MODELS, items=ITEMS):
    """A complete run, by model."""
    rng = np.random.default_rng(seed)
    return {model: (rng.random(len(items)) < MEANS.get(model, 0.5)).astype(float) for model in models}


def make(place, *, models=MODELS, items=ITEMS, order_seed=5, **options):
    design = BoardDesign(**{"checkpoints": RULE, **options})
    return Board.create(place, design, models=models, items=items, order_seed=order_seed)


def some(panel, models, items, whole=ITEMS):
    """The scores of some models on some items."""
    places = [whole.index(item) for item in items]
    return Scores.of([panel[model][places] for model in models], models=models, items=items)


def add_upto(board, scores, **rules):
    """Add scores up to the next checkpoint."""
    return board.add(scores, upto=board.state.upcoming().blocks, **rules)


def add_checkpoint(board, panel, whole=ITEMS):
    """Run the active models up to the next checkpoint."""
    return add_upto(board, some(panel, board.state.active, board.next_items, whole))


def complete(board, panel, whole=ITEMS):
    """Complete the run."""
    return board.add(some(panel, board.state.active, whole, whole))


def life(place):
    """Every kind of event: checkpoints, a model stopped inside the first run, a new model, more items."""
    board, panel = make(place), drawn(1)
    add_checkpoint(board, panel)
    add_checkpoint(board, panel)
    board.retire("d")
    add_checkpoint(board, panel)
    complete(board, panel)
    newcomer = drawn(2, ("e",))
    board.add_model("e", some(newcomer, ("e",), ITEMS))
    complete(board, drawn(3, ("a", "b", "c", "e")))
    board.note("about", "text")
    more = (*ITEMS, "r1", "r2")
    board.add_items(("r1", "r2"), order_seed=6)
    add_checkpoint(board, drawn(4, ("a", "b", "c", "e"), more), more)
    return board
