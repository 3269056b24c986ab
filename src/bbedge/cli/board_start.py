"""What a board needs before it is made, written from scores that are there: items, models and a design to edit."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

from bbedge.errors import DataError
from bbedge.files import write_whole
from bbedge.text import quoted, shown_path

if TYPE_CHECKING:
    from bbedge.core.scores import Scores

_DESIGN = """\
# The design of a board. Edit it, then make the board; after that it cannot be changed.
# docs/board.md describes every key. Choose without looking at the scores.

alpha = 0.05                 # largest probability of any false certificate, over the board's whole life
tau = 0.0                    # margin that an advantage must exceed, as a fraction of the score range
method = "bb-edge-x"         # or "bb-edge", the published method
score_range = [{low!r}, {high!r}]
spending = "open-ended"      # how alpha is shared out over new models and new items
copies = "refuse"            # or "allow": replicates that repeat earlier scores count
"""


def start_files(place: str, scores: Scores) -> tuple[Path, Path, Path]:
    """Write the design, the items and the models beside the board's place; existing files are never replaced."""
    home = Path("board") if "://" in place else Path(place)
    design, items, models = (
        home.with_name(f"{home.stem}{ending}") for ending in ("-design.toml", "-items.csv", "-models.txt")
    )
    for path in (design, items, models):
        if path.exists():
            raise DataError(f"{shown_path(path)}: the file exists; move it away, or use it as it is")
    for model in scores.models:
        if model != model.strip() or len(model.splitlines()) != 1:
            raise DataError(
                f"model {quoted(model)} has a line break, or white space at an end, and cannot stand in a list with a "
                "name a line; correct the name"
            )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["item", "block"])
    writer.writerows(zip(scores.items, scores.blocks, strict=True))
    low, high = scores.score_range
    write_whole(items, text.getvalue())
    write_whole(models, "".join(f"{model}\n" for model in scores.models))
    write_whole(design, _DESIGN.format(low=low, high=high))
    return design, items, models
