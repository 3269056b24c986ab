"""Gates inside other tools: the pytest plugin and the hook of Inspect.

These tools import their modules at every start, so that NumPy and the rest of bbedge are imported late.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bbedge.files import read_text
from bbedge.text import shown_path

if TYPE_CHECKING:
    from bbedge.gate import Policy


def read_policy(path: str | Path) -> Policy:
    """The policy in a file."""
    from bbedge.gate import Policy

    return Policy.from_toml(read_text(Path(path)), source=shown_path(path))
