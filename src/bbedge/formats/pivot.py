"""From coded rows to complete panels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bbedge.errors import DataError
from bbedge.formats.coding import Chunk, Coder
from bbedge.formats.gaps import (
    AXES,
    PLURALS,
    Axis,
    Gaps,
    Kept,
    MissingCellsError,
    described,
    dropped,
    remedy,
    report,
    usable,
)
from bbedge.formats.ordering import natural_key
from bbedge.formats.reading import Incomplete
from bbedge.naming import quoted

_AXIS_OF: dict[str, Axis] = {f"drop-{PLURALS[axis]}": axis for axis in AXES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Panels:
    """Complete panels with their names."""

    names: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    """Names of the replicates, models and items."""
    values: NDArray[np.float64]
    """Scores: replicates x models x items."""
    notes: tuple[str, ...] = ()
    """What was dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Names in their final order, and where each code goes."""

    names: tuple[str, ...]
    """The sorted names."""
    positions: NDArray[np.int64]
    """The position of every code in the sorted names."""

    @classmethod
    def of(
        cls, names: Sequence[str], ordered: Sequence[str] | None = None, *, key: Callable[[str], Any] | None = None
    ) -> Order:
        """Sort the names by the key, or take them in the order given."""
        final = sorted(names, key=key) if ordered is None else list(ordered)
        place = {name: position for position, name in enumerate(final)}
        return cls(names=tuple(final), positions=np.array([place[name] for name in names], dtype=np.int64))


def build_panels(
    coder: Coder, *, replicates: Sequence[str], incomplete: Incomplete, least_models: int = 2, hint: str = ""
) -> Panels:
    """Fill the panels; ``replicates`` are the labels in order, or one label for tables without a replicate column.

    ``hint`` is what else is known about missing scores, for the message about them.
    """
    orders = (
        Order.of(coder.names("replicate") if "replicate" in coder.vocabularies else replicates, replicates),
        Order.of(coder.names("model")),
        Order.of(coder.names("item"), key=natural_key),
    )
    names = (orders[0].names, orders[1].names, orders[2].names)
    shape = (len(names[0]), len(names[1]), len(names[2]))
    if shape[1] < least_models:
        raise DataError(
            f"{coder.chunks[0].table.name}: only one model, {quoted(names[1][0])}; a leaderboard compares two or more: "
            "add the scores of the others"
        )
    if prod(shape) >= 2**62:
        raise DataError(
            f"{shape[1]} models x {shape[2]} items x {shape[0]} replicates are not a panel; check that --column names "
            "the right columns: every model, item and replicate must come in many rows"
        )
    rows = sum(len(chunk.scores) for chunk in coder.chunks)
    # With many more cells than rows the panels are known to be incomplete, and too large to lay out.
    if prod(shape) > 4 * rows + 1_000_000:
        return _from_sparse(coder, orders, names, incomplete, hint)
    return _from_dense(coder, orders, names, rows, incomplete, hint)


def check_unique(coder: Coder, *, replicates: Sequence[str]) -> None:
    """Raise if a model has two scores on one item in one replicate."""
    orders = (
        Order.of(coder.names("replicate") if "replicate" in coder.vocabularies else replicates, replicates),
        Order.of(coder.names("model")),
        Order.of(coder.names("item"), key=natural_key),
    )
    cells = np.concatenate(list(_cells(coder, orders)))
    if len(np.unique(cells)) < len(cells):
        _refuse_duplicate(coder, orders, cells)


def _from_dense(
    coder: Coder,
    orders: tuple[Order, Order, Order],
    names: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]],
    rows: int,
    incomplete: Incomplete,
    hint: str,
) -> Panels:
    shape = (len(names[0]), len(names[1]), len(names[2]))
    values = np.full(prod(shape), np.nan)
    seen = np.zeros(prod(shape), dtype=bool)
    for chunk, cells in zip(coder.chunks, _cells(coder, orders), strict=True):
        values[cells] = chunk.scores
        seen[cells] = True
    if np.count_nonzero(seen) < rows:
        _refuse_duplicate(coder, orders, np.concatenate(list(_cells(coder, orders))))
    missing = np.flatnonzero(np.isnan(values))
    values = values.reshape(shape)
    if not len(missing):
        return Panels(names=names, values=values)
    gaps = Gaps(names=names, cells=missing, listing="missing")
    kept = _by_policy(coder, gaps, incomplete, hint)
    return Panels(names=_kept_names(gaps, kept), values=values[np.ix_(*kept)], notes=(_note(gaps, kept),))


def _from_sparse(
    coder: Coder,
    orders: tuple[Order, Order, Order],
    names: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]],
    incomplete: Incomplete,
    hint: str,
) -> Panels:
    cells = np.concatenate(list(_cells(coder, orders)))
    if len(np.unique(cells)) < len(cells):
        _refuse_duplicate(coder, orders, cells)
    scores = np.concatenate([chunk.scores for chunk in coder.chunks])
    scored = ~np.isnan(scores)
    gaps = Gaps(names=names, cells=cells[scored], listing="present")
    kept = _by_policy(coder, gaps, incomplete, hint)
    places = gaps.coordinates()
    stays = kept[0][places[0]] & kept[1][places[1]] & kept[2][places[2]]
    # What stays is complete, so its cells in order are the panels.
    order = np.argsort(gaps.cells[stays])
    values = scores[scored][stays][order].reshape([int(keep.sum()) for keep in kept])
    return Panels(names=_kept_names(gaps, kept), values=values, notes=(_note(gaps, kept),))


def _by_policy(coder: Coder, gaps: Gaps, incomplete: Incomplete, hint: str) -> Kept:
    tables = list(dict.fromkeys(chunk.table.name for chunk in coder.chunks))
    sources = tables[0] if len(tables) == 1 else f"{tables[0]} and {len(tables) - 1} more"
    if incomplete == "refuse":
        error = MissingCellsError(f"{sources}: {report(gaps)}{hint}")
        error.remedy = remedy(gaps)
        raise error
    kept = gaps.without_holes(_AXIS_OF[incomplete])
    if not usable(kept):
        raise DataError(
            f"{sources}: --incomplete {incomplete} would drop {dropped(gaps, kept)} and leave no two models with a "
            f"complete panel.\n{report(gaps)}{hint}"
        )
    return kept


def _kept_names(gaps: Gaps, kept: Kept) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    replicates, models, items = (
        tuple(gaps.names[axis][position] for position in np.flatnonzero(kept[axis])) for axis in AXES
    )
    return replicates, models, items


def _note(gaps: Gaps, kept: Kept) -> str:
    about = "" if kept[2].all() else ", and the claims are about the items that stay"
    return (
        f"Dropped {dropped(gaps, kept)} because {gaps.missing} of {prod(gaps.shape)} cells had no score; "
        f"{described(kept)} stay{about}. This is only valid if it was decided without looking at the scores."
    )


def _cells(coder: Coder, orders: tuple[Order, Order, Order]) -> Iterator[NDArray[np.int64]]:
    """The position of every row in replicates x models x items, chunk by chunk."""
    models, items = len(orders[1].names), len(orders[2].names)
    for chunk in coder.chunks:
        cells = orders[1].positions[chunk.codes["model"]]
        if "replicate" in chunk.codes:
            cells += orders[0].positions[chunk.codes["replicate"]] * models
        cells *= items
        cells += orders[2].positions[chunk.codes["item"]]
        yield cells


def _refuse_duplicate(coder: Coder, orders: tuple[Order, Order, Order], cells: NDArray[np.int64]) -> NoReturn:
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1])
    # The repetition that comes first in the files, and the row that it repeats.
    pick = again[np.argmin(order[again + 1])]
    first, second = int(order[pick]), int(order[pick + 1])
    replicate, model, item = np.unravel_index(int(cells[second]), [len(each.names) for each in orders])
    raise DataError(
        f"{coder.place(second)}: a second score for model {quoted(orders[1].names[model])}, item "
        f"{quoted(orders[2].names[item])}, replicate {quoted(orders[0].names[replicate])}, first given at "
        f"{coder.place(first)} ({len(again)} such rows in all); remove one, or give repeated runs different numbers in "
        "a column named replicate"
    )


def blocks_of_items(coder: Coder, items: Sequence[str]) -> tuple[str, ...]:
    """The label of the block of each item."""
    labels, names = coder.names("block"), coder.names("item")
    block_of = np.full(len(names), -1, dtype=np.int32)
    for chunk in coder.chunks:
        _assign_blocks(chunk, block_of, names, labels)
    by_name = {name: labels[block] for name, block in zip(names, block_of, strict=True)}
    return tuple(by_name[item] for item in items)


def _assign_blocks(chunk: Chunk, block_of: NDArray[np.int32], names: Sequence[str], labels: Sequence[str]) -> None:
    items, blocks = chunk.codes["item"], chunk.codes["block"]
    new = block_of[items] < 0
    # Backwards, because of several values for one position NumPy keeps the last: the first row shall count.
    block_of[items[new][::-1]] = blocks[new][::-1]
    other = block_of[items] != blocks
    if other.any():
        row = int(other.argmax())
        item = int(items[row])
        raise DataError(
            f"{chunk.table.place(chunk.first_row + row)}: item {quoted(names[item])} is in block "
            f"{quoted(labels[blocks[row]])} here and in block {quoted(labels[block_of[item]])} before; an item belongs "
            "to one block: correct the column, or pass --blocks item or --blocks one"
        )
