"""``bbedge gate``: whether a new system may ship, by a policy that was fixed beforehand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge.cli.board_design import read_text
from bbedge.cli.evaluate import run_study
from bbedge.cli.options import SCORES_HELP, Reading, Without, grouped
from bbedge.cli.output import JsonOut, say_written, write_json
from bbedge.cli.views import About
from bbedge.errors import DomainError
from bbedge.files import write_whole
from bbedge.text import shown_path

if TYPE_CHECKING:
    from bbedge.core.scores import Scores
    from bbedge.gate import Policy

MaybeScores = Annotated[list[Path] | None, typer.Argument(metavar="SCORES", help=SCORES_HELP, show_default=False)]


@grouped
def gate(
    policy: Annotated[
        Path, typer.Argument(metavar="POLICY.toml", help="The policy: systems, claims and alpha.", show_default=False)
    ],
    scores: MaybeScores = None,
    *,
    until_decided: Annotated[
        Path | None,
        typer.Option(
            metavar="STUDY.toml",
            help="Run this study as bbedge evaluate does, until every blocking claim is decided or the budget of the "
            "policy (else of the study) is spent. Instead of SCORES.",
            show_default=False,
        ),
    ] = None,
    reading: Reading,
    about: Annotated[About, Without("item_column")],
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
    r"""Decide whether a new system may ship: not worse, better, or not decided yet.

    The policy names a candidate, a baseline and claims. Every claim is PASS (certified), FAIL (its opposite is
    certified) or OPEN. With probability at least 1 - alpha every PASS and FAIL is right, however often you look.

    [bold]Examples[/bold]

    [cyan]bbedge gate policy.toml runs/[/cyan]
    Apply the policy to logs or tables of both systems.

    [cyan]bbedge gate policy.toml scores.csv --markdown summary.md --junit gate.xml[/cyan]
    Write a summary for a pull request, and results that GitLab and Jenkins show.

    [cyan]bbedge gate policy.toml --until-decided study.toml[/cyan]
    Run both systems, run by run, until every blocking claim is decided.

    A policy:

    candidate = "new"
    baseline = "old"
    \[\[claims]]
    not_worse_by = 0.02

    [bold]Exit codes[/bold]  0 ship, 1 stop, 2 bad input, 3 undecided (only where the policy says open = "error"), 130
    --until-decided was interrupted
    """
    from bbedge.display.gate import junit, markdown, render
    from bbedge.gate import gate as decide

    rules = read_policy(policy)
    report = decide(rules, _scores(rules, policy, scores or [], until_decided, reading, about))
    for path, make in ((markdown_out, markdown), (junit_out, junit)):
        if path is not None:
            write_whole(path, make(report))
    out = write_json(json_out, report.to_values)
    out.print(render(report))
    say_written(out, report=json_out, summary=markdown_out, JUnit=junit_out)
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def _scores(
    rules: Policy, policy: Path, files: list[Path], study: Path | None, reading: Reading, about: About
) -> Scores:
    """The scores that the policy is applied to: of files, or of a study that is run for it."""
    if bool(files) == (study is not None):
        raise DomainError("give either SCORES, files that hold the scores, or --until-decided STUDY.toml to run them")
    if study is None:
        columns = tuple(dict.fromkeys(name for name in (rules.macro, rules.weights, rules.views) if name is not None))
        return about.table(reading, files, columns)
    from bbedge.board import Board
    from bbedge.board.scores import stored_scores
    from bbedge.evaluate.spec import EvaluationSpec

    chosen = EvaluationSpec.read(study).gated(rules)
    run_study(chosen, again=f"bbedge gate {shown_path(policy)} --until-decided {shown_path(study)}")
    with Board.open(chosen.board) as board:
        return stored_scores(board, chosen.question.systems)


def read_policy(path: Path) -> Policy:
    """The policy in a file."""
    from bbedge.gate import Policy

    return Policy.from_toml(read_text(path), source=shown_path(path))
