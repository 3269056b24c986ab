"""``bbedge board``: a persistent leaderboard."""

from __future__ import annotations

import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import structs

from bbedge.cli.board_add import DesignFile, Place, add, add_model, next_, open_board
from bbedge.cli.options import Only, Without, check_pairs, grouped, names_given, read
from bbedge.cli.output import (
    board_title,
    exit_if_contradicted,
    is_archive,
    item_scores,
    model_info,
    results_console,
    say,
    say_written,
    selected,
    spinner,
    write_certificate,
    written_at,
)
from bbedge.errors import DomainError
from bbedge.files import write_whole
from bbedge.records.design import BoardOptions
from bbedge.records.options import ABOUT_TARGET
from bbedge.records.output import Output, Selection
from bbedge.records.reading import ABOUT_ITEMS, Reading
from bbedge.records.values import Trust
from bbedge.text import counted, display_names, shown, shown_path

if TYPE_CHECKING:
    from bbedge.board import Board

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="A persistent leaderboard: add replicates, models and items to a frozen design, with one error budget.",
)


@app.command()
@grouped
def init(
    place: Place,
    *,
    design: Annotated[Path | None, typer.Option(help="The design: a TOML file.", show_default=False)] = None,
    items: Annotated[
        Path | None,
        typer.Option(
            help="The items: a CSV file with item, block and the columns that the design uses.", show_default=False
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            help="The models: names separated by commas, or @FILE with one name per line. May be repeated.",
            show_default=False,
        ),
    ] = None,
    from_scores: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="SCORES",
            help="Do not create a board; write its items, its models and a design to edit from existing scores. May "
            "be repeated.",
            show_default=False,
        ),
    ] = None,
    options: Annotated[BoardOptions, Only("planned", "incomplete", *ABOUT_TARGET)],
    reading: Annotated[Reading, Without("incomplete", "column", "replicate_from", "max_size", *ABOUT_ITEMS)],
) -> None:
    """Freeze a design and create the board. Prints a text to publish before the first run.

    [cyan]bbedge board init board.bbedge --from run1.csv[/cyan]
    Write the items, the models and a design from an existing run; check and edit them first.

    [cyan]bbedge board init board.bbedge --design design.toml --items items.csv --models a,b,c[/cyan]
    Create the board.
    """
    from bbedge.board import Board
    from bbedge.board.words import announcement, design_values, frozen_design, start_files
    from bbedge.readers import read_items

    given = design_values(reading, options)
    if from_scores:
        if design is not None or items is not None or models:
            raise DomainError("--from writes the design, items and models; leave out --design, --items and --models")
        rule = "worst-case" if "incomplete" in given else "refuse"
        found = read(from_scores, structs.replace(reading, incomplete=rule), gaps=True)
        design_file, item_file, model_file = (shlex.quote(str(path)) for path in start_files(place, found, given))
        say(
            f"Wrote {item_file} ({len(found.items):,} items in {len(set(found.blocks)):,} blocks), {model_file} "
            f"({len(found.models)} models) and {design_file}.\n"
            "Check the blocks and edit the design. If you use these scores to choose them, do not add these runs to "
            "the board: add later runs only. Then create the board:\n\n"
            f"  bbedge board init {shlex.quote(place)} --design {design_file} --items {item_file} --models "
            f"@{model_file}",
        )
        return
    if design is None or items is None or not models:
        raise DomainError(
            "pass --design, --items and --models; bbedge board init BOARD --from SCORES writes all three from "
            "existing scores"
        )
    benchmark, names = read_items(items), names_given(models)
    check_pairs(reading, len(names))
    frozen = frozen_design(design, given)
    board = Board.create(
        place, frozen, models=names, items=benchmark.items, blocks=benchmark.blocks, columns=benchmark.columns
    )
    say(f"{board.name}: the design is frozen. Publish this text before the first run:\n", announcement(board))


app.command("next")(next_)
app.command("add")(add)
app.command("add-model")(add_model)


@app.command("add-items")
def add_items(
    place: Place,
    items: Annotated[Path, typer.Argument(help="The new items: a CSV file as for init.")],
    design: DesignFile = None,
) -> None:
    """Open an epoch with more items. Evidence starts again with new replicates; about new items, it goes on."""
    from bbedge.readers import read_items

    board = open_board(place, design)
    new = read_items(items)
    before = set(board.state.epoch.looks_at)
    board.add_items(new.items, new.blocks, columns=new.columns)
    epoch = board.state.epoch
    views = [view for view in epoch.looks_at if view not in before]
    say(
        f"Epoch {epoch.number} is open: {len(epoch.items):,} items ({len(new.items):,} new), {len(epoch.models)} "
        f"models{_new_evidence(board)}" + (f" New views: {', '.join(display_names(views))}." if views else ""),
    )


def _new_evidence(board: Board) -> str:
    """What becomes of the evidence in an epoch that was just opened."""
    target, level, said = board.design.target, board.state.epoch.stages[0].level, "."
    if target != "new-items":
        these, at = (" about these items", level / 2) if target else ("", level)
        said = (
            f", level {at:.3g}. Evidence{these} starts again with new replicates, numbered from 1; the board keeps "
            "earlier certificates for their version."
        )
    if not target:
        return said
    return (
        f"{said} Evidence about new items goes on, at the level that it has, and what was certified of them stands: "
        "the added items must be draws of the same kinds."
    )


@app.command()
def retire(
    place: Place, model: Annotated[str, typer.Argument(help="The model to stop.")], design: DesignFile = None
) -> None:
    """Stop running a model: later replicates leave it out, its certificates remain valid."""
    board = open_board(place, design)
    board.retire(model)
    say(f"Retired {shown(model)}. Later replicates contain: {', '.join(display_names(board.state.active))}.")


@app.command()
def announce(
    place: Place,
    model: Annotated[str, typer.Argument(help="The model that is to be added.")],
    *,
    runs: Annotated[int, typer.Option(min=1, help="How many runs will be made.", show_default=False)],
    design: DesignFile = None,
) -> None:
    """Announce the runs of a model before they are made, so that leaving some out cannot pay."""
    board = open_board(place, design)
    board.announce(model, runs)
    announced = board.state.announced[model]
    say(
        f"Announced {counted(runs, 'run')} of {shown(model)} at level {announced.level:.3g}, which is spent now. "
        f"Make them all, then: bbedge board add-model {shlex.quote(place)} {shlex.quote(model)} FILES",
    )


@app.command("close-announcement")
def close_announcement(
    place: Place,
    model: Annotated[str, typer.Argument(help="The model whose runs were announced.")],
    design: DesignFile = None,
) -> None:
    """Wait for no more announced runs of a model: what is not delivered counts as missing, in the worst case."""
    board = open_board(place, design)
    board.close_announcement(model)
    say(f"Closed the announcement of {shown(model)}. add-model takes what was delivered; the rest counts as missing.")


@app.command()
def withdraw(
    place: Place,
    model: Annotated[str, typer.Argument(help="The model to hide.")],
    *,
    reason: Annotated[str, typer.Option(help="Why, for readers of the board.", show_default=False)],
    design: DesignFile = None,
) -> None:
    """Hide the row of a model from the tables. Nothing is erased, and no conclusion changes."""
    board = open_board(place, design)
    board.withdraw(model, reason)
    also = f" It is still run; to stop it: bbedge board retire {shlex.quote(place)} {shlex.quote(model)}"
    say(
        f"Withdrawn {shown(model)}, event {len(board.events)}. Tables hide its row and state the reason; it still "
        f"counts in every rank and comparison.{also if model in board.state.active else ''}"
    )


@app.command()
def trust(
    place: Place,
    model: Annotated[str, typer.Argument(help="The model.")],
    how_far: Annotated[
        Trust, typer.Argument(metavar="self-reported|logs-kept|re-run", help="How far its scores can be trusted.")
    ],
    *,
    by: Annotated[str, typer.Option(metavar="NAME", help="Who says so.", show_default=False)],
    design: DesignFile = None,
) -> None:
    """State how far the scores of a model can be trusted: re-run, if you made its runs again and they agree."""
    from bbedge.display.ranking import TRUST_WORDS

    board = open_board(place, design)
    board.state_trust(model, how_far, by=by)
    say(f"{shown(model)} is {TRUST_WORDS[how_far]}, says {shown(by)}, event {len(board.events)}.")


@app.command()
@grouped
def show(
    place: Place,
    *,
    selection: Selection,
    output: Output,
    design: DesignFile = None,
) -> None:
    """Show the leaderboard, the error budget and the history of looks.

    [bold]Exit codes[/bold]  0 success, 2 bad input, 5 contradiction
    """
    from bbedge.board.stored_scores import stored_scores
    from bbedge.board.words import claim_rows
    from bbedge.certificate.of_board import board_certificate, shown_epoch
    from bbedge.display.reports import show_budget, show_looks
    from bbedge.display.terminal import MOST_ROWS, show_leaderboard

    board = open_board(place, design)
    number, epoch = shown_epoch(board, selection.epoch), board.state.epoch
    whole = board_certificate(board, number, shown=selection.shown, history=output.has_document)
    certificate, items = selected(whole, selection), None
    if output.with_items and number != epoch.number:
        raise DomainError(f"--with-items is for the current epoch, {epoch.number}; leave it out for epoch {number}")
    if output.with_items:
        still_run = [model for model in epoch.models if model in board.state.active]
        items = item_scores(certificate, stored_scores(board, still_run))
    info = model_info(output.model_info, certificate.names)
    console = write_certificate(certificate, output, title=board_title(place), info=info, items=items)
    say_written(console, page=output.html, Markdown=output.markdown)
    looks = "last look" if selection.current else "all looks"
    if board.state.in_pilot:
        say(*(note.text for note in certificate.content.notes), console=console)
    else:
        show_leaderboard(
            console,
            certificate,
            title=output.title or f"{board.name} · epoch {number} · {looks}",
            most_rows=None if output.all_rows else MOST_ROWS,
            verbose=output.verbose,
        )
    console.print()
    show_looks(console, certificate)
    state = board.state
    show_budget(console, claim_rows(board), spent=state.spent, alpha=board.design.alpha, next_level=state.next_level())
    say(f"{counted(len(board.events), 'event')}, head {board.head}", console=console)
    exit_if_contradicted(certificate)


@app.command()
def log(place: Place) -> None:
    """List every event in order, of a board or of a gate's ledger."""
    from bbedge.board.words import particulars
    from bbedge.display.reports import show_events
    from bbedge.ledger.chain import checked_events
    from bbedge.ledger.store import Store

    with Store(place, what="ledger").read() as session:
        events = list(checked_events(session.events())) if session.is_gate() else open_board(place).events
    show_events(results_console(), [(e.seq, e.at, e.kind, particulars(e), e.hash) for e in events])


@app.command()
def verify(
    place: Place,
    head: Annotated[
        str | None, typer.Option(help="A ledger head that was published earlier.", show_default=False)
    ] = None,
    heads: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE|FOLDER",
            help="The heads that were published: a file NAME.heads.jsonl, or a published folder. May be repeated.",
            show_default=False,
        ),
    ] = None,
    design: DesignFile = None,
) -> None:
    """Recompute every look from the stored scores and check every event, of a board or of a gate's ledger.

    BOARD may also be an archive (.jsonl) that export or publish wrote. With published heads, a ledger that was rolled
    back or rewritten is found, and so are two histories of one ledger.

    [bold]Exit codes[/bold]  0 all is in order, 2 it is not, or bad input, 7 published events are missing at the end, 8
    published events were rewritten, 9 two heads of one number were published
    """
    from bbedge.ledger.archive import import_file
    from bbedge.ledger.heads import read_heads
    from bbedge.ledger.store import Store
    from bbedge.verify.ledger import verify as check

    published = [each for path in heads or () for each in read_heads(path)]
    with spinner() as progress, TemporaryDirectory(prefix="bbedge-") as folder:
        progress("recomputing every look")
        stored, name = place, None
        if is_archive(place):
            import_file(Path(place), stored := str(Path(folder) / "ledger"), verify=lambda _: None)  # verified below
            name = shown_path(place)
        store = Store(stored, what="ledger")
        done = check(store, head=head, heads=published)
    if design is not None:
        open_board(place, design)
    counts = f"{counted(done.events, 'event')}, {counted(done.vectors, 'score vector')}, {counted(*done.found)}"
    say(
        f"{name or store.name}: all is in order. {counts}, {done.spent:.4g} of the error budget spent.\n"
        f"Head {done.head}" + (f"\n{counted(len(published), 'published head')} found in it." if published else ""),
    )


@app.command()
def export(
    place: Place,
    out: Annotated[Path, typer.Argument(help="The archive (.jsonl), or the graph (.csv or .json).")],
) -> None:
    """Write a whole board or gate's ledger to one file (.jsonl), or the graph of a board (.csv, .json)."""
    from bbedge.certificate.of_board import graph_csv
    from bbedge.ledger.archive import export_file
    from bbedge.ledger.store import Store

    store = Store(place, what="ledger")
    with store.read() as session:
        is_gate, head = session.is_gate(), session.head()
    if is_gate and out.suffix == ".jsonl":
        export_file(store, out)
        say(f"Exported {store.name} to {shown_path(out)}. Head {head}")
        return
    board = open_board(place)
    if out.suffix == ".json":
        write_whole(out, board.certificate().to_json(time=written_at()))
    elif out.suffix == ".csv":
        write_whole(out, graph_csv(board))
    elif out.suffix == ".jsonl":
        board.export(out)
    else:
        raise DomainError(
            f"{shown_path(out)}: use a file name that ends with .jsonl (everything), .csv or .json (the graph)"
        )
    say(f"Exported {board.name} to {shown_path(out)}. Head {board.head}")


@app.command("import")
def import_(archive: Annotated[Path, typer.Argument(help="An archive that export wrote.")], place: Place) -> None:
    """Create a board or a gate's ledger from an archive and verify it."""
    from bbedge.ledger.archive import import_file
    from bbedge.verify.ledger import verify_session

    with spinner() as progress:
        progress(f"importing {shown_path(archive)} and recomputing every look")
        done = import_file(archive, place, verify=verify_session)
    say(f"Imported and verified {counted(done.events, 'event')}. Head {done.head}")
