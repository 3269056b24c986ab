"""The matrix, the graph and the table of views, as shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import quote

import numpy as np

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import Units, difference, over, rank
from bbedge.display.geometry import Layout, Point, can_draw, layered
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
class Node:
    """A model in the graph."""

    index: int
    """Its place on the leaderboard."""
    x: float
    """Left."""
    y: float
    """Top."""
    label: str
    """Its name, cut to fit."""
    full: str
    """Its name, whole."""
    about: str
    """Its rank and mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnEdge:
    """An edge of the reduced graph."""

    winner: int
    """Its upper end."""
    loser: int
    """Its lower end."""
    path: str
    """How it runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """The certified graph."""

    width: float
    """In pixels."""
    height: float
    """In pixels."""
    nodes: tuple[Node, ...]
    """The models that have an edge."""
    lines: tuple[DrawnEdge, ...]
    """The edges that the others follow from."""
    alone: tuple[int, ...]
    """Models without any edge."""
    node_width: int = NODE_WIDTH
    """Of every model."""
    node_height: int = NODE_HEIGHT
    """Of every model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixDrawing:
    """The certified order as a square: row against column."""

    size: int
    """Number of models."""
    above: str
    """The cells whose row is certified above their column, as one path."""
    below: str
    """The cells whose row is certified below their column."""
    labels: tuple[str, ...]
    """Names beside the rows and above the columns; none if there are too many."""
    texts: tuple[tuple[int, int, str], ...]
    """Row, column, and the difference of their means; none if there are too many."""
    ticks: tuple[int, ...]
    """Places marked along the edge instead of names."""
    width: float
    """Of the whole, in pixels."""
    gutter: float
    """Room for names or marks, in cells."""
    letter: float
    """Size of the letters, in cells."""
    written: float
    """Size of the letters of the differences, in cells."""


def draw_graph(certificate: Certificate) -> Drawing | None:
    """The certified graph, or ``None`` where a matrix is clearer: many models, many lines, or a contradiction."""
    graph = certificate.graph
    if not can_draw(graph):
        return None
    layout = layered(graph)
    width = (layout.width + 1) * _ACROSS
    if width > _WIDEST:
        return None
    labels = fitted(certificate.names, _LETTERS)
    nodes = tuple(
        Node(
            index=i,
            x=_left(layout.places[i]),
            y=_top(layout.places[i]),
            label=labels[i],
            full=shown(certificate.names[i], None),
            about=f"rank {rank(graph.rank_intervals[i])} · {_mean(certificate, i)}",
        )
        for i in sorted(layout.places)
    )
    return Drawing(
        width=round(width, 1),
        height=round(max(0, layout.layers - 1) * _LAYER + NODE_HEIGHT + 2 * _EDGE_OF_PAGE, 1),
        nodes=nodes,
        lines=tuple(DrawnEdge(winner=a, loser=b, path=path) for (a, b), path in _paths(layout).items()),
        alone=layout.alone,
    )


def _left(place: Point) -> float:
    return round(place[0] * _ACROSS + (_ACROSS - NODE_WIDTH) / 2, 1)


def _top(place: Point) -> float:
    return round(place[1] * _LAYER + _EDGE_OF_PAGE, 1)


def _paths(layout: Layout) -> dict[tuple[int, int], str]:
    """Smooth curves: from the foot of the winner, straight through the layers between, to the head of the loser."""
    paths = {}
    for ends, points in layout.routes.items():
        at = [(round(_left(point) + NODE_WIDTH / 2, 1), _top(point)) for point in points]
        path = f"M{at[0][0]:g} {at[0][1] + NODE_HEIGHT:g}"
        for (x, y), (to_x, to_y) in pairwise(at):
            middle = (y + NODE_HEIGHT + to_y) / 2
            path += f"C{x:g} {middle:g} {to_x:g} {middle:g} {to_x:g} {to_y:g}"
            path += f"V{to_y + NODE_HEIGHT:g}" if (to_x, to_y) != at[-1] else ""
        paths[ends] = path
    return paths


def fitted(names: tuple[str, ...], letters: int) -> list[str]:
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
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def draw_matrix(certificate: Certificate) -> MatrixDrawing:
    """The certified order, one cell per direction, runs of equal cells drawn as one."""
    above, size = certificate.graph.above, len(certificate.names)
    few = size <= MOST_LABELLED
    step = 10 if size <= 150 else 50 if size <= 600 else 100
    cell = _WRITTEN_CELL if size <= MOST_WRITTEN else min(_LARGEST_CELL, _MATRIX / size)
    letter = min(11.0, 0.8 * cell) if few else 11.0
    labels = fitted(certificate.names, _ROW_LETTERS) if few else []
    # Few letters may all be wide ones; many are not.
    gutter = min(0.76 * _ROW_LETTERS, 0.8 + 0.95 * max(map(_wide, labels))) * letter if few else 36.0
    return MatrixDrawing(
        size=size,
        above=_runs(above),
        below=_runs(above.T),
        labels=tuple(labels),
        texts=tuple(_differences(certificate)) if size <= MOST_WRITTEN else (),
        ticks=() if few else tuple(range(step, size + 1, step)),
        width=round(size * cell + gutter, 1),
        gutter=round(gutter / cell, 3),
        letter=round(letter / cell, 3),
        written=round(_WRITTEN / cell, 3),
    )


def _differences(certificate: Certificate) -> Iterator[tuple[int, int, str]]:
    short = Units(max(0, certificate.units.decimals - 1))
    for a in range(len(certificate.names)):
        for b in range(len(certificate.names)):
            seen = difference(certificate, a, b)
            if a != b and seen is not None:
                yield a, b, short.difference(seen)


def _mean(certificate: Certificate, model: int) -> str:
    mean, words = certificate.units.score(certificate.means[model]), over(certificate, model)
    return f"{mean} ({words})" if words else mean


def _runs(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> str:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head of a row or a column."""

    text: str
    """A model or a view."""
    view: int | None = None
    """The place of the view in the switch; ``None`` for a model, or if the page has no switch."""
    link: str = ""
    """The address of the view on this page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewCell:
    """A model in a view."""

    text: str
    """Its rank interval."""
    shade: int | None
    """From 0, for the worst ranks, to one less than ``SHADES``; ``None`` if every rank is possible."""
    sure: bool
    """Whether a single rank is certified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatRow:
    """A row of the table."""

    head: Head
    """What it is about."""
    cells: tuple[ViewCell, ...]
    """One for each column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """The table: models are the rows, or views if there are more of these."""

    corner: str
    """What the rows are."""
    columns: tuple[Head, ...]
    """The heads of the columns."""
    rows: tuple[HeatRow, ...]
    """The rows."""
    steep: bool
    """Whether the heads of the columns are too long, or too many, to be written level."""
    n_models: int
    """Models in the table."""
    n_views: int
    """Views in the table, with the headline."""
    left_out: int
    """Models that are not in the table."""

    @classmethod
    def of(cls, whole: Certificate, *, linked: bool, most_cells: int = MOST_CELLS) -> Heat | None:
        """The table of a certificate with views; ``None`` if it has none, or no replicate."""
        if not whole.views or not whole.replicates:
            return None
        views = (whole, *whole.views)
        size = len(whole.names)
        kept = max(1, min(size, most_cells // len(views)))
        models = [Head(text=label) for label in whole.labels[:kept]]
        heads = [
            Head(text=name, view=i if linked else None, link=address(view.name))
            for i, (view, name) in enumerate(zip(views, view_names(whole), strict=True))
        ]
        by_view = []
        for view in views:
            found = dict(zip(view.names, view.ranks.rank_intervals, strict=True))
            by_view.append([_cell(found[name], size) for name in whole.names[:kept]])
        by_model = [list(cells) for cells in zip(*by_view, strict=True)]
        across, down, table = (heads, models, by_model) if kept >= len(views) else (models, heads, by_view)
        return cls(
            corner="Model" if down is models else "View",
            columns=tuple(across),
            rows=tuple(HeatRow(head=head, cells=tuple(cells)) for head, cells in zip(down, table, strict=True)),
            steep=len(across) * max(len(head.text) for head in across) > _ROOM,
            n_models=kept,
            n_views=len(views),
            left_out=size - kept,
        )


def view_names(whole: Certificate) -> list[str]:
    """What the headline and the other views are called, harmless and short."""
    return ["Headline", *display_names(str(view.name) for view in whole.views)]


def address(name: str | None) -> str:
    """The part of the page's address that selects a view.

    >>> address("law & order"), address(None)
    ('#view=law%20%26%20order', '#headline')
    """
    return "#headline" if name is None else f"#view={quote(name, safe='', errors='surrogatepass')}"


def _cell(interval: tuple[int, int], size: int) -> ViewCell:
    best, worst = interval
    place = ((best + worst) / 2 - 1) / (size - 1)
    shade = None if interval == (1, size) else round((SHADES - 1) * (1.0 - place))
    return ViewCell(text=rank(interval), shade=shade, sure=best == worst)
