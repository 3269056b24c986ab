"""Write the items, the models and a design to edit from existing scores, before a board is created."""

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
# The design of a board. Edit it, then create the board. It cannot change afterwards.
# docs/board.md describes every key. Choose the values without looking at the scores.

alpha = 0.05                 # largest probability of any false certificate, as long as the board exists
tau = 0.0                    # certify only differences above this margin, a fraction of the score range
method = "bb-edge-x"         # or "bb-edge", the published method
score_range = [{low!r}, {high!r}]
spending = "open-ended"      # how alpha is divided among new models and new items
copies = "refuse"            # or "allow": count replicates with the same scores as earlier ones
"""


def start_files(place: str, scores: Scores) -> tuple[Path, Path, Path]:
    """Write the design, the items and the models beside the board's place; existing files are never replaced."""
    home = Path("board") if "://" in place else Path(place)
    design, items, models = (
        home.with_name(f"{home.stem}{ending}") for ending in ("-design.toml", "-items.csv", "-models.txt")
    )
    for path in (design, items, models):
        if path.exists():
            raise DataError(f"{shown_path(path)}: the file exists already; move it, or use it as it is")
    for model in scores.models:
        if model != model.strip() or len(model.splitlines()) != 1:
            raise DataError(
                f"model {quoted(model)} has a line break or leading or trailing white space, so a file with one name "
                "per line cannot hold it; change the name"
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
