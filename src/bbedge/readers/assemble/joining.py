"""From sources to coded rows: every kind of file read by one path, replicates numbered, suspicions collected."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from bbedge.errors import Argument, Blank, DomainError, FormatError
from bbedge.readers.assemble.coding import Coder
from bbedge.readers.assemble.grid import ordered_replicates
from bbedge.readers.assemble.pairing import path_notes, with_runs
from bbedge.readers.assemble.shaping import (
    Described,
    Shaping,
    check_alike,
    check_directions,
    check_headline,
    check_one_metric,
    check_runs,
    describe,
    wide_notes,
)
from bbedge.readers.choices import Candidate, OpenChoiceError, field_naming_models, replicates_are_seeds
from bbedge.readers.logs.naming import check_same_questions, merge_models, merged_notes, refuse_shared_names
from bbedge.readers.logs.runs import Watch, check_caches, check_copies, run_notes, shared_seed_note
from bbedge.readers.logs.table import LogTable
from bbedge.readers.metrics import MetricScales, mirrored_note
from bbedge.readers.sources import Sources, find_sources, fingerprint
from bbedge.readers.tables import HEAD
from bbedge.readers.tables.columns import LATER_ALIASES, Role, is_seed
from bbedge.readers.tables.frames import Frame
from bbedge.readers.tables.roles import METRIC, ORIGINAL, ColumnError, chosen_columns
from bbedge.readers.tables.shaped import ShapedTable
from bbedge.records.notes import Note
from bbedge.records.reading import UNIT, Reading
from bbedge.records.values import grouped
from bbedge.text import quoted, shown, shown_path

if TYPE_CHECKING:
    from bbedge.readers.read_scores import DataFrameLike

_ROWS_PER_PROGRESS = 5_000_000
# Columns of what was asked, and how many rows of a table are looked at for it.
_QUESTIONS, _ROWS = frozenset({"question", "problem"}), 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedRows:
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
    missing_hint: str
    """What the logs say about scores that are missing."""
    sources: Sources
    """The files."""
    described: Described = field(default_factory=Described)
    """What is asked for about the items."""
    scale: tuple[float, float] | None = None
    """The scale that the scores had before they were mapped, if they were."""


def join_rows(
    given: Sequence[str | os.PathLike[str] | DataFrameLike],
    reading: Reading,
    *,
    mapped: bool = True,
    progress: Callable[[str], None] | None = None,
) -> CodedRows:
    """Read everything. Scores that are not ``mapped`` to [0, 1] are not checked against the score range either."""
    for name in () if mapped else ("metric_range", "less_is_better"):
        if getattr(reading, name):
            raise DomainError(Argument(name), " has no effect here: scores are kept as they are; leave it out")
    if not mapped:
        reading = structs.replace(reading, less_is_better=False)  # which nobody has to decide for this
    watch, wanted = Watch(), describe(reading)
    book = watch.book
    scales = None
    if mapped and (METRIC in wanted.names or reading.metric_range):
        asks = reading.less_is_better is None
        scales = MetricScales(ranges=reading.metric_ranges, usual=reading.score_range, asks=asks)
    if scales is not None and reading.less_is_better:
        raise DomainError(
            Argument("less_is_better", True),
            " is about the only score that is read; where metrics have ranges, declare the direction of each with ",
            Argument("metric_range", {Blank("NAME"): (Blank("WORST"), Blank("BEST"))}),
        )
    shaping = Shaping(chosen=chosen_columns(reading), reading=reading, described=wanted, scales=scales)
    paths = [os.fspath(each) for each in given if isinstance(each, str | os.PathLike)]
    sources = find_sources(paths, reading, progress=progress)
    tables = _opened(given, sources, shaping, watch)
    logs = [table for table in tables if isinstance(table, LogTable)]
    shaping.check(tables, logs)
    if not any(isinstance(table, LogTable) or table.by_metric for table in tables):
        scales = None
    found = [wanted.in_table(table) for table in tables]
    wanted.check_found(tables, found)
    try:
        roles = [shaping.roles(table, its) for table, its in zip(tables, found, strict=True)]
    except ColumnError as error:
        raise with_runs(error, [source.path for source in sources.files]) from None
    for role in ("replicate", "block", ORIGINAL):
        check_alike(tables, roles, role)
    check_directions(tables, roles, reading)
    _check_questions(tables, roles)
    _check_verdicts(tables, roles, shaping.chosen)

    # The scales of metrics map the scores before they are coded.
    scale = reading.score_range if mapped else None
    coder = Coder(scale=scale if scales is None else UNIT, less_is_better=bool(reading.less_is_better))
    report = progress or (lambda _: None)
    for table, its_roles in zip(tables, roles, strict=True):
        report(f"reading {table.name}")
        reported = 0
        for count in coder.read(table, its_roles):
            if count - reported >= _ROWS_PER_PROGRESS:
                report(f"reading {table.name}: {count:,} rows")
                reported = count
    merged = merge_models(coder, reading)
    if logs:
        book.rename(merged)
        check_copies(book)
        refuse_shared_names(book, reading)
    if watch.changed:
        reworded = field_naming_models(reading) is not None
        check_same_questions((each for log in logs for each in log.asked()), watch.changed, reworded=reworded)
    if scales is not None:
        scales.check_used()
    check_headline(coder, reading.metric)
    check_one_metric(coder)
    if logs:
        # Codes stand for the replicates of logs until all runs are known.
        labels, before = book.labels(), coder.names("replicate")
        numbered = [labels.get(name, name) for name in before]
        coder.rename("replicate", lambda table: numbered if isinstance(table, LogTable) else before)
    replicates, are_seeds = ["1"], False
    if "replicate" in coder.vocabularies:
        are_seeds = replicates_are_seeds(reading) or (
            not logs and all(is_seed(its_roles["replicate"]) for its_roles in roles)
        )
        names = ", ".join(table.name for table in tables)
        check_runs(coder.names("replicate"), roles, reading)
        replicates = ordered_replicates(coder.names("replicate"), are_seeds=are_seeds, tables=names)
    return CodedRows(
        coder=coder,
        replicates=tuple(replicates),
        # Runs of logs that were merely counted are not the replicates of these numbers anywhere else.
        numbered="replicate" in coder.vocabularies
        and not are_seeds
        and (len(logs) < len(tables) or reading.replicate_from is not None),
        are_seeds=are_seeds,
        blocked="block" in coder.vocabularies,
        notes=(
            *(_log_notes(logs, watch, replicates) if logs else ()),
            *([shared_seed_note(replicates)] if are_seeds and not logs else ()),
            *(scales.notes() if scales is not None else ()),
            *([mirrored_note(*reading.score_range)] if reading.less_is_better else ()),
            *wide_notes(tables, reading),
            *merged_notes(merged),
            *(path_notes(coder) if len(replicates) == 1 else ()),
            *sources.notes(),
        ),
        runs=book.identities() if logs else {},
        missing_hint=watch.gaps() if logs else "",
        sources=sources,
        described=wanted,
        scale=scale if scales is None else scales.score_range,
    )


def _opened(
    given: Sequence[str | os.PathLike[str] | DataFrameLike],
    sources: Sources,
    shaping: Shaping,
    watch: Watch,
) -> list[LogTable | ShapedTable]:
    frames = [
        (position, each) for position, each in enumerate(given, start=1) if not isinstance(each, str | os.PathLike)
    ]
    tables: list[LogTable | ShapedTable] = [
        shaping.opened(source)
        if source.reader is None
        else LogTable(
            source.path,
            source.reader,
            reading=shaping.reading,
            watch=watch,
            described=shaping.described.names,
            scales=shaping.scales,
        )
        for source in sources.files
    ]
    for position, each in frames:
        # A lazy frame warns when it is asked for its columns.
        if not (hasattr(each, "collect_schema") or hasattr(each, "columns")):
            raise FormatError(
                f"source {position}: a {quoted(type(each).__name__)} is not a table; pass a path, or a polars, "
                "pandas or Arrow table"
            )
        name = f"frame {position}" if len(frames) > 1 else "frame"
        for choice in ("model_from", "replicate_from"):
            if getattr(shaping.reading, choice) is not None and not sources.files:
                raise DomainError(Argument(choice), f" is for files, and {name} is none; add a column")
        tables.append(shaping.shaped(Frame(table=each, called=name), {}))
    return tables


def _check_questions(tables: Sequence[LogTable | ShapedTable], roles: Sequence[Mapping[Role, str]]) -> None:
    """Raise if one number of an item stands before two questions, as far as the first rows of the tables show."""
    asked: dict[str, object] = {}
    for table, its_roles in zip(tables, roles, strict=True):
        item = its_roles["item"]
        if isinstance(table, LogTable) or table.wide or item.strip().casefold() not in LATER_ALIASES["item"]:
            continue
        for row in table.plain.head(_ROWS) if (texts := _QUESTIONS & set(table.columns())) else ():
            name, question = str(row.get(item)), row.get(min(texts))
            if question and asked.setdefault(name, question) != question:
                raise FormatError(
                    f"{table.name}: item {quoted(name)} is a number of more than one question, "
                    f"{quoted(shown(str(asked[name]), 60))} and {quoted(shown(str(question), 60))}; pass ",
                    Argument("column", {"item": min(texts)}),
                    ", or give every question a number of its own",
                )


def _check_verdicts(
    tables: Sequence[LogTable | ShapedTable], roles: Sequence[Mapping[Role, str]], chosen: Mapping[Role, str]
) -> None:
    """Raise if a column ``correct`` may have the right answers: the same for all models, in words that answers have.

    As far as the first rows of the tables show, and unless it was named for the score.
    """
    of_item: dict[str, set[str]] = {}
    words: dict[str, set[str]] = {}
    named, rows = [], 0
    for table, its_roles in zip(tables, roles, strict=True):
        score = its_roles["score"]
        if isinstance(table, LogTable) or table.wide or "score" in chosen or score.strip().casefold() != "correct":
            continue
        named.append((table.name, score))
        for row in table.plain.head(max(HEAD, _ROWS // len(tables))):
            rows += 1
            of_item.setdefault(str(row.get(its_roles["item"])), set()).add(str(row.get(score)).casefold())
            for name in row.keys() - its_roles.values():
                words.setdefault(name, set()).add(str(row[name]).casefold())
    verdicts = set().union(*of_item.values())
    same = [name for name, found in words.items() if found >= verdicts]
    if same and len(verdicts) > 1 and rows > len(of_item) and all(len(found) == 1 for found in of_item.values()):
        (place, score), answers = named[0], quoted(min(same))
        is_score = Argument("column", {"score": score})
        raise OpenChoiceError.asking(
            f"What is {quoted(score)}?",
            (Candidate(argument=is_score, reasons=(f"if it says whether {answers} is right",)),),
            f"{place}: {quoted(score)} is the same for every model on each item, and has the words of {answers}, so "
            f"that it may be the right answer; if so, add a column that says whether {answers} is right; if it says "
            "that already, pass ",
            is_score,
        )


def _same_bytes(logs: Sequence[LogTable]) -> Iterator[Note]:
    """Files with the same content, where nothing else in the logs distinguishes runs."""
    unnamed = (log.path for log in logs if not any(run.identity for run in log.log.runs))
    for same in grouped((Path(path).stat().st_size, path) for path in unnamed).values():
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


def _log_notes(logs: Sequence[LogTable], watch: Watch, replicates: Sequence[str]) -> Iterator[Note]:
    for log in logs:
        yield from (Note(kind="log", subject=(log.path,), text=text) for text in log.log.notes)
    yield from watch.book.order_notes()
    yield from check_caches(watch, replicates)
    yield from _same_bytes(logs)
    yield from watch.notes()
    yield from run_notes(watch.book)
