"""What a page holds: the headline and the other views, each in full, and all of them in one table."""

from __future__ import annotations

from dataclasses import dataclass

from bbedge.certificate.certificate import Certificate
from bbedge.display.page.heat import Heat, view_names
from bbedge.display.page.items import ItemScores
from bbedge.display.page.model_info import ModelInfo
from bbedge.display.page.view import View

MOST_VIEW_ROWS = 5_000
"""All views together have at most so many rows, or the page shows one view in full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The content of a page."""

    shown: tuple[Certificate, ...]
    """What can be shown in full: the headline and the other views, or the one that was asked for."""
    views: tuple[View, ...]
    """The same as plain values."""
    opened: int
    """Which of them the page opens with."""
    switch: tuple[str, ...]
    """The names of them in the switch; empty if there is nothing to choose."""
    heat: Heat | None
    """The rank intervals of all models in all views; ``None`` without views."""
    items: ItemScores | None
    """Scores of single items, if they were asked for."""

    @classmethod
    def of(
        cls, certificate: Certificate, *, title: str, info: ModelInfo | None = None, items: ItemScores | None = None
    ) -> Content:
        """The content of a page that opens with this certificate, which may be a view of another."""
        whole = certificate.headline or certificate
        rows = len(whole.views) * len(whole.names)
        shown = (whole, *whole.views) if rows <= MOST_VIEW_ROWS else (certificate,)
        choice = len(shown) > 1
        return cls(
            shown=shown,
            views=tuple(View.of(each, title=title, info=info or ModelInfo()) for each in shown),
            opened=[each.name for each in shown].index(certificate.name),
            switch=tuple(view_names(whole)) if choice else (),
            heat=Heat.of(whole, linked=choice),
            items=items if certificate.pairs is not None else None,
        )
