"""JSON from outside as plain values: no key twice, no number that is none, no deep nesting."""

from __future__ import annotations

import json
import math
from typing import Any

from bbedge.errors import FormatError
from bbedge.text import quoted

MOST_DEPTH = 16
"""So deep may lists and records be nested; a certificate needs six levels."""


def parsed(text: str, *, source: str) -> dict[str, Any]:
    """The record that a text of JSON holds."""

    def record(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            keys = [key for key, _ in pairs]
            again = next(key for key in keys if keys.count(key) > 1)
            raise FormatError(f"{source}: not a certificate: {quoted(again)} comes twice in one record")
        return values

    try:
        document = json.loads(text, object_pairs_hook=record, parse_float=_finite, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{source}: not a certificate: no JSON ({error})") from error
    if not isinstance(document, dict):
        raise FormatError(f"{source}: not a certificate; expected what bbedge certify --json writes")
    level: list[Any] = [document]
    for _ in range(MOST_DEPTH):
        inside = [value for each in level for value in (each.values() if isinstance(each, dict) else each)]
        level = [value for value in inside if isinstance(value, dict | list)]
        if not level:
            return document
    raise FormatError(f"{source}: not a certificate: lists and records are nested more than {MOST_DEPTH} deep")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large")
    return value


def _refused(text: str) -> float:
    raise ValueError(f"{text} is not a number")
