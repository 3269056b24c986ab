"""A picture of one certificate for a README or a link: what the means say, and what is certain."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from bbedge.certificate.certificate import Certificate
from bbedge.display.answer import alarm, answer
from bbedge.display.geometry import rank_bar, round_marks
from bbedge.display.plotting import COLOURS
from bbedge.display.ranking import ordinal, ranks_of_means
from bbedge.display.scope import has_evidence, item_count, promise, run_count, title_with_view
from bbedge.records.output import Canvas
from bbedge.text import counted, display_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 1200, 630
"""In pixels, as services show pictures of links."""
CANVAS = Canvas(width=WIDTH / 96, height=HEIGHT / 96, dpi=96)
"""At 96 dots per inch a PNG has this size, and so has an SVG in a browser."""
MOST_NAMED = 14
"""Up to so many models have their names beside their bars."""
_INK, _QUIET, _PALE, _ALARM = "#16202a", "#56606b", "#bcc7d1", "#a5102a"
_LEFT, _BESIDE, _TOP, _FOOT = 48, 768, 176, 560
_MOST_LISTED = 6
_LETTERS = 44  # of a headline in one line


def headline(certificate: Certificate) -> str:
    """How many models are best by their means, and how many could be: the point of the picture.

    Where means cannot be compared, or something is wrong, it is the first sentence of every display.
    """
    by_mean, could = ranks_of_means(certificate), np.flatnonzero(certificate.ranks.n_better == 0).tolist()
    if alarm(certificate) or not has_evidence(certificate) or by_mean is None:
        return answer(certificate).first
    first = [i for i, rank in enumerate(by_mean) if rank == 1]
    seen, possible = ("one" if len(each) == 1 else f"{len(each):,}" for each in (first, could))
    if first == could:
        return f"The table says {seen}. The data agree."
    return f"The table says {seen}. The data say {'another' if seen == possible else possible}."


def hero_figure(certificate: Certificate, *, title: str | None = None) -> Figure:
    """Bars of possible ranks with a dot at the rank of the mean, the headline above, names and the command beside."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / 96, HEIGHT / 96), facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))  # in pixels, from the upper left
    axes.axis("off")
    wrong = alarm(certificate)
    about = [counted(len(certificate.names), "model"), item_count(certificate), run_count(certificate)]
    above = title_with_view(certificate, title or "Who is best?")
    _write(axes, _LEFT, 58, display_names([above], width=80)[0], size=24, colour=_QUIET)
    said, colour = headline(certificate), _ALARM if wrong else _INK
    if len(said) <= _LETTERS:
        _write(axes, _LEFT, 108, said, size=44, colour=colour, bold=True)
    else:
        _write(axes, _LEFT, 98, said, size=26, letters=66, colour=colour, bold=True)
    if wrong:
        _write(axes, _LEFT, 330, wrong.meaning, size=20, letters=100)
        return figure
    means = ranks_of_means(certificate)
    dot = " Dot: rank of the mean." if means else ""
    key = f"{', '.join(about)}. Bar: every rank that is still possible.{dot}"
    _write(axes, _LEFT, 150, key, size=18, colour=_QUIET)
    _draw_bars(axes, certificate, means)
    _write_beside(axes, certificate, means)
    return figure


def _draw_bars(axes: Axes, certificate: Certificate, means: tuple[int, ...] | None) -> None:
    """A row for each model, in the order of the table; those that could be best in colour."""
    size, few = len(certificate.names), len(certificate.names) <= MOST_NAMED
    left = _LEFT + 220 if few else _LEFT
    wide, high = (_BESIDE - 48 - left) / size, (_FOOT - _TOP) / size
    thick, rows = min(26.0, 0.74 * high), _TOP + (np.arange(size) + 0.5) * high
    before, length = np.array([rank_bar(ends, size, whole=wide * size) for ends in certificate.ranks.rank_intervals]).T
    colours = [COLOURS[0] if better == 0 else _PALE for better in certificate.ranks.n_better]
    axes.barh(rows, length - min(2.0, 0.2 * wide), height=thick, left=left + before, color=colours, linewidth=0)
    for y, name in zip(rows, display_names(certificate.names, width=20) if few else (), strict=False):
        _write(axes, _LEFT, y + 6, name, size=17)
    if means:
        dots = axes.plot(left + (np.array(means) - 0.5) * wide, rows, "o", color="white", markeredgecolor=_INK)[0]
        dots.set(markersize=min(9.0, 0.62 * thick), markeredgewidth=min(1.3, 0.12 * thick))
    for rank in round_marks(1, size):
        x = left + (rank - 0.5) * wide
        _write(axes, x, _FOOT + 26, ordinal(rank), size=15, colour=_QUIET, align="center")


def _write_beside(axes: Axes, certificate: Certificate, means: tuple[int, ...] | None) -> None:
    """What could be best, by name, the command, and the risk."""
    from matplotlib.patches import FancyBboxPatch

    could = np.flatnonzero(certificate.ranks.n_better == 0).tolist()
    first, y, other = answer(certificate).first, _TOP + 24.0, certificate.on_new_items
    most = _MOST_LISTED // 3 if other else _MOST_LISTED
    if first != headline(certificate):
        y = _write(axes, _BESIDE, y, _shortened(first), size=22, letters=31, colour=COLOURS[0], bold=True)
    if len(certificate.names) > MOST_NAMED:
        names = display_names((certificate.names[i] for i in could), width=36)
        more = [f"and {len(names) - most:,} more"] if len(names) > most else []
        for name in (*names[:most], *more) if len(names) > 1 else ():
            y = _write(axes, _BESIDE, y, name, size=18, colour=_QUIET if name in more else _INK)
    lowest = max(could, key=lambda i: means[i]) if means else 0
    if means and means[lowest] > 1:
        words = f"{certificate.labels[lowest]} is {ordinal(means[lowest])} by its mean, and could be 1st."
        y = _write(axes, _BESIDE, y + 12, words, size=18, letters=44, colour=_QUIET)
    if other:
        _write(axes, _BESIDE, y + 12, _shortened(answer(other).first), size=18, letters=40, bold=True)
    box = FancyBboxPatch((_BESIDE, 478), 384, 46, boxstyle="round,pad=0,rounding_size=8", color=_INK, linewidth=0)
    axes.add_patch(box)
    _write(axes, _BESIDE + 18, 508, "$ bbedge certify scores.csv", size=18, colour="white", family="monospace")
    if certificate.replicates:
        _write(axes, _BESIDE, 551, promise(certificate), size=15, letters=51, colour=_QUIET)


def _shortened(sentence: str) -> str:
    """A sentence up to its first semicolon."""
    return f"{sentence.partition(';')[0].rstrip('.')}."


def _write(
    axes: Axes,
    x: float,
    y: float,
    text: str,
    *,
    size: float,
    letters: int = 1000,
    colour: str = _INK,
    bold: bool = False,
    family: str = "sans-serif",
    align: str = "left",
) -> float:
    """Write text in lines of at most so many letters; returns where the next line would stand. Nothing is a formula."""
    for line in wrap(text, letters) or [""]:
        weight = "bold" if bold else "normal"
        axes.text(
            x, y, line, fontsize=0.75 * size, color=colour, weight=weight, family=family, ha=align, parse_math=False
        )
        y += 1.32 * size
    return y
