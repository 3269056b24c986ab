"""The footer of a Parquet file: what its columns unpack to, before anything is unpacked.

The footer is a structure of Thrift's compact protocol, of which the little that is needed here is read:
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.limits import limits_in_force
from bbedge.readers.opening import told

_MAGIC = b"PAR1"
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = (4, 5, 6)
_DEEPEST = 32
# Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData.
_ROWS, _ROW_GROUPS, _COLUMNS, _OF_COLUMN, _PATH, _UNCOMPRESSED = 3, 4, 1, 3, 3, 6


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
        rows = int(footer[_ROWS])
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
    with told(path, name), Path(path).open("rb") as file:
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
