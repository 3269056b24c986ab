"""The leaderboard as a small table for notebooks: text alone, no files, nothing but escaped names and numbers."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from bbedge.text import display_names

if TYPE_CHECKING:
    from bbedge.core.leaderboard import Leaderboard

MOST_ROWS = 50
"""The number of models that are shown."""

_CELL = "padding:2px 10px;text-align:{};border:0"
_LEFT, _RIGHT = _CELL.format("left"), _CELL.format("right")
_BAR = "position:relative;width:160px;height:10px;background:rgba(128,128,128,.25)"
_SPAN = "position:absolute;left:{:.4g}%;width:{:.4g}%;height:10px;background:#2b83ba"


def leaderboard_html(leaderboard: Leaderboard) -> str:
    """What stands, as HTML with its style inside, so that it looks the same wherever a notebook is shown."""
    design, graph = leaderboard.design, leaderboard.standing
    low, high = design.score_range
    decimals = max(0, 4 - math.ceil(math.log10(high - low)))
    size = len(design.models)
    if not leaderboard.replicates:
        return f"<div><p><b>{escape(design.method)}</b>: {size:,} models, no complete replicate yet</p></div>"
    names = display_names(design.models)
    ranks = graph.ranks
    tiers = {model: t for t, members in enumerate(graph.tiers, start=1) for model in members}
    order = leaderboard.order()
    rows = []
    for i in order[:MOST_ROWS]:
        best, worst = graph.rank_intervals[i]
        mean = float(leaderboard.means[i])
        span = _SPAN.format(100 * (best - 1) / size, 100 * (worst - best + 1) / size)
        rows.append(
            f'<tr><td style="{_RIGHT}"><b>{best if best == worst else f"{best}-{worst}"}</b></td>'
            f'<td style="{_LEFT}"><div style="{_BAR}"><div style="{span}"></div></div></td>'
            f'<td style="{_LEFT}"><bdi>{escape(names[i])}</bdi></td>'
            f'<td style="{_RIGHT}">{"-" if math.isnan(mean) else f"{low + mean * (high - low):.{decimals}f}"}</td>'
            f'<td style="{_RIGHT}">{int(ranks.n_worse[i])}</td>'
            f'<td style="{_RIGHT}">{int(ranks.n_better[i])}</td>'
            f'<td style="{_RIGHT}">{tiers[i]}</td></tr>'
        )
    heads = {"rank": _RIGHT, f"1 to {size}": _LEFT, "model": _LEFT}
    heads |= dict.fromkeys(("mean", "beats", "loses to", "tier"), _RIGHT)
    head = "".join(f'<th style="{style}">{text}</th>' for text, style in heads.items())
    return (
        f"<div><p><b>{escape(design.method)}</b>: {graph.n_resolved:,} of {ranks.n_pairs:,} pairs certified "
        f"after {leaderboard.replicates:,} replicates, alpha {design.alpha:g}{_warning(leaderboard)}</p>"
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
        f"{f'<p>{size - MOST_ROWS:,} more models</p>' if size > MOST_ROWS else ''}</div>"
    )


def _warning(leaderboard: Leaderboard) -> str:
    if not leaderboard.contradictions:
        return ""
    return ". <b>CONTRADICTION</b>: models are certified better than each other; do not rely on this until you know why"
