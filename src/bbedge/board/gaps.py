"""Missing scores on their way to the board.

A design says how a missing score counts, and a gap that is on the board is final: whoever could fill it in later could
choose whether to, after seeing the score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from bbedge.board.stage import Panel
from bbedge.board.state import BoardState
from bbedge.errors import Argument, BoardError
from bbedge.text import quoted


def check_rule(state: BoardState, *, whole_runs: bool) -> None:
    """Refuse to count whole runs as missing where the design counts no missing scores."""
    if whole_runs and state.design.incomplete == "refuse":
        raise BoardError(
            Argument("incomplete", "worst-case"),
            " is not part of this board's design, which is frozen: a replicate stays incomplete until every score is "
            "there",
        )


def completed(panel: Panel, models: Iterable[str], state: BoardState, *, whole_runs: bool) -> Panel:
    """The panel as the design counts it, with all of the ``models``.

    One that is not there is refused, unless ``whole_runs`` says that its whole run is missing.
    """
    if state.design.incomplete == "refuse":
        return panel
    absent = [model for model in models if model not in panel]
    if absent and not whole_runs:
        raise BoardError(
            f"model {quoted(absent[0])} has no score at all in this replicate, which stays incomplete until the run of "
            "the model is there. If it will never come, retire the model, or count the whole run as missing: ",
            Argument("incomplete", state.design.incomplete),
        )
    nothing = np.full(len(state.epoch.items), np.nan)
    found = {**panel, **dict.fromkeys(absent, nothing)}
    if state.design.incomplete == "zero":
        return {model: np.nan_to_num(scores, nan=0.0) for model, scores in found.items()}
    return found


def check_final(before: Panel, now: Panel, items: Sequence[str], place: int) -> None:
    """Refuse scores that differ from those of a stored replicate only in filling its gaps."""
    shared = [model for model in now if model in before]
    if not shared or not _agree(before, now, shared):
        return
    for model in shared:
        filled = np.isnan(before[model]) & ~np.isnan(now[model])
        if filled.any():
            item = items[int(np.flatnonzero(filled)[0])]
            raise BoardError(
                f"replicate {place} is on the board already, where {quoted(model)} has no score on {quoted(item)}. "
                "A missing score that is recorded is final: a score that comes later could have been chosen after it "
                "was seen. Keep the score out, or run a new replicate"
            )


def completes(before: Panel, now: Panel, least: int) -> bool:
    """Whether these are the scores of a stored replicate with other gaps: every score that both have is the same.

    Scores of models that solve everything, or nothing, say little; of the others there must be at least ``least``.
    """
    shared, there = [model for model in now if model in before], 0
    for model in shared:
        both = before[model][~np.isnan(before[model]) & ~np.isnan(now[model])]
        there += len(both) if not least or (len(both) and both.min() < both.max()) else 0
    return there >= max(1, least) and _agree(before, now, shared)


def _agree(before: Panel, now: Panel, models: Sequence[str]) -> bool:
    return all(
        bool(np.all((before[model] == now[model]) | np.isnan(before[model]) | np.isnan(now[model]))) for model in models
    )
