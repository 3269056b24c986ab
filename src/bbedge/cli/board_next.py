"""``bbedge board next``: what to run before the board can look again."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge.cli.board_design import items_table
from bbedge.cli.board_place import Place, open_board
from bbedge.cli.board_words import at_checkpoint
from bbedge.cli.output import JsonOut, say, say_written, write_json
from bbedge.files import write_whole
from bbedge.text import counted, display_names, shown

if TYPE_CHECKING:
    from bbedge.board import Board, NextRun

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

    If the design has checkpoints, these are the items of the first pass up to the next one, in the random order that
    the board drew. Later passes, and those of a board without checkpoints, are complete replicates.

    [cyan]bbedge board next board.bbedge --items next.csv[/cyan]
    Write the items for your harness. Then add their scores: [cyan]bbedge board add board.bbedge SCORES --part[/cyan]
    """
    board = open_board(place)
    run = board.next_run
    summary = _summary(board, run)
    if items_out is not None:
        write_whole(items_out, items_table(run.items, run.blocks, run.columns))
    console = write_json(json_out, lambda: {"summary": summary, **run.content})
    say(summary, f"Models: {', '.join(display_names(run.models))}", "Items:", console=console)
    say(*(f"  {shown(item)}" for item in run.items[:_MOST_ITEMS]), console=console)
    if len(run.items) > _MOST_ITEMS:
        say(f"  and {len(run.items) - _MOST_ITEMS:,} more; --items OUT.csv writes all of them", console=console)
    say_written(console, items=items_out)


def _summary(board: Board, run: NextRun) -> str:
    """What to do, in a sentence."""
    models, count, command = counted(len(run.models), "model"), len(run.items), f"bbedge board add {_name(board)} FILES"
    if run.checkpoint is not None:
        where = at_checkpoint(run.checkpoint, run.checkpoints)
        return (
            f"Run {models} on the next {counted(count, 'item')} of the first pass, up to {where}, then add their "
            f"scores: {command} --part"
        )
    if run.kind == "rest":
        return (
            f"Run {models} on the last {counted(count, 'item')}, because every checkpoint of the first pass has "
            f"passed, then add the complete pass: {command}"
        )
    why = "the design has no checkpoints"
    what = f"the complete replicate {run.replicate}"
    if run.kind == "pilot":
        why, what = "the pilot is not finished", f"the complete pilot replicate {run.replicate} of {board.design.pilot}"
    elif run.checkpoints:
        why = "the first pass is complete and later ones have no checkpoints"
    return f"Run {models} on all {counted(count, 'item')}, because {why}, then add {what}: {command}"


def _name(board: Board) -> str:
    return shlex.quote(shown(board.name, None))
