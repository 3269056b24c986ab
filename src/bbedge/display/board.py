"""A board's budget, history and events in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Column
from rich.text import Text

from bbedge.certificate.certificate import Certificate
from bbedge.display.tables import print_table, text_table
from bbedge.text import shown

_WORDS = ("about", "time", "kind", "details", "hash")


def show_budget(
    console: Console, rows: Sequence[tuple[int, str, float, int, int]], *, alpha: float, next_level: float
) -> None:
    """Print the number, subject, level, directions and certificates of each claim, and the level of the next one."""
    cells = (
        (str(claim), shown(what, 60), f"{level:.3g}", f"{directions:,}", f"{certified:,}")
        for claim, what, level, directions, certified in rows
    )
    print_table(console, text_table(_columns("claim", "about", "level", "comparisons", "certified"), cells))
    spent = sum(level for _, _, level, _, _ in rows)
    following = f"the next claim gets {next_level:.3g}" if next_level > 0 else "nothing is left for another claim"
    console.print(Text(f"Error budget: {spent:.4g} of {alpha:g} spent; {following}."), highlight=False)
    console.print()


def show_looks(console: Console, certificate: Certificate, *, most: int = 12) -> None:
    """Print the history of looks, latest last: everything certified up to each."""
    looks = certificate.content.looks
    if not looks:
        return
    cells = ((str(look.replicate), f"{look.edges:,}", f"{look.resolved_pairs:,}") for look in looks[-most:])
    caption = f"the last {most} of {len(looks)} looks" if len(looks) > most else None
    columns = _columns("replicate", "certificates", "pairs decided")
    print_table(console, text_table(columns, cells, caption=caption))


def show_events(console: Console, rows: Sequence[tuple[int, str, str, str, str]]) -> None:
    """Print the ledger: number, time, kind, details and hash of each event."""
    cells = (
        (str(seq), at, kind, shown(particulars, 80), Text(digest[:16], style="dim"))
        for seq, at, kind, particulars, digest in rows
    )
    console.print(text_table(_columns("event", "time", "kind", "details", "hash"), cells))


def _columns(*heads: str) -> list[Column]:
    return [Column(head, justify="left" if head in _WORDS else "right", overflow="fold") for head in heads]
