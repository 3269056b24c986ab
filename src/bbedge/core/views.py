"""Views: the weighted means that a leaderboard compares, what each has of alpha, and how columns of items make them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import fsum, isclose
from typing import TYPE_CHECKING, TypedDict

from bbedge.errors import Argument, Blank, DesignError, DomainError
from bbedge.records.values import HEADLINE as HEADLINE
from bbedge.records.values import grouped
from bbedge.text import listed, quoted, shown


def check_names(what: str, names: Sequence[str], *, at_least: int) -> None:
    """Refuse names that are too few, not texts, or not unique."""
    if len(names) < at_least:
        raise DesignError(f"{len(names)} {what}s given; at least {at_least} needed")
    if not all(isinstance(name, str) and name for name in names):
        raise DesignError(f"every {what} needs a name: a text that is not empty")
    for name in names:
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            raise DesignError(
                f"{what} {quoted(name)} has an unpaired surrogate in its name; correct the name"
            ) from None
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise DesignError(f"{what} {quoted(twice)} is named twice; {what} names must be unique")


def check_choice(what: str, given: str, allowed: Sequence[str]) -> None:
    """Refuse what is not among the allowed values."""
    if given not in allowed:
        raise DomainError(f"unknown {what} {given!r}; choose one of {', '.join(allowed)}")


def check_weights(weights: Sequence[float], items: Sequence[str]) -> None:
    """Refuse weights of items that are not finite, below zero, all zero, or not one for each item."""
    if len(weights) != len(items):
        raise DesignError(f"{len(items)} items but {len(weights)} weights; give one weight per item")
    for item, weight in zip(items, weights, strict=True):
        if not (math.isfinite(weight) and weight >= 0.0):
            raise DomainError(
                f"weight {weight} of item {quoted(item)} is not allowed; weights are finite and at least 0"
            )
    if not any(weights):
        raise DomainError("every item has weight 0; give at least one item a positive weight")


if TYPE_CHECKING:
    from bbedge.core.scores import Scores

_CLOSE = 1e-9  # shares whose sum is this near one are meant to add up to one


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A mean that is compared besides the headline, for instance that of a category."""

    name: str
    """What it is called."""
    weights: tuple[float, ...]
    """The weight of each item in the mean, on any scale; items of weight 0 are not part of the view."""
    share: float
    """Its part of alpha, or of what its target has of it; its directions have that in equal parts."""
    is_of_new_items: bool = False
    """Whether it is about new items of the same kind, beside the same view of these items."""


NEW_ITEMS = "new items"
"""How the headline is called as a view about new items; other views have it in brackets."""


def for_both_targets(views: Sequence[View], headline: tuple[float, ...], share: float) -> tuple[View, ...]:
    """The views of these items, and after them the headline and the same views of new items.

    ``headline`` are the weights of the headline, ``share`` is its share, which are those of each target.
    """
    again = (replace(view, name=f"{view.name} ({NEW_ITEMS})", is_of_new_items=True) for view in views)
    return (*views, View(name=NEW_ITEMS, weights=headline, share=share, is_of_new_items=True), *again)


def macro_weights(labels: Sequence[Hashable], weights: Sequence[float] | None = None) -> tuple[float, ...]:
    """Weights of items for the mean of the category means, which are means of their items with weights as given.

    ``labels`` has the category of each item. One whose items all have weight 0 is not among those that are averaged.

    >>> macro_weights(["math", "math", "code"])
    (0.25, 0.25, 0.5)
    >>> macro_weights(["math", "math", "code", "law"], [1.0, 3.0, 2.0, 0.0])
    (0.125, 0.375, 0.5, 0.0)
    """
    given = (1.0,) * len(labels) if weights is None else weights
    totals = {label: fsum(its) for label, its in grouped(zip(labels, given, strict=True)).items()}
    categories = sum(total > 0.0 for total in totals.values())
    return tuple(
        weight / (categories * totals[label]) if weight else 0.0 for label, weight in zip(labels, given, strict=True)
    )


def category_weights(labels: Sequence[str], weights: Sequence[float] | None = None) -> dict[str, tuple[float, ...]]:
    """The weights of one view for each category: those of its items as given, or all the same, and 0 elsewhere.

    >>> category_weights(["math", "math", "code"])
    {'code': (0.0, 0.0, 1.0), 'math': (1.0, 1.0, 0.0)}
    """
    given = (1.0,) * len(labels) if weights is None else weights
    return {
        category: tuple(weight if label == category else 0.0 for label, weight in zip(labels, given, strict=True))
        for category in sorted(set(labels))
    }


def allot_shares(names: Sequence[str], given: Mapping[str, float] | None = None) -> dict[str, float]:
    """The part of alpha that the headline and each other view have; together they have all of it.

    Of what the given shares leave, the headline has one half and the other views the other half in equal parts; where
    only one side has no given share, that side has all of it.

    >>> allot_shares(["code", "math"])
    {'headline': 0.5, 'code': 0.25, 'math': 0.25}
    >>> allot_shares(["code", "math"], {"code": 0.4})
    {'headline': 0.3, 'code': 0.4, 'math': 0.3}
    """
    given = dict(given or {})
    everything = (HEADLINE, *names)
    for name, share in given.items():
        if name not in everything:
            raise DesignError(f"there is no view {quoted(name)} to have a share; the views are {listed(everything)}")
        if not 0.0 < share <= 1.0:
            raise DomainError(f"a share of {share} for {quoted(name)} is not allowed; choose 0 < share <= 1")
    rest, open_views = 1.0 - sum(given.values()), [name for name in names if name not in given]
    is_open = HEADLINE not in given
    if rest < -_CLOSE or (rest <= _CLOSE and (open_views or is_open)):
        raise DomainError(f"the given shares add up to {1.0 - rest:g}, which leaves nothing for the other views")
    if not (open_views or is_open) and rest > _CLOSE:
        raise DomainError(f"the shares add up to {1.0 - rest:g}; they must add up to 1")
    for_headline = rest if not open_views else rest / 2
    for_others = rest - for_headline if is_open else rest
    shares = {HEADLINE: given.get(HEADLINE, for_headline)}
    return shares | {name: given.get(name, for_others / max(1, len(open_views))) for name in names}


def check_views(views: Sequence[View], share: float, items: Sequence[str]) -> None:
    """Refuse views whose names, weights or shares are not possible together with the headline's share."""
    if views:
        check_names("view", [view.name for view in views], at_least=1)
    for view in views:
        if view.name == HEADLINE:
            raise DesignError(f"a view cannot be called {HEADLINE}, which is the main view; rename it")
        try:
            check_weights(view.weights, items)
        except (DesignError, DomainError) as error:
            raise type(error)(f"view {quoted(view.name)}: {error}") from None
    shares = [[share], list[float]()]
    for view in views:
        shares[view.is_of_new_items].append(view.share)
    if not all(0.0 < part <= 1.0 for part in chain(*shares)):
        raise DomainError("the share of a view is not allowed; shares are above 0 and at most 1")
    if (total := max(map(math.fsum, shares))) > 1.0 + _CLOSE:
        raise DomainError(f"the shares of the views add up to {total:g}; at most 1 is allowed")


METRIC = "metric"
"""The item column that says which metric an item is about, where each metric of an item is an item of its own."""
_MOST_VIEWS = 1000


class SuiteOptions(TypedDict, total=False):
    """The options of a design that a suite sets; what it does not set is absent."""

    weights: tuple[float, ...]
    views: dict[str, tuple[float, ...]]
    shares: dict[str, float]


def suite_options(
    scores: Scores,
    *,
    macro: str | None = None,
    weights: str | None = None,
    views: str | None = None,
    shares: Mapping[str, float] | None = None,
    metric: str | Sequence[str] | None = None,
) -> SuiteOptions:
    """The weights, views and shares of a design, from columns that describe the items of the scores.

    ``macro`` names a column of categories: the headline is the mean of the category means. ``weights`` names a column
    of numbers: items weigh so in the headline, inside the categories of ``macro``, and inside views. ``views`` names a
    column: besides the headline there is a view for each of its values; a value whose view is the headline itself has
    none. ``shares`` says what views have of alpha, and ``headline`` what the headline has. Where each metric of an item
    is an item of its own, ``metric`` is the one that the headline is about; several if tasks have different ones.

    The result goes to :func:`~bbedge.certify` or :meth:`Scores.design` as keywords.

    **Needs:** columns chosen before the scores were seen.

    >>> import numpy as np
    >>> from dataclasses import replace
    >>> from bbedge import Scores
    >>> plain = Scores.of(np.zeros((1, 2, 3)), models=["a", "b"], items=["q1", "q2", "q3"])
    >>> scores = replace(plain, columns={"topic": ("math", "math", "code")})
    >>> suite_options(scores, macro="topic", views="topic")["weights"]
    (0.25, 0.25, 0.5)
    >>> design = scores.design(**suite_options(scores, views="topic", shares={"code": 0.1}))
    >>> [(view.name, view.share) for view in design.views]
    [('code', 0.1), ('math', 0.45)]
    """
    items = scores.items
    own = (1.0,) * len(items) if weights is None else weights_in_column(weights, items, _column(scores, weights))
    if not any(own):
        raise DomainError(
            f"every weight in column {quoted(str(weights))} is 0; give at least one item a positive weight"
        )
    selected = _of_metric(scores, own, metric, macro)
    headline = selected if macro is None else macro_weights(_column(scores, macro), selected)
    options: SuiteOptions = {}
    if len(set(headline)) > 1:
        options["weights"] = headline
    if views is not None:
        labels = _column(scores, views)
        options["views"] = views_beside(headline, views_by_column(views, labels, own))
        if not options["views"]:
            raise DesignError(
                f"the only view by column {quoted(views)} is the headline itself, because the items of the headline "
                f"have one value, {listed(sorted(set(labels)), limit=1)}; leave out ",
                Argument("views", shown(views)),
            )
    if shares:
        options["shares"] = dict(shares)
    return options


def _column(scores: Scores, name: str) -> tuple[str, ...]:
    if name not in scores.columns:
        there = f"have the columns {listed(scores.columns, limit=20)}" if scores.columns else "have none"
        raise DesignError(
            f"the scores have no column {quoted(name)} that describes their items; they {there}: read them with ",
            Argument("item_column", (name,)),
        )
    return scores.columns[name]


def weights_in_column(name: str, items: Sequence[str], texts: Sequence[str]) -> tuple[float, ...]:
    """The weights of items that a column has as texts."""
    weights = []
    for item, text in zip(items, texts, strict=True):
        try:
            weight = float(text)
        except ValueError:
            weight = math.nan
        if not (math.isfinite(weight) and weight >= 0.0):
            raise DesignError(
                f"{quoted(text)} in the column {quoted(name)} is not a weight of item {quoted(item)}; give a number of "
                "at least 0"
            )
        weights.append(weight)
    return tuple(weights)


def views_by_column(name: str, labels: Sequence[str], weights: Sequence[float]) -> dict[str, tuple[float, ...]]:
    """The weights of one view for each value of a column."""
    count = len(set(labels))
    if count > _MOST_VIEWS:
        raise DesignError(
            f"the column {quoted(name)} has {count:,} values, and each would be a view; at most {_MOST_VIEWS:,} are "
            "allowed: choose a column of categories"
        )
    return category_weights(labels, weights)


def views_beside(headline: Sequence[float], views: Mapping[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
    """The views that compare something, and other means than the headline."""
    return {name: weights for name, weights in views.items() if any(weights) and not _alike(weights, headline)}


def _of_metric(
    scores: Scores, weights: tuple[float, ...], metric: str | Sequence[str] | None, macro: str | None
) -> tuple[float, ...]:
    """The weights of the items in the headline, of which those of other metrics are no part."""
    chosen = () if metric is None else (metric,) if isinstance(metric, str) else tuple(metric)
    if not chosen:
        found = sorted(set(scores.columns.get(METRIC, ())))
        if len(found) > 1 and macro != METRIC:
            raise DesignError(
                f"there are {len(found)} metrics, {listed(found)}, and none is chosen for the headline: pass ",
                Argument("metric", Blank("NAME")),
                " for the one that it is about, or ",
                Argument("macro", METRIC),
                " for the mean of their means",
            )
        return weights
    if macro == METRIC:
        raise DesignError(
            Argument("macro", METRIC), " is the mean over all metrics; leave out ", Argument("metric", shown(chosen[0]))
        )
    metrics = _column(scores, METRIC)
    unknown = [name for name in chosen if name not in metrics]
    if unknown:
        raise DesignError(
            f"there is no metric {quoted(unknown[0])} among the items; the metrics are {listed(sorted(set(metrics)))}"
        )
    return tuple(weight if name in chosen else 0.0 for name, weight in zip(metrics, weights, strict=True))


def _alike(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether weights are the same up to their scale."""
    of_one, of_other = fsum(one), fsum(other)
    return all(isclose(a / of_one, b / of_other, rel_tol=1e-12) for a, b in zip(one, other, strict=True))
