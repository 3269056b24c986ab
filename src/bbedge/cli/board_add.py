"""``bbedge board add``, ``add-model`` and ``next``: runs for a board."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge.cli.options import PlainReading, Without, grouped, read
from bbedge.cli.output import JsonOut, exit_if_contradicted, say, say_written, spinner, write_json
from bbedge.errors import BoardError, DesignError, DomainError
from bbedge.files import write_whole
from bbedge.records.design import Counting
from bbedge.records.reading import ABOUT_ITEMS, Reading
from bbedge.text import counted, display_names, folded, shown, shown_path

if TYPE_CHECKING:
    from bbedge.board import Added, Board, NextRun
    from bbedge.core.checkpoints import Checkpoint
    from bbedge.core.leaderboard import Leaderboard
    from bbedge.core.scores import Scores


Place = Annotated[str, typer.Argument(metavar="BOARD", help="A file, or a PostgreSQL URL for a shared board.")]
DesignFile = Annotated[
    Path | None,
    typer.Option("--design", help="Stop if this file is not the frozen design.", show_default=False),
]


def open_board(place: str, design: Path | None = None) -> Board:
    """Open a board; with a file, only if that is its frozen design."""
    from bbedge.board import Board

    board = Board.open(place)
    if design is not None and not _is_frozen(board, design):
        raise BoardError(
            f"{shown_path(design)} is not the design of {board.name}; a frozen design cannot change. Restore the file, "
            "or create a new board"
        )
    return board


def _is_frozen(board: Board, path: Path) -> bool:
    from bbedge.board.words import read_design

    try:
        return read_design(path, board.design.filled_in).hash == board.design.hash
    except DesignError:
        read_design(path, {})  # raises where the file itself is wrong, and not only beside this board
        return False


BoardReading = Annotated[PlainReading, Without(*ABOUT_ITEMS, "blocks", "score_range", "incomplete", "column")]


@grouped
def add(
    place: Place,
    files: Annotated[
        list[Path] | None, typer.Argument(help="Score tables or logs, as for certify.", show_default=False)
    ] = None,
    *,
    submission: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.zip",
            help="Add what was handed in with submit pack: new models, or a replicate of all active ones. The board "
            "states how far the scores can be trusted. Instead of files.",
            show_default=False,
        ),
    ] = None,
    part: Annotated[
        bool,
        typer.Option(
            "--part",
            help="Add the first run up to its next checkpoint. The files have the items that board next lists, of all "
            "active models; they may still have the items before.",
        ),
    ] = False,
    design: DesignFile = None,
    counting: Counting,
    reading: BoardReading,
) -> None:
    """Add complete replicates, or a part of the first one, and print what is new.

    Adding a numbered replicate twice changes nothing.

    [bold]Exit codes[/bold]  0 success, 2 bad input, 5 contradiction
    """
    if (submission is None) == (not files):
        raise DomainError("give score files, or a submission with --submission, and not both")
    board = open_board(place, design)
    before = board.leaderboard()
    if submission is not None:
        _add_submission(board, submission, before, counting)
        return
    scores = _read(board, files or [], reading, upto_checkpoint=part)
    upto = board.state.upcoming().blocks if part else None
    # Up to a checkpoint, while a harness is still running, what is missing may only be late.
    if part and counting["incomplete"] is None:
        counting["incomplete"] = "refuse"
    added = board.add(scores, upto=upto, **counting)
    lines = []
    if added.checkpoint is not None:
        at = at_checkpoint(board.next_run.checkpoints, added.checkpoint)
        lines.append(f"Added a part of the first run, which is at {at} now.")
    for what, numbers in (("pilot replicate", added.already_pilots), ("replicate", added.already)):
        if numbers:
            lines.append(f"Already on the board with the same scores: {_numbered(what, numbers)}.")
    if added.pilots:
        lines.append(f"Added {_numbered('pilot replicate', added.pilots)} of {board.design.pilot}; it is not evidence.")
    if added.candidate is not None:
        chosen = ", ".join(display_names(added.candidate))
        lines.append(f"The pilot chose: {chosen}. Evidence starts with the next replicate.")
    if added.replicates:
        lines.append(f"Added {_numbered('replicate', added.replicates)}.")
    if not added.replicates and not added.pilots and added.checkpoint is None:
        lines.append("Nothing was added.")
    _tell(board, added, before, *lines)


def _add_submission(board: Board, submission: Path, before: Leaderboard, counting: Counting) -> None:
    from bbedge.display.ranking import TRUST_WORDS
    from bbedge.submit.add import add as take
    from bbedge.submit.archive import digest

    with spinner() as progress:
        progress("adding the submission")
        added = take(board, submission, **counting)
    if added is None:
        say(f"{shown_path(submission)} is on the board already. Nothing was added.")
        return
    sha256 = digest(submission)
    stated = [each for each in board.state.trust.values() if each.submission == sha256]
    models = ", ".join(f"{shown(each.model)} ({TRUST_WORDS[each.trust]})" for each in stated)
    _tell(board, added, before, f"Added {models}, handed in by {shown(stated[0].by)}.")


@grouped
def add_model(
    place: Place,
    name: Annotated[str, typer.Argument(help="The new model.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Its runs, as for certify. Leave out before the first replicate of an epoch.", show_default=False
        ),
    ] = None,
    *,
    design: DesignFile = None,
    counting: Counting,
    reading: BoardReading,
) -> None:
    """Add a model: join its runs with the stored replicates and test only comparisons with this model."""
    board = open_board(place, design)
    before = board.leaderboard()
    scores = _read(board, files, reading) if files else None
    alike = [model for model in board.state.epoch.models if folded(model) == folded(name)]
    if alike:
        say(f"Note  {name!a} is a new model; its name differs from {alike[0]!a} only by its spelling.")
    added = board.add_model(name, scores, **counting)
    stage = board.state.stages[-1]
    what = f"Added {shown(name)} at level {stage.level:.3g}: {stage.design.n_directions} new comparisons to test."
    _tell(board, added, before, what)


def _tell(board: Board, added: Added, before: Leaderboard, *lines: str) -> None:
    """Print what was added and its effect; a contradiction comes before both, and sets the exit code."""
    from bbedge.board.words import news
    from bbedge.certificate.certificate import Certificate
    from bbedge.display.answer import answer

    now = board.leaderboard()
    if now.is_contradicted:
        said = answer(Certificate.made(now))
        say(said.first, said.contenders, style="bold red")
    say(*lines, *news(added, before, now), *_coming_looks(board))
    exit_if_contradicted(now)


def _read(board: Board, files: Sequence[Path], reading: Reading, *, upto_checkpoint: bool = False) -> Scores:
    from bbedge.board.incoming import reading_for

    # One model is enough to read, and gaps are read as gaps: the board's own messages are more precise. Inside a first
    # run they are no gaps: models that were stopped inside of it have no scores after their last checkpoint.
    is_inside = upto_checkpoint or board.state.epoch.is_inside_first_run
    chosen = reading_for(board.state, reading, has_gaps=is_inside)
    return read(files, chosen, least_models=1, identify=True, gaps=True)


def at_checkpoint(of: int, checkpoint: Checkpoint | None) -> str:
    """Where a checkpoint is, of so many; without one, the complete run."""
    if checkpoint is None:
        return "its end"
    return f"checkpoint {checkpoint.number} of {of} ({100 * checkpoint.fraction:.3g} % of blocks)"


def _numbered(what: str, numbers: Sequence[int]) -> str:
    return f"{what}{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


_MOST_ITEMS = 200  # printed; --items writes all of them


def next_(
    place: Place,
    items_out: Annotated[
        Path | None,
        typer.Option(
            "--items",
            metavar="OUT.csv",
            help="Write the items to run, in their order, as a table with item, block and the columns that the design "
            "uses.",
            show_default=False,
        ),
    ] = None,
    json_out: JsonOut = None,
) -> None:
    """Say which items to run next, and with which models.

    If the design has checkpoints, these are the items of the first run up to the next one, in the random order that
    the board drew. Later runs, and those of a board without checkpoints, are complete replicates.

    [cyan]bbedge board next board.bbedge --items next.csv[/cyan]
    Write the items for your harness. Then add their scores: [cyan]bbedge board add board.bbedge SCORES --part[/cyan]
    """
    from bbedge.board.words import items_table

    board = open_board(place)
    run = board.next_run
    summary = _summary(board, run)
    if items_out is not None:
        write_whole(items_out, items_table(run.items, run.blocks, run.columns))
    console = write_json(json_out, lambda: {"summary": summary, **run.content})
    say(summary, *_coming_looks(board), f"Models: {', '.join(display_names(run.models))}", "Items:", console=console)
    say(*(f"  {shown(item)}" for item in run.items[:_MOST_ITEMS]), console=console)
    if len(run.items) > _MOST_ITEMS:
        say(f"  and {len(run.items) - _MOST_ITEMS:,} more; --items OUT.csv writes all of them", console=console)
    say_written(console, items=items_out)


def _coming_looks(board: Board) -> Iterator[str]:
    """When the items of each target are looked at next, if not after every run."""
    run = board.next_run
    if (these := run.looks.get("benchmark", 0)) > run.replicate:
        yield f"These items are looked at next after run {these}."
    if board.design.target:
        new = run.looks.get("new-items")
        if new:
            yield f"New items are looked at next after run {new}."
        elif board.design.pairing == "all":  # else a model that joined is looked at by its own runs
            yield "New items are not looked at again."


def _summary(board: Board, run: NextRun) -> str:
    """What to do, in a sentence."""
    models, count, command = counted(len(run.models), "model"), len(run.items), f"bbedge board add {_name(board)} FILES"
    if run.checkpoint is not None:
        where = at_checkpoint(run.checkpoints, run.checkpoint)
        return (
            f"Run {models} on the next {counted(count, 'item')} of the first run, up to {where}, then add their "
            f"scores: {command} --part"
        )
    if run.kind == "rest":
        return (
            f"Run {models} on the last {counted(count, 'item')}, because every checkpoint of the first run has "
            f"passed, then add the complete run: {command}"
        )
    why = "the design has no checkpoints"
    what = f"the complete replicate {run.replicate}"
    if run.kind == "pilot":
        why, what = "the pilot is not finished", f"the complete pilot replicate {run.replicate} of {board.design.pilot}"
    elif run.checkpoints:
        why = "the first run is complete and later ones have no checkpoints"
    return f"Run {models} on all {counted(count, 'item')}, because {why}, then add {what}: {command}"


def _name(board: Board) -> str:
    return shlex.quote(shown(board.name, None))
