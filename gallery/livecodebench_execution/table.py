"""LiveCodeBench, code execution: from the file behind the leaderboard's page to a table.

python -m gallery.livecodebench_execution.table CHECKOUT [TABLE]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
from gallery.boards import make_table, table_of


def rows(checkout: Path) -> pl.DataFrame:
    """How often each model predicts the output of each program without reasoning; the problem is the block."""
    path = checkout / "src" / "mocks" / "performances_execution.json"
    found = json.loads(path.read_text(encoding="utf-8"))["performances"]
    return table_of(
        ((each["model"], each["sample_id"], each["Pass@1"] / 100, str(each["question_id"])) for each in found), "block"
    )


if __name__ == "__main__":
    make_table("livecodebench_execution", rows, sys.argv[1:])
