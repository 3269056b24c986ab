"""Cells with two scores: found, counted, and refused with both places and with the columns that tell them apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate, islice
from pathlib import PurePath

import numpy as np

from bbedge.errors import Argument, Part
from bbedge.readers.assemble.coding import Coder, RowChunk
from bbedge.readers.assemble.grid import Grid
from bbedge.readers.assemble.pairing import model_of_files, path_pattern
from bbedge.readers.choices import Candidate, OpenChoiceError
from bbedge.readers.evidence import PART_OF_ITEM, is_called, plain_name
from bbedge.readers.tables import Table
from bbedge.readers.tables.columns import ROLES, Role
from bbedge.readers.tables.shaped import BETWEEN, ShapedTable
from bbedge.records.values import grouped
from bbedge.text import listed, quoted, shown, shown_path

_NUMBER = "remove one, or give repeated runs different numbers in a column named replicate"
_BY_NAME = ("file", "folder")
_MEANINGS: Mapping[Role, str] = {
    "replicate": "if it counts repeated runs",
    "item": "if it is a part of the item",
    "model": "if its values are compared, as prompts or settings are",
}
# Beyond these it is not worth finding out which file repeats the others.
_MOST_COMPARED, _MOST_FILES = 5_000_000, 200
_MOST_ROWS, _LONGEST = 100_000, 60


class RepeatedScoreError(OpenChoiceError):
    """A model has two scores on one item in one replicate."""


def check_unique(coder: Coder, grid: Grid) -> None:
    """Raise if a model has two scores on one item in one replicate.

    The message names the repetition that comes first in the files, and the row that it repeats.
    """
    count, second, cell = _in_groups(coder, grid) if grid.is_dense(coder) else _sorted(coder, grid)
    if not count:
        return
    same = ((chunk, np.flatnonzero(grid.cells(chunk) == cell)) for chunk in coder.chunks)
    earlier, first = next((chunk, chunk.first_row + int(rows[0])) for chunk, rows in same if len(rows))
    replicate, model, item = np.unravel_index(cell, grid.shape)
    chunk, place = coder.located(second)
    said = (
        f"{place}: a second score for model {quoted(grid.names[1][model])}, item "
        f"{quoted(grid.names[2][item])}, replicate {quoted(grid.names[0][replicate])}, first given at "
        f"{earlier.table.location_of_row(first)} ({count} such rows in all); "
    )
    raise _refusal(coder, grid, (earlier, chunk), said)


def _in_groups(coder: Coder, grid: Grid) -> tuple[int, int, int]:
    """The number of repetitions, the row of the first and its cell; cells are marked some replicates at a time."""
    count, found = 0, (0, 0)
    panel = grid.shape[1] * grid.shape[2]
    ends = accumulate(chunk.height for chunk in coder.chunks)
    first_rows = {id(chunk): end - chunk.height for chunk, end in zip(coder.chunks, ends, strict=True)}
    for group in grid.groups():
        seen = np.zeros(len(group) * panel, dtype=bool)
        for chunk, inside, cells in grid.placed(coder, group):
            _, first = np.unique(cells, return_index=True)
            again = np.ones(len(cells), dtype=bool)
            again[first] = seen[cells[first]]
            if again.any():
                position = int(again.argmax())
                row = first_rows[id(chunk)] + int(np.arange(chunk.height)[inside][position])
                if not count or row < found[0]:
                    found = row, int(cells[position]) + group.start * panel
                count += int(again.sum())
            seen[cells] = True
    return count, *found


def _sorted(coder: Coder, grid: Grid) -> tuple[int, int, int]:
    """The same where there are far more cells than rows."""
    cells = grid.all_cells(coder)
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not len(again):
        return 0, 0, 0
    second = int(order[again + 1].min())
    return len(again), second, int(cells[second])


def _refusal(coder: Coder, grid: Grid, chunks: tuple[RowChunk, RowChunk], said: str) -> RepeatedScoreError:
    """The error, with what may have been meant."""
    tables = chunks[0].table, chunks[1].table
    if not isinstance(tables[0], ShapedTable) or any(not table.path or table.wide for table in tables):
        return RepeatedScoreError(said + _NUMBER)
    if tables[0] is not tables[1]:
        return RepeatedScoreError.proposing(*_of_files(coder, grid, tables, said, item=chunks[0].columns["item"]))
    apart = distinguishing_columns(tables[0], chunks[0].columns)
    if not apart:
        return RepeatedScoreError(said + _NUMBER)
    columns = {role: name for role, name in chunks[0].columns.items() if role not in tables[0].given}
    rows = tables[0].plain.head(_MOST_ROWS)
    meanings = [_meanings(column, columns, rows) for column in apart]
    parts = (
        f"{said}these rows differ in column {listed(apart)}: pass ",
        meanings[0]["replicate"].argument,
        " if it counts repeated runs, or ",
        meanings[0]["item"].argument,
        " if it is a part of the item; otherwise remove one of them",
    )
    # Only a name tells the number of a run from one of several prompts; but what differs from item to item is neither.
    pairs = {(row.get(columns["item"]), row.get(apart[0])) for row in rows}
    crossed = len(pairs) == len({item for item, _ in pairs}) * len({value for _, value in pairs})
    is_turn = PART_OF_ITEM.search(plain_name(apart[0])) is not None
    is_part = is_turn or (not crossed and is_called(apart[0], "item", "for"))
    is_run = is_called(apart[0], "replicate", "for")
    if len(apart) == 1 and (is_run or is_part):
        proposal = [meanings[0]["replicate" if is_run else "item"].argument]
        # The parts of an item depend on each other.
        alone = is_turn and "block" not in columns and columns["item"] in tables[0].plain.columns()
        proposal += [Argument("blocks", columns["item"])] if alone else []
        return RepeatedScoreError.proposing(proposal, *parts)
    question = f"Rows of one model and one item differ in {listed(apart)}: what is that?"
    return RepeatedScoreError.asking(question, (candidate for each in meanings for candidate in each.values()), *parts)


def _meanings(column: str, columns: Mapping[Role, str], rows: Sequence[Mapping[str, object]]) -> dict[Role, Candidate]:
    """What a column that tells rows of one model and one item apart may be."""
    values = tuple(islice(dict.fromkeys(shown(str(row.get(column)), 24) for row in rows), 3))
    names: dict[Role, str] = {role: BETWEEN.join(filter(None, (columns.get(role), column))) for role in _MEANINGS}
    return {
        role: Candidate(argument=Argument("column", {role: names[role]}), examples=values, reasons=(why,))
        for role, why in _MEANINGS.items()
    }


def _of_files(
    coder: Coder, grid: Grid, tables: tuple[Table, Table], said: str, *, item: str
) -> tuple[Sequence[Argument], *tuple[Part, ...]]:
    """Two files with the same cells are two runs, or number their own questions, or one of them repeats the other."""
    paths = [table.path for table in tables]
    skip, runs = _repeating(coder, grid), _run_of_file(coder, paths)
    # Files of several prompts or settings have other names, and are no runs of one thing.
    numbered = len({re.sub("[0-9]+", "", path) for path in paths}) == 1
    certain = runs is not None and "replicate" not in coder.vocabularies and (numbered or runs.value not in _BY_NAME)
    proposal: tuple[Argument, ...] = (runs,) if runs is not None and certain else ()
    if skip is not None:
        proposal = (Argument("skip", (skip.path,)),)
    leave_out = (
        "leave the file that repeats the other out with ",
        Argument("skip", (shown_path((skip or tables[1]).path),)),
    )
    if runs is None:
        return (
            proposal,
            f"{said}give repeated runs numbers in a column named replicate, the same for every model, or ",
            *leave_out,
        )
    return (
        proposal,
        f"{said}pass ",
        runs,
        " if every file is one run, or ",
        Argument("column", {"item": f"{_part_of(paths)}{BETWEEN}{item}"}),
        " if each has questions of its own, or ",
        *leave_out,
        "; otherwise remove one of the rows",
    )


def _run_of_file(coder: Coder, paths: Sequence[str]) -> Argument | None:
    """What names the run of a file; None where paths do not show which runs of different models belong together.

    By its name alone, a file of one model would be a replicate with nothing to compare it with.
    """
    models = model_of_files(coder)
    if models is None or len(set(models.values())) == 1:
        return Argument("replicate_from", _part_of(paths))
    pattern = path_pattern(list(models), list(models.values()))
    return None if pattern is None else Argument("replicate_from", pattern.replicate_from)


def _part_of(paths: Sequence[str]) -> str:
    """The part of their paths in which files differ."""
    return "file" if len({PurePath(path).name for path in paths}) > 1 else "folder"


def _repeating(coder: Coder, grid: Grid) -> Table | None:
    """The file that repeats several others, which do not repeat each other; None if there is none such."""
    if sum(chunk.height for chunk in coder.chunks) > _MOST_COMPARED:
        return None
    tables = {id(chunk.table): chunk.table for chunk in coder.chunks}
    of_tables = grouped((id(chunk.table), grid.cells(chunk)) for chunk in coder.chunks)
    cells = {key: np.unique(np.concatenate(parts)) for key, parts in of_tables.items()}
    overlaps = {
        key: [other for other in cells if other != key and len(np.intersect1d(cells[key], cells[other]))]
        for key in (cells if len(cells) <= _MOST_FILES else ())
    }
    most = max(overlaps, key=lambda key: len(overlaps[key]), default=None)
    if most is None or len(overlaps[most]) < 2 or any(set(overlaps[key]) - {most} for key in overlaps if key != most):
        return None
    return tables[most]


def distinguishing_columns(table: Table, columns: Mapping[Role, str]) -> list[str]:
    """The columns that tell apart rows of one model and one item, as a number of the run or a part of the item does.

    ``columns`` are those that were read, by their roles: they have another meaning already.

    An answer may differ between such rows, too. But its values are not the same for every model, or do not come with
    every item. Only the first rows are looked at.
    """
    if not isinstance(table, ShapedTable) or table.by_metric:
        return []
    # The columns of the file that every role is made of; none where the path gives the name.
    parts = {
        role: () if role in table.given else table.joined.get(columns[role], (columns[role],))
        for role in ROLES
        if role in columns and role != "block"  # which tells no rows apart, unless it is something else
    }
    rows, named = table.plain.head(_MOST_ROWS), {part for its in parts.values() for part in its}
    keys = [tuple(str([row.get(part) for part in parts[role]]) for role in ("model", "item")) for row in rows]
    values = {
        name: [row.get(name) for row in rows] for name in table.plain.columns() if name.strip() not in ("", *named)
    }
    short = {name: each for name, each in values.items() if all(map(_is_short, each))}
    alone = [name for name, each in short.items() if _tells(keys, each)]
    if alone:
        return alone
    # Two conditions, or a condition and the number of a run, tell rows apart only together.
    crossed = [name for name, each in short.items() if _comes_with_all(keys, each)]
    together = [str(each) for each in zip(*map(short.__getitem__, crossed), strict=True)]
    return crossed if together and _tells(keys, together) else []


def _is_short(value: object) -> bool:
    return isinstance(value, str | int) and len(str(value)) <= _LONGEST


def _comes_with_all(keys: Sequence[tuple[str, ...]], values: Sequence[object]) -> bool:
    """Whether every model has every item with each of the values."""
    first, *others = map(set, grouped(zip(keys, values, strict=True)).values())
    return len(first) > 1 and all(other == first for other in others)


def _tells(keys: Sequence[tuple[str, ...]], values: Sequence[object]) -> bool:
    """Whether the values, of rows with these models and items, number or name them."""
    cells = {(*key, str(value)) for key, value in zip(keys, values, strict=True)}
    if len(cells) < len(keys):
        return False
    first, *others = map(set, grouped((model, (item, value)) for model, item, value in cells).values())
    crossed = len(first) == len({item for item, _ in first}) * len({value for _, value in first})
    # A number that no other row has is that of the row.
    alone = len({value for _, value in first}) == len(first)
    return not alone and (all(other == first for other in others) if others else crossed)
