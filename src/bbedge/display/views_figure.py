"""The rank intervals of all models in all views, as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.units import rank
from bbedge.errors import DomainError
from bbedge.text import display_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_SIDE = 80
"""With more models or views than this, cells have no text that can be read."""
_INK = "#1a1f24"


def views_figure(certificate: Certificate) -> Figure:
    """Models x views: a cell has the rank interval, darker if better, white if every rank is possible.

    The longer side is the rows.
    """
    from matplotlib.figure import Figure

    whole = certificate.headline or certificate
    views = (whole, *whole.views)
    size = len(whole.names)
    if not whole.views:
        raise DomainError("this certificate has no views besides the headline; draw ranks instead")
    if max(size, len(views)) > MOST_SIDE:
        raise DomainError(
            f"a figure of {size:,} models in {len(views):,} views would be too small to read; at most {MOST_SIDE} of "
            "each are possible. The JSON and the page have all ranks"
        )
    by_view = [dict(zip(view.names, view.ranks.rank_intervals, strict=True)) for view in views]
    intervals = [[found[name] for found in by_view] for name in whole.names]
    heads = ["headline", *display_names((str(view.name) for view in whole.views), width=32)]
    names = display_names(whole.names, width=32)
    if len(views) > size:
        intervals = [list(row) for row in zip(*intervals, strict=True)]
        heads, names = names, heads
    shades = np.array([[np.nan if ends == (1, size) else -sum(ends) / 2 for ends in row] for row in intervals])
    longest = max(map(len, heads))
    figure = Figure(figsize=(2.2 + 0.45 * len(heads), 0.6 + 0.06 * longest + 0.24 * len(names)))
    axes = figure.subplots()
    axes.imshow(shades, cmap="Blues", vmin=-1.2 * size, vmax=0.4 * size, aspect="auto", interpolation="nearest")
    for (row, column), _ in np.ndenumerate(shades):
        ends = intervals[row][column]
        weight = "bold" if ends[0] == ends[1] else "normal"
        axes.text(column, row, rank(ends), ha="center", va="center", fontsize=7, color=_INK, fontweight=weight)
    axes.grid(visible=False)
    axes.set_yticks(range(len(names)), names, fontsize=7.5, parse_math=False)
    axes.set_xticks(range(len(heads)), heads, fontsize=7.5, rotation=90, parse_math=False)
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    axes.set_title("Possible ranks in each view (bold: a certified rank)", loc="left")
    return figure
