"""Open a certificate: a file that ``certify --json`` wrote, or a board."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge.errors import DomainError
from bbedge.text import shown_path

if TYPE_CHECKING:
    from bbedge.certificate.certificate import Certificate
    from bbedge.certificate.standing import Shown

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE", help="A certificate (the output of certify --json) or a board (a file or a PostgreSQL URL)."
    ),
]
EpochOption = Annotated[
    int | None,
    typer.Option("--epoch", help="The epoch of a board. Default: the last one that has runs.", show_default=False),
]
CurrentOption = Annotated[
    bool, typer.Option("--current", help="Show the certificates of the last look alone, not of all looks.")
]
TitleOption = Annotated[
    str | None, typer.Option("--title", metavar="TEXT", help="The heading of the page.", show_default=False)
]
HtmlOut = Annotated[
    Path | None,
    typer.Option("--html", metavar="OUT", help="Write a web page: one file that needs no network.", show_default=False),
]

_SQLITE = b"SQLite format 3\0"


def open_certificate(source: str, *, epoch: int | None = None, current: bool = False) -> tuple[Certificate, str | None]:
    """The certificate, and a title for it if it is of a board."""
    from bbedge.certificate.certificate import Certificate, read_certificate

    if not _is_board(source):
        if epoch is not None:
            raise DomainError(f"{shown_path(source)} is not a board; leave out --epoch, which is for boards")
        return read_certificate(Path(source), shown=graph_shown(current)), None

    from bbedge.board import Board
    from bbedge.board_certificate import document, shown_epoch

    board = Board.open(source)
    number = shown_epoch(board, epoch)
    content = document(board, board.leaderboard(number), number)
    return Certificate.of(content, shown=graph_shown(current)), board_title(source)


def graph_shown(current: bool) -> Shown:
    """What --current chooses."""
    return "current" if current else "standing"


def board_title(place: str) -> str | None:
    """The name of a board's file; none for a URL, so that the page does not reveal the server."""
    return None if "://" in place else Path(place).stem


def check_title(title: str | None, html: Path | None) -> None:
    """Raise if there is a heading but no page."""
    if title is not None and html is None:
        raise DomainError("--title sets the heading of a page; add --html OUT to write the page")


def write_page(path: Path, certificate: Certificate, *, title: str | None = None) -> None:
    """Write a page to a file."""
    from bbedge.display.page import render_page
    from bbedge.files import write_whole

    write_whole(path, render_page(certificate, title=title) if title else render_page(certificate))


def _is_board(source: str) -> bool:
    if "://" in source:
        return True
    try:
        with Path(source).open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False  # reading it as a certificate gives the message
