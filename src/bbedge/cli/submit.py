"""``bbedge submit``: hand scores in to a board that another team keeps, and check what was handed in."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from bbedge.cli.options import ScoreFiles, Without, grouped
from bbedge.cli.output import JsonOut, say, spinner, write_json
from bbedge.errors import DomainError
from bbedge.files import read_text, write_whole
from bbedge.records.codec import plain
from bbedge.records.reading import SUITE, Reading
from bbedge.text import counted, shown_path

app = typer.Typer(
    help="Hand in scores to a board that another team keeps, and check what was handed in.", no_args_is_help=True
)

REFUSED = 3
"""Exit code for a submission that fails a check."""


@app.command()
@grouped
def pack(
    out: Annotated[Path, typer.Argument(metavar="OUT.zip", help="The file to write.")],
    scores: ScoreFiles,
    *,
    who: Annotated[str, typer.Option(metavar="NAME", help="Who hands the scores in.", show_default=False)],
    protocol: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A text that says how the runs were made: prompts, settings, versions.",
            show_default=False,
        ),
    ] = None,
    registration: Annotated[
        str | None,
        typer.Option(metavar="HASH", help="The registration of the board that it is for.", show_default=False),
    ] = None,
    with_logs: Annotated[
        bool, typer.Option("--with-logs", help="Keep the files, so that others can read the scores from them again.")
    ] = False,
    reading: Annotated[Reading, Without(*SUITE, "incomplete", "less_is_better", "metric_range", "item_column")],
) -> None:
    """Make one file of score tables or logs: the scores, their hashes, how they were read, and who hands them in.

    [cyan]bbedge submit pack kestrel.zip runs/ --who "Kestrel team" --protocol HOW.md --with-logs[/cyan]
    """
    from bbedge.submit.archive import pack as write
    from bbedge.submit.confined import check_confined

    text = "" if protocol is None else read_text(protocol)
    with spinner() as progress:
        made = write(
            [str(path) for path in scores],
            out,
            reading,
            who=who,
            protocol=text,
            registration=registration,
            keep_files=with_logs,
            progress=progress,
        )
        progress("checking it as others will")
        verdict = check_confined(out)
    if not verdict.accepted:
        why = "; ".join(each.text for each in verdict.checks if each.status == "fails")
        raise DomainError(f"{shown_path(out)} would be refused: {why}")
    kept = f"with {counted(len(made.files), 'file')}" if with_logs else "without the files that they were read from"
    say(
        f"{shown_path(out)}: {counted(len(made.scores.models), 'model')}, {counted(made.scores.items, 'item')}, "
        f"{counted(made.scores.runs, 'run')}, {kept}.",
        f"SHA-256 {verdict.sha256}",
    )


@app.command()
def check(
    submission: Annotated[Path, typer.Argument(metavar="SUBMISSION.zip", help="The file to check.")],
    *,
    board: Annotated[
        str | None,
        typer.Option(
            metavar="BOARD",
            help="Try it on a copy of this board: an archive of board export, a file, or a PostgreSQL URL.",
            show_default=False,
        ),
    ] = None,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="The most memory that the check may use.")] = "8G",
    seconds: Annotated[int, typer.Option(min=1, help="The most seconds of computing that it may use.")] = 600,
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write the verdict as Markdown, for a pull request.", show_default=False),
    ] = None,
    json_out: JsonOut = None,
) -> None:
    """Check a submission in a process of its own, without network or secrets, and with bounded memory and time.

    Computes hashes and means again, reads the kept logs again, and tries the scores on a copy of the board.

    [cyan]bbedge submit check kestrel.zip --board board.jsonl --markdown verdict.md[/cyan]

    [bold]Exit codes[/bold]  0 every check holds, 2 bad input, 3 refused
    """
    from bbedge.cli.output import is_board
    from bbedge.display.submission import verdict_lines, verdict_markdown
    from bbedge.readers.limits import bytes_of
    from bbedge.submit.confined import check_confined

    with spinner() as progress, TemporaryDirectory(prefix="bbedge-") as folder:
        progress("checking the submission")
        archive = board
        if board is not None and is_board(board):
            from bbedge.board import Board

            archive = str(Path(folder) / "board.jsonl")
            with Board.open(board) as opened:
                opened.export(archive)
        verdict = check_confined(submission, archive, memory=bytes_of(memory, "memory"), seconds=seconds)
    if markdown is not None:
        write_whole(markdown, verdict_markdown(verdict))
    console = write_json(json_out, lambda: plain(verdict))
    say(*verdict_lines(verdict), console=console)
    if not verdict.accepted:
        raise typer.Exit(REFUSED)
