"""The evidence of the looks that were kept, as a part of the document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from bbedge.core.history import History


class HistoryRecord(TypedDict):
    """Evidence and threshold, look by look; matrices in the order of the leaderboard."""

    replicates: list[int]
    log_thresholds: list[float]
    log_e: list[list[list[float | None]]]


def history_record(history: History, order: Sequence[int]) -> HistoryRecord:
    """What was kept of the looks, with the models in this order."""
    window = np.ix_(np.array(order), np.array(order))
    return {
        "replicates": list(history.replicates),
        "log_thresholds": list(history.log_thresholds),
        "log_e": [
            [[None if value != value else value for value in row] for row in each[window].tolist()]
            for each in history.log_e
        ],
    }
