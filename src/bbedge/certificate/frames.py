"""A leaderboard as polars frames: a row per model, or a row per tested direction."""

from __future__ import annotations

import numpy as np
import polars as pl

from bbedge.core.leaderboard import Leaderboard


def model_frame(leaderboard: Leaderboard) -> pl.DataFrame:
    """What stands of each model, in the order shown; means in score units."""
    order = np.array(leaderboard.order())
    low, high = leaderboard.design.score_range
    best, worst = np.array(leaderboard.standing.rank_intervals)[order].T
    return pl.DataFrame(
        {
            "model": [leaderboard.design.models[i] for i in order.tolist()],
            "mean": _known(low + leaderboard.means[order] * (high - low)),
            "rank_best": best,
            "rank_worst": worst,
            "wins": len(order) - worst,
            "losses": best - 1,
        }
    )


def pairs_frame(leaderboard: Leaderboard) -> pl.DataFrame:
    """What is known of each tested direction, in the order shown; differences in score units."""
    order = np.array(leaderboard.order())
    low, high = leaderboard.design.score_range
    ends = order[np.argwhere(leaderboard.design.tested[np.ix_(order, order)])]
    a, b = ends[:, 0], ends[:, 1]
    names = pl.Series(leaderboard.design.models, dtype=pl.String)
    first = leaderboard.first_certified[a, b]
    return pl.DataFrame(
        {
            "better": names.gather(a),
            "worse": names.gather(b),
            "difference": _known((leaderboard.means[a] - leaderboard.means[b]) * (high - low)),
            "lower": _known(leaderboard.lower_bounds[a, b] * (high - low)),
            "upper": _known(-leaderboard.lower_bounds[b, a] * (high - low)),
            "log_e": _known(leaderboard.log_e[a, b]),
            "certified": leaderboard.standing.above[a, b],
            "since": pl.Series(first).replace(0, None),
        }
    )


def _known(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> pl.Series:
    return pl.Series(values, dtype=pl.Float64).fill_nan(None)
