"""How long it takes until anything happens: the import and the command line."""

from __future__ import annotations

import sys
from functools import partial

from benchmarks.rows import Row
from benchmarks.timing import interleaved, run_process, seconds_text

WANTED = 0.5
COMMANDS = {"import bbedge": ["-c", "import bbedge"], "bbedge --help": ["-m", "bbedge", "--help"]}


def rows(*, quick: bool = False) -> list[Row]:
    """A row for the import, one for the command line; an empty Python is measured in between."""
    works = {"nothing": ["-c", "pass"], **COMMANDS}
    took = interleaved(
        {name: partial(run_process, [sys.executable, *given]) for name, given in works.items()},
        2 if quick else 5,
    )
    return [
        Row(
            target=f"start of a process: {name}",
            measured=took[name].median,
            unit="s",
            sides=f"median of {len(took[name].seconds)}; Python alone {seconds_text(took['nothing'].median)}",
            note=f"at most {seconds_text(WANTED)} is wanted; seconds are of this machine, so it is no target",
        )
        for name in COMMANDS
    ]
