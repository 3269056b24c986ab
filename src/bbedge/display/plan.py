"""What a benchmark can resolve, and at what cost; when the claims of a gate are decided: tables, JSON, a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.table import Column
from rich.text import Text

from bbedge.core.forecast import MOST_REPLICATES
from bbedge.display.plotting import COLOURS, DASHES, house_style, new_figure
from bbedge.display.tables import numbers, text_table
from bbedge.gate.verdicts import ClaimForecast
from bbedge.records.values import Target
from bbedge.text import counted, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bbedge.core.checkpoints import Checkpoint
    from bbedge.core.forecast import Forecast, PairAssumptions


_TIMES = (1.0, 2.0, 4.0)  # how many times as many items the tables of new items have
_MORE_ITEMS = (
    " Of new items, as many answers resolve most where each item is run once; more runs are for where items are scarce."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What a query costs."""

    tokens_per_query: float | None
    """Tokens of one model's answer to one item, prompt included."""
    per_million: float | None
    """Money for a million tokens."""

    def heads(self, suffix: str = "") -> list[str]:
        """What columns of costs are called, as far as prices are known."""
        if self.tokens_per_query is None:
            return []
        return [f"tokens{suffix}"] if self.per_million is None else [f"tokens{suffix}", f"cost{suffix}"]

    def cells(self, queries: int | None) -> list[str]:
        """What so many queries cost; empty texts where their number is not known."""
        if self.tokens_per_query is None or queries is None:
            return [""] * len(self.heads())
        tokens = queries * self.tokens_per_query
        cost = [] if self.per_million is None else [f"{tokens / 1e6 * self.per_million:,.2f}"]
        return [f"{tokens:,.0f}", *cost]


def pilot_words(typical: PairAssumptions, replicates: int, *, target: Target = "benchmark") -> str:
    """What a pilot showed of a typical pair."""
    words = f"From the pilot's {counted(replicates, 'replicate')}: a typical pair has noise {typical.noise:.4f} and "
    words += f"unevenness {typical.unevenness:.4f} per block."
    if replicates == 1:
        assumed = "all variance counts as noise" if target == "benchmark" else "their shares are assumed"
        words += f" One replicate cannot separate the two; {assumed}."
    return words


def _between_words(assumed: PairAssumptions) -> str:
    """What is assumed of new items."""
    return f" {100 * assumed.between_share:.0f} % of the variance of a difference in one run lies between items."


@dataclass(frozen=True, kw_only=True)
class ResolutionPlan:
    """What a leaderboard can resolve."""

    ways: Mapping[str, Forecast]
    """What each way of analysing the same runs can resolve, by its name; costs are those of the first."""
    replicates: Sequence[int]
    """Numbers of replicates to state the smallest difference for."""
    gaps: Sequence[float]
    """Differences to state the costs of."""
    power: float
    """The probability with which a difference is certified."""
    target: Target = "benchmark"
    """What is claimed. New items are then the first way, and the tables also say what more items resolve."""

    @cached_property
    def first(self) -> Forecast:
        """The first way."""
        return next(iter(self.ways.values()))

    @cached_property
    def by_items(self) -> list[tuple[float, list[float | None]]]:
        """For numbers of new items the smallest difference after each number of runs, and after any number last."""
        return [
            (times, [replace(self.first, times=times).smallest_gap(r, power=self.power) for r in self._run_counts])
            for times in _TIMES
        ]

    @cached_property
    def items_needed(self) -> list[tuple[float, list[int | None]]]:
        """For each difference how many new items it needs with each number of runs, and with any number last."""
        items = len(self.first.design.items)
        found = [(gap, [self.first.times_for(gap, r, power=self.power) for r in self._run_counts]) for gap in self.gaps]
        return [(gap, [None if t is None else ceil(items * max(1.0, t)) for t in times]) for gap, times in found]

    @property
    def _run_counts(self) -> list[int]:
        return [*self.replicates, MOST_REPLICATES]

    @cached_property
    def checkpoints(self) -> list[tuple[float, Checkpoint | None]]:
        """Where inside the first run each difference is decided; empty if there are no looks inside it."""
        inside = self.first.inside_first_run
        return [] if inside is None else [(gap, inside.checkpoint_for(gap, power=self.power)) for gap in self.gaps]

    def document(self) -> dict[str, object]:
        """Everything that the tables show, for programs."""
        design, power = self.first.design, self.power
        parts = [
            {"difference": gap, "fraction": None if found is None else found.fraction}
            for gap, found in self.checkpoints
        ]
        return {
            "models": len(design.models),
            "items": len(design.items),
            "blocks": design.layout.count,
            "alpha": design.alpha,
            "tau": design.tau,
            "power": power,
            "ways": [
                {
                    "name": name,
                    "noise": forecast.assumed.noise,
                    "unevenness": forecast.assumed.unevenness,
                    "smallest_difference": [
                        {"replicates": r, "difference": forecast.smallest_gap(r, power=power)} for r in self.replicates
                    ],
                    "replicates_needed": [
                        {"difference": gap, "replicates": forecast.replicates_for(gap, power=power)}
                        for gap in self.gaps
                    ],
                }
                for name, forecast in self.ways.items()
            ],
            **({"first_pass": parts} if parts else {}),
            **({} if self.target == "benchmark" else self._document_of_new_items()),
        }

    def _document_of_new_items(self) -> dict[str, object]:
        """What more items resolve, for programs; without a number of runs, with as many as one likes."""
        items, runs = len(self.first.design.items), [*self.replicates, None]
        return {
            "target": self.target,
            "between_share": self.first.assumed.between_share,
            "smallest_difference_of_items": [
                {"items": round(items * times), "replicates": r, "difference": gap}
                for times, gaps in self.by_items
                for r, gap in zip(runs, gaps, strict=True)
            ],
            "items_needed": [
                {"difference": gap, "replicates": r, "items": count}
                for gap, counts in self.items_needed
                for r, count in zip(runs, counts, strict=True)
            ],
        }

    def _answer(self) -> str:
        """What is in reach on new items, and by what."""
        items, (_, own), (times, more) = len(self.first.design.items), self.by_items[0], self.by_items[-1]
        once, least = own[0], own[-1]
        if least is None:
            return f"No number of runs of {items:,} items certifies a difference on new items {self._certain}."
        runs = counted(self._run_counts[0], "run")
        return (
            f"{items:,} items certify differences on new items of at least {_or(once, 'none', '.3f')} with {runs} and "
            f"of at least {least:.3f} with any number of runs, {self._certain}. Below that only more items help: "
            f"{times * items:,.0f} certify {_or(more[0], 'none', '.3f')} with {runs}."
        )

    @property
    def _certain(self) -> str:
        return f"with {100 * self.power:g} % power"

    def show(self, console: Console, assumed: str, prices: Prices) -> None:
        """Print what can be resolved after so many replicates, and what a difference costs."""
        design, power, ways = self.first.design, self.power, self.ways.values()
        is_new = self.target != "benchmark"
        console.print()
        if is_new:
            assumed += _between_words(self.first.assumed)
            console.print(Text(f"{self._answer()}\n", style="bold"))
        title = (
            f"{len(design.models)} models · {len(design.items):,} items in {design.layout.count:,} blocks · "
            f"alpha {design.alpha:g}{' for each target' if self.target == 'both' else ''} · tau {design.tau:g}"
        )
        console.print(Text(title, style="bold"))
        console.print(Text(assumed, style="dim"))
        smallest = (
            (str(r), *(_or(each.smallest_gap(r, power=power), "none", ".4f") for each in ways)) for r in self.replicates
        )
        names, certain = list(self.ways), self._certain
        tables = {
            f"Smallest difference certified {certain}": (["replicates", *names], smallest),
            f"Replicates needed to certify a difference {certain}": (
                ["difference", *names, f"queries ({names[0]})", *prices.heads()],
                (self._costs(gap, prices) for gap in self.gaps),
            ),
        }
        if any(found for _, found in self.checkpoints):
            tables[f"Looks inside the first run: when two models are decided {certain}"] = (
                ["difference", "part of the run", "queries", "queries saved", *prices.heads(" saved")],
                (_savings(gap, found, len(design.items), prices) for gap, found in self.checkpoints),
            )
        if is_new:
            heads, items = [*(counted(r, "run") for r in self.replicates), "any number"], len(design.items)
            tables[f"Smallest difference on new items certified {certain}, by items and runs"] = (
                ["items", *heads],
                (
                    (f"{times * items:,.0f}", *(_or(gap, "none", ".4f") for gap in gaps))
                    for times, gaps in self.by_items
                ),
            )
            tables[f"Items needed to certify a difference on new items {certain}, by runs"] = (
                ["difference", *heads],
                ((f"{gap:g}", *(_or(n, "out of reach", ",") for n in counts)) for gap, counts in self.items_needed),
            )
        for caption, (heads, rows) in tables.items():
            console.print()
            console.print(text_table(numbers(*heads), rows, title=Text(caption), box=None), highlight=False)
        console.print()
        console.print(
            Text(
                "This is a forecast, not a guarantee. It assumes that no other pair is certified yet, which is "
                "conservative, the noise stated above, and that you state the number of replicates with --planned. "
                "Certificates do not depend on the forecast." + (_MORE_ITEMS if is_new else ""),
                style="dim",
            )
        )

    def _costs(self, gap: float, prices: Prices) -> list[str]:
        """The replicates that a difference needs with each way of analysis, and what they cost with the first one."""
        design = self.first.design
        counts = [forecast.replicates_for(gap, power=self.power) for forecast in self.ways.values()]
        queries = None if counts[0] is None else counts[0] * len(design.models) * len(design.items)
        return [
            f"{gap:g}",
            *(_or(count, "out of reach", ",") for count in counts),
            _or(queries, "", ","),
            *prices.cells(queries),
        ]

    def figure(self) -> Figure:
        """The smallest difference over replicates, on logarithmic axes."""
        with house_style():
            from matplotlib.ticker import LogLocator

            figure, ax = new_figure(5.6, 3.6, layout="constrained")
            most, power = max([20, *self.replicates]), self.power
            at = sorted({round(most ** (step / 40)) for step in range(41)})
            for place, (name, forecast) in enumerate(self.ways.items()):
                found = [(r, forecast.smallest_gap(r, power=power)) for r in at]
                shown = [(r, gap) for r, gap in found if gap is not None]
                ax.plot(
                    [r for r, _ in shown],
                    [gap for _, gap in shown],
                    label=name if shown else f"{name}: none",
                    color=COLOURS[place % len(COLOURS)],
                    linestyle=DASHES[place % len(DASHES)],
                )
            ax.set(xscale="log", yscale="log", xlabel="replicates", ylabel="smallest difference certified")
            ax.set_title(f"What can be resolved with {100 * power:g} % power")
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
                axis.set_major_formatter("{x:g}")
                axis.set_minor_formatter("")
            ax.grid(visible=True, which="minor", linewidth=0.3)
            ax.legend()
            return figure


def _or(value: float | None, otherwise: str, form: str) -> str:
    return otherwise if value is None else f"{value:{form}}"


def _savings(gap: float, found: Checkpoint | None, items: int, prices: Prices) -> list[str]:
    """What looks inside the first run save of one complete run of two models."""
    if found is None:
        return [f"{gap:g}", "none"]
    saved = 2 * (items - found.items)
    return [f"{gap:g}", f"{found.fraction:.0%}", f"{2 * found.items:,}", f"{saved:,}", *prices.cells(saved)]


POWERS = (0.5, 0.8, 0.9)
"""The probabilities of a decision that the table has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedClaim:
    """A claim at an assumed true difference."""

    forecast: ClaimForecast
    """When it is decided."""
    difference: float
    """The true difference that is assumed, candidate minus baseline or floor, in score units."""

    @property
    def verdict(self) -> str:
        """The verdict that is right."""
        return "PASS" if self.forecast.holds_at(self.difference) else "FAIL"

    @property
    def runs(self) -> tuple[int | None, ...]:
        """The runs after which it is decided with each of the probabilities."""
        return tuple(self.forecast.runs_for(self.difference, power=power) for power in POWERS)

    def amounts(self, runs: Sequence[int]) -> list[float | None]:
        """The margins or floors with which so many runs PASS."""
        return [self.forecast.amount_for(self.difference, count) for count in runs]


def plan_values(claims: Sequence[PlannedClaim], runs: Sequence[int], *, items: int) -> dict[str, Any]:
    """Everything that is shown, for programs."""
    return {
        "items": items,
        "claims": [
            {
                "candidate": each.forecast.candidate,
                "claim": str(each.forecast.claim),
                "bar": each.forecast.bar,
                "difference": each.difference,
                "verdict": each.verdict,
                "noise": each.forecast.ahead.assumed.noise,
                "runs": [{"power": power, "runs": count} for power, count in zip(POWERS, each.runs, strict=True)],
                "amounts": [
                    {"runs": count, "amount": amount}
                    for count, amount in zip(runs, each.amounts(runs), strict=True)
                    if each.verdict == "PASS"
                ],
            }
            for each in claims
        ],
    }


def render_plan(claims: Sequence[PlannedClaim], runs: Sequence[int], *, items: int, assumed: str) -> RenderableType:
    """What a terminal shows: the answer, when claims are decided, and which margins so many runs can pass."""
    subject: list[str | Column] = ["candidate", "claim", *numbers("true difference")]
    decided = text_table(
        [*subject, "verdict", *numbers(*(f"{100 * power:g} %" for power in POWERS))],
        ((*_subject(each), each.verdict, *(_or(count, "never", ",") for count in each.runs)) for each in claims),
        title=Text("Runs until a claim is decided, by the probability that it is"),
    )
    margins = text_table(
        [*subject, *numbers(*(counted(count, "run") for count in runs))],
        (
            (*_subject(each), *(_or(amount, "none", "g") for amount in each.amounts(runs)))
            for each in claims
            if each.verdict == "PASS" and each.forecast.claim.kind != "cheaper_by"
        ),
        title=Text("Margin or floor that so many runs pass with 80 % probability"),
    )
    looks = claims[0].forecast.ahead.design.schedule if claims else {}
    when = f"after {', '.join(map(str, looks))} runs" if looks else "after every run"
    assumed += _between_words(claims[0].forecast.ahead.assumed) if looks else ""
    closing = (
        f"This is a forecast, not a guarantee; verdicts do not depend on it. You may look {when}, and stop as soon as "
        "the claims are decided."
    )
    lines: list[RenderableType] = [Text(_answer(claims, items), style="bold"), Text(assumed, style="dim"), Text("")]
    lines += [decided, Text(""), margins, Text("")] if margins.row_count else [decided, Text("")]
    return Group(*lines, Text(closing, style="dim"))


def _subject(each: PlannedClaim) -> tuple[str, ...]:
    forecast = each.forecast
    return shown(forecast.candidate), shown(str(forecast.claim), None), f"{each.difference:+g}"


def _answer(claims: Sequence[PlannedClaim], items: int) -> str:
    """How many runs all claims need that are true of what is assumed."""
    blocks = [each for each in claims if each.forecast.claim.tier == "block"] or claims
    needed = [each.forecast.runs_for(each.difference) for each in blocks if each.verdict == "PASS"]
    if not needed:
        return f"No blocking claim is true of the assumed differences; {items:,} items."
    if None in needed:
        return f"At least one blocking claim will not be decided by any number of runs; {items:,} items."
    most = max(count for count in needed if count is not None)
    return f"Plan for {counted(most, 'run')} of {items:,} items: then each blocking claim passes with 80 % probability."
