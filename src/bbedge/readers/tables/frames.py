"""Tables with typed columns: Parquet files and data frames in memory.

The footer of a Parquet file says what its columns unpack to, before anything is unpacked. It is a structure of Thrift's
compact protocol, of which the little that is needed here is read:
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bbedge.errors import FormatError
from bbedge.readers.limits import limits_in_force
from bbedge.readers.opening import naming_errors
from bbedge.readers.tables import Table, TableFile
from bbedge.readers.tables.columns import Role, expression_at, failing, scores_of, values_of
from bbedge.text import quoted

# Names are text until they are coded, so this many rows of text are in memory at a time.
_ROWS = 1 << 20
_MAGIC = b"PAR1"
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = (4, 5, 6)
_DEEPEST = 32
# Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData.
_NUM_ROWS, _ROW_GROUPS, _COLUMNS, _OF_COLUMN, _PATH, _UNCOMPRESSED = 3, 4, 1, 3, 3, 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetFile(TableFile):
    """A Parquet file. Its columns are typed: a score that is text is a mistake."""

    text_scores = False

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._schema())

    def field_names(self) -> tuple[str, ...]:
        """The names of the columns whose values are texts, numbers or the like."""
        schema = self._schema()
        return tuple(name for name, kind in schema.items() if not (kind.is_nested() or kind in (pl.Binary, pl.Object)))

    def text_columns(self) -> frozenset[str]:
        """The names of the columns of texts."""
        return _texts(self._schema())

    def has_field(self, path: str) -> bool:
        """Whether there is a column, or a field of a column, at a path of names joined by dots."""
        return expression_at(self._schema(), path) is not None

    def head(self, count: int) -> list[dict[str, Any]]:
        """The first rows."""
        check_expansion(self.path, self.name)
        with self._readable():
            return self._scan().head(count).collect().to_dicts()

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles, some rows at a time."""
        yield from _typed(self.slices(list(dict.fromkeys(roles.values())), _ROWS), roles, self)

    def slices(self, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
        """Some columns, so many rows at a time. What they unpack to is checked before."""
        wanted = _selected(self._schema(), columns)
        check_expansion(self.path, self.name, frozenset(name for each in wanted for name in each.meta.root_names()))
        first = 0
        while True:
            with self._readable():
                table = self._scan().select(wanted).slice(first, rows).collect()
            if not table.height:
                return
            yield table
            first += table.height

    def place(self, row: int) -> str:
        """The path and the number of the row, from 1."""
        return f"{self.name}: row {row + 1}"

    def _scan(self) -> pl.LazyFrame:
        try:
            self.path.encode()
        except UnicodeEncodeError:
            raise FormatError(
                f"{self.name}: the path is not valid Unicode, as polars needs it; rename the file"
            ) from None
        # A path is one file: no wildcards in it, and no columns taken from the names of its folders.
        return pl.scan_parquet(self.path, glob=False, hive_partitioning=False)

    def _schema(self) -> pl.Schema:
        with self._readable():
            return self._scan().collect_schema()

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            with naming_errors(self.path, self.name):
                yield
        # A panic is what Rust calls a failed assertion: damaged files reach some of them.
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = str(error).partition("\n")[0]
            raise FormatError(f"{self.name}: not a readable Parquet file ({reason}); write it again") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A polars, pandas or Arrow table in memory."""

    table: Any
    """The table, in whatever library it came."""
    name: str = "frame"
    """What to call it in messages."""
    text_scores = False

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        # A lazy frame warns when it is asked for its columns.
        names = self._schema() if isinstance(self.table, pl.LazyFrame) else getattr(self.table, "column_names", None)
        return tuple(str(name) for name in (self.table.columns if names is None else names))

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles, some rows at a time, or in one go where they are made from Python values."""
        wanted = list(dict.fromkeys(roles.values()))
        if hasattr(self.table, "iloc"):
            yield self._from_pandas(roles)
            return
        if isinstance(self.table, pl.DataFrame | pl.LazyFrame):
            table = self.table.lazy().select(_selected(self._schema(), wanted)).collect()
        elif hasattr(self.table, "__arrow_c_stream__"):
            table = pl.DataFrame(self.table.select(wanted) if hasattr(self.table, "select") else self.table)
        else:
            raise FormatError(
                f"{self.name}: a {quoted(type(self.table).__name__)} is not a table that can be read; pass a path, or "
                "a polars, pandas or Arrow table"
            )
        yield from _typed(table.iter_slices(_ROWS), roles, self)

    def place(self, row: int) -> str:
        """The number of the row, from 1."""
        return f"{self.name}: row {row + 1}"

    def has_field(self, path: str) -> bool:
        """Whether there is a column, or a field of a column, at a path of names joined by dots."""
        schema = self._schema()
        return expression_at(schema, path) is not None if schema else path in self.columns()

    def text_columns(self) -> frozenset[str]:
        """The names of the columns of texts, of a polars frame."""
        return _texts(self._schema())

    def _schema(self) -> Mapping[str, Any]:
        """The types of the columns of a polars frame; of others nothing."""
        return self.table.collect_schema() if isinstance(self.table, pl.DataFrame | pl.LazyFrame) else {}

    def _from_pandas(self, roles: Mapping[Role, str]) -> pl.DataFrame:
        # Through NumPy and Python values: polars' own conversion needs pyarrow.
        by_name = dict(zip(self.columns(), self.table.columns, strict=True))
        fail = failing(self.place)
        columns: dict[str, pl.Series] = {}
        for role, name in roles.items():
            column = self.table[by_name[name]]
            absent = column.isna().to_numpy()
            plain = column.to_numpy()
            if role == "score" and plain.dtype.kind in "biuf":
                # pandas has no other way than NaN to say that a number is missing.
                scores = scores_of(pl.Series(role, plain), fail=fail)
                columns[role] = scores.set(pl.Series(absent), None) if absent.any() else scores
                continue
            values = [None if gone else value for value, gone in zip(column.tolist(), absent, strict=True)]
            columns[role] = values_of(values, role=role, fail=fail)
        return pl.DataFrame(columns)


def _texts(schema: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(name for name, kind in schema.items() if kind == pl.String)


def _selected(schema: Mapping[str, Any], names: Sequence[str]) -> list[pl.Expr]:
    """The columns, and the fields of columns, of these names; polars says which one there is not."""
    found = ((name, expression_at(schema, name)) for name in names)
    return [pl.col(name) if expression is None else expression.alias(name) for name, expression in found]


def _typed(parts: Iterable[pl.DataFrame], roles: Mapping[Role, str], table: Table) -> Iterator[pl.DataFrame]:
    first = 0
    for part in parts:
        fail = failing(table.place, first)
        yield pl.DataFrame({role: values_of(part[column], role=role, fail=fail) for role, column in roles.items()})
        first += part.height


def check_expansion(path: str, name: str, columns: Collection[str] | None = None) -> None:
    """Raise if the columns of a Parquet file, all unless some are named, unpack to more than the limits allow.

    Every value counts for one byte at least: a column of one value repeated takes no room in the file.
    """
    limits = limits_in_force()
    footer = _footer(path, name)
    if footer is None:
        return
    rows = unpacked = 0
    try:
        rows = int(footer[_NUM_ROWS])
        for group in footer[_ROW_GROUPS]:
            for chunk in group[_COLUMNS]:
                column = chunk[_OF_COLUMN]
                if columns is None or column[_PATH][0].decode("utf-8", "replace") in columns:
                    unpacked += int(column[_UNCOMPRESSED])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise FormatError(
            f"{name}: not a readable Parquet file (a part of its footer is missing); write it again"
        ) from None
    packed = Path(path).stat().st_size
    wide = len(columns) if columns is not None else 1
    limits.check_unpacked(max(unpacked, rows * wide), packed=packed, name=name)


def _footer(path: str, name: str) -> dict[int, Any] | None:
    """The footer, or None where there is none that polars would read."""
    with naming_errors(path, name), Path(path).open("rb") as file:
        size = file.seek(0, 2)
        if size < 12:
            return None
        file.seek(size - 8)
        length, magic = struct.unpack("<I4s", file.read(8))
        if magic != _MAGIC or length > size - 8:
            return None
        limits_in_force().check_line(length, place=name, what="the footer")
        file.seek(size - 8 - length)
        content = file.read(length)
    try:
        return _Compact(content).struct(0)
    except (IndexError, ValueError, struct.error):
        raise FormatError(f"{name}: not a readable Parquet file (its footer is damaged); write it again") from None


@dataclass(slots=True)
class _Compact:
    """A cursor in data of Thrift's compact protocol. Past its end it raises IndexError."""

    data: bytes
    at: int = 0

    def struct(self, depth: int) -> dict[int, Any]:
        """The fields of a structure by number."""
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth + 1)
        return fields

    def _value(self, kind: int, depth: int) -> Any:  # noqa: ANN401 - any Thrift value
        if kind in _INTEGERS:
            return self._integer()
        if kind == _BINARY:
            return self._bytes(self._unsigned())
        if kind in (_LIST, _SET):
            head = self._byte()
            count = self._unsigned() if head >> 4 == 15 else head >> 4
            return [self._value(head & 15, depth + 1) for _ in range(count)]
        if kind == _MAP:
            count = self._unsigned()
            kinds = self._byte() if count else 0
            return [(self._value(kinds >> 4, depth + 1), self._value(kinds & 15, depth + 1)) for _ in range(count)]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        raise ValueError(f"unknown type {kind}")

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _bytes(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise IndexError(count)
        self.at += count
        return self.data[self.at - count : self.at]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")

    def _integer(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
