"""Forests: differences row by row, each with the interval of the true one, around a line at zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal, NamedTuple

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import difference
from bbedge.display.geometry import Scale
from bbedge.display.ranking import CONTRADICTION, difference_bounds, difference_interval, observed_difference
from bbedge.display.scope import equal_within, has_evidence, headline_name
from bbedge.errors import Argument, DomainError
from bbedge.text import counted, did_you_mean, display_names, quoted, shown

MOST_ROWS = 60
"""So many differences are drawn, those of the nearest models in the table."""
INTERVAL = "interval"
"""The head of the column of intervals; the one of intervals on new items names these."""

COLOURS = {"better": "#0072B2", "worse": "#D55E00", "equal": "#009E73", "open": "#8b96a1"}
"""What each kind is drawn in, where a page does not choose its own."""

Kind = Literal["better", "worse", "equal", "open", "none"]
"""What is certified of a difference: that it is above its bar, below it, small either way, or not yet any of these."""


class ForestSpan(NamedTuple):
    """Where a true difference lies."""

    low: float
    """In score units; NaN where there is no such bound."""
    high: float
    """Likewise."""
    kind: Kind
    """What is certified of it; ``none`` if there is no interval to draw."""


class ForestRow(NamedTuple):
    """A difference."""

    label: str
    """What it is about."""
    cells: tuple[str, ...]
    """What the columns say of it."""
    point: float | None
    """The difference of the means, in score units."""
    spans: tuple[ForestSpan, ...]
    """Its interval, and if there is one also that on new items."""
    bars: tuple[float, ...] = ()
    """What it is compared with besides zero."""


@dataclass(frozen=True, kw_only=True)
class Forest:
    """Differences on one scale."""

    title: str
    """What they are of."""
    heads: tuple[str, ...]
    """The columns: what a row is about, then what its cells say."""
    rows: Sequence[ForestRow]
    """From the top."""
    notes: tuple[str, ...]
    """How to read it, what its lines mean, and what is left out."""

    @cached_property
    def scale(self) -> Scale:
        """Where differences are, in percent of the width: zero, and everything drawn, is on it."""
        drawn = [end for row in self.rows for span in row.spans for end in span[:2] if span.kind != "none"]
        drawn += [value for row in self.rows for value in (row.point, *row.bars) if value is not None]
        return Scale.around([0.0, *(value for value in drawn if not math.isnan(value))], start=0.0, end=100.0)

    def at(self, value: float, otherwise: float = math.nan) -> float:
        """Where a difference is, in percent of the width; ``otherwise`` where there is none."""
        scale = self.scale
        return otherwise if math.isnan(value) else 100.0 * (value - scale.low) / (scale.high - scale.low)


def certificate_forest(
    certificate: Certificate, models: Sequence[str] = (), *, against: str | None = None, most: int = MOST_ROWS
) -> Forest | None:
    """A model against each other one, by default the first of the table; of two models their difference in each view.

    ``models`` are compared among themselves. ``None`` if nothing is known of pairs. What is certified of a difference
    is what the graph shows, its interval that of every display.
    """
    if certificate.all_pairs is None or not has_evidence(certificate):
        return None
    chosen = [_place(certificate, name) for name in models]
    if len(set(chosen)) != len(chosen) or len(chosen) == 1:
        raise DomainError(Argument("models"), " needs the names of two models or more, each once")
    short, size = display_names(certificate.names, width=28), len(certificate.names)
    a = _place(certificate, against) if against else 0
    if size == 2 and not chosen:
        chosen = [a, 1 - a]
    notes, title, rows = [_legend(certificate)], "Differences of the chosen models", list[ForestRow]()
    if len(chosen) == 2:
        title = f"{short[chosen[0]]} minus {short[chosen[1]]}"
        views = [each for each in certificate.views if each.is_about_new_items is certificate.is_about_new_items]
        head = "View" if views else "Pair"
        names = [headline_name(certificate), *(shown(each.name or "") for each in views)] if views else [title]
        for name, each in zip(names, (certificate, *views), strict=True):
            rows.append(_row(each, name, *(each.names.index(certificate.names[i]) for i in chosen)))
    elif chosen:
        head, pairs = "Pair", combinations(chosen, 2)
        rows += (_row(certificate, f"{short[one]} minus {short[other]}", one, other) for one, other in pairs)
    else:
        title, head = f"{short[a]} minus each other model", "Model"
        nearest = sorted((i for i in range(size) if i != a), key=lambda i: abs(i - a))
        drawn, left, above = sorted(nearest[:most]), nearest[most:], certificate.all_pairs.graph.above
        rows += (_row(certificate, certificate.labels[i], a, i) for i in drawn)
        if left:
            better, worse = int(above[a, left].sum()), int(above[left, a].sum())
            known = f"{short[a]} is certified better than {better:,} and worse than {worse:,} of them"
            notes.append(f"{counted(len(left), 'model')} further away in the table left out: {known}.")
    if len(rows) > most:
        notes.append(f"{counted(len(rows) - most, 'more difference')} left out.")
    new = ("on new items",) if any(len(row.spans) > 1 for row in rows) else ()
    return Forest(title=title, heads=(head, "difference", INTERVAL, *new), rows=rows[:most], notes=tuple(notes))


def _place(certificate: Certificate, name: str) -> int:
    if name not in certificate.names:
        near = did_you_mean(name, certificate.names)
        raise DomainError(f"{certificate.source}: {quoted(name)} is not a model of this certificate{near}")
    return certificate.names.index(name)


def _row(certificate: Certificate, label: str, a: int, b: int) -> ForestRow:
    """The mean of ``a`` minus that of ``b``, on these items and on new ones."""
    spans, cells = [_span(certificate, a, b)], [difference_interval(certificate, a, b) or "-"]
    new = certificate.on_new_items
    if new and new.content.looks:
        places = [new.names.index(certificate.names[i]) for i in (a, b)]
        spans.append(_span(new, *places))
        cells.append(difference_interval(new, *places) or "-")
    return ForestRow(
        label=label,
        cells=(observed_difference(certificate, a, b), *cells),
        point=difference(certificate, a, b),
        spans=tuple(spans),
        bars=tuple({math.copysign(certificate.step, sign) for sign in (-1.0, 1.0) if certificate.step}),
    )


def _span(certificate: Certificate, a: int, b: int) -> ForestSpan:
    low, high = difference_bounds(certificate, a, b) or (math.nan, math.nan)
    if (math.isnan(low) and math.isnan(high)) or difference_interval(certificate, a, b) == CONTRADICTION:
        return ForestSpan(low, high, "none")
    above = certificate.by_pair(known=True).graph.above
    if above[a, b] or above[b, a]:
        return ForestSpan(low, high, "better" if above[a, b] else "worse")
    is_equal = certificate.equal is not None and bool(certificate.equal[a, b])
    return ForestSpan(low, high, "equal" if is_equal else "open")


def _legend(certificate: Certificate) -> str:
    """What dots, lines and colours mean."""
    parts = ["Dot: difference of the means. Line: where the true difference lies, for all pairs and looks together."]
    if certificate.on_new_items and certificate.on_new_items.content.looks:
        parts.append("The thin line below it: on new items.")
    parts.append("In colour: certified above zero, or below it. Grey, with a hollow dot: open.")
    if certificate.step:
        parts.append(f"Dashed: a difference of {certificate.step:.4g}; only what is beyond it is certified.")
    if certificate.equal is not None and certificate.equal.any():
        parts.append(f"Green: {equal_within(certificate)}.")
    return " ".join(parts)
