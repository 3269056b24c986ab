"""What a table in a file says beyond the columns that are read: its path, and what tells two of its rows apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bbedge.readers.assemble.coding import Table
from bbedge.readers.tables import TableFile
from bbedge.readers.tables.columns import ROLES, Role
from bbedge.readers.tables.delimited import DelimitedFile
from bbedge.readers.tables.frames import ParquetFile
from bbedge.readers.tables.joined import JoinedColumns
from bbedge.readers.tables.json_lines import JsonLinesFile
from bbedge.readers.tables.metrics import ChosenMetric, MetricTable, WatchedMetric
from bbedge.readers.tables.named import NamedTable
from bbedge.readers.tables.records import RecordsFile
from bbedge.readers.tables.wide import WideTable

_MOST_ROWS, _LONGEST = 100_000, 60


def is_file(table: Table) -> bool:
    """Whether a table is a plain one in a file, not a log, a frame or a wide table."""
    return isinstance(_innermost(table), TableFile) and not any(isinstance(each, WideTable) for each in _layers(table))


def path_of(table: Table) -> str:
    """The path of a table in a file; empty if it is in none."""
    inner = _innermost(table)
    return inner.path if isinstance(inner, TableFile) else ""


def columns_apart(table: Table, columns: Mapping[Role, str]) -> list[str]:
    """The columns that tell apart rows of one model and one item, as a number of the run or a part of the item does.

    ``columns`` are those that were read, by their roles: they have another meaning already.

    An answer may differ between such rows, too. But its values are not the same for every model, or do not come with
    every item. Only the first rows are looked at.
    """
    inner = _innermost(table)
    if isinstance(table, MetricTable | ChosenMetric):
        return []
    if not isinstance(inner, DelimitedFile | JsonLinesFile | RecordsFile | ParquetFile):
        return []
    rows = inner.head(_MOST_ROWS)
    parts = _parts(table, columns)
    named = {part for its in parts.values() for part in its}
    keys = [tuple(str([row.get(part) for part in parts[role]]) for role in ("model", "item")) for row in rows]
    names = [name for name in inner.columns() if name.strip() and name not in named]
    return [name for name in names if _tells(keys, [row.get(name) for row in rows])]


def _parts(table: Table, columns: Mapping[Role, str]) -> dict[Role, tuple[str, ...]]:
    """The columns of the file that every role is made of; none where the path gives the name."""
    parts: dict[Role, tuple[str, ...]] = {role: (columns[role],) for role in ROLES if role in columns}
    for each in _layers(table):
        if isinstance(each, NamedTable):
            parts |= dict.fromkeys(each.names, ())
        if isinstance(each, JoinedColumns):
            parts = {
                role: tuple(part for name in its for part in each.made.get(name, (name,)))
                for role, its in parts.items()
            }
    return parts


def _tells(keys: Sequence[tuple[str, ...]], values: Sequence[object]) -> bool:
    """Whether the values, of rows with these models and items, number or name them."""
    if not all(isinstance(value, str | int) and len(str(value)) <= _LONGEST for value in values):
        return False
    cells = {(*key, str(value)) for key, value in zip(keys, values, strict=True)}
    if len(cells) < len(keys):
        return False
    of_model: dict[str, set[tuple[str, str]]] = {}
    for model, item, value in cells:
        of_model.setdefault(model, set()).add((item, value))
    first, *others = of_model.values()
    crossed = len(first) == len({item for item, _ in first}) * len({value for _, value in first})
    # A number that no other row has is that of the row.
    alone = len({value for _, value in first}) == len(first)
    return not alone and (all(other == first for other in others) if others else crossed)


def _layers(table: Table) -> Iterator[Table]:
    """The table, and those inside it from the outermost on."""
    yield table
    while isinstance(table, MetricTable | ChosenMetric | WatchedMetric | NamedTable | JoinedColumns | WideTable):
        table = table.inner
        yield table


def _innermost(table: Table) -> Table:
    *_, inner = _layers(table)
    return inner
