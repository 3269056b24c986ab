"""Put the scores of a submission on a board."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Unpack

from bbedge.board import Added, Board
from bbedge.board.incoming import reading_for
from bbedge.core.scores import Scores
from bbedge.errors import BoardError
from bbedge.readers.read_scores import scores_in
from bbedge.records.design import Counting
from bbedge.records.reading import Reading
from bbedge.records.submission import TABLE, Submission
from bbedge.records.values import Trust
from bbedge.submit.archive import digest, opened
from bbedge.submit.confined import check_confined
from bbedge.text import shown_path


def add(board: Board, path: str | os.PathLike[str], **counting: Unpack[Counting]) -> Added | None:
    """Check a submission in a process of its own, then put its scores on a board: see :func:`take`."""
    verdict = check_confined(path)
    if not verdict.accepted:
        why = "; ".join(f"{each.what}: {each.text}" for each in verdict.checks if each.status == "fails")
        raise BoardError(f"{shown_path(path)}: refused: {why}")
    return take(board, path, **counting)


def take(board: Board, path: str | os.PathLike[str], **counting: Unpack[Counting]) -> Added | None:
    """Add the models of a checked submission, or a replicate of all active models, and state how far they are trusted.

    All of it or nothing. ``None`` if the board has this submission already. The options are those of
    :meth:`Board.add <bbedge.Board.add>`.
    """
    known = digest(path)
    if known in board.state.submissions:
        return None
    with opened(path) as (submission, folder):
        check_fits(board, submission, shown_path(path))
        scores = table_scores(board, folder)
        trust = trust_of(submission)
        return board.add_submission(scores, by=submission.who, sha256=known, trust=trust, **counting)


def trust_of(submission: Submission) -> Trust:
    """How far scores can be trusted that came with this submission."""
    return "logs-kept" if submission.keeps_files else "self-reported"


def check_fits(board: Board, submission: Submission, name: str) -> None:
    """Refuse a submission that is for another board, or on another scale."""
    ours = board.registration
    if submission.registration and submission.registration != ours:
        raise BoardError(
            f"{name}: it is for a board with registration {submission.registration[:16]}; this one has {ours[:16]}"
        )
    if submission.scale != board.design.score_range:
        (low, high), (least, most) = submission.scale, board.design.score_range
        raise BoardError(
            f"{name}: its scores are on the scale {low:g} to {high:g}, those of the board on {least:g} to {most:g}"
        )


def table_scores(board: Board, folder: Path) -> Scores:
    """The scores of a submission that was unpacked, as the board reads them."""
    reading = reading_for(board.state, Reading())
    return scores_in([folder / TABLE], reading, least_models=1, identify=True, provenance=False)
