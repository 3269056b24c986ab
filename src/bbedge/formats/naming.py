"""Names as they appear in messages and in sorted order.

Names of models and items, and paths, come from files that nobody checked. They are kept as they are in the data; only
what is put into a message is made harmless.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable

# Control, format (bidirectional marks, joiners), surrogate, private, unassigned, line and paragraph separators:
# all of these can hide or reorder the text around them on a terminal.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_DIGITS = re.compile(r"([0-9]+)")
_INTEGER = re.compile(r"([+-]?[0-9]{1,18})(?:\.0+)?")


def shown(name: str, width: int | None = 60) -> str:
    r"""The name with everything invisible escaped, cut in the middle to the width (None: not cut).

    >>> shown("gpt\x1b[31m")
    'gpt\\x1b[31m'
    >>> shown("abcdefghij", 7)
    'abc…hij'
    """
    # A name can be a whole prompt; only its ends can show, so the middle is not worth escaping.
    if width is not None and len(name) > 2 * width:
        name = name[:width] + name[-width:]
    text = "".join(_escaped(character) for character in name)
    if width is None or len(text) <= width:
        return text
    tail = (width - 1) // 2
    return text[: width - 1 - tail] + "…" + text[len(text) - tail :]


def _escaped(character: str) -> str:
    if character.isascii() and character.isprintable():
        return character
    if unicodedata.category(character) not in _UNSAFE:
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def quoted(name: str, width: int | None = 60) -> str:
    """The name as :func:`shown`, in quotes."""
    return f"'{shown(name, width)}'"


def shown_path(path: str | os.PathLike[str]) -> str:
    """A path for a message: escaped like a name, in full, because it must be found again."""
    return shown(os.fspath(path), None)


def listed(names: Iterable[str], *, limit: int = 5) -> str:
    """A few names in quotes, and how many more there are.

    >>> listed(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    every = list(names)
    text = ", ".join(quoted(name) for name in every[:limit])
    return text if len(every) <= limit else f"{text} and {len(every) - limit} more"


def natural_key(name: str) -> tuple[tuple[str | tuple[int, str], ...], str]:
    """A sort key that puts q2 before q10; names that differ only in leading zeros keep a fixed order.

    >>> sorted(["q10", "q2", "q02"], key=natural_key)
    ['q02', 'q2', 'q10']
    """
    parts = _DIGITS.split(name)
    # Digits are compared by length and then as text: int() refuses more than 4,300 of them.
    key = tuple(
        (len(part.lstrip("0")), part.lstrip("0")) if odd else part
        for part, odd in zip(parts, _alternating(len(parts)), strict=True)
    )
    return key, name


def _alternating(length: int) -> list[bool]:
    return [position % 2 == 1 for position in range(length)]


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
