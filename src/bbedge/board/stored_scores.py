"""What a board has of each run: its scores, what is missing, and what to run next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from bbedge.board.replay import stored_panel
from bbedge.board.stage import Panel
from bbedge.board.state import BoardState
from bbedge.core.checkpoints import Checkpoint
from bbedge.core.scores import Scores
from bbedge.errors import Argument, BoardError
from bbedge.text import listed, quoted

if TYPE_CHECKING:
    from bbedge.board.board import Board


def stored_scores(board: Board, models: Sequence[str]) -> Scores:
    """Every replicate in the evidence of the board's current version, of these models; a stopped one is refused.

    Pilots are left out: they are not evidence.
    """
    epoch, design = board.state.epoch, board.design
    stopped = [model for model in models if model not in board.state.active]
    if stopped:
        raise BoardError(
            f"{board.name}: {listed(stopped)} {'is' if len(stopped) == 1 else 'are'} no longer run there, and every "
            "run of these models is needed; make a new board, and keep its models running"
        )
    values = np.empty((epoch.replicates, len(models), len(epoch.items)))
    with board.store.read() as session:
        for place, into in enumerate(values, start=1):
            panel = stored_panel(session, board.state, place)
            lacking = [model for model in models if model not in panel]
            if lacking:
                raise BoardError(f"{board.name}: replicate {place} of {len(values)} lacks {listed(lacking)}")
            into[:] = [panel[model] for model in models]
    values.flags.writeable = False
    return Scores(
        models=tuple(models),
        items=tuple(epoch.items),
        blocks=tuple(epoch.blocks),
        replicates=tuple(str(place + 1) for place in range(len(values))),
        values=values,
        score_range=design.score_range,
        columns=dict(epoch.columns),
        gaps="worst-case" if design.incomplete == "worst-case" else "refuse",
    )


def seen_scores(parts: Sequence[Panel]) -> Panel:
    """What is on the board of the first pass, by model and in the run order; a stopped model has less than others."""
    models = dict.fromkeys(model for part in parts for model in part)
    return {model: np.concatenate([part[model] for part in parts if model in part]) for model in models}


def check_seen(given: Panel, seen: Panel, items: Sequence[str]) -> None:
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
            f"the score of {quoted(model)} on {item} differs from the one on the board, where the first pass has come "
            "beyond this item; a stored score cannot be changed"
        )


def without_stopped(panel: Panel, state: BoardState, seen: Panel) -> Panel:
    """A complete replicate without models that were stopped, if it has no scores of them but those on the board."""
    return {
        model: row
        for model, row in panel.items()
        if model not in state.retired or not _is_known(row, state, seen.get(model, row[:0]))
    }


def _is_known(row: np.ndarray, state: BoardState, before: np.ndarray) -> bool:
    places = state.epoch.seen_places[: len(before)]
    expected = np.full(len(row), np.nan)
    expected[places] = before
    return bool(np.all(np.isnan(row) | (row == expected)))


def check_rule(state: BoardState, *, whole_runs: bool) -> None:
    """Refuse to count whole runs as missing where the design counts no missing scores."""
    if whole_runs and state.design.incomplete == "refuse":
        raise BoardError(
            Argument("incomplete", "worst-case"),
            " is not part of this board's design, which is frozen: a replicate stays incomplete until every score is "
            "there",
        )


def completed(panel: Panel, models: Iterable[str], state: BoardState, *, whole_runs: bool) -> Panel:
    """The panel as the design counts it, with all of the ``models``.

    One that is not there is refused, unless ``whole_runs`` says that its whole run is missing.
    """
    if state.design.incomplete == "refuse":
        return panel
    absent = [model for model in models if model not in panel]
    if absent and not whole_runs:
        raise BoardError(
            f"model {quoted(absent[0])} has no score at all in this replicate, which stays incomplete until the run of "
            "the model is there. If it will never come, retire the model, or count the whole run as missing: ",
            Argument("incomplete", state.design.incomplete),
        )
    nothing = np.full(len(state.epoch.items), np.nan)
    found = {**panel, **dict.fromkeys(absent, nothing)}
    if state.design.incomplete == "zero":
        return {model: np.nan_to_num(scores, nan=0.0) for model, scores in found.items()}
    return found


def check_final(before: Panel, now: Panel, items: Sequence[str], place: int) -> None:
    """Refuse scores that differ from those of a stored replicate only in filling its gaps."""
    shared = [model for model in now if model in before]
    if not shared or not _agree(before, now, shared):
        return
    for model in shared:
        filled = np.isnan(before[model]) & ~np.isnan(now[model])
        if filled.any():
            item = items[int(np.flatnonzero(filled)[0])]
            raise BoardError(
                f"replicate {place} is on the board already, where {quoted(model)} has no score on {quoted(item)}. "
                "A missing score that is recorded is final: a score that comes later could have been chosen after it "
                "was seen. Keep the score out, or run a new replicate"
            )


def completes(before: Panel, now: Panel, least: int) -> bool:
    """Whether these are the scores of a stored replicate with other gaps: every score that both have is the same.

    Scores of models that solve everything, or nothing, say little; of the others there must be at least ``least``.
    """
    shared, there = [model for model in now if model in before], 0
    for model in shared:
        both = before[model][~np.isnan(before[model]) & ~np.isnan(now[model])]
        there += len(both) if not least or (len(both) and both.min() < both.max()) else 0
    return there >= max(1, least) and _agree(before, now, shared)


def _agree(before: Panel, now: Panel, models: Sequence[str]) -> bool:
    return all(
        bool(np.all((before[model] == now[model]) | np.isnan(before[model]) | np.isnan(now[model]))) for model in models
    )


NextKind = Literal["part", "rest", "replicate", "pilot"]
"""The first pass up to its next checkpoint; all that is left of it after the last one; a complete replicate; or one of
the pilot, which is complete too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRun:
    """What the models have to run before the board can look again."""

    kind: NextKind
    """What it is."""
    epoch: int
    """The version of the benchmark."""
    replicate: int
    """The number of the replicate that it belongs to, from 1; a pilot is numbered by itself."""
    models: tuple[str, ...]
    """The active models, all of which run."""
    items: tuple[str, ...]
    """The items to run, in their order: of a first pass with checkpoints that of the seed."""
    blocks: tuple[str, ...]
    """The block of each item."""
    columns: Mapping[str, tuple[str, ...]]
    """What else the design uses of each item, by the name of the column."""
    checkpoint: Checkpoint | None
    """The checkpoint that the first pass comes to with these items; ``None`` if there is none ahead."""
    checkpoints: int
    """How many checkpoints the first pass has; 0 if the design has none, and during a pilot."""

    @classmethod
    def of(cls, state: BoardState) -> NextRun:
        """What is next on a board."""
        epoch = state.epoch
        plan, inside = epoch.plan, epoch.next_places.tolist()
        places = inside or list(range(len(epoch.items)))
        upcoming = epoch.next_checkpoint
        kind: NextKind = "replicate"
        if state.in_pilot:
            kind = "pilot"
        elif upcoming is not None:
            kind = "part"
        elif inside:
            kind = "rest"
        return cls(
            kind=kind,
            epoch=epoch.number,
            replicate=(epoch.pilots if state.in_pilot else epoch.replicates) + 1,
            models=tuple(state.active),
            items=tuple(epoch.items[place] for place in places),
            blocks=tuple(epoch.blocks[place] for place in places),
            columns={name: tuple(texts[place] for place in places) for name, texts in epoch.columns.items()},
            checkpoint=upcoming,
            checkpoints=0 if plan is None else len(plan.checkpoints),
        )

    @property
    def content(self) -> dict[str, object]:
        """The same as plain values, for programs."""
        at = self.checkpoint
        return {
            "kind": self.kind,
            "epoch": self.epoch,
            "replicate": self.replicate,
            "checkpoint": None
            if at is None
            else {"number": at.number, "blocks": at.blocks, "of_blocks": at.of_blocks, "fraction": at.fraction},
            "checkpoints": self.checkpoints,
            "models": list(self.models),
            "items": list(self.items),
        }
