"""Tables in JSON: an object on every line, or documents that are, or hold, a list of objects.

polars parses pieces of whole lines against a fixed schema, which makes it refuse a value of another type instead of
converting it. Whatever it refuses is parsed again by the json module, which finds the line. The list of a document is
the document itself, or the only list of objects inside the object that the document is. It is read piece by piece: some
records are in memory at a time, not the file.
"""

from __future__ import annotations

import io
import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import polars as pl

from bbedge.errors import FormatError
from bbedge.readers.json_files import JsonStream
from bbedge.readers.logs.fields import field_at, field_paths, text, value_at
from bbedge.readers.opening import filled_lines, json_object, lines, lines_if_plain, opened, whole_lines
from bbedge.readers.tables import PlainTable, line_of_row
from bbedge.readers.tables.columns import ALIASES, ROLES, Role, failing, values_of, without_long_values
from bbedge.readers.tables.roles import is_of_item
from bbedge.text import listed, quoted

# Objects that are rows of one batch, and those whose keys are the columns: not all need have the same keys.
_ROWS = 1 << 14
_FIRST = 1000
# Escapes that may spell a key in another way: of characters that JSON does not need to escape. A key of other
# characters can be spelt in more ways than these.
_ESCAPED_ASCII = re.compile(rb"\\u00[2-7]")
_PLAIN_KEY = re.compile(rb'"[ -.0-\[\]-~]*"')
ScoreType = type[pl.Float64] | type[pl.Boolean]
_HEAD = 1 << 20
_LIST = re.compile(rb"\[\s*\{")
# What the document says once and is true of all records; a score beside the list is a mean, not a score.
_OF_ALL = frozenset({"model", "replicate", *ALIASES["model"], *ALIASES["replicate"]})


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonTable(PlainTable):
    """A table of JSON objects. Scores are JSON numbers or JSON truth values, never text."""

    text_scores = False
    no_rows = "no rows; expected one JSON object with model, item and score per line"

    def rows(self) -> Iterator[dict[str, Any]]:
        """The objects, one at a time."""
        raise NotImplementedError

    def columns(self) -> tuple[str, ...]:
        """The keys of the first objects."""
        found = dict.fromkeys(key for row in self.head() for key in row)
        if not found:
            raise FormatError(f"{self.name}: {self.no_rows}")
        return tuple(found)

    def head(self, count: int = _FIRST) -> Sequence[Mapping[str, Any]]:
        """The first objects, without long texts and lists."""
        return [without_long_values(row) for row in islice(self.rows(), count)]

    def field_names(self) -> tuple[str, ...]:
        """The paths of keys to texts and numbers of the first objects, also inside other objects."""
        return tuple(dict.fromkeys(name for row in self.head() for name, _ in field_paths(row)))

    def has_field(self, path: str) -> bool:
        """Whether one of the first objects has a value at a path of keys joined by dots."""
        return any(value_at(row, path) is not None for row in self.head())


def _values(row: Mapping[str, Any], roles: Mapping[Role, str]) -> list[Any]:
    """What an object has for each of the roles."""
    return [
        field_at(row, key) if is_of_item(role) and key not in row else value_at(row, key) for role, key in roles.items()
    ]


def _frame(rows: Sequence[tuple[int, list[Any]]], roles: Mapping[Role, str], name: str) -> pl.DataFrame:
    """The columns of the roles, of rows with their numbers; ``name`` is what stands before a number in messages."""
    fail = failing(lambda row: f"{name}{rows[row][0]}")
    columns = zip(roles, zip(*(values for _, values in rows), strict=True), strict=True)
    return pl.DataFrame({role: values_of(values, role=role, fail=fail) for role, values in columns})


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLinesFile(JsonTable):
    """A file with a JSON object on every line."""

    def rows(self) -> Iterator[dict[str, Any]]:
        """The objects, one at a time."""
        return (self._object(text, line) for line, text in lines(self.path, self.name))

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles, piece by piece."""
        kinds: list[ScoreType] = [pl.Float64, pl.Boolean]
        nested = not set(roles.values()) <= set(self.columns())
        for line, chunk in whole_lines(self.path, self.name):
            if chunk.isspace():
                continue
            table = None if nested else _parsed(chunk, roles, kinds[0])
            if table is None and not nested:
                # The next piece most likely holds scores of the same kind as this one.
                kinds.reverse()
                table = _parsed(chunk, roles, kinds[0])
            if table is None:
                rows = [(at, _values(self._object(content, at), roles)) for at, content in _filled(chunk, line)]
                yield _frame(rows, roles, f"{self.name}:")
            else:
                self._check_keys(chunk, roles, table, line)
                yield table

    def location_of_row(self, row: int) -> str:
        """The path and the line of object ``row`` (from 0)."""
        line = line_of_row(row, whole_lines(self.path, self.name), count=lines_if_plain, lines=filled_lines)
        return f"{self.name}: row {row + 1}" if line is None else f"{self.name}:{line}"

    def _check_keys(self, chunk: bytes, roles: Mapping[Role, str], table: pl.DataFrame, first_line: int) -> None:
        """Raise if an object has the key of a role twice: polars would keep the first value."""
        spelt = {role: json.dumps(key, ensure_ascii=False).encode() for role, key in roles.items()}
        escaped = _ESCAPED_ASCII.search(chunk) is not None or not all(map(_PLAIN_KEY.fullmatch, spelt.values()))
        # A wide table: so many keys are found faster by reading every object again.
        wide = sum(not is_of_item(role) for role in roles) > len(ROLES)
        # Where every row has a value and the key is spelt as often as there are rows, each row has it once.
        if not (wide or escaped) and all(
            not table[role].null_count() and chunk.count(key) == table.height for role, key in spelt.items()
        ):
            return
        # Most often a key inside another value, or a null; the json module knows.
        for line, content in _filled(chunk, first_line):
            if wide or (escaped and b"\\" in content) or any(content.count(key) > 1 for key in spelt.values()):
                self._object(content, line)

    def _object(self, text: bytes, line: int) -> dict[str, Any]:
        return json_object(
            text,
            place=f"{self.name}:{line}",
            expected='one object per line, such as {"model": "a", "item": "q1", "score": 1}',
            cut_off="expected one object per line: write the line again, or remove it if the run was cut off and treat "
            "its score as missing",
        )


def _filled(chunk: bytes, first_line: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a piece that are not blank, without their ends."""
    return ((line, content.removesuffix(b"\n")) for line, content in filled_lines(chunk, first_line))


def _parsed(chunk: bytes, roles: Mapping[Role, str], kind: ScoreType) -> pl.DataFrame | None:
    """The piece as polars reads it, or None where it refuses or may have converted something."""
    schema = {key: kind if role == "score" else pl.String for role, key in roles.items()}
    try:
        table = pl.read_ndjson(io.BytesIO(chunk), schema=schema)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    table = pl.DataFrame({role: table[key] for role, key in roles.items()})
    # One object per row, no list and no escape: there is nothing that could have been converted.
    if chunk.count(b"{") == table.height and not any(sign in chunk for sign in (b"[", b"\\u", b"\0")):
        return table
    # polars makes text of a list or an object, and a NUL of an unpaired surrogate.
    names = (table[role] for role in roles if role != "score")
    return None if any(each.str.contains(r"^[\[{]|\x00").any() for each in names) else table


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
class RecordsFile(JsonTable):
    """A JSON document with a list of objects."""

    no_rows = "no records; expected a list of objects with model, item and score"

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles, some records at a time; of a record only these values are kept."""
        numbered = ((number, _values(record, roles)) for number, record in enumerate(self.rows(), start=1))
        while rows := list(islice(numbered, _ROWS)):
            yield _frame(rows, roles, f"{self.name}: record ")

    def location_of_row(self, row: int) -> str:
        """The path and the number of the record, from 1."""
        return f"{self.name}: record {row + 1}"

    def rows(self) -> Iterator[dict[str, Any]]:
        """The records, one at a time, each with what the document says of all of them."""
        where = record_list(self.path, self.name)
        with opened(self.path, self.name) as file:
            stream = JsonStream(file, self.name)
            # A document that is the list has one place for it, and no key.
            for key in (None,) if where.key is None else stream.entries():
                if key == where.key:
                    for number, value in enumerate(stream.elements(), start=1):
                        if not isinstance(value, dict):
                            raise FormatError(
                                f"{self.name}: record {number}: a JSON {type(value).__name__}, {quoted(repr(value))}; "
                                'expected an object such as {"model": "a", "item": "q1", "score": 1}'
                            )
                        yield {**where.shared, **value}
            stream.end()


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
        shared: dict[str, str | None] = {}
        for key in stream.entries():
            if stream.opens() == "[":
                elements = stream.elements()
                if isinstance(next(elements, None), dict):
                    lists.append(key)
                # The stream stands where the list ends once all of it is read.
                deque(elements, maxlen=0)
            elif key.strip().casefold() in _OF_ALL:
                shared[key] = text(stream.value())
        stream.end()
    if len(lists) != 1:
        what = f"the lists of objects {listed(lists)}" if lists else "no list of objects"
        raise NoRecordsError(
            f"{name}: {what} in the document; expected one list of objects, such as "
            '[{"model": "a", "item": "q1", "score": 1}]: write the records as a list of their own'
        )
    return RecordList(key=lists[0], shared={key: said for key, said in shared.items() if said is not None})


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
