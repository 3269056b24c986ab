"""The house style of figures: colours that a colour-blind reader can tell apart, files that are the same every time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bbedge.errors import BbedgeError
from bbedge.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C564B", "#000000", "#999933", "#882255")
"""The palette of Okabe and Ito, without its yellow, which is lost on white, and a little longer."""
DASHES = ("-", "--", "-.", ":")
"""Line styles, so that no two lines differ by colour alone."""

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
    "savefig.dpi": 150,
    # Text as shapes: the file looks the same where the font is missing. A fixed salt: the same drawing, the same bytes.
    "svg.fonttype": "path",
    "svg.hashsalt": "bbedge",
}


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


def save_figure(figure: Figure, *files: Path) -> None:
    """Write a figure in the format that each file's ending names, whole and without the time of day in it."""
    with house_style(), warnings.catch_warnings():
        # A letter that the font lacks is drawn as a box; a warning about it would not help.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support .* natively")
        for file in files:
            kind = file.suffix.lower().lstrip(".")
            metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
            with replacing(file) as stream:
                figure.savefig(stream, format=kind, bbox_inches="tight", metadata=metadata)
