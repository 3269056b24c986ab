"""``bbedge board``: a persistent leaderboard."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bbedge.cli.board_words import announcement, claims, graph_csv, particulars
from bbedge.cli.options import (
    AllRows,
    Blocks,
    CopiesRule,
    Filter,
    Kind,
    MaxSize,
    Metric,
    ModelName,
    ReplicateFrom,
    ScoreRange,
    Verbose,
    check_pairs,
    log_choices,
    read_table,
)
from bbedge.cli.progress import output, reading
from bbedge.cli.sources import (
    CurrentOption,
    EpochOption,
    HtmlOut,
    TitleOption,
    board_title,
    check_title,
    graph_shown,
    write_page,
)
from bbedge.errors import BoardError, DomainError, FormatError
from bbedge.files import write_whole
from bbedge.text import display_names, listed, shown, shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from bbedge.board import Added, Board
    from bbedge.core.leaderboard import Leaderboard
    from bbedge.core.scores import Scores
    from bbedge.readers import Choices

_MOST_EDGES, _MOST_SETS = 200, 30  # printed after a change; board show prints the rest

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="A persistent leaderboard: add replicates, models and items to a frozen design, with one error budget.",
)

Place = Annotated[str, typer.Argument(metavar="BOARD", help="A file, or a PostgreSQL URL for a shared board.")]
Files = Annotated[list[Path], typer.Argument(help="Score tables or logs, as for certify.", show_default=False)]
DesignFile = Annotated[
    Path | None,
    typer.Option("--design", help="Stop if this file is not the frozen design.", show_default=False),
]


@app.command()
def init(
    place: Place,
    design: Annotated[Path | None, typer.Option(help="The design: a TOML file.", show_default=False)] = None,
    items: Annotated[
        Path | None, typer.Option(help="The items: a CSV file with item and block.", show_default=False)
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
    blocks: Blocks = None,
    score_range: ScoreRange = (0.0, 1.0),
    kind: Kind = None,
    metric: Metric = None,
    filter_: Filter = None,
    model_name: ModelName = None,
) -> None:
    """Freeze a design and create the board. Prints a text to publish before the first run.

    [cyan]bbedge board init board.bbedge --from run1.csv[/cyan]
    Write the items, the models and a design from an existing run; check and edit them first.

    [cyan]bbedge board init board.bbedge --design design.toml --items items.csv --models a,b,c[/cyan]
    Create the board.
    """
    from bbedge.board import Board
    from bbedge.readers import read_items

    if from_scores:
        if design is not None or items is not None or models:
            raise DomainError("--from writes the design, items and models; leave out --design, --items and --models")
        choices = log_choices(kind, metric, filter_, model_name, None)
        _start(place, from_scores, choices, blocks=blocks, score_range=score_range)
        return
    if design is None or items is None or not models:
        raise DomainError(
            "pass --design, --items and --models; bbedge board init BOARD --from SCORES writes all three from "
            "existing scores"
        )
    benchmark, names = read_items(items), _names(models)
    check_pairs(len(names), None)
    board = Board.create(place, _design(design), models=names, items=benchmark.items, blocks=benchmark.blocks)
    console = output()
    _say(console, f"{board.name}: the design is frozen. Publish this text before the first run:\n")
    _say(console, announcement(board))


@app.command()
def add(
    place: Place,
    files: Files,
    design: DesignFile = None,
    kind: Kind = None,
    metric: Metric = None,
    filter_: Filter = None,
    model_name: ModelName = None,
    replicate_from: ReplicateFrom = None,
    copies: CopiesRule = None,
    max_size: MaxSize = None,
) -> None:
    """Add complete replicates and print what is new. Adding a numbered replicate twice changes nothing."""
    board = _open(place, design)
    before = board.leaderboard()
    choices = log_choices(kind, metric, filter_, model_name, replicate_from)
    added = board.add(_read(board, files, choices, max_size), copies=copies)
    console = output()
    for what, numbers in (("pilot replicate", added.already_pilots), ("replicate", added.already)):
        if numbers:
            _say(console, f"Already on the board with the same scores: {what} {_numbers(numbers)}.")
    for pilot in added.pilots:
        _say(console, f"Added pilot replicate {pilot} of {board.design.pilot}; it is not evidence.")
    if added.candidate is not None:
        _say(
            console,
            f"The pilot chose: {', '.join(display_names(added.candidate))}. Evidence starts with the next replicate.",
        )
    if added.replicates:
        _say(console, f"Added replicate {_numbers(added.replicates)}.")
    if not added.replicates and not added.pilots:
        _say(console, "Nothing was added.")
    _report_new(console, board, added, before)


@app.command("add-model")
def add_model(
    place: Place,
    name: Annotated[str, typer.Argument(help="The new model.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Its runs, as for certify. Leave out before the first replicate of an epoch.", show_default=False
        ),
    ] = None,
    design: DesignFile = None,
    kind: Kind = None,
    metric: Metric = None,
    filter_: Filter = None,
    model_name: ModelName = None,
    replicate_from: ReplicateFrom = None,
    copies: CopiesRule = None,
    max_size: MaxSize = None,
) -> None:
    """Add a model: join its runs with the stored replicates and test only comparisons with this model."""
    board = _open(place, design)
    before = board.leaderboard()
    choices = log_choices(kind, metric, filter_, model_name, replicate_from)
    runs = _read(board, files, choices, max_size) if files else None
    added = board.add_model(name, runs, copies=copies)
    console = output()
    stage = board.state.stages[-1]
    _say(
        console,
        f"Added {shown(name)} at level {stage.level:.3g}: {stage.design.n_directions} new comparisons to test.",
    )
    _report_new(console, board, added, before)


@app.command("add-items")
def add_items(
    place: Place,
    items: Annotated[Path, typer.Argument(help="The new items: a CSV file with item and block.")],
    design: DesignFile = None,
) -> None:
    """Open an epoch with more items: evidence starts again with new replicates."""
    from bbedge.readers import read_items

    board = _open(place, design)
    new = read_items(items)
    board.add_items(new.items, new.blocks)
    epoch = board.state.epoch
    _say(
        output(),
        f"Epoch {epoch.number} is open: {len(epoch.items):,} items ({len(new.items):,} new), {len(epoch.models)} "
        f"models, level {epoch.stages[-1].level:.3g}. Evidence starts again with new replicates, numbered from 1; "
        "the board keeps earlier certificates for their version.",
    )


@app.command()
def retire(
    place: Place, model: Annotated[str, typer.Argument(help="The model to stop.")], design: DesignFile = None
) -> None:
    """Stop running a model: later replicates leave it out, its certificates remain valid."""
    board = _open(place, design)
    board.retire(model)
    _say(output(), f"Retired {shown(model)}. Later replicates contain: {', '.join(display_names(board.state.active))}.")


@app.command()
def show(
    place: Place,
    epoch: EpochOption = None,
    current: CurrentOption = False,
    json_out: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="OUT", help="Write the leaderboard as JSON; - for standard output.", show_default=False
        ),
    ] = None,
    html_out: HtmlOut = None,
    title: TitleOption = None,
    all_rows: AllRows = False,
    verbose: Verbose = False,
    design: DesignFile = None,
) -> None:
    """Show the leaderboard, the error budget and the history of looks."""
    from bbedge.board_certificate import document, notes, shown_epoch, standing_looks
    from bbedge.display.ledger import show_budget, show_looks
    from bbedge.display.terminal import MOST_ROWS, Identity, show_leaderboard

    check_title(title, html_out)
    board = _open(place, design)
    number = shown_epoch(board, epoch)
    leaderboard = board.leaderboard(number)
    content = {} if json_out is None and html_out is None else document(board, leaderboard, number)
    console = output(to_error=json_out == Path("-"))
    if json_out is not None and json_out != Path("-"):
        _write_json(json_out, content)
    if html_out is not None:
        from bbedge.certificate.certificate import Certificate

        certificate = Certificate.of(content, shown=graph_shown(current), source=board.name)
        write_page(html_out, certificate, title=title or board_title(place))
    if json_out == Path("-"):
        _write_json(json_out, content)
    if html_out is not None:
        _say(console, f"Wrote the page to {shown_path(html_out)}.")
    said = notes(board, number)
    if board.state.in_pilot:
        _say(console, "\n".join(said))
    else:
        show_leaderboard(
            console,
            leaderboard,
            shown=graph_shown(current),
            notes=said,
            pilot_replicates=board.design.pilot,
            title=f"{board.name} · epoch {number} · " + ("last look" if current else "all looks"),
            identity=Identity(
                settings=f"{board.design.method}, tau {board.design.tau:g}, alpha {board.design.alpha:g} for the whole "
                "board",
                label="registration",
                hash=board.registration,
            ),
            most_rows=None if all_rows else MOST_ROWS,
            verbose=verbose,
        )
    console.print()
    show_looks(console, leaderboard.looks, None if current else standing_looks(board, leaderboard, number))
    show_budget(console, claims(board), alpha=board.design.alpha, next_level=board.state.next_level())
    _say(console, f"{len(board.events)} events, head {board.head}")


@app.command()
def log(place: Place) -> None:
    """List every event in order."""
    from bbedge.display.ledger import show_events

    board = _open(place, None)
    show_events(output(), [(e.seq, e.at, e.kind, particulars(e), e.hash) for e in board.events])


@app.command()
def verify(
    place: Place,
    head: Annotated[
        str | None, typer.Option(help="A ledger head that was published earlier.", show_default=False)
    ] = None,
    design: DesignFile = None,
) -> None:
    """Recompute every look from the stored scores and check every event of the board."""
    from bbedge.board.store import Store
    from bbedge.board.verify import verify as check

    store = Store(place)
    with reading() as progress:
        progress("recomputing every look")
        done = check(store, head=head)
    if design is not None:
        _open(place, design)
    _say(
        output(),
        f"{store.name}: all is in order. {done.events} events, {done.vectors:,} score vectors, {done.certificates:,} "
        f"certificates, {done.spent:.4g} of the error budget spent.\nHead {done.head}",
    )


@app.command()
def export(
    place: Place,
    out: Annotated[Path, typer.Argument(help="The archive (.jsonl), or the graph (.csv or .json).")],
) -> None:
    """Write the whole board to one file (.jsonl), or its graph (.csv, .json)."""
    from bbedge.board_certificate import document, shown_epoch

    board = _open(place, None)
    if out.suffix == ".json":
        number = shown_epoch(board, None)
        _write_json(out, document(board, board.leaderboard(number), number))
    elif out.suffix == ".csv":
        write_whole(out, graph_csv(board))
    elif out.suffix == ".jsonl":
        board.export(out)
    else:
        raise DomainError(
            f"{shown_path(out)}: use a file name that ends with .jsonl (everything), .csv or .json (the graph)"
        )
    _say(output(), f"Exported {board.name} to {shown_path(out)}. Head {board.head}")


@app.command("import")
def import_(archive: Annotated[Path, typer.Argument(help="An archive that export wrote.")], place: Place) -> None:
    """Create a board from an archive and verify it."""
    from bbedge.board.archive import import_file

    with reading() as progress:
        progress(f"importing {shown_path(archive)} and recomputing every look")
        done = import_file(archive, place)
    _say(output(), f"Imported and verified {done.events} events. Head {done.head}")


def _start(
    place: str, files: Sequence[Path], choices: Choices, *, blocks: str | None, score_range: tuple[float, float]
) -> None:
    from bbedge.cli.board_start import start_files

    scores = read_table(files, blocks=blocks, score_range=score_range, choices=choices)
    design, items, models = (shlex.quote(str(path)) for path in start_files(place, scores))
    _say(
        output(),
        f"Wrote {items} ({len(scores.items):,} items in {len(set(scores.blocks)):,} blocks), {models} "
        f"({len(scores.models)} models) and {design}.\n"
        "Check the blocks and edit the design. If you use these scores to choose them, do not add these runs to the "
        "board: add later runs only. Then create the board:\n\n"
        f"  bbedge board init {shlex.quote(place)} --design {design} --items {items} --models @{models}",
    )


def _open(place: str, design: Path | None) -> Board:
    from bbedge.board import Board

    board = Board.open(place)
    if design is not None and _design(design).hash != board.design.hash:
        raise BoardError(
            f"{shown_path(design)} is not the design of {board.name}; a frozen design cannot change. Restore the file, "
            "or create a new board"
        )
    return board


def _design(path: Path) -> Any:  # noqa: ANN401 - BoardDesign, imported late
    from bbedge.board import BoardDesign

    name = shown_path(path)
    try:
        return BoardDesign.from_toml(path.read_text(encoding="utf-8"), source=name)
    except OSError as error:
        raise FormatError(f"{name}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: not a text file in UTF-8 ({error})") from error


def _names(given: Sequence[str]) -> list[str]:
    names: list[str] = []
    for text in given:
        if text.startswith("@"):
            try:
                names += [line for line in Path(text[1:]).read_text(encoding="utf-8-sig").splitlines() if line.strip()]
            except OSError as error:
                raise FormatError(f"{shown_path(text[1:])}: cannot be read ({error.strerror})") from error
            except UnicodeDecodeError as error:
                raise FormatError(f"{shown_path(text[1:])}: not a text file in UTF-8 ({error})") from error
        else:
            names += [name.strip() for name in text.split(",") if name.strip()]
    return names


def _read(board: Board, files: Sequence[Path], choices: Choices, max_size: str | None) -> Scores:
    return read_table(
        files,
        score_range=board.design.score_range,
        choices=choices,
        least_models=1,  # the board's own message is more precise
        identify=True,
        max_size=max_size,
    )


def _report_new(console: Console, board: Board, added: Added, before: Leaderboard) -> None:
    """Print the effect of a change: new certificates, ranks, Top-k sets, and open pairs."""
    now = board.leaderboard()
    names = display_names(now.design.models)
    for edge in added.edges[:_MOST_EDGES]:
        winner, loser = display_names([edge.winner, edge.loser])
        _say(console, f"  new  {winner} > {loser}   (log e {edge.log_e:.2f}, replicate {edge.replicate})")
    if len(added.edges) > _MOST_EDGES:
        _say(console, f"  and {len(added.edges) - _MOST_EDGES:,} more new certificates")
    graph = now.standing
    gained = graph.n_resolved - before.standing.n_resolved
    _say(console, f"{graph.n_resolved:,} of {graph.ranks.n_pairs:,} pairs certified ({gained:+,}).")
    ranks_before = dict(zip(before.design.models, before.standing.rank_intervals, strict=True))
    changed = [
        f"{name} {_rank(rank)} (was {_rank(ranks_before[model])})" if model in ranks_before else f"{name} {_rank(rank)}"
        for name, model, rank in zip(names, now.design.models, graph.rank_intervals, strict=True)
        if ranks_before.get(model) != rank
    ]
    if changed:
        _say(console, f"Ranks: {_first(changed, 8)}")
    sets = [(k, members) for k in graph.cuts if (members := graph.top_k(k)) != before.standing.top_k(k) and members]
    for k, members in sets[:_MOST_SETS]:
        _say(console, f"Top-{k}: {_first([names[i] for i in members], 8)}")
    if len(sets) > _MOST_SETS:
        _say(console, f"and {len(sets) - _MOST_SETS:,} larger Top-k sets")
    if graph.n_unresolved:
        pairs = [f"{names[a]} ? {names[b]}" for a, b in graph.unresolved_pairs[:5].tolist()]
        _say(console, f"Open: {_first(pairs, 5, of=graph.n_unresolved)}")
    if now.contradictions:
        groups = "; ".join(listed(group) for group in now.contradictions)
        _say(console, f"CONTRADICTION: each certified better than the others: {groups}. Run bbedge board show.")


def _rank(interval: tuple[int, int]) -> str:
    best, worst = interval
    return str(best) if best == worst else f"{best}-{worst}"


def _first(texts: Sequence[str], most: int, *, of: int | None = None) -> str:
    total = len(texts) if of is None else of
    more = f" and {total - most:,} more" if total > most else ""
    return ", ".join(texts[:most]) + more


def _write_json(path: Path, document: dict[str, object]) -> None:
    from bbedge.certificate.document import to_json

    if path == Path("-"):
        typer.echo(to_json(document), nl=False)
    else:
        write_whole(path, to_json(document))


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
