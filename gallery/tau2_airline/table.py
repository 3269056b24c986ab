"""tau2-bench, airline: from result files in the history of the repository to a table.

python -m gallery.tau2_airline.table CLONE [TABLE]

Most of the files are in pull requests or were removed later, so a clone needs them all:

    git clone https://github.com/sierra-research/tau2-bench
    git -C tau2-bench fetch origin "refs/pull/*/head:refs/pull/*/head"

A file that only a force-pushed version of a pull request had is not in such a clone; the message then names it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from gallery.boards import make_table, models_of, table_of

FILES = {
    "aide_claude-sonnet-4-5": "45651a42e3f0f264c56fc4ea66df492d20dd83bd",
    "azure_gpt-4o-2024-11-20": "5a804c48b05aa978dc436d9317dcfcf27d83907d",
    "button_claude-opus-4-6": "b25ec8565ee4572042aa0f614044fb6697077198",
    "ironshell_gpt-5.4": "e77229c1fcb00b4447b3b9e3222c85b3324a2b75",
    "langchain_gpt-oss-120b": "0620dda831909001fe4bd79dd3cb0bd4cb41a85f",
    "qwen2.5-7b_retries": "b4e983fc05fc2aeee3edf9ed984ef6079371959b",
    "toolorchestra_gpt-5_orchestrator": "dfd71123a2868b264444e33a088325dc91a6de28",
    "whissle": "d09a484020d9667ee90232299ddc10f8562e9dbf",
}
"""Git's name of the file with the run of each submission: it is the same in every clone, wherever the file was."""


def rows(clone: Path) -> pl.DataFrame:
    """The reward of each submission's one trial of each of the 50 tasks."""
    return table_of(_cells(clone))


def _cells(clone: Path) -> Iterator[tuple[str, str, float]]:
    for model in models_of("tau2_airline"):
        read = ["git", "-C", str(clone), "cat-file", "blob", FILES[model]]
        done = subprocess.run(read, capture_output=True, check=False)
        if done.returncode:
            sys.exit(f"{clone} does not have the file {FILES[model]}, the run of {model}; see the pull requests")
        trials = json.loads(done.stdout)["simulations"]
        if sorted(trial["task_id"] for trial in trials) != sorted(str(number) for number in range(50)):
            raise ValueError(f"{model}: the file does not have one trial of each of the 50 tasks")
        for trial in trials:
            yield model, f"task-{int(trial['task_id']):02}", float(trial["reward_info"]["reward"])


if __name__ == "__main__":
    make_table("tau2_airline", rows, sys.argv[1:])
