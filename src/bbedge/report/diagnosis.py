"""Diagnostics in plain words: what was found, what it does not show, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

Verdict = Literal["no alarm", "look", "alarm", "not possible"]

FindingKind = Literal[
    "block-dependence", "copies", "near-copies", "seeds", "same-model", "rank-stability", "item-heterogeneity"
]
"""What a finding is about."""

_STYLES: dict[Verdict, str] = {"no alarm": "green", "look": "yellow", "alarm": "bold red", "not possible": "dim"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one diagnostic, in words."""

    kind: FindingKind
    """Which diagnostic this is. Programs read this and the verdict, never the sentences."""
    question: str
    """What was asked of the scores."""
    verdict: Verdict
    """``alarm``: sound runs give any at all with a probability of at most 1 %. ``look``: worth a closer look, and
    common on sound runs too."""
    found: str
    """What was found."""
    not_shown: str
    """What it does not show."""
    to_do: str
    """What to do about it; empty if nothing was found."""


def show_findings(console: Console, findings: Sequence[Finding], *, title: str) -> None:
    """Print the findings, one after the other."""
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
