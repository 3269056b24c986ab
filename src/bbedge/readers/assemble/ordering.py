"""Names compared: natural order, numbers written as text, spellings of one name."""

from __future__ import annotations

import re
import unicodedata

_DIGITS = re.compile(r"([0-9]+)")
_INTEGER = re.compile(r"([+-]?[0-9]{1,18})(?:\.0+)?")


def natural_key(name: str) -> tuple[tuple[str | tuple[int, str], ...], str]:
    """A sort key that puts q2 before q10; names that differ only in leading zeros keep a fixed order.

    >>> sorted(["q10", "q2", "q02"], key=natural_key)
    ['q02', 'q2', 'q10']
    """
    parts: list[str | tuple[int, str]] = [*_DIGITS.split(name)]
    # Text and digits alternate. Digits are compared by length and then as text: int() refuses more than 4,300.
    parts[1::2] = [(len(digits), digits) for digits in (part.lstrip("0") for part in _DIGITS.findall(name))]
    return tuple(parts), name


def whole_number(label: str) -> int | None:
    """The integer that the label writes, also as 3.0, or None.

    >>> whole_number("07"), whole_number("3.0"), whole_number("a")
    (7, 3, None)
    """
    match = _INTEGER.fullmatch(label)
    return int(match.group(1)) if match else None


def folded(name: str) -> str:
    """What two spellings of one name have in common: no case, no Unicode variants, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split())
