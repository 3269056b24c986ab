"""The house style of figures: colours that a colour-blind reader can tell apart, files that are the same every time."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bbedge.errors import Argument, BbedgeError, DomainError
from bbedge.files import replacing
from bbedge.records.output import Canvas
from bbedge.text import display_names, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C564B", "#000000", "#999933", "#882255")
"""The palette of Okabe and Ito, without its yellow, which is lost on white, and a little longer."""
DASHES = ("-", "--", "-.", ":")
"""Line styles, so that no two lines differ by colour alone."""
INK = "#333333"
"""The colour of lines and marks that stand for no model."""

_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    # Text as shapes: the file looks the same where the font is missing. A fixed salt: the same drawing, the same bytes.
    "svg.fonttype": "path",
    "svg.hashsalt": "bbedge",
}


_MOST_PIXELS = 2e8
_SMALLEST = 2.0  # points: smaller letters are not legible in any print


def _prepare(figure: Figure, canvas: Canvas) -> None:
    """Give a figure its size, and another title or none if that was asked for."""
    titled = [axes for axes in figure.axes if any(text.get_text() for text in _titles(axes))]
    if (canvas.no_title or canvas.title is not None) and len(titled) == 1:
        for text in _titles(titled[0]):
            text.set_text(shown(canvas.title or "", 120) if text.get_text() else "")
            text.set_parse_math(False)  # what looks like a formula is none
    if not canvas.is_exact or all(axes.get_subplotspec() is None for axes in figure.axes):  # or placed by hand
        return
    from matplotlib.ticker import FixedLocator

    across, down = (float(side) for side in figure.get_size_inches())
    width, height = canvas.width or across, canvas.height or down
    figure.set_size_inches(width, height)
    figure.set_layout_engine("constrained")
    narrower, lower = min(1.0, width / across), min(1.0, height / down)
    for axes in figure.axes:
        if len(titled) == 1:
            for text in _titles(axes):
                text.set_wrap(True)
        else:  # panels side by side, whose names must not meet
            _shrink(_titles(axes), narrower)
        for axis, ratio in ((axes.yaxis, lower), (axes.xaxis, narrower)):
            if isinstance(axis.get_major_locator(), FixedLocator):  # names; numbers choose their own places
                _shrink(axis.get_ticklabels(), ratio)
        _shrink(axes.texts, min(narrower, lower))
        for line in axes.lines:
            line.set_markersize(line.get_markersize() * min(narrower, lower))
        for bars in axes.collections:
            bars.set_linewidth([thick * lower for thick in np.atleast_1d(bars.get_linewidth())])
    # Numbers at the ticks depend on the room that they get, and it on them; the handles of a legend keep their
    # size. So one step may not be enough.
    for _ in range(3):
        figure.draw_without_rendering()
        for legend in figure.legends:
            _shrink(legend.get_texts(), 0.95 * figure.bbox.width / legend.get_window_extent().width)


def _titles(axes: Axes) -> list[Text]:
    return [axes.title, axes._left_title, axes._right_title]  # type: ignore[attr-defined]


def _shrink(texts: Iterable[Text], ratio: float) -> None:
    """Make letters smaller with the room that they have, and what stands beside something nearer to it."""
    from matplotlib.text import Annotation

    for text in texts if ratio < 1.0 else ():
        before = float(text.get_fontsize())
        text.set_fontsize(max(_SMALLEST, before * ratio))
        if isinstance(text, Annotation) and text.anncoords == "offset points":
            across, up = text.xyann
            text.xyann = across * float(text.get_fontsize()) / before, up


def can_draw() -> bool:
    """Whether figures can be drawn here."""
    return find_spec("matplotlib") is not None


def need_matplotlib() -> None:
    """Refuse early where figures cannot be drawn."""
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as error:
        raise BbedgeError("figures need matplotlib; install it with: pip install matplotlib") from error


@contextmanager
def house_style() -> Iterator[None]:
    """Draw inside this block."""
    need_matplotlib()
    import matplotlib as mpl

    with mpl.rc_context(_STYLE):
        yield


def new_figure(width: float, height: float, *, layout: Literal["constrained"] | None = None) -> tuple[Figure, Axes]:
    """A figure of one panel, in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout=layout)
    return figure, figure.subplots()


def name_rows(axes: Axes, names: Sequence[str], *, size: float) -> None:
    """Write the names of models beside the rows, in letters of so many points; names are not formulas."""
    axes.set_yticks(range(len(names)), display_names(names, width=32), fontsize=size, parse_math=False)
    axes.tick_params(axis="y", length=0)


def save_figure(figure: Figure, *files: Path, canvas: Canvas | None = None) -> None:
    """Write a figure in the format that each file's ending names, whole and without the time of day in it."""
    canvas = canvas or Canvas()
    with house_style(), warnings.catch_warnings():
        # A letter that the font lacks is drawn as a box; a warning about it would not help.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support .* natively")
        # Where the size is free, what does not fit inside is drawn outside; else there is no figure.
        warnings.filterwarnings("error" if canvas.is_exact else "ignore", message="constrained_layout not applied")
        try:
            _prepare(figure, canvas)
            for file in files:
                _save(figure, file, canvas)
        except UserWarning:
            width, height = figure.get_size_inches()
            raise DomainError(
                f"names and labels leave no room for the figure in {width:g} x {height:g} inches; choose a larger ",
                Argument("width"),
                " or ",
                Argument("height"),
            ) from None


def _save(figure: Figure, file: Path, canvas: Canvas) -> None:
    kind = file.suffix.lower().lstrip(".")
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    tight = None if canvas.is_exact else "tight"
    across, down = figure.get_size_inches() * canvas.dpi
    if kind == "png" and across * down > _MOST_PIXELS:  # it would not fit into memory
        raise DomainError(
            Argument("dpi", canvas.dpi),
            f" makes a picture of {across:,.0f} x {down:,.0f} dots; choose less, or write SVG or PDF, which have no "
            "dots",
        )
    with replacing(file) as stream:
        figure.savefig(stream, format=kind, dpi=canvas.dpi, bbox_inches=tight, metadata=metadata)
