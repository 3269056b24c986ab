"""Whether items that are added are of the kinds that claims about new items are about, each with its weight.

A claim about new items is about one population: so much of the weight falls on blocks of each kind, and the blocks are
draws of their kind. The evidence of items that are added is about the same claim only if their weight falls on the same
kinds in the same parts. What a board knows of the kind of a block is how many items it has, and what the columns that
the design uses say of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum, isclose

from bbedge.board.design import BoardDesign, Columns
from bbedge.board.epoch import Epoch
from bbedge.core.design import Design
from bbedge.errors import BoardError
from bbedge.text import counted, quoted

Kind = tuple[tuple[str, ...], ...]
"""For each item of a block, sorted, what its columns say."""
_CLOSE = 1e-9  # parts of the weight that differ less than this are meant to be the same
_MOST_NAMED = 3
_NAMES = ["a", "b"]  # of models, of which weights know nothing


def check_same_kinds(
    design: BoardDesign, epochs: Sequence[Epoch], items: Sequence[str], blocks: Sequence[str], columns: Columns
) -> None:
    """Refuse items that are added to those of a board if they are not of the same kinds in the same parts.

    New items of a block that is there already are no draws, either.
    """
    known = set(epochs[-1].blocks)
    if again := [block for block in blocks if block in known]:
        raise BoardError(
            f"the block {quoted(again[0])} is on the board already, and this board makes claims about new items: a "
            "block is one draw, and what is added to it is none; give new items blocks of their own"
        )
    first = epochs[0]
    before, after = (
        design.core_design(_NAMES, *its, level=design.alpha, columns=of_items)
        for *its, of_items in ((first.items, first.blocks, first.columns), (items, blocks, columns))
    )
    parts = zip(_parts(before, first.blocks, first.columns), _parts(after, blocks, columns), strict=False)
    for (name, known_parts), (_, new_parts) in parts:
        for kind in sorted(known_parts.keys() | new_parts.keys()):
            was, now = known_parts.get(kind, 0.0), new_parts.get(kind, 0.0)
            if not isclose(was, now, rel_tol=_CLOSE):
                where = "" if name is None else f" in the view {quoted(name)}"
                raise BoardError(
                    f"{_described(kind, sorted(columns))}: {100 * was:.4g} % of the weight of the first items{where}, "
                    f"and {100 * now:.4g} % of that of the added ones. The claims of this board are about new items of "
                    "the same kinds, so that each kind must have the same part of both; add items in these parts, or "
                    "make a new board of the new items alone"
                )


def _parts(design: Design, blocks: Sequence[str], columns: Columns) -> list[tuple[str | None, Mapping[Kind, float]]]:
    """For each view, by name, what part of the weight falls on each kind of block."""
    items: dict[str, list[int]] = {}
    for item, block in enumerate(blocks):
        items.setdefault(block, []).append(item)
    said = [tuple(columns[name][item] for name in sorted(columns)) for item in range(len(blocks))]
    kinds = {block: tuple(sorted(said[item] for item in its)) for block, its in items.items()}
    found = list[tuple[str | None, Mapping[Kind, float]]]()
    for name, given in ((None, design.weights), *((view.name, view.weights) for view in design.views)):
        weights = given or (1.0,) * len(blocks)
        of_kinds: dict[Kind, list[float]] = {}
        for block, its in items.items():
            of_kinds.setdefault(kinds[block], []).extend(weights[item] for item in its)
        total = fsum(weights)
        found.append((name, {kind: fsum(each) / total for kind, each in of_kinds.items() if any(each)}))
    return found


def _described(kind: Kind, columns: Sequence[str]) -> str:
    """A kind of block, as a message begins."""
    if not columns:
        return f"Blocks of {counted(len(kind), 'item')}"
    rows = [", ".join(f"{name} {quoted(text)}" for name, text in zip(columns, row, strict=True)) for row in kind]
    said = list(dict.fromkeys(rows))
    more = " and others" if len(said) > _MOST_NAMED else ""
    return f"Blocks of {counted(len(kind), 'item')} with {'; '.join(said[:_MOST_NAMED])}{more}"
