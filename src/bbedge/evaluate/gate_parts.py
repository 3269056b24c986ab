"""What a gate may use of the first pass of a board: the parts that were looked at, and who records them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bbedge.board import Board
from bbedge.board.replay import stored_parts
from bbedge.core.checkpoints import Checkpoints
from bbedge.core.scores import Scores
from bbedge.evaluate.spec import EvaluationSpec
from bbedge.gate.first_run import FirstRun
from bbedge.gate.ledger import record_look, reserve
from bbedge.gate.policy import Policy
from bbedge.gate.report import GateReport


def checkpoints_of(board: Board) -> Checkpoints | None:
    """The looks inside the first pass and the order of the blocks, as the board has frozen them."""
    rule, epoch = board.design.checkpoints, board.state.epoch
    return None if rule is None or epoch.order_seed is None else rule.seeded(epoch.order_seed)


def first_run_of(board: Board, models: Sequence[str]) -> FirstRun | None:
    """The parts of the first pass of these models, which all run; ``None`` if the board has no checkpoints."""
    checkpoints = checkpoints_of(board)
    if checkpoints is None:
        return None
    with board.store.read() as session:
        parts = stored_parts(session, board.state.epoch)
    return FirstRun(
        checkpoints=checkpoints,
        parts=tuple(np.stack([part[model] for model in models]) for part in parts),
    )


def reserved_study(
    study: EvaluationSpec, policy: Policy, board: Board, ledger: Path, *, label: str | None = None
) -> tuple[EvaluationSpec, int]:
    """The study of a gate at the level of its use in a ledger, and the number of that use.

    Every look inside the first pass is recorded there before it is reported.
    """
    use = reserve(ledger, policy, board.events[0].hash, label=label, checkpoints=checkpoints_of(board))

    def keep(scores: Scores, first_run: FirstRun) -> GateReport:
        return record_look(ledger, policy, scores, first_run, use=use.number)

    gated = study.gated(policy.at_level(use.level))
    return replace(gated, question=replace(gated.question, keep=keep)), use.number
