"""The command line: arguments in, exit codes out. Only commands compose, print and turn errors into exit codes.

A module here holds one or a few commands, and nothing that another room could do: options are records
(``records/options``, ``records/reading``, ``records/output``), which ``options.grouped`` turns into options of a
command, and what is computed or written is in the room that owns it. ``output`` has consoles, progress and files.

NumPy, polars and Rich take longer to import than most commands to run. Modules import them inside functions, so that
``bbedge --help`` stays under half a second.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from importlib import import_module
from typing import Annotated

import typer

from bbedge._version import __version__

OUTPUT_CLOSED = 141
"""The exit code when the reader of standard output went away, as of a program that SIGPIPE ends: 128 + 13."""
COMMANDS = {
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
    "publish": "publish",
    "demo": "certify",
    "cite": "",
}
"""Every command and its module; that of cite is this one."""
GROUPS = ("board", "submit", "study", "figure")
"""Commands with commands of their own, in the module of the same name."""


def main() -> None:
    """Run ``bbedge``. Bad input ends with a message and the exit code of the error; a bug keeps its traceback."""
    # Libraries come in with very many objects and no garbage; to look for it took a tenth of a short run.
    gc.set_threshold(100_000, 50, 50)
    atexit.register(gc.freeze)
    from bbedge.errors import BbedgeError
    from bbedge.text import harmless

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a name must not stop us
    try:
        try:
            make_app(sys.argv[1] if len(sys.argv) > 1 else None)(prog_name="bbedge")
        except BbedgeError as error:
            from bbedge.cli.options import as_option

            sys.stderr.write(f"bbedge: {harmless(error.render(as_option))}\n")
            sys.exit(error.exit_code)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # here, where an error can still be handled, and not while Python shuts down
    except BrokenPipeError:
        _end_quietly()
    except SystemExit as stop:
        # Rich and Typer exit by themselves when they cannot write.
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        _end_quietly()


def _end_quietly() -> None:
    """Exit without the complaint of Python about output that it could not deliver."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            os.dup2(nowhere, stream.fileno())
    sys.exit(OUTPUT_CLOSED)


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
    known = (*COMMANDS, *GROUPS)
    for name in [first_word] if first_word in known else known:
        module = import_module(f"bbedge.cli.{COMMANDS.get(name, name)}".rstrip("."))
        if name in GROUPS:
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


def cite(
    *,
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Print entries for BibTeX and BibLaTeX.")] = False,
) -> None:
    """Print how to cite the paper of the method, and bbedge.

    [cyan]bbedge cite --bibtex >> references.bib[/cyan]
    """
    from bbedge.citation import as_bibtex, as_text

    typer.echo(as_bibtex() if bibtex else as_text(), nl=False)
