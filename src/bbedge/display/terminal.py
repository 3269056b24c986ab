"""The leaderboard in a terminal: a table, open pairs, Top-k sets, and what the certificate means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.box import SIMPLE_HEAD, Box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import difference
from bbedge.display.alarm import alarm
from bbedge.display.ranking import CONTRADICTION, MEAN_INTERVAL, ModelRow, TableColumn, between, observed, rows
from bbedge.display.ranking import columns as made_columns
from bbedge.display.scope import has_evidence, items, missing, promise, runs, shares, view_lines
from bbedge.display.verdict import verdict
from bbedge.text import counted, listed, shown

MOST_ROWS = 60
"""The number of models that are printed by default."""

_WITH_CUTS = Box("    \n    \n ── \n    \n ╌╌ \n    \n    \n    \n")  # as SIMPLE_HEAD, and a line between sections
_STYLES = {"could be": "bold", "rank": "bold"}
_MOST_OPEN = 10
_WIDEST_BAR = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The frozen design that a leaderboard belongs to."""

    settings: str
    """Its settings, for the full statement."""
    label: str
    """What its hash is called."""
    hash: str
    """Its hash; the first 16 digits are printed."""

    @classmethod
    def of(cls, certificate: Certificate) -> Identity:
        """The identity of the certificate's design: of a board, its registration."""
        design, board = certificate.content.design, certificate.content.board
        if board:
            settings = f"{board.design.method}, tau {board.design.tau:g}, alpha {board.design.alpha:g}"
            return cls(settings=f"{settings} for the whole board", label="registration", hash=board.design_hash)
        return cls(
            settings=f"{design.evidence} evidence, {design.prediction} prediction, {design.stakes} stakes, "
            f"alpha {design.alpha:g}, tau {design.tau:g}",
            label="hash",
            hash=design.hash,
        )

    def __str__(self) -> str:
        return f"{self.label} {self.hash[:16]}"


def show_leaderboard(
    console: Console,
    certificate: Certificate,
    *,
    notes: Sequence[str] | None = None,
    top_k: int | None = None,
    title: str | None = None,
    identity: Identity | None = None,
    looks_apart: bool = True,
    most_rows: int | None = MOST_ROWS,
    verbose: bool = False,
) -> None:
    """Print a certificate for a person. Names may contain anything: they are escaped, shortened and never markup.

    ``notes`` replaces the notes of the certificate, ``title`` the method in the heading, ``identity`` the design in the
    statement at the end. ``looks_apart`` says how much earlier looks certified that the last one does not. Only the
    first ``most_rows`` models are printed; ``None`` prints all. ``verbose`` prints the full statement of the guarantee.
    """
    heading, answer, wrong = Text("\n" + _heading(certificate, title), "bold"), _answer(certificate), alarm(certificate)
    for text in (heading, answer) if wrong is None else (answer, heading):  # nothing comes before an alarm
        _print(console, text)
    if not has_evidence(certificate):
        _print(console, Text(f"Models: {listed(certificate.names, limit=20)}."))
    else:
        console.print(Padding(_ranking(certificate, most_rows, console.width), (0, 0, 1, 0), expand=False))
    if has_evidence(certificate) and certificate.pilot_replicates is None:
        _print(console, Text(_certified_line(certificate, looks_apart)))
        _show_open(console, certificate, top_k)
        _print(console, _top_k_line(certificate, top_k))
    _show_views(console, certificate, most_rows)
    _print(console, Text(missing(certificate) or ""))
    for note in [each.text for each in certificate.content.notes] if notes is None else notes:
        _print(console, Text.assemble(("Note  ", "bold yellow"), note))
    statement = _full_statement if verbose else _short_statement
    console.print(statement(certificate, identity or Identity.of(certificate)))


def show_expectations(
    console: Console, expected: Sequence[tuple[str, str]], forbidden: Sequence[tuple[str, str]] = ()
) -> None:
    """Print what is certified of what was expected and of what is forbidden: statements, each with a finding."""
    for text, found in expected:
        _print_finding(console, found, "bold green" if found == "certified" else "bold red", text)
    for text, found in forbidden:
        bad = found in ("certified", "contradicted")
        _print_finding(console, found, "bold red" if bad else "bold green", f"{text} (forbidden)")


def _print_finding(console: Console, found: str, style: str, text: str) -> None:
    width = 20 if found == "opposite certified" else 15
    console.print(Text.assemble((found.ljust(width), style), text))


def _print(console: Console, text: Text) -> None:
    if text.plain.strip():
        console.print(text, highlight=False)
        console.print()


def _heading(certificate: Certificate, title: str | None) -> str:
    about = [f"view {shown(certificate.name)}"] if certificate.name else []
    parts = [counted(len(certificate.names), "model"), items(certificate), runs(certificate)]
    return " · ".join([shown(title, 120) if title else certificate.content.design.method, *about, *parts])


def _answer(certificate: Certificate) -> Text:
    """The first sentences, the answer itself in bold."""
    answer, wrong = verdict(certificate), alarm(certificate)
    if wrong is not None:
        return Text.assemble((wrong.word, "bold white on red"), (f": {wrong.what}", "bold"), f" {wrong.meaning}")
    return Text.assemble((answer.answer, "bold"), f" {answer.rest}" if answer.rest else "")


def _show_views(console: Console, certificate: Certificate, most_rows: int | None) -> None:
    """The other views, a line each."""
    lines = view_lines(certificate)
    if not lines:
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("view", overflow="fold")
    for column in ("share of alpha", "items", "certified"):
        table.add_column(column, justify="right")
    table.add_column("leader so far", overflow="fold")
    for line in lines[:most_rows]:
        table.add_row(
            Text(line.name, style="bold"),
            Text(line.share),
            Text(f"{line.items:,}"),
            Text(line.certified),
            Text(line.leader, style="green" if line.is_first else ""),
        )
    shown_all = most_rows is None or len(lines) <= most_rows
    more = "" if shown_all else f"{counted(len(lines) - len(lines[:most_rows]), 'more view')}; "
    table.caption = f"{more}add --view NAME to show a view in full"
    console.print(Padding(table, (0, 0, 1, 0), expand=False))


def _ranking(certificate: Certificate, most_rows: int | None, width: int) -> Table:
    """The rows, grouped by best possible rank; a line is a certified cut."""
    n_models, made = len(certificate.names), rows(certificate, most_rows)
    table = Table(box=_WITH_CUTS, pad_edge=False, show_edge=False)
    known = made_columns(made)
    columns = _fitting(_with_bars(list(known), made, n_models), width)
    for column in columns:
        wraps = column.head == "model"
        table.add_column(
            column.head,
            justify="left" if column.is_text else "right",
            no_wrap=not wraps,
            overflow="fold" if wraps else "ellipsis",
            style=_STYLES.get(column.head, "cyan" if column.head.startswith("1") else ""),
        )
    for row, cells in zip(made, zip(*(column.cells for column in columns), strict=True), strict=True):
        if row.cut_above:
            table.add_section()
        table.add_row(*map(Text, cells))
    captions = []
    if n_models > len(made):
        captions.append(
            f"{counted(n_models - len(made), 'more model')}; add --all to certify or board show to print all"
        )
    # Other columns can be worked out from the rest or the JSON; these were asked for, and a part of alpha was paid.
    if MEAN_INTERVAL in {column.head for column in known} - {column.head for column in columns}:
        captions.append("no room for the intervals of the means; widen the terminal, or add --html or --markdown")
    table.caption = "\n".join(captions) or None
    return table


def _with_bars(columns: list[TableColumn], made: Sequence[ModelRow], size: int) -> list[TableColumn]:
    """The columns, and one that draws the rank intervals; it would be too wide for very many models."""
    if size > _WIDEST_BAR:
        return columns
    bars = ["·" * (row.best - 1) + "█" * (row.worst - row.best + 1) + "·" * (size - row.worst) for row in made]
    drawn = TableColumn(head="1" + str(size).rjust(size - 1), cells=tuple(bars), is_text=True, spare=5)
    return [*columns[:2], drawn, *columns[2:]]


def _fitting(columns: list[TableColumn], width: int) -> list[TableColumn]:
    """The columns without those that a narrow terminal has no room for."""
    while True:
        # A model's name may be folded, but not below a third of the screen.
        needed = sum(
            min(_width(column), width // 3) if column.head == "model" else _width(column) for column in columns
        ) + 3 * (len(columns) - 1)
        spare = max(columns, key=lambda column: column.spare)
        if needed <= width or not spare.spare:
            return columns
        columns = [column for column in columns if column is not spare]


def _width(column: TableColumn) -> int:
    return max(map(len, (column.head, *column.cells)))


def _certified_line(certificate: Certificate, looks_apart: bool) -> str:
    line = f"{certificate.ranks.n_resolved:,} of {counted(certificate.n_pairs, 'pair')} certified"
    earlier = certificate.n_earlier if looks_apart else 0
    if certificate.shown == "current":
        line += " at the last look"
        if earlier:
            line += f"; earlier looks certified {counted(earlier, 'more comparison')}, still valid"
    elif earlier:
        line += f", including {counted(earlier, 'comparison')} from earlier looks only (--current shows the last look)"
    return line + "."


def _show_open(console: Console, certificate: Certificate, top_k: int | None) -> None:
    """The open pairs of neighbouring models, or those across the Top-k cut."""
    if certificate.all_pairs is None:
        return
    above = certificate.all_pairs.graph.above
    if top_k is None:
        upper = np.arange(len(above) - 1)
        ends = np.flatnonzero(~(above[upper, upper + 1] | above[upper + 1, upper]))
        open_pairs = np.stack([ends, ends + 1], axis=1)
    else:
        open_pairs = np.argwhere(~(above[:top_k, top_k:] | above[top_k:, :top_k].T)) + np.array([0, top_k])
    if not len(open_pairs):
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("open pairs" if top_k is None else f"open pairs across the Top-{top_k} cut", overflow="fold")
    table.add_column("and", overflow="fold")
    for column in ("difference", "interval", "evidence"):
        table.add_column(column, justify="right")
    for a, b in open_pairs[:_MOST_OPEN].tolist():
        table.add_row(*_open_pair(certificate, a, b))
    console.print(Padding(table, (0, 0, 1, 0), expand=False))
    n_open, n_shown = certificate.ranks.n_unresolved, min(len(open_pairs), _MOST_OPEN)
    if n_open > n_shown:
        kind = "neighbouring models" if top_k is None else "models across the cut"
        words = f"{n_open:,} pairs are open. The table lists {n_shown:,} of them: {kind}."
        _print(console, Text(words, style="dim"))


def _open_pair(certificate: Certificate, a: int, b: int) -> list[Text]:
    pairs = certificate.by_pair(known=True)
    if (difference(certificate, a, b) or 0.0) < 0.0:
        a, b = b, a
    log_e = float(pairs.log_e[a, b])
    share = min(log_e / float(pairs.log_thresholds[a, b]), 0.99) if log_e > 0.0 else 0.0
    within = between(certificate, a, b)
    evidence = "not tested" if np.isnan(log_e) else f"{share:.0%} of threshold"
    return [
        Text(certificate.labels[a]),
        Text(certificate.labels[b]),
        Text(observed(certificate, a, b)),
        Text(within),
        Text("-" if within == CONTRADICTION else evidence),
    ]


def _top_k_line(certificate: Certificate, top_k: int | None) -> Text:
    line = Text()
    if alarm(certificate) is not None:
        return line
    cuts = certificate.ranks.cuts
    if top_k is not None and top_k not in cuts:
        return line.append(f"Top-{top_k}  ", style="bold").append("not certified yet")
    for k in cuts if top_k is None else (top_k,):
        named = certificate.labels[:k]
        if top_k is None and k > 5:
            named = (*named[:5], f"… {k - 5} more")
        if line:
            line.append("\n")
        line.append(f"Top-{k}  ", style="bold green").append(", ".join(named))
        if top_k is None and k >= 10:
            line.append("\n… the JSON lists larger certified sets", style="dim")
            break
    return line


def _short_statement(certificate: Certificate, identity: Identity) -> Text:
    """The guarantee and its assumptions, a line each."""
    blocks = certificate.content.design.blocks
    units = "" if blocks.count == 1 else " and items" if blocks.sizes[0] == 1 else " and blocks"
    return Text(
        f"{promise(certificate)}\n"
        f"Assumes independent runs{units}, which scores cannot show, and a design fixed beforehand ({identity}).\n"
        "Full statement: add -v to certify or board show, or read docs/guarantees.md",
        style="dim",
    )


def _full_statement(certificate: Certificate, identity: Identity) -> Table:
    layout = certificate.content.design.blocks
    smallest, largest = layout.sizes[-1], layout.sizes[0]
    if layout.count == 1:
        blocks = "Items may depend on each other in any way (one block)"
    elif largest == 1:
        blocks = "Items are independent of each other within a run"
    else:
        span = f"{smallest}" if smallest == largest else f"{smallest} to {largest}"
        blocks = f"Blocks of {span} items are independent; items of one block may depend on each other"
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold dim", no_wrap=True)
    table.add_column(style="dim")
    for topic, text in (
        (
            "guarantee",
            f"{promise(certificate)} This covers all pairs and all looks together. {shares(certificate)} You may stop "
            "at any time. Rank 2-4 means: at best second, at worst fourth.",
        ),
        (
            "assumptions",
            f"{blocks}; runs are independent (no shared cache, seed or judge state); the design was chosen "
            "before the scores were seen. The scores alone cannot show that these hold.",
        ),
        (
            "not claimed",
            "That models of an open pair are equal; anything about other items, prompts or settings.",
        ),
        ("design", f"{identity.settings}, {identity}"),
        ("more", "docs/guarantees.md"),
    ):
        table.add_row(topic, Text(text))
    return table
