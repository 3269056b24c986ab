"""What the user knows of the models besides their scores, typed column by column: texts, numbers and links.

All of it comes from a file that was not checked. Texts are shown as texts; only ``http`` and ``https`` addresses become
links.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from bbedge.text import shown

Kind = Literal["text", "number", "link"]
MOST_CHOICES = 12
"""A column of texts with at most so many different values can be filtered by them."""

_NUMBER = re.compile(r"[$€£]?([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?)\s?([kmbt]?)", re.IGNORECASE)
_THOUSANDS = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
_COST = re.compile(r"price|cost|usd|token|\$", re.IGNORECASE)
_LONGEST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoCell:
    """What is known of one model in one column."""

    text: str
    """As it is shown; empty if nothing is known."""
    link: str = ""
    """Where it leads; empty if it is no link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoColumn:
    """One thing that is known of models."""

    title: str
    """What it is called, harmless."""
    kind: Kind
    """What its values are."""
    values: Mapping[str, str]
    """By the name of the model, as the file has them; models of which nothing is known are not there."""

    def cell(self, model: str) -> InfoCell:
        """What to show of a model."""
        value = self.values.get(model, "")
        if self.kind == "link" and value:
            return InfoCell(text=shown(urlsplit(value).netloc.removeprefix("www."), _LONGEST), link=value)
        return InfoCell(text=shown(value, _LONGEST))

    def key(self, model: str) -> float | str | None:
        """What to sort a model by; ``None`` if nothing is known."""
        value = self.values.get(model)
        return number(value) if value is not None and self.kind == "number" else value

    @property
    def choices(self) -> tuple[str, ...]:
        """Its values as they are shown, if they are few enough to choose one from."""
        values = {shown(value, _LONGEST) for value in self.values.values()} if self.kind == "text" else set()
        few = 2 <= len(values) <= MOST_CHOICES and len(values) < len(self.values)
        return tuple(sorted(values)) if few else ()

    @property
    def is_cost(self) -> bool:
        """Whether its name says that it is a price or a number of tokens."""
        return self.kind == "number" and _COST.search(self.title) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """What is known of the models of a leaderboard."""

    columns: tuple[InfoColumn, ...] = ()
    """In the order shown."""

    @classmethod
    def of(cls, titles: Sequence[str], rows: Mapping[str, Sequence[str]]) -> ModelInfo:
        """Columns from a table with a row for each model, which has a value, maybe empty, under every title.

        >>> info = ModelInfo.of(["maker", "price"], {"a": ["Us", "1.5"], "b": ["", "$3k"]})
        >>> [(column.title, column.kind, dict(column.values)) for column in info.columns]
        [('maker', 'text', {'a': 'Us'}), ('price', 'number', {'a': '1.5', 'b': '$3k'})]
        """
        columns = []
        for place, title in enumerate(titles):
            values = {model: row[place].strip() for model, row in rows.items() if row[place].strip()}
            columns.append(InfoColumn(title=shown(title, 40), kind=_kind(values.values()), values=values))
        return cls(columns=tuple(columns))


def number(text: str) -> float | None:
    """A number as people write it in tables, or ``None`` if it is none.

    >>> number("1,200"), number("$0.5"), number("70B"), number("about 3")
    (1200.0, 0.5, 70000000000.0, None)
    """
    found = _NUMBER.fullmatch(text.strip().replace(",", ""))
    if found is None:
        return None
    value = float(found[1]) * _THOUSANDS[found[2].lower()]
    return value if math.isfinite(value) else None


def is_link(text: str) -> bool:
    """Whether a text is an address that a reader may follow.

    >>> is_link("https://example.org/a?b#c"), is_link("javascript:alert(1)"), is_link("https://")
    (True, False, False)
    """
    if shown(text, None) != text or any(letter.isspace() for letter in text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme.lower() in ("http", "https") and bool(parts.netloc) and "@" not in parts.netloc


def _kind(values: Collection[str]) -> Kind:
    if values and all(number(text) is not None for text in values):
        return "number"
    return "link" if values and all(map(is_link, values)) else "text"
