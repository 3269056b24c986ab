"""JSON documents that are, or hold, a list of records: one object for every row.

The list is the document itself, or the only list of objects inside the object that the document is. The document is
read piece by piece: some records are in memory at a time, not the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NoReturn

import polars as pl

from bbedge.errors import DataError, FormatError
from bbedge.readers.json_files import JsonStream
from bbedge.readers.logs.fields import field_at, field_paths, text
from bbedge.readers.opening import opened
from bbedge.readers.tables import TableFile
from bbedge.readers.tables.columns import ALIASES, Role, names_from_objects, scores_from_objects
from bbedge.readers.tables.item_columns import is_of_item
from bbedge.readers.tables.nested import slim, value_at
from bbedge.text import listed, quoted

# Records that are rows of one batch, and those whose keys are the columns: not all records need have the same keys.
_ROWS = 1 << 14
_FIRST = 1000
_HEAD = 1 << 20
_LIST = re.compile(rb"\[\s*\{")
# What the document says once and is true of all records; a score beside the list is a mean, not a score.
_OF_ALL = frozenset({"model", "replicate", *ALIASES["model"], *ALIASES["replicate"]})


class NoRecordsError(FormatError):
    """A complete JSON document without a list of records, or with several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordList:
    """Where the records of a document are."""

    key: str | None
    """The key of the list; None if the document is the list."""
    shared: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What the document says of all records: the model, the replicate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsFile(TableFile):
    """A JSON document with a list of objects. Scores are JSON numbers or JSON truth values, never text."""

    text_scores = False

    def columns(self) -> tuple[str, ...]:
        """The keys of the first records, and what the document says of all of them."""
        found = dict.fromkeys(key for row in self.head() for key in row)
        if not found:
            raise FormatError(f"{self.name}: no records; expected a list of objects with model, item and score")
        return tuple(found)

    def head(self, count: int = _FIRST) -> list[dict[str, Any]]:
        """The first records, without long texts and lists."""
        return [slim(row) for row in islice(self._records(), count)]

    def field_names(self) -> tuple[str, ...]:
        """The paths of keys to texts and numbers of the first records, also inside other objects."""
        return tuple(dict.fromkeys(name for row in self.head() for name, _ in field_paths(row)))

    def has_field(self, path: str) -> bool:
        """Whether one of the first records has a value at a path of keys joined by dots."""
        return any(value_at(row, path) is not None for row in self.head())

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles, some records at a time; of a record only these values are kept."""
        first, held = 0, 0
        columns: dict[Role, list[Any]] = {role: [] for role in roles}
        for record in self._records():
            held += 1
            for role, values in columns.items():
                values.append(_value(record, role, roles[role]))
            if held == _ROWS:
                yield self._frame(columns, first)
                first, held = first + held, 0
                columns = {role: [] for role in roles}
        if held:
            yield self._frame(columns, first)

    def place(self, row: int) -> str:
        """The path and the number of the record, from 1."""
        return f"{self.name}: record {row + 1}"

    def _frame(self, columns: Mapping[Role, list[Any]], first: int) -> pl.DataFrame:
        def fail(row: int, problem: str) -> NoReturn:
            raise DataError(f"{self.place(first + row)}: {problem}")

        return pl.DataFrame(
            {
                role: scores_from_objects(values, fail=fail)
                if role == "score"
                else names_from_objects(values, role=role, fail=fail)
                for role, values in columns.items()
            }
        )

    def _records(self) -> Iterator[dict[str, Any]]:
        where = record_list(self.path, self.name)
        with self._stream() as stream:
            if where.key is None:
                yield from self._objects(stream, where)
            else:
                for key in stream.entries():
                    if key == where.key:
                        yield from self._objects(stream, where)
            stream.end()

    def _objects(self, stream: JsonStream, where: RecordList) -> Iterator[dict[str, Any]]:
        for number, value in enumerate(stream.elements(), start=1):
            if not isinstance(value, dict):
                raise FormatError(
                    f"{self.name}: record {number}: a JSON {type(value).__name__}, {quoted(repr(value))}; expected an "
                    'object such as {"model": "a", "item": "q1", "score": 1}'
                )
            yield {**where.shared, **value} if where.shared else value

    @contextmanager
    def _stream(self) -> Iterator[JsonStream]:
        with opened(self.path, self.name) as file:
            yield JsonStream(file, self.name)


def _value(record: Mapping[str, Any], role: Role, key: str) -> Any:  # noqa: ANN401 - any JSON
    described = is_of_item(role) and key not in record
    return field_at(record, key) if described else value_at(record, key)


def record_list(path: str, name: str) -> RecordList:
    """Where the records of a document are; raises if it has none, or several lists of objects."""
    found = Path(path).stat()
    return _record_list(path, name, found.st_size, found.st_mtime_ns)


# A file is asked when it is recognised, for its columns and for its rows; a list behind others is found by reading all.
@lru_cache(maxsize=256)
def _record_list(path: str, name: str, _size: int, _changed: int) -> RecordList:
    with opened(path, name) as file:
        stream = JsonStream(file, name)
        if stream.opens() == "[":
            return RecordList(key=None)
        if stream.opens() != "{":
            raise NoRecordsError(f"{name}: not a JSON object or list; expected a list of objects")
        lists: list[str] = []
        shared: dict[str, str] = {}
        for key in stream.entries():
            if stream.opens() == "[":
                first = None
                for position, value in enumerate(stream.elements()):
                    first = value if position == 0 else first
                if isinstance(first, dict):
                    lists.append(key)
            elif key.strip().casefold() in _OF_ALL:
                said = text(stream.value())
                if said is not None:
                    shared[key] = said
        stream.end()
    if len(lists) != 1:
        what = f"the lists of objects {listed(lists)}" if lists else "no list of objects"
        raise NoRecordsError(
            f"{name}: {what} in the document; expected one list of objects, such as "
            '[{"model": "a", "item": "q1", "score": 1}]: write the records as a list of their own'
        )
    return RecordList(key=lists[0], shared=shared)


def kind_of_json(path: str, name: str) -> Literal["list", "object", "lines", "other"]:
    """What a JSON file is by its beginning: a list of records, one object, an object on every line, or none of it."""
    with opened(path, name) as file:
        head = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(b"{"):
        return "list" if _LIST.match(head) else "other"
    if not path.lower().removesuffix(".gz").endswith(".json"):
        return "lines"
    text = head.decode("utf-8", "replace")
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        # One object that is longer than this.
        return "object"
    return "lines" if text[end:].lstrip().startswith("{") else "object"
