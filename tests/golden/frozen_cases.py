"""All scripts whose outputs are frozen, by name."""

from __future__ import annotations

from golden import frozen_boards, frozen_gates, frozen_tables
from golden.frozen_makers import CASES

__all__ = ["CASES", "frozen_boards", "frozen_gates", "frozen_tables"]
