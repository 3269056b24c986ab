"""Lists of items and of models: what is known of them besides their scores."""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from bbedge.errors import FormatError
from bbedge.readers.opening import check_regular
from bbedge.text import listed, quoted, shown_path

_ITEM_COLUMNS = "item and, optionally, block"


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
    from bbedge.readers.sources import JSON_LINES, PARQUET

    check_regular(os.fspath(path), expected=_ITEM_COLUMNS)
    name = os.fspath(path).lower()
    if name.removesuffix(".gz").endswith(JSON_LINES):
        return _from_json_lines(os.fspath(path))
    if name.endswith((*PARQUET, ".tsv", ".tab", ".gz")):
        return _from_table(os.fspath(path))
    return _from_csv(path)


def _from_json_lines(path: str) -> Items:
    """Of every object the texts and numbers, also those inside other objects, by names such as metadata.category."""
    from bbedge.readers.logs.fields import field_paths
    from bbedge.readers.logs.files import objects

    name = shown_path(path)
    found = [(line, dict(field_paths(row))) for line, row in objects(path)]
    made = _Rows.under(list(dict.fromkeys(key for _, row in found for key in row)), name)
    for line, row in found:
        made.add([row.get(key, "") for key in made.header], f"{name}:{line}")
    return made.items(name)


def _from_table(path: str) -> Items:
    from bbedge.readers.sources import open_table
    from bbedge.readers.tables.columns import Role

    table = open_table(path)
    made = _Rows.under(table.field_names(), table.name)
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
            raise FormatError(f"{name}: no column named item; found {found}. Expected {_ITEM_COLUMNS}")
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


MOST_BYTES = 8 << 20
"""The size of the file: all of it is written into a page."""
MOST_COLUMNS = 20
"""The number of columns besides the names."""
MOST_LETTERS = 500
"""The length of a value."""

_NAMES = "model"
_MODEL_COLUMNS = "a CSV file with a column model, and columns such as organisation, link, date or price"


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
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:  # noqa: PTH123 - any path-like
            reader = csv.reader(file, strict=True)
            table = _table([(reader.line_num, row) for row in reader if row], name)
    except OSError as error:
        raise FormatError(f"{name}: cannot be read ({error.strerror})") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{name}: not a CSV file in UTF-8 ({error})") from error
    known = set(models)
    unknown = [model for model in table.rows if model not in known]
    if unknown:
        raise FormatError(
            f"{name}: {listed(unknown)} {'is' if len(unknown) == 1 else 'are'} not on this leaderboard; correct the "
            f"names or remove the rows. Its models are {listed(sorted(known), limit=20)}"
        )
    return table


def _table(lines: list[tuple[int, list[str]]], name: str) -> ModelTable:
    header = [title.strip() for title in lines[0][1]] if lines else []
    place = _place_of_names(header, name)
    titles = _others(header, place)
    rows: dict[str, tuple[str, ...]] = {}
    for number, row in lines[1:]:
        at = f"{name}:{number}"
        if len(row) > len(header):
            raise FormatError(f"{at}: more fields than columns; put a value with a comma in quotes")
        values = [*row, *[""] * (len(header) - len(row))]
        model = values.pop(place)
        if not model:
            raise FormatError(f"{at}: the model has no name; every row needs one")
        if model in rows:
            raise FormatError(f"{at}: model {quoted(model)} comes twice; remove one of the rows")
        for title, value in zip(titles, values, strict=True):
            if len(value) > MOST_LETTERS:
                raise FormatError(
                    f"{at}: the value under {quoted(title)} has more than {MOST_LETTERS} letters; shorten it"
                )
        rows[model] = tuple(values)
    if not rows:
        raise FormatError(f"{name}: the file lists no models; give one row per model")
    return ModelTable(columns=tuple(titles), rows=rows)


def _place_of_names(header: list[str], name: str) -> int:
    titles = [title.lower() for title in header]
    if titles.count(_NAMES) != 1:
        found = listed(header, limit=20) or "nothing"
        raise FormatError(f"{name}: expected one column named model; found {found}. Expected {_MODEL_COLUMNS}")
    twice = [title for title in dict.fromkeys(titles) if titles.count(title) > 1]
    if twice:
        raise FormatError(f"{name}: two columns are named {quoted(twice[0])}; rename one")
    if "" in titles:
        raise FormatError(f"{name}: a column has no name; name it or remove it")
    if len(header) > MOST_COLUMNS + 1:
        raise FormatError(f"{name}: {len(header) - 1} columns besides model; keep at most {MOST_COLUMNS}")
    return titles.index(_NAMES)


def _others(header: list[str], place: int) -> list[str]:
    return [title for i, title in enumerate(header) if i != place]
