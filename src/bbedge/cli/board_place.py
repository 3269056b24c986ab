"""A board as commands take it: where it is, and the design that it must have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge.cli.board_design import read_design
from bbedge.errors import BoardError, DesignError
from bbedge.text import shown_path

if TYPE_CHECKING:
    from bbedge.board import Board

Place = Annotated[str, typer.Argument(metavar="BOARD", help="A file, or a PostgreSQL URL for a shared board.")]
DesignFile = Annotated[
    Path | None,
    typer.Option("--design", help="Stop if this file is not the frozen design.", show_default=False),
]


def open_board(place: str, design: Path | None = None) -> Board:
    """Open a board; with a file, only if that is its frozen design."""
    from bbedge.board import Board

    board = Board.open(place)
    if design is not None and not _is_frozen(board, design):
        raise BoardError(
            f"{shown_path(design)} is not the design of {board.name}; a frozen design cannot change. Restore the file, "
            "or create a new board"
        )
    return board


def _is_frozen(board: Board, path: Path) -> bool:
    try:
        return read_design(path, board.design.filled_in).hash == board.design.hash
    except DesignError:
        read_design(path, {})  # raises where the file itself is wrong, and not only beside this board
        return False
