"""What the verdicts of a gate mean over many uses of it, and the history that a ledger keeps."""

from __future__ import annotations

from typing import get_args

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bbedge.display.gate import percent
from bbedge.gate.ledger import Ledger, Recorded
from bbedge.gate.policy import Policy
from bbedge.gate.report import GateReport, Verdict
from bbedge.text import counted, shown

_YEAR = 100  # merges, as an example
_STYLES = {"ship": "green", "stop": "bold red", "undecided": "yellow", "contradiction": "bold red"}


def over_a_year(policy: Policy, recorded: Recorded | None = None) -> str:
    """What alpha means for many uses of the gate."""
    alpha = f"{100 * policy.alpha:g} %"
    if policy.spending == "each-run":
        return (
            f"Each use of this gate has its own {alpha}: of {_YEAR} merges in a year, up to {_YEAR * policy.alpha:g} "
            'may have a wrong verdict on average. With spending = "ledger" in the policy, the risk that any of them '
            f"has one is at most {alpha}."
        )
    share = "" if recorded is None else f"This is use {recorded.use.number}, with {100 * recorded.use.level:.3g} %. "
    limit = "any number of uses" if policy.shares is None else counted(policy.shares, "use")
    return (
        f"{share}All uses in this ledger share {alpha}: the risk that any of them has a wrong verdict is at most "
        f"{alpha}, over {limit}."
    )


def place(recorded: Recorded) -> str:
    """Where a report is in its ledger."""
    use = recorded.use
    label = f" ({shown(use.label)})" if use.label else ""
    if recorded.is_known:
        return f"Recorded before, as use {use.number}{label} on {use.at[:10]}: nothing was spent."
    return f"Recorded as use {use.number}{label}."


def render_history(ledger: Ledger) -> RenderableType:
    """What a terminal shows of a ledger: a row for each use."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("use", "date", "label", "release", "verdicts", "runs", "level"):
        table.add_column(name, justify="right" if name in ("use", "runs", "level") else "left")
    for use in ledger.uses:
        report = use.report
        release = "running" if report is None else report.release
        table.add_row(
            str(use.number),
            use.at[:10],
            Text("" if use.label is None else shown(use.label)),
            Text(release, style=_STYLES.get(release, "")),
            "" if report is None else _counts(report),
            "" if report is None else _runs(report),
            f"{100 * use.level:.3g} %",
        )
    heading = f"{counted(len(ledger.uses), 'use')} of the gate"
    if ledger.policy.spending == "ledger":
        heading += f", {100 * ledger.spent:.3g} % of {100 * ledger.policy.alpha:g} % spent"
        heading += f"; the next use has {100 * ledger.next_level:.3g} %" if ledger.next_level else "; nothing is left"
    return Group(
        Text(heading + ".", style="bold"),
        Text(""),
        table,
        Text(over_a_year(ledger.policy)),
        Text(f"Checksum of the ledger: {ledger.head}"),
    )


def _runs(report: GateReport) -> str:
    """The number of runs, or the part of the first one that there is."""
    return str(report.replicates) if report.part is None else percent(report.part)


def _counts(report: GateReport) -> str:
    verdicts = [each.verdict for each in report.results]
    return ", ".join(f"{verdicts.count(word)} {word}" for word in get_args(Verdict) if word in verdicts)
