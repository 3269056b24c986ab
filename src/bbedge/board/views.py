"""What a board compares: rules by which every version of its benchmark has weights, views and shares of alpha.

A version may have categories that the one before did not have, so that a design freezes rules and not views. What the
rules give depends on the items and their columns alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from bbedge.core.views import HEADLINE, category_weights, macro_weights
from bbedge.errors import DesignError, DomainError
from bbedge.records.design import Headline, Views
from bbedge.text import quoted

Columns = Mapping[str, Sequence[str]]
"""What is known of each item besides its block, by the name of the column."""

MOST_VIEWS = 1000
"""A column with more values than these is none of categories."""

_CLOSE = 1e-9  # shares whose sum is this near one are meant to add up to one


def shared_out(headline: Headline, views: Views | None) -> tuple[Headline, Views | None]:
    """The same, with every part of alpha stated.

    Of what the shares of single views leave, the headline has one half and the other views the other half, unless one
    of both is stated: then the other has the rest.
    """
    if not views:
        if headline.share is not None:
            raise DesignError("a share of the headline has no meaning without views; leave it out")
        return headline, None
    rest = 1.0 - math.fsum(views.shares.values())
    share, others = headline.share, views.others
    if share is None:
        share = rest / 2 if others is None else rest - others
    if others is None:
        others = rest - share
    others = 0.0 if abs(others) <= _CLOSE else others
    if not 0.0 < share < 1.0 or not 0.0 <= others < 1.0:
        raise DomainError(
            f"the shares leave {share:g} for the headline and {others:g} for the other views; all shares together are 1"
        )
    if abs(rest - share - others) > _CLOSE:
        raise DomainError(
            f"the shares of the headline, of single views and of the others add up to {1.0 - rest + share + others:g}; "
            "they must add up to 1"
        )
    return replace(headline, share=share), replace(views, others=others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What a version of the benchmark compares."""

    weights: tuple[float, ...] | None = None
    """The weight of each item in the headline; ``None`` if all weigh the same."""
    views: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """The weights of each view."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """The part of alpha of the headline and of each view; empty if there are no views."""


def compared(headline: Headline, views: Views | None, items: Sequence[str], columns: Columns) -> Compared:
    """What the rules give for these items; shares are as :func:`shared_out` states them.

    A view that compares the same means as the headline is none.
    """
    own = (1.0,) * len(items) if headline.weights is None else weights_of(headline.weights, items, columns)
    means = own if headline.macro is None else macro_weights(columns[headline.macro], own)
    weights = means if len(set(means)) > 1 else None
    if not views:
        return Compared(weights=weights)
    found = {} if views.column is None else _categories(views.column, columns[views.column], own)
    for name, column in views.weights.items():
        if name in found:
            raise DesignError(
                f"{quoted(name)} is a view by its weights and a value of the column {quoted(str(views.column))}; "
                "rename one of them"
            )
        found[name] = weights_of(column, items, columns)
    if HEADLINE in found:
        raise DesignError(f"a view cannot be called {HEADLINE}, which is the main view; rename it")
    found = {name: given for name, given in found.items() if any(given) and not _alike(given, means)}
    return Compared(weights=weights, views=found, shares=_shares(headline, views, tuple(found)))


def _categories(column: str, labels: Sequence[str], weights: Sequence[float]) -> dict[str, tuple[float, ...]]:
    count = len(set(labels))
    if count > MOST_VIEWS:
        raise DesignError(
            f"the column {quoted(column)} has {count:,} values, and each would be a view; at most {MOST_VIEWS:,} are "
            "allowed: choose a column of categories"
        )
    return category_weights(labels, weights)


def _alike(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether weights are the same up to their scale."""
    of_one, of_other = math.fsum(one), math.fsum(other)
    return all(math.isclose(a / of_one, b / of_other, rel_tol=1e-12) for a, b in zip(one, other, strict=True))


def _shares(headline: Headline, views: Views, names: Sequence[str]) -> dict[str, float]:
    assert headline.share is not None  # both are stated by shared_out
    assert views.others is not None
    unnamed = [name for name in names if name not in views.shares]
    if unnamed and not views.others:
        raise DesignError(
            f"nothing of alpha is left for the view {quoted(unnamed[0])}; give it a share of its own, or others a share"
        )
    shares = {name: views.shares.get(name, views.others / max(1, len(unnamed))) for name in names}
    unused = [share for name, share in views.shares.items() if name not in shares]
    unused += [] if unnamed else [views.others]
    return {HEADLINE: math.fsum([headline.share, *unused])} | shares


def weights_of(column: str, items: Sequence[str], columns: Columns) -> tuple[float, ...]:
    """The weights in a column."""
    weights = []
    for item, text in zip(items, columns[column], strict=True):
        try:
            weight = float(text)
        except ValueError:
            weight = math.nan
        if not (math.isfinite(weight) and weight >= 0.0):
            raise DesignError(
                f"{quoted(text)} in the column {quoted(column)} is not a weight of item {quoted(item)}; give a number "
                "of at least 0"
            )
        weights.append(weight)
    return tuple(weights)


def weight_text(text: str) -> str:
    """The one text of a weight; what is not a number stays as it is, for :func:`weights_of` to refuse.

    >>> weight_text("2"), weight_text(" 0.50"), weight_text("much")
    ('2.0', '0.5', 'much')
    """
    try:
        return repr(float(text) + 0.0)  # no negative zero
    except ValueError:
        return text
