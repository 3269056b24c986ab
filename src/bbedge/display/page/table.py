"""The table of models, with what the user knows of them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

from bbedge.certificate.certificate import Certificate
from bbedge.display.geometry import rank_bar
from bbedge.display.ranking import ModelRow, rows
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


MOST_ROWS = 200
"""Rows on one page of the table, for a certificate with counts only: a browser takes seconds to lay out thousands."""
_LONG = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow:
    """A model in the table."""

    row: ModelRow
    """What every display says of it."""
    left: str
    """Where its bar starts, in percent."""
    width: str
    """How wide its bar is, in percent."""
    info: tuple[InfoCell, ...]
    """What the user knows of it, column by column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A column that the table can be filtered by."""

    column: int
    """Its place among the columns that the user gave."""
    title: str
    """What it is called."""
    choices: tuple[str, ...]
    """Its values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTable:
    """The leaderboard."""

    lines: tuple[PageRow, ...]
    """All models, in the order shown."""
    open_lines: int
    """How many of them the page opens with; the script makes the others page by page."""
    info: tuple[InfoColumn, ...]
    """The columns that the user gave."""
    filters: tuple[Filter, ...]
    """Those of them that the table can be filtered by."""
    by_pair: bool
    """Whether the certificate says anything of single pairs."""
    full: tuple[str, ...]
    """The names, harmless and whole."""
    has_intervals: bool
    """Whether the certificate has intervals of the means."""

    @classmethod
    def of(cls, certificate: Certificate, info: ModelInfo) -> PageTable:
        """The table of a certificate: what it says, and not what the run that made it knows besides."""
        by_pair = certificate.pairs is not None
        written = certificate if by_pair else replace(certificate, leaderboard=None)
        lines = tuple(_lines(written, info))
        return cls(
            lines=lines,
            open_lines=len(lines) if by_pair else MOST_ROWS,
            info=info.columns,
            filters=tuple(
                Filter(column=place, title=column.title, choices=column.choices)
                for place, column in enumerate(info.columns)
                if column.choices
            ),
            by_pair=by_pair,
            full=tuple(shown(name, None) for name in certificate.names),
            has_intervals=any(line.row.mean_interval for line in lines),
        )

    @property
    def has_long_names(self) -> bool:
        """Whether some name may have to be written in several lines."""
        return any(len(line.row.label) > _LONG for line in self.lines)

    @property
    def has_partial(self) -> bool:
        """Whether a mean is over some of the items only."""
        return any(line.row.mean_over for line in self.lines)

    @property
    def size(self) -> int:
        """Number of models."""
        return len(self.lines)

    def for_script(self) -> dict[str, object]:
        """What the script needs to sort, to filter and to make rows: texts as in the template, column by column."""
        found = [line.row for line in self.lines]
        return {
            "open": self.open_lines,
            "ranks": [row.ranks for row in found],
            "full": {i: text for i, text in enumerate(self.full) if text != found[i].label},
            "means": [row.mean for row in found],
            "mean_over": [row.mean_over for row in found] if self.has_partial else None,
            "mean_intervals": [row.mean_interval for row in found] if self.has_intervals else None,
            "behind": [row.behind for row in found],
            "behind_intervals": [row.behind_interval for row in found] if self.by_pair else None,
            "counts": [(row.beats, row.loses_to) for row in found],
            "cuts": [row.index for row in found if row.cut_above],
        }


def _lines(certificate: Certificate, info: ModelInfo) -> Iterator[PageRow]:
    size = len(certificate.names)
    for row, name in zip(rows(certificate), certificate.names, strict=True):
        yield PageRow(
            row=row,
            left=f"{rank_bar(row.ranks, size)[0]:.4g}",
            width=f"{rank_bar(row.ranks, size)[1]:.4g}",
            info=tuple(column.cell(name) for column in info.columns),
        )
