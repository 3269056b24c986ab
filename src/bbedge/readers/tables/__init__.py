"""Plain tables: one row per score, or wide, as CSV, JSON lines, Parquet or a data frame.

``delimited``, ``json_rows`` and ``frames`` read what is there, in pieces, and say at which line a row is. ``columns``
says what a cell may hold, ``roles`` which column plays which role. ``shaped`` makes a table long: with joined columns,
the cells of a wide table, names from its path, and rows of some metrics. A new kind of file is a ``PlainTable``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from bbedge.text import shown_path

if TYPE_CHECKING:
    import polars as pl

    from bbedge.readers.tables.columns import Role
    from bbedge.readers.tables.shaped import WideShape


SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
JSON = ".json"
PARQUET = (".parquet", ".pq")
HEAD = 200
"""Rows that show what the columns of a table hold."""


def line_of_row(
    row: int,
    pieces: Iterable[tuple[int, bytes]],
    *,
    count: Callable[[bytes], int | None],
    lines: Callable[[bytes, int], Iterable[tuple[int, object]]],
) -> int | None:
    """The line at which row ``row`` (from 0) begins; None if there are fewer rows.

    ``count`` is the number of rows of a piece, None where they must be read; ``lines`` then says where each begins.
    """
    for first_line, piece in pieces:
        rows = count(piece)
        if rows is not None and rows <= row:
            row -= rows
            continue
        for line, _ in lines(piece, first_line):
            if row == 0:
                return line
            row -= 1
    return None


class Table(Protocol):
    """A table that can be read in batches and can locate a row."""

    @property
    def name(self) -> str:
        """What to call the table in messages."""

    @property
    def path(self) -> str:
        """The path of the file that it is in; empty if it is in none."""

    @property
    def text_scores(self) -> bool:
        """Whether scores come as text."""

    @property
    def wide(self) -> WideShape | None:
        """What its columns are if it is a wide table."""

    @property
    def usual_range(self) -> tuple[float, float] | None:
        """The score range that its tool always has."""

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """Frames with one column per role, together all rows in order."""

    def location_of_row(self, row: int) -> str:
        """Where row ``row`` (from 0) is, for a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainTable(Table):
    """A table as it is in a file or in memory."""

    path: str = ""
    """Where it is; empty if it is in no file."""
    called: str | None = None
    """What to call it in messages, if not by its path."""
    wide = None
    usual_range = None

    @property
    def name(self) -> str:
        """The path for messages."""
        return self.called or shown_path(self.path)

    def head(self, count: int) -> Sequence[Mapping[str, Any]]:
        """The first rows; none of a table in memory."""
        return ()

    def field_names(self) -> tuple[str, ...]:
        """The columns, or paths of fields inside them, whose values are texts or numbers."""
        return self.columns()

    def text_columns(self) -> frozenset[str]:
        """The columns whose values are texts, in the first rows."""
        rows = self.head(HEAD)
        names = {name for row in rows for name in row}
        return frozenset(name for name in names if all(isinstance(row.get(name), str | None) for row in rows))

    def has_field(self, path: str) -> bool:
        """Whether there is a column, or a field of a column, at a path of names joined by dots."""
        return False
