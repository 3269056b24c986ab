"""Keys of JSON objects, each of which may come once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from bbedge.errors import FormatError
from bbedge.text import listed


def unique_keys(pairs: Sequence[tuple[str, Any]], *, place: Callable[[], str]) -> dict[str, Any]:
    """An object from its keys and values; the json module by itself keeps the last of several values.

    ``place`` is a function because finding the place takes longer than making the object.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated = sorted(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise FormatError(f"{place()}: key {listed(repeated)} appears more than once; remove one of them")
    return found
