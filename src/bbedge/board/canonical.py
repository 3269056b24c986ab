"""Frozen classes as canonical JSON, and back: nothing but what the types of their fields allow is ever read.

A class may have several forms: a field that is marked by its metadata is part of some of them only, and has its default
in the others.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from bbedge.errors import BbedgeError, BoardError
from bbedge.text import quoted

LARGEST = 2**31 - 1
"""The largest whole number: what an integer column of PostgreSQL holds."""

HASH = re.compile(r"[0-9a-f]{64}")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_CLAIM = re.compile(r"0|[1-9][0-9]{0,9}")

Convert = Callable[[Any], Any]


def _same(value: object) -> object:
    return value


@dataclass(frozen=True, slots=True)
class Codec:
    """How a value is read from JSON and written to it."""

    allowed: Callable[[Any], bool]
    """Whether what the JSON holds may stand there."""
    convert: Convert = _same
    """The value of what the JSON holds."""
    write: Convert = _same
    """What stands for a value in JSON."""

    def read(self, value: object) -> Any:  # noqa: ANN401 - of the type that the codec is for
        """The value, or ``ValueError``."""
        if not self.allowed(value):
            raise ValueError
        return self.convert(value)


def is_text(value: object) -> bool:
    """Whether it is a text that can be stored: without an unpaired surrogate."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_number(value: object) -> bool:
    return (type(value) is float and math.isfinite(value)) or (type(value) is int and abs(value) <= LARGEST)


def _is_dict(value: object) -> bool:
    return isinstance(value, dict)


def _whole(least: int) -> Codec:
    return Codec(lambda value: type(value) is int and least <= value <= LARGEST)


def _spelled(form: re.Pattern[str], convert: Convert = _same, write: Convert = _same) -> Codec:
    return Codec(lambda value: isinstance(value, str) and form.fullmatch(value) is not None, convert, write)


Count = Annotated[int, _whole(0)]
Ordinal = Annotated[int, _whole(1)]
Number = Annotated[float, Codec(_is_number)]
Name = Annotated[str, Codec(lambda value: is_text(value) and value != "")]
Digest = Annotated[str, _spelled(HASH)]
ClaimKey = Annotated[int, _spelled(_CLAIM, int, str)]
Bits = Annotated[bytes, _spelled(_BASE64, base64.b64decode, lambda value: base64.b64encode(value).decode("ascii"))]
Json = Annotated[Mapping[str, object], Codec(_is_dict)]


SINCE_2: Mapping[str, object] = {"since": 2}
"""Marks a field that form 1 lacks."""
UNTIL_1: Mapping[str, object] = {"until": 1}
"""Marks a field that only form 1 has."""
FLAT: Mapping[str, object] = {"flat": True}
"""Marks a group of fields, whose keys stand among those of the class that has it."""


class _Key(NamedTuple):
    """A field in one of the forms."""

    name: str
    codec: Codec
    group: Any
    """The class whose keys stand in its place, or ``None``."""
    optional: bool
    """Whether such a group may be absent."""


@cache
def _keys(cls: Any, form: int) -> tuple[_Key, ...]:  # noqa: ANN401 - a dataclass
    hints = get_type_hints(cls, include_extras=True)
    found = []
    for each in fields(cls):
        if each.metadata.get("since", form) <= form <= each.metadata.get("until", form):
            hint = hints[each.name]
            kinds = get_args(hint) or (hint,)
            group = kinds[0] if each.metadata.get("flat") else None
            found.append(_Key(each.name, _codec(hint), group, type(None) in kinds))
    return tuple(found)


def names(cls: Any, form: int) -> frozenset[str]:  # noqa: ANN401 - a dataclass
    """The keys of a class in a form, with those of its groups."""
    found: set[str] = set()
    for key in _keys(cls, form):
        found |= {key.name} if key.group is None else names(key.group, form)
    return frozenset(found)


def read_fields(cls: Any, content: Mapping[str, object], form: int) -> tuple[dict[str, Any], set[str]]:  # noqa: ANN401
    """The values of the fields of a class, and the keys that they come from; ``BoardError`` says what is wrong."""
    values: dict[str, Any] = {}
    used: set[str] = set()
    for name, codec, group, optional in _keys(cls, form):
        if group is None:
            values[name] = _read_key(name, codec, content)
            used.add(name)
        elif not optional or _keys(group, form)[0].name in content:
            inner, more = read_fields(group, content, form)
            values[name] = group(**inner)
            used |= more
    return values, used


def _read_key(name: str, codec: Codec, content: Mapping[str, object]) -> object:
    if name not in content:
        raise BoardError(f"{quoted(name)} is missing")
    try:
        return codec.read(content[name])
    except BbedgeError as error:
        raise BoardError(str(error)) from error
    except ValueError as error:
        raise BoardError(f"{quoted(name)} is not what belongs there") from error


def written(value: Any, form: int) -> dict[str, object]:  # noqa: ANN401 - a dataclass
    """The keys of a value in a form."""
    plain: dict[str, object] = {}
    for name, codec, group, _ in _keys(value.__class__, form):
        part = getattr(value, name)
        if group is None:
            plain[name] = codec.write(part)
        elif part is not None:
            plain |= written(part, form)
    return plain


def canonical(value: object) -> str:
    """The one text that stands for a JSON value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def parsed(text: str) -> dict[str, Any]:
    """The JSON object that a canonical text stands for; ``BoardError`` if it is any other text."""
    try:
        content = json.loads(text)
        if canonical(content) != text:
            raise ValueError("not in canonical form, or a key comes twice")
    except RecursionError as error:
        raise BoardError("its content is not what bbedge writes (nested too deeply)") from error
    except ValueError as error:
        raise BoardError(f"its content is not what bbedge writes ({error})") from error
    if not isinstance(content, dict):
        raise BoardError("its content is not a JSON object")
    return content


@cache
def _codec(hint: Any) -> Codec:  # noqa: ANN401 - a type
    """The codec of a type, composed of those of its parts."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return next(each for each in hint.__metadata__ if isinstance(each, Codec))
    if origin is Literal:
        return Codec(lambda value: value in arguments)
    if origin in (Union, UnionType):
        part = _codec(arguments[0])
        return Codec(
            lambda value: value is None or part.allowed(value),
            lambda value: None if value is None else part.convert(value),
            lambda value: None if value is None else part.write(value),
        )
    if origin is tuple:
        part = _codec(arguments[0])
        return Codec(
            lambda value: isinstance(value, list),
            lambda value: tuple(map(part.read, value)),
            lambda value: list(map(part.write, value)),
        )
    if origin is Mapping:
        key, part = map(_codec, arguments)
        return Codec(
            _is_dict,
            lambda value: {key.read(name): part.read(entry) for name, entry in value.items()},
            lambda value: {key.write(name): part.write(entry) for name, entry in value.items()},
        )
    if is_dataclass(hint):
        return _record(hint)
    return Codec(is_text if hint is str else lambda value: isinstance(value, hint))


def _record(cls: Any) -> Codec:  # noqa: ANN401 - a dataclass
    parts = {name: _codec(hint) for name, hint in get_type_hints(cls, include_extras=True).items()}
    return Codec(
        lambda value: isinstance(value, dict) and value.keys() == parts.keys(),
        lambda value: cls(**{name: part.read(value[name]) for name, part in parts.items()}),
        lambda value: {name: part.write(getattr(value, name)) for name, part in parts.items()},
    )
