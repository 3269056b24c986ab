"""``bbedge report``: a page from a certificate or a board."""

from __future__ import annotations

from typing import Annotated

from bbedge.cli.options import Without, grouped
from bbedge.cli.output import Page, Source, View, say_written, write_certificate
from bbedge.cli.page_content import model_info as known_of
from bbedge.errors import DomainError


@grouped
def report(
    source: Source,
    *,
    page: Annotated[Page, Without("with_items")],
    view: View,
) -> None:
    """Write a web page or Markdown from a certificate or a board. The page is one file that needs no network.

    [cyan]bbedge report certificate.json --html page.html[/cyan]
    [cyan]bbedge report board.bbedge --html page.html --title "Our models" --model-info models.csv[/cyan]

    [cyan]bbedge report certificate.json --markdown summary.md[/cyan]

    From score files, use certify --html.
    """
    if page.html_out is None and page.markdown_out is None:
        raise DomainError("there is nothing to write; add --html OUT for a page, or --markdown OUT")
    page.check(None)
    certificate, name = view.open(source)
    info = known_of(page.model_info, certificate.names)
    console = write_certificate(certificate, json_out=None, page=page, title=name, info=info)
    say_written(console, page=page.html_out, Markdown=page.markdown_out)
