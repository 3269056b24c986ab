"""Tables in JSON: an object on every line, or documents that are, or hold, a list of objects, or objects by key.

polars parses pieces of whole lines against a fixed schema, which makes it refuse a value of another type instead of
converting it. Whatever it refuses is parsed again by the json module, which finds the line. The list of a document is
the document itself, or the only list of objects inside the object that the document is. Where the values of a document
are alike, its keys may be models or items: a column has them, and the user says what they are. A document is read piece
by piece: some records are in memory at a time, not the file.
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

from bbedge.errors import Argument, Blank, FormatError
from bbedge.readers.json_files import JsonStream
from bbedge.readers.logs.fields import field_at, field_paths, text, value_at
from bbedge.readers.opening import filled_lines, json_object, lines, lines_if_plain, opened, whole_lines
from bbedge.readers.tables import PlainTable, line_of_row
from bbedge.readers.tables.columns import (
    ALIASES,
    ROLES,
    Role,
    as_number,
    failing,
    may_be_score,
    values_of,
    without_long_values,
)
from bbedge.readers.tables.roles import KEY, is_of_item
from bbedge.text import listed, quoted

# Objects that are rows of one batch, and those whose keys are the columns: not all need have the same keys.
_ROWS = 1 << 14
_FIRST = 1000
# Escapes that may spell a key in another way: of characters that JSON does not need to escape. A key of other
# characters can be spelt in more ways than these.
_ESCAPED_ASCII = re.compile(rb"\\u00[2-7]")
_PLAIN_KEY = re.compile(rb'"[ -.0-\[\]-~]*"')
Form = Literal["list", "objects", "scores", "records", "records by two keys", "lists of records"]
"""What a JSON document is: a list, objects one after the other, or what stands under its keys."""
ScoreType = type[pl.Float64] | type[pl.Boolean]
_HEAD = 1 << 20
# An error so close to the end of what was read may only mean that there is more to come.
_NEAR_END = 16
_LIST = re.compile(rb"\[\s*\{")
INNER_KEY = "key2"
"""The column of the keys one level further inside."""
_VALUE = "value"
# So many scores side by side are no settings.
_LEAST = 8
# What the document says once and is true of all records; a score beside the list is a mean, not a score.
_OF_ALL = frozenset({"model", "replicate", *ALIASES["model"], *ALIASES["replicate"]})
_SCORES = frozenset({"score", *ALIASES["score"]})
# Keys that say what stands under them: the names of models or items they are not.
_TITLES = frozenset({*ROLES, *_SCORES})
# Keys of what was scored one by one, beside which a document may state means and settings.
_ONE_BY_ONE = frozenset(
    f"{before}{what}"
    for what in ("task", "instance", "sample", "item", "example", "question", "problem")
    for before in ("per_", "by_", "results_by_")
) | frozenset(("task_results", "instances", "samples", "items", "examples", "questions", "problems"))


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonTable(PlainTable):
    """A table of JSON objects. Scores are JSON numbers or JSON truth values, never text."""

    text_scores = False
    no_rows = "no rows; expected one JSON object with model, item and score per line"
    counted = "record"

    def rows(self) -> Iterator[dict[str, Any]]:
        """The objects, one at a time."""
        return (row for _, row in self.numbered())

    def numbered(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects, each with its number from 1."""
        return enumerate(self.rows(), start=1)

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles, some objects at a time; of an object only these values are kept."""
        wanted = ((number, _values(row, roles)) for number, row in self.numbered())
        while rows := list(islice(wanted, _ROWS)):
            yield _frame(rows, roles, f"{self.name}: {self.counted} ")

    def location_of_row(self, row: int) -> str:
        """The path and the number of the object."""
        number, _ = next(islice(self.numbered(), row, None))
        return f"{self.name}: {self.counted} {number}"

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

    key: str | None = None
    """The key of the list, or of the object that has the records by key; None if they are not under one key."""
    form: Form = "list"
    """What the document is: a list or one with a list in it; objects one after the other; or what is under its keys."""
    shared: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What the document says of all records: the model, the replicate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsFile(JsonTable):
    """A JSON document with a list of objects."""

    no_rows = "no records; expected a list of objects with model, item and score"

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles, some records at a time, unless lists of records would be put together unasked."""
        form = record_list(self.path, self.name).form
        if form in ("records by two keys", "lists of records") and not {KEY, INNER_KEY} & set(roles.values()):
            raise FormatError(
                f"{self.name}: {form}, such as {quoted(next(self.rows())[KEY])}, and no role for the keys; pass ",
                Argument("column", {"item": f"{KEY}+{roles.get('item', Blank('ITEM'))}"}),
                " if they are groups of items, or ",
                Argument("column", {"model": KEY}),
                " if they are models; or write the records that count as a list of their own",
            )
        return JsonTable.batches(self, roles)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The records, one at a time, each with what the document says of all of them."""
        where = record_list(self.path, self.name)
        with opened(self.path, self.name) as file:
            stream = JsonStream(file, self.name)
            for number, (keys, value) in enumerate(_records(stream, where), start=1):
                if not isinstance(value, dict):
                    raise FormatError(
                        f"{self.name}: record {number}: a JSON {type(value).__name__}, {quoted(repr(value))}; "
                        'expected an object such as {"model": "a", "item": "q1", "score": 1}'
                    )
                # The keys come first, and a value of the same name does not hide them.
                yield {**keys, **where.shared, **value, **keys} if keys else {**where.shared, **value}
            stream.end()


def _records(stream: JsonStream, where: RecordList) -> Iterator[tuple[dict[str, str], Any]]:
    """The records of a document, each with the keys under which it stands, by the names of their columns."""
    if where.form == "objects":
        while stream.opens():
            yield {}, stream.value()
        return
    # A document that is the list has one place for it, and no key.
    for key in (None,) if where.form == "list" and where.key is None else _entries(stream, where):
        keys = {} if key is None or where.form == "list" else {KEY: key}
        if where.form == "lists of records" or (where.form == "list" and key == where.key):
            yield from ((keys, value) for value in stream.elements())
        elif where.form == "records by two keys":
            yield from (({**keys, INNER_KEY: inner}, value) for inner, value in stream.value().items())
        elif where.form != "list":
            yield keys, stream.value() if where.form == "records" else {_VALUE: stream.value()}


def _entries(stream: JsonStream, where: RecordList) -> Iterator[str]:
    """The keys of a document, or of the only object in it that has the records."""
    for key in stream.entries():
        if where.form == "records" and where.key is not None:
            yield from stream.entries() if key == where.key else ()
        else:
            yield key


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
            return RecordList()
        if stream.opens() != "{":
            raise NoRecordsError(f"{name}: not a JSON object or list; expected a list of objects")
        lists: list[str] = []
        nested: list[str] = []
        shared: dict[str, str | None] = {}
        kinds: set[Form | None] = set()
        for key in stream.entries():
            if stream.opens() == "[":
                elements = stream.elements()
                if isinstance(next(elements, None), dict):
                    lists.append(key)
                # The stream stands where the list ends once all of it is read.
                deque(elements, maxlen=0)
                kind: Form | None = "lists of records" if key in lists else None
            else:
                value = stream.value()
                kind = _kind_under_key(value)
                if key.strip().casefold() in _OF_ALL:
                    shared[key] = text(value)
            if kind == "records by two keys" and key.strip().casefold() in _ONE_BY_ONE:
                nested.append(key)
            kinds.add(None if key.strip().casefold() in _TITLES else kind)
        if stream.opens() == "{":
            return RecordList(form="objects")
        stream.end()
    beside = {key: said for key, said in shared.items() if said is not None}
    if len(lists) == 1:
        return RecordList(key=lists[0], shared=beside)
    if len(nested) == 1 and not lists and len(kinds) > 1:
        return RecordList(key=nested[0], form="records", shared=beside)
    # Some of the records may have nothing but objects in them.
    alike: set[Form | None] = {"records"} if kinds == {"records", "records by two keys"} else kinds or {None}
    form, *others = alike
    if form is not None and not others:
        return RecordList(form=form)
    what = f"the lists of objects {listed(lists)}" if lists else "no list of objects"
    raise NoRecordsError(
        f"{name}: {what} in the document; expected one list of objects, such as "
        '[{"model": "a", "item": "q1", "score": 1}], or values that are all alike under keys that are models or items: '
        "write the records as a list of their own"
    )


def _kind_under_key(value: Any) -> Form | None:  # noqa: ANN401 - any JSON
    """What a document is if the value is under one of its keys; None if its keys are no names."""
    if isinstance(value, Mapping) and value:
        inner = value.values()
        return "records by two keys" if all(each and isinstance(each, Mapping) for each in inner) else "records"
    return "scores" if may_be_score(value) else None


def are_scores(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether rows by key can only be scores: many with the name of one, or many values in [0, 1] and no others."""
    named = any((_SCORES - {_VALUE}) & {name.strip().casefold() for name in row} for row in rows)
    values = [row[name] for row in rows for name in row if name not in (KEY, INNER_KEY)]
    unit = all(may_be_score(each) and 0.0 <= (as_number(each) or 0.0) <= 1.0 for each in values)
    return len(rows if named else values) >= _LEAST and (named or unit)


def kind_of_json(path: str, name: str) -> Literal["list", "object", "lines", "other"]:
    """What a JSON file is by its beginning: a list of records, objects over lines, an object on every line, or none."""
    with opened(path, name) as file:
        head = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(b"{"):
        return "list" if _LIST.match(head) else "other"
    first, _, more = head.partition(b"\n")
    whole = path.lower().removesuffix(".gz").endswith(".json")
    if (left := _left_after_object(first)) is not None or not (whole or more):
        # A document on one line, or the first of many.
        return "object" if whole and not (left or more).lstrip().startswith(b"{") else "lines"
    # An object over several lines; a first line that is broken is one of many.
    return "object" if whole or _left_after_object(head, cut=len(head) == _HEAD) is not None else "lines"


def _left_after_object(data: bytes, *, cut: bool = False) -> bytes | None:
    """What follows the JSON object with which some bytes begin; None if it is not complete, unless they are ``cut``."""
    text = data.decode("utf-8", "replace")
    try:
        return text[json.JSONDecoder().raw_decode(text)[1] :].strip().encode()
    except json.JSONDecodeError as error:
        return b"" if cut and (error.msg.startswith("Unterminated") or error.pos >= len(text) - _NEAR_END) else None
    except (ValueError, RecursionError):
        return None
