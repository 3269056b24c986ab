"""Findings, verification, a board's budget and history, and other methods, in a terminal; findings also as figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Column
from rich.text import Text

from bbedge.certificate.certificate import Certificate
from bbedge.diagnostics.findings import Finding, Verdict
from bbedge.display.plotting import COLOURS, DASHES, INK, name_rows, new_figure
from bbedge.display.tables import print_table, text_table, topics, words
from bbedge.text import counted, display_names, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bbedge.study.contenders import Claims
    from bbedge.verify.checks import Verification


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
        said = {"found": finding.found, "does not show": finding.not_shown, "to do": finding.to_do}
        console.print(topics(((topic, text) for topic, text in said.items() if text), topic="dim"))


MOST_DIFFERENCES = 20
"""So many differences are printed; the JSON lists more."""

_WORDS = {"ok": ("ok", "green"), "differs": ("differs", "bold red"), "unknown": ("not checked", "yellow")}
_WIDTH = 36


def show_verification(console: Console, result: Verification) -> None:
    """Print the answer, then a row for every check, then what differs."""
    style = "bold green" if result.outcome in ("verified", "consistent") else "bold red"
    console.print(Text(shown(result.summary, None), style=style), highlight=False, soft_wrap=True)
    checks = ((check.kind, Text(*_WORDS[check.status]), shown(check.text, None)) for check in result.checks)
    console.print()
    console.print(text_table([Column("check", style="bold", overflow="fold"), *words("result", "")], checks, box=None))
    for check in result.checks:
        if not check.differences:
            continue
        differences = (
            (
                shown(each.place, None),
                "-" if each.kind == "only-computed" else shown(str(each.stated), _WIDTH),
                "-" if each.kind == "only-stated" else shown(str(each.computed), _WIDTH),
            )
            for each in check.differences[:MOST_DIFFERENCES]
        )
        heads = words(check.kind, "certificate", "computed" if check.kind != "files" else "now")
        console.print()
        console.print(text_table(heads, differences, box=None))
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


def show_claims(console: Console, claims: Sequence[Claims], *, title: str, n_pairs: int, verbose: bool = False) -> None:
    """Print the table, with a warning next to every method whose error is not controlled; ``verbose``: in full."""
    console.print()
    console.print(Text(title, style="bold"))
    console.print()
    # Narrow enough for a terminal of 80 columns: names that are cut off look alike.
    counts = ("edges", f"pairs\nof {n_pairs:,}", "withdrawn", "beyond\nbb-edge-x", "rank\nwidth")
    table = text_table(
        [
            Column("method", no_wrap=True),
            *(Column(head, justify="right", no_wrap=True) for head in counts),
            Column("error controlled?", no_wrap=True),
        ],
        map(_cells, claims),
    )
    table.collapse_padding = True
    print_table(console, table)
    for text, style in (*_remarks(claims), (_ADVICE, "dim")):
        console.print(Text(text, style=style), highlight=False)
    console.print()
    for text in _sources(claims, verbose=verbose):
        console.print(Text(text, style="dim"), highlight=False)


_ADVICE = (
    "A method without error control may claim more because it is wrong more often. Choose the method before you see "
    "the scores: if you choose the one that claims most, no method controls the error."
)


def _cells(each: Claims) -> Iterator[str | Text]:
    yield each.method
    for count in (each.edges, each.pairs, each.withdrawn, each.alone):
        yield "-" if count is None else f"{count:,}"
    yield "-" if each.width is None else f"{each.width:.2f}"
    yield Text(_NOT_APPLICABLE, "dim") if each.not_applicable else Text(*_WARNINGS[each.control])


def _remarks(claims: Sequence[Claims]) -> Iterator[tuple[str, str]]:
    """What the table cannot say of a method, and the style to say it in."""
    for reason in dict.fromkeys(each.not_applicable for each in claims if each.not_applicable):
        names = ", ".join(each.method for each in claims if each.not_applicable == reason)
        yield f"{names}: {_NOT_APPLICABLE}: {reason}.", ""
    for each in claims:
        if each.target == "items like these" and not each.not_applicable:
            yield (
                f"{each.method} answers another question: would the order hold on other questions like these? It does "
                "not cover repeated looks, and does not test whether more runs of these questions keep the order.",
                "",
            )


def _sources(claims: Sequence[Claims], *, verbose: bool) -> Iterator[str]:
    """Which references belong to which method, and the numbered list: by author and year, or in full."""
    references = dict.fromkeys(reference for each in claims for reference in each.references)
    numbers = {reference: place for place, reference in enumerate(references, start=1)}
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


def dependence_figure(
    models: Sequence[str], ratios: Sequence[float], adjusted: Sequence[float], *, alarm: float
) -> Figure:
    """How much more replicate means vary than independent blocks imply, model by model, with the p-value."""
    figure, axes = _bars(models, ratios, [COLOURS[1] if p <= alarm else COLOURS[0] for p in adjusted])
    axes.axvline(1.0, color=INK, linewidth=1.0, linestyle=DASHES[1])
    for row, p in enumerate(adjusted):
        axes.annotate(f"p {p:.2g}", (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=7)
    axes.set(
        xlim=(0.0, 1.08 * max(1.0, *ratios)),
        xlabel="variance of replicate means / variance implied by independent blocks",
    )
    axes.set_title("Do replicate means vary as independent blocks imply? (adjusted p)", loc="left")
    return figure


def halves_figure(models: Sequence[str], log_e: Sequence[float], *, alarm: float) -> Figure:
    """The evidence that halves of a model's own runs differ; the line is where one model raises an alarm."""
    figure, axes = _bars(
        models, [max(0.0, each) for each in log_e], [COLOURS[1] if each >= alarm else COLOURS[0] for each in log_e]
    )
    axes.axvline(alarm, color=INK, linewidth=1.0, linestyle=DASHES[1])
    axes.set(
        xlim=(0.0, 1.08 * max(alarm, *log_e)),
        xlabel="evidence that halves of a model's runs differ (natural logarithm)",
    )
    axes.set_title("Is a model ever certified above itself?", loc="left")
    return figure


def heterogeneity_figure(differences: NDArray[np.float64], first: str, second: str) -> Figure:
    """The closest pair, item by item: where the first model is ahead and where the second is."""
    figure, axes = new_figure(5.5, 2.8)
    ordered = np.sort(differences)[::-1]
    place = np.arange(1, len(ordered) + 1)
    names = display_names([first, second], width=28)
    for sign, name, colour in ((1, names[0], COLOURS[0]), (-1, names[1], COLOURS[1])):
        part = np.where(ordered * sign > 0, ordered, 0.0)
        text = axes.text(
            0.98 if sign > 0 else 0.02,
            0.93 if sign > 0 else 0.07,
            f"{name} ahead on {counted(int((part != 0).sum()), 'item')}",
            transform=axes.transAxes,
            ha="right" if sign > 0 else "left",
            va="center",
            color=colour,
            fontsize=8,
        )
        text.set_parse_math(False)
        axes.fill_between(place, part, step="mid", color=colour, linewidth=0.0)
    axes.axhline(0.0, color=INK, linewidth=0.8)
    most = 1.15 * max(1e-9, float(np.abs(ordered).max()))
    axes.set(ylim=(-most, most), xlabel="items, in the order of the difference", ylabel="mean difference")
    axes.set_title("Do the two closest models differ on the same items?", loc="left")
    return figure


def _bars(models: Sequence[str], values: Sequence[float], colours: Sequence[str]) -> tuple[Figure, Axes]:
    figure, axes = new_figure(5.5, min(12.0, 1.0 + 0.22 * max(3, len(models))))
    axes.barh(range(len(models)), values, color=colours, height=0.65)
    name_rows(axes, models, size=8.0 if len(models) <= 40 else 5.0)
    axes.set_ylim(len(models) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    return figure, axes


_OF_WORDS = ("about", "time", "kind", "details", "hash")


def show_budget(
    console: Console, rows: Sequence[tuple[int, str, float, int, int]], *, spent: float, alpha: float, next_level: float
) -> None:
    """Print the number, subject, level, directions and certificates of each claim, and the level of the next one."""
    cells = (
        (str(claim), shown(what, 60), f"{level:.3g}", f"{directions:,}", f"{certified:,}")
        for claim, what, level, directions, certified in rows
    )
    print_table(console, text_table(_columns("claim", "about", "level", "comparisons", "certified"), cells))
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
    return [Column(head, justify="left" if head in _OF_WORDS else "right", overflow="fold") for head in heads]
