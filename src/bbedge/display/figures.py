"""Figures of a certificate, and of all its views."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import rank
from bbedge.display.forest import COLOURS as FOREST_COLOURS
from bbedge.display.forest import Forest
from bbedge.display.geometry import Point, can_draw, layered, leading_directions, rank_bar, ranks_in_views, round_marks
from bbedge.display.plotting import COLOURS, DASHES, INK, name_rows, new_figure
from bbedge.display.ranking import ranks_of_means
from bbedge.display.scope import headline_name, title_with_view
from bbedge.errors import DomainError
from bbedge.text import display_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_ROWS = 120
"""With more models than this, rows have no names beside them."""
_ROW = 0.2  # inches
_TALLEST = 12.0
_BAR = 0.6  # inches that a bar of colours or a legend takes below a figure
_PALE = "#9aa5b1"


def rank_figure(certificate: Certificate) -> Figure:
    """The rank interval of every model, and where its mean alone would have put it.

    Of a design about both targets the intervals on new items are below those on these items.
    """
    from matplotlib.ticker import MaxNLocator

    ranks, size = certificate.ranks, len(certificate.names)
    figure, axes = new_figure(5.5, _height(size))
    rows = np.arange(size)
    before, length = np.array([rank_bar(ends, size, whole=size) for ends in ranks.rank_intervals]).T
    first, last = before + 1, before + length
    thick = float(np.clip(150 / size, 1.0, 7.0))
    if size <= MOST_ROWS:
        axes.hlines(rows, first - 0.35, last + 0.35, color=COLOURS[0], linewidth=thick)
    else:
        axes.fill_betweenx(rows, first - 0.5, last + 0.5, step="mid", color=COLOURS[0], linewidth=0.0)
    marks, other = [], certificate.on_new_items
    if other and other.content.looks and size <= MOST_ROWS:
        marks.append("thin: on new items")
        there = [other.ranks.rank_intervals[other.names.index(name)] for name in certificate.names]
        low, high = np.array(there).T
        axes.hlines(rows + 0.3, low - 0.35, high + 0.35, color=COLOURS[1], linewidth=thick / 2)
    by_mean = ranks_of_means(certificate) if size <= MOST_ROWS else None
    if by_mean:
        marks.append("dot: rank of the mean")
        axes.plot(
            by_mean, rows, "o", color="white", markeredgecolor=INK, markersize=min(4.0, thick + 1), markeredgewidth=0.8
        )
    if 1 <= len(ranks.cuts) <= 40:
        marks.append("dashed: certified cut")
        for cut in ranks.cuts:
            axes.axhline(cut - 0.5, color=INK, linewidth=0.7, linestyle=DASHES[1])
    axes.set(xlim=(0.4, size + 0.6), ylim=(size - 0.4, -0.6), xlabel="rank")
    _name_rows(axes, certificate.names)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", visible=False)
    _title(axes, certificate, f"Possible ranks ({'; '.join(marks)})" if marks else "Possible ranks")
    return figure


def forest_figure(forest: Forest) -> Figure:
    """Differences with their intervals around a line at zero; what is certified has a colour and a filled dot."""
    labels = display_names((row.label for row in forest.rows), width=60)
    figure, axes = new_figure(5.2 + _beside(labels), _height(len(labels)), layout="constrained")
    edges = forest.scale.low, forest.scale.high
    # What differs from row to row, as the bar of a claim does, is drawn in its row.
    for row, drawn in enumerate(forest.rows):
        axes.vlines(drawn.bars, row - 0.5, row + 0.5, color=INK, linewidth=0.8, linestyle=DASHES[1])
        for place, span in enumerate(each for each in drawn.spans if each.kind != "none"):
            low, high = np.where(np.isnan(span[:2]), edges, span[:2])
            axes.hlines(row + 0.3 * place, low, high, color=FOREST_COLOURS[span.kind], linewidth=3.0 - 1.5 * place)
        if drawn.point is not None:
            colour = FOREST_COLOURS[drawn.spans[0].kind]
            fill = "white" if drawn.spans[0].kind in ("open", "none") else colour
            axes.plot(drawn.point, row, "o", color=fill, markeredgecolor=colour, markersize=4.5)
    right = 0.0
    for column, head in enumerate(forest.heads[1:], start=1 - len(forest.heads)):
        cells = [head, *(row.cells[column] for row in forest.rows)]
        right += 4.3 * (2 + max(map(len, cells)))  # points: cells are aligned to the right, as in a table
        at: dict[str, Any] = {"textcoords": "offset points", "fontsize": 7, "ha": "right", "parse_math": False}
        axes.annotate(head, (1.0, 1.0), (right, 3.0), xycoords="axes fraction", **at)
        for row, text in enumerate(cells[1:]):
            axes.annotate(text, (1.0, row), (right, 0.0), xycoords=axes.get_yaxis_transform(), va="center", **at)
    axes.axvline(0.0, color=INK, linewidth=0.8, zorder=1)
    is_of_both = any(len(row.spans) > 1 for row in forest.rows)
    below = f"difference of the means{'; thin: on new items' if is_of_both else ''}"
    axes.set(xlim=edges, ylim=(len(labels) - 0.4, -0.6), xlabel="\n".join((below, *forest.notes[1:])))
    axes.set_yticks(range(len(labels)), labels, fontsize=_letters(len(labels)), parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_title(forest.title, loc="left", pad=16.0, parse_math=False)
    return figure


def graph_figure(certificate: Certificate) -> Figure:
    """The certified graph, reduced, in layers; with many models, the certified order as a matrix."""
    graph = certificate.graph
    if not can_draw(graph):
        return _matrix_figure(certificate)
    layout = layered(graph)
    labels = display_names(certificate.names, width=20)
    across = 0.32 + 0.085 * max(8, *map(len, labels))
    columns = max(1.0, layout.width + 1, min(len(layout.alone), 5))
    bottom = layout.layers + (0.4 if layout.alone and layout.layers else 0.0)
    places = dict(layout.places)
    for number, model in enumerate(layout.alone):
        row, column = divmod(number, max(1, int(columns)))
        places[model] = (float(column), bottom + row)
    height = 1 + max((layer for _, layer in places.values()), default=0.0)
    figure, axes = new_figure(max(3.0, across * columns), max(1.2, 0.75 * height))
    for points in layout.routes.values():
        axes.plot(*_smooth(points), color=_PALE, linewidth=1.0, zorder=1)
    for model, (x, y) in places.items():
        alone = model in layout.alone
        axes.text(
            x,
            y,
            f"{labels[model]}\nrank {rank(graph.rank_intervals[model])}",
            ha="center",
            va="center",
            fontsize=7.5,
            linespacing=1.25,
            zorder=2,
            parse_math=False,
            bbox={
                "boxstyle": "round,pad=0.35",
                "facecolor": "white",
                "edgecolor": _PALE if alone else COLOURS[0],
                "linewidth": 1.0,
                "linestyle": DASHES[1] if alone else DASHES[0],
            },
        )
    axes.set(xlim=(-0.6, columns - 0.4), ylim=(height - 0.5, -0.5))
    axes.axis("off")
    aside = "; dashed: open against all" if layout.alone else ""
    _title(axes, certificate, f"A model beats all models that its lines lead down to{aside}", loc="center")
    return figure


def _smooth(points: Sequence[Point]) -> NDArray[np.float64]:
    """A line that leaves and enters every layer straight down: across, and down."""
    turn = np.linspace(0.0, 1.0, 16)
    ease = turn * turn * (3 - 2 * turn)
    steps = [(x + (to_x - x) * ease, y + (to_y - y) * turn) for (x, y), (to_x, to_y) in pairwise(points)]
    return np.concatenate(steps, axis=1)


def _matrix_figure(certificate: Certificate) -> Figure:
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    above, size = certificate.graph.above, len(certificate.names)
    side = float(np.clip(0.16 * size, 3.0, 8.0))
    figure, axes = new_figure(side + _beside(certificate.names), side + _BAR, layout="constrained")
    values = above.astype(np.int8) - above.T.astype(np.int8)
    colours = ListedColormap([COLOURS[1], "#f2f4f6", COLOURS[0]])
    axes.imshow(values, cmap=colours, vmin=-1, vmax=1, interpolation="nearest", aspect="equal")
    axes.plot([-0.5, size - 0.5], [-0.5, size - 0.5], color=_PALE, linewidth=0.6)
    axes.grid(visible=False)
    if size <= 60:
        _name_rows(axes, certificate.names)
        axes.set_xticks([])
    axes.set_xlabel("columns, in the order of the leaderboard")
    figure.legend(
        handles=[
            Patch(color=COLOURS[0], label="row beats column"),
            Patch(color=COLOURS[1], label="row loses to column"),
            Patch(facecolor="#f2f4f6", edgecolor=_PALE, label="open"),
        ],
        loc="outside lower center",
        ncols=3,
        fontsize=7.5,
    )
    _title(axes, certificate, "Certified order")
    return figure


def evidence_figure(certificate: Certificate) -> Figure:
    """The evidence of the leading direction of every pair, look by look, as a share of what it must reach."""
    from matplotlib.ticker import MaxNLocator

    if certificate.history is None:
        raise DomainError(
            "this certificate does not contain the evidence of each look: certificates contain it for up to 30 models, "
            "and on a board only for an epoch to which no model was added; of views, if there are few; "
            "draw graph or ranks instead"
        )
    replicates, limits, log_e = certificate.history
    shares = 100.0 * np.exp(np.clip(log_e - limits[:, None, None], -20.0, 20.0))
    figure, axes = new_figure(5.5, 3.6)
    kinds = {True: ("certified", COLOURS[0], DASHES[0]), False: ("open", COLOURS[1], DASHES[1])}
    drawn = {}
    marker = "o" if len(replicates) == 1 else ""
    for a, b in leading_directions(certificate.log_e):
        kind, colour, dash = kinds[bool(certificate.graph.above[a, b])]
        drawn[kind] = axes.plot(
            replicates, shares[:, a, b], color=colour, linestyle=dash, marker=marker, linewidth=1.0, alpha=0.75
        )[0]
    drawn["threshold"] = axes.axhline(100.0, color="black", linewidth=1.6)
    # Far beyond the threshold more evidence says nothing new, and would press everything else to the floor.
    axes.set(yscale="log", ylim=(0.01, 1000.0), xlabel="replicates", ylabel="% of threshold")
    axes.yaxis.set_major_formatter("{x:,g}")
    if len(replicates) == 1:
        axes.set_xlim(replicates[0] - 0.5, replicates[0] + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    names = [name for name in ("threshold", "certified", "open") if name in drawn]
    axes.legend([drawn[name] for name in names], names, loc="upper left", fontsize=7.5, frameon=True, edgecolor="none")
    _title(axes, certificate, "Evidence for the leading model of every pair")
    return figure


def stability_figure(means: NDArray[np.float64], models: Sequence[str], replicates: Sequence[str]) -> Figure:
    """The rank of every model in every single replicate: ``means`` is replicates x models."""
    from matplotlib.ticker import MaxNLocator

    n_replicates, size = means.shape
    order = np.argsort(-means.mean(axis=0), kind="stable")
    # Models with equal means share the better rank.
    ranks = np.stack([1 + size - np.searchsorted(np.sort(row), row, side="right") for row in means])[:, order].T
    moved = ranks - np.arange(1, size + 1)[:, None]
    most = max(3, int(np.abs(moved).max()))
    width = float(np.clip(0.9 + 0.34 * n_replicates, 2.4, 9.6)) + _beside(models)
    figure, axes = new_figure(width, _height(size, row=0.26) + _BAR, layout="constrained")
    image = axes.imshow(moved, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto", interpolation="nearest")
    if size <= 40 and n_replicates <= 30:
        for (row, column), value in np.ndenumerate(ranks):
            dark = abs(int(moved[row, column])) > 0.6 * most
            axes.text(column, row, str(value), ha="center", va="center", fontsize=7, color="white" if dark else INK)
    axes.grid(visible=False)
    _name_rows(axes, [models[i] for i in order.tolist()])
    step = max(1, n_replicates // 15)
    axes.set_xticks(range(0, n_replicates, step), display_names(replicates, width=8)[::step], parse_math=False)
    axes.set_xlabel("replicate")
    # Below the grid, where its label has the width of the figure however few rows there are.
    bar = figure.colorbar(image, ax=axes, location="bottom", aspect=30, pad=0.01)
    bar.set_label("ranks below the overall rank", fontsize=7.5, wrap=True)
    bar.ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_title("Rank of each model in each single run", loc="left")
    return figure


def _title(axes: Axes, certificate: Certificate, text: str, loc: Literal["left", "center"] = "left") -> None:
    """The title of the figure, with the name of the view; names are not formulas."""
    axes.set_title(title_with_view(certificate, text), loc=loc, parse_math=not certificate.name)


def _height(rows: int, *, row: float = _ROW) -> float:
    return float(min(_TALLEST, 0.9 + row * max(rows, 3)))


def _beside(names: Sequence[str]) -> float:
    """Inches that the names of rows take beside a figure, as far as letters of one width go."""
    if len(names) > MOST_ROWS:
        return 0.5
    return 0.3 + 0.0085 * _letters(len(names)) * max(map(len, display_names(names, width=32)))


def _letters(rows: int) -> float:
    """The size of the names of rows, in points."""
    return 8.0 if rows <= 40 else 6.0 if rows <= 60 else 4.0


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    if len(names) > MOST_ROWS:
        marked = round_marks(1, len(names))
        axes.set_yticks([mark - 1 for mark in marked], [f"{mark:,}" for mark in marked])
        axes.set_ylabel("models, in the order of the leaderboard")
    else:
        name_rows(axes, names, size=_letters(len(names)))


MOST_SIDE = 80
"""With more models or views than this, cells have no text that can be read."""
_DARK = "#1a1f24"


def views_figure(certificate: Certificate) -> Figure:
    """Models x views: a cell has the rank interval, darker if better, white if every rank is possible.

    The longer side is the rows.
    """
    whole = certificate.headline or certificate
    size, n_views = len(whole.names), 1 + len(whole.views)
    if not whole.views:
        raise DomainError("this certificate has no views besides the headline; draw ranks instead")
    if max(size, n_views) > MOST_SIDE:
        raise DomainError(
            f"a figure of {size:,} models in {n_views:,} views would be too small to read; at most {MOST_SIDE} of "
            "each are possible. The JSON and the page have all ranks"
        )
    intervals = ranks_in_views(whole)
    heads = [headline_name(whole).lower(), *display_names((str(view.name) for view in whole.views), width=32)]
    names = display_names(whole.names, width=32)
    if n_views > size:
        intervals, heads, names = list(zip(*intervals, strict=True)), names, heads
    shades = np.array([[np.nan if ends == (1, size) else -sum(ends) / 2 for ends in row] for row in intervals])
    figure, axes = new_figure(2.2 + 0.45 * len(heads), 0.6 + 0.06 * max(map(len, heads)) + 0.24 * len(names))
    axes.imshow(shades, cmap="Blues", vmin=-1.2 * size, vmax=0.4 * size, aspect="auto", interpolation="nearest")
    for row, cells in enumerate(intervals):
        for column, ends in enumerate(cells):
            weight = "bold" if ends[0] == ends[1] else "normal"
            axes.text(column, row, rank(ends), ha="center", va="center", fontsize=7, color=_DARK, fontweight=weight)
    axes.grid(visible=False)
    axes.set_yticks(range(len(names)), names, fontsize=7.5, parse_math=False)
    axes.set_xticks(range(len(heads)), heads, fontsize=7.5, rotation=90, parse_math=False)
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    axes.set_title("Possible ranks in each view (bold: a certified rank)", loc="left")
    return figure
