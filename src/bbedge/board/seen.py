"""What the board has of a first pass that is not complete, against scores that hold it again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bbedge.board.stage import Panel
from bbedge.board.state import BoardState
from bbedge.errors import BoardError
from bbedge.text import quoted


def seen_scores(parts: Sequence[Panel]) -> Panel:
    """What is on the board of the first pass, by model and in the run order; a stopped model has less than others."""
    models = dict.fromkeys(model for part in parts for model in part)
    return {model: np.concatenate([part[model] for part in parts if model in part]) for model in models}


def check_seen(given: Panel, seen: Panel, items: Sequence[str]) -> None:
    """Refuse scores of these items, in the run order, that are not those on the board; they may be left out."""
    for model, row in given.items():
        before = seen.get(model, row[:0])
        now = row[: len(before)]
        wrong = np.flatnonzero(~np.isnan(now) & (now != before))
        if not len(wrong):
            continue
        item = quoted(items[int(wrong[0])])
        if np.isnan(before[wrong[0]]):
            raise BoardError(
                f"{quoted(model)} has no score on {item} on the board. A missing score that is recorded is final: a "
                "score that comes later could have been chosen after it was seen. Keep the score out"
            )
        raise BoardError(
            f"the score of {quoted(model)} on {item} differs from the one on the board, where the first pass has come "
            "beyond this item; a stored score cannot be changed"
        )


def without_stopped(panel: Panel, state: BoardState, seen: Panel) -> Panel:
    """A complete replicate without models that were stopped, if it has no scores of them but those on the board."""
    return {
        model: row
        for model, row in panel.items()
        if model not in state.retired or not _is_known(row, state, seen.get(model, row[:0]))
    }


def _is_known(row: np.ndarray, state: BoardState, before: np.ndarray) -> bool:
    places = state.epoch.seen_places[: len(before)]
    expected = np.full(len(row), np.nan)
    expected[places] = before
    return bool(np.all(np.isnan(row) | (row == expected)))
