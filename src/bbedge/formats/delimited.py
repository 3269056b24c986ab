"""CSV and TSV files.

polars parses the file piece by piece; it fills short rows with nulls and cannot tell lines, so whatever it finds odd
is parsed again by the csv module, which can. A cut between two pieces must not fall into a quoted field.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import polars as pl

from bbedge.errors import FormatError
from bbedge.formats.columns import Role
from bbedge.formats.opening import PIECE, decoded, lines, lines_if_plain, pieces
from bbedge.naming import quoted, shown_path

# A quoted field longer than this is a quote that was never closed.
_LONGEST_RECORD = 4 * PIECE


@dataclass(frozen=True, slots=True, kw_only=True)
class DelimitedFile:
    """A file of separated fields with a header."""

    path: str
    """Where it is."""
    separator: str
    """A comma or a tab."""
    text_scores: bool = True
    """Scores are text that may be a number or true/false."""

    @property
    def name(self) -> str:
        """The path for messages."""
        return shown_path(self.path)

    def columns(self) -> tuple[str, ...]:
        """The names in the header."""
        return self._header()[0]

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles as text, piece by piece."""
        header, skipped = self._header()
        for line, chunk in self._whole_records(skipped):
            table = self._parsed(chunk, header, line)
            yield table.select(pl.nth(header.index(column)).alias(role) for role, column in roles.items())

    def place(self, row: int) -> str:
        """The path and the line at which data row ``row`` (from 0) begins."""
        left = row
        try:
            with _long_fields():
                for first_line, chunk in self._whole_records(self._header()[1]):
                    # Lines of a plain piece are rows: counting them is a hundred times faster than parsing.
                    plain = lines_if_plain(chunk, quote=b'"')
                    if plain is not None and plain <= left:
                        left -= plain
                        continue
                    for line, _ in self._records(io.BytesIO(chunk), first_line=first_line):
                        if left == 0:
                            return f"{self.name}:{line}"
                        left -= 1
        except FormatError:
            # polars read on where the csv module is stricter: the row is right, its line unknown.
            pass
        return f"{self.name}: row {row + 1}"

    def _header(self) -> tuple[tuple[str, ...], int]:
        """The header and the number of lines before the first data row."""
        consumed = 0

        def counted() -> Iterator[bytes]:
            nonlocal consumed
            for line in lines(self.path):
                consumed += 1
                yield line

        with _long_fields():
            for _, fields in self._records(counted(), first_line=1):
                if any("\r" in field for field in fields):
                    raise FormatError(
                        f"{self.name}:1: lines end with a lone CR; save the file with LF or CRLF line ends"
                    )
                return tuple(fields), consumed
        raise FormatError(f"{self.name}: only blank lines; expected a header with model, item and score")

    def _whole_records(self, skipped: int) -> Iterator[tuple[int, bytes]]:
        """Pieces that end with a record, each with its first line; the first ``skipped`` lines are left out."""
        line, rest, to_skip = skipped + 1, b"", skipped
        for piece in pieces(self.path):
            rest += piece
            while to_skip and b"\n" in rest:
                rest = rest[rest.index(b"\n") + 1 :]
                to_skip -= 1
            if to_skip:
                continue
            cut = _last_record_end(rest)
            if not cut and len(rest) > _LONGEST_RECORD:
                raise FormatError(
                    f"{self.name}:{line}: from here on a quoted field does not end for {len(rest) >> 20} MB; "
                    "close the quote, or write a quote inside a field twice and put the field in quotes"
                )
            if cut:
                yield line, rest[:cut]
                line += rest.count(b"\n", 0, cut)
                rest = rest[cut:]
        if rest and not to_skip:
            yield line, rest

    def _parsed(self, chunk: bytes, header: tuple[str, ...], line: int) -> pl.DataFrame:
        schema = {str(position): pl.String for position in range(len(header))}
        try:
            table = pl.read_csv(io.BytesIO(chunk), has_header=False, schema=schema, separator=self.separator)
        except pl.exceptions.PolarsError:
            return self._parsed_slowly(chunk, schema, line)
        # polars refuses long rows but fills short ones and blank lines with nulls. A full last column shows that
        # there are none of these; failing that, and without quotes, the number of separators does.
        if not table[:, -1].null_count():
            return table
        if b'"' not in chunk and chunk.count(self.separator.encode()) == table.height * (len(header) - 1):
            return table
        return self._parsed_slowly(chunk, schema, line)

    def _parsed_slowly(self, chunk: bytes, schema: dict[str, type[pl.String]], line: int) -> pl.DataFrame:
        rows = []
        with _long_fields():
            for place, fields in self._records(io.BytesIO(chunk), first_line=line):
                if len(fields) != len(schema):
                    raise FormatError(
                        f"{self.name}:{place}: {len(fields)} fields where the header has {len(schema)}; a field that "
                        "holds the separator, a quote or a line end must be in double quotes"
                    )
                rows.append(fields)
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _records(self, source: Iterable[bytes], *, first_line: int) -> Iterator[tuple[int, list[str]]]:
        """The records that are not blank, each with the line at which it begins."""
        reached = first_line - 1

        def texts() -> Iterator[str]:
            nonlocal reached
            for line in source:
                reached += 1
                yield decoded(line, place=f"{self.name}:{reached}")

        reader = csv.reader(texts(), delimiter=self.separator, strict=True)
        while True:
            begin = reached + 1
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise FormatError(
                    f"{self.name}:{begin}: the record that begins here cannot be read ({error}); write a quote inside "
                    f"a field twice and put the field in quotes, and end every quoted field with a quote and "
                    f"{quoted(self.separator)}"
                ) from None
            if fields:
                yield begin, fields


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let the csv module read fields beyond 128 kB: columns that nobody asked for can hold whole prompts."""
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _last_record_end(data: bytes) -> int:
    """The position after the last line feed that is not inside quotes, or 0."""
    cut = data.rfind(b"\n") + 1
    odd = data.count(b'"', 0, cut) % 2
    while odd and cut:
        earlier = data.rfind(b"\n", 0, cut - 1) + 1
        odd ^= data.count(b'"', earlier, cut) % 2
        cut = earlier
    return cut
