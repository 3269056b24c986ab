"""Texts for tables that people open in a spreadsheet, which would run some of them as formulas."""

from __future__ import annotations

_FORMULA = ("=", "+", "-", "@")


def cell(text: str) -> str:
    r"""The text in plain ASCII, escaped like a Python text, and with an apostrophe before what would be a formula.

    Numbers need none of this: write them as they are.

    >>> cell("=1+1"), cell(" @sum"), cell("a-b"), cell("\t=1")
    ("'=1+1", "' @sum", 'a-b', "'\\t=1")
    """
    escaped = text.encode("unicode_escape").decode("ascii")
    # White space in front does not keep a spreadsheet from running a formula; nor may a program undo the escape first.
    runs = text.lstrip().startswith(_FORMULA) or text.startswith(("\t", "\r"))
    return f"'{escaped}" if runs else escaped
