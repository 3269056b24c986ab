"""Findings about the assumptions, in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bbedge.diagnostics.findings import Finding, Verdict

_STYLES: dict[Verdict, str] = {"no alarm": "green", "look": "yellow", "alarm": "bold red", "not possible": "dim"}


def show_findings(console: Console, findings: Sequence[Finding], *, title: str) -> None:
    """Print the findings."""
    console.print()
    console.print(Text(title, style="bold"))
    for finding in findings:
        console.print()
        console.print(
            Text.assemble((f"{finding.verdict:12}  ", _STYLES[finding.verdict]), (finding.question, "bold")),
            highlight=False,
        )
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column()
        for topic, text in (
            ("found", finding.found),
            ("does not show", finding.not_shown),
            ("to do", finding.to_do),
        ):
            if text:
                table.add_row(topic, Text(text))
        console.print(table)
