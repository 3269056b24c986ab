"""Which columns of score tables describe the items: those with one value for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from bbedge.errors import BbedgeError
from bbedge.readers.limits import LimitError
from bbedge.readers.sources import open_table
from bbedge.readers.tables.columns import Role
from bbedge.readers.tables.frames import ParquetFile
from bbedge.readers.tables.item_columns import METRIC, column_key
from bbedge.readers.tables.joined import JoinedColumns, with_chosen
from bbedge.readers.tables.json_lines import JsonLinesFile
from bbedge.readers.tables.records import RecordsFile
from bbedge.readers.tables.roles import chosen_columns, find_roles
from bbedge.readers.tables.wide import as_wide

if TYPE_CHECKING:
    from bbedge.readers.assemble.coding import Table
    from bbedge.readers.sources import Source

# Rows of a table that are looked at, and values of a column that are counted; more are prompts, not categories.
_ROWS, _VALUES = 1_000_000, 5000


@dataclass(slots=True)
class ColumnSurvey:
    """The columns of all tables so far that could describe the items."""

    _of_item: dict[str, dict[str, str]] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)
    _metrics: set[str] = field(default_factory=set)

    def counts(self) -> dict[str, int]:
        """The number of values of every column that has one for each item; of ``metric`` also if it has several."""
        counts = {name: len(set(values.values())) for name, values in self._of_item.items() if values}
        return counts | ({METRIC: len(self._metrics)} if self._metrics else {})

    def add(self, source: Source, columns: Mapping[str, str] | None) -> None:
        """Look at the first rows of a table. What cannot be read is left for the reader of its scores to refuse."""
        try:
            chosen = chosen_columns(columns, None)
            table = with_chosen(open_table(source.path, source.called), chosen)
            if as_wide(table, chosen=chosen, asked=False) is None:
                roles = find_roles(table.columns(), table=table.name, chosen=chosen)
                self._look(table, roles)
        except LimitError:
            raise
        except BbedgeError:
            return

    def _look(self, table: Table, roles: Mapping[Role, str]) -> None:
        taken = {column for role, column in roles.items() if role != "block"}
        names = [
            name for name in _candidates(table) if name.strip() and name not in taken and name not in self._refused
        ]
        if not names:
            return
        keys: dict[Role, str] = {"item": roles["item"], **{column_key(name): name for name in names}}
        left = _ROWS
        for whole in table.batches(keys):
            batch = whole.head(left)
            for name in names:
                if name not in self._refused:
                    self._count(name, batch.select("item", column_key(name)).unique())
            left -= batch.height
            if left <= 0:
                return

    def _count(self, name: str, pairs: pl.DataFrame) -> None:
        """Count values of a column, given with their items; drop it if an item has two, or none."""
        values = pairs[column_key(name)]
        if values.null_count() or (values.str.strip_chars() == "").any():
            self._drop(name)
        elif name == METRIC:
            self._metrics |= set(values.unique())
        elif pairs.height > pairs["item"].n_unique() or values.n_unique() > _VALUES:
            self._drop(name)
        else:
            of_item = self._of_item.setdefault(name, {})
            if any(of_item.setdefault(item, value) != value for item, value in pairs.iter_rows()):
                self._drop(name)

    def _drop(self, name: str) -> None:
        self._refused.add(name)
        self._of_item.pop(name, None)


def _candidates(table: Table) -> Sequence[str]:
    inner = table.inner if isinstance(table, JoinedColumns) else table
    if isinstance(inner, ParquetFile):
        return inner.plain_columns()
    return inner.field_names() if isinstance(inner, JsonLinesFile | RecordsFile) else inner.columns()
