"""A part of the first pass on its way to the board: its items are the next ones, its models those that run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bbedge.board.arrivals import Arrival, Stored, check_blocks, check_new, check_scale
from bbedge.board.stage import Panel
from bbedge.board.state import BoardState
from bbedge.core.scores import Scores
from bbedge.errors import BoardError
from bbedge.text import listed


def arrived_part(scores: Scores, state: BoardState, stored: Sequence[Stored]) -> Arrival:
    """The scores up to the next checkpoint, packed; anything but all items and models that belong there is refused.

    ``stored`` are the replicates of the epoch, whose runs cannot be part of the pass as well.
    """
    state.upcoming()
    if len(scores.replicates) != 1:
        raise BoardError(f"{len(scores.replicates)} replicates given; a part of the first pass is one")
    check_scale(scores, state)
    check_blocks(scores, state)
    panel = _in_run_order(scores, state.epoch.next_items)
    if state.design.incomplete == "zero":
        panel = {model: np.nan_to_num(row, nan=0.0) for model, row in panel.items()}
    runs = scores.runs[0] if scores.runs else ()
    check_new(stored, set(runs), len(stored) + 1)
    return Arrival.of(panel, runs)


def _in_run_order(scores: Scores, items: Sequence[str]) -> Panel:
    place = {item: i for i, item in enumerate(scores.items)}
    if len(place) < len(scores.items) or len(set(scores.models)) < len(scores.models):
        raise BoardError("a model or an item comes twice in these scores; each must be there once")
    missing = [item for item in items if item not in place]
    if missing:
        raise BoardError(
            f"{len(missing)} of the {len(items)} items up to the next checkpoint are not in these scores: "
            f"{listed(missing)}; give a score, or NaN, for each"
        )
    extra = sorted(set(scores.items) - set(items))
    if extra:
        raise BoardError(
            f"{len(extra)} items are not among those up to the next checkpoint: {listed(extra)}; leave them out"
        )
    columns = [place[item] for item in items]
    return {model: scores.values[0][row][columns] for row, model in enumerate(scores.models)}
