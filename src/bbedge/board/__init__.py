"""The persistent leaderboard: a frozen design, a hash-chained ledger, epochs, stages and one error budget.

``board`` is the interface. ``design`` has what is frozen, ``state`` and ``epoch`` the fold over the events, ``admit``
and ``sequence`` the rules by which an event enters, ``incoming`` what given scores propose, ``change`` one
transaction, ``stored_scores`` what is there of each run, ``words`` what people read.

Whatever changes a board is an event that ``admit`` lets in: adding, importing, opening and verifying use it alike. A
rule may use only the state, the event and the stored scores.
"""

from bbedge.board.board import Board
from bbedge.board.change import Added
from bbedge.board.design import BoardDesign
from bbedge.board.stored_scores import NextRun
from bbedge.records.design import CheckpointRule, Headline, Views

__all__ = ["Added", "Board", "BoardDesign", "CheckpointRule", "Headline", "NextRun", "Views"]
