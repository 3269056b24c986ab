"""Score tables and logs in, complete panels out; and lists of items with their blocks.

polars takes a while to import; the modules that use it are imported when the first table is read.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from bbedge.errors import DomainError, FormatError
from bbedge.readers.choices import Choices
from bbedge.readers.incomplete import IncompletePolicy
from bbedge.readers.limits import Limits, limited
from bbedge.text import listed, quoted, shown_path

if TYPE_CHECKING:
    from bbedge.core.scores import Scores
    from bbedge.readers.assemble.joining import Rows
    from bbedge.readers.assemble.pivot import Panels


class DataFrameLike(Protocol):
    """A polars, pandas or Arrow table."""

    @property
    def columns(self) -> Any:  # noqa: ANN401 - each library has its own type for it
        """The columns or their names."""


def read_scores(
    *sources: str | os.PathLike[str] | DataFrameLike,
    blocks: str | None = None,
    score_range: tuple[float, float] = (0.0, 1.0),
    columns: Mapping[str, str] | None = None,
    incomplete: str | IncompletePolicy = "refuse",
    choices: Choices | None = None,
    least_models: int = 2,
    identify: bool = False,
    progress: Callable[[str], None] | None = None,
    limits: Limits | None = None,
) -> Scores:
    """Read scores: tables with a row per score, wide tables, logs of evaluation tools, or folders of these.

    Sources are paths (.csv and .tsv, .jsonl, all of these also with .gz, .parquet, logs), folders, patterns with ``*``,
    or data frames; their rows are put together. ``blocks`` is ``None`` (the block column if there is one, otherwise
    every item for itself), ``"item"``, ``"one"``, or the name of a column or of a field of the log such as
    ``metadata.dialogue_id``. ``columns`` names the column of a role where the usual names do not fit; ``choices`` says
    what a log cannot. Scores are mapped from ``score_range`` to [0, 1]. Fewer than ``least_models`` models are refused.
    ``identify`` adds the hashes of the files, by which a board remembers where its scores came from.
    ``-`` reads a table from standard input. ``limits`` raises the limits of what small files may turn into.

    ``incomplete`` says what to do about missing scores: ``"worst-case"`` counts each against whichever model it could
    help, ``"stopped"`` stops a model after its last replicate, ``"zero"`` declares that a missing score is a failure,
    ``"drop-models"``, ``"drop-items"`` and ``"drop-replicates"`` drop; :class:`IncompletePolicy` explains how they are
    combined.

    **Needs:** every model x item x replicate at most once. A missing score is an error unless ``incomplete`` says what
    it counts as, or what to drop, which must be decided without looking at the scores.
    """
    from bbedge.readers.assemble.joining import join_rows
    from bbedge.readers.assemble.pivot import Case, blocks_of_items, build_panels

    score_range = checked_range(score_range)
    policy = IncompletePolicy.of(incomplete)
    if not sources:
        raise DomainError("no table to read; pass one or more files or data frames")
    with limited(limits):
        rows = join_rows(
            sources,
            blocks=blocks,
            score_range=score_range,
            columns=columns,
            choices=choices or Choices(),
            progress=progress,
        )
        if progress is not None:
            progress("arranging the scores")
        panels = build_panels(
            rows.coder,
            replicates=rows.replicates,
            case=Case(policy=policy, hint=rows.gaps, ordered=not rows.are_seeds),
            least_models=least_models,
        )
        items = panels.names[2]
        of_items = blocks_of_items(rows.coder, items) if rows.blocked else items
    return _named_scores(
        rows, panels, ("one",) * len(items) if blocks == "one" else of_items, score_range, identify=identify
    )


def _named_scores(
    rows: Rows, panels: Panels, blocks: tuple[str, ...], score_range: tuple[float, float], *, identify: bool
) -> Scores:
    from bbedge.core.copies import find_copies, fingerprints
    from bbedge.core.scores import Scores, SeenCopies
    from bbedge.readers.assemble.pivot import padded_names, repeated_replicates, similar_models
    from bbedge.readers.assemble.spool import one_by_one
    from bbedge.readers.sources import fingerprint

    labels, models, items = panels.names
    prints = [fingerprints(models, panel) for panel in one_by_one(panels.values)] if len(labels) > 1 else []
    copies = find_copies(prints, lambda place, model: panels.values[place, models.index(model)])
    return Scores(
        models=models,
        items=items,
        blocks=blocks,
        replicates=labels,
        values=panels.values,
        numbered=rows.numbered,
        blocked=rows.blocked,
        score_range=score_range,
        notes=(
            *panels.notes,
            *rows.notes,
            *similar_models(models),
            *padded_names(models, items),
            *repeated_replicates(copies, prints, labels, n_items=len(items)),
        ),
        runs=tuple(rows.runs.get(label, ()) for label in labels) if rows.runs else (),
        files=tuple(sorted({fingerprint(source.path) for source in rows.sources.files})) if identify else (),
        seen=SeenCopies(values=panels.values, models=models, copies=copies),
        gaps=panels.gaps,
        stops=panels.stops,
    )


def checked_range(score_range: tuple[float, float]) -> tuple[float, float]:
    """The range as numbers, or an error if it is none."""
    low, high = (float(end) for end in score_range)
    if not (low < high and math.isfinite(high - low)):
        raise DomainError(f"score range {low:g} to {high:g}; expected two finite numbers, the lower one first")
    return low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """Items and their blocks."""

    items: tuple[str, ...]
    """Names of the items, in the order of the file."""
    blocks: tuple[str, ...]
    """Label of the block of each item; the item itself if the file has no blocks."""


def read_items(path: str | os.PathLike[str]) -> Items:
    """Read a list of items; a name that comes twice or is empty is refused with its line."""
    from bbedge.readers.opening import check_regular

    name = shown_path(path)
    check_regular(os.fspath(path), expected="item and, optionally, block")
    items: dict[str, str] = {}
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:  # noqa: PTH123 - any path-like
            rows = csv.DictReader(file, strict=True)
            names = [(column or "").strip().lower() for column in rows.fieldnames or []]
            twice = next((column for column in ("item", "block") if names.count(column) > 1), None)
            if twice is not None:
                raise FormatError(f"{name}: two columns are named {twice}; keep one")
            columns = {column.strip().lower(): column for column in rows.fieldnames or [] if column}
            if "item" not in columns:
                found = listed(rows.fieldnames or []) or "nothing"
                raise FormatError(f"{name}: no column named item; found {found}. Expected item and, optionally, block")
            for row in rows:
                place = f"{name}:{rows.line_num}"
                if None in row:
                    raise FormatError(f"{place}: more fields than columns; put a name with a comma in quotes")
                item = row[columns["item"]]
                if not item:
                    raise FormatError(f"{place}: the item has no name; every row needs one")
                if item in items:
                    raise FormatError(f"{place}: item {quoted(item)} comes twice; remove one of the rows")
                block = row[columns["block"]] if "block" in columns else item
                if not block:
                    raise FormatError(f"{place}: item {quoted(item)} has no block; fill it in or remove the column")
                items[item] = block
    except OSError as error:
        raise FormatError(f"{name}: cannot be read ({error.strerror})") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{name}: not a CSV file in UTF-8 ({error})") from error
    if not items:
        raise FormatError(f"{name}: the file lists no items; give one row per item")
    return Items(items=tuple(items), blocks=tuple(items.values()))
