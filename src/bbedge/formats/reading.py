"""Score tables in, complete panels out.

polars takes a while to import; the modules that use it are imported when the first table is read.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from bbedge.errors import DomainError, FormatError
from bbedge.formats.columns import Role, chosen_columns, find_roles, is_seed
from bbedge.naming import quoted, shown_path

if TYPE_CHECKING:
    from bbedge.core.scores import Scores
    from bbedge.formats.coding import Coder, Table

Incomplete = Literal["refuse", "drop-models", "drop-items", "drop-replicates"]
"""What to do about missing cells: refuse the table, or drop every model, item or replicate that has one."""

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_JSON_LINES = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")
_ROWS_PER_PROGRESS = 5_000_000


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
    incomplete: Incomplete = "refuse",
    least_models: int = 2,
    progress: Callable[[str], None] | None = None,
) -> Scores:
    """Read long tables with one row per score: model, item, score, and where there are any replicate and block.

    Sources are paths (.csv and .tsv, .jsonl, all of these also with .gz, .parquet) or data frames; their rows are put
    together. ``blocks`` is ``None`` (the block column if there is one, otherwise every item for itself), ``"item"``,
    ``"one"`` or the name of a column. ``columns`` names the column of a role where the usual names do not fit.
    Scores are mapped from ``score_range`` to [0, 1]. Fewer than ``least_models`` models are refused.

    **Needs:** every model x item x replicate exactly once. A missing score is an error unless ``incomplete`` says what
    to drop, which must be decided without looking at the scores.
    """
    from bbedge.core.scores import Scores
    from bbedge.formats.coding import Coder
    from bbedge.formats.notes import identical_replicates, padded_names, similar_models
    from bbedge.formats.pivot import blocks_of_items, build_panels
    from bbedge.formats.replicates import ordered_replicates

    low, high = _checked_range(score_range)
    if incomplete not in get_args(Incomplete):
        raise DomainError(f"incomplete is {incomplete!r}; choose one of {', '.join(get_args(Incomplete))}")
    if not sources:
        raise DomainError("no table to read; pass one or more files or data frames")
    chosen = chosen_columns(columns, blocks)
    tables = _opened(sources)
    roles = [find_roles(table.columns(), table=table.name, chosen=chosen, blocks=blocks) for table in tables]
    for role in ("replicate", "block"):
        _check_alike(tables, roles, role)

    coder = Coder(score_range=(low, high))
    for table, its_roles in zip(tables, roles, strict=True):
        _read(coder, table, its_roles, progress)
    if progress is not None:
        progress("arranging the scores")
    names = ", ".join(table.name for table in tables)
    replicates = ["1"]
    are_seeds = False
    if "replicate" in coder.vocabularies:
        are_seeds = all(is_seed(its_roles["replicate"]) for its_roles in roles)
        replicates = ordered_replicates(coder.names("replicate"), are_seeds=are_seeds, tables=names)
    panels = build_panels(coder, replicates=replicates, incomplete=incomplete, least_models=least_models)
    labels, models, items = panels.names
    of_items = blocks_of_items(coder, items) if "block" in coder.vocabularies else items
    return Scores(
        models=models,
        items=items,
        blocks=("one",) * len(items) if blocks == "one" else of_items,
        replicates=labels,
        values=panels.values,
        numbered="replicate" in coder.vocabularies and not are_seeds,
        score_range=(low, high),
        notes=(
            *panels.notes,
            *similar_models(models),
            *padded_names(models, items),
            *identical_replicates(panels.values, models, labels),
        ),
    )


def _checked_range(score_range: tuple[float, float]) -> tuple[float, float]:
    low, high = (float(end) for end in score_range)
    if not (low < high and math.isfinite(high - low)):
        raise DomainError(f"score range {low:g} to {high:g}; expected two finite numbers, the lower one first")
    return low, high


def _opened(sources: Sequence[str | os.PathLike[str] | DataFrameLike]) -> list[Table]:
    from bbedge.formats.frames import Frame

    several = sum(not isinstance(source, str | os.PathLike) for source in sources) > 1
    tables: list[Table] = []
    for position, source in enumerate(sources, start=1):
        if isinstance(source, str | os.PathLike):
            tables.append(_opened_file(os.fspath(source)))
        # A lazy frame warns when it is asked for its columns.
        elif hasattr(source, "collect_schema") or hasattr(source, "columns"):
            tables.append(Frame(table=source, name=f"frame {position}" if several else "frame"))
        else:
            raise FormatError(
                f"source {position}: a {quoted(type(source).__name__)} is not a table; pass a path, or a polars, "
                "pandas or Arrow table"
            )
    return tables


def _opened_file(path: str) -> Table:
    from bbedge.formats.delimited import DelimitedFile
    from bbedge.formats.frames import ParquetFile
    from bbedge.formats.jsonlines import JsonLinesFile
    from bbedge.formats.opening import check_regular

    check_regular(path)
    ending = path.lower()
    if ending.endswith(_PARQUET):
        return ParquetFile(path=path)
    ending = ending.removesuffix(".gz")
    if ending.endswith(_JSON_LINES):
        return JsonLinesFile(path=path)
    for suffix, separator in _SEPARATORS.items():
        if ending.endswith(suffix):
            return DelimitedFile(path=path, separator=separator)
    known = ", ".join((*_SEPARATORS, *_JSON_LINES, *_PARQUET))
    raise FormatError(
        f"{shown_path(path)}: the kind of file cannot be told from its name; expected {known} (text also with .gz): "
        "rename the file or convert it"
    )


def _check_alike(tables: Sequence[Table], roles: Sequence[Mapping[Role, str]], role: Role) -> None:
    """Raise if some tables have the role and others do not: what the others mean would be a guess."""
    having = [table.name for table, its_roles in zip(tables, roles, strict=True) if role in its_roles]
    lacking = [table.name for table, its_roles in zip(tables, roles, strict=True) if role not in its_roles]
    if having and lacking:
        remedy = ", or pass --blocks item or --blocks one" if role == "block" else ""
        raise FormatError(
            f"{lacking[0]}: no {role} column, but {having[0]} has one; add the column or name it with "
            f"--column {role}=NAME{remedy}"
        )


def _read(
    coder: Coder,
    table: Table,
    roles: Mapping[Role, str],
    progress: Callable[[str], None] | None,
) -> None:
    if progress is not None:
        progress(f"reading {table.name}")
    told = 0
    for rows in coder.read(table, roles):
        if progress is not None and rows - told >= _ROWS_PER_PROGRESS:
            progress(f"reading {table.name}: {rows:,} rows")
            told = rows
