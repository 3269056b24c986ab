"""What a gate may use of the first pass of a board: the parts that were looked at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bbedge.board import Board
from bbedge.board.replay import stored_parts
from bbedge.gate.first_run import FirstRun


def first_run_of(board: Board, models: Sequence[str]) -> FirstRun | None:
    """The parts of the first pass of these models, which all run; ``None`` if the board has no checkpoints."""
    rule, epoch = board.design.checkpoints, board.state.epoch
    if rule is None or epoch.order_seed is None:
        return None
    with board.store.read() as session:
        parts = stored_parts(session, epoch)
    return FirstRun(
        checkpoints=rule.seeded(epoch.order_seed),
        parts=tuple(np.stack([part[model] for model in models]) for part in parts),
    )
