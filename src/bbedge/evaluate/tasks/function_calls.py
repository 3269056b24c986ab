"""Function calls in a model's text, ``[name(key='value', ...), ...]``: parsed as Python, never run, and compared.

What can stand in a call is what can be read off without computing: text, numbers, true and false, None, lists and
dictionaries of these. Everything else (operators, comprehensions, calls as values, f-strings, ``*`` and ``**``,
positional arguments) makes the whole answer unreadable, and an unreadable answer is a wrong one.

Calls are the right ones by the rule of ACEBench's published checker:

* As many calls as expected, with the same names, in any order.
* Every required argument is there; an optional one may be left out, but not all arguments of a call that has some; no
  argument may be there that is not expected.
* Text: compared without case, white space and the characters ``, . / - _ * ^``, with one kind of quotation mark. The
  expected text must be contained in the given one (``strings="contain"``, as published) or equal it
  (``strings="equal"``). Text in a list must always be equal.
* Numbers: equal in value, 5 = 5.0. Text is not a number and a number is not text, except inside of objects, where the
  published checker compares what is printed.
* Truth values: true, or the text "true".
* Lists: same length and order. Objects: same keys, in any order.

Two bugs of the published program, as we read it, are not repeated: it never compares the value of a number that is an
argument by itself, and it strips the spaces of an answer before it compares lists inside of objects with expected texts
that still have theirs, so that right answers fail.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Value: TypeAlias = "str | int | float | bool | list[Value] | dict[str, Value] | None"
# Models that answer in JSON spell these without quotes; every other bare word is taken as text.
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}
# The longest right answer of ACEBench has about 1,000 characters. The parser needs time and stack in proportion.
_LONGEST = 50_000
# Python refuses to print very long whole numbers, and hexadecimal ones come through the parser at any length.
_BITS = 256
Strings = Literal["contain", "equal"]
_IGNORED = re.compile(r"[\s,./\-_*^]")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A call that should be made."""

    call: Call
    """Its name and arguments."""
    required: frozenset[str]
    """The arguments that the function cannot do without."""


def calls_match(expected: Sequence[Expected], given: Sequence[Call], *, strings: Strings = "contain") -> bool:
    """Whether the given calls are the expected ones, each matched to one of its own."""
    if len(expected) != len(given) or not expected:
        return not expected and not given
    first, rest = expected[0], expected[1:]
    return any(
        call_matches(first, call, strings=strings)
        and calls_match(rest, [*given[:place], *given[place + 1 :]], strings=strings)
        for place, call in enumerate(given)
    )


def call_matches(expected: Expected, given: Call, *, strings: Strings = "contain") -> bool:
    """Whether one call is another, up to what the rule leaves open."""
    right = expected.call.arguments
    return (
        given.name == expected.call.name
        and expected.required <= given.arguments.keys() <= right.keys()
        and bool(right) == bool(given.arguments)
        and all(_same(right[key], value, strings=strings) for key, value in given.arguments.items())
    )


def _same(right: Value, given: Value, *, strings: Strings, within: bool = False) -> bool:
    """Whether a value is the expected one; ``within`` an object the type of a number or text is free."""
    match right:
        case bool():
            return given is right or (isinstance(given, str) and given == str(right).lower())
        case int() | float():
            if within and isinstance(given, str):
                return given.strip() == str(right)
            return isinstance(given, int | float) and not isinstance(given, bool) and given == right
        case str():
            if within and isinstance(given, int | float) and not isinstance(given, bool):
                return right.strip() == str(given)
            return isinstance(given, str) and _same_text(right, given, strings)
        case list():
            return (
                isinstance(given, list)
                and len(right) == len(given)
                and all(
                    _same_text(one, other, "equal")
                    if isinstance(one, str) and isinstance(other, str)
                    else _same(one, other, strings=strings, within=within)
                    for one, other in zip(right, given, strict=True)
                )
            )
        case dict():
            return (
                isinstance(given, dict)
                and right.keys() == given.keys()
                and all(_same(right[key], value, strings=strings, within=True) for key, value in given.items())
            )
    return given is None


def _same_text(right: str, given: str, strings: Strings) -> bool:
    one, other = _standard(right), _standard(given)
    # Nothing is contained in everything.
    return one == other or (strings == "contain" and one != "" and one in other)


def _standard(text: str) -> str:
    """The text without what does not count.

    >>> _standard("2023-08-01, Don't")
    '20230801don"t'
    """
    return _IGNORED.sub("", text).lower().replace("'", '"')
