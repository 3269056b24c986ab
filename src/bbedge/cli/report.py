"""``bbedge report``: a page from a certificate or a board."""

from __future__ import annotations

from typing import Annotated

import typer

from bbedge.cli.options import Without, grouped
from bbedge.cli.output import Page, Source, View, exit_if_contradicted, say_written, write_certificate
from bbedge.cli.page_content import model_info as known_of
from bbedge.errors import DomainError


@grouped
def report(
    source: Source,
    *,
    page: Annotated[Page, Without("with_items")],
    view: View,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Write a certificate that fails its checks all the same, with a banner that says so.",
        ),
    ] = False,
) -> None:
    """Write a web page or Markdown from a certificate or a board. The page is one file that needs no network.

    [cyan]bbedge report certificate.json --html page.html[/cyan]
    [cyan]bbedge report board.bbedge --html page.html --title "Our models" --model-info models.csv[/cyan]

    [cyan]bbedge report certificate.json --markdown summary.md[/cyan]

    From score files, use certify --html.

    A certificate that contradicts itself, or that was changed after it was written, is refused. To look at one all the
    same, add --force: the page then begins with what is wrong.

    [bold]Exit codes[/bold]  0 success, 2 bad input or a certificate that fails its checks, 5 contradiction, 141
    standard output was closed
    """
    if page.html_out is None and page.markdown_out is None:
        raise DomainError("there is nothing to write; add --html OUT for a page, or --markdown OUT")
    page.check(None)
    certificate, name = view.open(source, force=force)
    info = known_of(page.model_info, certificate.names)
    console = write_certificate(certificate, json_out=None, page=page, title=name, info=info)
    say_written(console, page=page.html_out, Markdown=page.markdown_out)
    exit_if_contradicted(certificate)
