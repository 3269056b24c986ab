"""What ``bbedge diagnose`` found, drawn: one plain figure for each question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bbedge.display.plotting import COLOURS, DASHES
from bbedge.text import counted, display_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK = "#333333"


def dependence_figure(
    models: Sequence[str], ratios: Sequence[float], adjusted: Sequence[float], *, alarm: float
) -> Figure:
    """How much more replicate means vary than independent blocks imply, model by model, with the p-value."""
    figure, axes = _bars(models, ratios, [COLOURS[1] if p <= alarm else COLOURS[0] for p in adjusted])
    axes.axvline(1.0, color=_INK, linewidth=1.0, linestyle=DASHES[1])
    for row, p in enumerate(adjusted):
        axes.annotate(f"p {p:.2g}", (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=7)
    axes.set_xlim(0.0, 1.08 * max(1.0, *ratios))
    axes.set_xlabel("variance of replicate means / variance implied by independent blocks")
    axes.set_title("Do replicate means vary as independent blocks imply? (adjusted p)", loc="left")
    return figure


def halves_figure(models: Sequence[str], log_e: Sequence[float], *, alarm: float) -> Figure:
    """The evidence that halves of a model's own runs differ; the line is where one model raises an alarm."""
    figure, axes = _bars(
        models, [max(0.0, each) for each in log_e], [COLOURS[1] if each >= alarm else COLOURS[0] for each in log_e]
    )
    axes.axvline(alarm, color=_INK, linewidth=1.0, linestyle=DASHES[1])
    axes.set_xlim(0.0, 1.08 * max(alarm, *log_e))
    axes.set_xlabel("evidence that halves of a model's runs differ (natural logarithm)")
    axes.set_title("Is a model ever certified above itself?", loc="left")
    return figure


def heterogeneity_figure(differences: NDArray[np.float64], first: str, second: str) -> Figure:
    """The closest pair, item by item: where the first model is ahead and where the second is."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 2.8))
    axes = figure.subplots()
    ordered = np.sort(differences)[::-1]
    place = np.arange(1, len(ordered) + 1)
    names = display_names([first, second], width=28)
    for sign, name, colour in ((1, names[0], COLOURS[0]), (-1, names[1], COLOURS[1])):
        part = np.where(ordered * sign > 0, ordered, 0.0)
        text = axes.text(
            0.98 if sign > 0 else 0.02,
            0.93 if sign > 0 else 0.07,
            f"{name} ahead on {counted(int((part != 0).sum()), 'item')}",
            transform=axes.transAxes,
            ha="right" if sign > 0 else "left",
            va="center",
            color=colour,
            fontsize=8,
        )
        text.set_parse_math(False)
        axes.fill_between(place, part, step="mid", color=colour, linewidth=0.0)
    axes.axhline(0.0, color=_INK, linewidth=0.8)
    most = 1.15 * max(1e-9, float(np.abs(ordered).max()))
    axes.set(ylim=(-most, most), xlabel="items, in the order of the difference", ylabel="mean difference")
    axes.set_title("Do the two closest models differ on the same items?", loc="left")
    return figure


def _bars(models: Sequence[str], values: Sequence[float], colours: Sequence[str]) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, min(12.0, 1.0 + 0.22 * max(3, len(models)))))
    axes = figure.subplots()
    rows = range(len(models))
    axes.barh(rows, values, color=colours, height=0.65)
    size = 8.0 if len(models) <= 40 else 5.0
    axes.set_yticks(rows, display_names(models, width=32), fontsize=size, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(models) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    return figure, axes
