"""What commands write: consoles, progress, JSON, pages and what they contain."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from bbedge.errors import CONTRADICTION_EXIT_CODE, DomainError
from bbedge.files import write_whole
from bbedge.text import quoted, shown_path

if TYPE_CHECKING:
    from rich.console import Console

    from bbedge.board import Board
    from bbedge.certificate.certificate import Certificate, Shown
    from bbedge.core.leaderboard import Leaderboard
    from bbedge.core.scores import Scores
    from bbedge.display.page.payload import ItemScores
    from bbedge.display.page.table import ModelInfo


JsonOut = Annotated[
    Path | None,
    typer.Option("--json", metavar="OUT", help="Write the result as JSON; - for standard output.", show_default=False),
]
AllRows = Annotated[bool, typer.Option("--all", help="Print all models, not only the first 60.")]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="Print the full statement of the guarantee and its assumptions.")
]
Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE", help="A certificate (the output of certify --json) or a board (a file or a PostgreSQL URL)."
    ),
]
Title = Annotated[
    str | None, typer.Option("--title", metavar="TEXT", help="The heading of what is shown.", show_default=False)
]
ModelInfoFile = Annotated[
    Path | None,
    typer.Option(
        "--model-info",
        metavar="FILE",
        help="What you know of the models, for the page: a CSV file with a column model and any others, such as "
        "organisation, link, date, price or tokens.",
        show_default=False,
    ),
]
Work = TypeVar("Work")

_STANDARD_OUTPUT = Path("-")
_FILE_WIDTH = 120  # a file or a CI log has no width of its own
_SQLITE = b"SQLite format 3\0"


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


def output(*, json_out: Path | None = None) -> Console:
    """The console for results: standard error if JSON goes to standard output."""
    from rich.console import Console

    console = Console(stderr=json_out == _STANDARD_OUTPUT)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _FILE_WIDTH
    return console


def say(*lines: str, console: Console | None = None, style: str = "") -> None:
    """Print lines as they are; long ones are not broken."""
    from rich.text import Text

    to = console or output()
    for line in lines:
        to.print(Text(line, style=style), highlight=False, soft_wrap=True)


def say_written(console: Console, **files: Path | None) -> None:
    """Print which files were written; the name of each says what it holds."""
    for what, path in files.items():
        if path is not None and path != _STANDARD_OUTPUT:
            say(f"Wrote the {what.replace('_', ' ')} to {shown_path(path)}.", console=console)


def write_json(out: Path | None, make: Callable[[], object]) -> Console:
    """Write a result as JSON if ``out`` asks for it; the console is for everything else."""
    if out is not None:
        _write(out, json.dumps(make(), ensure_ascii=True, allow_nan=False, indent=1) + "\n")
    return output(json_out=out)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Which part of a certificate or a board to show."""

    epoch: Annotated[
        int | None,
        typer.Option(help="The epoch of a board. Default: the last one that has runs.", show_default=False),
    ] = None
    current: Annotated[
        bool, typer.Option("--current", help="Show the certificates of the last look alone, not of all looks.")
    ] = False
    name: Annotated[
        str | None,
        typer.Option(
            "--view",
            metavar="NAME",
            help="Show this view, such as a category, and not the headline.",
            show_default=False,
        ),
    ] = None

    @property
    def shown(self) -> Shown:
        """Which of the two graphs."""
        return "current" if self.current else "all"

    def chosen(self, certificate: Certificate) -> Certificate:
        """The view that was asked for, or the headline."""
        return certificate if self.name is None else certificate.view(self.name)

    def open(self, source: str, *, force: bool = False) -> tuple[Certificate, str | None]:
        """The certificate in a file that ``certify --json`` wrote or of a board, and a title if it is of a board.

        A file that fails its checks is refused, unless ``force`` says to show it with a warning.
        """
        from bbedge.verify import read_certificate

        if not is_board(source):
            if self.epoch is not None:
                raise DomainError(f"{shown_path(source)} is not a board; leave out --epoch, which is for boards")
            return self.chosen(read_certificate(Path(source), shown=self.shown, force=force)), None

        from bbedge.board import Board
        from bbedge.certificate.of_board import board_certificate

        certificate = board_certificate(Board.open(source), self.epoch, shown=self.shown)
        return self.chosen(certificate), board_title(source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a certificate is written as for readers: a page, Markdown."""

    html_out: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="OUT", help="Write a web page: one file that needs no network.", show_default=False
        ),
    ] = None
    markdown_out: Annotated[
        Path | None,
        typer.Option(
            "--markdown",
            metavar="OUT",
            help="Write the answer and the table as Markdown, for a pull request or a job summary; - for standard "
            "output.",
            show_default=False,
        ),
    ] = None
    title: Title = None
    model_info: ModelInfoFile = None
    with_items: Annotated[
        bool,
        typer.Option(
            "--with-items",
            help="With --html: write the mean scores of models on single items into the page, so that it shows on "
            "which items one model beats another. At most 2,000 items and 60 models.",
        ),
    ] = False

    def check(self, json_out: Path | None) -> None:
        """Raise if two documents are to go to standard output, or something is for a page and there is none."""
        for option, given in (("--model-info", self.model_info is not None), ("--with-items", self.with_items)):
            if given and self.html_out is None:
                raise DomainError(f"{option} adds to a page; add --html OUT to write the page")
        if json_out == self.markdown_out == _STANDARD_OUTPUT:
            raise DomainError("--json - and --markdown - both write to standard output; give one of them a file name")


def write_certificate(
    certificate: Certificate,
    *,
    json_out: Path | None,
    page: Page,
    title: str | None = None,
    info: ModelInfo | None = None,
    items: ItemScores | None = None,
) -> Console:
    """Write the document and the page that the options ask for; the console is for everything else."""
    if page.html_out is not None or json_out is not None:
        certificate = certificate.sealed(written_at())
    if page.html_out is not None:
        write_page(page.html_out, certificate, title=page.title or title, info=info, items=items)
    # Standard output comes last: its reader may close it early, and the files must still be written.
    documents: list[tuple[Path | None, Callable[[], str]]] = [
        (json_out, certificate.to_json),
        (page.markdown_out, lambda: certificate.to_markdown(page.title or title)),
    ]
    for out, text in sorted(documents, key=lambda document: document[0] == _STANDARD_OUTPUT):
        if out is not None:
            _write(out, text())
    return output(json_out=_STANDARD_OUTPUT if _STANDARD_OUTPUT in (json_out, page.markdown_out) else None)


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


def write_page(
    path: Path,
    certificate: Certificate,
    *,
    title: str | None = None,
    info: ModelInfo | None = None,
    items: ItemScores | None = None,
) -> None:
    """Write a page to a file."""
    from bbedge.display.page import TITLE, render_page

    sealed = certificate.sealed(written_at())
    write_whole(path, render_page(sealed, title=title or TITLE, model_info=info, items=items))


def board_title(place: str) -> str | None:
    """The name of a board's file; none for a URL, so that the page does not reveal the server."""
    return None if "://" in place else Path(place).stem


def _write(out: Path, text: str) -> None:
    if out == _STANDARD_OUTPUT:
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


def model_info(path: Path | None, models: Collection[str]) -> ModelInfo | None:
    """What the file of ``--model-info`` says, if there is one."""
    if path is None:
        return None
    from bbedge.display.page.table import ModelInfo
    from bbedge.readers.lists import read_model_info

    table = read_model_info(path, models)
    return ModelInfo.from_rows(table.columns, table.rows)


def item_scores(
    certificate: Certificate,
    scores: Scores,
    *,
    pilot: int = 0,
    addresses: Mapping[tuple[str, str], str] | None = None,
) -> ItemScores:
    """The scores of single items behind a certificate; those of a pilot are not part of it."""
    from bbedge.display.page.payload import ItemScores

    whole = certificate.headline or certificate
    weights = {
        "" if view.name is None else view.name: view.leaderboard.design.weights
        for view in (whole, *whole.views)
        if view.leaderboard is not None
    }
    counted = replace(scores, values=scores.values[pilot:], replicates=scores.replicates[pilot:]) if pilot else scores
    return ItemScores.from_scores(counted, certificate.names, weights=weights, addresses=addresses)


def board_items(certificate: Certificate, board: Board, number: int) -> ItemScores:
    """The scores of single items on a board, of its current epoch and the models that are still run."""
    from bbedge.board.stored_scores import stored_scores

    epoch = board.state.epoch
    if number != epoch.number:
        raise DomainError(f"--with-items is for the current epoch, {epoch.number}; leave it out for epoch {number}")
    return item_scores(
        certificate, stored_scores(board, [model for model in epoch.models if model in board.state.active])
    )
