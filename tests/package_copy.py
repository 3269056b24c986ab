"""A copy of the package with small edits, to do in a test what a recipe of ``CONTRIBUTING.md`` says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
Edits = Mapping[str, str | Sequence[tuple[str, str]]]
"""By file: its text, if it is new; else pairs of a text that it has once, and of what takes its place."""


def edited_copy(folder: Path, edits: Edits) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Copy the package to a folder and edit it; what is returned runs Python with the copy, in that folder."""
    source = folder / "src" / "bbedge"
    shutil.copytree(ROOT / "src" / "bbedge", source, ignore=shutil.ignore_patterns("__pycache__"))
    for name, changes in edits.items():
        path = folder / name
        if isinstance(changes, str):
            assert not path.exists(), name
            path.write_text(changes, encoding="utf-8")
            continue
        text = path.read_text(encoding="utf-8")
        for old, new in changes:
            assert text.count(old) == 1, f"{name}: {text.count(old)} times {old!r}"
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(source.parent), "NO_COLOR": "1", "COLUMNS": "200"}

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *map(str, words)]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    return run
