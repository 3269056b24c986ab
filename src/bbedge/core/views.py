"""Views: the weighted means that a leaderboard compares, and what each has of alpha."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from bbedge.core.checks import check_names, check_weights
from bbedge.errors import DesignError, DomainError
from bbedge.text import listed, quoted

HEADLINE = "headline"
"""How the main view is called among shares; no other view may have this name."""

_CLOSE = 1e-9  # shares whose sum is this near one are meant to add up to one


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A mean that is compared besides the headline, for instance that of a category."""

    name: str
    """What it is called."""
    weights: tuple[float, ...]
    """The weight of each item in the mean, on any scale; items of weight 0 are not part of the view."""
    share: float
    """Its part of alpha, which its directions have in equal parts."""


def macro_weights(labels: Sequence[Hashable]) -> tuple[float, ...]:
    """Weights of items for the mean of the category means, from the category of each item.

    >>> macro_weights(["math", "math", "code"])
    (0.25, 0.25, 0.5)
    """
    sizes = Counter(labels)
    return tuple(1.0 / (len(sizes) * sizes[label]) for label in labels)


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
    shares = [share, *(view.share for view in views)]
    if not all(0.0 < part <= 1.0 for part in shares):
        raise DomainError("the share of a view is not allowed; shares are above 0 and at most 1")
    if math.fsum(shares) > 1.0 + _CLOSE:
        raise DomainError(f"the shares of the views add up to {math.fsum(shares):g}; at most 1 is allowed")
