"""Tables of texts, in a terminal and as Markdown: nothing in a cell is ever markup."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.box import SIMPLE_HEAD, Box
from rich.console import Console
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from bbedge.text import shown

_SPECIAL = frozenset("\\`*_[]|#!~$")


def text_table(
    columns: Iterable[str | Column],
    rows: Iterable[Iterable[str | Text]] = (),
    *,
    box: Box | None = SIMPLE_HEAD,
    title: Text | None = None,
    caption: str | None = None,
) -> Table:
    """A table for a terminal."""
    # Columns hold the cells of their table: each table gets its own.
    own = (Column(column) if isinstance(column, str) else column.copy() for column in columns)
    table = Table(*own, box=box, title=title, caption=caption, title_justify="left", pad_edge=False, show_edge=False)
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def numbers(*heads: str) -> list[Column]:
    """Columns of numbers, which are aligned to the right."""
    return [Column(head, justify="right") for head in heads]


def words(*heads: str) -> list[Column]:
    """Columns of words, which go on in the next line where there is no room."""
    return [Column(head, overflow="fold") for head in heads]


def print_table(console: Console, table: Table) -> None:
    """Print a table and an empty line."""
    console.print(Padding(table, (0, 0, 1, 0), expand=False))


def topics(rows: Iterable[tuple[str, str]], *, topic: str, text: str = "") -> Table:
    """A grid of topics and what is said of each, in these styles."""
    grid = Table.grid(Column(style=topic, no_wrap=True), Column(style=text), padding=(0, 2))
    for name, words_of_it in rows:
        grid.add_row(name, Text(words_of_it))
    return grid


def escaped(text: str) -> str:
    r"""The text as Markdown shows it letter by letter.

    >>> print(escaped("a_b | <c>"))
    a\_b \| &lt;c&gt;
    """
    safe = shown(text, None).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    letters = "".join(f"\\{letter}" if letter in _SPECIAL else letter for letter in safe)
    # A backslash does not keep GitHub from reading a mention, the number of an issue or an address; a comment does.
    return re.sub(r"(@|\\#|:(?=//)|(?<=www)\.)", r"\1<!-- -->", letters)


def markdown_line(cells: Iterable[str]) -> str:
    """A row of a table in Markdown, of cells that are escaped."""
    return f"| {' | '.join(cells)} |"
