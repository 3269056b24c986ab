"""What commands write: consoles, progress, JSON, pages and what they contain."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from bbedge.errors import CONTRADICTION_EXIT_CODE, DomainError
from bbedge.files import write_whole
from bbedge.records.output import STANDARD_OUTPUT, Output, Selection
from bbedge.text import quoted, shown_path

if TYPE_CHECKING:
    from rich.console import Console

    from bbedge.certificate.certificate import Certificate
    from bbedge.core.leaderboard import Leaderboard
    from bbedge.core.scores import Scores
    from bbedge.display.page.payload import ItemScores
    from bbedge.display.page.table import ModelInfo


JsonOut = Annotated[
    Path | None,
    typer.Option("--json", metavar="OUT", help="Write the result as JSON; - for standard output.", show_default=False),
]
Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE", help="A certificate (the output of certify --json) or a board (a file or a PostgreSQL URL)."
    ),
]
Work = TypeVar("Work")

_FILE_WIDTH = 120  # a file or a CI log has no width of its own
_SQLITE = b"SQLite format 3\0"
_ARCHIVES = (b'{"kind":"bbedge-board"', b'{"kind":"bbedge-gate"')


@contextmanager
def spinner() -> Iterator[Callable[[str], None]]:
    """A spinner on standard error, if that is a terminal; the reader sets its text."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda text: None
        return
    with console.status("reading", spinner="dots") as status:
        yield lambda text: status.update(escape(text))


def tracked(works: Iterable[Work], *, total: int, description: str) -> Iterator[Work]:
    """The works in turn, with a bar on standard error that shows how many are done, if that is a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield from works
        return
    from rich.progress import track

    yield from track(works, total=total, description=description, console=console, transient=True)


def results_console(*, json_out: Path | None = None) -> Console:
    """The console for results: standard error if JSON goes to standard output."""
    from rich.console import Console

    console = Console(stderr=json_out == STANDARD_OUTPUT)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _FILE_WIDTH
    return console


def say(*lines: str, console: Console | None = None, style: str = "") -> None:
    """Print lines as they are; long ones are not broken."""
    from rich.text import Text

    to = console or results_console()
    for line in lines:
        to.print(Text(line, style=style), highlight=False, soft_wrap=True)


def say_written(console: Console, **files: Path | None) -> None:
    """Print which files were written; the name of each says what it holds."""
    for what, path in files.items():
        if path is not None and path != STANDARD_OUTPUT:
            say(f"Wrote the {what.replace('_', ' ')} to {shown_path(path)}.", console=console)


def write_json(out: Path | None, make: Callable[[], object]) -> Console:
    """Write a result as JSON if ``out`` asks for it; the console is for everything else."""
    if out is not None:
        _write(out, json.dumps(make(), ensure_ascii=True, allow_nan=False, indent=1) + "\n")
    return results_console(json_out=out)


def open_certificate(source: str, selection: Selection, *, force: bool = False) -> tuple[Certificate, str | None]:
    """The certificate in a file that ``certify --json`` wrote or of a board, and a title if it is of a board.

    A file that fails its checks is refused, unless ``force`` says to show it with a warning.
    """
    from bbedge.verify import read_certificate

    if not is_board(source):
        if selection.epoch is not None:
            raise DomainError(f"{shown_path(source)} is not a board; leave out --epoch, which is for boards")
        return selected(read_certificate(Path(source), shown=selection.shown, force=force), selection), None

    from bbedge.board import Board
    from bbedge.certificate.of_board import board_certificate

    certificate = board_certificate(Board.open(source), selection.epoch, shown=selection.shown)
    return selected(certificate, selection), board_title(source)


def selected(certificate: Certificate, selection: Selection) -> Certificate:
    """The view that was asked for, or the headline."""
    return certificate if selection.view is None else certificate.view(selection.view)


def write_certificate(
    certificate: Certificate,
    to: Output,
    *,
    title: str | None = None,
    info: ModelInfo | None = None,
    items: ItemScores | None = None,
) -> Console:
    """Write the document and the page that the options ask for; the console is for everything else."""
    if to.has_document:
        certificate = certificate.sealed(written_at())
    title = to.title or title
    if to.html is not None:
        from bbedge.display.page import TITLE, render_page

        page = render_page(
            certificate,
            title=title or TITLE,
            model_info=info,
            items=items,
            address=to.address(to.html),
            picture=to.address(_write_picture(certificate, to, title)),
        )
        write_whole(to.html, page)
    # Standard output comes last: its reader may close it early, and the files must still be written.
    documents: list[tuple[Path | None, Callable[[], str]]] = [
        (to.json, certificate.to_json),
        (to.markdown, lambda: certificate.to_markdown(title)),
    ]
    for out, text in sorted(documents, key=lambda document: document[0] == STANDARD_OUTPUT):
        if out is not None:
            _write(out, text())
    return results_console(json_out=STANDARD_OUTPUT if STANDARD_OUTPUT in (to.json, to.markdown) else None)


def _write_picture(certificate: Certificate, to: Output, title: str | None) -> Path | None:
    """Draw the picture of the page, if the options ask for one and Matplotlib is there; where it is."""
    if to.picture is None or lacks_picture(to.base_url):
        return None
    from bbedge.display.hero import CANVAS, hero_figure
    from bbedge.display.plotting import save_figure

    save_figure(hero_figure(certificate, title=title), to.picture, canvas=CANVAS)
    return to.picture


def lacks_picture(address: str | None) -> bool:
    """Say that there is no picture where one was to be drawn and cannot be."""
    from bbedge.display.plotting import can_draw

    if address is None or can_draw():
        return False
    note = "There is no picture for links, which Matplotlib draws; install it with: pip install matplotlib"
    say(note, console=results_console(json_out=STANDARD_OUTPUT))
    return True


def exit_if_contradicted(result: Certificate | Leaderboard) -> None:
    """End with the exit code of contradictions if what was shown has one."""
    if result.is_contradicted:
        raise typer.Exit(CONTRADICTION_EXIT_CODE)


def written_at() -> str:
    """The present time in UTC, as certificates state it; builds that must be repeatable set SOURCE_DATE_EPOCH."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    except (ValueError, OverflowError, OSError):
        raise DomainError(
            f"SOURCE_DATE_EPOCH={quoted(epoch or '')} is not a number of seconds since 1970; correct or unset it"
        ) from None
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def board_title(place: str) -> str | None:
    """The name of a board's file; none for a URL, so that the page does not reveal the server."""
    return None if "://" in place else Path(place).stem


def _write(out: Path, text: str) -> None:
    if out == STANDARD_OUTPUT:
        typer.echo(text, nl=False)
    else:
        write_whole(out, text)


def is_board(source: str) -> bool:
    """Whether a board is meant: a URL, or a file of SQLite."""
    if "://" in source:
        return True
    try:
        with Path(source).open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False  # reading it as a certificate gives the message


def is_archive(place: str) -> bool:
    """Whether a file is the archive of a board or of a gate's ledger."""
    try:
        with Path(place).open("rb") as file:
            return file.read(max(map(len, _ARCHIVES))).startswith(_ARCHIVES)
    except OSError:
        return False  # reading it as something else gives the message


def model_info(path: Path | None, models: Collection[str]) -> ModelInfo | None:
    """What the file of ``--model-info`` says, if there is one."""
    if path is None:
        return None
    from bbedge.display.page.table import ModelInfo
    from bbedge.readers.lists import read_model_info

    table = read_model_info(path, models)
    return ModelInfo.from_rows(table.columns, table.rows)


def item_scores(certificate: Certificate, scores: Scores, *, pilot: int = 0) -> ItemScores:
    """The scores of single items behind a certificate; those of a pilot are not part of it."""
    from bbedge.display.page.payload import ItemScores

    whole = certificate.headline or certificate
    weights = {
        "" if view.name is None else view.name: view.leaderboard.design.weights
        for view in (whole, *whole.views)
        if view.leaderboard is not None
    }
    counted = replace(scores, values=scores.values[pilot:], replicates=scores.replicates[pilot:]) if pilot else scores
    return ItemScores.from_scores(counted, certificate.names, weights=weights)
