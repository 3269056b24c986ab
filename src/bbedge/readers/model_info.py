"""What a user knows of models besides their scores: a CSV file with a row per model and any columns."""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from bbedge.errors import FormatError
from bbedge.readers.opening import check_regular
from bbedge.text import listed, quoted, shown_path

MOST_BYTES = 8 << 20
"""The size of the file: all of it is written into a page."""
MOST_COLUMNS = 20
"""The number of columns besides the names."""
MOST_LETTERS = 500
"""The length of a value."""

_NAMES = "model"
_EXPECTED = "a CSV file with a column model, and columns such as organisation, link, date or price"


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
    check_regular(os.fspath(path), expected=_EXPECTED)
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
        raise FormatError(f"{name}: expected one column named model; found {found}. Expected {_EXPECTED}")
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
