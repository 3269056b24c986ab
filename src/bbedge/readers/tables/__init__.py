"""Plain tables: one row per score, wide, as CSV, JSON lines, Parquet or a data frame."""

from __future__ import annotations

from dataclasses import dataclass

from bbedge.text import shown_path


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """A file with a table in it."""

    path: str
    """Where it is."""
    called: str | None = None
    """What to call it in messages, if not by its path."""

    @property
    def name(self) -> str:
        """The path for messages."""
        return self.called or shown_path(self.path)
