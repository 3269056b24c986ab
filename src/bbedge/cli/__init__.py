"""The command line: the only composer, the only printer, the only place where an error becomes an exit code."""

from __future__ import annotations

import atexit
import gc
import sys


def main() -> None:
    """Run ``bbedge``. Bad input ends with a message and exit code 2; a bug keeps its traceback."""
    # Libraries come in with very many objects and no garbage; to look for it took a tenth of a short run.
    gc.set_threshold(100_000, 50, 50)
    atexit.register(gc.freeze)
    from bbedge.cli.app import make_app
    from bbedge.errors import BbedgeError, CopiedReplicateError
    from bbedge.naming import harmless

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a name must not stop us
    try:
        make_app(sys.argv[1] if len(sys.argv) > 1 else None)(prog_name="bbedge")
    except BbedgeError as error:
        text = error.explained("--copies allow") if isinstance(error, CopiedReplicateError) else str(error)
        sys.stderr.write(f"bbedge: {harmless(text)}\n")
        sys.exit(2)
