"""A gate's report and history as pages: one screen that needs no script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bbedge.display import gate
from bbedge.display.forest import INTERVAL, Forest, ForestRow, ForestSpan, Kind
from bbedge.display.page import written
from bbedge.records.gate import ClaimResult, GateHistory, GateReport, Release, Verdict
from bbedge.text import shown

_CONSEQUENCES: dict[Release, str] = {
    "ship": "goes on (exit code 0)",
    "stop": "stops (exit code 1)",
    "undecided": "stops without a verdict (exit code 3)",
    "contradiction": "stops without a verdict (exit code 5)",
}
_FOR_NEW_ITEMS, _FOR_THESE_ITEMS = (
    ("Every run was made alike.",),
    (
        "Runs are independent of each other: no shared cache, seed or judge state.",
        "Within a run, items are independent of each other, or the blocks that they are in.",
    ),
)
_KINDS: dict[Verdict, Kind] = {"PASS": "better", "FAIL": "worse", "OPEN": "open", "CONTRADICTION": "none"}
_READING = (
    "Line: where the true difference lies, for all claims and looks together. To the right: in favour of the "
    "candidate. In colour: decided. Grey, with a hollow dot: open."
)


def report_page(
    report: GateReport,
    *,
    sources: Mapping[str, str] | None = None,
    meaning: Sequence[str] = (),
    time: str | None = None,
) -> str:
    """The verdict, a forest of the claims, and what would decide those that are open.

    ``sources`` has the hashes of what the scores come from, by name; ``meaning`` says what the verdict means beside
    those of other uses, ``time`` when the page was written.
    """
    systems = [*map(shown, report.candidates[:3]), *(["others"] if len(report.candidates) > 3 else [])]
    base = report.policy.baseline
    title = f"Gate: {', '.join(systems)}" + (f" against {shown(base)}" if base else "")
    content = {
        "said": gate.answer(report),
        "report": report,
        "forests": list(claim_forests(report)),
        "sources": sources or {},
        "consequence": consequence(report),
        "assumptions": assumptions(report),
    }
    return _page(title, content, meaning, time)


def history_page(ledger: GateHistory, *, time: str | None = None) -> str:
    """The uses of a gate, and what is left of its level."""
    content = {"said": gate.history_heading(ledger), "report": None, "ledger": ledger}
    return _page("Uses of a gate", content, [gate.over_a_year(ledger.policy)], time)


def _page(title: str, content: Mapping[str, object], meaning: Sequence[str], time: str | None) -> str:
    return written("gate.html", {**content, "gate": gate, "meaning": meaning, "time": time}, title=title)


def consequence(report: GateReport) -> str:
    """What follows from the verdicts."""
    others = " and ".join(sorted({each.claim.tier for each in report.results} - {"block"}))
    found = f"A pipeline that runs this gate {_CONSEQUENCES[report.release]}."
    return f"{found} Claims of tier {others} change nothing about that." if others else found


def assumptions(report: GateReport) -> Iterator[str]:
    """What verdicts need besides scores, which cannot show it."""
    yield from _FOR_NEW_ITEMS if report.policy.target else _FOR_THESE_ITEMS
    yield "The policy was fixed before the scores were seen, and no run was left out because of its results."
    if report.policy.spending == "ledger":
        yield "Every use of the gate is in its ledger, and none was left out because of its scores."


def claim_forests(report: GateReport) -> Iterator[Forest]:
    """The differences that the claims are about; those of costs, which have a scale of their own, apart."""
    for title, dot, is_cost in (
        ("Claims", "candidate minus baseline, or minus the floor", False),
        ("Claims about costs", "what is saved beyond what the claim asks for, as a part of the largest cost", True),
    ):
        rows = [_row(report, each) for each in report.results if (each.claim.kind == "cheaper_by") is is_cost]
        dashed = " Dashed: what the claim allows or demands." if any(row.bars for row in rows) else ""
        if rows:
            heads = ("Claim", "verdict", "difference", INTERVAL)
            yield Forest(title=title, heads=heads, rows=rows, notes=(f"Dot: {dot}. {_READING}{dashed}",))


def _row(report: GateReport, result: ClaimResult) -> ForestRow:
    claim, kind = result.claim, _KINDS[result.verdict]
    words = gate.subject(result) if len(report.candidates) > 1 else shown(str(claim), None)
    is_equality = claim.kind == "equal_within"
    return ForestRow(
        label=words if claim.tier == "block" else f"{words} ({claim.tier})",
        cells=(result.verdict, gate.difference(result), gate.interval(result)),
        point=result.difference,
        spans=(ForestSpan(result.lower, result.upper, "equal" if is_equality and kind == "better" else kind),),
        bars=(result.bar, -result.bar) if is_equality else (result.bar,) if result.bar else (),
    )
