"""The table of models, with what the user knows of them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urlsplit

from bbedge.certificate.certificate import Certificate
from bbedge.display.page.facts import open_pairs
from bbedge.display.ranking import TRUST_WORDS, ModelRow, evidence_share, model_rows
from bbedge.text import shown

Kind = Literal["text", "number", "link"]
MOST_CHOICES = 12
"""A column of texts with at most so many different values can be filtered by them."""

_NUMBER = re.compile(r"[$€£]?([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?)\s?([kmbt]?)", re.IGNORECASE)
_THOUSANDS = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
_COST = re.compile(r"price|cost|usd|token|\$", re.IGNORECASE)
_LONGEST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoColumn:
    """One thing that is known of models."""

    title: str
    """What it is called, harmless."""
    kind: Kind
    """What its values are."""
    values: Mapping[str, str]
    """By the name of the model, as the file has them; models of which nothing is known are not there."""

    def text(self, model: str) -> str:
        """What to show of a model; empty if nothing is known. Of a link, where it leads."""
        value = self.values.get(model, "")
        is_link = self.kind == "link" and value
        return shown(urlsplit(value).netloc.removeprefix("www.") if is_link else value, _LONGEST)

    def link(self, model: str) -> str:
        """The address of a model in a column of links; empty if there is none."""
        return self.values.get(model, "") if self.kind == "link" else ""

    def key(self, model: str) -> float | str | None:
        """What to sort a model by; ``None`` if nothing is known."""
        value = self.values.get(model)
        return written_number(value) if value is not None and self.kind == "number" else value

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


def trust_columns(certificate: Certificate) -> tuple[InfoColumn, ...]:
    """How far the scores of models can be trusted and whose they are, if the board states it of any."""
    if not certificate.trust:
        return ()
    stated = certificate.trust.items()
    return (
        InfoColumn(title="Trust", kind="text", values={model: TRUST_WORDS[each.trust] for model, each in stated}),
        InfoColumn(title="Scores by", kind="text", values={model: each.by for model, each in stated}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """What is known of the models of a leaderboard."""

    columns: tuple[InfoColumn, ...] = ()
    """In the order shown."""

    @classmethod
    def from_rows(cls, titles: Sequence[str], rows: Mapping[str, Sequence[str]]) -> ModelInfo:
        """Columns from a table with a row for each model, which has a value, maybe empty, under every title.

        >>> info = ModelInfo.from_rows(["maker", "price"], {"a": ["Us", "1.5"], "b": ["", "$3k"]})
        >>> [(column.title, column.kind, dict(column.values)) for column in info.columns]
        [('maker', 'text', {'a': 'Us'}), ('price', 'number', {'a': '1.5', 'b': '$3k'})]
        """
        known = ({model: row[i].strip() for model, row in rows.items() if row[i].strip()} for i in range(len(titles)))
        return cls(
            columns=tuple(
                InfoColumn(title=shown(title, 40), kind=_kind(values.values()), values=values)
                for title, values in zip(titles, known, strict=True)
            )
        )


def written_number(text: str) -> float | None:
    """A number as people write it in tables, or ``None`` if it is none.

    >>> written_number("1,200"), written_number("$0.5"), written_number("70B"), written_number("about 3")
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
    if values and all(written_number(text) is not None for text in values):
        return "number"
    return "link" if values and all(map(is_link, values)) else "text"


MOST_ROWS = 200
"""Rows on one page of the table, for a certificate with counts only: a browser takes seconds to lay out thousands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """A view on the page."""

    certificate: Certificate
    """What is shown: what the document says, and not what the run that made it knows besides."""
    rows: tuple[ModelRow, ...]
    """All models; those of withdrawn ones are not in the table."""
    pages: Mapping[str, str] = field(default_factory=dict)
    """The address of the page of each model, by name; empty where models have none."""

    @classmethod
    def from_certificate(cls, certificate: Certificate, pages: Mapping[str, str] | None = None) -> PageView:
        """The view that a certificate is of."""
        written = certificate if certificate.pairs is not None else replace(certificate, leaderboard=None)
        return cls(certificate=written, rows=model_rows(written, withdrawn=True), pages=pages or {})

    @property
    def open_rows(self) -> int:
        """How many rows the page opens with; the script makes the others page by page."""
        return MOST_ROWS if self.certificate.pairs is None else len(self.rows)

    @property
    def has_partial(self) -> bool:
        """Whether a mean is over some of the items only."""
        return any(row.mean_over for row in self.rows)

    def for_script(self) -> dict[str, object]:
        """What the script needs to sort, to filter and to make rows: texts as in the template, column by column."""
        made, certificate = self.rows, self.certificate
        full, place = (
            [shown(name, None) for name in certificate.names],
            {name: i for i, name in enumerate(certificate.names)},
        )
        return {
            "open": self.open_rows,
            "ranks": [row.ranks for row in made],
            "new_ranks": [row.rank_on_new_items for row in made] if certificate.on_new_items else None,
            "mean_ranks": [row.mean_rank for row in made],
            "full": {row.index: full[row.index] for row in made if full[row.index] != row.label},
            "means": [row.mean for row in made],
            "mean_of": [row.mean_of for row in made] if any(row.mean_of for row in made) else None,
            "partial": [row.index for row in made if row.mean_over],
            "mean_intervals": [row.mean_interval for row in made] if certificate.mean_intervals else None,
            "behind": [row.behind for row in made],
            "behind_intervals": [row.behind_interval for row in made] if certificate.pairs is not None else None,
            "counts": [(row.beats, row.loses_to) for row in made],
            **({"pages": [self.pages[name] for name in certificate.names]} if self.pages else {}),
            "retired": [row.index for row in made if row.is_retired],
            "withdrawn": [row.index for row in made if row.is_withdrawn],
            "opens": [row.index for row in made if row.opens_group],
            "cuts": [row.index for row in made if row.cut_above],
            "evidence": [
                (place[each.ahead], place[each.behind], evidence_share(each.log_e - each.log_threshold)[0])
                for part in open_pairs(certificate)
                for each in part
            ],
        }
