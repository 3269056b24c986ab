"""The command line: the only composer, the only printer, the only place where an error becomes an exit code."""

from __future__ import annotations

import atexit
import gc
import os
import sys

OUTPUT_CLOSED = 141
"""The exit code when the reader of standard output went away, as of a program that SIGPIPE ends: 128 + 13."""


def main() -> None:
    """Run ``bbedge``. Bad input ends with a message and exit code 2; a bug keeps its traceback."""
    # Libraries come in with very many objects and no garbage; to look for it took a tenth of a short run.
    gc.set_threshold(100_000, 50, 50)
    atexit.register(gc.freeze)
    from bbedge.cli.app import make_app
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
            sys.exit(2)
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
