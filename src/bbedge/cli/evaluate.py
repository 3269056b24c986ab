"""``bbedge evaluate``, and what a study would cost."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from bbedge.cli.options import grouped
from bbedge.cli.output import exit_if_contradicted, results_console, say
from bbedge.credentials import without_credentials
from bbedge.errors import DomainError, EvaluationError, ReportedError
from bbedge.records.values import Strict, option
from bbedge.text import counted, display_names, shown, shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from bbedge.evaluate.events import Ended, Event
    from bbedge.evaluate.preflight import CostForecast, Estimate
    from bbedge.evaluate.specification import EvaluationSpec


_HEADER = ("", "requests", "tokens", "cost")


def forecast_lines(forecast: CostForecast, study: EvaluationSpec) -> list[str]:
    """A table: one run of every model, one run of all, the whole budget; and where the numbers come from."""
    thing = "sample" if study.file.engine == "inspect" else "item"
    names = display_names(forecast.models, width=30)
    rows = [_HEADER, *(_row(name, each, study) for name, each in zip(names, forecast.models.values(), strict=True))]
    rows.append(_row("one run of all models", forecast.one_run, study))
    rows.append(_row(f"at most {forecast.budget:,} {'run' if forecast.budget == 1 else 'runs'}", forecast.whole, study))
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
            f"From a pilot of {counted(forecast.pilot, thing)} for each model, of {forecast.samples:,} in a run; "
            "± is two standard errors.",
            f"This dry run made {counted(forecast.spent.calls, 'request')} with "
            f"{counted(forecast.spent.total_tokens, 'token')}. Its answers are never used as evidence.",
        ]
    else:
        lines += ["", f"Without a pilot: at least one request for each {thing}. Tokens and cost are not known."]
    if forecast.pilot and forecast.one_run.tokens is not None and forecast.one_run.cost is None:
        lines.append("For the cost, add the price of every model under [prices].")
    if forecast.looks:
        looks = ", ".join(map(str, forecast.looks))
        return [*lines, f"New items are looked at after {looks} runs, and the study stops only after such a look."]
    return [*lines, "A study stops as soon as its question is answered, which is often after few runs."]


def _row(name: str, estimate: Estimate, study: EvaluationSpec) -> tuple[str, str, str, str]:
    tokens = "?" if estimate.tokens is None else f"{estimate.tokens:,}"
    if estimate.tokens_error is not None:
        tokens += f" ± {estimate.tokens_error:,}"
    cost = "?" if estimate.cost is None else f"{study.currency}{estimate.cost:,.2f}"
    return name, f"{estimate.requests:,}", tokens, cost


_NOT_ANSWERED = 3
_LIMIT = 4
_PILOT = 10
_INTERRUPTED = 130

ServerChanged = Annotated[
    str | None,
    typer.Option(
        metavar="REASON",
        help="Go on although the study asks another server than before, or the server serves another model. The board "
        "and its certificates state the change and this reason.",
        show_default=False,
    ),
]
"""Why a study goes on with another server."""


class Progress(Strict, frozen=True, kw_only=True):
    """What is shown while a study runs."""

    quiet: Annotated[bool, option("Print only the result.")] = False
    json_lines: Annotated[bool, option("Write events as JSON lines to standard output.", names="--json")] = False


@grouped
def evaluate(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="The study: a TOML file.", show_default=False)],
    replicates: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Stop after N replicates; the next call continues.", show_default=False),
    ] = None,
    no_drop: Annotated[
        bool, typer.Option("--no-drop", help="Keep running models whose comparisons are all decided.")
    ] = False,
    engine: Annotated[
        str | None, typer.Option(help="inspect or command; overrides the study file.", show_default=False)
    ] = None,
    dry: Annotated[
        bool,
        typer.Option("--dry-run", help="Estimate requests, tokens and cost from a pilot, and run no replicate."),
    ] = False,
    pilot: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Samples of each model in the pilot of a dry run (default 10); 0 for no pilot.",
            show_default=False,
        ),
    ] = None,
    *,
    progress: Progress,
    server_changed: ServerChanged = None,
) -> None:
    """Run models on a benchmark, check the result after every replicate, and stop when the question is answered.

    The design is frozen before the first request. After Ctrl-C, a crash or a server failure, run the same command to
    continue. Samples in the journal are not run again; samples that were in flight are.

    [bold]Exit codes[/bold]  0 answered or stopped by --replicates, 2 error, 3 budget spent and question open, 4 stopped
    by a limit on cost, tokens or time, 5 contradiction, 130 interrupted

    [cyan]bbedge evaluate study.toml[/cyan]
    """
    from bbedge.evaluate.specification import EvaluationSpec

    if pilot is not None and not dry:
        raise DomainError("--pilot is for --dry-run; add it, or leave out --pilot")
    chosen = EvaluationSpec.read(study, engine=engine, drop="never" if no_drop else None)
    if dry:
        again = f"bbedge evaluate {shown_path(study)} --dry-run"
        _dry_run(chosen, _PILOT if pilot is None else pilot, again=again, progress=progress)
        return
    again = f"bbedge evaluate {shown_path(study)}"
    ended = run_study(chosen, again, server_changed, progress=progress, replicates=replicates)
    if not progress.json_lines:
        _show(results_console(), chosen, ended)
    exit_if_contradicted(ended.leaderboard)
    if ended.reason == "limit":
        raise typer.Exit(_LIMIT)
    if ended.reason not in ("answered", "asked"):
        raise typer.Exit(_NOT_ANSWERED)


def run_study(
    study: EvaluationSpec,
    again: str,
    server_changed: str | None,
    *,
    progress: Progress | None = None,
    replicates: int | None = None,
) -> Ended:
    """Run a study with progress on standard error; exit if it is interrupted, naming the command that continues it."""
    from bbedge.evaluate import evaluate as run
    from bbedge.evaluate.engines import engine_for

    with _interruptible(again) as asked, _watching(study, progress or Progress()) as watch:
        return run(
            study,
            engine_for(study),
            watch=watch,
            at_most=replicates,
            interrupted=asked.is_set,
            server_changed=server_changed,
        )


@contextmanager
def _interruptible(again: str) -> Iterator[threading.Event]:
    """Let every signal end what is run here in the same way, and name the command that continues it."""
    asked = threading.Event()

    def interrupt(_number: int, _frame: object) -> None:
        asked.set()
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background by a script
            raise KeyboardInterrupt
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGTERM, interrupt)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # unless run with nohup
        signal.signal(signal.SIGHUP, interrupt)
    try:
        yield asked
    except KeyboardInterrupt:
        typer.echo(
            f"Interrupted. Finished samples are saved. To continue, run: {again}\n"
            "Samples that were in flight will run again.",
            err=True,
        )
        raise typer.Exit(_INTERRUPTED) from None


def _dry_run(study: EvaluationSpec, pilot: int, *, again: str, progress: Progress) -> None:
    """Run the pilot and print what the study will cost."""
    from bbedge.evaluate.engines import engine_for
    from bbedge.evaluate.preflight import dry_run

    with _interruptible(again) as asked, _watching(study, progress) as watch:
        forecast = dry_run(study, engine_for(study), pilot=pilot, watch=watch, interrupted=asked.is_set)
    if progress.json_lines:
        sys.stdout.write(json.dumps({"event": "forecast"} | forecast.content, allow_nan=False) + "\n")
    else:
        say(*forecast_lines(forecast, study))
    if forecast.reached is not None:
        raise typer.Exit(_LIMIT)


@contextmanager
def _watching(study: EvaluationSpec, progress: Progress) -> Iterator[Callable[[Event], None] | None]:
    """Show what happens; where errors were shown when they happened, the last message does not repeat them."""
    from rich.console import Console

    from bbedge.cli.evaluate_screen import Lines, Screen

    if progress.json_lines:
        yield partial(_write_line, sys.stdout)  # while it works, an engine may redirect it
    elif progress.quiet:
        yield None
    else:
        console = Console(stderr=True)
        try:
            with Screen(console, study) if console.is_terminal else nullcontext(Lines(console)) as watch:
                yield watch
        except ReportedError as error:
            raise EvaluationError(error.brief) from error


def _write_line(out: TextIO, event: Event) -> None:
    from bbedge.evaluate.events import plain

    out.write(json.dumps(plain(event), allow_nan=False) + "\n")
    out.flush()


def _show(console: Console, study: EvaluationSpec, ended: Ended) -> None:
    """Print the result: the leaderboard, the answer and the cost."""
    from rich.text import Text

    from bbedge.certificate.certificate import Certificate
    from bbedge.cli.evaluate_screen import first_run_lines, limit_text, saving_lines
    from bbedge.display.terminal import show_leaderboard
    from bbedge.evaluate.failures import counted_lines

    top_k = study.question.k if study.question.kind == "top-k" else None
    notes = (
        [f"Decided early and not run again: {', '.join(shown(m, 40) for m in ended.retired)}."] if ended.retired else []
    )
    early = ended.leaderboard.early
    if study.design.family == "all" and (ended.leaderboard.replicates or (early is not None and early.looks)):
        certificate, asked = Certificate.made(ended.leaderboard), study.question.view
        show_leaderboard(
            console,
            certificate if asked is None else certificate.view(asked),
            notes=notes,
            looks_apart=False,
            top_k=top_k,
            title=shown_path(study.path.name),
            identity=f"board {shown_path(without_credentials(study.board))}, hash {ended.design.hash[:16]}",
        )
        console.print()
    verdict = {
        "answered": ("Answered", "bold green"),
        "budget": ("Not answered: the budget is spent", "bold yellow"),
        "asked": ("Stopped by --replicates", "bold"),
        "limit": ("Stopped by a limit", "bold yellow"),
        "nothing-left": ("Not answered: fewer than two models are left to run", "bold yellow"),
        "contradiction": ("CONTRADICTION: not answered; run bbedge board show", "bold red"),
    }
    word, style = verdict[ended.reason]
    # Beside a contradiction no answer is reliable.
    found = study.question.text if ended.reason == "contradiction" else f"{study.question.text}: {ended.answer.text}"
    console.print(Text.assemble((word, style), f"  {found}"), highlight=False)
    first_run = () if ended.first_run is None else first_run_lines(ended.first_run, study)
    for line in (*saving_lines(ended.spent, study), *first_run):
        console.print(Text(line), highlight=False)
    for place, line in enumerate(counted_lines(ended.problems)):
        console.print(Text(f"{'' if place else 'Errors':<12}{line}"), highlight=False, soft_wrap=True)
    if ended.reached is not None:
        text = f"{limit_text(ended.reached, study.currency)}. To continue, raise it and run the same command again"
        console.print(Text(text), highlight=False)
