"""The canonical table: Parquet, one row per score, with where it came from in the metadata."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bbedge._version import __version__
from bbedge.core.notes import Note
from bbedge.errors import DataError
from bbedge.formats.choices import Choices
from bbedge.formats.duplicates import check_unique
from bbedge.formats.grid import Grid, Order
from bbedge.formats.joining import Rows, join_rows
from bbedge.formats.ordering import natural_key
from bbedge.formats.sources import fingerprint
from bbedge.naming import shown_path

if TYPE_CHECKING:
    from bbedge.formats.columns import Role

METADATA_KEY = "bbedge"
"""The key of the Parquet metadata under which the origin stands, as a JSON object."""


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
    *,
    blocks: str | None = None,
    columns: Mapping[str, str] | None = None,
    choices: Choices | None = None,
    progress: Callable[[str], None] | None = None,
) -> Converted:
    """Write the scores of all sources to one Parquet table, as they are: not mapped, and not completed.

    A row whose score is missing is written without one. The sources, their SHA-256 and the choices made stand in the
    metadata.
    """
    chosen = choices or Choices()
    rows = join_rows(sources, blocks=blocks, score_range=None, columns=columns, choices=chosen, progress=progress)
    check_unique(rows.coder, Grid.of(rows.coder, rows.replicates))
    table = _table(rows)
    origin = {
        "bbedge": __version__,
        "sources": [
            {"path": source.path, "sha256": fingerprint(source.path), "kind": source.kind}
            for source in rows.sources.files
        ],
        "choices": {name: value for name, value in asdict(chosen).items() if value},
        "blocks": blocks,
        "notes": [note.text for note in rows.notes],
    }
    _write(table, Path(out), {METADATA_KEY: json.dumps(origin, ensure_ascii=True)})
    return Converted(
        rows=table.height,
        missing=table["score"].null_count(),
        models=len(rows.coder.names("model")),
        items=len(rows.coder.names("item")),
        replicates=len(rows.replicates),
        notes=rows.notes,
    )


def _table(rows: Rows) -> pl.DataFrame:
    """The rows in the order of replicates, models and items, so that the same scores give the same table."""
    coder = rows.coder
    height = sum(chunk.height for chunk in coder.chunks)
    columns: dict[str, pl.Series] = {}
    positions = {}
    roles: tuple[Role, ...] = ("model", "item", "block", "replicate")
    for role in roles:
        if role in coder.vocabularies:
            codes = np.concatenate([chunk.codes(role) for chunk in coder.chunks])
            names = coder.names(role)
        elif role == "replicate":
            codes, names = np.zeros(height, dtype=np.uint8), list(rows.replicates)
        else:
            continue
        columns[role] = pl.Series(role, names, dtype=pl.String).gather(codes)
        order = Order.of(names, rows.replicates) if role == "replicate" else Order.of(names, key=natural_key)
        positions[role] = order.positions[codes]
    scores = np.concatenate([chunk.scores() for chunk in coder.chunks])
    columns["score"] = pl.Series("score", scores).fill_nan(None)
    order_of_rows = np.lexsort((positions["item"], positions["model"], positions["replicate"]))
    return pl.DataFrame(columns)[order_of_rows]


def _write(table: pl.DataFrame, out: Path, metadata: dict[str, str]) -> None:
    beside = out.with_name(out.name + ".part")
    try:
        table.write_parquet(beside, metadata=metadata)
        beside.replace(out)
    except OSError as error:
        raise DataError(f"{shown_path(out)}: cannot be written ({error.strerror}); choose another place") from error
