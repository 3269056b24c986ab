"""The table of the leaderboard as plain values: the rows of every display, with bars and what the user knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bbedge.certificate.certificate import Certificate
from bbedge.display.page.model_info import InfoCell, InfoColumn, ModelInfo
from bbedge.display.ranking import Row, rows

MOST_ROWS = 200
"""Rows on one page of the table, for a certificate with counts only: a browser takes seconds to lay out thousands."""
_LONG = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A model in the table."""

    row: Row
    """What every display says of it."""
    left: str
    """Where its bar starts, in percent."""
    width: str
    """How wide its bar is, in percent."""
    info: tuple[InfoCell, ...]
    """What the user knows of it, column by column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A column that the table can be filtered by."""

    column: int
    """Its place among the columns that the user gave."""
    title: str
    """What it is called."""
    choices: tuple[str, ...]
    """Its values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The leaderboard."""

    lines: tuple[Line, ...]
    """All models, in the order shown."""
    open_lines: int
    """How many of them the page opens with; the script makes the others page by page."""
    info: tuple[InfoColumn, ...]
    """The columns that the user gave."""
    filters: tuple[Filter, ...]
    """Those of them that the table can be filtered by."""
    by_pair: bool
    """Whether the certificate says anything of single pairs."""
    has_intervals: bool
    """Whether the certificate has intervals of the means."""

    @classmethod
    def of(cls, certificate: Certificate, info: ModelInfo) -> Table:
        """The table of a certificate: what it says, and not what the run that made it knows besides."""
        by_pair = certificate.pairs is not None
        written = certificate if by_pair else replace(certificate, leaderboard=None)
        lines = tuple(_lines(written, info))
        return cls(
            lines=lines,
            open_lines=len(lines) if by_pair else MOST_ROWS,
            info=info.columns,
            filters=tuple(
                Filter(column=place, title=column.title, choices=column.choices)
                for place, column in enumerate(info.columns)
                if column.choices
            ),
            by_pair=by_pair,
            has_intervals=any(line.row.mean_interval for line in lines),
        )

    @property
    def has_long_names(self) -> bool:
        """Whether some name may have to be written in several lines."""
        return any(len(line.row.label) > _LONG for line in self.lines)

    @property
    def has_partial(self) -> bool:
        """Whether a mean is over some of the items only."""
        return any(line.row.mean_over for line in self.lines)

    @property
    def size(self) -> int:
        """Number of models."""
        return len(self.lines)

    def for_script(self) -> dict[str, object]:
        """What the script needs to sort, to filter and to make rows: texts as in the template, column by column."""
        found = [line.row for line in self.lines]
        return {
            "open": self.open_lines,
            "ranks": [(row.best, row.worst) for row in found],
            "full": {row.index: row.full for row in found if row.full != row.label},
            "means": [row.mean for row in found],
            "mean_over": [row.mean_over for row in found] if self.has_partial else None,
            "mean_intervals": [row.mean_interval for row in found] if self.has_intervals else None,
            "behind": [row.behind for row in found],
            "behind_intervals": [row.behind_interval for row in found] if self.by_pair else None,
            "counts": [(row.beats, row.loses_to) for row in found],
            "cuts": [row.index for row in found if row.cut_above],
        }


def _lines(certificate: Certificate, info: ModelInfo) -> Iterator[Line]:
    size = len(certificate.names)
    for row, name in zip(rows(certificate), certificate.names, strict=True):
        yield Line(
            row=row,
            left=f"{100 * (row.best - 1) / size:.4g}",
            width=f"{100 * (row.worst - row.best + 1) / size:.4g}",
            info=tuple(column.cell(name) for column in info.columns),
        )
