"""When function calls are the right ones: names and arguments, by the rule of ACEBench's published checker.

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

Two slips of the published program, as we read it, are not repeated: it never compares the value of a number that is an
argument by itself, and it strips the spaces of an answer before it compares lists inside of objects with expected texts
that still have theirs, so that right answers fail.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bbedge.evaluate.tasks.calls import Call, Value

Strings = Literal["contain", "equal"]
_IGNORED = re.compile(r"[\s,./\-_*^]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A call that should be made."""

    call: Call
    """Its name and arguments."""
    required: frozenset[str]
    """The arguments that the function cannot do without."""


def calls_match(expected: Sequence[Expected], given: Sequence[Call], *, strings: Strings = "contain") -> bool:
    """Whether the given calls are the expected ones, each matched to one of its own."""
    if len(expected) != len(given):
        return False
    if not expected:
        return True
    first, rest = expected[0], expected[1:]
    return any(
        call_matches(first, call, strings=strings)
        and calls_match(rest, [*given[:place], *given[place + 1 :]], strings=strings)
        for place, call in enumerate(given)
    )


def call_matches(expected: Expected, given: Call, *, strings: Strings = "contain") -> bool:
    """Whether one call is another, up to what the rule leaves open."""
    right = expected.call.arguments
    if given.name != expected.call.name or not given.arguments.keys() <= right.keys():
        return False
    if not expected.required <= given.arguments.keys() or bool(right) != bool(given.arguments):
        return False
    return all(_same(right[key], value, strings=strings) for key, value in given.arguments.items())


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
            return isinstance(given, list) and _same_lists(right, given, strings=strings, within=within)
        case dict():
            return isinstance(given, dict) and _same_objects(right, given, strings=strings)
    return given is None


def _same_lists(right: Sequence[Value], given: Sequence[Value], *, strings: Strings, within: bool) -> bool:
    if len(right) != len(given):
        return False
    return all(
        _same_text(one, other, "equal")
        if isinstance(one, str) and isinstance(other, str)
        else _same(one, other, strings=strings, within=within)
        for one, other in zip(right, given, strict=True)
    )


def _same_objects(right: Mapping[str, Value], given: Mapping[str, Value], *, strings: Strings) -> bool:
    return right.keys() == given.keys() and all(
        _same(right[key], value, strings=strings, within=True) for key, value in given.items()
    )


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
