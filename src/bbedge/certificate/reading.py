"""Reads a document: JSON that any program may have written, converted into the records of the definition."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import inspect

from bbedge.certificate.shape import Document
from bbedge.certificate.values import LARGEST, LARGEST_COUNT, Matrix
from bbedge.errors import FormatError
from bbedge.records.codec import check_file_version
from bbedge.text import quoted, shown_path

MOST_BYTES = 1 << 28
"""A certificate of 500 models, the most that list their pairs, has about 50 million."""
MOST_DEPTH = 16
"""So deep may lists and records be nested; a certificate needs six levels."""

_PLACE = re.compile(r"(?P<what>.*?)(?: - at (?:`key` in )?`\$(?P<path>.*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_NOUNS: dict[type[inspect.Type], tuple[str, str]] = {
    inspect.BoolType: ("true or false", "answers"),
    inspect.CustomType: ("a matrix of numbers", "matrices of numbers"),
    inspect.DictType: ("a record", "records"),
    inspect.FloatType: ("a number", "numbers"),
    inspect.IntType: ("a count", "counts"),
    inspect.StrType: ("a text", "texts"),
    inspect.StructType: ("a record", "records"),
    inspect.TupleType: ("a range", "pairs"),
    inspect.VarTupleType: ("a list", "lists"),
}


def refusal(what: str, *, source: str) -> FormatError:
    """What to raise about a file that is no certificate."""
    return FormatError(f"{source}: not a certificate: {what}; expected what bbedge certify --json writes")


def read_content(path: Path) -> dict[str, Any]:
    """The JSON of a certificate file as plain values."""
    name = shown_path(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FormatError(f"{name}: not a certificate: larger than {MOST_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FormatError(f"{name}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: not a certificate: not a text in UTF-8 ({error})") from error
    return parsed(text, source=name)


def read_document(content: Mapping[str, Any], *, source: str) -> Document:
    """Plain values as a document; a value of the wrong type is refused with its place and what belongs there."""
    if "bbedge" not in content:
        raise refusal("'bbedge' is missing", source=source)
    check_file_version(content.get("version"), what=f"{source}: the certificate", kind=FormatError)
    try:
        return msgspec.convert(dict(content), Document, dec_hook=_matrix)
    except msgspec.ValidationError as error:
        raise refusal(_problem(str(error)), source=source) from error
    except UnicodeEncodeError as error:
        raise refusal("a key or a choice has an unpaired surrogate", source=source) from error
    except OverflowError as error:  # of old versions of msgspec, which do not say where
        raise refusal("a number is not finite", source=source) from error


def _matrix(_: type, rows: object) -> Matrix:
    """A list of rows as an array; null becomes NaN."""
    if not isinstance(rows, list):
        raise ValueError("is not a list")
    if not all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows):
        raise ValueError("is not a matrix of numbers")
    values = [value for row in rows for value in row]
    if not {type(value) for value in values} <= {int, float, type(None)}:
        raise ValueError("is not a matrix of numbers")
    if any(type(value) is int and abs(value) > LARGEST_COUNT for value in values):
        raise ValueError("has a number that is not finite")
    array = np.array(values, dtype=np.float64)
    if np.isinf(array).any() or np.isnan(array).sum() != values.count(None):
        raise ValueError("has a number that is not finite")
    return array.reshape(len(rows), len(rows[0]) if rows else 0)


def _problem(message: str) -> str:
    """The place that a message of msgspec names, and what the definition says of it.

    Only the place is taken from the message. What starts with a small letter or a name was raised by a record itself.
    """
    found = _PLACE.fullmatch(message)
    what, path = (found["what"], found["path"] or "") if found else (message, "")
    missing = _MISSING.fullmatch(what)
    if missing:
        return f"{quoted(missing[1])} is missing{_inside(path)}"
    holder, _, key = re.sub(r"(\[[^]]*\])+$", "", path).rpartition(".")
    if what.startswith("'"):
        return f"{what}{_inside(path)}"
    if not what[:1].isupper():
        return f"{quoted(key)} {what}{_inside(holder)}"
    kind = _kind(tuple(re.findall(r"\.(\w+)", path)))
    return f"{quoted(key or 'document')} is not {_noun(kind) if kind else 'what it should be'}{_inside(holder)}"


def _inside(path: str) -> str:
    return f" in {quoted(path.removeprefix('.'))}" if path else ""


@cache
def _kind(keys: tuple[str, ...]) -> inspect.Type | None:
    """The type of a key of the definition, by the names that lead to it."""
    kind: inspect.Type | None = inspect.type_info(Document)
    for key in keys:
        while not isinstance(kind, inspect.StructType):
            kind = kind and _within(kind)
            if kind is None:
                return None
        kind = next((field.type for field in kind.fields if field.encode_name == key), None)
    return kind


def _within(kind: inspect.Type) -> inspect.Type | None:
    if isinstance(kind, inspect.Metadata):
        return kind.type
    if isinstance(kind, inspect.UnionType):
        return next(each for each in kind.types if not isinstance(each, inspect.NoneType))
    if isinstance(kind, inspect.VarTupleType):
        return kind.item_type
    return None


def _noun(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.UnionType | inspect.Metadata):
        return _noun(_within(kind) or kind)
    if isinstance(kind, inspect.LiteralType):
        return "one of " + ", ".join(str(value) for value in kind.values)
    if isinstance(kind, inspect.VarTupleType):
        return f"a list of {_NOUNS.get(type(kind.item_type), ('', 'values'))[1]}"
    noun = _NOUNS.get(type(kind), ("what it should be", ""))[0]
    if isinstance(kind, inspect.StrType) and kind.pattern:
        return f"{noun} of the form {kind.pattern}"
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        limits = (("above", kind.gt), ("of at least", kind.ge), ("below", kind.lt))
        return " ".join(
            [noun, *(f"{word} {limit:g}" for word, limit in limits if limit is not None and limit > -LARGEST)]
        )
    return noun


def parsed(text: str, *, source: str) -> dict[str, Any]:
    """The record that a text of JSON holds; keys that come twice, endless numbers and deep nesting are refused."""

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
