"""Parts of a design from plain values, such as those of a TOML file; ``TypeError`` says what is of the wrong type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from bbedge.board.passes import CheckpointRule
from bbedge.board.views import Headline, Views
from bbedge.text import did_you_mean, quoted


def number(value: object) -> float:
    """The value as a float; ``TypeError`` if it is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def headline(given: object) -> Headline:
    """What the main leaderboard compares, from a table."""
    values = _table("headline", given, Headline)
    return Headline(
        macro=_text("macro", values.get("macro")),
        weights=_text("weights", values.get("weights")),
        share=_share("share", values.get("share")),
    )


def views(given: object) -> Views:
    """The rules of other views, from a table."""
    values = _table("views", given, Views)
    weights, shares = (_mapping(name, values.get(name, {})) for name in ("weights", "shares"))
    return Views(
        column=_text("column", values.get("column")),
        weights={name: str(_text(name, column)) for name, column in weights.items()},
        shares={name: number(share) for name, share in shares.items()},
        others=_share("others", values.get("others")),
    )


def checkpoints(given: object) -> CheckpointRule:
    """The looks inside the first pass, from a table."""
    values = dict(_table("checkpoints", given, CheckpointRule))
    for name in ("fractions", "weights"):
        if name in values:
            if not isinstance(values[name], list | tuple):
                raise TypeError(f"{name} = {values[name]!r} is not a list of numbers")
            values[name] = tuple(map(number, values[name]))
    if "complete" in values:
        values["complete"] = number(values["complete"])
    return CheckpointRule(**values)


def _table(name: str, given: object, cls: type) -> Mapping[str, Any]:
    values, known = _mapping(name, given), [each.name for each in fields(cls)]
    unknown = sorted(set(values) - set(known))
    if unknown:
        what = did_you_mean(unknown[0], known) or f"; it has {', '.join(known)}"
        raise TypeError(f"unknown key {quoted(unknown[0])} in {name}{what}")
    return values


def _mapping(name: str, given: object) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise TypeError(f"{name} = {given!r} is not a table")
    return given


def _text(name: str, given: object) -> str | None:
    if given is not None and not (isinstance(given, str) and given):
        raise TypeError(f"{name} = {given!r} is not the name of a column")
    return given


def _share(name: str, given: object) -> float | None:
    try:
        return None if given is None else number(given)
    except TypeError:
        raise TypeError(f"{name} = {given!r} is not a number") from None
