"""Every judgement of a finished replicate, as a table that ``bbedge diagnose --judgement judgement`` reads."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from bbedge.errors import EvaluationError
from bbedge.evaluate.engine import Done
from bbedge.files import write_whole
from bbedge.text import shown_path

FOLDER = "judgements"
"""The folder of the tables, in the folder of the run."""


def write_judgements(folder: Path, replicate: int, done: Iterable[Done], blocks: Mapping[str, str]) -> None:
    """Write the judgements of a replicate, if its answers were judged several times."""
    rows = [
        (each.model, item, blocks.get(item, item), replicate, number, judgement)
        for each in done
        for item, judgements in each.judgements.items()
        for number, judgement in enumerate(judgements, start=1)
    ]
    if not rows:
        return
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("model", "item", "block", "replicate", "judgement", "score"))
    table.writerows(sorted(rows))
    path = folder / FOLDER / f"replicate-{replicate:05d}.csv"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.getvalue())
    except OSError as error:
        raise EvaluationError(f"{shown_path(path)}: cannot be written ({error.strerror})") from error
