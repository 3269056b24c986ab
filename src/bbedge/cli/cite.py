"""``bbedge cite``: how to cite the method and this program."""

from __future__ import annotations

from typing import Annotated

import typer

from bbedge.citation import as_bibtex, as_text


def cite(
    *,
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Print entries for BibTeX and BibLaTeX.")] = False,
) -> None:
    """Print how to cite the paper of the method, and bbedge.

    [cyan]bbedge cite --bibtex >> references.bib[/cyan]
    """
    typer.echo(as_bibtex() if bibtex else as_text(), nl=False)
