"""The canonical table, one row per score, and where in logs each sample is.

The table is Parquet with where it came from in the metadata, CSV or JSON lines.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from bbedge._version import __version__
from bbedge.errors import Argument, DomainError
from bbedge.files import replacing
from bbedge.readers.assemble.duplicates import check_unique
from bbedge.readers.assemble.grid import Grid, natural_key
from bbedge.readers.assemble.joining import CodedRows, join_rows
from bbedge.readers.assemble.shaping import original_items
from bbedge.readers.limits import limited
from bbedge.readers.logs.runs import Watch
from bbedge.readers.logs.table import LogTable
from bbedge.readers.read_scores import harmless_names
from bbedge.readers.sources import find_sources, fingerprint
from bbedge.records.notes import Note
from bbedge.records.reading import Reading
from bbedge.text import shown_path

KINDS: Mapping[str, Literal["parquet", "csv", "jsonl"]] = {".parquet": "parquet", ".csv": "csv", ".jsonl": "jsonl"}
"""What is written, by the ending of the name of the file."""
METADATA_KEY = "bbedge"
"""The key of the Parquet metadata under which the origin stands, as a JSON object."""
# Rows that are made into text at a time, and what a cell takes that is laid out: its score, its block, and a mark.
_ROWS = 1 << 18
_CELL_BYTES = 13
_OWN = ("model", "item", "replicate", "score")
_USUAL = Reading()
_Part = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.uint32] | None]
"""Cells in order, with their scores and the codes of their blocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """What was written."""

    rows: int
    """Rows of the table."""
    missing: int
    """Rows without a score."""
    models: int
    """Models."""
    items: int
    """Items."""
    replicates: int
    """Replicates."""
    notes: tuple[Note, ...]
    """What the reader noticed."""


def convert(
    sources: Sequence[str],
    out: str | os.PathLike[str],
    reading: Reading = _USUAL,
    *,
    progress: Callable[[str], None] | None = None,
) -> Converted:
    """Write the scores of all sources to one table, as they are: not mapped, and not completed.

    The ending of ``out`` says what is written: ``.parquet``, ``.csv`` or ``.jsonl``.

    A row whose score is missing is written without one, and what has no row in the sources has none in the table, so
    that the same scores are missing when it is read back; only the kinds of errors are lost. The sources, their
    SHA-256 and the choices made stand in the metadata of a Parquet file. Item columns are written, and with ``metric``
    a row for each metric, under the name that the files have for the item.
    """
    table_kind(out)
    with limited(reading.max_size):
        rows = join_rows(sources, reading, mapped=False, progress=progress)
        # Models in natural order, as people number them.
        grid = Grid.from_coder(rows.coder, rows.replicates, model_key=natural_key)
        check_unique(rows.coder, grid)
        rows.described.check_listed(rows.coder, grid.names[2])
        described = _described(rows, grid.names[2], reading.blocks)
    chosen = {**reading.changed(), **reading.stated.changed()}  # without the folder of the list of items
    origin: dict[str, object] = {
        "bbedge": __version__,
        "sources": [
            {"path": source.name, "sha256": fingerprint(source.path), "kind": source.kind}
            for source in rows.sources.files
        ],
        "choices": {name: value for name, value in chosen.items() if name not in ("blocks", "item_column")},
        "blocks": reading.blocks,
        "notes": [note.text for note in rows.notes],
    }
    if reading.item_column:
        origin["item_columns"] = reading.item_column
    _write(rows, grid, described, Path(out), {METADATA_KEY: json.dumps(origin, ensure_ascii=True)})
    return Converted(
        rows=sum(chunk.height for chunk in rows.coder.chunks),
        missing=sum(int(np.count_nonzero(np.isnan(chunk.scores()))) for chunk in rows.coder.chunks),
        models=len(grid.names[1]),
        items=len(grid.names[2]),
        replicates=len(rows.replicates),
        notes=rows.notes,
    )


def _described(rows: CodedRows, items: Sequence[str], blocks: str | None) -> dict[str, tuple[str, ...]]:
    """The item columns to write; with the blocks of the list of items, which readers of the table must know."""
    columns = rows.described.columns(rows.coder, items)
    taken = next((name for name in columns if name in _OWN), None)
    if taken is not None:
        raise DomainError(
            Argument("item_column", (taken,)), f": the table has a column {taken} of its own; leave it out"
        )
    listed = rows.described.blocks(rows.coder, items) if blocks is None and not rows.blocked else None
    return columns if listed is None else {"block": listed, **columns}


def _batches(rows: CodedRows, grid: Grid, described: Mapping[str, Sequence[str]]) -> Iterator[pl.DataFrame]:
    """The rows in the order of replicates, models and items, so that the same scores give the same table."""
    of_items = original_items(rows.coder, grid.names[2])
    names = [pl.Series(of, dtype=pl.String) for of in (*grid.names[:2], of_items)]
    others = {name: pl.Series(values, dtype=pl.String) for name, values in described.items()}
    labels = pl.Series(rows.coder.names("block") if rows.blocked else [], dtype=pl.String)
    for cells, scores, blocks in _dense(rows, grid) if grid.is_dense(rows.coder) else _sparse(rows, grid):
        places = np.unravel_index(cells, grid.shape)
        replicates, models, items = (of.gather(at) for of, at in zip(names, places, strict=True))
        yield pl.DataFrame(
            {
                "model": models,
                "item": items,
                **({} if blocks is None else {"block": labels.gather(blocks)}),
                **{name: of.gather(places[2]) for name, of in others.items()},
                "replicate": replicates,
                "score": pl.Series(scores).fill_nan(None),
            }
        )


def _dense(rows: CodedRows, grid: Grid) -> Iterator[_Part]:
    """The cells that have a row, laid out some replicates at a time."""
    panel = prod(grid.shape[1:])
    for group in grid.groups(cell_bytes=_CELL_BYTES):
        filled = np.zeros(len(group) * panel, dtype=np.bool_)
        scores = np.empty(len(filled))
        blocks = np.empty(len(filled), dtype=np.uint32) if rows.blocked else None
        for chunk, inside, cells in grid.placed(rows.coder, group):
            filled[cells] = True
            scores[cells] = chunk.scores()[inside]
            if blocks is not None:
                blocks[cells] = chunk.codes("block")[inside]
        for first in range(0, len(filled), _ROWS):
            cells = np.flatnonzero(filled[first : first + _ROWS]) + first
            if len(cells):
                yield cells + group.start * panel, scores[cells], None if blocks is None else blocks[cells]


def _sparse(rows: CodedRows, grid: Grid) -> Iterator[_Part]:
    """The same where there are far more cells than rows."""
    chunks = rows.coder.chunks
    cells = grid.all_cells(rows.coder)
    scores = np.concatenate([chunk.scores() for chunk in chunks])
    blocks = np.concatenate([chunk.codes("block").astype(np.uint32) for chunk in chunks]) if rows.blocked else None
    order = np.argsort(cells)
    for first in range(0, len(order), _ROWS):
        part = order[first : first + _ROWS]
        yield cells[part], scores[part], None if blocks is None else blocks[part]


def _write(
    rows: CodedRows, grid: Grid, described: Mapping[str, Sequence[str]], out: Path, metadata: dict[str, str]
) -> None:
    named = ("model", "item", *(("block",) if rows.blocked else ()), *described, "replicate")
    schema = {**dict.fromkeys(named, pl.String()), "score": pl.Float64()}
    batches = (batch.select(list(schema)) for batch in _batches(rows, grid, described))
    kind = table_kind(out)
    with replacing(out) as file:
        if kind == "csv":
            for number, batch in enumerate(batches):
                # Every name in quotes: one with a line end, or one that looks like a number, stays what it is.
                batch.write_csv(file, include_header=number == 0, quote_style="non_numeric")
        elif kind == "jsonl":
            for batch in batches:
                batch.write_ndjson(file)
        else:
            # As a source of its own, so that polars writes one batch after the other and never holds the table.
            register_io_source(lambda *_: batches, schema=schema).sink_parquet(file, metadata=metadata)


def table_kind(out: str | os.PathLike[str]) -> Literal["parquet", "csv", "jsonl"]:
    """What to write, by the ending of the name.

    >>> table_kind("scores.csv"), table_kind("scores.parquet")
    ('csv', 'parquet')
    """
    kind = KINDS.get(Path(out).suffix.lower())
    if kind is None:
        raise DomainError(f"{shown_path(out)}: use a file name that ends with {', '.join(KINDS)}")
    return kind


LONGEST_QUESTION, LONGEST_ANSWER = 2_000, 1_000
"""Of longer texts, so many characters are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstSamples:
    """What logs say of the first sample of each model on each item; tables say nothing."""

    addresses: dict[tuple[str, str], str] = field(default_factory=dict)
    """Its file and its place there, by model and item."""
    questions: dict[str, str] = field(default_factory=dict)
    """The text of each item, where the logs have it."""
    answers: dict[tuple[str, str], str] = field(default_factory=dict)
    """The text of each answer, likewise."""


def first_samples(
    sources: Sequence[str | os.PathLike[str]],
    reading: Reading = _USUAL,
    *,
    items: Collection[str],
    models: Collection[str],
) -> FirstSamples:
    """Where the first sample of each model on each item is, and what was asked and answered.

    Reads the logs once more, as the scores were read. Paths are shortened as in certificates, so that a page does not
    reveal the folders of a machine.
    """
    found = FirstSamples()
    wanted_items, wanted_models = set(items), set(models)
    with limited(reading.max_size):
        # Standard input cannot be read again; it holds a table.
        paths = [os.fspath(path) for path in sources if os.fspath(path) != "-"]
        files = find_sources(paths, reading).files if paths else ()
        logs = [(each.path, each.reader) for each in files if each.reader is not None]
        for (path, reader), name in zip(logs, harmless_names([path for path, _ in logs]), strict=True):
            table = LogTable(path, reader, reading=reading, watch=Watch())
            unit = ", line" if table.log.counts == "line" else ", sample"
            for asked in table.asked():
                sample = asked.sample
                key = asked.model, sample.item
                if key in found.addresses or key[0] not in wanted_models or key[1] not in wanted_items:
                    continue
                found.addresses[key] = f"{name}{unit} {sample.place}"
                if sample.question:
                    found.questions.setdefault(sample.item, _cut(sample.question, LONGEST_QUESTION))
                if sample.answer:
                    found.answers[key] = _cut(sample.answer, LONGEST_ANSWER)
    return found


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
