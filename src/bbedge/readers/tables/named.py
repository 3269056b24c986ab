"""Tables of which the path says something: one file per model, or one file per run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from bbedge.readers.assemble.coding import Table
from bbedge.readers.tables.columns import Role


class NamedTable:
    """A table all of whose rows have the same name in some roles, which its path gives."""

    def __init__(self, inner: Table, names: Mapping[Role, str]) -> None:
        self.inner, self.names = inner, names

    @property
    def name(self) -> str:
        """What to call the table in messages."""
        return self.inner.name

    @property
    def text_scores(self) -> bool:
        """Whether scores come as text."""
        return self.inner.text_scores

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.inner.columns()

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The rows, with the names that the path gives."""
        inner = {role: column for role, column in roles.items() if role not in self.names}
        for batch in self.inner.batches(inner):
            yield batch.with_columns(pl.lit(name).alias(role) for role, name in self.names.items() if role in roles)

    def place(self, row: int) -> str:
        """Where row ``row`` (from 0) is, for a message."""
        return self.inner.place(row)
