"""Findings, verification and the claims of other methods, in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bbedge.citation import Reference
from bbedge.diagnostics.findings import Finding, Verdict
from bbedge.text import counted, shown

if TYPE_CHECKING:
    from rich.console import Console

    from bbedge.verify.checks import Check, Verification


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


MOST_DIFFERENCES = 20
"""So many differences are printed; the JSON lists more."""

_WORDS = {"ok": ("ok", "green"), "differs": ("differs", "bold red"), "unknown": ("not checked", "yellow")}
_WIDTH = 36


def show_verification(console: Console, result: Verification) -> None:
    """Print the answer, then a row for every check, then what differs."""
    style = "bold green" if result.outcome in ("verified", "consistent") else "bold red"
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


Control = Literal["all looks", "one look", "none"]

_WARNINGS: dict[Control, tuple[str, str]] = {
    "all looks": ("yes, for all looks", "green"),
    "one look": ("for one look only", "yellow"),
    "none": ("NOT CONTROLLED", "bold red"),
}
_NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What one method would claim."""

    method: str
    """Its name."""
    control: Control
    """Where its error is controlled."""
    assumes: str
    """What it assumes."""
    target: Literal["these items", "items like these"]
    """What its claims are about: further runs of these items, or other items like them."""
    references: tuple[Reference, ...]
    """Where it is described."""
    edges: int | None
    """Directions claimed: at any look where claims stand because the error is controlled at all looks, else at the
    last; ``None`` for methods of rank intervals."""
    pairs: int | None
    """Pairs decided by these and the paths they form."""
    withdrawn: int | None
    """Directions claimed at an earlier look and no longer; none where claims stand."""
    alone: int | None
    """Directions claimed that BB-EDGE-X claims at no look."""
    width: float | None
    """Mean width of the rank intervals that follow."""
    current_edges: int | None = None
    """Directions claimed at the last look."""
    not_applicable: str | None = None
    """Why the method cannot be used on these scores, if it cannot; its numbers are then ``None``."""


def show_claims(console: Console, claims: Sequence[Claims], *, title: str, n_pairs: int, verbose: bool = False) -> None:
    """Print the table, with a warning next to every method whose error is not controlled; ``verbose``: in full."""
    console.print()
    console.print(Text(title, style="bold"))
    console.print()
    # Narrow enough for a terminal of 80 columns: names that are cut off look alike.
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
    table.add_column("method", no_wrap=True)
    for column in ("edges", f"pairs\nof {n_pairs:,}", "withdrawn", "beyond\nbb-edge-x", "rank\nwidth"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("error controlled?", no_wrap=True)
    for each in claims:
        table.add_row(Text(each.method), *_cells(each), _verdict(each))
    console.print(Padding(table, (0, 0, 1, 0), expand=False))
    for words, style in (*_remarks(claims), (_ADVICE, "dim")):
        console.print(Text(words, style=style), highlight=False)
    console.print()
    for words in _sources(claims, verbose=verbose):
        console.print(Text(words, style="dim"), highlight=False)


_ADVICE = (
    "A method without error control may claim more because it is wrong more often. Choose the method before you see "
    "the scores: if you choose the one that claims most, no method controls the error."
)


def _numbered(claims: Sequence[Claims]) -> dict[Reference, int]:
    """The references in the order in which they are first needed, from 1 on."""
    numbers: dict[Reference, int] = {}
    for each in claims:
        for reference in each.references:
            numbers.setdefault(reference, len(numbers) + 1)
    return numbers


def _cells(each: Claims) -> tuple[Text, ...]:
    counts = (each.edges, each.pairs, each.withdrawn, each.alone)
    return (
        *(Text("-" if count is None else f"{count:,}") for count in counts),
        Text("-" if each.width is None else f"{each.width:.2f}"),
    )


def _verdict(each: Claims) -> Text:
    if each.not_applicable:
        return Text(_NOT_APPLICABLE, style="dim")
    words, style = _WARNINGS[each.control]
    return Text(words, style=style)


def _remarks(claims: Sequence[Claims]) -> Iterator[tuple[str, str]]:
    """What the table cannot say of a method, and the style to say it in."""
    for reason in dict.fromkeys(each.not_applicable for each in claims if each.not_applicable):
        names = ", ".join(each.method for each in claims if each.not_applicable == reason)
        yield f"{names}: {_NOT_APPLICABLE}: {reason}.", ""
    for each in claims:
        if each.not_applicable:
            continue
        if each.target == "items like these":
            yield (
                f"{each.method} answers another question: would the order hold on other questions like these? It does "
                "not cover repeated looks, and does not test whether more runs of these questions keep the order.",
                "",
            )


def _sources(claims: Sequence[Claims], *, verbose: bool) -> Iterator[str]:
    """Which references belong to which method, and the numbered list: by author and year, or in full."""
    numbers = _numbered(claims)
    of_methods = (
        f"{each.method} [{', '.join(str(number) for number in sorted(numbers[one] for one in each.references))}]"
        for each in claims
    )
    yield f"Sources: {', '.join(of_methods)}."
    if verbose:
        yield from (f"[{number}] {reference.text}" for reference, number in numbers.items())
    else:
        listed = ", ".join(f"[{number}] {reference.short}" for reference, number in numbers.items())
        yield f"{listed}. In full: -v, or --json."


def claims_document(claims: Sequence[Claims]) -> list[dict[str, object]]:
    """The same as plain values."""
    return [asdict(each) for each in claims]
