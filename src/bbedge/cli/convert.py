"""``bbedge convert``: logs and tables to one canonical table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bbedge.cli.options import Reading, ScoreFiles, Without, grouped
from bbedge.cli.output import say, spinner
from bbedge.cli.views import About
from bbedge.errors import DomainError
from bbedge.text import counted, shown_path


@grouped
def convert(
    scores: ScoreFiles,
    *,
    to: Annotated[
        Path, typer.Option(metavar="OUT", help="The file to write: .parquet, .csv or .jsonl.", show_default=False)
    ],
    reading: Annotated[Reading, Without("score_range", "incomplete")],
    about: Annotated[About, Without("metric_range")],
) -> None:
    """Convert score tables and logs to one table: Parquet, CSV or JSONL, by the ending of --to.

    The metadata of a Parquet table holds the sources, their hashes and the choices made.

    Scores are not rescaled. What is missing stays missing when the table is read back: a failed sample becomes a
    row without a score, a sample that is not in the files has no row. The kind of error is not kept: with a policy such
    as refusal=zero, read the logs themselves.

    [cyan]bbedge convert logs/ --metric match --blocks metadata.dialogue_id --to scores.parquet[/cyan]
    [cyan]bbedge convert logs/ --metric match --item-column task --to scores.parquet[/cyan]
    """
    from bbedge.readers.convert import KINDS
    from bbedge.readers.convert import convert as write

    if to.suffix.lower() not in KINDS:
        raise DomainError(f"--to {shown_path(to)}: use a file name that ends with {', '.join(KINDS)}")
    with spinner() as progress:
        done = write(
            [str(path) for path in scores],
            to,
            blocks=reading.blocks,
            columns=reading.columns,
            choices=about.choices(reading),
            progress=progress,
            limits=reading.limits,
            item_columns=about.item_column or (),
            items=about.items,
        )
    said = (
        f"{shown_path(to)}: {counted(done.rows, 'score')} of {counted(done.models, 'model')} on "
        f"{counted(done.items, 'item')} in {counted(done.replicates, 'replicate')}."
    )
    if done.missing:
        said += f" {counted(done.missing, 'row')} without a score: a failed sample does not count as zero."
    say(said, *(f"Note  {note.text}" for note in done.notes))
