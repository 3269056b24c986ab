"""Tables with typed columns: Parquet files and data frames in memory.

The footer of a Parquet file says what its columns unpack to, before anything is unpacked. It is a structure of Thrift's
compact protocol, of which the little that is needed here is read:
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

import io
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from bbedge.errors import FormatError
from bbedge.readers.limits import limits_in_force
from bbedge.readers.opening import naming_errors
from bbedge.readers.tables import PlainTable
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
class TypedTable(PlainTable):
    """A table whose columns have types: a score that is text is a mistake."""

    text_scores = False

    def schema(self) -> Mapping[str, Any]:
        """The types of the columns, as far as polars knows them."""
        raise NotImplementedError

    def text_columns(self) -> frozenset[str]:
        """The names of the columns of texts."""
        return frozenset(name for name, kind in self.schema().items() if kind == pl.String)

    def has_field(self, path: str) -> bool:
        """Whether there is a column, or a field of a column, at a path of names joined by dots."""
        return expression_at(self.schema(), path) is not None

    def location_of_row(self, row: int) -> str:
        """The name and the number of the row, from 1."""
        return f"{self.name}: row {row + 1}"

    def _selected(self, names: Iterable[str]) -> list[pl.Expr]:
        """The columns, and the fields of columns, of these names; polars says which one there is not."""
        schema = self.schema()
        found = ((name, expression_at(schema, name)) for name in names)
        return [pl.col(name) if expression is None else expression.alias(name) for name, expression in found]

    def _by_role(self, parts: Iterable[pl.DataFrame], roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        first = 0
        for part in parts:
            fail = failing(self.location_of_row, first)
            yield pl.DataFrame({role: values_of(part[column], role=role, fail=fail) for role, column in roles.items()})
            first += part.height


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetFile(TypedTable):
    """A Parquet file."""

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.schema())

    def field_names(self) -> tuple[str, ...]:
        """The names of the columns whose values are texts, numbers or the like."""
        kinds = self.schema().items()
        return tuple(name for name, kind in kinds if not (kind.is_nested() or kind in (pl.Binary, pl.Object)))

    def head(self, count: int) -> Sequence[Mapping[str, Any]]:
        """The first rows."""
        check_expansion(self.path, self.name)
        with self._readable() as table:
            return table.head(count).collect().to_dicts()

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles, some rows at a time."""
        return self._by_role(self.slices(list(dict.fromkeys(roles.values())), _ROWS), roles)

    def slices(self, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
        """Some columns, so many rows at a time. What they unpack to is checked before."""
        wanted = self._selected(columns)
        check_expansion(self.path, self.name, frozenset(name for each in wanted for name in each.meta.root_names()))
        for first in count(0, rows):
            with self._readable() as table:
                part = table.select(wanted).slice(first, rows).collect()
            if not part.height:
                return
            yield part

    def schema(self) -> Mapping[str, Any]:
        """The types of the columns."""
        with self._readable() as table:
            return table.collect_schema()

    @contextmanager
    def _readable(self) -> Iterator[pl.LazyFrame]:
        try:
            self.path.encode()
        except UnicodeEncodeError:
            raise FormatError(
                f"{self.name}: the path is not valid Unicode, as polars needs it; rename the file"
            ) from None
        try:
            with naming_errors(self.path, self.name):
                # A path is one file: no wildcards in it, and no columns taken from the names of its folders.
                yield pl.scan_parquet(self.path, glob=False, hive_partitioning=False)
        # A panic is what Rust calls a failed assertion: damaged files reach some of them.
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = str(error).partition("\n")[0]
            raise FormatError(f"{self.name}: not a readable Parquet file ({reason}); write it again") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame(TypedTable):
    """A polars, pandas or Arrow table in memory."""

    table: Any
    """The table, in whatever library it came."""

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        # A lazy frame warns when it is asked for its columns.
        names = self.schema() if isinstance(self.table, pl.LazyFrame) else getattr(self.table, "column_names", None)
        return tuple(str(name) for name in (self.table.columns if names is None else names))

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles, some rows at a time, or in one go where they are made from Python values."""
        wanted = list(dict.fromkeys(roles.values()))
        if hasattr(self.table, "iloc"):
            return iter([self._from_pandas(roles)])
        if isinstance(self.table, pl.DataFrame | pl.LazyFrame):
            table = self.table.lazy().select(self._selected(wanted)).collect()
        elif hasattr(self.table, "__arrow_c_stream__"):
            table = pl.DataFrame(self.table.select(wanted) if hasattr(self.table, "select") else self.table)
        else:
            raise FormatError(
                f"{self.name}: a {quoted(type(self.table).__name__)} is not a table that can be read; pass a path, or "
                "a polars, pandas or Arrow table"
            )
        return self._by_role(table.iter_slices(_ROWS), roles)

    def schema(self) -> Mapping[str, Any]:
        """The types of the columns of a polars frame; of others nothing."""
        return self.table.collect_schema() if isinstance(self.table, pl.DataFrame | pl.LazyFrame) else {}

    def _from_pandas(self, roles: Mapping[Role, str]) -> pl.DataFrame:
        # Through NumPy and Python values: polars' own conversion needs pyarrow.
        by_name = dict(zip(self.columns(), self.table.columns, strict=True))
        fail = failing(self.location_of_row)
        columns: dict[str, pl.Series] = {}
        for role, name in roles.items():
            column = self.table[by_name[name]]
            absent, plain = column.isna().to_numpy(), column.to_numpy()
            if role == "score" and plain.dtype.kind in "biuf":
                # pandas has no other way than NaN to say that a number is missing.
                columns[role] = scores_of(pl.Series(role, plain), fail=fail).set(pl.Series(absent), None)
            else:
                values = [None if gone else value for value, gone in zip(column.tolist(), absent, strict=True)]
                columns[role] = values_of(values, role=role, fail=fail)
        return pl.DataFrame(columns)


def check_expansion(path: str, name: str, columns: Collection[str] | None = None) -> None:
    """Raise if the columns of a Parquet file, all unless some are named, unpack to more than the limits allow.

    Every value counts for one byte at least: a column of one value repeated takes no room in the file.
    """
    footer = _footer(path, name)
    if footer is None:
        return
    try:
        rows = int(footer[_NUM_ROWS])
        unpacked = sum(
            int(chunk[_UNCOMPRESSED])
            for chunk in [chunk[_OF_COLUMN] for group in footer[_ROW_GROUPS] for chunk in group[_COLUMNS]]
            if columns is None or chunk[_PATH][0].decode("utf-8", "replace") in columns
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise FormatError(
            f"{name}: not a readable Parquet file (a part of its footer is missing); write it again"
        ) from None
    values = rows * (1 if columns is None else len(columns))
    limits_in_force().check_unpacked(max(unpacked, values), packed=Path(path).stat().st_size, name=name)


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


class _Compact(io.BytesIO):
    """Data of Thrift's compact protocol. Past its end it raises IndexError."""

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
        if kind in (_LIST, _SET):
            head = self._byte()
            length = self._unsigned() if head >> 4 == 15 else head >> 4
            return [self._value(head & 15, depth + 1) for _ in range(length)]
        if kind == _MAP:
            length = self._unsigned()
            kinds = self._byte() if length else 0
            return [(self._value(kinds >> 4, depth + 1), self._value(kinds & 15, depth + 1)) for _ in range(length)]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_BINARY, _DOUBLE):
            return self._bytes(self._unsigned() if kind == _BINARY else 8)
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        raise ValueError(f"unknown type {kind}")

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _bytes(self, length: int) -> bytes:
        found = self.read(length)
        if len(found) < length:
            raise IndexError(length)
        return found

    def _unsigned(self) -> int:
        value = 0
        for shift in range(0, 64, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("a number of more than 64 bits")

    def _integer(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
