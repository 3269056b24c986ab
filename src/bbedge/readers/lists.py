"""Lists of items and of models: what is known of them besides their scores."""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from bbedge.errors import FormatError
from bbedge.readers.opening import check_regular
from bbedge.readers.tables import JSON_LINES, PARQUET
from bbedge.text import listed, quoted, shown_path

_ITEM_COLUMNS = "item and, optionally, block"
_PlacedRows = Iterable[tuple[str, Sequence[str]]]
"""Rows, each with where it is."""
MOST_BYTES = 8 << 20
"""The size of the file: all of it is written into a page."""
MOST_COLUMNS = 20
"""The number of columns besides the names."""
MOST_LETTERS = 500
"""The length of a value."""
_MODEL_COLUMNS = "a CSV file with a column model, and columns such as organisation, link, date or price"


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
    given, name = os.fspath(path), shown_path(path)
    check_regular(given, expected=_ITEM_COLUMNS)
    if given.lower().removesuffix(".gz").endswith(JSON_LINES):
        return _items(name, *_from_json_lines(given))
    if given.lower().endswith((*PARQUET, ".tsv", ".tab", ".gz")):
        return _items(name, *_from_table(given))
    lines = _csv_rows(given)
    header = next((row for _, row in lines), [])
    return _items(name, header, ((place, _filled_up(row, header, place, "name")) for place, row in lines))


def _from_json_lines(path: str) -> tuple[list[str], _PlacedRows]:
    """Of every object the texts and numbers, also those inside other objects, by names such as metadata.category."""
    from bbedge.readers.json_files import objects
    from bbedge.readers.logs.fields import field_paths

    found = {f"{shown_path(path)}:{line}": dict(field_paths(row)) for line, row in objects(path)}
    header = list(dict.fromkeys(key for row in found.values() for key in row))
    return header, ((place, [row.get(key, "") for key in header]) for place, row in found.items())


def _from_table(path: str) -> tuple[Sequence[str], _PlacedRows]:
    from bbedge.readers.sources import open_table
    from bbedge.readers.tables.columns import Role

    table = open_table(path)
    header = table.field_names()
    # Keys that no role has: the table is asked for texts only.
    keys = cast("dict[Role, str]", {f"text {position}": title for position, title in enumerate(header)})
    rows = enumerate((row for batch in table.batches(keys) for row in batch.iter_rows()), start=1)
    return header, ((f"{table.name}: row {number}", [value or "" for value in row]) for number, row in rows)


def _csv_rows(path: str | os.PathLike[str]) -> Iterator[tuple[str, list[str]]]:
    """The rows of a CSV file that are not blank, the header first, each with where it ends."""
    name = shown_path(path)
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:  # noqa: PTH123 - any path-like
            rows = csv.reader(file, strict=True)
            yield from ((f"{name}:{rows.line_num}", row) for row in rows if row)
    except OSError as error:
        raise FormatError(f"{name}: cannot be read ({error.strerror})") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{name}: not a CSV file in UTF-8 ({error})") from error


def _filled_up(row: Sequence[str], header: Sequence[str], place: str, what: str) -> list[str]:
    """A row with a value, if only an empty one, under every column."""
    if len(row) > len(header):
        raise FormatError(f"{place}: more fields than columns; put a {what} with a comma in quotes")
    return [*row, *[""] * (len(header) - len(row))]


def _check_name(kind: str, name: str, known: Collection[str], place: str) -> None:
    if not name:
        raise FormatError(f"{place}: the {kind} has no name; every row needs one")
    if name in known:
        raise FormatError(f"{place}: {kind} {quoted(name)} comes twice; remove one of the rows")


def _items(name: str, header: Sequence[str], rows: _PlacedRows) -> Items:
    """The items of a list; a header without one column for them is refused."""
    from bbedge.readers.tables.roles import repeated_names

    titles = [column.strip().lower() for column in header]
    twice = next((column for column in ("item", "block") if titles.count(column) > 1), None)
    if twice is not None:
        raise FormatError(f"{name}: two columns are named {twice}; keep one")
    if "item" not in titles:
        raise FormatError(
            f"{name}: no column named item; found {listed(header) or 'nothing'}. Expected {_ITEM_COLUMNS}"
        )
    blocked = "block" in titles
    at, block_at = titles.index("item"), titles.index("block" if blocked else "item")
    found: dict[str, Sequence[str]] = {}
    for place, row in rows:
        _check_name("item", row[at], found, place)
        if not row[block_at]:
            raise FormatError(f"{place}: item {quoted(row[at])} has no block; fill it in or remove the column")
        found[row[at]] = row
    if not found:
        raise FormatError(f"{name}: the file lists no items; give one row per item")
    repeated = repeated_names(header)
    columns = {
        title: tuple(row[position] for row in found.values())
        for position, title in enumerate(header)
        # Of two columns with one name neither can be asked for.
        if position != at and title not in repeated
    }
    blocks = tuple(row[block_at] for row in found.values())
    return Items(items=tuple(found), blocks=blocks, columns=columns, blocked=blocked)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTable:
    """What the file says."""

    columns: tuple[str, ...]
    """The columns besides the names, in the order of the file."""
    rows: Mapping[str, tuple[str, ...]]
    """By the name of the model a value under every column, as text; empty where the file has none."""


def read_model_info(path: str | os.PathLike[str], models: Collection[str]) -> ModelTable:
    """Read the file. A model that is not among ``models`` is refused by its name: it may be a misspelled one."""
    name = shown_path(path)
    check_regular(os.fspath(path), expected=_MODEL_COLUMNS)
    if Path(path).stat().st_size > MOST_BYTES:
        raise FormatError(f"{name}: larger than {MOST_BYTES:,} bytes; keep the columns that the page should show")
    table = _model_table(list(_csv_rows(path)), name)
    known = set(models)
    unknown = [model for model in table.rows if model not in known]
    if unknown:
        raise FormatError(
            f"{name}: {listed(unknown)} {'is' if len(unknown) == 1 else 'are'} not on this leaderboard; correct the "
            f"names or remove the rows. Its models are {listed(sorted(known), limit=20)}"
        )
    return table


def _model_table(lines: Sequence[tuple[str, list[str]]], name: str) -> ModelTable:
    header = [title.strip() for title in lines[0][1]] if lines else []
    plain = [title.lower() for title in header]
    if plain.count("model") != 1:
        found = listed(header, limit=20) or "nothing"
        raise FormatError(f"{name}: expected one column named model; found {found}. Expected {_MODEL_COLUMNS}")
    twice = next((title for title in plain if plain.count(title) > 1), None)
    if twice is not None:
        raise FormatError(f"{name}: two columns are named {quoted(twice)}; rename one")
    if "" in plain:
        raise FormatError(f"{name}: a column has no name; name it or remove it")
    if len(header) > MOST_COLUMNS + 1:
        raise FormatError(f"{name}: {len(header) - 1} columns besides model; keep at most {MOST_COLUMNS}")
    at = plain.index("model")
    titles = tuple(title for position, title in enumerate(header) if position != at)
    rows: dict[str, tuple[str, ...]] = {}
    for place, row in lines[1:]:
        values = _filled_up(row, header, place, "value")
        model = values.pop(at)
        _check_name("model", model, rows, place)
        long = next((title for title, value in zip(titles, values, strict=True) if len(value) > MOST_LETTERS), None)
        if long is not None:
            raise FormatError(
                f"{place}: the value under {quoted(long)} has more than {MOST_LETTERS} letters; shorten it"
            )
        rows[model] = tuple(values)
    if not rows:
        raise FormatError(f"{name}: the file lists no models; give one row per model")
    return ModelTable(columns=titles, rows=rows)
