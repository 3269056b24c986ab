"""``bbedge verify`` and ``bbedge report``: the commands that take a certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import structs

from bbedge._version import __version__
from bbedge.cli.options import Without, as_option, grouped, read
from bbedge.cli.output import (
    JsonOut,
    Source,
    exit_if_contradicted,
    is_archive,
    is_board,
    model_info,
    open_certificate,
    say,
    say_written,
    spinner,
    write_certificate,
    write_json,
)
from bbedge.errors import BbedgeError, DomainError
from bbedge.records.output import Output, Selection
from bbedge.records.reading import Reading
from bbedge.text import counted, quoted, shown_path

if TYPE_CHECKING:
    from bbedge.core.scores import Scores, SourceFile
    from bbedge.records.certificate import Document
    from bbedge.verify.checks import GivenCertificate, Outcome, Verification


EXIT_CODES: Mapping[Outcome, int] = {"verified": 0, "consistent": 0, "differs": 3, "other-version": 6}
"""What the command ends with."""


@grouped
def verify(
    given: Annotated[
        str,
        typer.Argument(
            metavar="CERTIFICATE",
            help="A certificate: the output of certify --json, board show --json or board export; a page of certify "
            "--html or report --html; or a board by itself: its archive (.jsonl), its file or its PostgreSQL URL.",
            show_default=False,
        ),
    ],
    scores: Annotated[
        list[str] | None,
        typer.Argument(
            help="The scores that it was made from: files, folders or patterns as for certify; or the board: its "
            "archive, its file or its PostgreSQL URL. Without them, only the certificate itself is checked.",
            show_default=False,
        ),
    ] = None,
    *,
    reading: Annotated[Reading, Without("item_column")],
    json_out: JsonOut = None,
) -> None:
    """Check a certificate, and compute it again from its scores.

    Checks that the certificate is readable, does not contradict itself, and matches its digest. This finds damage, not
    a forgery: anyone can compute a new digest. Such a certificate is consistent, and not verified.

    With scores, makes the design that the certificate states, computes everything again and compares it field by field:
    names, ranks, edges and counts exactly, evidence and margins up to one millionth, because processors round
    differently. Files are compared by their SHA-256.

    The design and most options for reading come from the certificate. Pass again those that decide what models and runs
    are called and which files and columns are read; the page prints them with the command.

    Only the version of bbedge that wrote a certificate can verify it.

    [bold]Examples[/bold]

    [cyan]bbedge verify certificate.json[/cyan]
    Check that the certificate matches its digest and agrees with itself.

    [cyan]bbedge verify certificate.json scores.csv[/cyan]
    Compute it again from its scores.

    [cyan]bbedge verify page.html scores.csv[/cyan]
    Compute the certificate inside a page again.

    [cyan]bbedge verify certificate.json logs/ --model-name gpt=GPT --json result.json[/cyan]
    Name models as certify did, and write what was checked for programs.

    [cyan]bbedge verify certificate.json board.jsonl[/cyan]
    Compute the certificate of a board again from the scores in the archive of the board, or from the board itself.

    [cyan]bbedge verify board.jsonl[/cyan]
    Compute every event of a board, or of a gate's ledger, again.

    [cyan]bbedge verify certificate.json scores.csv --items items.csv[/cyan]
    Compute the certificate of a board with checkpoints again from files; the list has all items of the benchmark.

    [bold]Exit codes[/bold]  0 verified, or consistent if no scores were given, 2 bad input, 3 something differs, 6
    another version of bbedge wrote the certificate, so that it was not verified, 141 standard output was closed
    """
    from bbedge.display.reports import show_verification
    from bbedge.verify.checks import GivenCertificate
    from bbedge.verify.verify import verify_certificate

    if is_board(given) or is_archive(given):
        _verify_ledger(given, scores or (), json_out)
        return
    stated = GivenCertificate.read(given)
    if not scores:
        result = verify_certificate(stated, write=as_option)
    elif any(is_board(each) or is_archive(each) for each in scores):
        result = _with_board(stated, scores)
    else:
        result = _with_files(stated, scores, reading)
    console = write_json(json_out, lambda: result.content)
    show_verification(console, result)
    if code := EXIT_CODES[result.outcome]:
        raise typer.Exit(code)


def _verify_ledger(place: str, others: Sequence[str], json_out: Path | None) -> None:
    """Verify a board, a gate's ledger or an archive by itself, as ``bbedge board verify`` does."""
    from bbedge.ledger.archive import import_file
    from bbedge.ledger.store import Store
    from bbedge.verify.ledger import verify, verify_session

    if others:
        raise DomainError(
            f"{shown_path(place)} is a ledger, which is verified by itself; leave out {quoted(others[0])}, or give a "
            "certificate first"
        )
    with spinner() as progress, TemporaryDirectory(prefix="bbedge-") as folder:
        progress("recomputing every look")
        if is_archive(place):
            done = import_file(Path(place), Path(folder) / "ledger", verify=verify_session)
        else:
            done = verify(Store(place, what="ledger"))
    text = (
        f"{counted(done.events, 'event')}, {counted(done.vectors, 'score vector')}, {counted(*done.found)}, "
        f"{done.spent:.4g} of the error budget spent"
    )
    result = {"outcome": "verified", "verified": True, "summary": f"{text}.", "head": done.head, "version": __version__}
    console = write_json(json_out, lambda: result)
    say(f"verified: every event follows from the stored scores. {text}.\nHead {done.head}", console=console)


def _with_board(stated: GivenCertificate, places: Sequence[str]) -> Verification:
    """Compare with a board, or with one that is made from an archive and removed afterwards."""
    from bbedge.board import Board
    from bbedge.ledger.archive import import_file
    from bbedge.verify.verify import verify_certificate

    if len(places) > 1:
        raise DomainError("a board is compared by itself; give one board, or score files")
    place = places[0]
    with spinner() as progress, TemporaryDirectory(prefix="bbedge-") as folder:
        progress("recomputing every look")
        if is_archive(place):
            import_file(Path(place), stored := Path(folder) / "board", verify=lambda _: None)  # verified below
            place = str(stored)
        with Board.open(place) as board:
            return verify_certificate(stated, board, write=as_option)


def _with_files(stated: GivenCertificate, files: Sequence[str], reading: Reading) -> Verification:
    from bbedge.core.views import suite_options
    from bbedge.verify.checks import Check, Verification, own_checks
    from bbedge.verify.verify import check_given_scores, file_check, reading_of, verify_certificate

    check_given_scores(stated)
    record, reading = reading_of(stated.document, reading)
    try:
        table = _table(stated.document, files, reading)
    except BbedgeError as error:
        # Files that are left out or changed may no longer make complete scores: say first which these are.
        check = file_check(stated, _files(files, reading))
        if check.status != "differs":
            raise
        refused = f"the scores cannot be read: {error.render(as_option)}"
        checks = (*own_checks(stated), check, Check(kind="scores", status="differs", text=refused))
        return Verification(checks=checks, version=stated.document.bbedge)
    table = replace(table, reading=record)
    with spinner() as progress:
        progress("computing everything again")
        return verify_certificate(
            stated, table, suite=suite_options(table, **reading.suite, shares=reading.shares), write=as_option
        )


def _table(document: Document, files: Sequence[str], reading: Reading) -> Scores:
    """The scores; of a first run that is not complete with a place for all items that are listed."""
    from bbedge.readers import read_items
    from bbedge.verify.recompute import board_design, with_items

    of_board = board_design(document).columns if document.board else ()
    table = read(files, structs.replace(reading, item_column=tuple(of_board)), gaps=True, provenance=True)
    if document.replicates or reading.items is None:
        return table
    listing = read_items(reading.items)
    return with_items(table, listing.items, listing.blocks if listing.blocked else None, listing.columns)


def _files(files: Sequence[str], reading: Reading) -> list[SourceFile] | None:
    """The files by themselves, where they cannot be read as scores; None if not even that is possible."""
    from bbedge.readers.read_scores import source_file, source_files
    from bbedge.readers.sources import find_sources

    try:
        found = source_files(find_sources(files, reading).files)
        return sorted([*found, *([source_file(reading.items)] if reading.items else [])])
    except BbedgeError:
        return None


@grouped
def report(
    source: Source,
    *,
    output: Annotated[Output, Without("json", "with_items", "all_rows", "verbose")],
    selection: Selection,
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

    A certificate that contradicts itself, or that does not match its digest, is refused. To look at one all the
    same, add --force: the page then begins with what is wrong.

    [bold]Exit codes[/bold]  0 success, 2 bad input or a certificate that fails its checks, 5 contradiction, 141
    standard output was closed
    """
    if output.html is None and output.markdown is None:
        raise DomainError("there is nothing to write; add --html OUT for a page, or --markdown OUT")
    certificate, name = open_certificate(source, selection, force=force)
    info = model_info(output.model_info, certificate.names)
    console = write_certificate(certificate, output, title=name, info=info)
    say_written(console, page=output.html, Markdown=output.markdown)
    exit_if_contradicted(certificate)
