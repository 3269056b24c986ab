"""From sources to coded rows: every kind of file read by one path, replicates numbered, suspicions collected."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bbedge.core.notes import Note
from bbedge.errors import Argument, Blank, DomainError, FormatError
from bbedge.readers.assemble.coding import Chunk, Coder, Codes, Table, Vocabulary
from bbedge.readers.assemble.describing import Described, check_headline
from bbedge.readers.assemble.grid import ordered_replicates
from bbedge.readers.choices import OTHER_BLOCKS, Choice, Choices
from bbedge.readers.logs.contents import check_same_questions
from bbedge.readers.logs.naming import check_apart
from bbedge.readers.logs.runs import PassBook, Watch, check_caches, check_copies, run_notes
from bbedge.readers.logs.table import LogTable
from bbedge.readers.scales import MetricScales
from bbedge.readers.sources import Sources, find_sources, fingerprint, open_table
from bbedge.readers.tables.columns import Role, is_seed
from bbedge.readers.tables.frames import Frame
from bbedge.readers.tables.item_columns import METRIC, ORIGINAL, with_columns
from bbedge.readers.tables.metrics import MetricTable
from bbedge.readers.tables.roles import chosen_columns, find_roles
from bbedge.readers.tables.wide import WideTable, as_wide
from bbedge.text import quoted, shown_path

if TYPE_CHECKING:
    from bbedge.readers.reading import DataFrameLike

_ROWS_PER_PROGRESS = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """All rows of all sources, coded."""

    coder: Coder
    """The rows."""
    replicates: tuple[str, ...]
    """The labels of the replicates in order."""
    numbered: bool
    """Whether the labels name replicates beyond these files: from tables, or from where the user chose."""
    are_seeds: bool
    """Whether the labels are seeds, which do not say in which order the replicates were run."""
    blocked: bool
    """Whether the rows name blocks."""
    notes: tuple[Note, ...]
    """What was noticed in logs."""
    runs: Mapping[str, tuple[str, ...]]
    """For every label the identities that logs give to the runs of that replicate."""
    gaps: str
    """What the logs say about scores that are missing."""
    sources: Sources
    """The files."""
    described: Described = field(default_factory=Described)
    """What is asked for about the items."""
    score_range: tuple[float, float] | None = None
    """The scale that the scores had before they were mapped, if they were."""


def join_rows(
    given: Sequence[str | os.PathLike[str] | DataFrameLike],
    *,
    blocks: str | None,
    score_range: tuple[float, float] | None,
    columns: Mapping[str, str] | None,
    choices: Choices,
    described: Described | None = None,
    progress: Callable[[str], None] | None = None,
) -> Rows:
    """Read everything. Without a score range, scores are neither checked against one nor mapped."""
    chosen = chosen_columns(columns, blocks)
    passes, watch, wanted = PassBook(), Watch(), described or Described()
    scales = _scales(choices, wanted, score_range)
    sources = find_sources([os.fspath(each) for each in given if isinstance(each, str | os.PathLike)], choices.format)
    tables = _opened(given, sources, choices, blocks, score_range, passes, watch, chosen, wanted, scales)
    logs = [table for table in tables if isinstance(table, LogTable)]
    _check_options(tables, logs, chosen, choices)
    if not any(isinstance(table, LogTable | MetricTable) for table in tables):
        scales = None
    found = [wanted.in_table(table) for table in tables]
    wanted.check_found(tables, found)
    roles = [_roles(table, chosen, blocks, its) for table, its in zip(tables, found, strict=True)]
    for role in ("replicate", "block", ORIGINAL):
        _check_alike(tables, roles, role)

    # The scales of metrics map the scores before they are coded.
    coder = Coder(score_range=score_range if scales is None else (0.0, 1.0))
    for table, its_roles in zip(tables, roles, strict=True):
        _read(coder, table, its_roles, progress)
    check_copies(passes)
    check_apart(passes, choices)
    if watch.changed:
        origin = choices.model_origin
        reworded = origin is not None and origin.kind == "field"
        check_same_questions((each for log in logs for each in log.asked()), watch.changed, reworded=reworded)
    if scales is not None:
        scales.check_used()
    check_headline(coder, choices.metrics)
    if logs:
        number_replicates(coder, passes)
    names = ", ".join(table.name for table in tables)
    replicates, are_seeds = ["1"], False
    if "replicate" in coder.vocabularies:
        are_seeds = (
            is_seed(choices.replicate_from or "")
            if logs
            else all(is_seed(its_roles["replicate"]) for its_roles in roles)
        )
        replicates = ordered_replicates(coder.names("replicate"), are_seeds=are_seeds, tables=names)
    return Rows(
        coder=coder,
        replicates=tuple(replicates),
        # Runs of logs that were merely counted are not the replicates of these numbers anywhere else.
        numbered="replicate" in coder.vocabularies
        and not are_seeds
        and (len(logs) < len(tables) or choices.replicate_from is not None),
        are_seeds=are_seeds,
        blocked="block" in coder.vocabularies,
        notes=(
            *_log_notes(logs, passes, watch, replicates),
            *(scales.notes() if scales is not None else ()),
            *_wide_notes(tables, choices),
            *sources.notes(),
        ),
        runs=passes.identities(),
        gaps=watch.gaps(),
        sources=sources,
        described=wanted,
        score_range=score_range if scales is None else scales.score_range,
    )


def _scales(choices: Choices, described: Described, score_range: tuple[float, float] | None) -> MetricScales | None:
    """The scales of metrics, where they may have several; None also where scores are kept as they are."""
    if score_range is None:
        if choices.metric_ranges:
            raise DomainError(Choice("metric_ranges"), " has no effect here: scores are kept as they are; leave it out")
        return None
    if METRIC in described.names or choices.metric_ranges:
        return MetricScales(ranges=choices.metric_ranges, usual=score_range)
    return None


def number_replicates(coder: Coder, passes: PassBook) -> None:
    """Replace the codes of passes, which stand for replicates of logs, by the replicates' labels."""
    labels = passes.labels()
    before = coder.names("replicate")
    vocabulary = Vocabulary()
    of_logs: Codes = vocabulary.encode(pl.Series([labels.get(name, name) for name in before], dtype=pl.String))
    of_tables: Codes | None = None
    if not all(isinstance(chunk.table, LogTable) for chunk in coder.chunks):
        of_tables = vocabulary.encode(pl.Series(before, dtype=pl.String))

    def renamed(chunk: Chunk) -> Codes:
        new = of_logs if of_tables is None or isinstance(chunk.table, LogTable) else of_tables
        return new[chunk.codes("replicate")]

    used = np.unique(np.concatenate([np.unique(renamed(chunk)) for chunk in coder.chunks]))
    names = vocabulary.names()
    final = Vocabulary()
    codes = final.encode(pl.Series([names[code] for code in used], dtype=pl.String))
    kept = np.zeros(len(names), dtype=codes.dtype)
    kept[used] = codes
    coder.chunks[:] = [coder.recoded(chunk, "replicate", kept[renamed(chunk)]) for chunk in coder.chunks]
    coder.vocabularies["replicate"] = final


def _opened(
    given: Sequence[str | os.PathLike[str] | DataFrameLike],
    sources: Sources,
    choices: Choices,
    blocks: str | None,
    score_range: tuple[float, float] | None,
    passes: PassBook,
    watch: Watch,
    chosen: Mapping[Role, str],
    described: Described,
    scales: MetricScales | None,
) -> list[Table]:
    frames = [
        (position, each) for position, each in enumerate(given, start=1) if not isinstance(each, str | os.PathLike)
    ]
    tables: list[Table] = []
    for source in sources.files:
        if source.reader is not None:
            tables.append(
                LogTable(
                    source.path,
                    source.reader,
                    choices=choices,
                    blocks=blocks,
                    score_range=score_range or (0.0, 1.0),
                    passes=passes,
                    watch=watch,
                    described=described.names,
                    scales=scales,
                )
            )
        else:
            tables.append(open_table(source.path, source.called))
    for position, each in frames:
        # A lazy frame warns when it is asked for its columns.
        if not (hasattr(each, "collect_schema") or hasattr(each, "columns")):
            raise FormatError(
                f"source {position}: a {quoted(type(each).__name__)} is not a table; pass a path, or a polars, "
                "pandas or Arrow table"
            )
        tables.append(Frame(table=each, name=f"frame {position}" if len(frames) > 1 else "frame"))
    return [_by_metric(_maybe_wide(table, choices, chosen, described), described, scales) for table in tables]


def _maybe_wide(table: Table, choices: Choices, chosen: Mapping[Role, str], described: Described) -> Table:
    if isinstance(table, LogTable) or choices.format == "table":
        return table
    return as_wide(table, chosen=chosen, asked=choices.format == "wide", described=described.names) or table


def _by_metric(table: Table, described: Described, scales: MetricScales | None) -> Table:
    if METRIC not in described.names or isinstance(table, LogTable) or METRIC not in described.in_table(table):
        return table
    return MetricTable(table, scales)


def _roles(table: Table, chosen: Mapping[Role, str], blocks: str | None, described: Sequence[str]) -> dict[Role, str]:
    if isinstance(table, LogTable | WideTable):
        return table.roles()
    if isinstance(table, MetricTable):
        return {**_roles(table.inner, chosen, blocks, described), ORIGINAL: "item"}
    found = find_roles(table.columns(), table=table.name, chosen=chosen, blocks=blocks, described=described)
    return with_columns(found, described, table=table.name)


def _check_options(
    tables: Sequence[Table], logs: Sequence[LogTable], chosen: Mapping[Role, str], choices: Choices
) -> None:
    """Refuse options that would have no effect: they were given for a reason."""
    by_metric = any(isinstance(table, MetricTable) for table in tables)
    needless = None if logs else choices.any_for_logs(metrics=by_metric)
    if needless is not None:
        raise DomainError(
            needless,
            f" is for logs, and {tables[0].name} is a table; name its columns with ",
            Argument("columns"),
            ", for instance ",
            Argument("columns", {"score": "accuracy"}),
        )
    plain = [table.name for table in tables if not isinstance(table, LogTable | MetricTable)]
    if choices.metric_ranges and plain:
        raise DomainError(
            Choice("metric_ranges"), f" is for metrics, and {plain[0]} names none; convert the logs, or read them alone"
        )
    columns = [role for role in chosen if role != "block"]
    if len(logs) == len(tables) and columns:
        raise DomainError(
            Argument("columns", {columns[0]: chosen[columns[0]]}),
            f" is for tables, and {logs[0].name} is a log; use ",
            Choice("metrics"),
            ", ",
            Choice("model_names"),
            ", ",
            Choice("replicate_from"),
            " or ",
            Argument("blocks"),
        )
    choices.check_names([seen for log in logs for seen in log.models()])


def _same_bytes(logs: Sequence[LogTable]) -> Iterator[Note]:
    """Files with the same content, where nothing else in the logs distinguishes runs."""
    sizes: dict[int, list[str]] = {}
    for log in logs:
        if not any(run.identity for run in log.log.runs):
            sizes.setdefault(Path(log.path).stat().st_size, []).append(log.path)
    for same in sizes.values():
        seen: dict[str, str] = {}
        for path in same if len(same) > 1 else ():
            first = seen.setdefault(fingerprint(path), path)
            if first != path:
                yield Note(
                    kind="files",
                    subject=(path, first),
                    text=f"{shown_path(path)} and {shown_path(first)} are the same byte for byte. A greedy run repeats "
                    "itself; but if one is a copy of the other, leave it out: a run counts once.",
                )


def _check_alike(tables: Sequence[Table], roles: Sequence[Mapping[Role, str]], role: Role) -> None:
    """Raise if some tables have the role and others do not: what the others mean would be a guess."""
    having = [table.name for table, its_roles in zip(tables, roles, strict=True) if role in its_roles]
    lacking = [table.name for table, its_roles in zip(tables, roles, strict=True) if role not in its_roles]
    if having and lacking and role == ORIGINAL:
        raise FormatError(f"{lacking[0]}: no column {METRIC}, but {having[0]} has one; add the column")
    if having and lacking:
        raise FormatError(
            f"{lacking[0]}: no {role} column, but {having[0]} has one; add the column or name it with ",
            Argument("columns", {role: Blank("NAME")}),
            *((", or pass ", *OTHER_BLOCKS) if role == "block" else ()),
        )


def _read(
    coder: Coder,
    table: Table,
    roles: Mapping[Role, str],
    progress: Callable[[str], None] | None,
) -> None:
    if progress is not None:
        progress(f"reading {table.name}")
    reported = 0
    for rows in coder.read(table, roles):
        if progress is not None and rows - reported >= _ROWS_PER_PROGRESS:
            progress(f"reading {table.name}: {rows:,} rows")
            reported = rows


def _log_notes(logs: Sequence[LogTable], passes: PassBook, watch: Watch, replicates: Sequence[str]) -> Iterator[Note]:
    for log in logs:
        yield from (Note(kind="log", subject=(log.path,), text=text) for text in log.log.notes)
    order = passes.order_note()
    if order is not None:
        yield Note(kind="order", text=order)
    yield from check_caches(watch, replicates)
    yield from _same_bytes(logs)
    yield from watch.notes()
    yield from run_notes(passes)


def _wide_notes(tables: Sequence[Table], choices: Choices) -> Iterator[Note]:
    for table in tables:
        if isinstance(table, WideTable) and choices.format is None:
            yield Note(
                kind="files",
                subject=(table.name,),
                text=f"{table.name} was read as a wide table: each of its {len(table.scored):,} other columns is one "
                f"{table.across}.",
            )
