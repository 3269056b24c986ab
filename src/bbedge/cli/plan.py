"""``bbedge plan``: what a benchmark can resolve, and at what cost, before the first run."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Meta, structs

from bbedge.cli.options import Only, PlainReading, Without, grouped, read
from bbedge.cli.output import JsonOut, write_json
from bbedge.errors import DomainError
from bbedge.records.options import Options
from bbedge.records.reading import Reading
from bbedge.records.values import Positive, Strict, Target, option
from bbedge.text import counted, quoted

if TYPE_CHECKING:
    from bbedge.core.design import Design
    from bbedge.core.forecast import Forecast, PairAssumptions
    from bbedge.core.scores import Scores

_POWER = 0.8


class Assumptions(Strict, frozen=True, kw_only=True):
    """What to assume of a benchmark without a pilot."""

    models: Annotated[Annotated[int, Meta(ge=2)] | None, option("Number of models.  [default: 10, or the pilot's]")] = (
        None
    )
    items: Annotated[
        str | None,
        option("Number of items, or a list of items with their blocks.  [default: the pilot's]", metavar="N|FILE"),
    ] = None
    block_size: Annotated[Positive, option("Items per block, if --items is a number.")] = 1
    mean: Annotated[float, option("Assumed mean score of right-or-wrong items; 0.5 has the most noise.")] = 0.5
    correlation: Annotated[float, option("Assumed correlation of two scores of a block.")] = 0.0
    between_share: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        option(
            "With --target: the part of the variance of a difference in one run that lies between items, which no "
            "number of runs reduces.  [default: 0.5, or that of a pilot with several replicates]",
            metavar="SHARE",
        ),
    ] = None

    def places(self) -> tuple[list[str], list[str]]:
        """The names of the items, and those of their blocks."""
        from bbedge.readers import read_items

        if self.items is None:
            raise DomainError("pass the number of items with --items, or the scores of a pilot")
        if self.items.isdecimal():
            numbers = range(int(self.items))
            return [f"item-{i}" for i in numbers], [f"b{i // self.block_size}" for i in numbers]
        listed = read_items(Path(self.items))
        return list(listed.items), list(listed.blocks)

    def design(self, options: Options) -> Design:
        """A design with so many models and items."""
        from bbedge.core.design import Design

        items, blocks = self.places()
        names = [f"model-{i}" for i in range(1, (self.models or 10) + 1)]
        return Design.make(names, items, blocks=blocks, alpha=options.target_alpha, tau=options.tau, method="bb-edge")

    def of_pairs(self, block_size: float = 1.0) -> PairAssumptions:
        """What is assumed of two models, with blocks of this size."""
        from bbedge.core.forecast import PairAssumptions

        return PairAssumptions.of_scores(mean=self.mean, block_size=block_size, correlation=self.correlation)

    @property
    def words(self) -> str:
        """What is assumed, in a sentence."""
        return f"Assumed: right-or-wrong items with mean {self.mean:g}, correlation {self.correlation:g} inside blocks."


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
    policy: Annotated[
        Path | None,
        typer.Option(
            metavar="POLICY.toml",
            help="Plan the gate of this policy: after how many runs its claims are decided. Give a pilot or --items.",
            show_default=False,
        ),
    ] = None,
    assumptions: Assumptions,
    difference: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Differences to compute the cost of, on the [0, 1] scale; of a policy, true differences to assume, in "
            "score units.  [default: 0.01,0.02,0.05,0.1, or what the claims of the policy suggest]",
            show_default=False,
        ),
    ] = None,
    replicates: Annotated[
        str, typer.Option(metavar="A,B,...", help="Numbers of replicates to compute the smallest difference for.")
    ] = "1,2,5,10,20",
    power: Annotated[float, typer.Option(help="Probability of certifying the difference.")] = _POWER,
    options: Annotated[Options, Only("alpha", "tau", "target")],
    tokens: Annotated[
        float | None, typer.Option(min=0, help="Tokens per model and item, prompt included.", show_default=False)
    ] = None,
    price: Annotated[
        float | None, typer.Option(min=0, help="Price of a million tokens; needs --tokens.", show_default=False)
    ] = None,
    reading: Annotated[PlainReading, Without("items")],
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
    [cyan]bbedge plan --models 10 --items 500 --target new-items[/cyan]
    [cyan]bbedge plan --policy policy.toml --items 500[/cyan]
    """
    from bbedge.core.forecast import design_forecasts, pilot_forecasts
    from bbedge.display.plan import Prices, ResolutionPlan, pilot_words

    numbers = _numbers("--replicates", replicates)
    if not all(number >= 1 and number.is_integer() for number in numbers):
        raise DomainError(f"--replicates {quoted(replicates)} has a number that is not a whole number of at least 1")
    looks = list(map(int, numbers))
    if assumptions.between_share is not None and not options.target:
        raise DomainError("--between-share is about new items; add --target new-items, or leave it out")
    if policy is not None:
        if figure is not None or tokens is not None or price is not None or power != _POWER:
            raise DomainError("--figure, --tokens, --price and --power are for plans of leaderboards; leave them out")
        if options != Options() or assumptions.models is not None:
            raise DomainError(
                "the policy defines alpha, margins and systems; leave out --alpha, --tau and --models, and --target"
            )
        if pilot and assumptions != Assumptions():
            raise DomainError("the pilot defines the items and their noise; leave out the assumptions, such as --items")
        differences = None if difference is None else _numbers("--difference", difference)
        _plan_gate(policy, pilot or [], reading, assumptions, differences, looks, json_out)
        return
    gaps = _numbers("--difference", "0.01,0.02,0.05,0.1" if difference is None else difference)
    if not all(0.0 < gap <= 1.0 for gap in gaps):
        raise DomainError(
            f"--difference {quoted(str(difference))} has a number that is not above 0 and at most 1; give "
            "differences as fractions of the score range"
        )
    if not 0.0 < power < 1.0:
        raise DomainError(f"--power {power} is not between 0 and 1; choose for example 0.8")
    if price is not None and tokens is None:
        raise DomainError("--price is per million tokens; add --tokens, the number of tokens per model and item")
    if pilot:
        table = read(pilot, reading)
        if assumptions.items is not None or assumptions.models is not None:
            raise DomainError("the pilot defines the models and items; leave out --models and --items")
        design = table.design(alpha=options.target_alpha, tau=options.tau, method="bb-edge")
    else:
        design, table = assumptions.design(options), None
    if options.target:
        ways, assumed = _about_new_items(design, options.target, assumptions, table)
    elif table is not None:
        ways = pilot_forecasts(design, table.values)
        assumed = pilot_words(ways["bb-edge-x"].assumed, len(table.values))
    else:
        typical = assumptions.of_pairs(float(design.layout.sizes.mean()))
        ways, assumed = design_forecasts(design, typical, assumptions.of_pairs()), assumptions.words
    planned = ResolutionPlan(ways=ways, replicates=looks, gaps=gaps, power=power, target=options.target or "benchmark")
    if figure is not None:
        from bbedge.display.plotting import save_figure

        save_figure(planned.figure(), figure)
    planned.show(write_json(json_out, planned.document), assumed, Prices(tokens_per_query=tokens, per_million=price))


def _about_new_items(
    design: Design, target: Target, assumptions: Assumptions, pilot: Scores | None
) -> tuple[dict[str, Forecast], str]:
    """Forecasts about new items, and what they assume."""
    from bbedge.core.forecast import pilot_assumptions, typical_assumptions
    from bbedge.core.forecast_new_items import BETWEEN_SHARE, target_forecasts
    from bbedge.display.plan import pilot_words

    if design.layout.count < 2:
        raise DomainError("one block is a single draw of items and shows nothing about new ones; choose smaller blocks")
    share = BETWEEN_SHARE if assumptions.between_share is None else assumptions.between_share
    if pilot is None:
        assumed = assumptions.of_pairs(float(design.layout.sizes.mean())).with_between_share(share)
        return target_forecasts(design, assumed, target), assumptions.words
    runs = len(pilot.values)
    if runs > 1 and assumptions.between_share is not None:
        raise DomainError("the pilot has several replicates, which show how items vary; leave out --between-share")
    assumed = typical_assumptions(pilot_assumptions(pilot.values, design, is_drawn=True))
    if runs == 1:
        assumed = assumed.with_between_share(share)
    return target_forecasts(design, assumed, target), pilot_words(assumed, runs, target=target)


def _plan_gate(
    path: Path,
    pilot: list[Path],
    reading: Reading,
    assumptions: Assumptions,
    differences: list[float] | None,
    runs: list[int],
    json_out: Path | None,
) -> None:
    """Forecast when the claims of a policy are decided."""
    from bbedge.cli.gate import policy_in
    from bbedge.display.plan import PlannedClaim, plan_values, render_plan
    from bbedge.gate import Gate
    from bbedge.gate.gate import gate_after_runs
    from bbedge.gate.uses import level_of, scores_to_plan

    policy, reading = policy_in(path).with_metrics(reading)
    first_use = ""
    if policy.spending == "ledger":
        policy = policy.at_level(level_of(policy, 1))
        first_use = f" At {100 * policy.alpha:.3g} %, the level of the first use in a ledger; later ones may have less."
    if pilot:
        scores = read(pilot, structs.replace(reading, item_column=policy.columns), gaps=True)
        forecasts = gate_after_runs(policy, scores).forecasts()
        assumed = f"Noise from {counted(len(scores.values), 'run')} of the pilot."
    else:
        scores = replace(scores_to_plan(policy, *assumptions.places()), score_range=reading.score_range)
        size = len(scores.items) / len(set(scores.blocks))
        forecasts, assumed = Gate(policy, scores).forecasts(assumptions.of_pairs(size)), assumptions.words
    claims = [
        PlannedClaim(forecast=each, difference=difference)
        for each in forecasts
        for difference in (each.usual_differences if differences is None else differences)
    ]
    items = len(scores.items)
    out = write_json(json_out, lambda: plan_values(claims, runs, items=items))
    out.print(render_plan(claims, runs, items=items, assumed=assumed + first_use))


def _numbers(option: str, text: str) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
        if not all(map(isfinite, numbers)):
            raise ValueError
    except ValueError as error:
        raise DomainError(f"{option} {quoted(text)} is not a list of numbers; write for example 1,2,5") from error
    return numbers
