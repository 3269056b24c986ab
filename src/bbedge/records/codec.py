"""JSON and TOML to records and back: the one parser, the one check of keys that come twice, the one set of messages.

JSON is written and parsed by :mod:`json`, because msgspec writes some numbers in another form and takes the last of two
equal keys without a word. msgspec checks types and bounds; its messages are used only for the place that they name.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from numbers import Integral, Real
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

from bbedge.errors import Argument, BbedgeError, DomainError, FormatError
from bbedge.records.values import LARGEST_STORED, NOT_BLANK
from bbedge.text import did_you_mean, listed, quoted, shown

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

FILE_VERSION: Final = 1
"""What every file says of its keys and their meaning. From the first release on, version n + 1 reads files of n."""

MOST_DEPTH = 16
"""So deep may lists and records be nested; a certificate needs six levels."""


def canonical(value: object) -> str:
    """The one text that stands for a JSON value: keys in order, ASCII, no spaces.

    >>> canonical({"b": 1, "a": [0.1, None]})
    '{"a":[0.1,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def plain(record: object) -> Any:  # noqa: ANN401 - any JSON
    """A record as plain values; bytes become base64, and what is not set is left out."""
    return msgspec.to_builtins(record, str_keys=True)


def to_json(record: object) -> str:
    """A record as canonical JSON."""
    return canonical(plain(record))


def check_file_version(version: object, *, what: str, kind: type[BbedgeError]) -> None:
    """Refuse a file whose version is not the one that is read; ``what`` is how the message, a ``kind``, calls it."""
    if version is None:
        raise kind(
            f"{what} states no version, so its meaning is not known; bbedge writes version {FILE_VERSION}. Restore it "
            "from a copy, or make it again"
        )
    if type(version) is not int or version != FILE_VERSION:
        raise kind(
            f"{what} is of version {shown(str(version), 20)}, and this bbedge reads version {FILE_VERSION}; use the "
            "version of bbedge that wrote it"
        )


def unique_keys(pairs: Sequence[tuple[str, Any]], *, place: Callable[[], str]) -> dict[str, Any]:
    """An object from its keys and values; the json module by itself keeps the last of several values.

    ``place`` is a function because finding the place takes longer than making the object.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = sorted({key for key in keys if keys.count(key) > 1})
        raise FormatError(f"{place()}: key {listed(repeated)} appears more than once; remove one of them")
    return found


def parse_json(text: str | bytes, *, source: str, what: str = "JSON", depth: int = MOST_DEPTH) -> Any:  # noqa: ANN401
    """The value that a text of JSON stands for; ``what`` is what the file should be.

    Refuses keys that come twice, numbers that are not finite, and deep nesting, as ``FormatError``.
    """

    def record(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        return unique_keys(pairs, place=lambda: f"{source}: not {what}")

    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        value = json.loads(text, object_pairs_hook=record, parse_float=_finite, parse_constant=_refused)
    except FormatError:
        raise
    except RecursionError as error:
        raise FormatError(f"{source}: not {what}: nested too deeply") from error
    except ValueError as error:  # also numbers of thousands of digits, and text that is not UTF-8
        raise FormatError(f"{source}: not {what}: no JSON ({error})") from error
    level = [value]
    for _ in range(depth):
        level = [inner for each in level if isinstance(each, dict | list) for inner in _inside(each)]
        if not level:
            return value
    raise FormatError(f"{source}: not {what}: lists and records are nested more than {depth} deep")


def _inside(value: Mapping[str, Any] | Sequence[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, Mapping) else value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large")
    return value


def _refused(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def parse_toml(text: str, *, source: str) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(text)
    # Beside what is not TOML: integers of thousands of digits, and arrays nested thousands deep.
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{source}: not a TOML file ({error})") from error


def convert(
    values: object,
    kind: type[T],
    *,
    source: str,
    error: type[BbedgeError] = FormatError,
    hook: Callable[[type, Any], Any] | None = None,
) -> T:
    """Plain values as a record; a value of the wrong type is refused with its place and what belongs there.

    ``source`` begins the message, an ``error``. ``hook`` makes values of types that msgspec does not know.

    >>> from bbedge.records.notes import Note
    >>> convert({"kind": "seed", "text": 7}, Note, source="a.json")
    Traceback (most recent call last):
    ...
    bbedge.errors.FormatError: a.json: 'text' = 7 is not a text
    """
    try:
        return msgspec.convert(values, kind, str_keys=True, dec_hook=hook)
    except msgspec.ValidationError as problem:
        if isinstance(problem.__cause__, BbedgeError):  # a record said itself what is wrong
            raise type(problem.__cause__)(f"{source}: {problem.__cause__}") from problem
        raise error(f"{source}: {_problem(str(problem), values, kind)}") from problem
    except UnicodeEncodeError as problem:
        raise error(f"{source}: a key or a choice has an unpaired surrogate") from problem
    except (OverflowError, SystemError) as problem:  # of old versions of msgspec, which do not say where
        raise error(f"{source}: a number is not finite") from problem


def record_from_arguments(kind: type[S], values: Mapping[str, Any]) -> S:
    """Arguments of a call, or options of a command, as a record; a refusal names the argument and what it may be.

    >>> from bbedge.records.values import Part
    >>> record_from_arguments(msgspec.defstruct("Shares", [("margin_share", Part)]), {"margin_share": 2})
    Traceback (most recent call last):
    ...
    bbedge.errors.DomainError: margin_share=2 is not allowed; choose a number of at least 0 and below 1
    """
    known = kind.__struct_fields__
    for name in values:
        if name not in known:
            raise TypeError(f"unexpected keyword argument {name!r}{did_you_mean(name, known)}")
    given = {name: _plain_number(value) for name, value in values.items()}
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as problem:
        if isinstance(problem.__cause__, BbedgeError):  # a record said itself what is wrong
            raise problem.__cause__ from None
        steps = _steps(str(problem))
        if not steps:
            raise DomainError(_problem(str(problem), given, kind)) from problem
        name = steps[0][0]
        allowed = _noun(_kind(kind, steps[:1]))
        raise DomainError(Argument(name, given[name]), f" is not allowed; choose {allowed}") from problem


def _plain_number(value: object) -> object:
    """A number of NumPy as one of Python."""
    if type(value) not in (str, float, int, bool, tuple) and isinstance(value, Real):
        return int(value) if isinstance(value, Integral) else float(value)
    return value


_PLACE = re.compile(r"(?P<what>.*?)(?: - at (?:`key` in )?`\$(?P<path>.*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_NOUNS: dict[type, tuple[str, str]] = {
    inspect.BoolType: ("true or false", "answers"),
    inspect.BytesType: ("bytes in base64", "bytes in base64"),
    inspect.CustomType: ("a matrix of numbers", "matrices of numbers"),
    inspect.DictType: ("a record", "records"),
    inspect.FloatType: ("a number", "numbers"),
    inspect.IntType: ("a whole number", "whole numbers"),
    inspect.StrType: ("a text", "texts"),
    inspect.StructType: ("a record", "records"),
    inspect.DataclassType: ("a record", "records"),
    inspect.TupleType: ("a pair", "pairs"),
    inspect.VarTupleType: ("a list", "lists"),
    inspect.ListType: ("a list", "lists"),
}


def _problem(message: str, values: object, kind: type) -> str:
    """The place that a message of msgspec names, what is there, and what the definition says of it.

    Only the place is taken from the message. What starts with a small letter or a name was raised by a record itself.
    """
    found = _PLACE.fullmatch(message)
    what, path = (found["what"], found["path"] or "") if found else (message, "")
    if missing := _MISSING.fullmatch(what):
        return f"{quoted(missing[1])} is missing{_in(path)}"
    steps = _steps(message)
    if unknown := _UNKNOWN.fullmatch(what):
        known = list(_fields(_kind(kind, steps)))
        near = did_you_mean(unknown[1], known) or f"; known are {', '.join(known)}"
        return f"unknown key {quoted(unknown[1])}{_in(path)}{near}"
    holder, _, key = re.sub(r"(\[[^]]*\])+$", "", path).rpartition(".")
    if what.startswith("'"):
        return f"{what}{_in(path)}"
    if not what[:1].isupper():
        return f"{quoted(key)} {what}{_in(holder)}" if key else what
    called = f"{quoted(key or 'the whole')}{_given(values, steps)}"
    noun = "a finite number" if called.endswith((" = inf", " = -inf", " = nan")) else _noun(_kind(kind, steps))
    return f"{called} is not {noun}{_in(holder)}"


def _steps(message: str) -> list[tuple[str, str]]:
    """The keys and positions that lead to the place that a message of msgspec names."""
    found = _PLACE.fullmatch(message)
    return re.findall(r"\.(\w+)|(\[[^]]*\])", (found and found["path"]) or "")


def _in(path: str) -> str:
    return f" in {quoted(path.removeprefix('.'))}" if path else ""


def _given(values: object, steps: Iterable[tuple[str, str]]) -> str:
    """What is at a place, if it is short, without credentials; nothing where the place is any entry of a record."""
    for key, index in steps:
        if key and isinstance(values, Mapping) and key in values:
            values = values[key]
        elif index[1:-1].isdigit() and isinstance(values, Sequence) and int(index[1:-1]) < len(values):
            values = values[int(index[1:-1])]
        else:
            return ""
    from bbedge.credentials import redacted  # needed for messages alone

    return "" if isinstance(values, Mapping | list | tuple) else f" = {shown(redacted(repr(values)))}"


def _kind(kind: type, steps: Iterable[tuple[str, str]]) -> inspect.Type | None:
    """The type at a place of the definition."""
    at: inspect.Type | None = _type_info(kind)
    for key, index in steps:
        at = _entry(_bare(at)) if index else _fields(at).get(key)
    return at


_type_info = cache(inspect.type_info)


def _bare(kind: inspect.Type | None) -> inspect.Type | None:
    """The type without what surrounds it: metadata, and other choices; the last choice is the one that has parts."""
    while isinstance(kind, inspect.Metadata | inspect.UnionType):
        kind = kind.type if isinstance(kind, inspect.Metadata) else _choices(kind)[-1]
    return kind


def _choices(kind: inspect.Type) -> list[inspect.Type]:
    if not isinstance(kind, inspect.UnionType):
        return [kind]
    return [each for each in kind.types if not isinstance(each, inspect.NoneType)]


def _entry(kind: inspect.Type | None) -> inspect.Type | None:
    if isinstance(kind, inspect.VarTupleType | inspect.ListType):
        return kind.item_type
    if isinstance(kind, inspect.TupleType):
        return kind.item_types[0]
    return kind.value_type if isinstance(kind, inspect.DictType) else None


def _fields(kind: inspect.Type | None) -> dict[str, inspect.Type]:
    """The types of a record's fields, by their names in a file; none if it is not a record."""
    record = _bare(kind)
    if not isinstance(record, inspect.StructType | inspect.DataclassType):
        return {}
    return {field.encode_name: field.type for field in record.fields}


def _noun(kind: inspect.Type | None) -> str:
    if isinstance(kind, inspect.Metadata):
        examples = (kind.extra_json_schema or {}).get("examples")
        return f"{_NOUNS[type(kind.type)][0]} such as {' or '.join(examples)}" if examples else _noun(kind.type)
    if isinstance(kind, inspect.UnionType):
        return " or ".join(map(_noun, _choices(kind)))
    if isinstance(kind, inspect.LiteralType):
        return "one of " + ", ".join(str(value) for value in kind.values)
    if isinstance(kind, inspect.VarTupleType | inspect.ListType):
        entries = [(_bare(each), _NOUNS.get(type(_bare(each)), ("", "values"))[1]) for each in _choices(kind.item_type)]
        noun = f"a list of {' or '.join(f'{noun} {_limits(each)}'.strip() for each, noun in entries)}"
        return f"{noun} with at least one entry" if kind.min_length else noun
    noun = _NOUNS.get(type(kind), ("what belongs there", ""))[0] if kind else "what belongs there"
    if isinstance(kind, inspect.StrType) and kind.pattern not in (None, NOT_BLANK):
        return f"{noun} of the form {kind.pattern}"
    if isinstance(kind, inspect.StrType) and (kind.min_length or kind.pattern):
        return f"{noun} with a character"
    return f"{noun} {_limits(kind)}".strip()


def _limits(kind: inspect.Type | None) -> str:
    """The bounds of a number in words; empty where it has none."""
    if not isinstance(kind, inspect.IntType | inspect.FloatType):
        return ""
    limits = (("above", kind.gt), ("of at least", kind.ge), ("below", kind.lt), ("of at most", kind.le))
    words = [f"{word} {limit:g}" for word, limit in limits if limit is not None and abs(limit) < LARGEST_STORED]
    return " and ".join(words)
