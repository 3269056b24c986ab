"""The rank intervals of all models in all views, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.units import rank
from bbedge.text import display_names

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
class Cell:
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
    cells: tuple[Cell, ...]
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


def _cell(interval: tuple[int, int], size: int) -> Cell:
    best, worst = interval
    place = ((best + worst) / 2 - 1) / (size - 1)
    shade = None if interval == (1, size) else round((SHADES - 1) * (1.0 - place))
    return Cell(text=rank(interval), shade=shade, sure=best == worst)
