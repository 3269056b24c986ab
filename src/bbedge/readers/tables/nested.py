"""Values inside values: the field at a path such as ``evaluation.score``, of JSON objects and of typed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from bbedge.readers.logs.fields import digest

# Longer texts are prompts and answers, not names.
_LONGEST = 200


def value_at(row: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - any JSON
    """The value at a path of keys joined by dots; None if there is none. Keys may contain dots.

    >>> value_at({"a": {"b.c": 1}, "d": [2]}, "a.b.c"), value_at({"a": 1}, "a.b")
    (1, None)
    """
    if path in row:
        return row[path]
    parts = path.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        inner = row.get(".".join(parts[:cut]))
        if isinstance(inner, Mapping):
            found = value_at(inner, ".".join(parts[cut:]))
            if found is not None:
                return found
    return None


def slim(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The value without long texts and lists: enough to look at it, and small enough to keep many.

    >>> slim({"a": "b" * 300, "c": [1, 2], "d": 0.5})["c"]
    []
    """
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:_LONGEST]} {digest(value)}"
    if isinstance(value, Mapping):
        return {key: slim(inner) for key, inner in value.items()}
    return [] if isinstance(value, list) else value


def expression_at(schema: Mapping[str, Any], path: str) -> pl.Expr | None:
    """The column at a path, the field of a structure where there are dots; None if there is none.

    >>> expression_at({"a": pl.Struct({"b": pl.Int64})}, "a.c") is None
    True
    """
    if path in schema:
        return pl.col(path)
    parts = path.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:cut])
        kind, expression = schema.get(name), pl.col(name)
        fields = _inside(kind, parts[cut:])
        if fields is not None:
            for field in fields:
                expression = expression.struct.field(field)
            return expression
    return None


def _inside(kind: object, parts: Sequence[str]) -> list[str] | None:
    """The names of the fields, one inside the other, that a path leads through."""
    if not parts:
        return []
    if not isinstance(kind, pl.Struct):
        return None
    fields = {field.name: field.dtype for field in kind.fields}
    for cut in range(len(parts), 0, -1):
        name = ".".join(parts[:cut])
        rest = _inside(fields[name], parts[cut:]) if name in fields else None
        if rest is not None:
            return [name, *rest]
    return None
