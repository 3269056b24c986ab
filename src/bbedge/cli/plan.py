"""``bbedge plan``: what a benchmark can resolve, and at what cost, before the first run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge.cli.claim import Claim
from bbedge.cli.options import Reading, Without, grouped
from bbedge.cli.output import JsonOut, write_json
from bbedge.errors import DomainError
from bbedge.text import quoted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bbedge.core.design import Design
    from bbedge.core.growth import Forecast, Outlook
    from bbedge.display.plan import Way


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What to assume of a benchmark without a pilot."""

    models: Annotated[int | None, typer.Option(min=2, help="Number of models.  [default: 10, or the pilot's]")] = None
    items: Annotated[
        str | None,
        typer.Option(
            metavar="N|FILE",
            help="Number of items, or a list of items with their blocks.  [default: the pilot's]",
            show_default=False,
        ),
    ] = None
    block_size: Annotated[int, typer.Option(min=1, help="Items per block, if --items is a number.")] = 1
    mean: Annotated[float, typer.Option(help="Assumed mean score of right-or-wrong items; 0.5 has the most noise.")] = (
        0.5
    )
    correlation: Annotated[float, typer.Option(help="Assumed correlation of two scores of a block.")] = 0.0

    def design(self, claim: Claim) -> Design:
        """A design with so many models and items."""
        from bbedge.core.design import Design
        from bbedge.readers import read_items

        if self.items is None:
            raise DomainError("pass the number of items with --items, or the scores of a pilot")
        names = [f"model-{i}" for i in range(1, (self.models or 10) + 1)]
        if self.items.isdecimal():
            numbers = range(int(self.items))
            items, blocks = [f"item-{i}" for i in numbers], [f"b{i // self.block_size}" for i in numbers]
        else:
            listed = read_items(Path(self.items))
            items, blocks = list(listed.items), list(listed.blocks)
        return Design.make(names, items, blocks=blocks, alpha=claim.alpha, tau=claim.tau, method="bb-edge")

    def ways(self, design: Design) -> tuple[list[Way], str]:
        """Forecasts from the assumptions, and a sentence that states them."""
        from bbedge.core.growth import Outlook

        size = float(design.layout.sizes.mean())
        outlook = Outlook.of_scores(mean=self.mean, block_size=size, correlation=self.correlation)
        return _ways(design, outlook, Outlook.of_scores(mean=self.mean)), (
            f"Assumed: right-or-wrong items with mean {self.mean:g}, correlation {self.correlation:g} inside blocks."
        )


@grouped
def plan(
    pilot: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PILOT]...",
            help="Scores of a pilot, to estimate the noise. Without a pilot, pass the assumptions as options.",
            show_default=False,
        ),
    ] = None,
    *,
    assumptions: Assumptions,
    difference: Annotated[
        str, typer.Option(metavar="A,B,...", help="Differences to compute the cost of, on the [0, 1] scale.")
    ] = "0.01,0.02,0.05,0.1",
    replicates: Annotated[
        str, typer.Option(metavar="A,B,...", help="Numbers of replicates to compute the smallest difference for.")
    ] = "1,2,5,10,20",
    power: Annotated[float, typer.Option(help="Probability of certifying the difference.")] = 0.8,
    claim: Annotated[
        Claim, Without("method", "margin_share", "mean_share", "planned", "evidence", "prediction", "stakes", "copies")
    ],
    tokens: Annotated[
        float | None, typer.Option(min=0, help="Tokens per model and item, prompt included.", show_default=False)
    ] = None,
    price: Annotated[
        float | None, typer.Option(min=0, help="Price of a million tokens; needs --tokens.", show_default=False)
    ] = None,
    reading: Reading,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write a figure: a .png, .svg or .pdf file.", show_default=False),
    ] = None,
    json_out: JsonOut = None,
) -> None:
    """Forecast the smallest difference that a benchmark can resolve, and the cost of resolving a difference.

    The forecast uses a pilot or your assumptions. It spends no error budget: plan as often as you like, then freeze
    the design and run.

    [cyan]bbedge plan --models 10 --items 1319[/cyan]
    [cyan]bbedge plan pilot.csv --difference 0.02 --tokens 600 --price 0.5[/cyan]
    """
    from bbedge.display.plan import Prices, plan_document, plan_figure, show_plan

    looks = [int(number) for number in _numbers("--replicates", replicates) if number >= 1]
    gaps = _numbers("--difference", difference)
    if not 0.0 < power < 1.0:
        raise DomainError(f"--power {power} is not between 0 and 1; choose for example 0.8")
    if price is not None and tokens is None:
        raise DomainError("--price is per million tokens; add --tokens, the number of tokens per model and item")
    if pilot:
        table = reading.table(pilot)
        if assumptions.items is not None or assumptions.models is not None:
            raise DomainError("the pilot defines the models and items; leave out --models and --items")
        design = table.design(alpha=claim.alpha, tau=claim.tau, method="bb-edge")
        ways, assumed = _from_pilot(design, table.values)
    else:
        design = assumptions.design(claim)
        ways, assumed = assumptions.ways(design)
    n_models, layout = len(design.models), design.layout
    inside = _inside(ways[0].forecast)
    if figure is not None:
        from bbedge.display.plotting import save_figure

        save_figure(plan_figure(ways, power=power, most=max([20, *looks])), figure)
    show_plan(
        write_json(json_out, lambda: plan_document(ways, inside=inside, replicates=looks, gaps=gaps, power=power)),
        ways,
        inside=inside,
        title=f"{n_models} models · {len(design.items):,} items in {layout.count:,} blocks · "
        f"alpha {claim.alpha:g} · tau {claim.tau:g}",
        assumed=assumed,
        replicates=looks,
        gaps=gaps,
        power=power,
        prices=Prices(tokens_per_query=tokens, per_million=price),
    )


def _inside(forecast: Forecast) -> Forecast | None:
    """The forecast with the looks inside the first pass that an evaluation has by default; ``None`` if it has none."""
    from bbedge.core.checkpoints import LEAST_BLOCKS, Checkpoints

    if forecast.design.layout.count < LEAST_BLOCKS:
        return None
    # Which blocks come first makes no difference to a forecast.
    return replace(forecast, design=replace(forecast.design, checkpoints=Checkpoints(order_seed=0)))


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise DomainError(f"{option} {quoted(text)} is not a list of numbers; write for example 1,2,5") from error


def _from_pilot(design: Design, panels: NDArray[np.float64]) -> tuple[list[Way], str]:
    """Forecasts from a pilot, and a sentence on what it showed."""
    from bbedge.core.design import Design
    from bbedge.core.growth import pilot_outlooks, typical_outlook

    typical = typical_outlook(pilot_outlooks(panels, design))
    singles = Design.make(design.models, design.items, alpha=design.alpha, tau=design.tau, method="bb-edge")
    ways = _ways(design, typical, typical_outlook(pilot_outlooks(panels, singles)))
    words = f"From the pilot's {len(panels)} replicate{'' if len(panels) == 1 else 's'}: a typical pair has noise "
    words += f"{typical.noise:.4f} and unevenness {typical.unevenness:.4f} per block."
    if len(panels) == 1:
        words += " One replicate cannot separate the two; all variance counts as noise."
    return ways, words


def _ways(design: Design, outlook: Outlook, alone: Outlook) -> list[Way]:
    """The default method, that one with other blocks, and the published one."""
    from bbedge.core.design import Design
    from bbedge.core.growth import Forecast
    from bbedge.display.plan import Way

    def remade(blocks: tuple[str, ...]) -> Design:
        return Design.make(design.models, design.items, blocks=blocks, alpha=design.alpha, tau=design.tau)

    extended = Forecast(design=remade(design.blocks), outlook=outlook)
    ways = [Way(name="bb-edge-x", forecast=extended)]
    if design.layout.count < len(design.items):
        ways.append(Way(name="if items were blocks", forecast=Forecast(design=remade(design.items), outlook=alone)))
    ways.append(Way(name="one block", forecast=extended.as_one_block()))
    ways.append(Way(name="bb-edge", forecast=Forecast(design=design, outlook=outlook)))
    return ways
