"""Events and designs of a board as canonical JSON, and back."""

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

from bbedge.board.passes import CheckpointRule
from bbedge.board.views import Headline, Views
from bbedge.errors import BbedgeError, BoardError
from bbedge.text import did_you_mean, quoted

LARGEST = 2**31 - 1
"""The largest whole number: what an integer column of PostgreSQL holds."""

HASH = re.compile(r"[0-9a-f]{64}")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_CLAIM = re.compile(r"0|[1-9][0-9]{0,9}")

FLAT: Mapping[str, object] = {"flat": True}
"""Marks a field that is a class of its own, with its keys among those of the class that has it."""


def _same(value: object) -> object:
    return value


@dataclass(frozen=True, slots=True)
class Codec:
    """How values of a type are read from JSON and written to it."""

    allowed: Callable[[Any], bool]
    """Whether a JSON value is one of them."""
    convert: Callable[[Any], Any] = _same
    """From JSON."""
    write: Callable[[Any], Any] = _same
    """To JSON."""

    def read(self, value: object) -> Any:  # noqa: ANN401 - a value of the type
        """From JSON; ``ValueError`` if it is not allowed."""
        if not self.allowed(value):
            raise ValueError
        return self.convert(value)


def is_text(value: object) -> bool:
    """Whether it is text without unpaired surrogates, which can be stored."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _is_number(value: object) -> bool:
    return (type(value) is float and math.isfinite(value)) or (type(value) is int and abs(value) <= LARGEST)


def _is_dict(value: object) -> bool:
    return isinstance(value, dict)


def _matches(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


Count = Annotated[int, Codec(lambda value: type(value) is int and 0 <= value <= LARGEST)]
Ordinal = Annotated[int, Codec(lambda value: type(value) is int and 1 <= value <= LARGEST)]
Seed = Annotated[int, Codec(lambda value: type(value) is int and 0 <= value < 2**63)]
Number = Annotated[float, Codec(_is_number)]
Name = Annotated[str, Codec(lambda value: is_text(value) and value != "")]
Digest = Annotated[str, Codec(_matches(HASH))]
ClaimKey = Annotated[int, Codec(_matches(_CLAIM), int, str)]
Bits = Annotated[bytes, Codec(_matches(_BASE64), base64.b64decode, lambda bits: base64.b64encode(bits).decode("ascii"))]
Json = Annotated[Mapping[str, object], Codec(_is_dict)]


class _Key(NamedTuple):
    """A field of a class."""

    name: str
    codec: Codec
    group: Any
    """The class whose keys stand in its place, or ``None``."""
    optional: bool
    """Whether these keys may be absent."""


@cache
def _keys(cls: Any) -> tuple[_Key, ...]:  # noqa: ANN401 - a dataclass
    hints, found = get_type_hints(cls, include_extras=True), []
    for each in fields(cls):
        hint = hints[each.name]
        parts = get_args(hint) or (hint,)
        found.append(_Key(each.name, _codec(hint), parts[0] if "flat" in each.metadata else None, type(None) in parts))
    return tuple(found)


def read_fields(cls: Any, content: Mapping[str, object]) -> tuple[dict[str, Any], set[str]]:  # noqa: ANN401
    """The values of the fields of a class, and the keys that they come from; ``BoardError`` says what is wrong."""
    values: dict[str, Any] = {}
    used: set[str] = set()
    for name, codec, group, optional in _keys(cls):
        if group is None:
            values[name] = _read_key(name, codec, content)
            used.add(name)
        elif not optional or _keys(group)[0].name in content:
            inner, more = read_fields(group, content)
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


def written(value: Any) -> dict[str, object]:  # noqa: ANN401 - a dataclass
    """The keys and JSON values of a value."""
    plain: dict[str, object] = {}
    for name, codec, group, _ in _keys(value.__class__):
        part = getattr(value, name)
        if group is None:
            plain[name] = codec.write(part)
        elif part is not None:
            plain |= written(part)
    return plain


def canonical(value: object) -> str:
    """The one text that stands for a JSON value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def parsed(text: str) -> dict[str, Any]:
    """The JSON object that a canonical text stands for; any other text raises ``BoardError``."""
    try:
        content = json.loads(text)
        problem = None if canonical(content) == text else "not in canonical form, or a key comes twice"
    except (RecursionError, ValueError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    if problem is not None:
        raise BoardError(f"its content is not what bbedge writes ({problem})")
    if not isinstance(content, dict):
        raise BoardError("its content is not a JSON object")
    return content


@cache
def _codec(hint: Any) -> Codec:  # noqa: ANN401 - a type
    """The codec of a type, made from those of its parts."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return next(each for each in arguments if isinstance(each, Codec))
    if origin is Literal:
        return Codec(lambda value: value in arguments)
    if origin in (Union, UnionType):  # of a type and None
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
        cls: Any = hint
        parts = {name: _codec(each) for name, each in get_type_hints(hint, include_extras=True).items()}
        return Codec(
            lambda value: isinstance(value, dict) and value.keys() == parts.keys(),
            lambda value: cls(**{name: each.read(value[name]) for name, each in parts.items()}),
            lambda value: {name: each.write(getattr(value, name)) for name, each in parts.items()},
        )
    return Codec(is_text if hint is str else lambda value: isinstance(value, hint))


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
