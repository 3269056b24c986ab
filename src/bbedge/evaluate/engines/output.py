"""The end of what a program has written, readable and harmless on a terminal."""

from __future__ import annotations

import re
from pathlib import Path

from bbedge.text import shown

_LINES = 12
_WIDTH = 200
_BYTES = 16_384
# Colours, cursor movements and titles: a program meant them for a terminal of its own.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")


def last_lines(log: Path) -> tuple[str, ...]:
    """The last lines of a log that are not empty; of a progress bar, what it showed last."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _BYTES))
            text = file.read(_BYTES).decode("utf-8", "replace")
    except OSError:
        return ()
    lines = [_last_state(_ESCAPES.sub("", line)) for line in text.split("\n")]
    return tuple(shown(line, _WIDTH) for line in lines if line.strip())[-_LINES:]


def _last_state(line: str) -> str:
    """What a line shows after its carriage returns."""
    states = [state for state in line.split("\r") if state.strip()]
    return states[-1].rstrip().expandtabs(4) if states else ""
