"""A study as a figure: one panel per setting and metric, one line per method, over the looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bbedge.display.plotting import COLOURS, DASHES, house_style
from bbedge.study.measures import METRICS
from bbedge.study.results import StudyResults
from bbedge.study.study import Study

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Ours are drawn last and strongest, and look the same in every figure.
_OURS = {
    "BB-EDGE": "#0072B2",
    "BB-EDGE-X": "#D55E00",
    "BB-EDGE-X, whole alpha": "#8B2F00",
    "BB-EDGE-X, two-way": "#AA3377",
    "BB-EDGE-X, whole alpha, two-way": "#661144",
    "BB-EDGE + pilot": "#332288",
    "BB-EDGE-X, one block": "#D55E00",
    "BB-EDGE, epoch reset": "#0072B2",
    "BB-EDGE-X, epoch reset": "#D55E00",
    "bernstein": "#0072B2",
    "betting, design stakes": "#E8A06B",
    "Holm z-test, one look": "#000000",
    "bbedge gate": "#D55E00",
    "bbedge gate, last look alone": "#E8A06B",
}
# Variants of one method, so that they do not differ by colour alone.
_DASHED = {
    "BB-EDGE-X, whole alpha": "-.",
    "BB-EDGE-X, two-way": ":",
    "BB-EDGE-X, whole alpha, two-way": (0, (1, 3)),
    "betting, design stakes": "--",
    "bbedge gate, last look alone": "--",
}
_ALPHA = 0.05


def study_figure(study: Study, results: StudyResults, *, width: float | None = None) -> Figure:
    """Draw the curves of a study; a figure that will have this width in inches has a legend that fits."""
    with house_style():
        from matplotlib.figure import Figure

        settings = results.settings()
        columns = len(settings) if len(settings) <= 3 else 4 if len(settings) % 4 == 0 else 3
        groups = -(-len(settings) // columns)
        rows = groups * len(study.figure)
        figure = Figure(figsize=(1.2 + 3.0 * columns, 0.9 + 2.3 * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
        methods = tuple(dict.fromkeys(method for setting in settings for method in results.methods(setting)))
        looks = {method: _look(i, method) for i, method in enumerate(methods)}
        for place, setting in enumerate(settings):
            group, column = divmod(place, columns)
            for offset, metric in enumerate(study.figure):
                ax = axes[group * len(study.figure) + offset, column]
                _panel(ax, results, setting, metric, looks)
                if offset == 0:
                    ax.set_title(setting, fontweight="bold")
                if column == 0:
                    ax.set_ylabel(METRICS[metric].label)
                if offset == len(study.figure) - 1:
                    ax.set_xlabel("replicate r")
        for place in range(len(settings), groups * columns):
            for offset in range(len(study.figure)):
                axes[place // columns * len(study.figure) + offset, place % columns].set_visible(False)
        handles, labels = _legend(axes.ravel().tolist(), methods)
        # In inches: what a line and a letter take, on the average.
        fitting = int((width or figure.get_figwidth()) / (0.6 + 0.08 * sum(map(len, labels)) / len(labels)))
        ncols = max(1, min(len(labels), 2 + 2 * min(columns, 2), fitting))
        figure.legend(handles, labels, loc="outside upper center", ncols=ncols)
        return figure


def _look(place: int, method: str) -> dict[str, object]:
    strong = method in _OURS
    others = COLOURS[2:]
    return {
        "color": _OURS.get(method, others[place % len(others)]),
        "linestyle": _DASHED.get(method, "-") if strong else DASHES[place % len(DASHES)],
        "linewidth": 2.2 if strong else 1.3,
        "zorder": 3 if strong else 2,
    }


def _panel(ax: Axes, results: StudyResults, setting: str, metric: str, looks: dict[str, dict[str, object]]) -> None:
    top = 0.0
    for method in results.methods(setting):
        curve = [row for row in results.curve(setting, method, metric) if row.replicate is not None]
        if curve:
            at = [row.replicate or 0 for row in curve]
            (line,) = ax.plot(at, [row.value for row in curve], label=method, **looks[method])  # type: ignore[arg-type]
            ax.fill_between(
                at, [row.low for row in curve], [row.high for row in curve], color=line.get_color(), alpha=0.12, lw=0
            )
            top = max(top, max(row.value for row in curve))
    target = {"alpha": _ALPHA, "1 - alpha": 1.0 - _ALPHA, None: None}[METRICS[metric].target]
    if target is not None:
        ax.axhline(target, color="#444444", linestyle=(0, (5, 3)), linewidth=1.0, zorder=1)
    if (
        METRICS[metric].target == "alpha"
        and max(row.value for row in results.rows if row.metric == metric) < 2 * _ALPHA
    ):
        ax.set_ylim(-0.004, 2.2 * _ALPHA)  # all are small: let the reader see how small
    elif METRICS[metric].kind == "share" or metric in ("power", "standing power", "false"):
        ax.set_ylim(-0.03, 1.03)
    else:
        ax.set_ylim(bottom=0.0, top=1.05 * max(top, 1.0))
    ax.margins(x=0.01)


def _legend(axes: list[Axes], methods: tuple[str, ...]) -> tuple[list[Artist], list[str]]:
    found: dict[str, Artist] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    labels = [method for method in methods if method in found]
    from matplotlib.lines import Line2D

    dashed = Line2D([], [], color="#444444", linestyle=(0, (5, 3)), linewidth=1.0)
    return [*(found[label] for label in labels), dashed], [*labels, "target level"]
