"""The page of one model of a board: its ranks, its comparisons and its history, drawn without a script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from bbedge.certificate.certificate import Certificate
from bbedge.display.forest import Forest, certificate_forest
from bbedge.display.page import written
from bbedge.display.ranking import ModelRow, model_rows, ordinal
from bbedge.display.scope import awaited, has_evidence, headline_name
from bbedge.records.site import RowChange
from bbedge.text import counted, shown

STYLES = ("page.css", "table.css", "forest.css", "model.css")
"""The style sheet of the page, in this order."""
MOST_DRAWN = 40
"""So many differences are drawn, those of the nearest models in the table."""
MOST_LISTED = 500
"""So many comparisons are listed, likewise."""
MOST_IN_VIEWS = 400
"""The views besides the headline have so many rows together, but ten each."""

_RESULTS = {"better": "beats", "worse": "loses to", "equal": "open, about equal", "open": "open", "none": "-"}


class ModelView(NamedTuple):
    """A model in a view."""

    name: str
    """What the view is called."""
    row: ModelRow
    """Its row of the table."""
    forest: Forest | None
    """Its differences to the nearest models; none for the headline, which has a section of its own."""


@dataclass(frozen=True, kw_only=True)
class ModelPages:
    """What the pages of the models of one certificate have in common."""

    certificate: Certificate
    """Where they come from; the headline."""
    title: str
    """The heading of the board."""
    links: Mapping[str, str]
    """The page of each model, by name, from the folder of these pages."""
    home: str
    """The leaderboard, likewise."""
    address: str | None = None
    """Where the folder of these pages will be."""

    def page(self, model: str, changes: Sequence[RowChange]) -> str:
        """The page as ASCII text; every text is escaped, and nothing is fetched or run."""
        certificate, labels = self.certificate, self.certificate.labels
        place, board, name = certificate.names.index(model), shown(self.title, 120), shown(model, None)
        drawn, listed = (
            certificate_forest(certificate, against=model, most=most) for most in (MOST_DRAWN, MOST_LISTED)
        )
        answered, counts = self._answer(place), self._counts(place)
        content = {
            "whole": certificate,
            "board": board,
            "name": name,
            "row": self._rows[0][place],
            "said": f"{answered} {counts}",
            "answered": answered,
            "counts": counts,
            "reasons": [each.reason for each in certificate.withdrawn if each.model == model],
            "views": list(self._views(model)),
            "drawn": drawn,
            "listed": listed,
            "results": _RESULTS,
            "links": {labels[i]: self.links[each] for i, each in enumerate(certificate.names)},
            "changes": list(changes)[::-1],
            "home": self.home,
        }
        address = self.address and f"{self.address}{self.links[model]}"
        return written("model.html", content, title=f"{shown(model, 60)} · {board}", styles=STYLES, address=address)

    @cached_property
    def _rows(self) -> Sequence[Sequence[ModelRow]]:
        """The table of each view, the headline first."""
        return [model_rows(each, withdrawn=True) for each in (self.certificate, *self.certificate.views)]

    def _answer(self, place: int) -> str:
        """What is certified of the model's rank."""
        certificate, (best, worst) = self.certificate, self._rows[0][place].ranks
        size = len(certificate.names)
        if not has_evidence(certificate):
            return f"Nothing is certified yet: {awaited(certificate)}."
        if (best, worst) == (1, size):
            return f"Any rank of {size:,} is possible: no comparison bounds it yet."
        if best == worst:
            return f"{ordinal(best)} of {size:,}, certified."
        if best == 1:
            return f"Could be best, and is at worst {ordinal(worst)} of {size:,}."
        return f"At best {ordinal(best)}, at worst {ordinal(worst)} of {size:,}."

    def _counts(self, place: int) -> str:
        """How many models it beats and loses to, and how many comparisons are open."""
        row, others = self._rows[0][place], len(self.certificate.names) - 1
        left = others - row.beats - row.loses_to
        is_open = f"{counted(left, 'comparison')} {'is' if left == 1 else 'are'} open" if left else "none is open"
        return f"Beats {counted(row.beats, 'model')}, loses to {row.loses_to:,}; {is_open}."

    def _views(self, model: str) -> Iterator[ModelView]:
        """The model in every view, if there are any besides the headline."""
        whole = self.certificate
        every = (whole, *whole.views) if whole.views else ()
        most = max(10, MOST_IN_VIEWS // max(1, len(whole.views)))
        for each, rows in zip(every, self._rows, strict=False):
            place = each.names.index(model)
            # What is about new items is drawn beside the same view of these items.
            is_drawn = each is not whole and (each.is_about_new_items is whole.is_about_new_items)
            forest = certificate_forest(each, against=model, most=most) if is_drawn else None
            name = headline_name(whole) if each is whole else shown(each.name or "")
            yield ModelView(name, rows[place], forest)
