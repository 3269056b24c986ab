"""A board's budget, history and events in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bbedge.certificate.certificate import Certificate
from bbedge.text import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """One claim on the error budget."""

    claim: int
    """Its place in the spending sequence."""
    what: str
    """What it is about, in words."""
    level: float
    """The part of alpha that it spends."""
    directions: int
    """Directions tested."""
    certified: int
    """Directions certified so far."""


def show_budget(console: Console, rows: Sequence[ClaimRow], *, alpha: float, next_level: float) -> None:
    """Print the level of each claim, the total, and the level of the next claim."""
    table = _table("claim", "about", "level", "comparisons", "certified")
    for row in rows:
        table.add_row(
            Text(str(row.claim)),
            Text(shown(row.what, 60)),
            Text(f"{row.level:.3g}"),
            Text(f"{row.directions:,}"),
            Text(f"{row.certified:,}"),
        )
    console.print(Padding(table, (0, 0, 1, 0), expand=False))
    spent = sum(row.level for row in rows)
    following = f"the next claim gets {next_level:.3g}" if next_level > 0 else "nothing is left for another claim"
    console.print(Text(f"Error budget: {spent:.4g} of {alpha:g} spent; {following}."), highlight=False)
    console.print()


def show_looks(console: Console, certificate: Certificate, *, most: int = 12) -> None:
    """Print the history of looks, latest last: everything certified up to each."""
    looks = certificate.content.looks
    if not looks:
        return
    table = _table("replicate", "certificates", "pairs decided")
    for look in looks[-most:]:
        table.add_row(Text(str(look.replicate)), Text(f"{look.edges:,}"), Text(f"{look.resolved_pairs:,}"))
    if len(looks) > most:
        table.caption = f"the last {most} of {len(looks)} looks"
    console.print(Padding(table, (0, 0, 1, 0), expand=False))


def show_events(console: Console, rows: Sequence[tuple[int, str, str, str, str]]) -> None:
    """Print the ledger: number, time, kind, details and hash of each event."""
    table = _table("event", "time", "kind", "details", "hash")
    for seq, at, kind, particulars, digest in rows:
        table.add_row(
            Text(str(seq)), Text(at), Text(kind), Text(shown(particulars, 80)), Text(digest[:16], style="dim")
        )
    console.print(table)


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    words = ("about", "time", "kind", "details", "hash")
    for column in columns:
        table.add_column(column, justify="left" if column in words else "right", overflow="fold")
    return table
