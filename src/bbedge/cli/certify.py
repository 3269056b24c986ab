"""``bbedge certify``, ``demo`` and ``compare``: what scores certify, and what other methods claim."""

from __future__ import annotations

import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from bbedge.cli.options import Only, PlainReading, ScoreFiles, Without, check_pairs, grouped, read
from bbedge.cli.output import (
    JsonOut,
    exit_if_contradicted,
    item_scores,
    model_info,
    say,
    say_written,
    selected,
    tracked,
    write_certificate,
    write_json,
)
from bbedge.errors import DataError, DomainError
from bbedge.records.options import Options, declared
from bbedge.records.output import Output, Selection
from bbedge.records.reading import Reading
from bbedge.records.values import Names, Strict, option
from bbedge.text import counted, shown_path

if TYPE_CHECKING:
    from bbedge.core.conclusions import Statement
    from bbedge.core.leaderboard import Leaderboard
    from bbedge.core.scores import DesignOptions, Scores


NOT_CERTIFIED = 3
"""Exit code when an expectation is not certified."""
OPPOSITE_CERTIFIED = 4
"""Exit code when the opposite of an expectation, or what is forbidden, is certified."""
_AFTER_THE_DEMO = (("certify",), ("--html", "page.html")), (("compare",), ()), (("inspect-scores",), ())
"""Commands to try next: what comes before and after the file."""


class Expectations(Strict, frozen=True, kw_only=True):
    """What a command expects of the result, which sets its exit code."""

    expect: Annotated[
        Names,
        option(
            'Exit with code 3 unless A is certified better than B. "A > B - 0.02": unless A is certified not '
            'worse than B by 0.02 score units or more; "A > B + 0.01": better by more than 0.01. Exit with code 4 if '
            "the opposite is certified. May be repeated.",
            metavar='"A > B"',
        ),
    ] = ()
    forbid: Annotated[
        Names,
        option(
            "Exit with code 4 if B is certified better than A; a margin as in --expect. May be repeated.",
            metavar='"B > A"',
        ),
    ] = ()

    def statements(self, scores: Scores) -> dict[str, list[Statement]]:
        """The statements, about the models of these scores."""
        from bbedge.core.conclusions import parse

        low, high = scores.score_range
        return {
            name: [parse(text, scores.models, high - low, argument=name) for text in getattr(self, name)]
            for name in ("expect", "forbid")
        }


@grouped
def certify(
    scores: ScoreFiles,
    *,
    options: Annotated[Options, Without("score_range")],
    top_k: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="Report whether a set of K models is certified better than all others.",
            show_default=False,
        ),
    ] = None,
    pilot: Annotated[
        int | None,
        typer.Option(
            metavar="R",
            help="With --top-k: use the first R replicates only to choose the candidate set, and the others to test "
            "it. Certifies a set sooner than the test of all pairs.",
            show_default=False,
        ),
    ] = None,
    reading: Annotated[Reading, Without("item_column")],
    device: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Device to compute on: cpu, or a PyTorch device such as cuda.",
            show_default="cpu",
        ),
    ] = None,
    output: Output,
    arrays_out: Annotated[
        Path | None,
        typer.Option(
            "--arrays",
            metavar="OUT.npz",
            help="Write evidence, margins and edges of all pairs as NumPy arrays. The JSON has them up to 500 models.",
            show_default=False,
        ),
    ] = None,
    selection: Annotated[Selection, Without("epoch")],
    expectations: Expectations,
) -> None:
    """Certify which models are better, from tables of scores or logs of evaluation tools.

    The probability that anything shown is ever wrong is at most alpha, over all pairs of models and all looks; with
    bb-edge, comparisons and margins have one alpha each.

    [bold]Examples[/bold]

    [cyan]bbedge certify scores.csv[/cyan]
    Certify what the scores show.

    [cyan]bbedge certify run1.jsonl run2.jsonl --blocks dialogue[/cyan]
    Join two files, treat items of a dialogue as dependent.

    [cyan]bbedge certify scores.csv --method bb-edge[/cyan]
    Use the method as published.

    [cyan]bbedge certify scores.parquet --score-range 0 10 --json certificate.json[/cyan]
    Read scores from 0 to 10 and write the certificate for programs.

    [cyan]bbedge certify logs/ --metric accuracy --blocks metadata.dialogue_id[/cyan]
    Read logs of Inspect AI, lm-evaluation-harness and others. Run bbedge inspect-scores logs/ first.

    [cyan]bbedge certify scores.csv --macro subject --views subject[/cyan]
    Compare the mean of the subjects' means, and each subject besides, under one alpha.

    [cyan]bbedge certify scores.csv --html page.html[/cyan]
    Write a web page: one file that needs no network.

    [cyan]bbedge certify scores.csv --markdown summary.md[/cyan]
    Write the answer and the table for a pull request.

    [cyan]bbedge certify scores.csv --expect "new > old"[/cyan]
    Exit with code 3 unless new is certified better than old, for CI.

    [cyan]bbedge certify scores.csv --expect "new > old - 0.02" --forbid "old > new"[/cyan]
    Expect that new is certified not worse by 0.02 or more, and fail if old is certified better.

    [bold]Exit codes[/bold]  0 success, 2 bad input, 3 an expectation is not certified, 4 the opposite of an expectation
    or something forbidden is certified, 5 contradiction, 141 standard output was closed
    """
    from bbedge.certificate.certificate import Certificate
    from bbedge.certificate.exports import write_pair_arrays
    from bbedge.core.views import suite_options
    from bbedge.display.terminal import MOST_ROWS, show_expectations, show_leaderboard
    from bbedge.readers.convert import first_samples

    if arrays_out is not None and arrays_out.suffix != ".npz":
        raise DomainError(f"--arrays {shown_path(arrays_out)}: use a file name that ends with .npz")
    if pilot is not None and top_k is None:
        raise DomainError("--pilot needs --top-k K; pass the number of models that the pilot chooses")
    table = read(scores, reading, gaps=True, provenance=output.has_document)
    if output.has_document and reading.stated.changed():
        table = replace(table, reading=reading.stated)
    info = model_info(output.model_info, table.models)
    check_pairs(reading, len(table.models))
    if top_k is not None and not 1 <= top_k < len(table.models):
        raise DomainError(
            f"--top-k {top_k} is not allowed; with {len(table.models)} models choose 1 to {len(table.models) - 1}"
        )
    statements = expectations.statements(table)
    suite = suite_options(table, **reading.suite, shares=reading.shares)
    arguments = cast("DesignOptions", {**declared(options), **suite})
    leaderboard = _run(table, arguments, top_k=top_k, pilot=pilot, device=device)
    certificate = selected(Certificate.made(leaderboard, shown=selection.shown), selection)
    leaderboard = certificate.leaderboard or leaderboard  # that of the view, if one was asked for
    if arrays_out is not None:
        write_pair_arrays(leaderboard, arrays_out)
    items = None
    if output.with_items:
        items = item_scores(certificate, table, pilot=pilot or 0)
        known = first_samples(scores, reading, items=items.items, models=items.models)
        items = replace(items, addresses=known.addresses, questions=known.questions, answers=known.answers)
    out = write_certificate(certificate, output, info=info, items=items)
    show_leaderboard(
        out,
        certificate,
        title=output.title,
        top_k=top_k,
        most_rows=None if output.all_rows else MOST_ROWS,
        verbose=output.verbose,
    )
    say_written(out, certificate=output.json, page=output.html, Markdown=output.markdown, arrays=arrays_out)
    # Where anything is contradicted, nothing else is said.
    expected, forbidden = (
        [(str(each), "contradicted" if certificate.is_contradicted else each.found(leaderboard)) for each in of_kind]
        for of_kind in statements.values()
    )
    show_expectations(out, expected, forbidden)
    exit_if_contradicted(certificate)
    of_expected, of_forbidden = ({found for _, found in each} for each in (expected, forbidden))
    if "opposite certified" in of_expected or "certified" in of_forbidden:
        raise typer.Exit(OPPOSITE_CERTIFIED)
    if of_expected - {"certified"}:
        raise typer.Exit(NOT_CERTIFIED)


def _run(
    table: Scores, options: DesignOptions, *, top_k: int | None, pilot: int | None, device: str | None
) -> Leaderboard:
    from bbedge.core.leaderboard import certify_design, pilot_design
    from bbedge.readers.assemble.grid import one_by_one

    if pilot is not None and top_k is not None:
        design = pilot_design(table, k=top_k, pilot=pilot, **options)
    else:
        design = table.design(**options)
    return certify_design(
        table,
        design,
        pilot=pilot,
        device=device,
        watch=lambda panels: tracked(one_by_one(panels), total=len(panels), description="adding replicates"),
    )


def demo(
    folder: Annotated[
        Path,
        typer.Argument(help="Folder for scores.csv. It is made if it is missing; another scores.csv in it is kept."),
    ] = Path("demo"),
) -> None:
    """Write demo scores to a file and certify them: six settings of a small model, 72 questions, three runs.

    [cyan]bbedge demo[/cyan]
    """
    from bbedge.cli import make_app
    from bbedge.demo import DEMO_SCORES
    from bbedge.files import read_text, system_errors, write_whole

    path, text = folder / "scores.csv", read_text(DEMO_SCORES)
    if not path.exists():
        with system_errors(folder, "made"):
            folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    elif read_text(path) != text:
        raise DataError(
            f"{shown_path(path)}: is not the demo data and is kept; name another folder: bbedge demo FOLDER"
        )
    command = ["certify", str(path)]
    say(f"$ bbedge {shlex.join(command)}")
    make_app("certify")(command, prog_name="bbedge", standalone_mode=False)
    say(
        "",
        "Next: the same as a web page, what other methods would claim, and what was read:",
        *(f"  bbedge {shlex.join([*words, str(path), *more])}" for words, more in _AFTER_THE_DEMO),
    )


@grouped
def compare(
    scores: ScoreFiles,
    *,
    methods: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Methods to compare. Default: all.", show_default=False),
    ] = None,
    options: Annotated[Options, Only("alpha", "tau", "copies")],
    reading: PlainReading,
    seed: Annotated[int, typer.Option(help="Seed of the methods that draw random numbers.")] = 1,
    json_out: JsonOut = None,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Print the references of the methods in full.")
    ] = False,
) -> None:
    """Show what BB-EDGE and other methods would claim on the same scores.

    A method that claims more is not better: the last column says whether its error is controlled.

    [cyan]bbedge compare scores.csv[/cyan]
    [cyan]bbedge compare scores.csv --methods bb-edge,bb-edge-x,t-holm,emr[/cyan]
    """
    from bbedge.baselines import METHODS, method
    from bbedge.display.reports import show_claims
    from bbedge.study.contenders import compared_claims

    chosen = [method(name.strip()) for name in methods.split(",")] if methods else list(METHODS.values())
    table = read(scores, reading)
    check_pairs(reading, len(table.models))
    design = table.design(**declared(options))
    table.check_copies(design.copies)
    running = tracked(chosen, total=len(chosen), description="running each method")
    claims = list(compared_claims(running, design, table.values, seed))
    n_models, replicates = len(table.models), len(table.replicates)
    console = write_json(
        json_out,
        lambda: {
            "alpha": options.alpha,
            "tau": options.tau,
            "models": n_models,
            "items": len(table.items),
            "replicates": replicates,
            "seed": seed,
            "methods": [asdict(each) for each in claims],
        },
    )
    show_claims(
        console,
        claims,
        title=f"{n_models} models · {len(table.items):,} items · {counted(replicates, 'replicate')} · "
        f"alpha {options.alpha:g} · tau {options.tau:g}",
        n_pairs=n_models * (n_models - 1) // 2,
        verbose=verbose,
    )
