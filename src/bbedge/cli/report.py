"""``bbedge report``: a page from a certificate or a board."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bbedge.cli.options import grouped
from bbedge.cli.output import ModelInfoFile, Source, Title, View, output, say_written, write_page
from bbedge.cli.page_content import model_info as known_of


@grouped
def report(
    source: Source,
    *,
    html: Annotated[
        Path, typer.Option("--html", metavar="OUT", help="The file to write the page to.", show_default=False)
    ],
    title: Title = None,
    model_info: ModelInfoFile = None,
    view: View,
) -> None:
    """Write a web page from a certificate or a board: one file that needs no network.

    [cyan]bbedge report certificate.json --html page.html[/cyan]
    [cyan]bbedge report board.bbedge --html page.html --title "Our models" --model-info models.csv[/cyan]

    From score files, use certify --html.
    """
    certificate, name = view.open(source)
    write_page(html, certificate, title=title or name, info=known_of(model_info, certificate.names))
    say_written(output(), page=html)
