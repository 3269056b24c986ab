"""Gates inside other tools: the pytest plugin and the hook of Inspect.

``pytest_plugin`` has the options, the fixture and the hooks of pytest; ``pytest_session`` the scores of one session,
its baseline and its verdict. ``inspect_gate`` prints the verdict after an eval set of Inspect, and ends a task once the
verdict is known. Policies, bounds and verdicts themselves are those of :mod:`bbedge.gate`: nothing is decided here.

These tools import the modules at every start, also in sessions without a gate. So ``pytest_plugin`` and
``inspect_gate`` import NumPy and the rest of bbedge only when there is something to decide.
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
