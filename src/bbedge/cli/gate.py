"""``bbedge gate``: whether a new system may ship, by a policy that was fixed beforehand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge.cli.board_design import read_text
from bbedge.cli.claim import CopiesRule
from bbedge.cli.options import Reading, ScoreFiles, Without, grouped
from bbedge.cli.output import JsonOut, say_written, write_json
from bbedge.cli.views import About
from bbedge.errors import DomainError
from bbedge.files import write_whole
from bbedge.text import quoted, shown, shown_path

if TYPE_CHECKING:
    from bbedge.gate import Policy


@grouped
def gate(
    policy: Annotated[
        Path, typer.Argument(metavar="POLICY.toml", help="The policy: systems, claims and alpha.", show_default=False)
    ],
    scores: ScoreFiles,
    *,
    reading: Reading,
    about: Annotated[About, Without("item_column")],
    copies: CopiesRule = None,
    json_out: JsonOut = None,
    markdown_out: Annotated[
        Path | None,
        typer.Option(
            "--markdown", metavar="OUT.md", help="Write a summary, for a pull request or a step.", show_default=False
        ),
    ] = None,
    junit_out: Annotated[
        Path | None,
        typer.Option(
            "--junit", metavar="OUT.xml", help="Write JUnit XML, a test case for each claim.", show_default=False
        ),
    ] = None,
) -> None:
    """Decide whether a new system may ship: not worse, better, or not decided yet.

    The policy names a candidate, a baseline and claims. Every claim is PASS (certified), FAIL (its opposite is
    certified) or OPEN. With probability at least 1 - alpha every PASS and FAIL is right, however often you look.

    [bold]Examples[/bold]

    [cyan]bbedge gate policy.toml runs/[/cyan]
    Apply the policy to logs or tables of both systems.

    [cyan]bbedge gate policy.toml scores.csv --markdown summary.md --junit gate.xml[/cyan]
    Write a summary for a pull request, and results that GitLab and Jenkins show.

    A policy:

    candidate = "new"
    baseline = "old"
    [[[claims]]
    not_worse_by = 0.02

    [bold]Exit codes[/bold]  0 ship, 1 stop, 2 bad input, 3 undecided (only where the policy says open = "error")
    """
    from bbedge.display.gate import junit, markdown, render
    from bbedge.gate import gate as decide

    rules = read_policy(policy)
    if copies is not None:
        rules = replace(rules, copies=copies)
    rules, reading = _with_metric(rules, reading)
    report = decide(rules, about.table(reading, scores, rules.columns))
    for path, make in ((markdown_out, markdown), (junit_out, junit)):
        if path is not None:
            write_whole(path, make(report))
    out = write_json(json_out, report.to_values)
    out.print(render(report))
    say_written(out, report=json_out, summary=markdown_out, JUnit=junit_out)
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def _with_metric(rules: Policy, reading: Reading) -> tuple[Policy, Reading]:
    """The metric of the headline, as the policy or ``--metric`` names it, where it is needed: reading, or weighing."""
    named = (rules.metric,) if isinstance(rules.metric, str) else rules.metric or ()
    given = tuple(reading.metric or ())
    if named and given and named != given:
        raise DomainError(f"{rules.source}: metric = {quoted(named[0])} is not --metric {shown(given[0])}; drop one")
    chosen = named or given
    reading = replace(reading, metric=list(chosen) or None)
    return replace(rules, metric=chosen if chosen and "metric" in rules.columns else None), reading


def read_policy(path: Path) -> Policy:
    """The policy in a file."""
    from bbedge.gate import Policy

    return Policy.from_toml(read_text(path), source=shown_path(path))
