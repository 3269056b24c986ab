"""Values of logs: numbers, names, the value at a path such as ``metadata.dialogue_id``, and kinds of failure."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bbedge.readers.choices import ErrorKind
from bbedge.readers.logs.contract import Value

TIME_IN_NAME = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
"""A time in the name of a file, as a part of a pattern."""
_LONGEST_LISTING = 200
_DEEPEST_LISTING = 20
# Inspect cuts the texts of its summaries at 5,120 characters; its other logs have all of them.
_COMPARED = 4096
# What providers write when they filter a prompt or an answer. Words such as "safety" alone are in other messages too.
_FILTERED = re.compile(
    r"content[ _-]?filter|content[ _-]policy|content management policy|responsible_?ai_?policy|"
    r"usage policies|(?:prompt|response|output) (?:was |is )?blocked|prohibited[ _]content",
    re.IGNORECASE,
)


def digest(*parts: object) -> str:
    """A short hash of values; the same for equal JSON, however it was written.

    >>> digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
    True
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def optional_digest(value: object) -> str | None:
    """A short hash of a value; None if there is none."""
    return None if value is None else digest(value)


def number(value: object) -> Value:
    """A number or a truth value as it is, anything else and NaN as None.

    >>> number(True), number(3), number("3"), number(float("nan"))
    (True, 3.0, None, None)
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        try:
            return None if math.isnan(value) else float(value)
        except OverflowError:
            return math.inf
    return None


def whole(value: object) -> int | None:
    """A count: a finite number that is not negative, rounded; None for anything else.

    >>> whole(3.0), whole(float("inf")), whole(-1), whole("3")
    (3, None, None, None)
    """
    found = number(value)
    return round(found) if found is not None and math.isfinite(found) and found >= 0 else None


def numbers(values: Mapping[str, object]) -> dict[str, Value]:
    """The entries that are one number; an entry that is nothing yet is kept, lists and texts are left out."""
    return {
        str(name): number(value)
        for name, value in values.items()
        if value is None or isinstance(value, bool | int | float)
    }


def text(value: object) -> str | None:
    """A name as text: text itself, or a number; None for anything else.

    >>> text("a"), text(7), text(7.0), text(["a"])
    ('a', '7', '7', None)
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).removesuffix(".0") if isinstance(value, int | float) else None


def value_at(fields: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - any JSON
    """The value at a path of keys joined by dots; None if there is none. Keys may contain dots.

    >>> value_at({"a": {"b.c": 1}, "d": [2]}, "a.b.c"), value_at({"a": 1}, "a.b")
    (1, None)
    >>> value_at({"a.b": {"c": None}, "a": {"b.c": 1}}, "a.b.c") is None
    True
    """
    return next(_values_at(fields, path), None)


def _values_at(fields: Mapping[str, Any], path: str) -> Iterator[Any]:
    """The values that a path may mean, the one with the longest key first; null is a value, too."""
    if path in fields:
        yield fields[path]
    parts = path.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        inner = fields.get(".".join(parts[:cut]))
        if isinstance(inner, Mapping):
            yield from _values_at(inner, ".".join(parts[cut:]))


def field_at(fields: Mapping[str, Any], path: str) -> str | None:
    """The value at a path of keys joined by dots, as text; None if there is none.

    >>> field_at({"doc": {"a.b": {"c": 3}}}, "doc.a.b.c")
    '3'
    """
    return text(value_at(fields, path))


def field_paths(fields: Mapping[str, Any], *, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """All paths whose value is a short text or a number, with the value: what could name a block."""
    for key, value in fields.items():
        if isinstance(value, Mapping):
            if depth < _DEEPEST_LISTING:
                yield from field_paths(value, prefix=f"{prefix}{key}.", depth=depth + 1)
        else:
            name = text(value)
            if name is not None and len(name) <= _LONGEST_LISTING:
                yield f"{prefix}{key}", name


def settings(values: Mapping[str, object]) -> dict[str, str]:
    """Settings as text, for comparing; what is not set is left out."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
        for name, value in values.items()
        if value is not None and value != {} and value != []
    }


def mapping(value: object) -> dict[str, Any]:
    """The value if it is an object, otherwise an empty one: logs of other versions lack parts."""
    return value if isinstance(value, dict) else {}


def array(value: object) -> list[Any]:
    """The value if it is a list, otherwise an empty one."""
    return value if isinstance(value, list) else []


def at(value: object, *keys: str) -> Any:  # noqa: ANN401 - any JSON
    """The value under a key of an object, under a key of that, and so on; None where there is none.

    >>> at({"a": {"b": 1}}, "a", "b"), at({"a": [1]}, "a", "b")
    (1, None)
    """
    for key in keys:
        value = mapping(value).get(key)
    return value


def first_value(fields: Mapping[str, Any], *keys: str) -> Any:  # noqa: ANN401 - any JSON
    """The value under the first of these keys that has one; versions of a tool differ in what they call it."""
    return next((fields[key] for key in keys if fields.get(key) is not None), None)


def several(value: object) -> list[Any]:
    """The value if it is a list, otherwise a list of it: tools write one of something without a list."""
    return value if isinstance(value, list) else [value]


def error_text(found: object, otherwise: str = "error") -> str | None:
    """What an error says, where there is one; ``otherwise`` if it is no text.

    >>> error_text(None), error_text("timeout"), error_text({})
    (None, 'timeout', 'error')
    """
    return None if found is None else text(found) or otherwise


def kind_of_error(message: str | None) -> ErrorKind | None:
    """The kind of an error that ended a sample, if one did: the provider's filter, or else the way to the answer.

    >>> kind_of_error("Error code: 400 - content_filter"), kind_of_error("ReadTimeout"), kind_of_error(None)
    ('refusal', 'infrastructure', None)
    """
    if message is None:
        return None
    return "refusal" if _FILTERED.search(message) else "infrastructure"


def question_digest(*texts: str | None) -> str:
    """A hash of the words of a question in any order: the order of choices may be drawn anew for every run.

    >>> question_digest("Which? (A) two (B) three") == question_digest("Which? (A) three (B) two")
    True
    """
    return digest(sorted(word for text in texts if text for word in text[:_COMPARED].split()))


def answer_text(target: object) -> str | None:
    """The answer as part of a question's content; None for a letter, which names a choice in the order drawn.

    >>> answer_text("B"), answer_text(["Paris", "paris"])
    (None, 'Paris paris')
    """
    texts = [str(part).strip() for part in several(target) if part is not None]
    return " ".join(text for text in texts if not (len(text) == 1 and text.isalpha())) or None
