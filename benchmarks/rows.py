"""One line of the table of targets, and the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Sense = Literal["at most", "at least"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A target, what was measured for it, and what both sides of the ratio took."""

    target: str
    """What is measured, in words."""
    measured: float | None
    """The ratio, slope or number that was found; ``None`` if it could not be measured, and the note says why."""
    limit: float | None = None
    """The bound that the target sets; ``None`` for a number that is only told."""
    sense: Sense = "at most"
    """On which side of the limit the measured number should lie."""
    unit: str = "x"
    """``x`` for a ratio, ``s`` for seconds, or a word."""
    sides: str = ""
    """The seconds of both sides, or the points of a curve."""
    note: str = ""
    """What a reader has to know to judge the number."""

    @property
    def is_short(self) -> bool:
        """Whether the target is missed; what was not measured misses nothing."""
        if self.measured is None or self.limit is None:
            return False
        return self.measured > self.limit if self.sense == "at most" else self.measured < self.limit

    @property
    def verdict(self) -> str:
        """Met or short, and by how much.

        >>> Row(target="reading", measured=4.0, limit=3.0).verdict
        'short: 1.33 x the limit'
        """
        if self.measured is None:
            return "not measured"
        if self.limit is None:
            return "told"
        if not self.is_short:
            return "met"
        if self.sense == "at least":
            return f"short: {self.measured / self.limit:.2f} of the limit"
        return f"short: {self.measured / self.limit:.2f} x the limit" if self.limit > 0 else "short"

    @property
    def measured_text(self) -> str:
        """The measured number with its unit."""
        return "-" if self.measured is None else _number(self.measured, self.unit)

    @property
    def limit_text(self) -> str:
        """The limit with its sense and unit."""
        return "-" if self.limit is None else f"{self.sense} {_number(self.limit, self.unit)}"


def _number(value: float, unit: str) -> str:
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{text} {unit}".strip()


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a table of a Markdown document."""
    lines = ["| target | measured | limit | verdict | both sides | note |", "|---|---|---|---|---|---|"]
    for row in rows:
        cells = (row.target, row.measured_text, row.limit_text, row.verdict, row.sides, row.note)
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(lines)


def plain(rows: Sequence[Row]) -> str:
    """The rows for a terminal: one line for the verdict, the rest below it."""
    lines = []
    for row in rows:
        limit = "" if row.limit is None else f", {row.limit_text}"
        lines.append(f"  {row.verdict:26} {row.measured_text}{limit}: {row.target}")
        lines += [f"  {'':26} {text}" for text in (row.sides, row.note) if text]
    return "\n".join(lines)


def shortfalls(rows: Sequence[Row]) -> str:
    """What is short of its target, or was not measured, as a list of a Markdown document."""
    lines = [
        f"* {row.target}: {row.measured_text}, {row.limit_text} ({row.verdict}). {row.note}".rstrip()
        for row in rows
        if row.is_short
    ]
    lines += [f"* {row.target}: not measured. {row.note}".rstrip() for row in rows if row.measured is None]
    return "\n".join(lines) or "Nothing."
