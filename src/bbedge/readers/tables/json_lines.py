"""JSON lines: one object per line.

polars parses pieces of whole lines against a fixed schema, which makes it refuse a value of another type instead of
converting it. Whatever it refuses is parsed again by the json module, which finds the line.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, NoReturn

import polars as pl

from bbedge.errors import DataError, FormatError
from bbedge.readers.limits import limits_in_force
from bbedge.readers.logs.fields import field_at, field_paths
from bbedge.readers.opening import json_object, lines, lines_if_plain, pieces
from bbedge.readers.tables import TableFile
from bbedge.readers.tables.columns import ROLES, Role, names_from_objects, scores_from_objects
from bbedge.readers.tables.item_columns import is_of_item
from bbedge.readers.tables.nested import slim, value_at

# Objects need not all have the same keys: the columns are those of the first lines.
_LINES_FOR_COLUMNS = 1000
# Escapes that may spell a key in another way: of characters that JSON does not need to escape. A key of other
# characters can be spelt in more ways than these.
_ESCAPED_ASCII = re.compile(rb"\\u00[2-7]")
_PLAIN_KEY = re.compile(rb'"[ -.0-\[\]-~]*"')
ScoreType = type[pl.Float64] | type[pl.Boolean]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLinesFile(TableFile):
    """A file with a JSON object on every line. Scores are JSON numbers or JSON truth values, never text."""

    text_scores = False

    def columns(self) -> tuple[str, ...]:
        """The keys of the first objects."""
        found: dict[str, None] = {}
        for row in self.head():
            found.update(dict.fromkeys(row))
        if not found:
            raise FormatError(f"{self.name}: no rows; expected one JSON object with model, item and score per line")
        return tuple(found)

    def field_names(self) -> tuple[str, ...]:
        """The paths of keys to texts and numbers of the first objects, also inside other objects."""
        found: dict[str, None] = {}
        for row in self.head():
            found.update((name, None) for name, _ in field_paths(row))
        return tuple(found)

    def has_field(self, path: str) -> bool:
        """Whether one of the first objects has a value at a path of keys joined by dots."""
        return any(value_at(row, path) is not None for row in self.head())

    def head(self, count: int = _LINES_FOR_COLUMNS) -> list[dict[str, Any]]:
        """The first objects, without long texts and lists."""
        return [slim(self._object(text, line)) for line, text in islice(lines(self.path, self.name), count)]

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles, piece by piece."""
        line = 1
        kind: ScoreType = pl.Float64
        other: ScoreType = pl.Boolean
        nested = not set(roles.values()) <= set(self.columns())
        for chunk in self._whole_lines():
            if not chunk.isspace():
                table = None if nested else _parsed(chunk, roles, kind)
                if table is None and not nested:
                    # The next piece most likely holds scores of the same kind as this one.
                    kind, other = other, kind
                    table = _parsed(chunk, roles, kind)
                if table is not None:
                    self._check_keys(chunk, roles, table, line)
                yield self._parsed_slowly(chunk, roles, line) if table is None else table
            line += chunk.count(b"\n")

    def place(self, row: int) -> str:
        """The path and the line of object ``row`` (from 0)."""
        left, first_line = row, 1
        for chunk in self._whole_lines():
            plain = 0 if chunk.isspace() else lines_if_plain(chunk)
            if plain is not None and plain <= left:
                left -= plain
            else:
                for line, text in enumerate(chunk.split(b"\n"), start=first_line):
                    if text.strip():
                        if left == 0:
                            return f"{self.name}:{line}"
                        left -= 1
            first_line += chunk.count(b"\n")
        return f"{self.name}: row {row + 1}"

    def _whole_lines(self) -> Iterator[bytes]:
        begun: list[bytes] = []
        line = 1
        for piece in pieces(self.path, self.name):
            cut = piece.rfind(b"\n") + 1
            if cut:
                whole = b"".join((*begun, piece[:cut]))
                yield whole
                line += whole.count(b"\n")
                begun = [piece[cut:]]
            else:
                begun.append(piece)
                limits_in_force().check_line(sum(map(len, begun)), place=f"{self.name}:{line}")
        rest = b"".join(begun)
        if rest.strip():
            yield rest

    def _check_keys(self, chunk: bytes, roles: Mapping[Role, str], table: pl.DataFrame, first_line: int) -> None:
        """Raise if an object has the key of a role twice: polars would keep the first value."""
        if sum(not is_of_item(role) for role in roles) > len(ROLES):
            # A wide table: so many keys are found faster by reading every object again.
            for line, text in enumerate(chunk.split(b"\n"), start=first_line):
                if text.strip():
                    self._object(text, line)
            return
        spelt = {role: json.dumps(key, ensure_ascii=False).encode() for role, key in roles.items()}
        escaped = _ESCAPED_ASCII.search(chunk) is not None or not all(map(_PLAIN_KEY.fullmatch, spelt.values()))
        # Where every row has a value and the key is spelt as often as there are rows, each row has it once.
        if not escaped and all(
            not table[role].null_count() and chunk.count(key) == table.height for role, key in spelt.items()
        ):
            return
        # Most often a key inside another value, or a null; the json module knows.
        for line, text in enumerate(chunk.split(b"\n"), start=first_line):
            if (escaped and b"\\" in text) or any(text.count(key) > 1 for key in spelt.values()):
                self._object(text, line)

    def _parsed_slowly(self, chunk: bytes, roles: Mapping[Role, str], first_line: int) -> pl.DataFrame:
        at: list[int] = []
        values: dict[Role, list[Any]] = {role: [] for role in roles}
        for line, text in enumerate(chunk.split(b"\n"), start=first_line):
            if text.strip():
                row = self._object(text, line)
                at.append(line)
                for role, key in roles.items():
                    described = is_of_item(role) and key not in row
                    values[role].append(field_at(row, key) if described else value_at(row, key))

        def fail(row: int, problem: str) -> NoReturn:
            raise DataError(f"{self.name}:{at[row]}: {problem}")

        return pl.DataFrame(
            {
                role: scores_from_objects(column, fail=fail)
                if role == "score"
                else names_from_objects(column, role=role, fail=fail)
                for role, column in values.items()
            }
        )

    def _object(self, text: bytes, line: int) -> dict[str, Any]:
        return json_object(
            text,
            place=f"{self.name}:{line}",
            expected='one object per line, such as {"model": "a", "item": "q1", "score": 1}',
            cut_off="expected one object per line: write the line again, or remove it if the run was cut off and treat "
            "its score as missing",
        )


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
    if any(_may_be_converted(table[role]) for role in roles if role != "score"):
        return None
    return table


def _may_be_converted(names: pl.Series) -> bool:
    """Whether polars may have made text of a list or an object, or a NUL of an unpaired surrogate."""
    doubtful = names.str.starts_with("[") | names.str.starts_with("{") | names.str.contains("\0", literal=True)
    return bool(doubtful.any())
