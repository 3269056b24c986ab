"""The commands of ``bbedge``."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from bbedge._version import __version__

_COMMANDS = {
    "certify": "certify",
    "gate": "gate",
    "inspect-scores": "scores",
    "convert": "scores",
    "compare": "certify",
    "diagnose": "diagnose",
    "report": "verify",
    "verify": "verify",
    "plan": "plan",
    "evaluate": "evaluate",
    "cite": "cite",
}
"""Every command and its module."""
_GROUPS = ("board", "study", "figure")


def make_app(first_word: str | None = None) -> typer.Typer:
    """All commands; or the one that the command line begins with, as each takes time to make."""
    app = typer.Typer(
        name="bbedge",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        help="Which model is really better? Leaderboards whose guarantee holds however often you look.",
    )
    app.callback()(root)
    known = (*_COMMANDS, *_GROUPS)
    for name in [first_word] if first_word in known else known:
        module = import_module(f"bbedge.cli.{_COMMANDS.get(name, name)}")
        if name in _GROUPS:
            app.add_typer(module.app, name=name)
        else:
            app.command(name)(getattr(module, name.replace("-", "_")))
    return app


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"bbedge {__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take the options that come before a command."""
