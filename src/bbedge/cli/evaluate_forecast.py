"""What a dry run found out, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bbedge.text import counted, display_names

if TYPE_CHECKING:
    from bbedge.evaluate.preflight import CostForecast, Estimate
    from bbedge.evaluate.specification import EvaluationSpec

_HEADER = ("", "requests", "tokens", "cost")


def forecast_lines(forecast: CostForecast, study: EvaluationSpec) -> list[str]:
    """A table: one pass of every model, one pass of all, the whole budget; and where the numbers come from."""
    thing = "sample" if study.engine == "inspect" else "item"
    names = display_names(forecast.models, width=30)
    rows = [_HEADER, *(_row(name, each, study) for name, each in zip(names, forecast.models.values(), strict=True))]
    rows.append(_row("one pass of all models", forecast.one_pass, study))
    rows.append(
        _row(f"at most {forecast.budget:,} {'pass' if forecast.budget == 1 else 'passes'}", forecast.whole, study)
    )
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    lines = [
        row[0].ljust(widths[0])
        + "".join(f"  {text.rjust(width)}" for text, width in zip(row[1:], widths[1:], strict=True))
        for row in rows
    ]
    lines = [line.rstrip() for line in lines]
    if forecast.pilot:
        lines += [
            "",
            f"From a pilot of {counted(forecast.pilot, thing)} for each model, of {forecast.samples:,} in a pass; "
            "± is two standard errors.",
            f"This dry run made {counted(forecast.spent.calls, 'request')} with "
            f"{counted(forecast.spent.total_tokens, 'token')}. Its answers are never used as evidence.",
        ]
    else:
        lines += ["", f"Without a pilot: at least one request for each {thing}. Tokens and cost are not known."]
    if forecast.pilot and forecast.one_pass.tokens is not None and forecast.one_pass.cost is None:
        lines.append("For the cost, add the price of every model under [prices].")
    return [*lines, "A study stops as soon as its question is answered, which is often after few passes."]


def _row(name: str, estimate: Estimate, study: EvaluationSpec) -> tuple[str, str, str, str]:
    tokens = "?" if estimate.tokens is None else f"{estimate.tokens:,}"
    if estimate.tokens_error is not None:
        tokens += f" ± {estimate.tokens_error:,}"
    cost = "?" if estimate.cost is None else f"{study.currency}{estimate.cost:,.2f}"
    return name, f"{estimate.requests:,}", tokens, cost
