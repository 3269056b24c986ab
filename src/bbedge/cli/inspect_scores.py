"""``bbedge inspect-scores``: list what is in score files."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bbedge.cli.options import (
    Blocks,
    Columns,
    Filter,
    JsonOut,
    Kind,
    MaxSize,
    Metric,
    ModelName,
    ReplicateFrom,
    ScoreFiles,
    ScoreRange,
    as_option,
    log_choices,
    named_columns,
    named_limits,
)
from bbedge.cli.progress import output, reading
from bbedge.cli.survey_words import file_rows, filter_rows, found_words, metric_rows, suggestion, suspicions
from bbedge.files import write_whole
from bbedge.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from bbedge.readers.survey import Survey

UNCLEAR = 3
"""Exit code when the scores cannot be read without a further choice."""

_MOST_FIELDS = 12


def inspect_scores(
    scores: ScoreFiles,
    blocks: Blocks = None,
    score_range: ScoreRange = (0.0, 1.0),
    column: Columns = None,
    kind: Kind = None,
    metric: Metric = None,
    filter_: Filter = None,
    model_name: ModelName = None,
    replicate_from: ReplicateFrom = None,
    max_size: MaxSize = None,
    json_out: JsonOut = None,
) -> None:
    """List what is in score files and logs: models, items, replicates, options to choose, possible problems.

    It shows no scores, because metric, filter, blocks and dropped data are part of the design, which you choose before
    you see scores. The last line of the output is the next command to run.

    [cyan]bbedge inspect-scores logs/[/cyan]
    [cyan]bbedge inspect-scores logs/ --metric match --blocks metadata.dialogue_id[/cyan]

    [bold]Exit codes[/bold]  0 the scores can be read, 2 bad input, 3 a choice is missing
    """
    from bbedge.readers.survey import survey

    choices = log_choices(kind, metric, filter_, model_name, replicate_from)
    with reading() as progress:
        found = survey(
            [str(path) for path in scores],
            blocks=blocks,
            score_range=score_range,
            columns=named_columns(column or []),
            choices=choices,
            progress=progress,
            limits=named_limits(max_size),
        )
    options = _given(blocks, score_range, column, kind, metric, filter_, model_name, replicate_from, max_size)
    command = suggestion(found, [str(path) for path in scores], options)
    if json_out is not None:
        text = json.dumps(_document(found, command), ensure_ascii=True, allow_nan=False, indent=1) + "\n"
        if json_out == Path("-"):
            typer.echo(text, nl=False)
        else:
            write_whole(json_out, text)
    _show(output(to_error=json_out == Path("-")), found, command)
    if found.scores is None:
        raise typer.Exit(UNCLEAR)


def _show(console: Console, found: Survey, command: str) -> None:
    from rich.table import Table
    from rich.text import Text

    def grid(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        console.print()
        console.print(Text(title, style="bold"))
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
        for head in heads:
            table.add_column(head, justify="right" if head in ("samples", "errors", "values") else "left")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        console.print(table)

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style=style), highlight=False, soft_wrap=True)

    grid(found_words(found), ("file", "kind", "model", "task", "samples", "errors"), file_rows(found))
    if found.unread:
        skipped = counted(len(found.unread), "file")
        say(f"Skipped, format not recognised: {skipped}, first {shlex.quote(found.unread[0])}", "dim")
    if found.metrics:
        grid("Metrics: --metric", ("name", "task", "samples", "smallest to largest", ""), metric_rows(found))
    if any(len(of_task) > 1 for of_task in found.filters.values()):
        grid("Filters: --filter", ("name", "task", "samples"), filter_rows(found))
    fields = {name: values for name, values in found.fields.items() if values > 1}
    if fields:
        shown_fields = sorted(fields.items(), key=lambda entry: entry[1])[:_MOST_FIELDS]
        grid("Fields that could name blocks: --blocks", ("name", "values"), [(n, f"{v:,}") for n, v in shown_fields])
    if found.scores is not None:
        scores = found.scores
        console.print()
        blocks = len(set(scores.blocks))
        replicates = len(scores.replicates)
        say("Complete", "bold green")
        say(
            f"{len(scores.models):,} model{_s(len(scores.models))} x {len(scores.items):,} items in {blocks:,} "
            f"block{_s(blocks)} x {replicates:,} replicate{_s(replicates)}: a score in every cell."
        )
    else:
        console.print()
        say("Not readable yet", "bold yellow")
        say(_refused(found))
    notes = suspicions(found)
    console.print()
    say("Possible problems" if notes else "No problems found. This does not prove that there are none.", "bold")
    for note in notes:
        say(f"- {note}")
    console.print()
    if found.scores is not None:
        say("Next", "bold")
    elif found.to_choose:
        say("Make the missing choice, for example", "bold")
    elif found.remedy is not None:
        say("Complete the runs. Or decide, before you see scores, what to drop, for example", "bold")
    else:
        say("Fix this, then run the command again", "bold")
    say(f"  {command}")


def _refused(found: Survey) -> str:
    return "" if found.error is None else found.error.render(as_option)


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _given(
    blocks: str | None,
    score_range: tuple[float, float],
    column: Sequence[str] | None,
    kind: str | None,
    metric: Sequence[str] | None,
    filter_: Sequence[str] | None,
    model_name: Sequence[str] | None,
    replicate_from: str | None,
    max_size: str | None,
) -> list[str]:
    """The options of this call, for the next command."""
    options: list[str] = []
    for option, values in (
        ("--format", [kind]),
        ("--metric", metric or []),
        ("--filter", filter_ or []),
        ("--model-name", model_name or []),
        ("--replicate-from", [replicate_from]),
        ("--blocks", [blocks]),
        ("--column", column or []),
        ("--max-size", [max_size]),
    ):
        options += [part for value in values if value for part in (option, value)]
    if score_range != (0.0, 1.0):
        options += ["--score-range", *(f"{end:g}" for end in score_range)]
    return options


def _document(found: Survey, command: str) -> dict[str, object]:
    scores = found.scores
    return {
        "files": [
            {
                "path": file.path,
                "kind": file.kind,
                "models": list(file.models),
                "tasks": list(file.tasks),
                "samples": file.samples,
                "repeats": file.repeats,
                "errors": file.errors,
            }
            for file in found.files
        ],
        "not_read": list(found.unread),
        "metrics": [
            {"name": each.name, "tasks": list(each.tasks), "samples": each.samples, "on_unit_scale": each.on_unit_scale}
            for each in found.metrics
        ],
        "filters": {task: dict(of_task) for task, of_task in found.filters.items()},
        "fields": dict(found.fields),
        "errors": found.errors,
        "cached": found.cached,
        "complete": scores is not None,
        "models": list(scores.models) if scores is not None else None,
        "items": len(scores.items) if scores is not None else None,
        "blocks": len(set(scores.blocks)) if scores is not None else None,
        "replicates": list(scores.replicates) if scores is not None else None,
        "refused": _refused(found),
        "suspicious": suspicions(found),
        "command": command,
    }
