"""The scores that a board holds, as those of a file are held."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bbedge.board.board import Board
from bbedge.board.replay import stored_panel
from bbedge.core.scores import Scores
from bbedge.errors import BoardError
from bbedge.text import listed


def stored_scores(board: Board, models: Sequence[str]) -> Scores:
    """Every replicate in the evidence of the board's current version, of these models; a stopped one is refused.

    Pilots are left out: they are not evidence.
    """
    epoch, design = board.state.epoch, board.design
    stopped = [model for model in models if model not in board.state.active]
    if stopped:
        raise BoardError(
            f"{board.name}: {listed(stopped)} {'is' if len(stopped) == 1 else 'are'} no longer run there, and every "
            "run of these models is needed; make a new board, and keep its models running"
        )
    values = np.empty((epoch.replicates, len(models), len(epoch.items)))
    with board.store.read() as session:
        for place, into in enumerate(values, start=1):
            panel = stored_panel(session, board.state, place)
            lacking = [model for model in models if model not in panel]
            if lacking:
                raise BoardError(f"{board.name}: replicate {place} of {len(values)} lacks {listed(lacking)}")
            into[:] = [panel[model] for model in models]
    values.flags.writeable = False
    return Scores(
        models=tuple(models),
        items=tuple(epoch.items),
        blocks=tuple(epoch.blocks),
        replicates=tuple(str(place + 1) for place in range(len(values))),
        values=values,
        score_range=design.score_range,
        columns=dict(epoch.columns),
        gaps="worst-case" if design.incomplete == "worst-case" else "refuse",
    )
