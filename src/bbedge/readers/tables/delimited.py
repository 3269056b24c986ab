"""Files of cells: CSV and TSV, and sheets of spreadsheets.

polars parses a CSV file piece by piece; it fills short rows with nulls and does not report lines, so what it refuses
or fills is parsed again by the csv module, which does. A cut between two pieces must not fall into a quoted field.

Of a spreadsheet (.xlsx and .xlsm, read by openpyxl, an optional dependency) one sheet has something in it, and its
first row with something in it is the header. A cell has the value that was saved with it.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from typing import Any

import polars as pl

from bbedge.errors import DataError, FormatError
from bbedge.readers.json_files import Archive, zip_library
from bbedge.readers.limits import HOW_TO_RAISE, LimitError, limits_in_force
from bbedge.readers.opening import decoded, lines, lines_if_plain, naming_errors, pieces, whole_pieces
from bbedge.readers.tables import PlainTable, line_of_row
from bbedge.readers.tables.columns import ALIASES, ROLES, Role
from bbedge.readers.tables.json_rows import JsonTable
from bbedge.text import listed, quoted

_BLANK_LINES = re.compile(rb"^[\r\n]*\n", re.MULTILINE)
_MANY_BLANK_LINES = b"\n" * 1000
DECIMAL_COMMA = ";"
"""The separator of files whose numbers have decimal commas."""
CELL = "cell "
"""How the keys of the columns of a wide table begin, each of which holds scores."""
SHEETS = (".xlsx", ".xlsm")


@dataclass(frozen=True, slots=True, kw_only=True)
class DelimitedFile(PlainTable):
    """A file of separated fields with a header. Scores are text that may be a number or true/false."""

    separator: str
    """A comma, a tab or a semicolon."""
    text_scores = True

    def columns(self) -> tuple[str, ...]:
        """The names in the header."""
        return self._header()[0]

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles as text, piece by piece."""
        header, skipped = self._header()
        positions = {column: position for position, column in enumerate(header)}
        # Where commas separate fields, one inside a number is a mistake.
        commas = DecimalCommas(self) if self.separator == DECIMAL_COMMA else None
        for line, chunk in self._whole_records(skipped):
            table = self._parsed(chunk, header, line)
            batch = table.select(pl.nth(positions[column]).alias(role) for role, column in roles.items())
            yield batch if commas is None else commas.replaced(batch)

    def head(self, count: int) -> Sequence[Mapping[str, Any]]:
        """The first rows, as texts."""
        header, skipped = self._header()
        for line, chunk in self._whole_records(skipped):
            with _long_fields():
                rows = [fields for _, fields in islice(self._records(chunk, line), count)]
            # A piece may hold blank lines only.
            if rows:
                return [dict(zip(header, fields, strict=False)) for fields in rows]
        return []

    def location_of_row(self, row: int) -> str:
        """The path and the line at which data row ``row`` (from 0) begins."""
        # Lines of a plain piece are rows: counting them is a hundred times faster than parsing.
        count = partial(lines_if_plain, quote=b'"')
        # polars reads on where the csv module is stricter: the row is right then, its line unknown.
        with _long_fields(), suppress(FormatError):
            line = line_of_row(row, self._whole_records(self._header()[1]), count=count, lines=self._records)
            if line is not None:
                return f"{self.name}:{line}"
        return f"{self.name}: row {row + 1}"

    def _header(self) -> tuple[tuple[str, ...], int]:
        """The header and the number of lines before the first data row."""
        first = consumed = size = 0

        def texts() -> Iterator[str]:
            nonlocal first, consumed, size
            for number, line in lines(self.path, self.name):
                first = first or number
                # Blank lines before the header are passed over; those inside a quoted name belong to it.
                blank = number - consumed - 1 if consumed else 0
                size += blank + len(line)
                limits_in_force().check_line(size, place=f"{self.name}:{first}", what="the header")
                yield from repeat("\n", blank)
                consumed = number
                yield decoded(line, place=f"{self.name}:{number}")

        with _long_fields():
            fields = self._next(csv.reader(texts(), delimiter=self.separator, strict=True), lambda: first)
        if fields is None:
            raise FormatError(f"{self.name}: only blank lines; expected a header with model, item and score")
        if any("\r" in field for field in fields):
            raise FormatError(f"{self.name}:1: lines end with a lone CR; save the file with LF or CRLF line ends")
        return tuple(fields), consumed

    def _whole_records(self, skipped: int) -> Iterator[tuple[int, bytes]]:
        """Pieces that end with a record, each with its first line; the first ``skipped`` lines are left out."""
        parts = _without_lines(pieces(self.path, self.name), skipped)
        return whole_pieces(parts, first_line=skipped + 1, end_in=_last_record_end, check=self._check_ends)

    def _check_ends(self, rest: bytes, line: int) -> None:
        if len(rest) <= limits_in_force().line_bytes:
            return
        what, advice = "a line", "write one row per line, or "
        if b'"' in rest:
            what = "from here on a quoted field"
            advice = "close the quote, or write a quote inside a field twice and put the field in quotes, or "
        raise LimitError(f"{self.name}:{line}: {what} does not end for {len(rest) >> 20} MiB; {advice}", *HOW_TO_RAISE)

    def _parsed(self, chunk: bytes, header: tuple[str, ...], line: int) -> pl.DataFrame:
        schema = {str(position): pl.String for position in range(len(header))}
        plain, whole = b'"' not in chunk, chunk
        if plain and (chunk.startswith((b"\r", b"\n")) or b"\n\n" in chunk or b"\n\r\n" in chunk):
            chunk = _BLANK_LINES.sub(b"", chunk)
        if not chunk:
            return pl.DataFrame(schema=schema)
        # For each of many blank lines between quoted fields polars would make a row.
        if plain or _MANY_BLANK_LINES not in chunk:
            with suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException):
                table = pl.read_csv(io.BytesIO(chunk), has_header=False, schema=schema, separator=self.separator)
                # polars refuses long rows but fills short ones and blank lines with nulls. A full last column shows
                # that there are none of these; failing that, and without quotes, the number of separators does.
                full = not table[:, -1].null_count()
                if full or (plain and chunk.count(self.separator.encode()) == table.height * (len(header) - 1)):
                    return table
        rows = []
        with _long_fields():
            for place, fields in self._records(whole, line):
                if len(fields) != len(schema):
                    raise FormatError(
                        f"{self.name}:{place}: {len(fields)} fields where the header has {len(schema)}; a field that "
                        "holds the separator, a quote or a line end must be in double quotes"
                    )
                rows.append(fields)
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _records(self, chunk: bytes, first_line: int) -> Iterator[tuple[int, list[str]]]:
        """The records that are not blank, each with the line at which it begins."""
        at, reached, name = 0, first_line - 1, self.name  # found once, not for every line

        def texts() -> Iterator[str]:
            nonlocal at, reached
            while at < len(chunk):
                end = chunk.find(b"\n", at) + 1 or len(chunk)
                line, at, reached = chunk[at:end], end, reached + 1
                yield decoded(line, place=f"{name}:{reached}")

        reader = csv.reader(texts(), delimiter=self.separator, strict=True)
        while True:
            # Between two records blank lines mean nothing, and there may be millions of them.
            blank = _BLANK_LINES.match(chunk, at)
            if blank is not None:
                at, reached = blank.end(), reached + blank[0].count(b"\n")
            begin = reached + 1
            fields = self._next(reader, lambda: begin)  # noqa: B023 - called at once
            if fields is None:
                return
            if fields:
                yield begin, fields

    def _next(self, reader: Iterator[list[str]], begin: Callable[[], int]) -> list[str] | None:
        """The next record, None at the end, or an error that says at which line it begins."""
        try:
            return next(reader, None)
        except csv.Error as error:
            raise FormatError(
                f"{self.name}:{begin()}: the record that begins here cannot be read ({error}); write a quote inside "
                f"a field twice and put the field in quotes, and end every quoted field with a quote and "
                f"{quoted(self.separator)}"
            ) from None


class DecimalCommas:
    """Numbers of a file whose fields are separated by semicolons: they have commas where others have points.

    Spreadsheets and R write such files in countries that write 0,5. A number with a point as well is refused, because
    one of the two separates thousands.
    """

    def __init__(self, table: DelimitedFile) -> None:
        self._table, self._row = table, 0
        self._comma = self._point = False

    def replaced(self, batch: pl.DataFrame) -> pl.DataFrame:
        """The batch with points in the numbers of scores."""
        names = [name for name in batch.columns if name == "score" or name.startswith(CELL)]
        for name in names:
            commas, points = (batch[name].str.contains(sign, literal=True).fill_null(value=False) for sign in ",.")
            self._comma, self._point = self._comma or bool(commas.any()), self._point or bool(points.any())
            if self._comma and self._point:
                # The first of each that is in this piece; the later one is the odd one.
                row = max(int(signs.arg_max() or 0) for signs in (commas, points) if signs.any())
                raise DataError(
                    f"{self._table.location_of_row(self._row + row)}: score {quoted(str(batch[name][row]))} in a file "
                    "with commas and points in its numbers; write all of them with a decimal point, without separators "
                    "of thousands"
                )
        self._row += batch.height
        return batch.with_columns(pl.col(name).str.replace(",", ".", literal=True) for name in names)


def separator_of(path: str, name: str, usual: str) -> str:
    """What separates the fields of a file, by its first line: ``usual``, unless that is none of it."""
    try:
        with _long_fields():
            line = next(decoded(text, place=name) for _, text in lines(path, name))
            fields = {sign: next(csv.reader([line], delimiter=sign), []) for sign in (usual, DECIMAL_COMMA, "\t")}
    except (StopIteration, FormatError, csv.Error):
        # Whatever is wrong with the file shows, with its place, when it is read.
        return usual
    known = {name for role in ROLES for name in (role, *ALIASES[role])}
    if len(fields[usual]) > 1 and known & {field.strip().casefold() for field in fields[usual]}:
        return usual
    return max(fields, key=lambda sign: len(fields[sign]))


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let the csv module read fields beyond 128 kB: columns that are not needed can hold whole prompts."""
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


def _without_lines(parts: Iterable[bytes], count: int) -> Iterator[bytes]:
    """The parts of a file without its first ``count`` lines."""
    for data in parts:
        at = 0
        while count and (end := data.find(b"\n", at) + 1):
            count, at = count - 1, end
        yield b"" if count else data[at:]


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetFile(JsonTable):
    """The only sheet of a spreadsheet."""

    no_rows = "a header but no rows; expected one row for every score"
    counted = "row"

    def numbered(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows that are not blank, by the names of the columns, each with its number in the sheet."""
        header: list[str] | None = None
        for number, values in self._rows():
            if header is None:
                header = ["" if value is None else str(value) for value in values]
                continue
            if any(value is not None for value in values[len(header) :]):
                raise FormatError(f"{self.name}: row {number}: more values than the header has names; name the columns")
            yield number, dict(zip(header, values, strict=False))

    def _rows(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """The rows that are not blank, without the empty cells at their ends."""
        with self._sheets(data_only=True) as values, self._sheets(data_only=False) as formulas:
            filled = [name for name, rows in values.items() if any(cell is not None for row in rows() for cell in row)]
            if len(filled) != 1:
                what = (
                    f"the sheets {listed(filled)} have something in them" if filled else "no sheet has anything in it"
                )
                raise FormatError(f"{self.name}: {what}; save the sheet with the scores as a file of its own, as CSV")
            both = zip(values[filled[0]](), formulas[filled[0]](), strict=True)
            for number, (row, written) in enumerate(both, start=1):
                unsaved = [
                    cell for value, cell in zip(row, written, strict=False) if value is None and cell is not None
                ]
                if unsaved:
                    raise FormatError(
                        f"{self.name}: row {number}: the formula {quoted(str(unsaved[0]))} without a saved value; open "
                        "the file in a spreadsheet program and save it, or save the sheet as CSV"
                    )
                width = max((at for at, value in enumerate(row, start=1) if value is not None), default=0)
                if width:
                    yield number, tuple(row[:width])

    @contextmanager
    def _sheets(self, *, data_only: bool) -> Iterator[dict[str, Any]]:
        """The functions that read the sheets, by name."""
        try:
            from openpyxl import load_workbook
        except ImportError:
            raise FormatError(
                f"{self.name}: a spreadsheet, which needs openpyxl; install it with: pip install openpyxl; or save the "
                "sheet as CSV (in UTF-8) and name that file"
            ) from None
        with Archive(self.path) as archive:
            archive.check_whole()
        # What openpyxl raises on a damaged file, besides what is raised on a damaged archive.
        damage: tuple[type[Exception], ...] = zip_library()[1]
        damage += (KeyError, ValueError, TypeError, AttributeError, IndexError, SyntaxError)
        # The library leaves sheets open that are not read to their end.
        with naming_errors(self.path, self.name), Path(self.path).open("rb") as file:
            try:
                book = load_workbook(file, read_only=True, data_only=data_only)
                for sheet in book.worksheets:
                    # Some programs write a size that is not that of the sheet.
                    sheet.reset_dimensions()
                yield {sheet.title: partial(sheet.iter_rows, values_only=True) for sheet in book.worksheets}
            except FormatError:
                raise
            except damage as error:
                raise FormatError(f"{self.name}: not a readable spreadsheet ({error}); save it again") from None
