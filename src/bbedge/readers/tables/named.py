"""Tables of which the path says something: one file per model, or one file per run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from bbedge.readers.assemble.coding import Table
from bbedge.readers.tables.columns import Role
from bbedge.readers.tables.wrapped import WrappedTable


class NamedTable(WrappedTable):
    """A table all of whose rows have the same name in some roles, which its path gives."""

    def __init__(self, inner: Table, names: Mapping[Role, str]) -> None:
        super().__init__(inner)
        self.names = names

    def batches(self, roles: Mapping[Role, str]) -> Iterator[pl.DataFrame]:
        """The rows, with the names that the path gives."""
        inner = {role: column for role, column in roles.items() if role not in self.names}
        for batch in self.inner.batches(inner):
            yield batch.with_columns(pl.lit(name).alias(role) for role, name in self.names.items() if role in roles)
