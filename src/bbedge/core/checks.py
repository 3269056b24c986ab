"""Checks of the values that a design is made from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from bbedge.errors import DesignError, DomainError
from bbedge.text import quoted


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
