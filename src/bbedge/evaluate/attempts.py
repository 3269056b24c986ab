"""Attempts at replicates: on the board before the first request, so that none can be drawn again without a trace.

A journal that is intact continues its attempt. If it is missing, or is not that of the attempt which the board has
open, the attempt is recorded as abandoned and another one begins. The file of the replicate states its attempt before
the board does: a crash between them is no attempt, because nothing was asked yet.
"""

from __future__ import annotations

from bbedge.board import Board
from bbedge.evaluate.engine import RequestSeeds
from bbedge.evaluate.journal import Journal, ReplicateFile
from bbedge.records.events import AbandonReason


def open_attempt(board: Board, journal: Journal, place: int, seeds: RequestSeeds) -> ReplicateFile:
    """The file of the replicate at this place, in the attempt that is open or in a new one."""
    page, earlier = journal.page(place), board.state.epoch.attempts.get(place, [])
    is_open = bool(earlier) and earlier[-1] is None
    if is_open and page.attempt == len(earlier):
        return page
    new, is_replaced = len(earlier) + 1, page.attempt not in (None, len(earlier) + 1)
    if is_replaced:
        page.set_aside()
        page = journal.page(place)
    try:
        if page.attempt is None:
            page.begin(new)
        if is_open:
            why: AbandonReason = "journal-replaced" if is_replaced else "journal-missing"
            board.end_attempt(place, len(earlier), "abandoned", reason=why)
        board.begin_attempt(place, new, seeds.number, journal.protocol)
    except BaseException:
        page.close()
        raise
    return page


def end_finished(board: Board) -> None:
    """Record attempts as finished whose replicates are on the board."""
    epoch = board.state.epoch
    for place, outcomes in list(epoch.attempts.items()):
        if outcomes[-1] is None and place <= epoch.pilots + epoch.replicates:
            board.end_attempt(place, len(outcomes), "finished")
