"""A process that writes to a board: ``board_writer.py BOARD``, then a task a line on standard input, an answer a line.

A task is ``{"label": "3" or null, "seed": 7, "until_in_order": false}``: a replicate with that label (none: not
numbered) and the scores of that seed. The answer is ``{"added": [...], "already": [...]}`` or ``{"error": "..."}``.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from bbedge.board import Board
from bbedge.core.scores import Scores
from bbedge.errors import BoardError

MODELS = ("weak", "middle", "strong")
ITEMS = tuple(f"q{i}" for i in range(16))


def replicate(label: str | None, seed: int) -> Scores:
    """One complete replicate of the board of these tests."""
    chances = np.linspace(0.1, 0.9, len(MODELS))[:, None]
    values = (np.random.default_rng(seed).random((1, len(MODELS), len(ITEMS))) < chances).astype(float)
    return Scores(
        models=MODELS,
        items=ITEMS,
        blocks=ITEMS,
        replicates=(label or "1",),
        values=values,
        numbered=label is not None,
    )


def main() -> None:
    board = Board.open(sys.argv[1])
    say({"ready": True})
    for line in sys.stdin:
        task = json.loads(line)
        while True:
            try:
                added = board.add(replicate(task["label"], task["seed"]))
            except BoardError as error:
                if task.get("until_in_order") and "out of order" in str(error):
                    time.sleep(0.002)
                    continue
                say({"error": str(error)})
            else:
                say({"added": added.replicates, "already": added.already})
            break


def say(answer: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
