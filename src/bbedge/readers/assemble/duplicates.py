"""Cells with two scores: found, counted, and refused with both places."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from bbedge.errors import DataError
from bbedge.readers.assemble.coding import Coder
from bbedge.readers.assemble.grid import Grid
from bbedge.text import quoted


def check_unique(coder: Coder, grid: Grid) -> None:
    """Raise if a model has two scores on one item in one replicate.

    The message names the repetition that comes first in the files, and the row that it repeats.
    """
    count, second, cell = _in_groups(coder, grid) if grid.is_dense(coder) else _sorted(coder, grid)
    if count:
        _refuse(coder, grid, count, second, cell)


def _in_groups(coder: Coder, grid: Grid) -> tuple[int, int, int]:
    """The number of repetitions, the row of the first and its cell; cells are marked some replicates at a time."""
    count, found = 0, (0, 0)
    panel = grid.shape[1] * grid.shape[2]
    for group in grid.groups():
        seen = np.zeros(len(group) * panel, dtype=bool)
        first_row = 0
        for chunk in coder.chunks:
            within = grid.within(chunk, group)
            if within is not None:
                inside, cells = within
                _, first = np.unique(cells, return_index=True)
                again = np.ones(len(cells), dtype=bool)
                again[first] = seen[cells[first]]
                if again.any():
                    position = int(again.argmax())
                    row = first_row + (position if inside is None else int(np.flatnonzero(inside)[position]))
                    if not count or row < found[0]:
                        found = row, int(cells[position]) + group.start * panel
                    count += int(again.sum())
                seen[cells] = True
            first_row += chunk.height
    return count, *found


def _sorted(coder: Coder, grid: Grid) -> tuple[int, int, int]:
    """The same where there are far more cells than rows."""
    cells: NDArray[np.int64] = np.concatenate([grid.cells(chunk) for chunk in coder.chunks])
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not len(again):
        return 0, 0, 0
    second = int(order[again + 1].min())
    return len(again), second, int(cells[second])


def _refuse(coder: Coder, grid: Grid, count: int, second: int, cell: int) -> NoReturn:
    first = 0
    for chunk in coder.chunks:
        same = np.flatnonzero(grid.cells(chunk) == cell)
        if len(same):
            first += int(same[0])
            break
        first += chunk.height
    replicate, model, item = np.unravel_index(cell, grid.shape)
    raise DataError(
        f"{coder.place(second)}: a second score for model {quoted(grid.models.names[model])}, item "
        f"{quoted(grid.items.names[item])}, replicate {quoted(grid.replicates.names[replicate])}, first given at "
        f"{coder.place(first)} ({count} such rows in all); remove one, or give repeated runs different numbers in "
        "a column named replicate"
    )
