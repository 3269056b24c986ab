"""Tables around other tables, which change the rows and nothing else."""

from __future__ import annotations

from bbedge.readers.assemble.coding import Table


class WrappedTable:
    """What a table has in common with the one inside it."""

    def __init__(self, inner: Table) -> None:
        self.inner = inner

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

    def place(self, row: int) -> str:
        """Where row ``row`` (from 0) is, for a message."""
        return self.inner.place(row)
