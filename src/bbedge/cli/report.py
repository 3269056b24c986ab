"""``bbedge report``: a page from a certificate or a board."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bbedge.cli.progress import output
from bbedge.cli.sources import CurrentOption, EpochOption, Source, TitleOption, open_certificate, write_page
from bbedge.text import shown_path


def report(
    source: Source,
    html: Annotated[
        Path, typer.Option("--html", metavar="OUT", help="The file to write the page to.", show_default=False)
    ],
    title: TitleOption = None,
    epoch: EpochOption = None,
    current: CurrentOption = False,
) -> None:
    """Write a web page from a certificate or a board: one file that needs no network.

    [cyan]bbedge report certificate.json --html page.html[/cyan]
    [cyan]bbedge report board.bbedge --html page.html --title "Our models"[/cyan]

    From score files, use certify --html.
    """
    certificate, name = open_certificate(source, epoch=epoch, current=current)
    write_page(html, certificate, title=title or name)
    output().print(f"Wrote the page to {shown_path(html)}.", markup=False, highlight=False)
