"""Columns that are chosen by a name that the table does not have: nested fields, and several columns as one name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import polars as pl

from bbedge.errors import Argument, DomainError
from bbedge.readers.assemble.coding import Table
from bbedge.readers.tables.columns import Role
from bbedge.readers.tables.frames import Frame, ParquetFile
from bbedge.readers.tables.json_lines import JsonLinesFile
from bbedge.readers.tables.records import RecordsFile
from bbedge.readers.tables.wrapped import WrappedTable
from bbedge.text import quoted

BETWEEN = "+"
"""What joins columns in a choice, and their values in a name."""
_PART = "part "


class JoinedColumns(WrappedTable):
    """A table with further columns, whose values are made of one or several others."""

    def __init__(self, inner: Table, made: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__(inner)
        self.made = made

    def columns(self) -> tuple[str, ...]:
        """The names of the columns, with the further ones."""
        return (*self.inner.columns(), *self.made)

    def has_field(self, path: str) -> bool:
        """Whether there is a value at a path of names joined by dots."""
        return has_nested(self.inner, path)

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The columns of the roles; a name that is made of several has an escaped plus between them."""
        wanted: dict[str, str] = {}
        several: dict[Role, list[str]] = {}
        for role, column in roles.items():
            parts = self.made.get(column, (column,))
            if len(parts) == 1:
                wanted[role] = parts[0]
            else:
                several[role] = [f"{_PART}{position} of {role}" for position in range(len(parts))]
                wanted |= dict(zip(several[role], parts, strict=True))
        for batch in self.inner.batches(cast("Mapping[Role, str]", wanted)):
            joined = [
                pl.concat_str([_escaped(pl.col(key)) for key in keys], separator=BETWEEN).alias(role)
                for role, keys in several.items()
            ]
            yield batch.with_columns(joined).select(list(roles))


def _escaped(part: pl.Expr) -> pl.Expr:
    """A part of a name; two different rows of parts never have the same name."""
    return part.str.replace_all("\\", "\\\\", literal=True).str.replace_all(BETWEEN, f"\\{BETWEEN}", literal=True)


def with_chosen(table: Table, chosen: Mapping[Role, str]) -> Table:
    """The table with the columns that were chosen by paths such as ``evaluation.score``, or as ``question_id+turn``."""
    there = set(table.columns()) if chosen else set()
    made: dict[str, tuple[str, ...]] = {}
    for role, name in chosen.items():
        if name in there:
            continue
        parts = (name,) if has_nested(table, name) else tuple(name.split(BETWEEN))
        if all(part in there or has_nested(table, part) for part in parts):
            if len(parts) > 1 and role == "score":
                raise DomainError(
                    Argument("columns", {role: name}),
                    f": {len(parts)} columns, {quoted(parts[0])} and others; a score is one column",
                )
            made[name] = parts
    _check_score_apart(table, chosen, made)
    return JoinedColumns(table, made) if made else table


def _check_score_apart(table: Table, chosen: Mapping[Role, str], made: Mapping[str, tuple[str, ...]]) -> None:
    """Raise if the column of the scores is also a part of a name: an item would be chosen by its score."""
    score = chosen.get("score")
    for role, name in chosen.items():
        if role != "score" and score in made.get(name, ()):
            raise DomainError(
                Argument("columns", {role: name}),
                f": column {quoted(score or '')} of {table.name} holds the scores, so it cannot be a part of the "
                f"{role}; name other columns",
            )


def has_nested(table: Table, path: str) -> bool:
    """Whether there is a nested value at the path."""
    if "." not in path or not isinstance(table, JsonLinesFile | RecordsFile | ParquetFile | Frame | JoinedColumns):
        return False
    return table.has_field(path)
