"""Lists of items: their blocks, and what else is known of them."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from bbedge.errors import FormatError
from bbedge.text import listed, quoted, shown_path

_EXPECTED = "item and, optionally, block"


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """Items, their blocks, and the other columns of their list."""

    items: tuple[str, ...]
    """Names of the items, in the order of the file."""
    blocks: tuple[str, ...]
    """Label of the block of each item; the item itself if the file has no blocks."""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """All columns besides the item by name, as text: one value per item, empty where the file has none."""
    blocked: bool = False
    """Whether the file has a column of blocks."""


def read_items(path: str | os.PathLike[str]) -> Items:
    """Read a list of items; a name that comes twice or is empty is refused with its line.

    The list is a table with a row per item, a column ``item``, and optionally ``block`` and others: JSON lines,
    Parquet or tab-separated if its name ends so, otherwise CSV.
    """
    from bbedge.readers.opening import check_regular
    from bbedge.readers.sources import JSON_LINES, PARQUET

    check_regular(os.fspath(path), expected=_EXPECTED)
    name = os.fspath(path).lower()
    if name.removesuffix(".gz").endswith(JSON_LINES):
        return _from_json_lines(os.fspath(path))
    if name.endswith((*PARQUET, ".tsv", ".tab", ".gz")):
        return _from_table(os.fspath(path))
    return _from_csv(path)


def _from_json_lines(path: str) -> Items:
    """Of every object the texts and numbers, also those inside other objects, by names such as metadata.category."""
    from bbedge.readers.json_files import objects
    from bbedge.readers.logs.fields import field_paths

    name = shown_path(path)
    found = [(line, dict(field_paths(row))) for line, row in objects(path)]
    made = _Rows.under(list(dict.fromkeys(key for _, row in found for key in row)), name)
    for line, row in found:
        made.add([row.get(key, "") for key in made.header], f"{name}:{line}")
    return made.items(name)


def _from_table(path: str) -> Items:
    from bbedge.readers.sources import open_table
    from bbedge.readers.tables.columns import Role
    from bbedge.readers.tables.frames import ParquetFile

    table = open_table(path)
    made = _Rows.under(table.plain_columns() if isinstance(table, ParquetFile) else table.columns(), table.name)
    # Keys that no role has: the table is asked for texts only.
    keys = cast("dict[Role, str]", {f"text {position}": title for position, title in enumerate(made.header)})
    row = 0
    for batch in table.batches(keys):
        for values in batch.iter_rows():
            made.add(["" if value is None else value for value in values], f"{table.name}: row {row + 1}")
            row += 1
    return made.items(table.name)


def _from_csv(path: str | os.PathLike[str]) -> Items:
    name = shown_path(path)
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:  # noqa: PTH123 - any path-like
            rows = csv.reader(file, strict=True)
            header = next((row for row in rows if row), [])
            made = _Rows.under(header, name)
            for row in rows:
                if not row:
                    continue
                place = f"{name}:{rows.line_num}"
                if len(row) > len(header):
                    raise FormatError(f"{place}: more fields than columns; put a name with a comma in quotes")
                made.add([*row, *[""] * (len(header) - len(row))], place)
    except OSError as error:
        raise FormatError(f"{name}: cannot be read ({error.strerror})") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{name}: not a CSV file in UTF-8 ({error})") from error
    return made.items(name)


@dataclass(slots=True)
class _Rows:
    """The rows so far of a list with these columns."""

    header: Sequence[str]
    item: int
    block: int | None
    rows: dict[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def under(cls, header: Sequence[str], name: str) -> _Rows:
        """No rows yet; a header without one column for the items is refused."""
        names = [column.strip().lower() for column in header]
        twice = next((column for column in ("item", "block") if names.count(column) > 1), None)
        if twice is not None:
            raise FormatError(f"{name}: two columns are named {twice}; keep one")
        if "item" not in names:
            found = listed(header) or "nothing"
            raise FormatError(f"{name}: no column named item; found {found}. Expected {_EXPECTED}")
        return cls(header, names.index("item"), names.index("block") if "block" in names else None)

    def add(self, row: Sequence[str], place: str) -> None:
        item = row[self.item]
        if not item:
            raise FormatError(f"{place}: the item has no name; every row needs one")
        if item in self.rows:
            raise FormatError(f"{place}: item {quoted(item)} comes twice; remove one of the rows")
        if self.block is not None and not row[self.block]:
            raise FormatError(f"{place}: item {quoted(item)} has no block; fill it in or remove the column")
        self.rows[item] = row

    def items(self, name: str) -> Items:
        from bbedge.readers.tables.roles import repeated_names

        if not self.rows:
            raise FormatError(f"{name}: the file lists no items; give one row per item")
        names = tuple(self.rows)
        repeated = repeated_names(self.header)
        columns = {
            title: tuple(row[position] for row in self.rows.values())
            for position, title in enumerate(self.header)
            # Of two columns with one name neither can be asked for.
            if position != self.item and title not in repeated
        }
        blocks = names if self.block is None else tuple(row[self.block] for row in self.rows.values())
        return Items(items=names, blocks=blocks, columns=columns, blocked=self.block is not None)
