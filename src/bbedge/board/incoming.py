"""From given scores to a proposed event: arranged, numbered, identified.

A stated number or the identities of its runs say which stored replicate a panel is, never its scores. The first
run may come up to a checkpoint in files that grow while a harness runs. They may therefore hold its earlier items
again, with the scores on the board, and models that were stopped. They may hold nothing beyond the next checkpoint: a
look uses exactly the blocks before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from msgspec import UNSET, structs
from numpy.typing import NDArray

from bbedge.board.admit import agree, check_whole_runs
from bbedge.board.design import drawn_seed
from bbedge.board.sequence import check_known, drawn_order
from bbedge.board.stage import Panel
from bbedge.board.state import BoardState
from bbedge.board.stored_scores import StoredScores, StoredVector
from bbedge.core.scores import Scores
from bbedge.errors import Argument, BoardError, Part, refuse_unless
from bbedge.records.design import IncompleteRule
from bbedge.records.events import ModelAdded, PilotAdded, ReplicateAdded
from bbedge.records.reading import Reading
from bbedge.records.values import Copies
from bbedge.text import counted, listed, quoted

_MOST_NAMED = 3


def known_replicate(scores: Scores, index: int, state: BoardState, stored: StoredScores) -> int | None:
    """The position of the stored replicate that one of these is, pilots first, from 0; ``None`` if it is the next one.

    What contradicts the board is refused.
    """
    epoch, panel = state.epoch, _panel_in_item_order(scores, index, state)
    check_known(state, panel)
    runs = set(scores.runs[index] if scores.runs else ())
    number = _stated_number(scores, index)
    position = _known_position(state, runs, number)
    if position is not None:
        panel = _panel_with_gaps(panel, (), state, whole_runs=True)
        before = stored.panel(epoch, epoch.place_at(position))
        if state.design.incomplete == "worst-case":
            _check_final(before, panel, epoch.items, position + 1)
        _check_same(state, position, before, panel, runs, is_stated=number is not None)
    return position


def proposed_replicate(
    scores: Scores,
    index: int,
    state: BoardState,
    stored: StoredScores,
    *,
    copies: Copies,
    rule: IncompleteRule | None,
    upto: int | None = None,
) -> tuple[PilotAdded | ReplicateAdded, dict[str, StoredVector]]:
    """The event of a new replicate, or of the first one up to its next checkpoint, and its scores.

    If ``rule`` is the design's for missing scores, it may lack active models altogether.
    """
    whole_runs = rule not in (None, "refuse")
    if upto is not None:
        panel = _panel_at_checkpoint(scores, state, stored, rule)
    else:
        panel = _without_stopped(_panel_in_item_order(scores, index, state), state, stored.seen(state.epoch))
        panel = _panel_with_gaps(panel, state.active, state, whole_runs=whole_runs and bool(panel))
    vectors = {model: StoredVector.of(row) for model, row in panel.items()}
    said: dict[str, Any] = {
        "epoch": state.epoch.number,
        "named": scores.numbered or any(scores.runs),
        "whole_runs": whole_runs,
        "vectors": {model: each.print.digest for model, each in vectors.items()},
        "runs": tuple(sorted(set(scores.runs[index] if scores.runs else ()))),
        "copy_rule": copies,
        "files": scores.files,
        "notes": scores.notes,
    }
    if state.in_pilot:
        return PilotAdded(pilot=state.epoch.pilots + 1, **said), vectors
    return ReplicateAdded(replicate=state.epoch.replicates + 1, upto=upto or UNSET, **said), vectors


def proposed_model(
    name: str, scores: Scores | None, state: BoardState, rule: Copies, *, whole_runs: bool
) -> tuple[ModelAdded, list[StoredVector]]:
    """The event of a model that joins the stored replicates, and its runs."""
    runs: list[StoredVector] = []
    identities: tuple[tuple[str, ...], ...] = ()
    if scores is not None:
        given = scores.models
        refuse_unless(given == (name,), f"the files hold the scores of {listed(given)}; expected {quoted(name)} alone")
        panels = {index: _panel_in_item_order(scores, index, state) for index in range(len(scores.values))}
        if name in state.announced:  # a run without any score was not delivered
            panels = {index: panel for index, panel in panels.items() if panel}
        identities = tuple(scores.runs[index] for index in panels) if scores.runs else ()
        whole = whole_runs and any(panels.values())
        rows = [_panel_with_gaps(panel, (name,), state, whole_runs=whole)[name] for panel in panels.values()]
        # Those that join runs of an earlier version count on its items alone.
        counts = [len(epoch.items) for epoch, _ in state.joined_places(name)]
        runs = [StoredVector.of(row[:count]) for row, count in zip_longest(rows, counts[: len(rows)])]
    event = ModelAdded(
        epoch=state.epoch.number,
        model=name,
        whole_runs=whole_runs,
        vectors=tuple(each.print.digest for each in runs),
        copy_rule=rule,
        runs=identities,
        files=() if scores is None else scores.files,
        notes=() if scores is None else scores.notes,
    )
    return _in_drawn_order(event, runs, state) if name in state.announced else (event, runs)


def _in_drawn_order(
    event: ModelAdded, runs: list[StoredVector], state: BoardState
) -> tuple[ModelAdded, list[StoredVector]]:
    """The event of a model whose runs were announced: those that were not delivered are missing, all in drawn order."""
    lacking = state.announced[event.model].runs - len(runs)
    nothing = StoredVector.of(np.full(len(state.epoch.items), np.nan))
    runs, identities = [*runs, *[nothing] * lacking], [*event.runs, *[()] * lacking]
    seed = drawn_seed()
    order = drawn_order(seed, [each.print.digest for each in runs])
    runs = [runs[place] for place in order]
    return structs.replace(
        event,
        whole_runs=True,
        vectors=tuple(each.print.digest for each in runs),
        order_seed=seed,
        runs=tuple(identities[place] for place in order) if event.runs else (),
    ), runs


def reading_for(state: BoardState, reading: Reading, *, has_gaps: bool = False) -> Reading:
    """How files of scores for this board are read: on its scale, with the names that it has.

    Missing scores are read as such if the design says how they count, or if there are gaps for another reason.
    """
    refused = state.design.incomplete == "refuse" and not has_gaps
    return structs.replace(
        reading,
        score_range=state.design.score_range,
        incomplete="refuse" if refused else "worst-case",
        preferred_names=tuple(state.epoch.models),
    )


def check_first_run(scores: Scores, state: BoardState) -> None:
    """Refuse scores up to a checkpoint that are not those of one replicate, the first."""
    count = len(scores.replicates)
    refuse_unless(count == 1, f"{count} replicates given; a part of the first run is one")
    stated, number = _stated_number(scores, 0), len(state.epoch.known) + 1
    refuse_unless(
        stated in (None, number), f"the scores are numbered replicate {stated}; the first run is replicate {number}"
    )


def _panel_at_checkpoint(scores: Scores, state: BoardState, stored: StoredScores, rule: IncompleteRule | None) -> Panel:
    """What came of the first run since the checkpoint before: all items and models that belong there, no others.

    A missing score is NaN and counts as the design says; with the rule ``refuse`` it is refused, and with the rule of
    the design whole models and items may be missing, too.
    """
    epoch = state.epoch
    seen_items = tuple(epoch.items[place] for place in epoch.seen_places)
    _check_source(scores, state)
    _check_next(scores, state, seen_items, counts=rule not in (None, "refuse"))
    _check_seen(_rows_on(scores, 0, seen_items), stored.seen(epoch), seen_items)
    panel = {
        model: row
        for model, row in _rows_on(scores, 0, epoch.next_items).items()
        if model not in state.retired or not np.isnan(row).all()
    }
    if rule is not None:
        nothing = np.full(len(epoch.next_items), np.nan)
        panel = {**dict.fromkeys(state.active, nothing), **panel}
    if rule == "refuse":
        _check_complete(panel, state)
    return _filled(panel, state)


def _known_position(state: BoardState, runs: set[str], number: int | None) -> int | None:
    """The position of the stored replicate that has one of these runs; ``None`` if it is the next one.

    ``number`` is what the replicate states, from 1. Raises if that is neither.
    """
    known = state.epoch.known
    following = len(known) + 1
    if number is None:
        return next((position for position, each in enumerate(known) if each.runs & runs), None)
    refuse_unless(number >= 1, f"replicate {number}: a board numbers replicates from 1; renumber them")
    refuse_unless(
        number <= following,
        f"replicate {number} is out of order: the next one is {following}. Replicates are added in the order in which "
        "they were run, without leaving any out",
    )
    return None if number == following else number - 1


def _check_same(
    state: BoardState, position: int, before: Panel, now: Panel, runs: set[str], *, is_stated: bool
) -> None:
    """Refuse other runs or other scores of a replicate that is on the board."""
    known = state.epoch.known[position].runs
    if not is_stated and not runs <= known:
        raise BoardError(
            f"the run {quoted(min(runs & known))} is part of replicate {position + 1} on the board, other runs of the "
            "same replicate are not; a run counts once. Add the logs of whole replicates"
        )
    same = [np.array_equal(before[model], now[model], equal_nan=True) for model in now if model in before]
    refuse_unless(
        bool(same) and all(same),
        f"replicate {position + 1} is on the board already, with other scores; a stored replicate cannot be changed. "
        f"If these are new runs, number them from {len(state.epoch.known) + 1}",
    )


def _check_final(before: Panel, now: Panel, items: Sequence[str], number: int) -> None:
    """Refuse scores that differ from those of a stored replicate only in filling its gaps."""
    shared = [model for model in now if model in before]
    if not agree(before, now, shared):
        return
    for model in shared:
        filled = np.isnan(before[model]) & ~np.isnan(now[model])
        if filled.any():
            item = items[int(np.flatnonzero(filled)[0])]
            raise BoardError(
                f"replicate {number} is on the board already, where {quoted(model)} has no score on {quoted(item)}. "
                "A missing score that is recorded is final: a score that comes later could have been chosen after it "
                "was seen. Keep the score out, or run a new replicate"
            )


def _panel_in_item_order(scores: Scores, index: int, state: BoardState) -> Panel:
    """The values of a replicate by model, in the order of the epoch's items; other items than those are refused.

    Where the design counts missing scores, a model without any is not there.
    """
    items, given = state.epoch.items, set(scores.items)
    missing = [item for item in items if item not in given]
    _check_source(scores, state)
    refuse_unless(
        not missing or (state.design.incomplete != "refuse" and len(missing) < len(items)),
        f"{len(missing)} of {len(items)} items of the benchmark are not in the files: {listed(missing)}; a replicate "
        "must be complete",
    )
    panel = _rows_on(scores, index, items)
    if state.design.incomplete == "refuse":
        return panel
    return {model: row for model, row in panel.items() if not np.isnan(row).all()}


def _rows_on(scores: Scores, index: int, items: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """The scores of each model of a replicate on these items; NaN on those that are not there."""
    place = {item: i for i, item in enumerate(scores.items)}
    found = np.full((len(scores.models), len(items)), np.nan)
    there = [i for i, item in enumerate(items) if item in place]
    found[:, there] = scores.values[index][:, [place[items[i]] for i in there]]
    return dict(zip(scores.models, found, strict=True))


def _panel_with_gaps(panel: Panel, models: Iterable[str], state: BoardState, *, whole_runs: bool) -> Panel:
    """The panel as the design counts it, with all of the ``models``; see :func:`check_whole_runs`."""
    if state.design.incomplete == "refuse":
        return panel
    absent = [model for model in models if model not in panel]
    check_whole_runs(state, absent, whole_runs=whole_runs)
    return _filled({**panel, **dict.fromkeys(absent, np.full(len(state.epoch.items), np.nan))}, state)


def _filled(panel: Panel, state: BoardState) -> Panel:
    """The panel with zeros for missing scores, if the design counts them so."""
    if state.design.incomplete != "zero":
        return panel
    return {model: np.nan_to_num(scores, nan=0.0) for model, scores in panel.items()}


def _without_stopped(panel: Panel, state: BoardState, seen: Panel) -> Panel:
    """A complete replicate without models that were stopped, if it has no scores of them but those on the board."""
    left = dict(panel)
    for model in set(panel).intersection(state.retired):
        before, known = seen.get(model, ()), np.full(len(panel[model]), np.nan)
        known[state.epoch.seen_places[: len(before)]] = before
        if np.all(np.isnan(panel[model]) | (panel[model] == known)):
            del left[model]
    return left


def _check_source(scores: Scores, state: BoardState) -> None:
    """Refuse scores on another scale than that of the design, of other items, or of items in other blocks."""
    refuse_unless(
        scores.score_range == state.design.score_range,
        f"the scores were read on the scale {scores.score_range}; the board's is {state.design.score_range}",
    )
    refuse_unless(
        all(len(set(names)) == len(names) for names in (scores.items, scores.models)),
        "a model or an item comes twice in these scores; each must be there once",
    )
    extra = sorted(set(scores.items) - set(state.epoch.items))
    refuse_unless(
        not extra,
        f"the files have {len(extra)} items that are not part of the benchmark: {listed(extra)}; open a new epoch with "
        "add-items, or leave them out",
    )
    if not scores.blocked:
        return
    theirs = dict(zip(scores.items, scores.blocks, strict=True))
    ours = dict(zip(state.epoch.items, state.epoch.blocks, strict=True))
    same: tuple[dict[str, str], dict[str, str]] = {}, {}
    for item in (each for each in ours if each in theirs):
        block, given = ours[item], theirs[item]
        refuse_unless(
            same[0].setdefault(block, given) == given and same[1].setdefault(given, block) == block,
            f"the files put item {quoted(item)} into the block {quoted(given)}, which does not hold the same items as "
            "its block in the design; blocks are frozen with the design: correct or remove the column",
        )


def _stated_number(scores: Scores, index: int) -> int | None:
    """The number that the label of a replicate states, if it is one."""
    label = scores.replicates[index]
    is_whole = scores.numbered and re.fullmatch(r"[+-]?[0-9]{1,15}(?:\.0+)?", label)
    return int(float(label)) if is_whole else None


def _check_next(scores: Scores, state: BoardState, seen: Sequence[str], *, counts: bool) -> None:
    """Refuse scores that lack items up to the next checkpoint, or have some beyond it."""
    needed = state.epoch.next_items
    has_score = ~np.isnan(scores.values[0]).all(axis=0)  # a table may have a place for others
    there = {item for item, has in zip(scores.items, has_score.tolist(), strict=True) if has}
    given = there if counts else set(scores.items)
    missing = [item for item in needed if item not in given]
    if len(missing) == len(needed) or (missing and not counts):
        passed = state.epoch.passed
        where = f"; the first run is at checkpoint {passed}" if passed and len(missing) == len(needed) else ""
        raise BoardError(
            f"{len(missing)} of the {len(needed)} items up to the next checkpoint are not in these scores: "
            f"{listed(missing)}{where}; run them first",
            *(() if counts else _counting(state)),
        )
    beyond = sorted(there - {*seen, *needed})
    refuse_unless(
        not beyond,
        f"{counted(len(beyond), 'item')} {'is' if len(beyond) == 1 else 'are'} not among those up to the next "
        f"checkpoint: {listed(beyond)}. A look uses nothing beyond its checkpoint: leave them out, or add the complete "
        "run",
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


def _counting(state: BoardState) -> tuple[Part, ...]:
    """How to count missing scores, where the design does."""
    rule = state.design.incomplete
    return () if rule == "refuse" else (", or count them as missing, which is final: ", Argument("incomplete", rule))


def _check_seen(given: Panel, seen: Panel, items: Sequence[str]) -> None:
    """Refuse scores of these items, in the run order, that are not those on the board; they may be left out."""
    for model, row in given.items():
        before = seen.get(model, row[:0])
        now = row[: len(before)]
        wrong = np.flatnonzero(~np.isnan(now) & (now != before))
        if not len(wrong):
            continue
        item = quoted(items[int(wrong[0])])
        if np.isnan(before[wrong[0]]):
            raise BoardError(
                f"{quoted(model)} has no score on {item} on the board. A missing score that is recorded is final: a "
                "score that comes later could have been chosen after it was seen. Keep the score out"
            )
        raise BoardError(
            f"the score of {quoted(model)} on {item} differs from the one on the board, where the first run has come "
            "beyond this item; a stored score cannot be changed"
        )
