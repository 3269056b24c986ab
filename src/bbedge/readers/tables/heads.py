"""The first rows of tables in files, to see what their columns hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bbedge.readers.assemble.coding import Table
from bbedge.readers.logs.fields import number
from bbedge.readers.tables.delimited import DelimitedFile
from bbedge.readers.tables.frames import ParquetFile
from bbedge.readers.tables.joined import JoinedColumns
from bbedge.readers.tables.json_lines import JsonLinesFile
from bbedge.readers.tables.records import RecordsFile

_ROWS = 200


def rows_of(table: Table) -> Sequence[Mapping[str, Any]]:
    """The first rows of a table in a file; none of others."""
    inner = table.inner if isinstance(table, JoinedColumns) else table
    if isinstance(inner, DelimitedFile | JsonLinesFile | RecordsFile | ParquetFile):
        return inner.head(_ROWS)
    return ()


def as_number(value: object) -> float | None:
    """A number, or a truth value as one, also where it is text; None for anything else.

    A decimal comma counts as well: this is for looking at a table, not for reading its scores.

    >>> as_number("0.5"), as_number("True"), as_number("0,5"), as_number("half")
    (0.5, 1.0, 0.5, None)
    """
    if isinstance(value, str):
        text = value.strip().lower()
        if text in ("true", "false"):
            return float(text == "true")
        try:
            return float(text.replace(",", ".") if text.count(",") == 1 else text)
        except ValueError:
            return None
    found = number(value)
    return None if found is None else float(found)
