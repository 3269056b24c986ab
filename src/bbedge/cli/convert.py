"""``bbedge convert``: logs and tables to one canonical table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bbedge.cli.options import (
    Blocks,
    Columns,
    Filter,
    Kind,
    MaxSize,
    Metric,
    ModelName,
    ReplicateFrom,
    ScoreFiles,
    log_choices,
    named_columns,
    named_limits,
)
from bbedge.cli.progress import output, reading
from bbedge.errors import DomainError
from bbedge.text import shown_path


def convert(
    scores: ScoreFiles,
    to: Annotated[Path, typer.Option(metavar="OUT", help="The Parquet file to write.", show_default=False)],
    blocks: Blocks = None,
    column: Columns = None,
    kind: Kind = None,
    metric: Metric = None,
    filter_: Filter = None,
    model_name: ModelName = None,
    replicate_from: ReplicateFrom = None,
    max_size: MaxSize = None,
) -> None:
    """Convert score tables and logs to one Parquet table, with the sources and their hashes in its metadata.

    Scores are not rescaled; a failed sample becomes a row without a score.

    [cyan]bbedge convert logs/ --metric match --blocks metadata.dialogue_id --to scores.parquet[/cyan]
    """
    from bbedge.readers.convert import convert as write
    from bbedge.text import counted

    if to.suffix != ".parquet":
        raise DomainError(f"--to {shown_path(to)}: use a file name that ends with .parquet")
    with reading() as progress:
        done = write(
            [str(path) for path in scores],
            to,
            blocks=blocks,
            columns=named_columns(column or []),
            choices=log_choices(kind, metric, filter_, model_name, replicate_from),
            progress=progress,
            limits=named_limits(max_size),
        )
    console = output()
    said = (
        f"{shown_path(to)}: {counted(done.rows, 'score')} of {counted(done.models, 'model')} on "
        f"{counted(done.items, 'item')} in {counted(done.replicates, 'replicate')}."
    )
    if done.missing:
        said += f" {counted(done.missing, 'row')} without a score: a failed sample does not count as zero."
    for line in (said, *(f"Note  {note.text}" for note in done.notes)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
