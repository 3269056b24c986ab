"""Function calls in a model's text: ``[name(key='value', ...), ...]``, parsed as Python and never run.

What can stand in a call is what can be read off without computing: text, numbers, true and false, None, lists and
dictionaries of these. Everything else (operators, comprehensions, calls as values, f-strings, ``*`` and ``**``,
positional arguments) makes the whole answer unreadable, and an unreadable answer is a wrong one.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = "str | int | float | bool | list[Value] | dict[str, Value] | None"
# Models that answer in JSON spell these without quotes; every other bare word is taken as text.
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}
# The longest right answer of ACEBench has about 1,000 characters. The parser needs time and stack in proportion.
_LONGEST = 50_000
# Python refuses to print very long whole numbers, and hexadecimal ones come through the parser at any length.
_BITS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One function call."""

    name: str
    """The function, with dots where it has them."""
    arguments: Mapping[str, Value]
    """The arguments by name."""


class UnreadableError(ValueError):
    """The text is not a list of function calls."""


def parse_calls(text: str) -> tuple[Call, ...]:
    """The calls of an answer, which must be one bracketed list and nothing else.

    >>> parse_calls("[book(city='Oslo', nights=2)]")
    (Call(name='book', arguments={'city': 'Oslo', 'nights': 2}),)
    """
    if len(text) > _LONGEST:
        raise UnreadableError(f"longer than {_LONGEST} characters")
    # Line breaks inside of quotes are not Python; spaces do not count when texts are compared.
    line = " ".join(text.split())
    try:
        with warnings.catch_warnings():
            # A backslash in a model's text is no concern of ours.
            warnings.simplefilter("ignore")
            body = ast.parse(line, mode="eval").body
        if not isinstance(body, ast.List):
            raise UnreadableError("not a list in square brackets")
        return tuple(_call(element) for element in body.elts)
    except UnreadableError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        # Memory: what the parser says when brackets or signs are nested too deeply for its stack.
        raise UnreadableError(f"not Python: {type(error).__name__}") from None


def _call(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call):
        raise UnreadableError("an entry of the list is not a call")
    if node.args:
        raise UnreadableError("an argument without a name")
    arguments: dict[str, Value] = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in arguments:
            raise UnreadableError("arguments given as ** or twice")
        arguments[keyword.arg] = _value(keyword.value)
    return Call(name=_name(node.func), arguments=arguments)


def _name(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise UnreadableError("a call of something that is not a name")
    return ".".join(reversed([*parts, node.id]))


def _value(node: ast.expr) -> Value:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as constant):
            if isinstance(constant, int) and constant.bit_length() > _BITS:
                raise UnreadableError("a number that is too long")
            return constant
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=ast.Constant(value=int() | float() as number)) if (
            not isinstance(number, bool)
        ):
            return -number if isinstance(sign, ast.USub) else number
        case ast.Name(id=word):
            return _WORDS.get(word, word)
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_value(element) for element in elements]
        case ast.Dict(keys=keys, values=values):
            return {_key(key): _value(value) for key, value in zip(keys, values, strict=True)}
    raise UnreadableError(f"a value that would have to be computed: {type(node).__name__}")


def _key(node: ast.expr | None) -> str:
    key = None if node is None else _value(node)
    if not isinstance(key, str):
        raise UnreadableError("a key that is not text")
    return key
