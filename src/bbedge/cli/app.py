"""The commands of ``bbedge``."""

from __future__ import annotations

from typing import Annotated

import typer

from bbedge._version import __version__
from bbedge.cli.board import app as board_app
from bbedge.cli.certify import certify
from bbedge.cli.compare import compare
from bbedge.cli.convert import convert
from bbedge.cli.diagnose import diagnose
from bbedge.cli.evaluate import evaluate
from bbedge.cli.figure import app as figure_app
from bbedge.cli.inspect_scores import inspect_scores
from bbedge.cli.plan import plan
from bbedge.cli.report import report
from bbedge.cli.study import app as study_app

app = typer.Typer(
    name="bbedge",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Which model is really better? Leaderboards with a guarantee that survives looking after every run.",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"bbedge {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take the options that come before a command."""


app.command()(certify)
app.command("inspect-scores")(inspect_scores)
app.command()(convert)
app.command()(compare)
app.command()(diagnose)
app.command()(report)
app.command()(plan)
app.command()(evaluate)
app.add_typer(board_app, name="board")
app.add_typer(study_app, name="study")
app.add_typer(figure_app, name="figure")
