"""A part of the first pass on its way to the board: its items are the next ones, its models those that run.

Scores may come in files that grow while a harness runs. They may therefore hold the earlier items of the pass again,
with the scores on the board, and models that were stopped. They may hold nothing beyond the next checkpoint: a look
uses exactly the blocks before it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bbedge.board.arrivals import (
    Arrival,
    Stored,
    check_blocks,
    check_items,
    check_new,
    check_scale,
    check_unique,
    stated_number,
)
from bbedge.board.design import IncompleteRule
from bbedge.board.stage import Panel
from bbedge.board.state import BoardState
from bbedge.board.stored_scores import check_seen, completes
from bbedge.core.copies import FEW, may_be_chance
from bbedge.core.scores import Scores
from bbedge.errors import Argument, BoardError
from bbedge.text import counted, listed, quoted

_MOST_NAMED = 3

Message = tuple[str | Argument, ...]


def arrived_part(
    scores: Scores, state: BoardState, stored: Sequence[Stored], seen: Panel, *, rule: IncompleteRule | None = None
) -> Arrival:
    """The scores up to the next checkpoint, packed; anything but all items and models that belong there is refused.

    ``stored`` are the replicates of the epoch, whose runs cannot be part of the pass as well, and ``seen`` are the
    scores of the parts before, in the run order. A missing score is NaN and counts as the design says; with the rule
    ``refuse`` it is refused, and with the rule of the design whole models and items may be missing, too.
    """
    state.upcoming()
    _check_one(scores, len(stored) + 1)
    check_scale(scores, state)
    check_unique(scores)
    check_items(scores, state)
    check_blocks(scores, state)
    _check_next(scores, state, counts=rule not in (None, "refuse"))
    check_seen(_on(scores, _seen_items(state)), seen, _seen_items(state))
    panel = _of_running(_on(scores, state.epoch.next_items), state)
    if rule is not None:
        nothing = np.full(len(state.epoch.next_items), np.nan)
        panel = {**dict.fromkeys(state.active, nothing), **panel}
    if rule == "refuse":
        _check_complete(panel, state)
    if state.design.incomplete == "zero":
        panel = {model: np.nan_to_num(row, nan=0.0) for model, row in panel.items()}
    runs = scores.runs[0] if scores.runs else ()
    check_new(stored, set(runs), len(stored) + 1)
    return Arrival.of(panel, runs)


def repeated_pilot(part: Panel, state: BoardState, seen: Panel, pilots: Sequence[Panel]) -> int | None:
    """The number of the pilot replicate whose scores the next part repeats, by itself or with all parts before it.

    The pilot chose what is tested. Its scores are no evidence, and a look at a part does not wait until the complete
    pass is compared with them.
    """
    new = state.epoch.next_places
    whole = {model: np.concatenate([seen.get(model, row[:0]), row]) for model, row in part.items()}
    for place, pilot in enumerate(pilots):
        models = [model for model in part if model in pilot]
        for items, now in ((new, part), (np.concatenate([state.epoch.seen_places, new]), whole)):
            panels = [*(_of_items(each, models, items) for each in pilots), {model: now[model] for model in models}]
            if completes(panels[place], now, FEW) and not _may_repeat(panels, place, state, items):
                return place + 1
    return None


def _of_items(panel: Panel, models: Sequence[str], items: NDArray[np.intp]) -> Panel:
    return {model: panel[model][items] for model in models if model in panel}


def _may_repeat(panels: Sequence[Panel], place: int, state: BoardState, items: NDArray[np.intp]) -> bool:
    """Whether the last of these panels may have the scores of the one at a place by chance."""
    there = [at for at, panel in enumerate(panels) if len(panel) == len(panels[-1])]
    runs = np.array([list(panels[at].values()) for at in there])
    blocks = [state.epoch.blocks[item] for item in items]
    return may_be_chance(runs, (there.index(place), len(there) - 1), blocks=blocks)


def _check_one(scores: Scores, number: int) -> None:
    if len(scores.replicates) != 1:
        raise BoardError(f"{len(scores.replicates)} replicates given; a part of the first pass is one")
    stated = stated_number(scores.replicates[0]) if scores.numbered else None
    if stated not in (None, number):
        raise BoardError(f"the scores are numbered replicate {stated}; the first pass is replicate {number}")


def _check_next(scores: Scores, state: BoardState, *, counts: bool) -> None:
    """Refuse scores that lack items up to the next checkpoint, or have some beyond it."""
    needed = state.epoch.next_items
    there = _scored(scores)
    given = there if counts else set(scores.items)
    missing = [item for item in needed if item not in given]
    if len(missing) == len(needed) or (missing and not counts):
        passed = len(state.epoch.parts)
        where = f"; the first pass is at checkpoint {passed}" if passed and len(missing) == len(needed) else ""
        raise BoardError(
            f"{len(missing)} of the {len(needed)} items up to the next checkpoint are not in these scores: "
            f"{listed(missing)}{where}; run them first",
            *(() if counts else _counting(state)),
        )
    beyond = sorted(there - {*_seen_items(state), *needed})
    if beyond:
        raise BoardError(
            f"{counted(len(beyond), 'item')} {'is' if len(beyond) == 1 else 'are'} not among those up to the next "
            f"checkpoint: {listed(beyond)}. A look uses nothing beyond its checkpoint: leave them out, or add the "
            "complete pass"
        )


def _check_complete(panel: Panel, state: BoardState) -> None:
    """Refuse scores that are missing and may still come."""
    items = state.epoch.next_items
    lacking = {model: np.flatnonzero(np.isnan(panel[model])) for model in state.active}
    short = [(model, places) for model, places in lacking.items() if len(places)]
    if not short:
        return
    words = ", ".join(
        f"{quoted(model)} on {len(places)} of the {len(items)} items ({listed(items[place] for place in places)})"
        for model, places in short[:_MOST_NAMED]
    )
    more = f" and {counted(len(short) - _MOST_NAMED, 'more model')}" if len(short) > _MOST_NAMED else ""
    raise BoardError(f"scores are missing up to the next checkpoint: {words}{more}; run them first", *_counting(state))


def _counting(state: BoardState) -> Message:
    """How to count missing scores, where the design does."""
    rule = state.design.incomplete
    return () if rule == "refuse" else (", or count them as missing, which is final: ", Argument("incomplete", rule))


def _of_running(panel: Panel, state: BoardState) -> Panel:
    """Without models that were stopped and have no score here."""
    return {model: row for model, row in panel.items() if model not in state.retired or not np.isnan(row).all()}


def _on(scores: Scores, items: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """The scores of each model on these items; NaN on those that are not there."""
    place = {item: i for i, item in enumerate(scores.items)}
    found = np.full((len(scores.models), len(items)), np.nan)
    there = [i for i, item in enumerate(items) if item in place]
    found[:, there] = scores.values[0][:, [place[items[i]] for i in there]]
    return dict(zip(scores.models, found, strict=True))


def _scored(scores: Scores) -> set[str]:
    """The items that any model has a score on; a table may have a place for others."""
    has_score = ~np.isnan(scores.values[0]).all(axis=0)
    return {item for item, has in zip(scores.items, has_score.tolist(), strict=True) if has}


def _seen_items(state: BoardState) -> tuple[str, ...]:
    return tuple(state.epoch.items[place] for place in state.epoch.seen_places)
