"""Sheets of spreadsheets: .xlsx and .xlsm, by openpyxl, an optional dependency.

The file must have one sheet with something in it, whose first row with something in it is the header. A cell has the
value that was saved with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.json_files import Archive, zip_library
from bbedge.readers.opening import naming_errors
from bbedge.readers.tables.json_rows import JsonTable
from bbedge.text import listed, quoted

SHEETS = (".xlsx", ".xlsm")


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
