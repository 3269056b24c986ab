"""Options that several commands share, and the reading of their score files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge.cli.progress import reading
from bbedge.core.kinds import Copies
from bbedge.errors import Argument, DomainError
from bbedge.readers import Choices, Incomplete, LimitError, Limits
from bbedge.readers.limits import size_words
from bbedge.text import quoted

if TYPE_CHECKING:
    from bbedge.core.scores import Scores

ScoreFiles = Annotated[
    list[Path],
    typer.Argument(
        help="Score tables (CSV, JSONL or Parquet with columns model, item, score and optionally replicate and "
        "block), logs of evaluation tools, folders, patterns with *, or - for a table on standard input. All files "
        "are joined.",
        show_default=False,
    ),
]
Alpha = Annotated[
    float,
    typer.Option(help="Error level: the largest probability of any false certificate, over all pairs and all looks."),
]
Tau = Annotated[
    float,
    typer.Option(
        help="Certify only differences above this margin, a fraction of the score range (0.02 is two points of 100)."
    ),
]
Blocks = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN|item|one",
        help="Which items may depend on each other. COLUMN: items with the same value in this column, or in this field "
        "of a log, such as metadata.dialogue_id; item: none; one: all. Default: the block column if there is one, "
        "else item.",
        show_default=False,
    ),
]
ScoreRange = Annotated[
    tuple[float, float], typer.Option(metavar="LO HI", help="Lowest and highest possible score, for instance 0 10.")
]
IncompletePolicy = Annotated[
    Incomplete,
    typer.Option(
        help="What to do about missing scores. Dropping data changes the claim: decide before you see scores."
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROLE=NAME",
        help="The column that holds model, item, replicate, block or score. May be repeated.",
        show_default=False,
    ),
]
_LOGS = "Options for logs"
Kind = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="KIND",
        help="Format of all files: lm-eval, inspect, helm, lighteval, promptfoo, openai-evals, table or wide. "
        "Default: detect it.",
        show_default=False,
        rich_help_panel=_LOGS,
    ),
]
Metric = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="The metric to use as the score. May be repeated if tasks have different metrics.",
        show_default=False,
        rich_help_panel=_LOGS,
    ),
]
Filter = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="NAME",
        help="The filter whose scores to use, if a log has several filters. May be repeated.",
        show_default=False,
        rich_help_panel=_LOGS,
    ),
]
ModelName = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[PATTERN=]NAME",
        help="Name of the model in all logs, or in logs whose path or model name matches PATTERN. May be repeated.",
        show_default=False,
        rich_help_panel=_LOGS,
    ),
]
ReplicateFrom = Annotated[
    str | None,
    typer.Option(
        metavar="WHERE",
        help="What identifies the replicate: folder, file, seed, path:REGEX, or a field such as metadata.run. "
        "Default: number a model's runs by time.",
        show_default=False,
        rich_help_panel=_LOGS,
    ),
]
CopiesRule = Annotated[
    Copies | None,
    typer.Option(
        help="Replicates with the same scores as another one: stop (refuse) or count them (allow). Decide before the "
        "runs; the certificate records it.",
        show_default="refuse",
    ),
]
MaxSize = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Raise the limits on lines, names, unpacked files and arrays of pairs to this size: 500M, 8G. "
        "docs/formats.md lists the limits.",
        show_default=False,
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Device to compute on: cpu, or a PyTorch device such as cuda.",
        show_default="cpu",
    ),
]
JsonOut = Annotated[
    Path | None,
    typer.Option("--json", metavar="OUT", help="Write the result as JSON; - for standard output.", show_default=False),
]

ArraysOut = Annotated[
    Path | None,
    typer.Option(
        "--arrays",
        metavar="OUT.npz",
        help="Write evidence, margins and edges of all pairs as NumPy arrays. The JSON has them up to 500 models.",
        show_default=False,
    ),
]
AllRows = Annotated[bool, typer.Option("--all", help="Print all models, not only the first 60.")]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="Print the full statement of the guarantee and its assumptions.")
]

# Options that are not called as the argument; the first four may be repeated.
_NAMES = {"columns": "column", "metrics": "metric", "filters": "filter", "model_names": "model-name", "keep": "out"}

_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?([KMGT]?)(?:i?B)?", re.IGNORECASE)
# The most arrays of this size that an evidence keeps, as docs/scale.md states it.
_PAIR_ARRAYS = 21
_ROLES = ("model", "item", "replicate", "block", "score")


def as_option(argument: Argument) -> str:
    """An argument that a message names, as the option of the command line.

    >>> as_option(Argument("score_range", (0, 10))), as_option(Argument("columns", {"item": "task"}))
    ('--score-range 0 10', '--column item=task')
    """
    name, value = argument.name, argument.value
    if name == "limits":
        return "--max-size SIZE"
    option = f"--{_NAMES.get(name, name).replace('_', '-')}"
    if value is None:
        return option
    if isinstance(value, Mapping):
        value = tuple(f"{role}={column}" for role, column in value.items())
    values = [str(each) for each in value] if isinstance(value, tuple) else [str(value)]
    return " ".join(f"{option} {each}" for each in values) if name in _NAMES else " ".join([option, *values])


def read_table(
    files: Sequence[Path],
    *,
    blocks: str | None = None,
    score_range: tuple[float, float],
    incomplete: Incomplete = "refuse",
    column: Sequence[str] | None = None,
    choices: Choices | None = None,
    least_models: int = 2,
    identify: bool = False,
    max_size: str | None = None,
) -> Scores:
    """Read the score files of a command, with a spinner."""
    from bbedge.readers import read_scores

    with reading() as progress:
        return read_scores(
            *files,
            blocks=blocks,
            score_range=score_range,
            columns=named_columns(column or []),
            incomplete=incomplete,
            choices=choices,
            least_models=least_models,
            identify=identify,
            progress=progress,
            limits=named_limits(max_size),
        )


def named_limits(max_size: str | None) -> Limits | None:
    """The limits for a size such as 8G; None if none was given.

    >>> named_limits("1.5k").line_bytes, named_limits("2GiB").unpacked_bytes
    (67108864, 2147483648)
    """
    if max_size is None:
        return None
    size = _SIZE.fullmatch(max_size.strip())
    if size is None:
        raise DomainError(f"--max-size {quoted(max_size)} is not a size; write a number and K, M, G or T, such as 8G")
    return Limits.up_to(int(float(size[1]) * 1024 ** " KMGT".index((size[2] or " ").upper())))


def check_pairs(n_models: int, max_size: str | None) -> None:
    """Raise if the arrays with a number for every pair of models would be too large for one machine's memory."""
    limits = named_limits(max_size) or Limits()
    needed = 8 * _PAIR_ARRAYS * n_models**2
    if needed > limits.pair_bytes:
        raise LimitError(
            f"{n_models:,} models: arrays with a number for every pair would take up to {size_words(needed)}, more "
            f"than {size_words(limits.pair_bytes)}; cut the pairs into tiles with bbedge.scale, which docs/scale.md "
            "describes, or allow more with --max-size"
        )


def log_choices(
    kind: str | None,
    metric: Sequence[str] | None,
    filter_: Sequence[str] | None,
    model_name: Sequence[str] | None,
    replicate_from: str | None,
) -> Choices:
    """The choices that the options for logs make."""
    return Choices(
        format=kind,
        metrics=tuple(metric or ()),
        filters=tuple(filter_ or ()),
        model_names=tuple(model_name or ()),
        replicate_from=replicate_from,
    )


def named_columns(given: Sequence[str]) -> dict[str, str]:
    """The columns of roles, from texts such as item=question_id."""
    columns = {}
    for text in given:
        role, equals, name = text.partition("=")
        if not equals or not name or role not in _ROLES:
            raise DomainError(f"--column {quoted(text)} is not ROLE=NAME with ROLE one of {', '.join(_ROLES)}")
        columns[role] = name
    return columns
