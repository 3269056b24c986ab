"""The matrix, the graph and the table of views, as shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple
from unicodedata import east_asian_width
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import Units, difference
from bbedge.display.geometry import Point, can_draw, layered, ranks_in_views
from bbedge.display.scope import headline_name
from bbedge.text import display_names, shown

MOST_LABELLED = 70
"""With more models than this, the rows of the matrix have no names beside them."""
MOST_WRITTEN = 15
"""With more models than this, the cells of the matrix have no differences written in them."""

NODE_WIDTH, NODE_HEIGHT = 138, 40
_ACROSS, _LAYER, _EDGE_OF_PAGE = 156.0, 88.0, 8.0
_WIDEST = 1500.0
_LETTERS = 16
_MATRIX, _LARGEST_CELL, _ROW_LETTERS = 720.0, 26.0, 19
_WRITTEN_CELL, _WRITTEN = 50.0, 10.5


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDrawing:
    """The certified graph, in pixels."""

    width: float
    height: float
    labels: Sequence[str]
    """The names of all models, cut to fit."""
    places: dict[int, Point]
    """Left and top of each model that has an edge."""
    paths: dict[tuple[int, int], str]
    """How each edge runs from which all others follow: its upper end, its lower end."""
    alone: Sequence[int]
    """Models without any edge."""
    node_width: int = NODE_WIDTH
    """Of every model."""
    node_height: int = NODE_HEIGHT
    """Of every model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixDrawing:
    """The certified order as a square: row against column."""

    above: str
    """The cells whose row is certified above their column, as one path."""
    below: str
    """The cells whose row is certified below their column."""
    labels: Sequence[str]
    """Names beside the rows and above the columns; none if there are too many."""
    texts: Sequence[tuple[int, int, str]]
    """Row, column, and the difference of their means; none if there are too many."""
    ticks: Sequence[int]
    """Places marked along the edge instead of names."""
    width: float
    """Of the whole, in pixels."""
    gutter: float
    """Room for names or marks, in cells."""
    letter: float
    """Size of the letters, in cells."""
    written: float
    """Size of the letters of the differences, in cells."""


def draw_graph(certificate: Certificate) -> GraphDrawing | None:
    """The certified graph, or ``None`` where a matrix is clearer: many models, many lines, or a contradiction."""
    if not can_draw(certificate.graph):
        return None
    layout = layered(certificate.graph)
    width = (layout.width + 1) * _ACROSS
    if width > _WIDEST:
        return None
    return GraphDrawing(
        width=round(width, 1),
        height=round(max(0, layout.layers - 1) * _LAYER + NODE_HEIGHT + 2 * _EDGE_OF_PAGE, 1),
        labels=shortened_names(certificate.names, _LETTERS),
        places={model: _corner(place) for model, place in sorted(layout.places.items())},
        paths={ends: _curve(points) for ends, points in layout.routes.items()},
        alone=layout.alone,
    )


def _corner(place: Point) -> Point:
    """Left and top of what is drawn at a place of the layout."""
    across, layer = place
    return round(across * _ACROSS + (_ACROSS - NODE_WIDTH) / 2, 1), round(layer * _LAYER + _EDGE_OF_PAGE, 1)


def _curve(points: Sequence[Point]) -> str:
    """A smooth curve: from the foot of the winner, straight through the layers between, to the head of the loser."""
    at = [(round(left + NODE_WIDTH / 2, 1), top) for left, top in map(_corner, points)]
    path = f"M{at[0][0]:g} {at[0][1] + NODE_HEIGHT:g}"
    for (x, y), (to_x, to_y) in pairwise(at):
        middle = (y + NODE_HEIGHT + to_y) / 2
        path += f"C{x:g} {middle:g} {to_x:g} {middle:g} {to_x:g} {to_y:g}"
        path += f"V{to_y + NODE_HEIGHT:g}" if (to_x, to_y) != at[-1] else ""
    return path


def shortened_names(names: Sequence[str], letters: int) -> list[str]:
    """Names cut to a number of letters, wide ones counted twice, that still tell the models apart."""
    result = []
    for name, short in zip(names, display_names(names, width=letters), strict=True):
        cut = letters
        while _wide(short) > letters + 4 and cut > 4:
            cut -= 2
            short = shown(name, cut)
        result.append(short)
    return result


def _wide(text: str) -> int:
    """Number of letters, wide ones counted twice."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def draw_matrix(certificate: Certificate) -> MatrixDrawing:
    """The certified order, one cell per direction, runs of equal cells drawn as one."""
    above, size = certificate.graph.above, len(certificate.names)
    few = size <= MOST_LABELLED
    step = 10 if size <= 150 else 50 if size <= 600 else 100
    cell = _WRITTEN_CELL if size <= MOST_WRITTEN else min(_LARGEST_CELL, _MATRIX / size)
    letter = min(11.0, 0.8 * cell) if few else 11.0
    labels = shortened_names(certificate.names, _ROW_LETTERS) if few else []
    # Few letters may all be wide ones; many are not.
    gutter = min(0.76 * _ROW_LETTERS, 0.8 + 0.95 * max(map(_wide, labels))) * letter if few else 36.0
    return MatrixDrawing(
        above=_runs(above),
        below=_runs(above.T),
        labels=labels,
        texts=list(_differences(certificate)) if size <= MOST_WRITTEN else [],
        ticks=() if few else range(step, size + 1, step),
        width=round(size * cell + gutter, 1),
        gutter=round(gutter / cell, 3),
        letter=round(letter / cell, 3),
        written=round(_WRITTEN / cell, 3),
    )


def _differences(certificate: Certificate) -> Iterator[tuple[int, int, str]]:
    short, models = Units(max(0, certificate.units.decimals - 1)), range(len(certificate.names))
    for a in models:
        for b in models:
            seen = difference(certificate, a, b)
            if a != b and seen is not None:
                yield a, b, short.difference(seen)


def _runs(mask: NDArray[np.bool_]) -> str:
    parts = []
    padded = np.pad(mask, ((0, 0), (1, 1))).astype(np.int8)
    for row, line in enumerate(np.diff(padded, axis=1)):
        starts, ends = np.flatnonzero(line == 1).tolist(), np.flatnonzero(line == -1).tolist()
        parts += [f"M{start} {row}h{end - start}v1h{start - end}z" for start, end in zip(starts, ends, strict=True)]
    return "".join(parts)


MOST_CELLS = 20_000
"""The number of cells of the table; models beyond are left out."""
SHADES = 7
"""Cells have so many shades, the best ranks the darkest."""
_ROOM = 100  # letters of the names of columns that fit side by side


class Head(NamedTuple):
    """The head of a row or a column."""

    text: str
    """A model or a view."""
    view: int | None = None
    """The place of the view in the switch; ``None`` for a model, or if the page has no switch."""
    link: str = ""
    """The address of the view on this page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """The table of rank intervals: models are the rows, or views if there are more of these."""

    corner: str
    """What the rows are."""
    columns: Sequence[Head]
    """The heads of the columns."""
    rows: Sequence[tuple[Head, Sequence[tuple[int, int]]]]
    """The rows, each with its rank intervals."""
    n_models: int
    """Models in the table."""

    @property
    def is_steep(self) -> bool:
        """Whether the heads of the columns are too long, or too many, to be written level."""
        return len(self.columns) * max(len(head.text) for head in self.columns) > _ROOM


def draw_heat(whole: Certificate, *, linked: bool) -> Heat | None:
    """The table of a certificate with views; ``None`` if it has none, or no replicate."""
    if not whole.views or not whole.replicates:
        return None
    names = [None, *(view.name for view in whole.views)]
    kept = max(1, min(len(whole.names), MOST_CELLS // len(names)))
    models, cells = [Head(label) for label in whole.labels[:kept]], ranks_in_views(whole)[:kept]
    views = [
        Head(text, i if linked else None, address(name))
        for i, (name, text) in enumerate(zip(names, view_names(whole), strict=True))
    ]
    if kept >= len(views):
        return Heat(corner="Model", columns=views, rows=list(zip(models, cells, strict=True)), n_models=kept)
    turned = list(zip(views, zip(*cells, strict=True), strict=True))
    return Heat(corner="View", columns=models, rows=turned, n_models=kept)


def view_names(whole: Certificate) -> list[str]:
    """What the headline and the other views are called, harmless and short."""
    return [headline_name(whole), *display_names(str(view.name) for view in whole.views)]


def address(name: str | None) -> str:
    """The part of the page's address that selects a view.

    >>> address("law & order"), address(None)
    ('#view=law%20%26%20order', '#headline')
    """
    return "#headline" if name is None else f"#view={quote(name, safe='', errors='surrogatepass')}"


def shade(ranks: tuple[int, int], size: int) -> int | None:
    """From 0, for the worst ranks, to one less than ``SHADES``; ``None`` if every rank is possible."""
    place = (sum(ranks) / 2 - 1) / (size - 1)
    return None if ranks == (1, size) else round((SHADES - 1) * (1.0 - place))
