"""Plain tables: one row per score, wide, as CSV, JSON lines, Parquet or a data frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from bbedge.text import shown_path

if TYPE_CHECKING:
    import polars as pl

    from bbedge.readers.tables.columns import Role


SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
JSON = ".json"
PARQUET = (".parquet", ".pq")
HEAD = 200
"""Rows that show what the columns of a table hold."""


def whole_pieces(
    parts: Iterable[bytes], *, first_line: int, end_in: Callable[[bytes], int], check: Callable[[bytes, int], None]
) -> Iterator[tuple[int, bytes]]:
    """The bytes of a file in pieces that end with a row, each with its first line.

    ``end_in`` finds the end of the last row in some bytes, 0 if none ends there; ``check`` then refuses what is too
    long.
    """
    line, rest = first_line, b""
    for part in parts:
        rest += part
        end = end_in(rest)
        if end:
            yield line, rest[:end]
            line += rest.count(b"\n", 0, end)
            rest = rest[end:]
        else:
            check(rest, line)
    if rest:
        yield line, rest


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
    def text_scores(self) -> bool:
        """Whether scores come as text."""

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """Frames with one column per role, together all rows in order."""

    def place(self, row: int) -> str:
        """Where row ``row`` (from 0) is, for a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile(Table):
    """A file with a table in it."""

    path: str
    """Where it is."""
    called: str | None = None
    """What to call it in messages, if not by its path."""

    @property
    def name(self) -> str:
        """The path for messages."""
        return self.called or shown_path(self.path)

    def head(self, count: int) -> list[dict[str, Any]]:
        """The first rows."""
        raise NotImplementedError

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
