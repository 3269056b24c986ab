"""What a board costs: adding replicates, verifying all of them, and how often scores are read for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bbedge.board import Board, BoardDesign
from bbedge.core.scores import Scores
from bbedge.ledger.tables import Session
from bbedge.verify.ledger import verify
from benchmarks.growth import LINEAR, slope
from benchmarks.rows import Row
from benchmarks.timing import interleaved, seconds_text

MODELS, ITEMS = 5, 100
SIZES, QUICK = (125, 250, 500), (10, 20)
"""Replicates, some scores of which are missing."""


def rows(*, quick: bool = False) -> list[Row]:
    """How verification and addition grow with replicates that have gaps."""
    sizes = QUICK if quick else SIZES
    with TemporaryDirectory() as folder:
        boards = {size: _board(Path(folder) / f"{size}.db", size) for size in sizes}
        took = interleaved({size: lambda board=board: verify(board.store) for size, board in boards.items()}, 2)
        reads = [_reads(board) for board in boards.values()]
        following = _scores(1, seed=2)
        adding = interleaved(
            {size: lambda board=board: _added_and_dropped(board, following) for size, board in boards.items()}, 2
        )
    return [
        _row("verify: score panels that are read", sizes, [float(count) for count in reads], unit=" panels"),
        _row("verify: seconds", sizes, [took[size].least for size in sizes]),
        _row("add one replicate: seconds", sizes, [adding[size].least for size in sizes]),
    ]


def _row(what: str, sizes: tuple[int, ...], found: list[float], unit: str = " s") -> Row:
    text = [seconds_text(each) if unit == " s" else f"{each:,.0f}{unit}" for each in found]
    return Row(
        target=f"growth with replicates that have gaps, {MODELS} models x {ITEMS} items, {what}: slope",
        measured=slope(sizes, found),
        limit=LINEAR,
        unit="",
        sides=", ".join(f"{size:,}: {each}" for size, each in zip(sizes, text, strict=True)),
    )


def _scores(replicates: int, seed: int = 1) -> Scores:
    rng = np.random.default_rng(seed)
    means = np.linspace(0.2, 0.9, MODELS)[None, :, None]
    values = (rng.random((replicates, MODELS, ITEMS)) < means).astype(float)
    values[rng.random(values.shape) < 0.01] = np.nan
    names = [f"m{place}" for place in range(MODELS)], [f"q{place}" for place in range(ITEMS)]
    return replace(Scores.of(values, models=names[0], items=names[1]), gaps="worst-case")


def _board(place: Path, replicates: int) -> Board:
    scores = _scores(replicates)
    board = Board.create(place, BoardDesign(incomplete="worst-case"), models=scores.models, items=scores.items)
    board.add(scores)
    return board


class _DroppedError(Exception):
    pass


def _added_and_dropped(board: Board, scores: Scores) -> None:
    """One addition whose transaction is taken back, so that the next one finds the same board."""
    try:
        with board._change() as change:
            change.add(scores, None)
            raise _DroppedError
    except _DroppedError:
        pass


@contextmanager
def _counted() -> Iterator[list[int]]:
    honest, count = Session.vectors, [0]

    def vectors(self: Session, epoch: int, replicate: int) -> dict[str, bytes]:
        count[0] += 1
        return honest(self, epoch, replicate)

    Session.vectors = vectors  # type: ignore[method-assign]
    try:
        yield count
    finally:
        Session.vectors = honest  # type: ignore[method-assign]


def _reads(board: Board) -> int:
    with _counted() as count:
        verify(board.store)
    return count[0]
