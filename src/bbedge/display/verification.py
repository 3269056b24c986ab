"""What was checked of a certificate, in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from bbedge.text import counted, shown

if TYPE_CHECKING:
    from rich.console import Console

    from bbedge.verification import Check, Verification

MOST_DIFFERENCES = 20
"""So many differences are printed; the JSON lists more."""

_WORDS = {"ok": ("ok", "green"), "differs": ("differs", "bold red"), "unknown": ("not checked", "yellow")}
_WIDTH = 36


def show_verification(console: Console, result: Verification) -> None:
    """Print the answer, then a row for every check, then what differs."""
    style = "bold green" if result.verified else "bold red"
    console.print(Text(shown(result.summary, None), style=style), highlight=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    for column in ("check", "result", ""):
        table.add_column(column, style="" if column != "check" else "bold", overflow="fold")
    for check in result.checks:
        word, colour = _WORDS[check.status]
        table.add_row(check.kind, Text(word, style=colour), Text(shown(check.text, None)))
    console.print()
    console.print(table)
    for check in result.checks:
        if check.differences:
            _show_differences(console, check)


def _show_differences(console: Console, check: Check) -> None:
    table = Table(box=None, pad_edge=False)
    for column in (check.kind, "certificate", "computed" if check.kind != "files" else "now"):
        table.add_column(column, overflow="fold")
    for each in check.differences[:MOST_DIFFERENCES]:
        stated = "-" if each.kind == "only-computed" else shown(str(each.stated), _WIDTH)
        computed = "-" if each.kind == "only-stated" else shown(str(each.computed), _WIDTH)
        table.add_row(Text(shown(each.place, None)), Text(stated), Text(computed))
    console.print()
    console.print(table)
    more = check.count - min(len(check.differences), MOST_DIFFERENCES)
    if more:
        console.print(Text(f"and {counted(more, 'other difference')}"), highlight=False)
