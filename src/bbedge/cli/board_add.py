"""``bbedge board add`` and ``add-model``: scores from files go to a board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bbedge.cli.board_place import DesignFile, Place, open_board
from bbedge.cli.board_words import at_checkpoint, news
from bbedge.cli.claim import CopiesRule
from bbedge.cli.options import Reading, Without, grouped
from bbedge.cli.output import exit_if_contradicted, say
from bbedge.text import display_names, folded, shown

if TYPE_CHECKING:
    from bbedge.board import Added, Board
    from bbedge.core.leaderboard import Leaderboard
    from bbedge.core.scores import Scores

Files = Annotated[list[Path], typer.Argument(help="Score tables or logs, as for certify.", show_default=False)]
BoardReading = Annotated[Reading, Without("blocks", "score_range", "incomplete", "column")]
WholeRuns = Annotated[
    Literal["worst-case", "zero"] | None,
    typer.Option(
        "--incomplete",
        help="Count runs that are missing altogether by the rule of the design, which this repeats. Without it, a "
        "replicate stays incomplete until every active model has run, and a part until it has every score. Missing "
        "scores are final.",
        show_default=False,
    ),
]


@grouped
def add(
    place: Place,
    files: Files,
    *,
    part: Annotated[
        bool,
        typer.Option(
            "--part",
            help="Add the first pass up to its next checkpoint. The files have the items that board next lists, of all "
            "active models; they may still have the items before.",
        ),
    ] = False,
    design: DesignFile = None,
    copies: CopiesRule = None,
    incomplete: WholeRuns = None,
    reading: BoardReading,
) -> None:
    """Add complete replicates, or a part of the first one, and print what is new.

    Adding a numbered replicate twice changes nothing.

    [bold]Exit codes[/bold]  0 success, 2 bad input, 5 contradiction
    """
    board = open_board(place, design)
    before = board.leaderboard()
    if part:
        # A part may be added while a harness is still running: what is missing may only be late.
        added = board.add_part(
            _read(board, files, reading, part=True), copies=copies, incomplete=incomplete or "refuse"
        )
        _tell(board, added, before, _part_words(board, added))
        return
    added = board.add(_read(board, files, reading), copies=copies, incomplete=incomplete)
    lines = []
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
    if not added.replicates and not added.pilots:
        lines.append("Nothing was added.")
    _tell(board, added, before, *lines)


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
    copies: CopiesRule = None,
    incomplete: WholeRuns = None,
    reading: BoardReading,
) -> None:
    """Add a model: join its runs with the stored replicates and test only comparisons with this model."""
    board = open_board(place, design)
    before = board.leaderboard()
    scores = _read(board, files, reading) if files else None
    alike = [model for model in board.state.epoch.models if folded(model) == folded(name)]
    if alike:
        say(f"Note  {name!a} is a new model; its name differs from {alike[0]!a} only by its spelling.")
    added = board.add_model(name, scores, copies=copies, incomplete=incomplete)
    stage = board.state.stages[-1]
    what = f"Added {shown(name)} at level {stage.level:.3g}: {stage.design.n_directions} new comparisons to test."
    _tell(board, added, before, what)


def _tell(board: Board, added: Added, before: Leaderboard, *lines: str) -> None:
    """Print what was added and its effect; a contradiction comes before both, and sets the exit code."""
    from bbedge.certificate.certificate import Certificate
    from bbedge.display.alarm import alarm

    now = board.leaderboard()
    wrong = alarm(Certificate.made(now)) if now.is_contradicted else None
    if wrong is not None:
        say(wrong.answer, wrong.meaning, style="bold red")
    say(*lines, *news(added, before, now))
    exit_if_contradicted(now)


def _part_words(board: Board, added: Added) -> str:
    """How far the first pass has come."""
    checkpoint, run = added.checkpoint, board.next_run
    assert checkpoint is not None  # a part was added
    return f"Added a part of the first pass, which is at {at_checkpoint(checkpoint, run.checkpoints)} now."


def _read(board: Board, files: Sequence[Path], reading: Reading, *, part: bool = False) -> Scores:
    # One model is enough to read, and gaps are read as gaps: the board's own messages are more precise. Of a first pass
    # in parts they are no gaps: models that were stopped inside of it have no scores after their last checkpoint.
    has_parts = part or board.state.epoch.is_inside_pass
    rule = "refuse" if board.design.incomplete == "refuse" and not has_parts else "worst-case"
    chosen = replace(reading, score_range=board.design.score_range, incomplete=rule)
    choices = replace(chosen.choices, preferred_names=tuple(board.state.epoch.models))
    return chosen.table(files, least_models=1, identify=True, gaps=True, choices=choices)


def _numbered(what: str, numbers: Sequence[int]) -> str:
    return f"{what}{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
