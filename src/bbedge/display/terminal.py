"""The leaderboard in a terminal: a table, open pairs, Top-k sets, and what the certificate means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bbedge.certificate.document import MOST_MODELS
from bbedge.certificate.standing import Shown
from bbedge.certificate.units import Units, rank
from bbedge.core.design import Design
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Leaderboard
from bbedge.text import counted, display_names, listed

MOST_ROWS = 60
"""The number of models that are printed by default."""

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
    def of(cls, leaderboard: Leaderboard) -> Identity:
        """The identity of the leaderboard's own design."""
        design = leaderboard.design
        return cls(
            settings=f"{design.evidence} evidence, {design.prediction} prediction, {design.stakes.rule} stakes, "
            f"alpha {design.alpha:g}, tau {design.tau:g}",
            label="hash",
            hash=design.hash,
        )

    def __str__(self) -> str:
        return f"{self.label} {self.hash[:16]}"


def show_leaderboard(
    console: Console,
    leaderboard: Leaderboard,
    *,
    shown: Shown = "standing",
    notes: Sequence[str] = (),
    top_k: int | None = None,
    pilot_replicates: int | None = None,
    title: str | None = None,
    identity: Identity | None = None,
    most_rows: int | None = MOST_ROWS,
    verbose: bool = False,
) -> None:
    """Print a leaderboard for a person. Names may contain anything: they are escaped, shortened and never markup.

    ``shown`` selects everything that stands, or the last look alone. ``title`` replaces the method in the heading,
    ``identity`` the design in the statement at the end. Only the first ``most_rows`` models are printed; ``None``
    prints all. ``verbose`` prints the full statement of the guarantee.
    """
    names = display_names(leaderboard.design.models)
    graph = leaderboard.standing if shown == "standing" else leaderboard.current
    _print(console, Text.assemble(("\n" + _heading(leaderboard, title), "bold")))
    _show_contradictions(console, leaderboard)
    if not leaderboard.replicates:
        models = listed(leaderboard.design.models, limit=20)
        _print(console, Text(f"Nothing is certified yet: there is no complete replicate. Models: {models}."))
    elif pilot_replicates is None:
        console.print(Padding(_ranking(leaderboard, graph, names, most_rows), (0, 0, 1, 0), expand=False))
        _print(console, Text(_certified_line(leaderboard, shown)))
        _show_open(console, leaderboard, graph, names, top_k)
        _print(console, _top_k_line(leaderboard, graph, names, top_k))
    else:
        _print(console, _pilot_lines(leaderboard, graph, names, pilot_replicates))
    for note in notes:
        _print(console, Text.assemble(("Note  ", "bold yellow"), note))
    identity = identity or Identity.of(leaderboard)
    if verbose:
        console.print(_full_statement(leaderboard, identity))
    else:
        console.print(_short_statement(leaderboard, identity))


def show_expectations(console: Console, results: Sequence[tuple[str, str, bool]]) -> None:
    """Print which expectations are certified."""
    for better, worse, certified in results:
        first, second = display_names([better, worse])
        mark = ("certified      ", "bold green") if certified else ("not certified  ", "bold red")
        console.print(Text.assemble(mark, f"{first} > {second}"))


def _print(console: Console, text: Text) -> None:
    if text.plain.strip():
        console.print(text, highlight=False)
        console.print()


def _heading(leaderboard: Leaderboard, title: str | None) -> str:
    design = leaderboard.design
    layout = design.layout
    items = counted(len(design.items), "item")
    if layout.largest > 1:
        items += f" in {counted(layout.count, 'block')}"
    return " · ".join(
        [
            title or design.method,
            counted(len(design.models), "model"),
            items,
            counted(leaderboard.replicates, "replicate"),
        ]
    )


def _ranking(leaderboard: Leaderboard, graph: Graph, names: Sequence[str], most_rows: int | None) -> Table:
    design, units = leaderboard.design, _Scale(leaderboard)
    n_models, ranks = len(design.models), graph.ranks
    rows = n_models if most_rows is None else most_rows
    tiers = {model: t for t, members in enumerate(graph.tiers, start=1) for model in members}
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("rank", justify="right")
    with_bar = n_models <= _WIDEST_BAR
    if with_bar:
        table.add_column(Text("1" + str(n_models).rjust(n_models - 1), style="dim"), no_wrap=True)
    table.add_column("model", overflow="fold")
    table.add_column("mean", justify="right")
    table.add_column("lead over next", justify="right")
    table.add_column("beats", justify="right")
    table.add_column("loses to", justify="right")
    table.add_column("tier", justify="right")
    order = leaderboard.order()
    for i, below in zip_longest(order[:rows], order[1 : rows + 1]):
        best, worst = graph.rank_intervals[i]
        cells = [Text(rank((best, worst)), style="bold")]
        if with_bar:
            bar = "·" * (best - 1) + "█" * (worst - best + 1) + "·" * (n_models - worst)
            cells.append(Text(bar, style="cyan"))
        cells += [
            Text(names[i]),
            Text(units.score(float(leaderboard.means[i]))),
            _lead(leaderboard, graph, i, below),
            Text(str(int(ranks.n_worse[i]))),
            Text(str(int(ranks.n_better[i]))),
            Text(str(tiers[i])),
        ]
        table.add_row(*cells)
    if n_models > rows:
        table.caption = f"{counted(n_models - rows, 'more model')}; add --all to certify or board show to print all"
    return table


class _Scale:
    """Formats numbers of the [0, 1] scale in score units."""

    def __init__(self, leaderboard: Leaderboard) -> None:
        self._low, high = leaderboard.design.score_range
        self._width = high - self._low
        self._units = Units.of(leaderboard.design.score_range)

    def score(self, value: float) -> str:
        return self._units.score(self._low + value * self._width)

    def difference(self, value: float) -> str:
        return self._units.difference(value * self._width)

    def at_least(self, value: float, sign: str = "") -> str:
        return self._units.at_least(value * self._width, sign)

    def at_most(self, value: float, sign: str = "") -> str:
        return self._units.at_most(value * self._width, sign)


def _lead(leaderboard: Leaderboard, graph: Graph, model: int, below: int | None) -> Text:
    """The certified lead of a model over the next one in the table."""
    if below is None:
        return Text("")
    if not graph.above[model, below]:
        return Text("open", style="yellow")
    design = leaderboard.design
    low, high = design.score_range
    step = design.tau * (high - low)
    edges = int(graph.path_lengths[model, below]) if step and graph.n_models <= MOST_MODELS else 1
    margin = float(leaderboard.lower_bounds[model, below]) * (high - low)
    return Text(Units.of(design.score_range).lead(margin, edges * step), style="green")


def _certified_line(leaderboard: Leaderboard, shown: Shown) -> str:
    ranks = leaderboard.standing.ranks if shown == "standing" else leaderboard.current.ranks
    line = f"{ranks.n_resolved:,} of {counted(ranks.n_pairs, 'pair')} certified"
    earlier = leaderboard.standing.n_edges - leaderboard.current.n_edges
    if shown == "current":
        line += " at the last look"
        if earlier:
            line += f"; earlier looks certified {counted(earlier, 'more comparison')}, still valid"
    elif earlier:
        line += f", including {counted(earlier, 'comparison')} from earlier looks only (--current shows the last look)"
    return line + "."


def _show_open(
    console: Console, leaderboard: Leaderboard, graph: Graph, names: Sequence[str], top_k: int | None
) -> None:
    """The open pairs of neighbouring models, or those across the Top-k cut."""
    order = np.array(leaderboard.order())
    above = graph.above
    if top_k is None:
        upper, lower = order[:-1], order[1:]
        ends = np.flatnonzero(~(above[upper, lower] | above[lower, upper]))
        open_pairs = np.stack([upper[ends], lower[ends]], axis=1)
    else:
        upper, lower = order[:top_k], order[top_k:]
        across = np.argwhere(~(above[np.ix_(upper, lower)] | above[np.ix_(lower, upper)].T))
        open_pairs = np.stack([upper[across[:, 0]], lower[across[:, 1]]], axis=1)
    if not len(open_pairs):
        return
    units = _Scale(leaderboard)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("open pairs" if top_k is None else f"open pairs across the Top-{top_k} cut", overflow="fold")
    table.add_column("and", overflow="fold")
    table.add_column("difference", justify="right")
    table.add_column("interval", justify="right")
    table.add_column("evidence", justify="right")
    for a, b in open_pairs[:_MOST_OPEN].tolist():
        if leaderboard.means[a] < leaderboard.means[b]:
            a, b = b, a
        at_least = units.at_least(float(leaderboard.lower_bounds[a, b]), sign="+")
        at_most = units.at_most(-float(leaderboard.lower_bounds[b, a]), sign="+")
        log_e, threshold = float(leaderboard.log_e[a, b]), float(leaderboard.log_thresholds[a, b])
        share = "not tested" if np.isnan(log_e) else f"{min(max(0.0, log_e) / threshold, 0.99):.0%} of threshold"
        table.add_row(
            Text(names[a]),
            Text(names[b]),
            Text(units.difference(float(leaderboard.means[a] - leaderboard.means[b]))),
            Text(f"{at_least} to {at_most}"),
            Text(share),
        )
    console.print(Padding(table, (0, 0, 1, 0), expand=False))
    n_open = graph.n_unresolved
    if n_open > min(len(open_pairs), _MOST_OPEN):
        kind = "neighbouring models" if top_k is None else "models across the cut"
        n_shown = min(len(open_pairs), _MOST_OPEN)
        words = f"{n_open:,} pairs are open. The table lists {n_shown:,} of them: {kind}."
        _print(console, Text(words, style="dim"))


def _top_k_line(leaderboard: Leaderboard, graph: Graph, names: Sequence[str], top_k: int | None) -> Text:
    line = Text()
    place = {model: position for position, model in enumerate(leaderboard.order())}
    for k in graph.cuts if top_k is None else (top_k,):
        members = graph.top_k(k)
        if members is None:
            if top_k is not None:
                line.append(f"Top-{k}  ", style="bold").append("not certified yet")
            continue
        named = [names[i] for i in sorted(members, key=place.__getitem__)]
        if top_k is None and k > 5:
            named = [*named[:5], f"… {k - 5} more"]
        if line:
            line.append("\n")
        line.append(f"Top-{k}  ", style="bold green").append(", ".join(named))
        if top_k is None and k >= 10:
            line.append("\n… the JSON lists larger certified sets", style="dim")
            break
    return line


def _pilot_lines(leaderboard: Leaderboard, graph: Graph, names: Sequence[str], pilot_replicates: int) -> Text:
    design = leaderboard.design
    inside = [name for name, model in zip(names, design.models, strict=True) if model in design.family.candidate]
    done, total = graph.n_edges, design.n_directions
    line = Text(
        f"The pilot ({counted(pilot_replicates, 'replicate')}, not part of the evidence) chose: {', '.join(inside)}\n"
    )
    if done == total:
        return line.append(f"Certified as the Top-{len(inside)} set.", style="bold green")
    line.append(f"Not certified as the Top-{len(inside)} set yet: ", style="bold")
    return line.append(f"{done} of {total} comparisons with the other models are certified.")


def _show_contradictions(console: Console, leaderboard: Leaderboard) -> None:
    for group in leaderboard.contradictions:
        members = ", ".join(display_names(group))
        _print(
            console,
            Text.assemble(
                ("CONTRADICTION  ", "bold white on red"),
                f"each of these models is certified better than the others: {members}. Either this is one of the "
                "errors that alpha allows, or an assumption does not hold (dependent blocks, copied runs, a design "
                "changed after the scores were seen). Do not rely on any certificate here until you know which.",
            ),
        )


def _short_statement(leaderboard: Leaderboard, identity: Identity) -> Text:
    """The guarantee and its assumptions, a line each."""
    design = leaderboard.design
    if design.tau:
        certified = f"all certified differences on this benchmark exceed {_margin(design):.4g}"
    else:
        certified = "all certified comparisons on this benchmark are true"
    layout = design.layout
    units = "" if layout.count == 1 else " and items" if layout.largest == 1 else " and blocks"
    return Text(
        f"With probability at least {_level(design)}, {certified}, however often you look.\n"
        f"Assumes independent runs{units}, which scores cannot show, and a design fixed beforehand ({identity}).\n"
        "Full statement: add -v to certify or board show, or read docs/guarantees.md",
        style="dim",
    )


def _full_statement(leaderboard: Leaderboard, identity: Identity) -> Table:
    design = leaderboard.design
    sizes = sorted(set(design.layout.sizes.tolist()))
    if design.layout.count == 1:
        blocks = "Items may depend on each other in any way (one block)"
    elif sizes == [1]:
        blocks = "Items are independent of each other within a replicate"
    else:
        blocks = f"Blocks of {_span(sizes)} items are independent; items of one block may depend on each other"
    margin = f" (difference above {_margin(design):.4g})" if design.tau else ""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold dim", no_wrap=True)
    table.add_column(style="dim")
    for topic, text in (
        (
            "guarantee",
            f"With probability at least {_level(design)}, every certified comparison is true on this "
            f"benchmark{margin}, for all pairs and all looks together. You may stop at any time. Rank 2-4 means: at "
            "best second, at worst fourth.",
        ),
        (
            "assumptions",
            f"{blocks}; replicates are independent (no shared cache, seed or judge state); the design was chosen "
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


def _level(design: Design) -> str:
    return f"{100 * (1 - design.alpha):.6g} %"


def _margin(design: Design) -> float:
    low, high = design.score_range
    return design.tau * (high - low)


def _span(sizes: Sequence[int]) -> str:
    return str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
