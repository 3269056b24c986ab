"""What a benchmark can resolve, and at what cost, as a table, a document and a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bbedge.display.plotting import COLOURS, DASHES, house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bbedge.core.forecast import Forecast


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way of analysing the same runs."""

    name: str
    """What it is called."""
    forecast: Forecast
    """What it can resolve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What a query costs."""

    tokens_per_query: float | None
    """Tokens of one model's answer to one item, prompt included."""
    per_million: float | None
    """Money for a million tokens."""


def plan_document(
    ways: Sequence[Way],
    *,
    inside: Forecast | None,
    replicates: Sequence[int],
    gaps: Sequence[float],
    power: float,
) -> dict[str, object]:
    """Everything that the tables show, for programs; ``inside`` is the forecast with looks inside the first pass."""
    first = ways[0].forecast
    parts = {} if inside is None else {"first_pass": list(_parts(inside, gaps, power))}
    return {
        "models": len(first.design.models),
        "items": len(first.design.items),
        "blocks": first.design.layout.count,
        "alpha": first.design.alpha,
        "tau": first.design.tau,
        "power": power,
        "ways": [
            {
                "name": way.name,
                "noise": way.forecast.outlook.noise,
                "unevenness": way.forecast.outlook.unevenness,
                "smallest_difference": [
                    {"replicates": r, "difference": way.forecast.smallest_gap(r, power=power)} for r in replicates
                ],
                "replicates_needed": [
                    {"difference": gap, "replicates": way.forecast.replicates_for(gap, power=power)} for gap in gaps
                ],
            }
            for way in ways
        ],
        **parts,
    }


def _parts(inside: Forecast, gaps: Sequence[float], power: float) -> Iterator[dict[str, float | None]]:
    for gap in gaps:
        found = inside.checkpoint_for(gap, power=power)
        yield {"difference": gap, "fraction": None if found is None else found.fraction}


def show_plan(
    console: Console,
    ways: Sequence[Way],
    *,
    inside: Forecast | None,
    title: str,
    assumed: str,
    replicates: Sequence[int],
    gaps: Sequence[float],
    power: float,
    prices: Prices,
) -> None:
    """Print what can be resolved after so many replicates, and what a difference costs."""
    console.print()
    console.print(Text(title, style="bold"))
    console.print(Text(assumed, style="dim"))
    table = Table(
        title=Text(f"Smallest difference certified with {100 * power:g} % power"),
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    table.add_column("replicates", justify="right")
    for way in ways:
        table.add_column(way.name, justify="right")
    for r in replicates:
        found = (way.forecast.smallest_gap(r, power=power) for way in ways)
        table.add_row(str(r), *("none" if gap is None else f"{gap:.4f}" for gap in found))
    console.print()
    console.print(table, highlight=False)
    console.print()
    console.print(_costs(ways, gaps, power, prices), highlight=False)
    console.print()
    if inside is not None and any(part["fraction"] is not None for part in _parts(inside, gaps, power)):
        console.print(_savings(inside, gaps, power, prices), highlight=False)
        console.print()
    console.print(
        Text(
            "This is a forecast, not a guarantee. It assumes that no other pair is certified yet, which is "
            "conservative, the noise stated above, and that you state the number of replicates with --planned. "
            "Certificates do not depend on the forecast.",
            style="dim",
        )
    )


def _costs(ways: Sequence[Way], gaps: Sequence[float], power: float, prices: Prices) -> Table:
    table = Table(
        title=Text(f"Replicates needed to certify a difference with {100 * power:g} % power"),
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    table.add_column("difference", justify="right")
    for way in ways:
        table.add_column(way.name, justify="right")
    best = ways[0]
    table.add_column(f"queries ({best.name})", justify="right")
    if prices.tokens_per_query is not None:
        table.add_column("tokens", justify="right")
        if prices.per_million is not None:
            table.add_column("cost", justify="right")
    design = best.forecast.design
    for gap in gaps:
        counts = [way.forecast.replicates_for(gap, power=power) for way in ways]
        row = ["out of reach" if count is None else f"{count:,}" for count in counts]
        queries = None if counts[0] is None else counts[0] * len(design.models) * len(design.items)
        row.append("" if queries is None else f"{queries:,}")
        if prices.tokens_per_query is not None:
            tokens = None if queries is None else queries * prices.tokens_per_query
            row.append("" if tokens is None else f"{tokens:,.0f}")
            if prices.per_million is not None:
                row.append("" if tokens is None else f"{tokens / 1e6 * prices.per_million:,.2f}")
        table.add_row(f"{gap:g}", *row)
    return table


def _savings(inside: Forecast, gaps: Sequence[float], power: float, prices: Prices) -> Table:
    """What looks inside the first pass save of one complete pass of two models."""
    table = Table(
        title=Text(f"Looks inside the first pass: when two models are decided with {100 * power:g} % power"),
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    for column in ("difference", "part of the pass", "queries", "queries saved"):
        table.add_column(column, justify="right")
    if prices.tokens_per_query is not None:
        table.add_column("tokens saved", justify="right")
        if prices.per_million is not None:
            table.add_column("cost saved", justify="right")
    for gap in gaps:
        found = inside.checkpoint_for(gap, power=power)
        if found is None:
            table.add_row(f"{gap:g}", "none")
            continue
        saved = 2 * (len(inside.design.items) - found.items)
        row = [f"{found.fraction:.0%}", f"{2 * found.items:,}", f"{saved:,}"]
        if prices.tokens_per_query is not None:
            tokens = saved * prices.tokens_per_query
            row.append(f"{tokens:,.0f}")
            if prices.per_million is not None:
                row.append(f"{tokens / 1e6 * prices.per_million:,.2f}")
        table.add_row(f"{gap:g}", *row)
    return table


def plan_figure(ways: Sequence[Way], *, power: float, most: int) -> Figure:
    """The smallest difference over replicates, on logarithmic axes."""
    with house_style():
        from matplotlib.figure import Figure
        from matplotlib.ticker import LogLocator

        figure = Figure(figsize=(5.6, 3.6), layout="constrained")
        ax = figure.subplots()
        at = sorted({round(most ** (step / 40)) for step in range(41)})
        for place, way in enumerate(ways):
            found = [(r, way.forecast.smallest_gap(r, power=power)) for r in at]
            shown = [(r, gap) for r, gap in found if gap is not None]
            ax.plot(
                [r for r, _ in shown],
                [gap for _, gap in shown],
                label=way.name if shown else f"{way.name}: none",
                color=COLOURS[place % len(COLOURS)],
                linestyle=DASHES[place % len(DASHES)],
            )
        ax.set_xscale("log")
        ax.set_yscale("log")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter("")
        ax.set_xlabel("replicates")
        ax.set_ylabel("smallest difference certified")
        ax.set_title(f"What can be resolved with {100 * power:g} % power")
        ax.grid(visible=True, which="minor", linewidth=0.3)
        ax.legend()
        return figure
