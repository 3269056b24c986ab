"""Tables with typed columns: Parquet files and data frames in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import polars as pl

from bbedge.errors import DataError, FormatError
from bbedge.readers.opening import told
from bbedge.readers.tables.columns import Role
from bbedge.readers.tables.footer import check_expansion
from bbedge.readers.tables.values import names_from_objects, names_of, scores_from_objects, scores_of
from bbedge.text import quoted, shown_path

# Names are text until they are coded, so this many rows of text are in memory at a time.
_ROWS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetFile:
    """A Parquet file."""

    path: str
    """Where it is."""
    text_scores: bool = False
    """Columns are typed: a score that is text is a mistake."""
    called: str | None = None
    """What to call it in messages, if not by its path."""

    @property
    def name(self) -> str:
        """The path for messages."""
        return self.called or shown_path(self.path)

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        with self._readable():
            return tuple(self._scan().collect_schema().names())

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles, some rows at a time."""
        first = 0
        for table in self.slices(list(dict.fromkeys(roles.values())), _ROWS):
            yield _typed(table, roles, name=self.name, first_row=first)
            first += table.height

    def slices(self, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
        """Some columns, so many rows at a time. What they unpack to is checked before."""
        check_expansion(self.path, self.name, frozenset(columns))
        first = 0
        while True:
            with self._readable():
                table = self._scan().select(columns).slice(first, rows).collect()
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

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            with told(self.path, self.name):
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
    text_scores: bool = False
    """Columns are typed: a score that is text is a mistake."""

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        names = getattr(self.table, "column_names", None)
        if names is None:
            names = self._lazy_names() if isinstance(self.table, pl.LazyFrame) else self.table.columns
        return tuple(str(name) for name in names)

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles, some rows at a time, or in one go where they are made from Python values."""
        wanted = list(dict.fromkeys(roles.values()))
        if hasattr(self.table, "iloc"):
            yield self._from_pandas(roles)
            return
        if isinstance(self.table, pl.LazyFrame):
            table = self.table.select(wanted).collect()
        elif isinstance(self.table, pl.DataFrame):
            table = self.table.select(wanted)
        elif hasattr(self.table, "__arrow_c_stream__"):
            table = pl.DataFrame(self.table.select(wanted) if hasattr(self.table, "select") else self.table)
        else:
            raise FormatError(
                f"{self.name}: a {quoted(type(self.table).__name__)} is not a table that can be read; pass a path, or "
                "a polars, pandas or Arrow table"
            )
        first = 0
        for part in table.iter_slices(_ROWS):
            yield _typed(part, roles, name=self.name, first_row=first)
            first += part.height

    def place(self, row: int) -> str:
        """The number of the row, from 1."""
        return f"{self.name}: row {row + 1}"

    def _lazy_names(self) -> list[str]:
        names: list[str] = self.table.collect_schema().names()
        return names

    def _from_pandas(self, roles: Mapping[Role, str]) -> pl.DataFrame:
        # Through NumPy and Python values: polars' own conversion needs pyarrow.
        by_name = dict(zip(self.columns(), self.table.columns, strict=True))
        fail = _failing(self.name, 0)
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
            columns[role] = (
                scores_from_objects(values, fail=fail)
                if role == "score"
                else names_from_objects(values, role=role, fail=fail)
            )
        return pl.DataFrame(columns)


def _typed(table: pl.DataFrame, roles: Mapping[Role, str], *, name: str, first_row: int) -> pl.DataFrame:
    fail = _failing(name, first_row)
    return pl.DataFrame(
        {
            role: scores_of(table[column], fail=fail)
            if role == "score"
            else names_of(table[column], role=role, fail=fail)
            for role, column in roles.items()
        }
    )


def _failing(name: str, first_row: int) -> Any:  # noqa: ANN401 - a Fail, which mypy cannot infer to be NoReturn
    def fail(row: int, problem: str) -> NoReturn:
        raise DataError(f"{name}: row {first_row + row + 1}: {problem}")

    return fail
