"""The leaderboard in a terminal: a table, what is still open, Top-k sets, and what the certificate means."""

from __future__ import annotations

from collections.abc import Sequence
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
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Leaderboard
from bbedge.text import counted, display_names, listed

MOST_ROWS = 60
"""So many models are printed unless more are asked for."""

_MOST_OPEN = 10
_WIDEST_BAR = 40


def show_leaderboard(
    console: Console,
    leaderboard: Leaderboard,
    *,
    shown: Shown = "standing",
    notes: Sequence[str] = (),
    top_k: int | None = None,
    pilot_replicates: int | None = None,
    title: str | None = None,
    identity: str | None = None,
    most_rows: int | None = MOST_ROWS,
) -> None:
    """Print a leaderboard for a person. Names are treated as hostile: escaped, shortened, never as markup.

    ``shown`` is everything that stands, or the last look alone. ``title`` and ``identity`` replace what is said of the
    method at the top and of the design at the bottom. Of many models only the first ``most_rows`` are printed;
    ``None`` prints all.
    """
    names = display_names(leaderboard.design.models)
    graph = leaderboard.standing if shown == "standing" else leaderboard.current
    _print(console, Text.assemble(("\n" + _heading(leaderboard, title), "bold")))
    _show_contradictions(console, leaderboard)
    if not leaderboard.replicates:
        models = listed(leaderboard.design.models, limit=20)
        _print(console, Text(f"No replicate is in the evidence yet, so nothing is certified. The models: {models}."))
    elif pilot_replicates is None:
        console.print(Padding(_ranking(leaderboard, graph, names, most_rows), (0, 0, 1, 0), expand=False))
        _print(console, Text(_certified_line(leaderboard, shown)))
        _show_open(console, leaderboard, graph, names, top_k)
        _print(console, _top_k_line(leaderboard, graph, names, top_k))
    else:
        _print(console, _pilot_lines(leaderboard, graph, names, pilot_replicates))
    for note in notes:
        _print(console, Text.assemble(("Note  ", "bold yellow"), note))
    console.print(_meaning(leaderboard, identity))


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
    table.add_column("over next", justify="right")
    table.add_column("above", justify="right")
    table.add_column("below", justify="right")
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
            Text(str(int(ranks.below[i]))),
            Text(str(int(ranks.above[i]))),
            Text(str(tiers[i])),
        ]
        table.add_row(*cells)
    if n_models > rows:
        table.caption = f"{counted(n_models - rows, 'more model')}: certify and board show print all with --all"
    return table


class _Scale:
    """Writes numbers of the [0, 1] scale on the scale of the scores."""

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
    """By how much a model is certified above the next one in the table."""
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
        line += " by the last look alone"
        if earlier:
            line += f"; {counted(earlier, 'comparison')} certified at earlier looks also stand"
    elif earlier:
        line += f"; {counted(earlier, 'comparison')} only at earlier looks, which stand (--current shows the last look)"
    return line + "."


def _show_open(
    console: Console, leaderboard: Leaderboard, graph: Graph, names: Sequence[str], top_k: int | None
) -> None:
    """The unresolved pairs that keep neighbours, or the Top-k cut, from being told apart."""
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
    table.add_column("still open" if top_k is None else f"open across the Top-{top_k} cut", overflow="fold")
    table.add_column("and", overflow="fold")
    table.add_column("difference", justify="right")
    table.add_column("lies within", justify="right")
    table.add_column("evidence so far", justify="right")
    for a, b in open_pairs[:_MOST_OPEN].tolist():
        if leaderboard.means[a] < leaderboard.means[b]:
            a, b = b, a
        at_least = units.at_least(float(leaderboard.lower_bounds[a, b]), sign="+")
        at_most = units.at_most(-float(leaderboard.lower_bounds[b, a]), sign="+")
        log_e, threshold = float(leaderboard.log_e[a, b]), float(leaderboard.log_thresholds[a, b])
        share = "not tested" if np.isnan(log_e) else f"{min(max(0.0, log_e) / threshold, 0.99):.0%} of the way"
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
        kind = "neighbours" if top_k is None else "across the cut"
        _print(console, Text(f"{n_open:,} pairs are open in all; shown are the first {kind}.", style="dim"))


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
            line.append("\n… larger certified sets are in the JSON", style="dim")
            break
    return line


def _pilot_lines(leaderboard: Leaderboard, graph: Graph, names: Sequence[str], pilot_replicates: int) -> Text:
    design = leaderboard.design
    inside = [name for name, model in zip(names, design.models, strict=True) if model in design.family.candidate]
    done, total = graph.n_edges, design.n_directions
    line = Text(
        f"Pilot of {counted(pilot_replicates, 'replicate')}, not part of the evidence, chose: {', '.join(inside)}\n"
    )
    if done == total:
        return line.append(f"Certified as the Top-{len(inside)} set.", style="bold green")
    line.append(f"Not certified as the Top-{len(inside)} set yet: ", style="bold")
    return line.append(f"{done} of {total} comparisons with the other models are.")


def _show_contradictions(console: Console, leaderboard: Leaderboard) -> None:
    for group in leaderboard.contradictions:
        members = ", ".join(display_names(group))
        _print(
            console,
            Text.assemble(
                ("CONTRADICTION  ", "bold white on red"),
                f"these models are certified above each other: {members}. Either the alpha event happened or an "
                "assumption is broken (dependent blocks, copied runs, a design changed after the data were seen). "
                "Trust no certificate of this board until you know which.",
            ),
        )


def _meaning(leaderboard: Leaderboard, identity: str | None) -> Table:
    design = leaderboard.design
    low, high = design.score_range
    sizes = sorted(set(design.layout.sizes.tolist()))
    if design.layout.count == 1:
        blocks = "Nothing about independence between items (one block)"
    elif sizes == [1]:
        blocks = "Items are independent of each other within a replicate"
    else:
        blocks = f"Blocks of {_span(sizes)} items are independent of each other, with any dependence inside"
    margin = f" by more than {design.tau * (high - low):.4g}" if design.tau else ""
    level = f"{100 * (1 - design.alpha):.6g} %"
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold dim", no_wrap=True)
    table.add_column(style="dim")
    for topic, text in (
        (
            "says",
            f"With probability at least {level} every certified comparison is true on this benchmark{margin}: all "
            "pairs and all looks together, stop whenever you like. A rank of 2-4 means: not first, not below fourth.",
        ),
        (
            "assumes",
            f"{blocks}; replicates are independent (no shared cache, seed or judge state); the design was chosen "
            "before the scores were seen. The scores alone cannot show this.",
        ),
        ("not said", "That open pairs are equal; anything about other items, prompts or settings than these."),
        (
            "design",
            identity
            or f"{design.evidence} evidence, {design.prediction} prediction, {design.stakes.rule} stakes, "
            f"alpha {design.alpha:g}, tau {design.tau:g}, hash {design.hash[:16]}",
        ),
    ):
        table.add_row(topic, Text(text))
    return table


def _span(sizes: Sequence[int]) -> str:
    return str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
