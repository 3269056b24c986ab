"""``bbedge publish``: a board as a static folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bbedge.cli.board_add import Place
from bbedge.cli.options import grouped
from bbedge.cli.output import board_title, exit_if_contradicted, lacks_picture, model_info, say, spinner
from bbedge.records.output import PageOptions
from bbedge.text import counted, shown_path


@grouped
def publish(
    place: Place,
    folder: Annotated[Path, typer.Argument(help="The folder to write: new, empty, or written by this command.")],
    *,
    options: PageOptions,
) -> None:
    """Write a board as a static folder: pages, a feed, badges, and all that is needed to check them.

    [cyan]bbedge publish board.bbedge public --base-url https://example.org/board[/cyan]

    The page, a page for each model, the whole board, the certificate, the heads of the ledger, and a table of every
    row that was ever shown. It works from a disk, from GitHub Pages or from any store of files. The same board gives
    the same bytes, and files that did not change keep the time of their last change.

    The folder is replaced as a whole: if the command is stopped, it stays what it was. Files that others put into it
    are kept.

    [bold]Exit codes[/bold]  0 success, 2 bad input, 5 contradiction: the pages say so
    """
    from bbedge.board import Board
    from bbedge.certificate.of_board import shown_epoch
    from bbedge.display.page import TITLE
    from bbedge.site.publish import Site

    with spinner() as progress:
        progress("opening the board")
        board = Board.open(place)
        models = board.state.epochs[shown_epoch(board, None) - 1].models
        site = Site(
            board=board,
            title=options.title or board_title(place) or TITLE,
            address=options.base_url,
            info=model_info(options.model_info, models),
        )
        written = site.publish(folder, progress=progress)
    say(
        f"Published {board.name} in {shown_path(folder)}: {counted(len(written.changed), 'file')} written, "
        f"{written.unchanged:,} unchanged, {len(written.removed):,} removed.",
        f"{counted(len(board.events), 'event')}, head {board.head}",
    )
    lacks_picture(options.base_url)
    exit_if_contradicted(site.certificate)
