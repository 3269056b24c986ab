"""Compute again what a submission states, and try it on a copy of the board."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import chdir, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from bbedge.board import Board
from bbedge.board.announcement import Announcement
from bbedge.board.words import news
from bbedge.errors import BbedgeError
from bbedge.ledger.archive import import_file
from bbedge.readers.convert import convert
from bbedge.records.codec import plain
from bbedge.records.reading import Reading
from bbedge.records.submission import (
    LOGS,
    TABLE,
    CheckStatus,
    Submission,
    SubmissionCheck,
    SubmissionVerdict,
)
from bbedge.submit.add import take, trust_of
from bbedge.submit.archive import digest, opened, packed, submitted
from bbedge.text import counted


def check(path: str | os.PathLike[str], board: str | os.PathLike[str] | None = None) -> SubmissionVerdict:
    """Check a submission, and with the archive of a board also whether the board takes it and what that would bring.

    Nothing that it states is believed: hashes and means are computed again, and the table is made again from the files
    if the submission has them. What fails is a part of the verdict and no error.
    """
    path = Path(path).absolute()
    sha256 = digest(path)
    checks: list[SubmissionCheck] = []
    submission: Submission | None = None
    brought: tuple[str, ...] = ()
    try:
        with opened(path) as (submission, folder):
            checks.append(
                _check("archive", "holds", f"{counted(len(submission.files) + 1, 'file')}: all hashes are right")
            )
            checks += _own_checks(submission, folder)
        if board is not None and all(each.status != "fails" for each in checks):
            brought = _tried(path, Path(board).absolute())
            checks.append(_check("board", "holds", "the board takes it"))
    except BbedgeError as error:
        checks.append(_check("archive" if submission is None else "board", "fails", str(error)))
    if board is None:
        checks.append(_check("board", "not-checked", "no board was given to try it on"))
    accepted = all(each.status != "fails" for each in checks)
    return SubmissionVerdict(
        accepted=accepted,
        sha256=sha256,
        submission=submission,
        trust=trust_of(submission) if submission and accepted else None,
        checks=tuple(checks),
        news=brought,
    )


def _check(what: str, status: CheckStatus, text: str) -> SubmissionCheck:
    return SubmissionCheck(what=what, status=status, text=text)


def _own_checks(submission: Submission, folder: Path) -> Iterator[SubmissionCheck]:
    """What can be computed again from the submission alone."""
    try:
        found = submitted(folder / TABLE, submission.scale)
    except BbedgeError as error:
        yield _check("scores", "fails", str(error))
        return
    wrong = [name for name in found.__struct_fields__ if getattr(submission.scores, name) != getattr(found, name)]
    if wrong:
        yield _check("scores", "fails", f"the table has other {' and '.join(wrong)} than the submission states")
    else:
        sizes = f"{counted(found.items, 'item')}, {counted(found.runs, 'run')}, {counted(len(found.models), 'model')}"
        yield _check("scores", "holds", f"the table has what is stated: {sizes} and their means")
    yield _of_files(submission, folder)


def _of_files(submission: Submission, folder: Path) -> SubmissionCheck:
    """Whether the kept files give the table."""
    if not submission.keeps_files:
        return _check("files", "not-checked", "the files that the scores were read from are not kept")
    again = folder / f"again-{TABLE}"
    reading = Reading(**{**plain(submission.reading), "score_range": submission.scale})
    try:
        with chdir(folder / LOGS):  # the options that look at paths see them as they were given
            convert(submission.sources, again, reading)
    except BbedgeError as error:
        return _check("files", "fails", str(error))
    if packed(again, TABLE).sha256 != submission.table.sha256:
        return _check("files", "fails", "the files, read again, give other scores than the table")
    return _check("files", "holds", f"{counted(len(submission.files), 'file')}, read again, give the same table")


def _of_announced(model: str, announced: Announcement) -> str:
    return (
        f"{model}: {announced.delivered:,} of {counted(announced.runs, 'announced run')}. Their order is drawn when "
        "they are added, so that what they certify is known only then."
    )


def _tried(path: Path, archive: Path) -> tuple[str, ...]:
    """What adding the submission brings to a copy of the board."""
    with TemporaryDirectory(prefix="bbedge-") as folder:
        place = Path(folder) / "board"
        import_file(
            archive, place, verify=lambda _: None
        )  # the copy is thrown away, the board is verified when it is kept
        with Board.open(place) as board:
            before = board.leaderboard()
            awaited = [model for model, each in board.state.announced.items() if each.delivered is None]
            added = take(board, path)
            if added is None:
                return ("The board has this submission already.",)
            if came := [model for model in awaited if board.state.announced[model].delivered]:
                return tuple(_of_announced(model, board.state.announced[model]) for model in came)
            with suppress(BbedgeError):
                return tuple(line.strip() for line in news(added, before, board.leaderboard()))
            return ()
