"""``bbedge inspect-scores`` and ``bbedge convert``: what is in score files."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge.cli.options import PlainReading, ScoreFiles, Without, as_option, grouped
from bbedge.cli.output import JsonOut, say, spinner, write_json
from bbedge.errors import DomainError
from bbedge.readers.choices import ERROR_KINDS
from bbedge.records.reading import SUITE, Reading
from bbedge.text import counted, listed, shown, shown_path

if TYPE_CHECKING:
    from rich.console import Console

    from bbedge.readers.survey import Survey


UNCLEAR = 3
"""Exit code when the scores cannot be read without a further choice."""

_MOST_FIELDS, _MOST_FILES, _MOST_METRICS, _MOST_CATEGORIES = 12, 20, 40, 50
_WIDTH = 72
_NUMBERS = ("samples", "errors", "values", *ERROR_KINDS)


@grouped
def inspect_scores(
    scores: ScoreFiles, *, reading: Annotated[PlainReading, Without("incomplete")], json_out: JsonOut = None
) -> None:
    """List what is in score files and logs: models, items, replicates, options to choose, possible problems.

    It shows no scores, because metric, filter, blocks and dropped data are part of the design, which you choose before
    you see scores. The last line of the output is the next command to run.

    [cyan]bbedge inspect-scores logs/[/cyan]
    [cyan]bbedge inspect-scores logs/ --metric match --blocks metadata.dialogue_id[/cyan]

    [bold]Exit codes[/bold]  0 the scores can be read, 2 bad input, 3 a choice is missing
    """
    from bbedge.readers.candidates import next_command
    from bbedge.readers.survey import survey

    files = [str(path) for path in scores]
    with spinner() as progress:
        found = survey(files, reading, progress=progress)
    command = next_command(found, files, reading)
    console = write_json(json_out, lambda: _document(found, command))
    _show_contents(console, found)
    _show_missing(console, found)
    _show_verdict(console, found, command)
    if found.scores is None:
        raise typer.Exit(UNCLEAR)


def _show_contents(console: Console, found: Survey) -> None:
    """Print what the files hold: files, metrics, filters, fields."""
    _grid(console, _found_words(found), ("file", "kind", "model", "task", "samples", "errors"), _file_rows(found))
    if found.unread:
        first = f"{counted(len(found.unread), 'file')}, first {shlex.quote(found.unread[0])}"
        say(f"Skipped, format not recognised: {first}", console=console, style="dim")
    if found.metrics:
        heads = ("name", "task", "samples", "smallest to largest", "")
        _grid(console, "Metrics: --metric", heads, _metric_rows(found))
    if any(len(of_task) > 1 for of_task in found.samples.filters.values()):
        rows = [
            (shown(each), shown(task), f"{n:,}")
            for task, of_task in found.samples.filters.items()
            for each, n in of_task.items()
        ]
        _grid(console, "Filters: --filter", ("name", "task", "samples"), rows)
    fields = sorted(((name, values) for name, values in found.fields.items() if values > 1), key=itemgetter(1))
    if fields:
        of_blocks = [(name, f"{values:,}") for name, values in fields[:_MOST_FIELDS]]
        _grid(console, "Fields that could name blocks: --blocks", ("name", "values"), of_blocks)
    _show_columns(console, found)


def _show_columns(console: Console, found: Survey) -> None:
    """Print the columns that describe the items, and what one that looks like a category is good for."""
    from bbedge.readers.tables.columns import ALIASES

    columns = sorted(found.item_columns.items(), key=itemgetter(1))
    if not columns:
        return
    rows = [(shown(name), f"{values:,}") for name, values in columns[:_MOST_FIELDS]]
    _grid(console, "Columns that describe items: --views, --macro, --weights", ("name", "values"), rows)
    blocks = ("block", *ALIASES["block"])
    category = next(
        (name for name, values in columns if 2 <= values <= _MOST_CATEGORIES and name.casefold() not in blocks), None
    )
    if category is not None:
        name = shlex.quote(category)
        say(
            f"To compare the models on every {shown(category)} as well, add --views {name} to certify; to let every "
            f"{shown(category)} count the same in the headline, add --macro {name}.",
            console=console,
            style="dim",
        )


def _show_missing(console: Console, found: Survey) -> None:
    """Print how many scores are missing, by model and by kind of error as far as logs say."""
    if not found.missing:
        return
    kinds = [kind for kind in ERROR_KINDS if any(of_model[kind] for of_model in found.missing.values())]
    ranked = sorted(found.missing.items(), key=lambda each: -sum(each[1].values()))
    rows = [
        (shown(model, 30), *(f"{of_model[kind]:,}" if of_model[kind] else "" for kind in kinds))
        for model, of_model in ranked[:_MOST_FILES]
    ]
    if len(ranked) > _MOST_FILES:
        rows.append((f"and {len(ranked) - _MOST_FILES:,} more", *("" for _ in kinds)))
    _grid(console, "Missing scores by kind of error: --incomplete", ("model", *kinds), rows)


def _grid(console: Console, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for head in heads:
        table.add_column(head, justify="right" if head in _NUMBERS else "left")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print()
    console.print(Text(title, style="bold"))
    console.print(table)


def _show_verdict(console: Console, found: Survey, command: str) -> None:
    """Print whether the scores can be read, what looks wrong, and the next command."""
    console.print()
    if found.scores is not None:
        say("Complete", console=console, style="bold green")
        scores = found.scores
        blocks, replicates = len(set(scores.blocks)), len(scores.replicates)
        sentence = (
            f"{counted(len(scores.models), 'model')} x {len(scores.items):,} items in {counted(blocks, 'block')} x "
            f"{counted(replicates, 'replicate')}: a score in every cell."
        )
        if replicates > 1:
            sentence += (
                f" Each model ran each item {replicates:,} times, so that --of-runs takes k up to {replicates:,}."
            )
        following = "Next"
    else:
        say("Not readable yet", console=console, style="bold yellow")
        sentence = _refused(found)
        following = "Fix this, then run the command again"
        if any(decision.candidates for decision in found.decisions):
            following = "Decide, then run the command again with the option that fits"
        elif found.proposal and all(file.samples is None for file in found.files):
            following = "This is how it can be read; check it, then run"
            if found.left is not None:
                sentence += f"\n\nWith the options below: {found.left.render(as_option)}"
                following = "So far it is known how it can be read; fix the rest, then run"
        elif (found.to_choose and not found.decisions) or found.proposal:
            following = "Make the missing choice, for example"
        elif found.remedy is not None:
            following = "Complete the runs. Or decide, before you see scores, what missing ones count as, for example"
    say(sentence, "", console=console)
    for decision in found.decisions:
        rows = [
            (as_option(each.argument), ", ".join(each.examples), "; ".join(each.reasons))
            for each in decision.candidates
        ]
        if rows:
            _grid(console, decision.question, ("option", "some values", "what speaks for it"), rows)
            console.print()
        else:
            say(decision.question, "", console=console, style="bold")
    notes = _suspicions(found)
    heading = "Possible problems" if notes else "No problems found. This does not prove that there are none."
    if notes or found.scores is not None:  # of scores that cannot be read, nothing was looked for
        say(heading, console=console, style="bold")
        say(*(f"- {note}" for note in notes), "", console=console)
    say(following, console=console, style="bold")
    say(f"  {command}", console=console)


def _refused(found: Survey) -> str:
    return "" if found.error is None else found.error.render(as_option)


def _document(found: Survey, command: str) -> dict[str, object]:
    scores = found.scores
    return {
        "files": [asdict(file) for file in found.files],
        "not_read": found.unread,
        "metrics": [
            {"name": each.name, "tasks": each.tasks, "samples": each.samples, "on_unit_scale": each.on_unit_scale}
            for each in found.metrics
        ],
        "filters": found.samples.filters,
        "fields": found.fields,
        "item_columns": found.item_columns,
        "errors": found.samples.errors,
        "cached": found.samples.cached,
        "missing": [{"model": model, **of_model} for model, of_model in found.missing.items()],
        "complete": scores is not None,
        "models": None if scores is None else scores.models,
        "items": None if scores is None else len(scores.items),
        "blocks": None if scores is None else len(set(scores.blocks)),
        "replicates": None if scores is None else scores.replicates,
        "differing": [asdict(each) for each in found.differing],
        "refused": _refused(found),
        "suspicious": _suspicions(found),
        "decisions": [
            {
                "question": decision.question,
                "candidates": [{**asdict(each), "argument": as_option(each.argument)} for each in decision.candidates],
            }
            for decision in found.decisions
        ],
        "command": None if found.decisions else command,
    }


def _found_words(found: Survey) -> str:
    """How many files of which kinds."""
    kinds = Counter(file.kind for file in found.files).items()
    words = ", ".join(counted(count, kind) if "table" in kind else f"{count} {kind}" for kind, count in kinds)
    root = _root(found)
    place = f" in {shown(root, None)}" if len(found.files) > 1 and root else ""
    beside = f", and {found.beside} accompanying" if found.beside else ""
    return f"{counted(len(found.files), 'file')}: {words}{beside}{place}"


def _file_rows(found: Survey) -> list[tuple[str, ...]]:
    """A row per file: path, kind, model, task, samples, errors."""
    root = _root(found)
    rows: list[tuple[str, ...]] = []
    for file in found.files[:_MOST_FILES]:
        samples = "" if file.samples is None else f"{file.samples:,}"
        if file.repeats > 1:
            samples += f" ({file.repeats} each)"
        models = _first([shown(model, 30) for model in file.models], 2)
        rows.append(
            (
                shown(file.path[len(root) :], _WIDTH),
                file.kind,
                models or ("see its rows" if file.samples is None else "no name"),
                ", ".join(shown(task, 24) for task in file.tasks),
                samples,
                f"{file.errors:,}" if file.errors else "",
            )
        )
    if len(found.files) > _MOST_FILES:
        rows.append((f"and {len(found.files) - _MOST_FILES:,} more", "", "", "", "", ""))
    return rows


def _metric_rows(found: Survey) -> list[tuple[str, ...]]:
    """A row per metric: those on the scale from 0 to 1 first."""
    from bbedge.readers.candidates import ranked_metrics

    return [
        (
            shown(metric.name),
            _first([shown(task, 24) for task in metric.tasks if task], 3),
            f"{metric.samples:,}",
            f"{metric.low:g} to {metric.high:g}" if metric.samples else "no number",
            "lower is better" if metric.lower_is_better else "",
        )
        for metric in ranked_metrics(found)[:_MOST_METRICS]
    ]


def _suspicions(found: Survey) -> list[str]:
    """Everything that the user should check; it states nothing about scores."""
    from bbedge.readers.candidates import model_from_fields
    from bbedge.readers.logs.stated import StatedNote

    notes = []
    samples = found.samples
    if samples.errors:
        have = "has" if samples.errors == 1 else "have"
        notes.append(
            f"{counted(samples.errors, 'sample')} ended with an error and {have} no score: {samples.first_error}"
        )
    if samples.cached:
        notes.append(f"{counted(samples.cached, 'answer')} came from a cache; a repeated answer is not a replicate.")
    constant = [name for name, values in found.fields.items() if values == 1 and name.endswith("_id")]
    if constant:
        notes.append(f"The field {shown(constant[0])} is the same in every sample.")
    option = shlex.quote(model_from_fields(found) or "")
    notes += [
        f"Logs of {shown(each.model)!r} differ in {shown(each.field)}: {listed(each.values)}. They are read as "
        f"replicates of one model. If these are different systems, name them apart with --model-from {option}."
        for each in found.differing
    ]
    of_scores = () if found.scores is None else found.scores.notes
    return notes + [note.without_means if isinstance(note, StatedNote) else note.text for note in of_scores]


def _first(texts: Sequence[str], most: int) -> str:
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def _root(found: Survey) -> str:
    """The folder that all files have in common."""
    common = os.path.commonprefix([file.path for file in found.files])  # noqa: RUF071 - cut at a separator below
    return common[: common.rfind(os.sep) + 1]


@grouped
def convert(
    scores: ScoreFiles,
    *,
    to: Annotated[
        Path, typer.Option(metavar="OUT", help="The file to write: .parquet, .csv or .jsonl.", show_default=False)
    ],
    reading: Annotated[Reading, Without(*SUITE, "score_range", "incomplete", "less_is_better", "metric_range")],
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
        done = write([str(path) for path in scores], to, reading, progress=progress)
    said = (
        f"{shown_path(to)}: {counted(done.rows, 'score')} of {counted(done.models, 'model')} on "
        f"{counted(done.items, 'item')} in {counted(done.replicates, 'replicate')}."
    )
    if done.missing:
        said += f" {counted(done.missing, 'row')} without a score: a failed sample does not count as zero."
    say(said, *(f"Note  {note.text}" for note in done.notes))
