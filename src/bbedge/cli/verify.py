"""``bbedge verify`` and ``bbedge report``: the commands that take a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge.cli.options import Reading, Without, as_option, grouped
from bbedge.cli.output import (
    JsonOut,
    Page,
    Source,
    View,
    exit_if_contradicted,
    is_board,
    say_written,
    spinner,
    write_certificate,
    write_json,
)
from bbedge.cli.output import model_info as known_of
from bbedge.cli.views import About, Suite
from bbedge.errors import BbedgeError, DomainError

if TYPE_CHECKING:
    from bbedge.core.scores import Scores, SourceFile
    from bbedge.records.certificate import Document
    from bbedge.verify.reading import Stated
    from bbedge.verify.verify import Verification


DIFFERS = 3
"""The exit code if something is not as the certificate says."""


@grouped
def verify(
    certificate: Annotated[
        Path,
        typer.Argument(
            help="A certificate: the output of certify --json, board show --json or board export.",
            show_default=False,
        ),
    ],
    scores: Annotated[
        list[str] | None,
        typer.Argument(
            help="The scores that it was made from: files, folders or patterns as for certify, or a board (a file or a "
            "PostgreSQL URL). Without them, only the certificate itself is checked.",
            show_default=False,
        ),
    ] = None,
    *,
    suite: Suite,
    reading: Reading,
    about: Annotated[About, Without("item_column")],
    json_out: JsonOut = None,
) -> None:
    """Check a certificate, and compute it again from its scores.

    Checks that the certificate is readable, does not contradict itself, and matches its digest. This finds damage, not
    a forgery: anyone can compute a new digest.

    With scores, makes the design that the certificate states, computes everything again and compares it field by field:
    names, ranks, edges and counts exactly, evidence and margins up to one millionth, because processors round
    differently. Files are compared by their SHA-256.

    The design comes from the certificate; pass only the options that say how to read the files, and those for
    categories, weights and views, as they were for certify.

    [bold]Examples[/bold]

    [cyan]bbedge verify certificate.json[/cyan]
    Check that the certificate is intact.

    [cyan]bbedge verify certificate.json scores.csv[/cyan]
    Compute it again from its scores.

    [cyan]bbedge verify certificate.json logs/ --metric accuracy --json result.json[/cyan]
    Read logs as certify did, and write what was checked for programs.

    [cyan]bbedge verify certificate.json scores.csv --macro subject --views subject[/cyan]
    Repeat the options of a suite, whose columns the certificate does not name.

    [cyan]bbedge verify certificate.json board.bbedge[/cyan]
    Compute the certificate of a board again from the scores that it stores.

    [cyan]bbedge verify certificate.json scores.csv --items items.csv[/cyan]
    Compute the certificate of a board with checkpoints again from files; the list has all items of the benchmark.

    [bold]Exit codes[/bold]  0 nothing differs, 2 bad input, 3 something differs, 141 standard output was closed
    """
    from bbedge.display.reports import show_verification
    from bbedge.verify.reading import Stated
    from bbedge.verify.verify import verify_certificate

    stated = Stated.of(certificate)
    if not scores:
        result = verify_certificate(stated, write=as_option)
    elif any(map(is_board, scores)):
        result = _with_board(stated, scores)
    else:
        result = _with_files(stated, list(map(Path, scores)), suite, fitted(reading, stated.document), about)
    console = write_json(json_out, lambda: result.content)
    show_verification(console, result)
    if not result.verified:
        raise typer.Exit(DIFFERS)


def fitted(reading: Reading, document: Document) -> Reading:
    """The options for reading, filled in with what the certificate states where none was given."""
    from bbedge.verify.recompute import has_steps

    if reading.score_range == Reading().score_range:
        reading = replace(reading, score_range=document.design.score_range)
    if reading.incomplete == Reading().incomplete and (document.board or has_steps(document)):
        # What was not run is no gap: verification tells them apart.
        return replace(reading, incomplete="worst-case")
    if reading.incomplete == Reading().incomplete:
        policies = ("stopped" if document.stopped else "", "worst-case" if document.design.gaps == "worst-case" else "")
        reading = replace(reading, incomplete=",".join(filter(None, policies)) or reading.incomplete)
    return reading


def _with_board(stated: Stated, places: Sequence[str]) -> Verification:
    from bbedge.board import Board
    from bbedge.verify.verify import verify_certificate

    if len(places) > 1:
        raise DomainError("a board is compared by itself; give one board, or score files")
    with Board.open(places[0]) as board, spinner() as progress:
        progress("recomputing every look")
        return verify_certificate(stated, board, write=as_option)


def _with_files(stated: Stated, files: Sequence[Path], suite: Suite, reading: Reading, about: About) -> Verification:
    from bbedge.verify.verify import (
        Check,
        Verification,
        check_given_scores,
        file_check,
        own_checks,
        verify_certificate,
    )

    check_given_scores(stated)
    try:
        table = _table(stated.document, files, suite, reading, about)
    except BbedgeError as error:
        # Files that are left out or changed may no longer make complete scores: say first which these are.
        check = file_check(stated, _files(files, reading, about))
        if check.status != "differs":
            raise
        refused = f"the scores cannot be read: {error.render(as_option)}"
        checks = (*own_checks(stated), check, Check(kind="scores", status="differs", text=refused))
        return Verification(checks=checks, version=stated.document.bbedge)
    with spinner() as progress:
        progress("computing everything again")
        return verify_certificate(stated, table, suite=suite.options(table, reading.metric), write=as_option)


def _table(document: Document, files: Sequence[Path], suite: Suite, reading: Reading, about: About) -> Scores:
    """The scores; of a first run that is not complete with a place for all items that are listed."""
    from bbedge.readers import read_items
    from bbedge.verify.recompute import with_items
    from bbedge.verify.recompute_board import item_columns

    of_board = item_columns(document) if document.board else ()
    table = about.table(reading, files, (*suite.columns, *of_board), provenance=True)
    if document.replicates or about.items is None:
        return table
    listing = read_items(about.items)
    return with_items(table, listing.items, listing.blocks if listing.blocked else None, listing.columns)


def _files(files: Sequence[Path], reading: Reading, about: About) -> list[SourceFile] | None:
    """The files by themselves, where they cannot be read as scores; None if not even that is possible."""
    from bbedge.readers.read_scores import source_file, source_files
    from bbedge.readers.sources import find_sources

    try:
        found = source_files(find_sources([str(file) for file in files], reading.choices).files)
        return sorted([*found, *([source_file(str(about.items))] if about.items else [])])
    except BbedgeError:
        return None


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
