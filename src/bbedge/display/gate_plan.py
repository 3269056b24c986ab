"""The plan of a gate before its first run: when each claim will likely be decided, as a sentence, a table and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bbedge.gate.verdicts import ClaimForecast
from bbedge.text import counted, shown

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
        return "PASS" if self.difference > self.forecast.bar else "FAIL"

    @property
    def runs(self) -> tuple[int | None, ...]:
        """The runs after which it is decided with each of the probabilities."""
        return tuple(self.forecast.runs_for(self.difference, power=power) for power in POWERS)

    def amounts(self, runs: Sequence[int]) -> list[float | None]:
        """The margins or floors with which so many runs PASS."""
        return [self.forecast.amount_for(self.difference, count) for count in runs]


def usual_differences(forecast: ClaimForecast) -> tuple[float, ...]:
    """What to assume of a claim if nothing is said: what it hopes for, and a system that it should stop."""
    amount, (low, high) = forecast.claim.amount, forecast.score_range
    twice = min(2.0 * amount, (amount + high - low) / 2.0)  # at most half-way from it to the largest difference
    if forecast.claim.kind == "not_worse_by" and amount:
        return (0.0, -twice)
    if forecast.claim.kind == "better_by" and amount:
        return (twice, 0.0)
    apart = 0.05 * (high - low)
    if forecast.claim.kind == "at_least":
        apart = min(apart, (high - amount) / 2.0, (amount - low) / 2.0)
    return (apart, -apart)


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
                "noise": each.forecast.ahead.outlook.noise,
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
    decided = _table("Runs until a claim is decided, by the probability that it is")
    for name in ("candidate", "claim", "true difference", "verdict"):
        decided.add_column(name, justify="right" if name == "true difference" else "left")
    for power in POWERS:
        decided.add_column(f"{100 * power:g} %", justify="right")
    for each in claims:
        decided.add_row(*_subject(each), each.verdict, *("never" if n is None else f"{n:,}" for n in each.runs))
    margins = _table("Margin or floor that so many runs pass with 80 % probability")
    for name in ("candidate", "claim", "true difference"):
        margins.add_column(name, justify="right" if name == "true difference" else "left")
    for count in runs:
        margins.add_column(counted(count, "run"), justify="right")
    for each in claims:
        if each.verdict == "PASS" and each.forecast.claim.kind != "cheaper_by":
            amounts = each.amounts(runs)
            margins.add_row(*_subject(each), *("none" if amount is None else f"{amount:g}" for amount in amounts))
    lines: list[RenderableType] = [Text(_answer(claims, items), style="bold"), Text(assumed, style="dim"), Text("")]
    lines += [decided, Text("")]
    if margins.row_count:
        lines += [margins, Text("")]
    lines.append(
        Text(
            "This is a forecast, not a guarantee; verdicts do not depend on it. You may look after every run, and stop "
            "as soon as the claims are decided.",
            style="dim",
        )
    )
    return Group(*lines)


def _table(title: str) -> Table:
    return Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)


def _subject(each: PlannedClaim) -> tuple[RenderableType, ...]:
    forecast = each.forecast
    return Text(shown(forecast.candidate)), Text(shown(str(forecast.claim), None)), Text(f"{each.difference:+g}")


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
