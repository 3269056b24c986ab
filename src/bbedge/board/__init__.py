"""The persistent leaderboard: a frozen design, a hash-chained ledger, epochs, stages and one error budget."""

from bbedge.board.board import Board
from bbedge.board.change import Added
from bbedge.board.design import BoardDesign
from bbedge.board.stored_scores import NextRun
from bbedge.records.design import CheckpointRule, Headline, Views

__all__ = ["Added", "Board", "BoardDesign", "CheckpointRule", "Headline", "NextRun", "Views"]
