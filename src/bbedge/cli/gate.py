"""``bbedge gate``: whether a new system may ship, by a policy that was fixed beforehand."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import structs

from bbedge.cli.evaluate import ServerChanged, run_study
from bbedge.cli.options import SCORES_HELP, Only, Without, grouped, read
from bbedge.cli.output import JsonOut, say, say_written, write_json, written_at
from bbedge.credentials import without_credentials
from bbedge.errors import DesignError, DomainError
from bbedge.files import read_text, write_whole
from bbedge.records.design import Counting
from bbedge.records.reading import ABOUT_ITEMS, SUITE, Reading
from bbedge.records.values import Strict, option
from bbedge.text import shown_path

if TYPE_CHECKING:
    from bbedge.core.scores import Scores
    from bbedge.gate import GateReport, Policy, RecordedUse
    from bbedge.gate.gate import FirstRun


class LedgerUse(Strict, frozen=True, kw_only=True):
    """The use of a gate, if it is recorded."""

    ledger: Annotated[
        str | None,
        option(
            "Record this use of the gate in a file, or in PostgreSQL by a URL, under one error budget for all uses if "
            "the policy says so. Of a study: reserve its level before the first look, and record every look inside the "
            "first run. Without SCORES: show the recorded uses.",
            metavar="FILE",
        ),
    ] = None
    label: Annotated[
        str | None,
        option(
            "With --ledger: what identifies this use, such as the commit. Another label is another use; the same one "
            "needs the runs that are recorded for it, and maybe further ones.",
            metavar="TEXT",
        ),
    ] = None
    head: Annotated[
        str | None,
        option(
            "A head of the ledger that was printed earlier: refuse a ledger that was cut short, set back or made anew "
            "since.",
            metavar="HASH",
        ),
    ] = None

    def verdict(
        self, rules: Policy, scores: Scores, study: str | None = None, first_run: FirstRun | None = None
    ) -> tuple[GateReport, RecordedUse | None]:
        """What a policy says of scores, and the use as it is recorded; ``study`` is the hash of a study."""
        from bbedge.gate import gate as decide
        from bbedge.gate.ledger import record

        if self.ledger is None:
            # The board of a study has checked its runs itself.
            return decide(rules if study is None else rules.changed(copies="allow"), scores, first_run=first_run), None
        recorded = record(
            self.ledger, rules, scores, label=self.label, study=study, first_run=first_run, head=self.head
        )
        return recorded.report, recorded


@grouped
def gate(
    policy: Annotated[
        Path | None,
        typer.Argument(metavar="POLICY.toml", help="The policy: systems, claims and alpha.", show_default=False),
    ] = None,
    scores: Annotated[list[Path] | None, typer.Argument(metavar="SCORES", help=SCORES_HELP, show_default=False)] = None,
    *,
    until_decided: Annotated[
        Path | None,
        typer.Option(
            metavar="STUDY.toml",
            help="Run this study as bbedge evaluate does, until every blocking claim is decided or the budget of the "
            "policy (else of the study) is spent. From 200 blocks on it also looks inside the first run. Instead of "
            "SCORES.",
            show_default=False,
        ),
    ] = None,
    use: LedgerUse,
    server_changed: ServerChanged = None,
    reading: Annotated[Reading, Without(*SUITE, "item_column")],
    counting: Annotated[Counting, Only("copies")],
    json_out: JsonOut = None,
    html_out: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="OUT.html", help="Write a web page: one file that needs no network.", show_default=False
        ),
    ] = None,
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

    [cyan]bbedge gate policy.toml runs/ --ledger gate.bbedge --label 1f3a2c9[/cyan]
    Record this use; bbedge gate --ledger gate.bbedge shows all of them.

    A policy:

    candidate = "new"
    baseline = "old"
    \[\[claims]]
    not_worse_by = 0.02

    [bold]Exit codes[/bold]  0 ship, 1 stop, 2 bad input, 3 undecided (0 or 1 if the policy says open = "pass" or
    "fail"), 5 the runs contradict each other, 130 --until-decided was interrupted
    """
    from bbedge.display.gate import junit, markdown, over_a_year, place, render
    from bbedge.gate.uses import check_costs

    if use.ledger is None and (use.label is not None or use.head is not None):
        raise DomainError(f"--{'head' if use.label is None else 'label'} is about a ledger; add --ledger FILE")
    if use.ledger is not None and not scores and until_decided is None:
        _show_history(use.ledger, policy, json_out, html_out, use.head)
        return
    if policy is None or bool(scores) == (until_decided is not None):
        raise DomainError("give POLICY.toml and either SCORES, files with scores, or --until-decided STUDY.toml")
    if until_decided is None and server_changed is not None:
        raise DomainError("--server-changed is for a study; add --until-decided STUDY.toml, or leave it out")
    rules, reading = policy_in(policy).with_metrics(reading)
    if counting["copies"] is not None:
        rules = rules.changed(copies=counting["copies"])
    if rules.spending == "ledger" and use.ledger is None:
        raise DesignError(
            f'{rules.source}: spending = "ledger" shares alpha among all uses of the gate; add --ledger FILE'
        )
    if use.ledger is not None and use.label is None:
        raise DesignError("a use in a ledger is known by its label; add --label TEXT, such as the commit")
    if until_decided is not None:
        again = f"bbedge gate {shown_path(policy)} --until-decided {shown_path(until_decided)}"
        report, recorded, sources = _study_verdict(until_decided, rules, use, again, server_changed)
    else:
        with_columns = structs.replace(reading, item_column=rules.columns)
        keeps = html_out is not None or json_out is not None
        table = read(scores or [], with_columns, gaps=True, identify=use.ledger is not None, provenance=keeps)
        check_costs(rules, reading.metric, reading.metric_ranges, views=table.columns.get("metric", ()))
        report, recorded = use.verdict(rules, table)
        sources = {each.name: each.sha256 for each in table.sources or ()}
    meaning = [over_a_year(rules, recorded)]
    if recorded is not None:
        meaning.insert(0, place(recorded))
    if html_out is not None:
        from bbedge.display.page.gate import report_page

        write_whole(html_out, report_page(report, sources=sources, meaning=meaning, time=written_at()))
    if markdown_out is not None:
        write_whole(markdown_out, markdown(report) + ("" if recorded is None else "\n" + "\n".join(meaning) + "\n"))
    if junit_out is not None:
        write_whole(junit_out, junit(report))
    found = report if recorded is None else recorded
    out = write_json(json_out, lambda: found.to_values() | {"policy": rules.hash, "sources": sources})
    out.print(render(report))
    if (
        report.open_blocks
        and not report.contradictions
        and scores
        and not rules.of_runs
        and not any(getattr(reading, name) for name in ABOUT_ITEMS)
    ):
        words = shlex.join([*map(str, scores or ()), "--policy", str(policy), *reading.words()])
        meaning.insert(0, f"To plan what would decide it: bbedge plan {words}")
    say(*meaning, console=out)
    say_written(out, report=json_out, page=html_out, summary=markdown_out, JUnit_file=junit_out)
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def _study_verdict(
    path: Path, rules: Policy, use: LedgerUse, again: str, server_changed: str | None
) -> tuple[GateReport, RecordedUse | None, dict[str, str]]:
    """Run a study until it is decided, and the head of its board. Its level is reserved before the first look."""
    from bbedge.board import Board
    from bbedge.board.stored_scores import stored_scores
    from bbedge.evaluate.engines import engine_for
    from bbedge.evaluate.preflight import preflight_unwatched
    from bbedge.evaluate.servers import addresses_of, checked_reason
    from bbedge.evaluate.specification import EvaluationSpec
    from bbedge.evaluate.study_board import first_run_of, open_board, reserved_study, study_hash

    study = EvaluationSpec.read(path)
    if use.ledger is None:
        chosen = study.gated(rules)
    else:
        study.gated(rules.at_level(rules.alpha))  # what is wrong is found before there is a board
        again += f" --ledger {without_credentials(use.ledger)} --label {shlex.quote(use.label or '')}"
        engine = engine_for(study)
        check = partial(preflight_unwatched, study, engine)
        benchmark, reason = engine.benchmark(), checked_reason(server_changed)
        with open_board(
            study, benchmark, addresses=addresses_of(engine), server_changed=reason, before_freezing=check
        ) as board:
            chosen = reserved_study(study, rules, board, use.ledger, label=use.label, head=use.head)
    run_study(chosen, again, server_changed)
    with Board.open(chosen.board) as board:
        systems = chosen.question.systems
        first_run = first_run_of(board, systems, rules)
        head = {f"{board.name}, head": board.head}
        return *use.verdict(rules, stored_scores(board, systems), study_hash(board), first_run), head


def policy_in(path: Path) -> Policy:
    """The policy in a file."""
    from bbedge.gate import Policy

    return Policy.from_toml(read_text(path), source=shown_path(path))


def _show_history(
    ledger: str, policy: Path | None, json_out: Path | None, html_out: Path | None, head: str | None
) -> None:
    """Print the uses in a ledger; a policy that is named must be that of the ledger."""
    from bbedge.display.gate import render_history
    from bbedge.gate.ledger import read_ledger

    rules = None if policy is None else policy_in(policy).with_metrics(Reading())[0]
    found = read_ledger(ledger, policy=rules, head=head, forecasts=json_out is not None)
    if html_out is not None:
        from bbedge.display.page.gate import history_page

        write_whole(html_out, history_page(found, time=written_at()))
    out = write_json(json_out, found.to_values)
    out.print(render_history(found))
    say_written(out, history=json_out, page=html_out)
