"""Options that several commands share, and how score files are read for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge.cli.progress import reading
from bbedge.errors import DomainError
from bbedge.formats import Incomplete
from bbedge.naming import quoted

if TYPE_CHECKING:
    from bbedge.core.scores import Scores

ScoreFiles = Annotated[
    list[Path],
    typer.Argument(
        help="Score tables: CSV, JSONL or Parquet with columns model, item, score and, if there are any, "
        "replicate and block. Several files are joined.",
        show_default=False,
    ),
]
Alpha = Annotated[
    float, typer.Option(help="Largest allowed probability of any false certificate, over all pairs and all looks.")
]
Tau = Annotated[
    float,
    typer.Option(
        help="Margin that an advantage must exceed, as a fraction of the score range (0.02 = two points of 100)."
    ),
]
Blocks = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN|item|one",
        help="Items that may depend on each other: a column that names their block, item if none do, one if "
        "all may. Default: the block column if there is one, else item.",
        show_default=False,
    ),
]
ScoreRange = Annotated[
    tuple[float, float], typer.Option(metavar="LO HI", help="The scale of the scores, for instance 0 10.")
]
IncompletePolicy = Annotated[
    Incomplete,
    typer.Option(help="What to do about missing cells. Dropping changes what is claimed: decide before you look."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROLE=NAME", help="Which column holds model, item, replicate, block or score.", show_default=False
    ),
]
JsonOut = Annotated[
    Path | None,
    typer.Option("--json", metavar="OUT", help="Write it all as JSON; - for standard output.", show_default=False),
]

_ROLES = ("model", "item", "replicate", "block", "score")


def read_table(
    files: Sequence[Path],
    *,
    blocks: str | None,
    score_range: tuple[float, float],
    incomplete: Incomplete,
    column: Sequence[str] | None,
    least_models: int = 2,
) -> Scores:
    """Read the score files of a command, with a spinner for who waits."""
    from bbedge.formats import read_scores

    with reading() as progress:
        return read_scores(
            *files,
            blocks=blocks,
            score_range=score_range,
            columns=_columns(column or []),
            incomplete=incomplete,
            least_models=least_models,
            progress=progress,
        )


def _columns(given: Sequence[str]) -> dict[str, str]:
    columns = {}
    for text in given:
        role, equals, name = text.partition("=")
        if not equals or not name or role not in _ROLES:
            raise DomainError(f"--column {quoted(text)} is not ROLE=NAME with ROLE one of {', '.join(_ROLES)}")
        columns[role] = name
    return columns
