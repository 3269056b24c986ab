"""Lists of items: a CSV file with a column ``item`` and, if items depend on each other, a column ``block``."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass

from bbedge.errors import FormatError
from bbedge.text import listed, quoted, shown_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """Items and their blocks."""

    items: tuple[str, ...]
    """Names of the items, in the order of the file."""
    blocks: tuple[str, ...]
    """Label of the block of each item; the item itself if the file has no blocks."""


def read_items(path: str | os.PathLike[str]) -> Items:
    """Read a list of items; a name that comes twice or is empty is refused with its line."""
    from bbedge.readers.opening import check_regular

    name = shown_path(path)
    check_regular(os.fspath(path), expected="item and, optionally, block")
    items: dict[str, str] = {}
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:  # noqa: PTH123 - any path-like
            rows = csv.DictReader(file, strict=True)
            names = [(column or "").strip().lower() for column in rows.fieldnames or []]
            twice = next((column for column in ("item", "block") if names.count(column) > 1), None)
            if twice is not None:
                raise FormatError(f"{name}: two columns are named {twice}; keep one")
            columns = {column.strip().lower(): column for column in rows.fieldnames or [] if column}
            if "item" not in columns:
                found = listed(rows.fieldnames or []) or "nothing"
                raise FormatError(f"{name}: no column named item; found {found}. Expected item and, optionally, block")
            for row in rows:
                place = f"{name}:{rows.line_num}"
                if None in row:
                    raise FormatError(f"{place}: more fields than columns; put a name with a comma in quotes")
                item = row[columns["item"]]
                if not item:
                    raise FormatError(f"{place}: the item has no name; every row needs one")
                if item in items:
                    raise FormatError(f"{place}: item {quoted(item)} comes twice; remove one of the rows")
                block = row[columns["block"]] if "block" in columns else item
                if not block:
                    raise FormatError(f"{place}: item {quoted(item)} has no block; fill it in or remove the column")
                items[item] = block
    except OSError as error:
        raise FormatError(f"{name}: cannot be read ({error.strerror})") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{name}: not a CSV file in UTF-8 ({error})") from error
    if not items:
        raise FormatError(f"{name}: the file lists no items; give one row per item")
    return Items(items=tuple(items), blocks=tuple(items.values()))
